"""NUMA control loops: the balancer of NUMA clients, the homes of NetPolls, and NUMA-aware I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hostsim.model.contract import ControlLoop, GuestRing, Sender
from hostsim.model.cpu.pcpu import Node, World
from hostsim.model.cpu.scheduler import Demand, NumaClient, Scheduler
from hostsim.model.guest.device import VirtualMachine
from hostsim.model.host import Host
from hostsim.model.policy.numa import (
    demand_estimate,
    is_below_threshold,
    move_to_balance,
    moving_average,
    node_load,
    spare_cores,
    vms_to_pull,
    vms_to_return,
)
from hostsim.units import SECOND

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = [
    "NetPollHomes",
    "NumaBalancer",
    "NumaIo",
]


class NumaBalancer:
    """The control loop of the NUMA balancer.

    The load of a node is the demand of its VMs and of competing system worlds (`node_load`).

    Args:
        scheduler: scheduler of the nodes.
        period: picoseconds between two checks.
        imbalance: smallest difference of two loads for a migration, as a share of a node.

    Attributes:
        moves: number of migrations.
    """

    def __init__(self, scheduler: Scheduler, period: int, imbalance: float) -> None:
        self._scheduler, self._period, self._imbalance = scheduler, period, imbalance
        self._busy = [0] * len(scheduler.nodes)
        """Total busy time of the PCPUs of each node up to the last check, in picoseconds."""
        self.moves = 0

    def run(self) -> ProcessGenerator:
        """Balance once per period."""
        env = self._scheduler.clock
        while True:
            yield env.timeout(self._period)
            self._balance(env.now)

    def _balance(self, now: int) -> None:
        scheduler = self._scheduler
        nodes, period = scheduler.nodes, self._period
        system = self._busy_since(now)
        capacity = len(scheduler.pcpus) // len(nodes)
        demands = [0.0] * len(nodes)
        homes: list[list[NumaClient]] = [[] for _ in nodes]
        members: list[list[float]] = [[] for _ in nodes]
        for unit in scheduler.numa_clients:
            home = unit.worlds[0].node.index
            unit.demand.look(now, period)
            system[home] -= unit.demand.used
            demands[home] += unit.demand.wanted
            if not unit.pinned:
                homes[home].append(unit)
                members[home].append(unit.demand.wanted / capacity)
        loads = [node_load(vms, max(0.0, others), capacity) for vms, others in zip(demands, system, strict=True)]
        allowed = [[unit.nodes for unit in units] for units in homes]
        move = move_to_balance(loads, members, self._imbalance, allowed)
        if move is not None:
            source, position, target = move
            scheduler.rehome(homes[source][position].worlds, nodes[target], now)
            self.moves += 1

    def _busy_since(self, now: int) -> list[float]:
        """Return the mean number of busy PCPUs of each node in the period that ends now.

        Charges all running worlds.
        """
        busy = [0] * len(self._busy)
        for pcpu in self._scheduler.pcpus:
            pcpu.charge(now)
            busy[pcpu.node.index] += pcpu.busy(now)
        since = [(total - before) / self._period for total, before in zip(busy, self._busy, strict=True)]
        self._busy = busy
        return since


class NetPollHomes:
    """The control loop of NetPolls' home nodes: a NetPoll runs on the node of its related vCPUs.

    A vCPU is related to a NetPoll that delivers packets to its vNIC queue at least at a given rate
    (``Cpu.CommRateThreshold``). If all related vCPUs are on one node, that is the home of the NetPoll; otherwise, and
    while NUMA-aware I/O is active, its home is the node of its NIC.

    Attributes:
        moves: number of NetPolls migrated.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._frames_before: dict[GuestRing, int] = {}
        self.moves = 0

    def run(self) -> ProcessGenerator:
        """Check NetPolls once per period.

        The host is assumed to have been in service before, so that initially all vNICs with traffic count.
        """
        env, settings = self._host.clock, self._host.spec.settings
        period = settings.package_rebalance_period
        self._look(0, env.now)
        while True:
            yield env.timeout(period)
            self._look(settings.related_rate * period, env.now)

    def _look(self, least: int, now: int) -> None:
        """Move NetPolls to their homes.

        Args:
            least: smallest number of packets since the last check for a relation, multiplied by 1 s in picoseconds.
            now: current time.
        """
        host = self._host
        pinned = bool(host.numa_io.state.value)
        frames: dict[GuestRing, int] = {}
        for name, netqueue in host.netqueues.items():
            port = host.nics[name]
            for rings, vnics in netqueue.served(self._receivers(name)):
                nodes = set()
                for vnic in vnics:
                    count = frames[vnic] = vnic.frames - vnic.local_frames
                    if (count - self._frames_before.get(vnic, 0)) * SECOND >= least:
                        nodes.add(vnic.vcpu.node)
                home = nodes.pop() if len(nodes) == 1 and not pinned else port.node
                away = [ring.poll for ring in rings if isinstance(ring.poll, World) and ring.poll.node is not home]
                if away:
                    self.moves += len(away)
                    host.scheduler.rehome(away, home, now)
        self._frames_before = frames

    def _receivers(self, name: str) -> Callable[[Sender], list[GuestRing]]:
        """Return a function from a sender without a filter to its receivers, on the switch of a port."""
        for switch, vswitch in self._host.spec.vswitches.items():
            if name in vswitch.uplinks:
                return self._host.switches[switch].receivers
        return lambda sender: []


