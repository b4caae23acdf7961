"""Costs of what a guest forwards in software interrupts, for bridges and routers alike."""

from __future__ import annotations

from hostsim.model.cost_table import CostTable
from hostsim.spec.guest import GuestSpec

__all__ = ["forwarding"]


def forwarding(guest: GuestSpec, costs: CostTable, hertz: float) -> tuple[int | None, int]:
    """Return what a packet to forward takes before it is known to be one, and what it takes after that, up to the transmit ring; both in picoseconds.

    The former is None where it goes up the whole stack. A guest whose path from ring to ring was measured as one pays for all of it packet by packet.

    Args:
        guest: the guest that forwards.
        costs: of the host.
        hertz: cycles a second that a core does, of those that costs are in.
    """
    paths = guest.paths
    if paths is None or paths.forward is None:
        return None, guest.applications.bridge.ps(hertz) + costs.guest_tx_packet
    return 0, paths.forward.ps(hertz)
