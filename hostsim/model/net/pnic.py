"""A receive queue of a physical NIC, and the NetPoll world that empties it.

Frames arrive lazily: the queue asks its flows how many have come whenever somebody looks. An interrupt is scheduled only
while the NetPoll sleeps; while it runs, the queue's interrupt is masked, as with NAPI.
"""

from __future__ import annotations

from typing import Protocol

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World
from hostsim.model.net.wire import Wire
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow
from hostsim.policy.coalescing import paced

__all__ = ["NetPoll", "RxQueue", "Switching"]


class RxQueue:
    """A receive queue: descriptors in front of the wire.

    Attributes:
        name: for tables: ``vmnic0-rx0``.
        wire: where its frames come from.
        ring: descriptors; a frame that finds none is dropped at no cost to the host.
        interrupts: physical interrupts so far.
    """

    __slots__ = ("_flows", "_interval", "_last", "_timer", "interrupts", "name", "poll", "ring", "wire")

    def __init__(self, clock: Clock, name: str, capacity: int, interval: int, wire: Wire) -> None:
        self.name = name
        self.ring = Ring(capacity)
        self.wire = wire
        self.interrupts = 0
        self._interval = interval
        self._last: int | None = None
        self._timer = Timer(clock, self._interrupt)
        self.poll: NetPoll

    def settle(self, now: int) -> None:
        """Let in what came off the wire by ``now``; drop what found no descriptor."""
        ring = self.ring
        for train in self.wire.collect(now):
            flow = train.flow
            assert isinstance(flow, Flow)
            flow.sent += train.count
            dropped = ring.dropped
            ring.push(train)
            ring.settle(now)
            flow.lost_nic += ring.dropped - dropped

    def copies_inside(self) -> int:
        """Copies that the frames waiting here will be replicated to."""
        return sum(train.count * train.flow.receivers for train in self.ring.trains())  # type: ignore[attr-defined]  # frames belong to flows

    def take(self, limit: int, now: int) -> list[Train]:
        """Take at most ``limit`` frames that are here at ``now``."""
        self.settle(now)
        return self.ring.take(limit, now)

    def unmask(self, now: int) -> None:
        """The NetPoll goes to sleep: interrupt for the next frame, no sooner than moderation allows."""
        first = now if self.ring.held else self.wire.upcoming()
        if first is not None:
            self._timer.arm(max(now, paced(first, self._last, self._interval)))

    def _interrupt(self, now: int) -> None:
        self._last = now
        self.interrupts += 1
        self.poll.interrupt(now)


class Switching(Protocol):
    """What a NetPoll hands its frames to."""

    runs_on: bool
    """True when no receiver waits for the end of the poll, so that a poll may run on while frames keep coming."""

    def replication_ps(self, flow: Flow) -> int:
        """Time to hand one packet of a flow to all its receivers."""
        ...

    def receive(self, train: Train, start: int, packet_ps: int) -> int:
        """Work through a train from ``start``, ``packet_ps`` a packet before it is handed on; returns the end."""
        ...

    def poll_done(self, now: int) -> None:
        """The poll is over: wake whom it was for."""
        ...


class NetPoll(World):
    """The VMkernel's receive context of one queue: takes frames in batches and runs the virtual switch on them."""

    __slots__ = ("_budget", "_interrupted", "_packet_ps", "_queue", "_scheduler", "_switch", "_wake_ps")

    def __init__(
        self,
        name: str,
        node: Node,
        last: Pcpu,
        scheduler: Scheduler,
        queue: RxQueue,
        switch: Switching,
        timing: Timing,
        driver: str,
        budget: int,
    ) -> None:
        super().__init__("netpoll", name, system=True, node=node, last=last)
        self._scheduler, self._queue, self._switch, self._budget = scheduler, queue, switch, budget
        self._wake_ps = timing.poll_wake
        self._packet_ps = timing.rx_packet[driver]
        self._interrupted = False
        queue.poll = self

    def interrupt(self, now: int) -> None:
        """The queue has something."""
        self._interrupted = True
        self._scheduler.wake(self, now)

    def begin(self, start: int) -> int | None:
        queue, switch, budget = self._queue, self._switch, self._budget
        end = start
        woken = self._interrupted
        if woken:
            self._interrupted = False
            end += self._wake_ps
        at = end
        batch: list[Train] = []
        while taken := queue.take(budget, end):
            for train in taken:
                budget -= train.count
                end += train.count * (self._packet_ps + switch.replication_ps(train.flow))  # type: ignore[arg-type]  # frames belong to flows
                if not (batch and batch[-1].absorb(train)):
                    batch.append(train)
            # Frames come from outside and depend on nothing here: a poll that finds more at its end needs no event.
            if not budget or not switch.runs_on:
                break
        for train in batch:
            at = switch.receive(train, at, self._packet_ps)
        return end - start if batch or woken else None

    def end(self, now: int) -> None:
        self._switch.poll_done(now)

    def has_work(self, now: int) -> bool:
        self._queue.settle(now)
        return self._interrupted or self._queue.ring.held > 0

    def rest(self, now: int) -> None:
        self._queue.unmask(now)
