"""Wires: the links from open-loop senders, and from peers whose frames depend on the host's packets.

An open-loop wire serializes the frames of several independent flows at line rate.

On a closed-loop wire (TCP, transactions) frames of the peer are released in flights, at times in the future. Whenever
the wire is free the peer sends a burst of one of its connections with pending frames, selected at random: a fixed order
would lock to the phase of the host's interrupts (docs/design/tcp.md). An open-loop flow on this wire sends in its turn
all frames that wait, so that it keeps its rate beside connections. Bursts that begin before now are computed when
the wire is read, so that a later release, for now or for a time before others, is still placed correctly: the frames do
not depend on the times of polls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

import numpy as np

from hostsim.engine.arrivals import Arrivals, ConstantArrivals, JitteredArrivals
from hostsim.engine.clock import Entry
from hostsim.engine.ring import Train
from hostsim.model.contract import NicQueue, Sender, Wire
from hostsim.units import MS

__all__ = ["ClosedLoopWire", "OpenLoopWire"]

AHEAD = 5 * MS
"""Time for which frames of irregular senders are computed ahead, in picoseconds."""


class OpenLoopWire(Wire):
    """The link from open-loop senders; a frame arrives with its last bit.

    A frame waits for those before it (in the switch port at the other end, which has no limit here). A single sender
    with a constant interval never waits, so that its times are a closed form; all others are computed a few
    milliseconds ahead, which has no effect on the result, as the host cannot affect them.
    """

    def __init__(self) -> None:
        self._flows: list[Sender] = []
        self._arrivals: list[Arrivals] = []
        self._shift = 0
        self._free = 0
        self._horizon = -1
        self._ends: list[int] = []
        self._owners: list[int] = []
        self._next = 0

    def carry(self, sender: Sender, arrivals: Arrivals) -> None:
        """Add a flow to the wire, with the arrivals of frames at its sender."""
        self._flows.append(sender)
        self._arrivals.append(arrivals)
        steady = isinstance(arrivals, ConstantArrivals)
        if isinstance(arrivals, JitteredArrivals):
            steady = arrivals.least_gap >= sender.frame_ps
        alone = len(self._flows) == 1 and steady
        self._shift = sender.frame_ps if alone else 0

    def flows(self) -> list[tuple[Sender, Arrivals]]:
        """Return the flows with their arrivals, for another wire that replaces this unused one."""
        return list(zip(self._flows, self._arrivals, strict=True))

    def upcoming(self, queue: NicQueue) -> int | None:
        """Return the arrival time of the first frame for a queue that is not collected, or None."""
        flows = self._flows
        if self._shift:
            if flows[0].queue is not queue:
                return None
            sent = self._arrivals[0].upcoming()
            return None if sent is None else sent + self._shift
        if not any(sender.queue is queue for sender in flows):
            return None
        looked = self._next
        while True:
            for index in range(looked, len(self._ends)):
                if flows[self._owners[index]].queue is queue:
                    return self._ends[index]
            soonest: int | None = None
            for index in range(len(flows)):
                if flows[index].queue is queue:
                    sent = self._arrivals[index].upcoming()
                    if sent is not None and (soonest is None or sent < soonest):
                        soonest = sent
            if soonest is None:
                return None
            looked = len(self._ends) - self._next
            self._work_out(soonest + AHEAD)

    def collect(self, now: int) -> list[Train[Sender]]:
        """Return the frames that arrived by ``now`` and were not collected, in order."""
        if self._shift:
            trains = self._arrivals[0].collect(now - self._shift, self._flows[0])
            for train in trains:
                train.ready += self._shift
                train.arrived += self._shift
            return trains
        if now > self._horizon:
            self._work_out(now + AHEAD)
        first, ends, owners = self._next, self._ends, self._owners
        last = len(ends)
        trains = []
        while first < last and (arrived := ends[first]) <= now:
            owner, end = owners[first], first + 1
            while end < last and owners[end] == owner and ends[end] <= now:
                end += 1
            trains.append(Train(self._flows[owner], end - first, arrived, 0, arrived, 0, ends[first:end]))
            first = end
        self._next = first
        return trains

    def resteer(self) -> int:
        """Move senders to other receive queues; returns 0, as a frame gets its queue when it has arrived."""
        for sender in self._flows:
            at = self.upcoming(sender.queue)
            if at is not None:
                sender.queue.expect(at)
        return 0

    def _work_out(self, horizon: int) -> None:
        """Serialize the frames sent up to time ``horizon``: each starts once it has been sent and the wire is free."""
        self._horizon = horizon
        sent: list[int] = []
        owners: list[int] = []
        for position, (flow, arrivals) in enumerate(zip(self._flows, self._arrivals, strict=True)):
            for train in arrivals.collect(horizon, flow):
                sent += train.arrival_times()
                owners += [position] * train.count
        instants, flow_of = np.array(sent, dtype=np.int64), np.array(owners, dtype=np.int64)
        order = np.argsort(instants, kind="stable")
        instants, flow_of = instants[order], flow_of[order]
        frame = np.array([flow.frame_ps for flow in self._flows], dtype=np.int64)[flow_of]
        through = np.cumsum(frame)
        ends = np.maximum.accumulate(np.maximum(instants, self._free) - (through - frame)) + through
        if len(ends):
            self._free = int(ends[-1])
        self._ends = self._ends[self._next :] + ends.tolist()
        self._owners = self._owners[self._next :] + flow_of.tolist()
        self._next = 0


BURST: Final = 16
"""Largest number of frames of an open-loop flow that are placed on the wire at a time."""
BLOCK: Final = 4096
"""Number of random numbers drawn at a time."""


class _Release(Entry):
    """A release: frames that a sender may put on the wire from a given time on, in equal turns."""

    def __init__(self, sender: Sender, step: int, turns: int, frames: int) -> None:
        super().__init__()
        self.sender, self.step, self.turns, self.frames = sender, step, turns, frames
        self.queue = sender.queue


class ClosedLoopWire(Wire):
    """The link from a closed-loop peer, which waits for the host's answers.

    Attributes:
        free: time from which the computed wire is free.
    """

    def __init__(self, random: np.random.Generator, flows: Iterable[tuple[Sender, Arrivals]] = ()) -> None:
        self._random = random
        self._draws = array("d")
        self._left = 0
        self._queues: list[NicQueue] = []
        """Receive queues with released frames."""
        self._releases = 0
        self._active: list[Sender] = []
        self._turn: Sender | None = None
        """Sender that has the wire until `free` and has more frames."""
        self._turn_left = 0
        """Number of frames that it sends before others have a turn."""
        self._bursts: list[Train[Sender]] = []
        self._open: list[tuple[Sender, Arrivals]] = []
        for sender, arrivals in flows:
            self.carry(sender, arrivals)
        self.free = 0

    def carry(self, sender: Sender, arrivals: Arrivals) -> None:
        """Add an open-loop flow that shares the wire."""
        sender.burst, sender.empties = max(sender.burst, BURST), True
        self._open.append((sender, arrivals))

    def release(self, sender: Sender, at: int, step: int, turns: int, frames: int) -> None:
        """Release ``frames`` of a sender, in ``turns`` equal parts from ``at`` on, ``step`` picoseconds apart."""
        if frames:
            release = _Release(sender, step, min(turns, frames), frames)
            self._releases += 1  # releases of one time are ordered by their creation, with all turns of each
            release.rank = self._releases
            self._put(release, at)

    def _put(self, release: _Release, at: int) -> None:
        sender = release.sender
        release.instant = at
        release.queue = queue = sender.queue
        releases = queue.releases
        if releases.first() is None:
            self._know(queue)
        releases.put(release)
        queue.expect(at + sender.frame_ps)

    def _know(self, queue: NicQueue) -> None:
        if queue not in self._queues:
            self._queues.append(queue)

    def _next_release(self) -> Entry | None:
        """Return the next release for any queue; None if there is none."""
        soonest: Entry | None = None
        for queue in self._queues:
            release = queue.releases.first()
            if release is None:
                continue
            if (
                soonest is None
                or release.instant < soonest.instant
                or (release.instant == soonest.instant and release.rank < soonest.rank)
            ):
                soonest = release
        return soonest

    def collect(self, now: int) -> list[Train[Sender]]:
        """Return the bursts that began before ``now`` and were not collected, in order."""
        for sender, arrivals in self._open:
            for train in arrivals.collect(now, sender):
                for arrived in train.arrival_times():
                    self.release(sender, arrived, 0, 1, 1)
        active, turn, turn_left, free = self._active, self._turn, self._turn_left, self.free
        while free < now:
            while (first := self._next_release()) is not None and first.instant <= free:
                self._admit(first)
            if turn is not None and not turn_left:
                active.append(turn)
                turn = None
            if turn is not None:
                sender = turn
            elif active:
                sender = self._choose() if len(active) > 1 else active.pop()
                turn_left = sender.backlog if sender.empties else sender.burst
            else:
                if first is None or first.instant >= now:
                    break
                free = first.instant
                continue
            backlog = sender.backlog
            count = min(backlog, sender.burst, turn_left)
            frame = sender.frame_ps
            arrived = free + frame
            self._bursts.append(Train(sender, count, arrived, frame, arrived, frame))
            free += count * frame
            sender.backlog = backlog - count
            if backlog > count:
                turn, turn_left = sender, turn_left - count
            else:
                turn = None
                sender.queue.backlogged -= 1
        self.free, self._turn, self._turn_left = free, turn, turn_left
        bursts, self._bursts = self._bursts, []
        return bursts

    def _choose(self) -> Sender:
        """Remove and return a random active sender."""
        left = self._left
        if not left:
            self._draws = array("d", self._random.random(BLOCK).tobytes())
            left = BLOCK
        self._left = left = left - 1
        active = self._active
        index = int(self._draws[left] * len(active))
        sender = active[index]
        active[index] = active[-1]
        active.pop()
        return sender

    def _admit(self, release: Entry) -> None:
        assert isinstance(release, _Release)
        release.queue.releases.take_first()
        sender, turns = release.sender, release.turns
        part = release.frames // turns
        if not sender.backlog:
            self._active.append(sender)
            sender.queue.backlogged += 1
        sender.backlog += part
        if turns > 1:
            release.turns, release.frames = turns - 1, release.frames - part
            self._put(release, release.instant + release.step)

    def upcoming(self, queue: NicQueue) -> int | None:
        """Return a lower bound of the arrival of the next released frame for a queue; None without releases."""
        if queue.backlogged:
            return self.free + 1
        release = queue.releases.first()
        soonest = None if release is None else release.instant
        for sender, arrivals in self._open:
            sent = arrivals.upcoming()
            if sent is not None and sender.queue is queue and (soonest is None or sent < soonest):
                soonest = sent
        return None if soonest is None else max(soonest, self.free) + 1

    def resteer(self) -> int:
        """Move senders to other receive queues; returns the end of the last burst, which keeps its queue."""
        for queue in self._queues:
            queue.backlogged = 0
        for sender in self._active if self._turn is None else [*self._active, self._turn]:
            self._know(sender.queue)
            sender.queue.backlogged += 1
        released: list[_Release] = []
        while (release := self._next_release()) is not None:
            assert isinstance(release, _Release)
            release.queue.releases.take_first()
            released.append(release)
        for release in released:
            self._put(release, release.instant)
        return self.free
