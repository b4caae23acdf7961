"""The wire in front of a physical NIC: frames of several flows, one after the other at line rate."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from hostsim.engine.arrivals import Arrivals, ConstantArrivals
from hostsim.engine.train import Train
from hostsim.model.net.pnic import Incoming
from hostsim.model.traffic.flow import Sender
from hostsim.units import MS

if TYPE_CHECKING:
    from hostsim.model.net.pnic import RxQueue

__all__ = ["Wire"]

AHEAD = 5 * MS
"""How far ahead the frames of irregular senders are worked out."""


class Wire(Incoming):
    """A link that delivers frames at the instants their last bit has come.

    A frame waits for those before it (in the switch port at the other end, which is not bounded here). A sender on its own
    that keeps a constant interval never waits, so its instants stay a closed form; all others are worked out a few
    milliseconds ahead, which changes nothing, because nothing in the host can change what comes.
    """

    __slots__ = ("_arrivals", "_ends", "_flows", "_free", "_horizon", "_next", "_owners", "_shift")

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
        """Let a flow come over this wire, its frames sent as they arrive at its sender."""
        self._flows.append(sender)
        self._arrivals.append(arrivals)
        alone = len(self._flows) == 1 and isinstance(arrivals, ConstantArrivals)
        self._shift = sender.frame_ps if alone else 0

    def upcoming(self, queue: RxQueue) -> int | None:
        """Instant at which the first frame for a queue that is not yet collected has come; None when there will be no more."""
        here = [sender.queue is queue for sender in self._flows]
        if not any(here):
            return None
        if self._shift:
            sent = self._arrivals[0].upcoming()
            return None if sent is None else sent + self._shift
        looked = self._next
        while True:
            for place in range(looked, len(self._ends)):
                if here[self._owners[place]]:
                    return self._ends[place]
            sends = [
                sent
                for mine, arrivals in zip(here, self._arrivals, strict=True)
                if mine and (sent := arrivals.upcoming()) is not None
            ]
            if not sends:
                return None
            looked = len(self._ends) - self._next
            self._work_out(min(sends) + AHEAD)

    def collect(self, now: int) -> list[Train]:
        """Frames that have come by ``now`` and were not collected before, in order."""
        if self._shift:
            trains = self._arrivals[0].collect(now - self._shift, self._flows[0])
            for train in trains:
                train.ready += self._shift
                train.born += self._shift
            return trains
        if now > self._horizon:
            self._work_out(now + AHEAD)
        first, ends = self._next, self._ends
        last = bisect_right(ends, now, first)
        self._next = last
        trains = []
        while first < last:
            owner, end = self._owners[first], first + 1
            while end < last and self._owners[end] == owner:
                end += 1
            born = ends[first]
            trains.append(Train(self._flows[owner], end - first, born, 0, born, 0, ends[first:end]))
            first = end
        return trains

    def resteer(self) -> None:
        """Senders go by other queues from now on."""
        for sender in self._flows:
            at = self.upcoming(sender.queue)
            if at is not None:
                sender.queue.expect(at)

    def _work_out(self, horizon: int) -> None:
        """Put what is sent by ``horizon`` on the wire: each frame starts when it was sent and the one before it is through."""
        self._horizon = horizon
        sent: list[int] = []
        owners: list[int] = []
        for position, (flow, arrivals) in enumerate(zip(self._flows, self._arrivals, strict=True)):
            for train in arrivals.collect(horizon, flow):
                sent += train.born_at()
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
