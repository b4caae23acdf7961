"""CPU work of guests: bursts that arrive at a queue of a vCPU, as background load or as a single-server queue of theory."""

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
    """The work queue of one guest: bursts of CPU time, first come first served.

    Args:
        flow: counts them, together with those of other guests of the same traffic.
        arrivals: of the bursts.
        draw: returns a given number of lengths in picoseconds, from the guest's stream.
        batch: simultaneous bursts.
        together: largest number of bursts served as one, in the time of one.
        waiting: largest number of waiting bursts.
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
        self._batch, self._together = batch, together
        self.ring: Ring[Flow] = Ring(waiting)
        self._lengths: list[int] = []
        self._in_service: list[Train[Flow]] = []

    def upcoming(self) -> int | None:
        """Return the time of the next arrival, or None."""
        return self._arrivals.upcoming()

    def settle(self, now: int) -> None:
        """Admit the bursts that arrived by ``now``, and drop those that found the queue full."""
        ring, flow = self.ring, self.flow
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
        if not self._in_service:
            return None
        if not self._lengths:
            # at least a picosecond, as a burst of no time would never end
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
