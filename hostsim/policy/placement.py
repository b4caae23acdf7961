"""Placement on NUMA nodes: NUMA-aware I/O, when it is in force and where it puts VMs (``Net.NetNetqNumaIOCpuPinThreshold``); reserved memory."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["away", "in_force", "pulled"]


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


def pulled(traffic: Sequence[float], loads: Sequence[float], room: float) -> list[int]:
    """The VMs that are moved to the node of the NIC that they use: those with most traffic first, while there is room.

    Args:
        traffic: packets of each VM through a NIC of the node; 0 for one that is not to be moved.
        loads: PCPUs that each VM uses.
        room: PCPUs of the node that nobody uses.

    Returns:
        Positions, in the order of the moves.
    """
    chosen = []
    for position in sorted(range(len(traffic)), key=lambda p: -traffic[p]):
        if traffic[position] > 0 and loads[position] <= room:
            room -= loads[position]
            chosen.append(position)
    return chosen
