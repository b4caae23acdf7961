"""NUMA scheduling: home nodes, CPU demand, the load of a node, the choice of a migration, NUMA-aware I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = [
    "demand",
    "demand_estimate",
    "home_node",
    "home_nodes",
    "is_below_threshold",
    "move_to_balance",
    "moving_average",
    "node_load",
    "spare_cores",
    "vms_to_pull",
    "vms_to_return",
]


def home_node(position: int, nodes: int) -> int:
    """Initial NUMA placement: the home node of the VM at a position in the order of power-on, round robin as in ESXi."""
    return position % nodes


def home_nodes(position: int, vcpus: int, nodes: int, cores: int, most: int = 0) -> list[int]:
    """Return the home NUMA node of each vCPU of a VM.

    A VM that fits a node has one home. A wide one, with more vCPUs than a node has cores, is split into as few blocks of
    neighbouring vCPUs as will do, equal but for one vCPU, on one node after the other; where there are more vCPUs than the
    host has cores, every node has a block.

    Args:
        position: the VM's place in the order of power-on.
        vcpus: its vCPUs.
        nodes: NUMA nodes of the host.
        cores: cores of a node; its hyperthreads where they count as cores (``numa.vcpu.preferHT``).
        most: vCPUs of a virtual NUMA node at most, each of which is a block (``numa.vcpu.maxPerVirtualNode``); 0 for no such bound.
    """
    blocks = min(nodes, -(-vcpus // (min(cores, most) if most else cores)))
    first = home_node(position, nodes)
    return [(first + vcpu * blocks // vcpus) % nodes for vcpu in range(vcpus)]


def demand(used: int, stalled: int, period: int) -> float:
    """Estimate the CPU demand of a world in a period: the PCPUs that it would have used without waiting, at most one.

    It is taken to be busy for the same part of the time in which it waited as of the time in which it ran or slept.

    Args:
        used: time for which it ran, in picoseconds.
        stalled: time for which it was ready or co-stopped, in picoseconds.
        period: picoseconds.
    """
    return used / (period - stalled) if stalled < period else 1.0


def node_load(wanted: float, system: float, capacity: int) -> float:
    """Return the load of a NUMA node as a share of its PCPUs; more than 1 where demand exceeds capacity.

    System worlds count as far as they take PCPUs that VMs want: on a node with spare PCPUs they delay no one, and VMs that use
    a NIC are well placed beside its receive contexts.

    Args:
        wanted: PCPUs that the VMs at home there would use.
        system: PCPUs that everybody else used.
        capacity: PCPUs of the node.
    """
    return (wanted + min(system, max(0.0, wanted + system - capacity))) / capacity


def move_to_balance(
    loads: Sequence[float],
    members: Sequence[Sequence[float]],
    threshold: float,
    allowed: Sequence[Sequence[Collection[int] | None]] | None = None,
) -> tuple[int, int, int] | None:
    """Choose the one migration of a load balancer in a period: of a VM between NUMA nodes, or of a waiting system world between PCPUs.

    Args:
        loads: how full each place is, a node or a PCPU, as a share of its time.
        members: load that each of those that may leave a place adds to it, in the same unit, by place.
        threshold: difference between two places below which nothing moves.
        allowed: places that each of these may go to, None for all; None when all may go anywhere.

    Returns:
        (from place, position among its members, to place): from the fullest to the emptiest that one of its members may go
        to, for the member whose move leaves the two closest; None when no difference reaches the threshold or no move makes
        it smaller.
    """
    fullest = max(range(len(loads)), key=loads.__getitem__)
    for target in sorted(range(len(loads)), key=loads.__getitem__):
        difference = loads[fullest] - loads[target]
        if target == fullest or difference < threshold:
            return None
        moves = [
            (abs(difference - 2 * load), position)
            for position, load in enumerate(members[fullest])
            if 0 < load < difference and _may_live(target, None if allowed is None else allowed[fullest][position])
        ]
        if moves:
            return fullest, min(moves)[1], target
    return None


def _may_live(node: int, nodes: Collection[int] | None) -> bool:
    return nodes is None or node in nodes


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
