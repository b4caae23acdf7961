"""Benches: arrangements of the product's own parts that no scenario file describes, for oracles.

Clock, scheduler, PCPUs, worlds, rings, timers, arrivals, vNICs and latency logs are the product's; what stands here only
hands them to each other. Times are in picoseconds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World
from hostsim.model.net.vnic import Vnic
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow
from hostsim.model.traffic.source import make_arrivals
from hostsim.policy.aggregation import Backoff
from hostsim.spec.settings import Coalescing
from hostsim.spec.workload import ArrivalSpec
from hostsim.study.whole import point
from hostsim.units import SECOND

__all__ = ["Feed", "Guest", "Lengths", "Poller", "Pool", "Tick", "bare_host", "poisson"]

ROOM = 1 << 40
"""Packets that fit where nothing is to be lost."""


def bare_host(pcpus: int, *, quantum: int = 1000 * SECOND, lag_quanta: int = 10**9) -> Scheduler:
    """One node on which nothing costs anything, no vCPU cuts another short, and turns end with the work unless told otherwise."""
    spec = point("queue.yaml")
    timing = Timing(spec.costs, spec.hardware.cpu)
    timing.vcpu_lead = 1 << 100
    settings = spec.settings.model_copy(update={"quantum": quantum, "lag_quanta": lag_quanta})
    return Scheduler(Clock(), 1, pcpus, timing, settings)


def poisson(rate: float, random: np.random.Generator) -> Arrivals:
    """Poisson arrivals, ``rate`` a second."""
    return make_arrivals(ArrivalSpec(process="poisson"), rate, random)


class Lengths:
    """Lengths of bursts one by one, drawn in blocks."""

    def __init__(self, draw: Callable[[int], NDArray[np.float64]]) -> None:
        self._draw = draw
        self._rest: list[int] = []

    def next(self) -> int:
        """The next length."""
        if not self._rest:
            self._rest = np.rint(self._draw(4096)).astype(np.int64).tolist()
        return self._rest.pop()


class Feed:
    """Hands over every arrival at its own instant, by a timer."""

    def __init__(self, clock: Clock, arrivals: Arrivals, flow: Flow, receive: Callable[[Train, int], None]) -> None:
        self._arrivals, self._flow, self._receive = arrivals, flow, receive
        self._timer = Timer(clock, self._come)
        self._await()

    def _await(self) -> None:
        due = self._arrivals.upcoming()
        if due is not None:
            self._timer.arm(due)

    def _come(self, now: int) -> None:
        for train in self._arrivals.collect(now, self._flow):
            self._receive(train, now)
        self._await()


class _Job(World):
    """A world with one burst of work at a time."""

    __slots__ = ("_pool", "born", "length")

    def __init__(self, pool: Pool, *, system: bool, shares: int) -> None:
        last = pool.scheduler.pcpus[0]
        super().__init__("job", "job", system=system, node=last.node, last=last, shares=shares)
        self._pool = pool
        self.born = 0
        self.length: int | None = None

    def begin(self, start: int) -> int | None:
        return self.length

    def end(self, now: int) -> None:
        if self.length is not None:
            self.length = None
            flow = self._pool.flow
            flow.delivered += 1
            flow.latency.add_each([now - self.born])

    def has_work(self, now: int) -> bool:
        return self.length is not None

    def rest(self, now: int) -> None:
        self._pool.free.append(self)


class Pool:
    """Bursts of work that each get a world of their own, as many worlds as there are bursts at a time.

    So it is the scheduler, and it alone, that decides who waits for whom.
    """

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
        Feed(scheduler.clock, arrivals, self.flow, self._admit)

    def _admit(self, train: Train, now: int) -> None:
        for born in train.born_at():
            self.flow.sent += 1
            if self.free:
                world = self.free.pop()
            else:
                world = _Job(self, system=self._system, shares=self._shares)
                world.vtime = self._vtime
            world.born, world.length = born, self._lengths.next()
            self.scheduler.wake(world, now)


class Guest:
    """A guest that never halts and takes what its vNIC announces in no time.

    Attributes:
        halted: never.
        node: where it is at home.
        owed: time charged to it that it does not take.
        interrupts: interrupts taken.
        first, last: instants of the first and the last of them.
        flow: its packets, with the delays from their coming to their being taken.
    """

    def __init__(self, clock: Clock, coalescing: Coalescing, arrivals: Arrivals) -> None:
        self.halted = False
        self.node = Node(0)
        self.interrupts = self.first = self.last = self.owed = 0
        self.flow = Flow("packets", 64, 1)
        vnic = Vnic(clock, "eth0", ROOM, coalescing, self, Backoff(ROOM, 1))
        Feed(clock, arrivals, self.flow, lambda train, _: vnic.receive(train))

    def interrupt(self, now: int, vnic: Vnic) -> None:
        """Take everything at once."""
        self.interrupts += 1
        self.first, self.last = self.first or now, now
        for train in vnic.take(ROOM, now):
            self.flow.delivered += train.count
            self.flow.latency.add_each([now - born for born in train.born_at()])
        vnic.unmask(now)


class Tick:
    """A timer that looks at a ring at a fixed rate and takes what is there.

    Attributes:
        interrupts: ticks at which something was there.
        first, last: instants of the first and the last of them.
        flow: what came, with the delays until the tick.
    """

    def __init__(self, clock: Clock, interval: int, arrivals: Arrivals) -> None:
        self.interrupts = self.first = self.last = self.owed = 0
        self.flow = Flow("packets", 64, 1)
        self._ring = Ring(ROOM)
        self._interval, self._arrivals = interval, arrivals
        self._timer = Timer(clock, self._look)
        self._timer.arm(interval)

    def _look(self, now: int) -> None:
        self._timer.arm(now + self._interval)
        for train in self._arrivals.collect(now, self.flow):
            self._ring.push(train)
        taken = self._ring.take(ROOM, now)
        if taken:
            self.interrupts += 1
            self.first, self.last = self.first or now, now
        for train in taken:
            self.flow.delivered += train.count
            self.flow.latency.add_each([now - born for born in train.born_at()])


class Poller(World):
    """One helper world that visits several rings in turn; every turn takes time, work or not.

    Args:
        scheduler: whose first PCPU it has to itself.
        arrivals: of each ring.
        lengths: of the bursts, one after another wherever they come from.
        switch: time to turn to the next ring.
        service: ``exhaustive``, ``gated`` or ``limited`` (to one).
    """

    __slots__ = ("_allowed", "_arrivals", "_at", "_lengths", "_rings", "_scheduler", "_service", "_switch", "flow")

    def __init__(
        self, scheduler: Scheduler, arrivals: list[Arrivals], lengths: Lengths, switch: int, service: str
    ) -> None:
        last = scheduler.pcpus[0]
        super().__init__("poller", "poller", system=True, node=last.node, last=last)
        self._scheduler, self._arrivals, self._lengths = scheduler, arrivals, lengths
        self._switch, self._service = switch, service
        self._rings = [Ring(ROOM) for _ in arrivals]
        self._at = 0
        self._allowed: float | None = None
        self.flow = Flow("bursts", 0, 1)

    def start(self) -> None:
        """Begin the first round."""
        self._scheduler.wake(self, self._scheduler.clock.now)

    def _settle(self, now: int) -> Ring:
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
            self.flow.latency.add_each([start + length - train.born])
            return length
        self._at = (self._at + 1) % len(self._rings)
        self._allowed = None
        return self._switch

    def end(self, now: int) -> None:
        if self._allowed is None:  # has just turned to this ring
            held = self._settle(now).held
            self._allowed = {"exhaustive": float("inf"), "gated": held, "limited": 1}[self._service]

    def has_work(self, now: int) -> bool:
        return True
