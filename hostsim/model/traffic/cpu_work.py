"""CPU work of guests: bursts that arrive at a queue of a vCPU, for background load or queueing theory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.record import FloatArray
from hostsim.engine.ring import Ring, Train
from hostsim.model.contract import Flow

__all__ = ["CpuWork"]

BLOCK: Final = 4096
"""Number of lengths drawn at a time."""


class CpuWork:
    """The work queue of a vCPU: bursts of CPU time, first come, first served.

    Args:
        flow: flow with counters of the bursts, shared with other guests of the same traffic.
        arrivals: arrival process of the bursts.
        draw: returns a given number of lengths in picoseconds, from the guest's random stream.
        batch: number of bursts in each arrival.
        together: largest number of bursts served together, in the time of one.
        waiting: largest number of waiting bursts, beside those in service.
    """

    def __init__(
        self,
        flow: Flow,
        arrivals: Arrivals,
        draw: Callable[[int], FloatArray],
        *,
        batch: int,
        together: int,
        waiting: int,
    ) -> None:
        self.flow, self._arrivals, self._draw = flow, arrivals, draw
        self._batch, self._together, self._waiting = batch, together, waiting
        self.ring: Ring[Flow] = Ring(waiting)
        self._is_idle = True
        self._lengths: list[int] = []
        self._in_service: list[Train[Flow]] = []

    def upcoming(self) -> int | None:
        """Return the time of the next arrival, or None."""
        return self._arrivals.upcoming()

    def settle(self, now: int) -> None:
        """Admit the bursts that arrived by ``now``, and drop those that do not fit."""
        ring, flow = self.ring, self.flow
        # the first bursts that reach an idle vCPU go into service
        ring.capacity = self._waiting + self._together if self._is_idle else self._waiting
        for train in self._arrivals.collect(now, flow):
            if self._batch > 1:
                timestamps = [arrived for arrived in train.arrival_times() for _ in range(self._batch)]
                train = Train(flow, len(timestamps), timestamps[0], 0, timestamps[0], 0, timestamps)
            flow.sent += train.count
            ring.push(train)
            ring.settle(now)

    def start(self, now: int) -> int | None:
        """Start the oldest waiting burst; returns its length in picoseconds, or None."""
        self.settle(now)
        self._in_service = self.ring.take(self._together, now)
        self._is_idle = not self._in_service
        if not self._in_service:
            return None
        if not self._lengths:
            # at least a picosecond, as a burst of length 0 would never end
            self._lengths = np.maximum(np.rint(self._draw(BLOCK)).astype(np.int64), 1).tolist()
        return self._lengths.pop()

    def finish(self, now: int) -> None:
        """Complete the bursts in service."""
        flow = self.flow
        for train in self._in_service:
            flow.delivered += train.count
            flow.work_time.add_each(train.arrival_times(), now, 0)
        self._in_service = []

    def unfinished(self) -> int:
        """Return the number of bursts in service."""
        return sum(train.count for train in self._in_service)
