"""Decisions of the CPU scheduler: who runs first, who cuts whom short, where a world goes.

Virtual time is a world's used time over its share; whoever has less of it goes first. What the PCPUs do with these answers
is `hostsim.model.cpu`.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["home_node", "move_to_balance", "preempts", "virtual_time_on_wake"]


def preempts(waking_vtime: int, running_vtime: int, lead: int) -> bool:
    """True when a waking vCPU cuts a running one short: it lags behind by at least ``lead`` of virtual time.

    (System worlds cut every vCPU short at once, and nobody cuts a system world short.)
    """
    return running_vtime - waking_vtime >= lead


def virtual_time_on_wake(own: int, current: int, most_lag: int) -> int:
    """Virtual time of a world that wakes: its own, but not further behind the current one than ``most_lag``.

    Without the bound a world that slept for an hour would hold a PCPU for as long.
    """
    least = current - most_lag  # compared by hand: max() takes twice as long, and this is asked at every wake-up
    return least if own < least else own


def home_node(position: int, nodes: int) -> int:
    """Home NUMA node of the VM at a position in the order of power-on: round robin, as ESXi's initial placement."""
    return position % nodes


def move_to_balance(
    loads: Sequence[float], members: Sequence[Sequence[float]], threshold: float
) -> tuple[int, int, int] | None:
    """The one move that the NUMA balancer makes at a check.

    Args:
        loads: share of each node's PCPU time in use, 0..1.
        members: load that each VM at home on a node adds to it, in the same unit, by node.
        threshold: difference between fullest and emptiest node below which nothing moves.

    Returns:
        (from node, position among its members, to node), for the VM whose move leaves the two nodes closest; None when
        the difference is below the threshold or no move makes it smaller.
    """
    fullest = max(range(len(loads)), key=loads.__getitem__)
    emptiest = min(range(len(loads)), key=loads.__getitem__)
    difference = loads[fullest] - loads[emptiest]
    if difference < threshold or not members[fullest]:
        return None
    position, load = min(enumerate(members[fullest]), key=lambda item: abs(difference - 2 * item[1]))
    if not 0 < load < difference:
        return None
    return fullest, position, emptiest
