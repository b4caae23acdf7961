"""Peers: machines outside the host that send and receive its traffic, and their jitter."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hostsim.config.field import UNHASHED, SmallCount, Spec
from hostsim.config.quantity import Duration, PositiveDuration, Rate
from hostsim.units import MS

__all__ = ["PeerCoalescingSpec", "PeerSpec"]

Lateness = Annotated[Duration, Field(le=10 * MS)]
"""Largest lateness of a uniform distribution."""


class PeerCoalescingSpec(Spec):
    """Transmit coalescing of a peer that is a VM.

    Its guest posts packets of open-loop traffic without a halt, and calls its hypervisor once for several packets.
    """

    rate: Annotated[Rate, Field(ge=1)]
    """Largest number of calls/s (``Net.CoalesceRBCRate`` of the peer's host)."""
    depth_cap: SmallCount
    """Largest number of packets that it posts without a call (``Net.CoalesceTxQDepthCap``)."""
    low_packets: int = Field(ge=0, le=1000)
    """Number of packets in a ``timeout`` below which it calls for each (``Net.CoalesceLowTxRate``)."""
    timeout: PositiveDuration
    """Longest wait of a packet (``Net.CoalesceTxTimeout``)."""


class PeerSpec(Spec):
    """A kind of peer: clients, senders and receivers on ordinary servers, or a tester."""

    peer: Annotated[str, UNHASHED]
    """Name of the kind; without effect on results."""
    timer_jitter: Lateness = 0
    """Timer jitter: largest lateness of a sender at a constant rate, at most half an interval."""
    answer_jitter: Lateness = 0
    """Largest additional time of an answer after its ``delay``: an acknowledgement, more data, the next request."""
    aggregation: Annotated[Duration, Field(le=10 * MS)] = 0
    """Time over which its receive offload (LRO, GRO) joins segments of a TSO packet, up to 64 KiB; it acknowledges each
    joined packet immediately. 0 for none.
    """
    tso_divisor: SmallCount = 3
    """A TSO packet of a sender is at most its window divided by this (Linux ``tcp_tso_win_divisor``)."""
    tx_coalescing: PeerCoalescingSpec | None = None
    """Transmit coalescing of its vNIC; None for a physical machine. It delays open-loop traffic only: TCP senders and
    clients halt when they wait, which sends posted packets, and plug-ins determine when their packets leave.
    """
