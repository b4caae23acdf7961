"""Peers: the machines outside the host that its traffic comes from and goes to, and how far they keep time."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hostsim.config.field import UNHASHED, SmallCount, Spec
from hostsim.config.quantity import Duration, PositiveDuration, Rate
from hostsim.units import MS

__all__ = ["PeerCoalescingSpec", "PeerSpec"]

Lateness = Annotated[Duration, Field(le=10 * MS)]
"""Greatest lateness; all values up to it are equally likely."""


class PeerCoalescingSpec(Spec):
    """Transmit coalescing of a peer that is a VM: its guest posts packets of open-loop traffic without a halt, and calls its hypervisor for several at once."""

    rate: Annotated[Rate, Field(ge=1)]
    """Calls in a second, at most (``Net.CoalesceRBCRate`` of the peer's host)."""
    depth_cap: SmallCount
    """Most packets that it posts without a call (``Net.CoalesceTxQDepthCap``)."""
    low_packets: int = Field(ge=0, le=1000)
    """Packets in a ``timeout`` below which it calls for each (``Net.CoalesceLowTxRate``)."""
    timeout: PositiveDuration
    """Longest wait of a packet (``Net.CoalesceTxTimeout``)."""


class PeerSpec(Spec):
    """A kind of peer: clients, senders and receivers on ordinary servers, or a tester."""

    peer: Annotated[str, UNHASHED]
    """Name of the kind; nothing depends on it."""
    timer_jitter: Lateness = 0
    """Timer jitter: how late a sender at a constant rate may be, half an interval at most."""
    answer_jitter: Lateness = 0
    """How much later than its ``delay`` a peer may answer what it gets: an acknowledgement, more data, the next request."""
    aggregation: Annotated[Duration, Field(le=10 * MS)] = 0
    """Time over which its receive offload (LRO, GRO) joins the segments of a packet for TSO, to 64 KiB at most: it acknowledges what it has joined at once. 0 where it joins none."""
    tso_divisor: SmallCount = 3
    """A packet for TSO of a sender is at most its window over this (Linux ``tcp_tso_win_divisor``)."""
    tx_coalescing: PeerCoalescingSpec | None = None
    """Transmit coalescing of its vNIC; none of a machine of its own. A TCP sender or client halts when it waits, which sends what it has posted, so that only open-loop traffic is held; a plug-in says itself when its packets leave."""
