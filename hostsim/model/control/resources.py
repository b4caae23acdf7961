"""The control loop of CPU resources: reservations, limits and shares of VMs and resource pools.

See docs/design/scheduler.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hostsim.config.host import PointSpec, ResourcePoolSpec, VmGroupSpec
from hostsim.model.cpu.pcpu import PPM, CpuLimit, Node, World
from hostsim.model.cpu.scheduler import Demand
from hostsim.model.guest.device import VirtualMachine
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.host import Host
from hostsim.model.policy.entitlement import UNLIMITED, Consumer, divide
from hostsim.model.policy.numa import demand_estimate, moving_average

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = ["CpuResources", "needs_cpu_resources"]

QUANTA = 2
"""Quanta between two checks (assumed); with one, a vCPU that waits for its turn would seem idle."""
FADE = 4
"""Number of checks over which the mean of a demand decays (assumed), as random bursts distort a single one."""
MEAN_SHARES = 1000
"""Mean weight of vCPUs over their entitled time: normal shares, so that virtual time advances as without controls."""


LEAST_SHARES = 250
"""Smallest weight of a vCPU with demand: a quantum is then half of the bound of a lag in virtual time (8 quanta)."""
LEAST_DEMAND = 0.01
"""Smallest demand of a vCPU that is not idle, in PCPUs (assumed)."""


def needs_cpu_resources(spec: PointSpec) -> bool:
    """True if a VM has a reservation or a limit, or is in a resource pool.

    Shares alone need no control loop.
    """
    return any(
        group.count
        and not group.settings.exclusive
        and (
            group.pool or group.settings.cpu_reservation_mhz or _limit(group, spec.hardware.cpu.clock / 1e6) < UNLIMITED
        )
        for group in spec.vms
    )


def _limit(group: VmGroupSpec, clock_mhz: float) -> float:
    """Return the limit of each VM of a group in PCPUs; a limit of at least its vCPUs' clock has no effect."""
    limit = group.settings.cpu_limit_mhz
    return UNLIMITED if limit is None or limit >= group.vcpus * clock_mhz else limit / clock_mhz


class _Vm:
    """A VM as a consumer, with its vCPUs as child consumers."""

    def __init__(self, vm: VirtualMachine, clock_mhz: float) -> None:
        settings = vm.group.settings
        self.vm, self.demand = vm, Demand(vm.worlds)
        self.vcpus = [_VcpuDemand(vcpu) for vcpu in vm.vcpus]
        self.consumer = Consumer(
            settings.shares * len(vm.vcpus),
            settings.cpu_reservation_mhz / clock_mhz,
            _limit(vm.group, clock_mhz),
            [entry.consumer for entry in self.vcpus],
        )
        self.limit: CpuLimit | None = None
        self.is_guaranteed = settings.cpu_reservation_mhz > 0
        """True if the VM or one of its pools has a reservation, so that it counts as busy from the first check with
        demand.
        """
        self._has_looked = False

    def look(self, now: int, period: int) -> None:
        """Update the demands of its vCPUs, to which the time of its VMkernel contexts is added in equal parts."""
        self.demand.look(now, period)
        beside = self.demand.wanted / len(self.vcpus)
        for vcpu in self.vcpus:
            vcpu.demand.look(now, period)
            last = vcpu.demand.wanted + beside
            vcpu.mean = moving_average(vcpu.mean, last, FADE) if self._has_looked else last
            vcpu.consumer.demand = demand_estimate(vcpu.mean, last) if self.is_guaranteed else vcpu.mean
            vcpu.consumer.most = max(1.0 + beside, vcpu.consumer.demand)
        self._has_looked = True


class _VcpuDemand:
    """A vCPU as a consumer, which demands a PCPU before the first check."""

    def __init__(self, vcpu: Vcpu) -> None:
        self.vcpu, self.demand = vcpu, Demand([vcpu])
        self.consumer = Consumer(1.0, most=1.0)
        self.consumer.demand = self.mean = 1.0


