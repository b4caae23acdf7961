"""Automatic splitRx: the condition under which the VMkernel gives vNICs their own receive contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["MULTICAST_RATE", "VNICS", "splits_receive"]

MULTICAST_RATE: Final = 10_000
"""Multicast packets/s of a queue above which it is split ("SplitRx Mode", documentation of VMware's performance best
practices).
"""
VNICS: Final = 8
"""Number of vNICs with similar loads from which a queue is split, by the older rule (D. Grant, "Optimizing ESXi host
networking", January 2015).
"""


def splits_receive(rule: str, load: float, heavy: float, multicast_rate: float, received: Sequence[int]) -> bool:
    """True if a receive queue is heavily utilised and has many packets to copy, by the version's rule.

    Args:
        rule: ``multicast_rate``, or ``vnics`` for the older rule.
        load: share of a PCPU used by the queue's receive context.
        heavy: share of a PCPU from which it is heavily utilised.
        multicast_rate: multicast packets/s of the queue.
        received: number of packets of each vNIC of the queue in the same time. Loads are similar from half of the
            largest (assumed).
    """
    if load < heavy:
        return False
    if rule == "multicast_rate":
        return multicast_rate > MULTICAST_RATE
    most = max(received, default=0)
    return most > 0 and sum(2 * count >= most for count in received) >= VNICS
