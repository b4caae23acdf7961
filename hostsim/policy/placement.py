"""Placement on NUMA nodes: NUMA-aware I/O, when it is in force and where it puts VMs (``Net.NetNetqNumaIOCpuPinThreshold``); reserved memory."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["away", "expected", "faded", "in_force", "pulled", "released", "room"]


def away(reserved: float, nodes: int) -> float:
    """Share of a VM's memory that is on other nodes than its home.

    Memory that is not reserved is given out as the VM touches it, on its home. Reserved memory is taken when the VM is powered on, from all
    nodes alike, and stays there.

    Args:
        reserved: share of the memory that is reserved.
        nodes: NUMA nodes of the host.
    """
    return reserved * (1 - 1 / nodes)


def in_force(load: float, threshold: float) -> bool:
    """True while networking contexts use less than the threshold; never with a threshold of 0.

    Args:
        load: time that networking contexts used, in percent of a core.
        threshold: of the setting, in the same unit.
    """
    return load < threshold


def faded(mean: float, last: float, looks: int) -> float:
    """A mean over about so many looks, in which older ones fade, with one more look."""
    return mean + (last - mean) / looks


def expected(mean: float, last: float) -> float:
    """Load to reckon with: one quiet look does not make a VM small, and one that has become busy is so at once."""
    return mean if mean > last else last


def room(load: float, cores: int, fill_below: float, relieve_above: float) -> float:
    """Cores of a node that are left for VMs to be pulled there; negative is what it has too much, 0 is for neither.

    Between the two marks nobody comes or goes, so that who has been put back does not return at once. With hyperthreads, whole cores count:
    what two threads of one core can do together is hardly more.

    Args:
        load: PCPUs that everybody at home there wants.
        cores: cores of the node.
        fill_below: mark up to which VMs are pulled, in percent of the cores.
        relieve_above: mark from which they are put back, likewise.
    """
    return max(0.0, fill_below / 100 * cores - load) + min(0.0, relieve_above / 100 * cores - load)


def pulled(traffic: Sequence[float], loads: Sequence[float], room: float) -> list[int]:
    """The VMs that are moved to the node of the NIC that they use: those with most traffic first, while there is room.

    Args:
        traffic: packets of each VM through a NIC of the node; 0 for one that is not to be moved.
        loads: PCPUs that each VM wants.
        room: cores of the node that are left for them.

    Returns:
        Positions, in the order of the moves.
    """
    chosen = []
    for position in sorted(range(len(traffic)), key=lambda p: -traffic[p]):
        if traffic[position] > 0 and loads[position] <= room:
            room -= loads[position]
            chosen.append(position)
    return chosen


def released(traffic: Sequence[float], loads: Sequence[float], excess: float) -> list[int]:
    """The VMs that leave a node that is too full: of those that were moved there, those with least traffic first, until it no longer is.

    Args:
        traffic: packets of each VM.
        loads: PCPUs that each wants.
        excess: cores that are wanted too much.

    Returns:
        Positions, in the order of the moves.
    """
    chosen = []
    for position in sorted(range(len(traffic)), key=traffic.__getitem__):
        if excess <= 0:
            break
        excess -= loads[position]
        chosen.append(position)
    return chosen