class SmoothedDemand:
    """The smoothed CPU demand of a set of worlds.

    Attributes:
        value: demand in PCPUs, estimated conservatively (`demand_estimate`).
    """

    def __init__(self, worlds: Sequence[World], fade: int) -> None:
        self._demand, self._fade = Demand(worlds), fade
        self._looked = False
        self._mean = self.value = 0.0

    def look(self, now: int, period: int) -> None:
        """Update with the demand of the last ``period`` picoseconds, after PCPUs have charged their worlds."""
        self._demand.look(now, period)
        last = self._demand.wanted
        self._mean = moving_average(self._mean, last, self._fade) if self._looked else last
        self._looked = True
        self.value = demand_estimate(self._mean, last)


class NumaIo(ControlLoop):
    """The control loop of NUMA-aware I/O: migrates VMs to the nodes of their NICs, and back.

    A node takes VMs up to a threshold below full load. If it is overloaded, the VMs with least traffic return to their
    homes.

    The period is that of the NetQueue balancer, which considers NUMA I/O (``Net.NetNetqNumaIOAwareDynamicLB``).

    Attributes:
        state: 1 while the placement is active.
    """

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._threshold = host.spec.settings.numa_io_threshold
        self._period = host.spec.netqueue.period
        self._before = 0
        nodes = {nic.node.index: nic.node for nic in host.nics.values()}.values()
        fade = host.spec.numa_io.fade
        self._nodes = {node: SmoothedDemand([poll for poll in host.polls if poll.node is node], fade) for node in nodes}
        """Nodes with NICs, with the demand of their NetPolls."""
        self._loads = {vm: SmoothedDemand([*vm.vcpus, *vm.worlds], fade) for vm in host.vms}
        self._frames_before = dict.fromkeys(host.vms, 0)
        self._defaults: dict[VirtualMachine, list[Node]] = {}

    def run(self) -> ProcessGenerator:
        """Check the load once per period.

        Initially the placement is active if the threshold allows it without load.
        """
        env = self._host.clock
        self.state.add(int(is_below_threshold(0, self._threshold)), env.now)
        while True:
            yield env.timeout(self._period)
            self._look(env.now)

    def _look(self, now: int) -> None:
        host = self._host
        for pcpu in host.scheduler.pcpus:
            pcpu.charge(now)
        contexts = sum(world.used for world in host.worlds() if world.system and world.kind != "firmware")
        load = 100 * (contexts - self._before) / self._period
        self._before = contexts
        holds = is_below_threshold(load, self._threshold)
        self.state.add(holds - self.state.value, now)
        for demand in (*self._nodes.values(), *self._loads.values()):
            demand.look(now, self._period)
        if holds:
            self._place(now)
        else:
            self._put_back(list(self._defaults), now)
        for vm in host.vms:
            self._frames_before[vm] = vm.frames()

    def _place(self, now: int) -> None:
        """Fill the nodes with NICs up to a threshold below full load, and relieve overloaded ones."""
        host = self._host
        threads, marks = host.spec.hardware.cpu.threads, host.spec.numa_io
        for node, polls in self._nodes.items():
            here = polls.value + sum(demand.value for vm, demand in self._loads.items() if vm.vcpus[0].node is node)
            left = spare_cores(here, len(node.pcpus) // threads, marks.fill_below, marks.relieve_above)
            if left > 0:
                away = [vm for vm in host.vms if vm.near(node) and not vm.near(vm.vcpus[0].node) and not vm.is_bound]
                for position in vms_to_pull(*self._of(away), left):
                    self._pull(away[position], node, now)
            elif left < 0:
                guests = [vm for vm in self._defaults if vm.vcpus[0].node is node]
                self._put_back([guests[position] for position in vms_to_return(*self._of(guests), -left)], now)

    def _of(self, vms: Sequence[VirtualMachine]) -> tuple[list[int], list[float]]:
        """Return the number of packets of VMs since the last check, and their CPU demand."""
        return [vm.frames() - self._frames_before[vm] for vm in vms], [self._loads[vm].value for vm in vms]

    def _pull(self, vm: VirtualMachine, node: Node, now: int) -> None:
        self._defaults[vm] = [unit.worlds[0].node for unit in vm.numa_clients]
        for unit in vm.numa_clients:
            unit.pinned = True
        self._host.move(vm, node, now)

    def _put_back(self, vms: Sequence[VirtualMachine], now: int) -> None:
        for vm in vms:
            for unit, node in zip(vm.numa_clients, self._defaults.pop(vm), strict=True):
                unit.pinned = False
                self._host.scheduler.rehome(unit.worlds, node, now)
