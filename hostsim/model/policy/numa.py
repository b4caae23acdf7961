"""NUMA scheduling: home nodes, CPU demand, load of a node, selection of migrations, NUMA-aware I/O."""

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
    """Initial NUMA placement: the home node of the VM at a position in the order of power-on.

    It is round robin, as in ESXi.
    """
    return position % nodes


def home_nodes(position: int, vcpus: int, nodes: int, cores: int, most: int = 0) -> list[int]:
    """Return the home NUMA node of each vCPU of a VM.

    A VM that fits a node has one home. A wide VM, with more vCPUs than a node has cores, is split into the smallest
    possible number of blocks of consecutive vCPUs, equal except for one vCPU, on one node after the other; with more
    vCPUs than cores of the host, every node has a block.

    Args:
        position: position of the VM in the order of power-on.
        vcpus: number of its vCPUs.
        nodes: number of NUMA nodes of the host.
        cores: number of cores of a node, or of hyperthreads if they count as cores (``numa.vcpu.preferHT``).
        most: largest number of vCPUs of a virtual NUMA node, which is a block (``numa.vcpu.maxPerVirtualNode``); 0 for
            no bound.
    """
    blocks = min(nodes, -(-vcpus // (min(cores, most) if most else cores)))
    first = home_node(position, nodes)
    return [(first + vcpu * blocks // vcpus) % nodes for vcpu in range(vcpus)]


def demand(used: int, stalled: int, period: int) -> float:
    """Estimate the CPU demand of a world in a period: its use without waiting, in PCPUs, at most 1.

    The world is assumed to be busy for the same part of its waiting time as of the rest of the period.

    Args:
        used: running time, in picoseconds.
        stalled: ready and co-stopped time, in picoseconds.
        period: length of the period, in picoseconds.
    """
    return used / (period - stalled) if stalled < period else 1.0


def node_load(demand: float, system: float, capacity: int) -> float:
    """Return the load of a NUMA node as a share of its PCPUs; above 1 if demand exceeds capacity.

    System worlds count as far as they use PCPUs that VMs demand. On a node with spare PCPUs they delay no VM, and VMs
    that use a NIC are well placed beside its receive contexts.

    Args:
        demand: demand of the VMs at home there, in PCPUs.
        system: use of all other worlds, in PCPUs.
        capacity: number of PCPUs of the node.
    """
    return (demand + min(system, max(0.0, demand + system - capacity))) / capacity


def move_to_balance(
    loads: Sequence[float],
    members: Sequence[Sequence[float]],
    threshold: float,
    allowed: Sequence[Sequence[Collection[int] | None]] | None = None,
) -> tuple[int, int, int] | None:
    """Select a migration of a load balancer: of a VM between nodes, or of a system world between PCPUs.

    Args:
        loads: load of each place, a node or a PCPU, as a share of its time.
        members: loads of those that may leave a place, by place, in the same unit.
        threshold: smallest difference between two places for a migration.
        allowed: places that each of these may move to, None for all; None if all are unrestricted.

    Returns:
        (source place, position among its members, target place). The source has the largest load, the target the
        smallest that one of its members may move to; the member is the one that leaves the smallest difference. None if
        no difference reaches the threshold or no migration reduces it.
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
    """True if NUMA-aware I/O is active, as networking contexts use less CPU than the threshold.

    A threshold of 0 turns it off.

    Args:
        load: use of networking contexts, in percent of a core.
        threshold: value of the setting, in the same unit.
    """
    return load < threshold


def moving_average(mean: float, last: float, looks: int) -> float:
    """Exponential moving average over about ``looks`` samples, updated with another sample."""
    return mean + (last - mean) / looks


def demand_estimate(mean: float, last: float) -> float:
    """Conservative demand estimate: the larger of average and last sample.

    A VM that becomes busy counts at once; an idle sample does not reduce the estimate.
    """
    return mean if mean > last else last


def spare_cores(load: float, cores: int, fill_below: float, relieve_above: float) -> float:
    """Return the spare cores of a NUMA node for VMs to migrate there; negative if overloaded.

    It is 0 between the two thresholds, where no VM migrates, so that one that returned does not migrate again at once.
    With hyperthreads, whole cores count, as two threads of a core have little more throughput than one.

    Args:
        load: demand of all worlds at home there, in PCPUs.
        cores: number of cores of the node.
        fill_below: threshold up to which VMs migrate there, in percent of the cores.
        relieve_above: threshold from which they return, in percent of the cores.
    """
    return max(0.0, fill_below / 100 * cores - load) + min(0.0, relieve_above / 100 * cores - load)


def vms_to_pull(traffic: Sequence[float], loads: Sequence[float], room: float) -> list[int]:
    """Select the VMs to migrate to the NUMA node of their NIC: those with most traffic that fit.

    Args:
        traffic: packets of each VM through a NIC of the node; 0 excludes a VM.
        loads: demand of each VM, in PCPUs.
        room: spare cores of the node.

    Returns:
        Positions, in the order of the migrations.
    """
    chosen = []
    for position in sorted(range(len(traffic)), key=lambda p: -traffic[p]):
        if traffic[position] > 0 and loads[position] <= room:
            room -= loads[position]
            chosen.append(position)
    return chosen


def vms_to_return(traffic: Sequence[float], loads: Sequence[float], excess: float) -> list[int]:
    """Select the VMs to return from an overloaded NUMA node: those with least traffic, until relieved.

    Args:
        traffic: packets of each VM.
        loads: demand of each VM, in PCPUs.
        excess: excess demand, in cores.

    Returns:
        Positions, in the order of the migrations.
    """
    chosen = []
    for position in sorted(range(len(traffic)), key=traffic.__getitem__):
        if excess <= 0:
            break
        excess -= loads[position]
        chosen.append(position)
    return chosen
