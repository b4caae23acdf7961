"""Test rigs of the oracles: hosts from scenario files, and parts that scenario files cannot describe.

Clock, scheduler, PCPUs, worlds, rings, timers, arrivals, vNICs and latency logs are the simulator's; this module only connects them. Times
are in picoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hostsim.config.arrival import ArrivalSpec
from hostsim.config.host import PointSpec
from hostsim.engine.arrivals import Arrivals
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import FloatArray, RunRecord
from hostsim.engine.ring import Ring, Train
from hostsim.model.build import build_host
from hostsim.model.contract import Flow, GuestRing, InterruptTarget, Sender
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.pcpu import World
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.invariants import check_invariants, check_slices
from hostsim.model.policy.moderation import CoalescingScheme
from hostsim.model.receive.vnic import Vnic
from hostsim.model.traffic.arrival_source import ArrivalTimer, make_arrivals
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import SECOND

__all__ = [
    "PER_SECOND",
    "SERVICE_PS",
    "WARM_UP",
    "Guest",
    "Lengths",
    "Poller",
    "Pool",
    "Receiver",
    "Tick",
    "bare_host",
    "mean_time",
    "measure",
    "point",
    "poisson",
]

SERVICE_PS = 10_000_000
"""Mean length of a burst in `queue.yaml`: the unit of time of the closed forms."""
PER_SECOND = SECOND / SERVICE_PS
"""Services per second: the rate that gives one arrival per mean service time in a scenario file."""
WARM_UP = 16
"""The warm-up cut is every run's length over this number, independent of the measured values."""


def point(file: str, **settings: str) -> PointSpec:
    """A point of a scenario file beside this module; two underscores replace dots in paths of settings."""
    return _point(file, tuple(sorted((path.replace("__", "."), value) for path, value in settings.items())))


@lru_cache(maxsize=64)
def _point(file: str, settings: tuple[tuple[str, str], ...]) -> PointSpec:
    return point_at(load(Path(__file__).parent / file, dict(settings)), {}).spec


