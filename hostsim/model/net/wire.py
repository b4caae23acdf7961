"""The wire in front of a physical NIC: frames of several flows, one after the other at line rate."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.arrivals import Arrivals, ConstantArrivals
from hostsim.engine.train import Train
from hostsim.model.traffic.flow import Flow
from hostsim.spec.network import datagram_on_wire
from hostsim.units import transmission_ps

__all__ = ["Wire"]


class Wire:
    """A link that delivers frames at the instants their last bit has come.

    A frame waits for those before it (in the switch port at the other end, which is not bounded here); a sender on its own
    that keeps a constant interval never waits, so its instants stay a closed form.
    """

    __slots__ = ("_arrivals", "_flow_of", "_flows", "_free", "_late", "_octet_rate", "_shift")

    def __init__(self, line_rate: float) -> None:
        self._octet_rate = line_rate
        self._flows: list[Flow] = []
        self._arrivals: list[Arrivals] = []
        self._shift = 0
        self._free = 0
        self._late: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._flow_of: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def carry(self, flow: Flow, arrivals: Arrivals) -> None:
        """Let a flow come over this wire, its frames sent as they arrive at its sender."""
        self._flows.append(flow)
        self._arrivals.append(arrivals)
        alone = len(self._flows) == 1 and isinstance(arrivals, ConstantArrivals)
        self._shift = self._frame_ps(flow) if alone else 0

    def _frame_ps(self, flow: Flow) -> int:
        return transmission_ps(datagram_on_wire(flow.size), self._octet_rate)

    def upcoming(self) -> int | None:
        """Instant at which the first frame not yet collected has come; None when there will be no more."""
        if len(self._late):
            return int(self._late[0])
        ends = [
            max(sent, 0 if self._shift else self._free) + self._frame_ps(flow)
            for flow, arrivals in zip(self._flows, self._arrivals, strict=True)
            if (sent := arrivals.upcoming()) is not None
        ]
        return min(ends, default=None)

    def collect(self, now: int) -> list[Train]:
        """Frames that have come by ``now`` and were not collected before, in order."""
        if self._shift:
            trains = self._arrivals[0].collect(now - self._shift, self._flows[0])
            for train in trains:
                train.ready += self._shift
                train.born += self._shift
            return trains
        self._queue_up(now)
        come = int(np.searchsorted(self._late, now, side="right"))
        if not come:
            return []
        ends, flow_of = self._late[:come].tolist(), self._flow_of[:come]
        self._late, self._flow_of = self._late[come:], self._flow_of[come:]
        borders = [0, *(np.flatnonzero(np.diff(flow_of)) + 1).tolist(), come]
        return [Train(self._flows[flow_of[a]], b - a, ends[a], 0, ends[a], 0, ends[a:b]) for a, b in pairwise(borders)]

    def _queue_up(self, now: int) -> None:
        """Put what was sent by ``now`` on the wire: each frame starts when it was sent and the one before it is through."""
        sent: list[NDArray[np.int64]] = []
        owner: list[NDArray[np.int64]] = []
        for position, (flow, arrivals) in enumerate(zip(self._flows, self._arrivals, strict=True)):
            for train in arrivals.collect(now, flow):
                sent.append(np.array(train.born_at(), dtype=np.int64))
                owner.append(np.full(train.count, position, dtype=np.int64))
        if not sent:
            return
        instants, flow_of = np.concatenate(sent), np.concatenate(owner)
        order = np.argsort(instants, kind="stable")
        instants, flow_of = instants[order], flow_of[order]
        frame = np.array([self._frame_ps(flow) for flow in self._flows], dtype=np.int64)[flow_of]
        through = np.cumsum(frame)
        start = np.maximum.accumulate(np.maximum(instants, self._free) - (through - frame))
        ends = start + through
        self._free = int(ends[-1])
        self._late = np.concatenate([self._late, ends])
        self._flow_of = np.concatenate([self._flow_of, flow_of])