class CpuResources:
    """The control loop that converts reservations, limits and shares to weights of vCPUs and limit rates.

    Each check computes the entitlement of each VM from all demands. The scheduler policy gets the part of each vCPU as
    its shares. A VM with a finite limit, or a finite part of a pool's limit, gets it as the rate of its `CpuLimit`.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._period = QUANTA * host.scheduler.policy.quantum
        self._mhz = host.spec.hardware.cpu.clock / 1e6
        self._vms = [_Vm(vm, self._mhz) for vm in host.vms if not vm.group.settings.exclusive]
        self._root = Consumer(1.0, children=self._consumers("", None, guaranteed=False))
        inside = {world for entry in self._vms for world in (*entry.vm.vcpus, *entry.vm.worlds)}
        self._others = [world for world in host.worlds() if world not in inside]
        self._used_before = [0] * len(self._others)

    def _consumers(self, pool: str, around: CpuLimit | None, *, guaranteed: bool) -> list[Consumer]:
        """Create the consumers of a pool and its descendants, with their limits; the root has an empty name."""
        pools = [spec for spec in self._host.spec.pools if spec.parent == pool]
        consumers = [self._pool(spec, around, guaranteed=guaranteed) for spec in pools]
        for vm in self._vms:
            if vm.vm.group.pool == pool:
                consumers.append(vm.consumer)
                vm.is_guaranteed |= guaranteed
                if around is not None or vm.consumer.limit < UNLIMITED:
                    self._limit(vm, around)
        return consumers

    def _pool(self, spec: ResourcePoolSpec, around: CpuLimit | None, *, guaranteed: bool) -> Consumer:
        quantum, limit = self._host.scheduler.policy.quantum, around
        if spec.limit_mhz is not None:
            limit = CpuLimit(self._host.clock, around, quantum)
            limit.set_rate(round(PPM * spec.limit_mhz / self._mhz), self._host.clock.now)
        below = self._consumers(spec.name, limit, guaranteed=guaranteed or spec.reservation_mhz > 0)
        return Consumer(
            spec.shares,
            spec.reservation_mhz / self._mhz,
            UNLIMITED if spec.limit_mhz is None else spec.limit_mhz / self._mhz,
            below or [Consumer(1.0, most=0.0)],
        )

    def _limit(self, vm: _Vm, around: CpuLimit | None) -> None:
        limit = vm.limit = CpuLimit(self._host.clock, around, self._host.scheduler.policy.quantum)
        worlds: Sequence[World] = (*vm.vm.vcpus, *vm.vm.worlds)
        for world in worlds:
            world.limit = limit
        above: CpuLimit | None = limit
        while above is not None:
            above.vcpus += vm.vm.vcpus
            above = above.parent

    def run(self) -> ProcessGenerator:
        """Check before time starts, when each vCPU counts as busy, and then once per period."""
        env = self._host.clock
        self._apply(env.now)
        while True:
            yield env.timeout(self._period)
            for pcpu in self._host.scheduler.pcpus:
                pcpu.charge(env.now)
            for vm in self._vms:
                vm.look(env.now, self._period)
            self._apply(env.now)

    def _apply(self, now: int) -> None:
        root, nodes = self._root, self._host.scheduler.nodes
        left = self._left(nodes)
        root.look()
        root.share_out(sum(left.values()))
        root.guarantee = root.floor
        root.guarantee_below()
        root.cap_below()
        for vm in self._vms:
            if vm.limit is not None:
                cap = vm.consumer.cap
                vm.limit.set_rate(-1 if cap == UNLIMITED else round(PPM * cap), now)
        for node in nodes:
            self._weigh(node, left[node], [own for vm in self._vms for own in vm.vcpus if own.vcpu.node is node])
        for vm in self._vms:
            for world in vm.vm.worlds:
                world.shares = sum(own.vcpu.shares for own in vm.vcpus) // len(vm.vcpus)

    def _left(self, nodes: Iterable[Node]) -> dict[Node, float]:
        """Return the number of PCPUs of each node that worlds outside VMs leave."""
        left = {node: float(len(node.pcpus)) for node in nodes}
        for index, world in enumerate(self._others):
            if world.last.pool is world.last.node:
                left[world.node] -= (world.used - self._used_before[index]) / self._period
            self._used_before[index] = world.used
        return {node: max(amount, 0.0) for node, amount in left.items()}

    def _weigh(self, node: Node, capacity: float, vcpus: Sequence[_VcpuDemand]) -> None:
        """Set the weights of a node's vCPUs by their claims, at least by their guarantees."""
        if not vcpus:
            return
        consumers = [entry.consumer for entry in vcpus]
        claims = [max(entry.claim, 1e-6) for entry in consumers]
        demands = [max(entry.demand, entry.guarantee) for entry in consumers]
        amounts, level = divide(capacity, claims, [entry.guarantee for entry in consumers], demands)
        weights = claims
        if level < UNLIMITED:
            weights = [max(amount, level * want) for amount, want in zip(amounts, claims, strict=True)]
        squares = sum(amount * weight for amount, weight in zip(amounts, weights, strict=True))
        scale = MEAN_SHARES * (sum(amounts) / squares if squares else 1.0)
        # a quantum of the smallest weight must not advance the node's virtual time beyond the bound of a lag
        active = [weight for weight, demand in zip(weights, demands, strict=True) if demand > LEAST_DEMAND]
        scale = max(scale, LEAST_SHARES / min(active, default=LEAST_SHARES))
        for entry, weight in zip(vcpus, weights, strict=True):
            shares = max(1, round(scale * weight))
            self._host.scheduler.policy.reweigh(entry.vcpu, shares, node.vclock)
