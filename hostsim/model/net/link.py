"""The wire in front of a physical NIC when what comes depends on what the host sent: the peer's queues, and frames one by one.

What the peer may send is released to it, in flights, at instants that lie ahead. Whenever the wire is free the peer puts a burst
of one of its connections on it, any of those that have something to send: a fixed order would fall into step with the host's
interrupts, and stay there. Bursts are worked out when somebody looks, those that begin before now, so that a release that is made
later, for now or for an instant before others, still finds its place: whoever looks, and when, changes nothing.
"""

from __future__ import annotations

from heapq import heappop, heappush
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.train import Train
from hostsim.model.traffic.flow import Sender

if TYPE_CHECKING:
    from hostsim.model.net.pnic import RxQueue

__all__ = ["Link"]

BLOCK: Final = 4096
"""Random numbers drawn at a time."""


class Link:
    """A link from a peer that waits for the host's answers.

    Attributes:
        free: instant from which the wire has nothing to carry, as far as it was worked out.
    """

    __slots__ = ("_active", "_bursts", "_draws", "_number", "_open", "_random", "_released", "_turn", "free")

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._draws: list[float] = []
        self._released: list[tuple[int, int, Sender, int, int, int, RxQueue]] = []
        self._number = 0
        self._active: list[Sender] = []
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
            if turn is not None:
                active.append(turn)
                turn = None
            if not active:
                if not released or released[0][0] >= now:
                    break
                free = released[0][0]
                continue
            sender = self._choose() if len(active) > 1 else active.pop()
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

    def _choose(self) -> Sender:
        """Take any of those that have something to send."""
        if not self._draws:
            self._draws = self._random.random(BLOCK).tolist()
        active = self._active
        place = int(self._draws.pop() * len(active))
        sender = active[place]
        active[place] = active[-1]
        active.pop()
        return sender

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
        if any(sender.queue is queue for sender in self._active) or (
            self._turn is not None and self._turn.queue is queue
        ):
            return self.free + 1
        soonest = queue.releases[0] if queue.releases else None
        for sender, arrivals in self._open:
            sent = arrivals.upcoming()
            if sent is not None and sender.queue is queue and (soonest is None or sent < soonest):
                soonest = sent
        return None if soonest is None else max(soonest, self.free) + 1

    def resteer(self) -> None:
        """Senders go by other queues from now on."""
        released = self._released
        self._released = []
        for _, _, _, _, _, _, queue in released:
            queue.releases.clear()
        for at, number, sender, step, turns, frames, _ in sorted(released, key=itemgetter(0, 1)):
            self._put(at, number, sender, step, turns, frames)
