"""NetQueue balancing: the assignment of vNICs to receive queues of a NIC, dynamic (as few queues as carry the load) or fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Move", "fixed_queue", "rebalance"]


class Move(NamedTuple):
    """The move of a vNIC to another receive queue."""

    source: int
    """Position of its queue."""
    member: int
    """Position among the vNICs of that queue."""
    target: int
    """Position of the other queue."""


def fixed_queue(position: int, queues: int) -> int:
    """Return the static queue of the vNIC at a position in the order of power-on: one each, then shared.

    Queue 0 is the default queue, which takes what nothing else is filtered for; vNICs get it only where there is no other.
    """
    return 1 + position % (queues - 1) if queues > 1 else 0


def rebalance(
    loads: Sequence[float],
    members: Sequence[Sequence[float]],
    pack_below: float,
    unpack_above: float,
    *,
    may_open: bool = True,
) -> list[Move]:
    """Return the moves of the NetQueue balancer in one period: unpack a busy queue, or pack two idle ones.

    A queue whose receive context is too busy gives one of its vNICs away: to the least busy queue in use where that stays
    below the mark, else to one that is not in use, if there are PCPUs for another context. Where no queue is too busy, the least
    busy one is given up if the next can take all its vNICs.

    Args:
        loads: share of a PCPU that the receive context of each queue used, 0..1.
        members: packets that each vNIC of a queue received, by queue; any unit.
        pack_below: share of a PCPU up to which two queues are made one.
        unpack_above: share of a PCPU from which a queue gives a vNIC away.
        may_open: False where no further queue may be put into use.
    """
    used = [queue for queue, vnics in enumerate(members) if vnics]
    if not used:
        return []
    by_load = sorted(used, key=lambda queue: loads[queue])
    fullest = by_load[-1]
    if loads[fullest] > unpack_above and len(members[fullest]) > 1:
        total = sum(members[fullest])
        shares = [loads[fullest] * packets / total for packets in members[fullest]] if total else []
        if not shares:
            return []
        member = min(range(len(shares)), key=lambda m: abs(loads[fullest] / 2 - shares[m]))
        target = by_load[0]
        if target == fullest or loads[target] + shares[member] > unpack_above:
            spare = [queue for queue, vnics in enumerate(members) if not vnics]
            if not spare or not may_open:
                return []
            target = spare[0]
        return [Move(fullest, member, target)]
    if len(by_load) > 1 and loads[by_load[0]] + loads[by_load[1]] < pack_below:
        return [Move(by_load[0], member, by_load[1]) for member in reversed(range(len(members[by_load[0]])))]
    return []
