"""Small hosts whose schedule can be computed by hand: bare PCPUs, and worlds that work for given times."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from fractions import Fraction

from hostsim.config.platform import HostSettings
from hostsim.engine.clock import Alarm, Clock
from hostsim.lab.verification.rig import point
from hostsim.model.control.numa import NumaBalancer
from hostsim.model.control.periodic import periodic
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.balancer import Balancer
from hostsim.model.cpu.pcpu import CoreStates, World
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.policy.scheduler import PolicyMaker, ProportionalShare
from hostsim.units import MS, SECOND, US

SWITCH, SAME, MIGRATED, HALT_EXIT, PREEMPTION = 2 * US, 3 * US, 7 * US, 1 * US, 500_000


def settings(**changes: int) -> HostSettings:
    values = {
        "quantum": 50 * MS,
        "lag_quanta": 8,
        "costop_threshold": 3 * MS,
        "costart_threshold": 2 * MS,
        "cosched_period": 1 * MS,
        "rebalance_period": 20 * MS,
        "numa_rebalance_period": 2 * SECOND,
        "numa_imbalance": 10,
        "port_rx_queue": 80,
        "poll_budget": 64,
        "tx_poll_bound": 256,
        "tx_timeout": 4 * MS,
        "tx_depth_cap": 40,
        "tx_call_rate": 4000,
        "sw_lro": True,
        "hw_lro": False,
        "lro_bytes": 32000,
        "lro_threshold": 4000,
        "lro_backoff": 8,
        "hw_tso": True,
        "netqueue": True,
        "netqueue_dynamic": True,
        "numa_io_threshold": 0,
        "tune_dense": False,
        "tune_interval": 60 * SECOND,
        "tune_vms": 1,
        "tune_vcpus": 2,
        "tune_utilisation": 50.0,
    }
    return HostSettings(**(values | changes))


def cost_table(*, free: bool = False, guest_refill: int = 0) -> CostTable:
    """Costs in round numbers, or zero; only costs charged by the scheduler. ``guest_refill`` is the refill of a guest's
    private caches after another world.
    """
    spec = point("queue.yaml")  # nothing costs anything
    costs = CostTable(spec.costs, spec.hardware.cpu)
    costs.context_switch, costs.cache_refill_same, costs.cache_refill_migrated = (
        (0, 0, 0) if free else (SWITCH, SAME, MIGRATED)
    )
    costs.halt_exit, costs.preemption = (0, 0) if free else (HALT_EXIT, PREEMPTION)
    costs.guest_cache_refill, costs.vcpu_lead = guest_refill, 1 * MS
    costs.smt_throughput = Fraction(5, 4)
    return costs


class Labourer(World):
    """Does jobs of given lengths, one per batch, and records when and where each was done."""

    __slots__ = ("clock", "done", "jobs", "scheduler")

    def __init__(
        self, scheduler: Scheduler, name: str, *, system: bool = False, pcpu: int = 0, shares: int = 1000
    ) -> None:
        last = scheduler.pcpus[pcpu]
        super().__init__("labourer", name, system=system, node=last.node, last=last, shares=shares)
        self.scheduler, self.clock = scheduler, scheduler.clock
        self.jobs: deque[int] = deque()
        self.done: list[tuple[int, int]] = []

    def give(self, *lengths: int) -> None:
        """Give it jobs now."""
        self.jobs.extend(lengths)
        self.scheduler.wake(self, self.clock.now)

    def give_at(self, when: int, *lengths: int) -> None:
        """Give it jobs later."""
        self.clock.at(Alarm(self.clock, lambda _: self.give(*lengths)), when)

    def begin(self, start: int) -> int | None:
        return self.jobs[0] if self.jobs else None

    def end(self, now: int) -> None:
        self.jobs.popleft()
        self.done.append((now, self.last.index))

    def has_work(self, now: int) -> bool:
        return bool(self.jobs)


def bare_host(
    sockets: int = 1,
    cores: int = 1,
    *,
    threads: int = 1,
    free: bool = False,
    guest_refill: int = 0,
    policy: PolicyMaker = ProportionalShare,
    states: CoreStates | None = None,
    **changes: int,
) -> Scheduler:
    """PCPUs and a scheduler without any other part."""
    costs = cost_table(free=free, guest_refill=guest_refill)
    return Scheduler(Clock(), sockets, cores, costs, settings(**changes), threads=threads, policy=policy, states=states)


def numa_balanced(scheduler: Scheduler, *, period: int = 2 * SECOND, imbalance: int = 10) -> NumaBalancer:
    """The NUMA balancer of these nodes, started."""
    balancer = NumaBalancer(scheduler, period, imbalance / 100)
    scheduler.clock.start(balancer.run())
    return balancer


def balanced(scheduler: Scheduler, worlds: Sequence[World], period: int, package_period: int = 0) -> Balancer:
    """The load balancer of these worlds, started if it is needed."""
    balancer = Balancer(scheduler, worlds, period, package_period)
    if balancer.is_needed:
        scheduler.clock.start(periodic(scheduler.clock, period, balancer.check))
    return balancer


def check_charges(scheduler: Scheduler, worlds: list[Labourer]) -> None:
    """The busy time of PCPUs equals the time charged to worlds."""
    now = scheduler.clock.now
    for pcpu in scheduler.pcpus:
        pcpu.charge(now)
    assert sum(world.used for world in worlds) == sum(pcpu.busy(now) for pcpu in scheduler.pcpus)
