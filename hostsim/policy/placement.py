"""NUMA placement: NUMA-aware I/O (``Net.NetNetqNumaIOCpuPinThreshold``), and demand estimates."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "demand_estimate",
    "is_below_threshold",
    "moving_average",
    "spare_cores",
    "vms_to_pull",
    "vms_to_return",
]


def is_below_threshold(load: float, threshold: float) -> bool:
    """True when NUMA-aware I/O is in force: networking contexts use less CPU than the threshold. A threshold of 0 turns it off.

    Args:
        load: time that networking contexts used, in percent of a core.
        threshold: of the setting, in the same unit.
    """
    return load < threshold


def moving_average(mean: float, last: float, looks: int) -> float:
    """Exponential moving average over about ``looks`` samples, updated with one more sample."""
    return mean + (last - mean) / looks


def demand_estimate(mean: float, last: float) -> float:
    """Conservative demand estimate, the larger of average and last sample: a VM that becomes busy counts at once, an idle sample does not."""
    return mean if mean > last else last


def spare_cores(load: float, cores: int, fill_below: float, relieve_above: float) -> float:
    """Return the spare cores of a NUMA node for VMs to migrate there; negative where it is overloaded, 0 between the two marks.

    Between the two marks no VM migrates, so that one sent home does not return at once. With hyperthreads, whole cores count:
    what two threads of one core can do together is hardly more.

    Args:
        load: PCPUs that everybody at home there wants.
        cores: cores of the node.
        fill_below: mark up to which VMs are pulled, in percent of the cores.
        relieve_above: mark from which they are put back, likewise.
    """
    return max(0.0, fill_below / 100 * cores - load) + min(0.0, relieve_above / 100 * cores - load)


def vms_to_pull(traffic: Sequence[float], loads: Sequence[float], room: float) -> list[int]:
    """Choose the VMs to migrate to the NUMA node of their NIC: those with most traffic first, while they fit.

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


def vms_to_return(traffic: Sequence[float], loads: Sequence[float], excess: float) -> list[int]:
    """Choose the VMs to send home from an overloaded NUMA node: those with least traffic first, until it is overloaded no more.

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
