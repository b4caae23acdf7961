"""The wire in front of a physical NIC when what comes depends on what the host sent: the peer's queues, and frames one by one.

What the peer may send is released to it, in flights, at instants that lie ahead. The peer gives its connections turns: each
puts at most a burst on the wire before the next one does. Bursts are worked out when somebody looks, those that begin before
now, so that a release that is made later, for now or for an instant before others, still finds its place: whoever looks, and when,
changes nothing.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.train import Train
from hostsim.model.traffic.flow import Sender

if TYPE_CHECKING:
    from hostsim.model.net.pnic import RxQueue

__all__ = ["Link"]


class Link:
    """A link from a peer that waits for the host's answers.

    Attributes:
        free: instant from which the wire has nothing to carry, as far as it was worked out.
    """

    __slots__ = ("_active", "_bursts", "_number", "_open", "_released", "_turn", "free")

    def __init__(self) -> None:
        self._released: list[tuple[int, int, Sender, int, int, int, RxQueue]] = []
        self._number = 0
        self._active: deque[Sender] = deque()
        self._turn: Sender | None = None
        """Who has the wire until `free` and wants it again."""
        self._bursts: list[Train] = []
        self._open: list[tuple[Sender, Arrivals]] = []
        self.free = 0

    def carry(self, sender: Sender, arrivals: Arrivals) -> None:
        """Let an open-loop flow come over this link besides."""
        self._open.append((sender, arrivals))

    def release(self, sender: Sender, at: int, step: int, turns: int, frames: int) -> None:
        """Let a sender put ``frames`` on the wire, in ``turns`` equal parts from ``at`` on, ``step`` picoseconds apart."""
        if frames:
            self._put(at, self._next_number(), sender, step, min(turns, frames), frames)

    def _next_number(self) -> int:
        """Releases for the same instant go in the order in which they were made, all turns of each."""
        self._number += 1
        return self._number

    def _put(self, at: int, number: int, sender: Sender, step: int, turns: int, frames: int) -> None:
        queue = sender.queue
        heappush(self._released, (at, number, sender, step, turns, frames, queue))
        heappush(queue.releases, at)
        queue.expect(at + sender.frame_ps)

    def collect(self, now: int) -> list[Train]:
        """Bursts whose first bit was on the wire before ``now`` and that were not collected before, in order."""
        for sender, arrivals in self._open:
            for train in arrivals.collect(now, sender):
                for born in train.born_at():
                    self._put(born, self._next_number(), sender, 0, 1, 1)
        released, active, turn, free = self._released, self._active, self._turn, self.free
        while free < now:
            while released and released[0][0] <= free:
                self._admit()
            if turn is not None:  # who came meanwhile is before it
                active.append(turn)
                turn = None
            if not active:
                if not released or released[0][0] >= now:
                    break
                free = released[0][0]
                continue
            sender = active.popleft()
            backlog = sender.backlog
            count = sender.burst if backlog > sender.burst else backlog
            frame = sender.frame_ps
            born = free + frame
            self._bursts.append(Train(sender, count, born, frame, born, frame))
            free += count * frame
            sender.backlog = backlog - count
            if backlog > count:
                turn = sender
        self.free, self._turn = free, turn
        bursts, self._bursts = self._bursts, []
        return bursts

    def _admit(self) -> None:
        at, number, sender, step, turns, frames, queue = heappop(self._released)
        heappop(queue.releases)  # the same release: those of a queue are admitted in the order of their instants
        part = frames // turns
        if not sender.backlog:
            self._active.append(sender)
        sender.backlog += part
        if turns > 1:
            self._put(at + step, number, sender, step, turns - 1, frames - part)

    def upcoming(self, queue: RxQueue) -> int | None:
        """An instant before which no frame for a queue can come, of those released; None when none was."""
        place = self.free
        for sender in self._active:
            if sender.queue is queue:
                return place + sender.frame_ps
            place += sender.frame_ps * min(sender.burst, sender.backlog)
        turn, soonest = self._turn, None
        if turn is not None and turn.queue is queue:
            soonest = place + turn.frame_ps
        if queue.releases:
            first = queue.releases[0]
            end = (place if first <= self.free else first) + 1  # a frame takes time
            soonest = end if soonest is None or end < soonest else soonest
        for sender, arrivals in self._open:
            sent = arrivals.upcoming()
            if sent is not None and sender.queue is queue and (soonest is None or sent < soonest):
                soonest = sent + 1
        return soonest

    def resteer(self) -> None:
        """Senders go by other queues from now on."""
        released = self._released
        self._released = []
        for _, _, _, _, _, _, queue in released:
            queue.releases.clear()
        for at, number, sender, step, turns, frames, _ in released:
            self._put(at, number, sender, step, turns, frames)
