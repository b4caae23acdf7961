"""An open-loop wire: frames of several independent flows, serialized at line rate."""

from __future__ import annotations

import numpy as np

from hostsim.engine.arrivals import Arrivals, ConstantArrivals
from hostsim.engine.jitter import JitteredArrivals
from hostsim.engine.packet_train import Train
from hostsim.model.contract import Wire
from hostsim.model.receive.rx_queue import RxQueue
from hostsim.model.traffic.flow import Sender
from hostsim.units import MS

__all__ = ["OpenLoopWire"]

AHEAD = 5 * MS
"""How far ahead the frames of irregular senders are worked out."""


class OpenLoopWire(Wire):
    """The link from open-loop senders; a frame arrives with its last bit.

    A frame waits for those before it (in the switch port at the other end, which is not bounded here). A sender on its own
    that keeps a constant interval never waits, so its instants stay a closed form; all others are worked out a few
    milliseconds ahead, which changes nothing, because nothing in the host can change what comes.
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
        """Return the flows with their arrivals, for another wire in place of this one, which nobody has looked at yet."""
        return list(zip(self._flows, self._arrivals, strict=True))

    def upcoming(self, queue: RxQueue) -> int | None:
        """Return the arrival time of the first frame for a queue that is not yet collected; None when there will be no more."""
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
            for place in range(looked, len(self._ends)):
                if flows[self._owners[place]].queue is queue:
                    return self._ends[place]
            soonest: int | None = None
            for place in range(len(flows)):
                if flows[place].queue is queue:
                    sent = self._arrivals[place].upcoming()
                    if sent is not None and (soonest is None or sent < soonest):
                        soonest = sent
            if soonest is None:
                return None
            looked = len(self._ends) - self._next
            self._work_out(soonest + AHEAD)

    def collect(self, now: int) -> list[Train[Sender]]:
        """Return the frames that arrived by ``now`` and were not collected before, in order."""
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

    def resteer(self) -> None:
        """Follow senders to other receive queues."""
        for sender in self._flows:
            at = self.upcoming(sender.queue)
            if at is not None:
                sender.queue.expect(at)

    def _work_out(self, horizon: int) -> None:
        """Serialize the frames sent by ``horizon``: each starts when it was sent and the one before it has left the wire."""
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