def measure(spec: PointSpec, streams: Streams, length: int, warm_up: int = 0) -> RunRecord:
    """Run a host for ``length`` picoseconds, check its laws, and cut a fixed share as warm-up.

    Args:
        spec: the point.
        streams: its random streams.
        length: picoseconds, warm-up included.
        warm_up: smallest cut, in picoseconds.

    Raises:
        InvariantError: a conservation law does not hold.
    """
    spec = spec.model_copy(update={"length": length})
    host = build_host(spec, streams)
    host.probe.start()
    host.clock.advance(length)
    host.probe.sample()
    check_invariants(host)
    instants, series, histograms = host.probe.collect()
    check_slices(instants, series, histograms)
    return RunRecord(
        point_id="",
        replication=streams.replication,
        seed=streams.seed,
        axes=dict[str, str](),
        instants_ps=instants,
        series=series,
        histograms=histograms,
        cut=max(len(instants) // WARM_UP, int(np.searchsorted(instants, warm_up))),
    )


def mean_time(record: RunRecord, name: str) -> tuple[float, int]:
    """Exact mean of a histogram over the window, in picoseconds, and its number of packets or bursts."""
    histogram = record.histograms[name]
    count = int((histogram.counts[-1] - histogram.counts[record.cut]).sum())
    total = int((histogram.sums_ps[-1] - histogram.sums_ps[record.cut]).sum())
    return total / count, count


ROOM = 1 << 40
"""Capacity of rings that must not drop packets."""


def bare_host(pcpus: int, *, quantum: int = 1000 * SECOND, lag_quanta: int = 10**9) -> Scheduler:
    """A scheduler with one node, no costs and no vCPU preemption; by default the quantum exceeds any burst."""
    spec = point("queue.yaml")
    costs = CostTable(spec.costs, spec.hardware.cpu)
    costs.vcpu_lead = 1 << 100
    settings = spec.settings.model_copy(
        update={
            "quantum": quantum,
            "lag_quanta": lag_quanta,
            "wake_reach": pcpus,  # theory has one queue for all servers
            "idle_reach": pcpus,
        }
    )
    return Scheduler(Clock(), 1, pcpus, costs, settings)


def poisson(rate: float, random: np.random.Generator) -> Arrivals:
    """Poisson arrivals at ``rate`` per second."""
    return make_arrivals(ArrivalSpec(process="poisson"), rate, random)


class Lengths:
    """Lengths of bursts, drawn in blocks."""

    def __init__(self, draw: Callable[[int], FloatArray]) -> None:
        self._draw = draw
        self._rest: list[int] = []

    def next(self) -> int:
        """The next length."""
        if not self._rest:
            self._rest = np.rint(self._draw(4096)).astype(np.int64).tolist()
        return self._rest.pop()


class _Job(World):
    """A world with one burst of work at a time."""

    def __init__(self, pool: Pool, *, system: bool, shares: int) -> None:
        last = pool.scheduler.pcpus[0]
        super().__init__("job", "job", system=system, node=last.node, last=last, shares=shares)
        self._pool = pool
        self.arrived = 0
        self.length: int | None = None

    def begin(self, start: int) -> int | None:
        return self.length

    def end(self, now: int) -> None:
        if self.length is not None:
            self.length = None
            flow = self._pool.flow
            flow.delivered += 1
            flow.latency.add(now - self.arrived, 0, 1)

    def has_work(self, now: int) -> bool:
        return self.length is not None

    def rest(self, now: int) -> None:
        self._pool.free.append(self)


class Pool:
    """Bursts of work, each in a separate world, so that only the scheduler decides their order."""

    def __init__(
        self,
        scheduler: Scheduler,
        name: str,
        arrivals: Arrivals,
        lengths: Lengths,
        *,
        system: bool = False,
        shares: int = 1000,
        vtime: int = 0,
    ) -> None:
        self.scheduler, self.flow = scheduler, Flow(name, 0, 1)
        self.free: list[_Job] = []
        self._lengths, self._system, self._shares, self._vtime = lengths, system, shares, vtime
        ArrivalTimer(scheduler.clock, arrivals, self.flow, self._admit)

    def _admit(self, train: Train[Flow], now: int) -> None:
        for arrived in train.arrival_times():
            self.flow.sent += 1
            if self.free:
                world = self.free.pop()
            else:
                world = _Job(self, system=self._system, shares=self._shares)
                world.vtime = self._vtime
            world.arrived, world.length = arrived, self._lengths.next()
            self.scheduler.wake(world, now)


class Receiver:
    """A receiver of packets at interrupts.

    Attributes:
        interrupts: number of interrupts with packets.
        first, last: instants of the first and the last of them.
        flow: its packets, with delays from arrival to reading.
    """

    def __init__(self) -> None:
        self.interrupts = self.first = self.last = 0
        self.flow = Flow("packets", 64, 1)

    def receive(self, trains: list[Train[Any]], now: int) -> None:
        """Take packets at an interrupt."""
        self.interrupts += 1
        self.first, self.last = self.first or now, now
        for train in trains:
            self.flow.delivered += train.count
            self.flow.latency.add_each(train.arrival_times(), now, 0)


class Guest(Receiver):
    """A guest that never halts and takes announced packets in zero time."""

    def __init__(self, clock: Clock, scheme: CoalescingScheme, arrivals: Arrivals) -> None:
        super().__init__()
        vnic = Vnic(clock, "eth0", ROOM, scheme, _Taker(self))
        ArrivalTimer(clock, arrivals, Sender(self.flow, 64, 0, 1), lambda train, _: vnic.receive(train))


class _Taker(InterruptTarget):
    """The vCPU of such a guest, reduced to the methods that a vNIC calls."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.halted, self.pending_ps, self.node = False, 0, bare_host(1).nodes[0]

    def interrupt(self, now: int, vnic: GuestRing) -> None:
        """Take everything at once."""
        self._receiver.receive(vnic.take(ROOM, now), now)
        vnic.unmask(now)


class Tick(Receiver):
    """A timer that empties a ring at a fixed rate."""

    def __init__(self, clock: Clock, interval: int, arrivals: Arrivals) -> None:
        super().__init__()
        self._ring: Ring[Flow] = Ring(ROOM)
        self._interval, self._arrivals = interval, arrivals
        self._timer = Timer(clock, self._look)
        self._timer.arm(interval)

    def _look(self, now: int) -> None:
        self._timer.arm(now + self._interval)
        for train in self._arrivals.collect(now, self.flow):
            self._ring.push(train)
        if taken := self._ring.take(ROOM, now):
            self.receive(taken, now)


class Poller(World):
    """A world that visits several rings in turn; every switch takes time.

    Args:
        scheduler: with its PCPU.
        arrivals: arrival process of each ring.
        lengths: lengths of all bursts, in order of service.
        switch: time to switch to the next ring.
        service: ``exhaustive``, ``gated`` or ``limited`` (to one).
    """

    def __init__(
        self, scheduler: Scheduler, arrivals: list[Arrivals], lengths: Lengths, switch: int, service: str
    ) -> None:
        last = scheduler.pcpus[0]
        super().__init__("poller", "poller", system=True, node=last.node, last=last)
        self._scheduler, self._arrivals, self._lengths = scheduler, arrivals, lengths
        self._switch, self._service = switch, service
        self._rings: list[Ring[Flow]] = [Ring(ROOM) for _ in arrivals]
        self._at = 0
        self._allowed: float | None = None
        self.flow = Flow("bursts", 0, 1)

    def start(self) -> None:
        """Begin the first round."""
        self._scheduler.wake(self, self._scheduler.clock.now)

    def _settle(self, now: int) -> Ring[Flow]:
        ring = self._rings[self._at]
        for train in self._arrivals[self._at].collect(now, self.flow):
            ring.push(train)
        ring.settle(now)
        return ring

    def begin(self, start: int) -> int | None:
        ring = self._settle(start)
        if self._allowed is not None and self._allowed >= 1 and ring.held:
            self._allowed -= 1
            [train] = ring.take(1, start)
            self.flow.delivered += 1
            length = self._lengths.next()
            self.flow.latency.add(start + length - train.arrived, 0, 1)
            return length
        self._at = (self._at + 1) % len(self._rings)
        self._allowed = None
        return self._switch

    def end(self, now: int) -> None:
        if self._allowed is None:  # it has just switched to this ring
            held = self._settle(now).held
            self._allowed = {"exhaustive": float("inf"), "gated": float(held), "limited": 1}[self._service]

    def has_work(self, now: int) -> bool:
        return True
