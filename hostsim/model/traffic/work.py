"""Work: bursts of CPU that come at a guest. Background load, and the queues that theory knows the answers of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.traffic.flow import Flow

__all__ = ["Work"]

BLOCK: Final = 4096
"""Lengths drawn at a time."""


class Work:
    """The bursts that one guest has to do, first come first served.

    Args:
        flow: counts them, together with those of the other guests of the same traffic.
        arrivals: when they come.
        draw: given a number, returns as many lengths in picoseconds, from this guest's own stream.
        batch: bursts that come together.
        together: most bursts served as one, in the time of one.
        waiting: bursts that may wait.
    """

    __slots__ = ("_arrivals", "_batch", "_draw", "_in_service", "_lengths", "_together", "flow", "ring")

    def __init__(
        self,
        flow: Flow,
        arrivals: Arrivals,
        draw: Callable[[int], NDArray[np.float64]],
        *,
        batch: int,
        together: int,
        waiting: int,
    ) -> None:
        self.flow, self._arrivals, self._draw = flow, arrivals, draw
        self._batch, self._together = batch, together
        self.ring = Ring(waiting)
        self._lengths: list[int] = []
        self._in_service: list[Train] = []

    def upcoming(self) -> int | None:
        """Instant of the next arrival; None when there will be no more."""
        return self._arrivals.upcoming()

    def settle(self, now: int) -> None:
        """Let in what came by ``now``; drop what found no room."""
        ring, flow = self.ring, self.flow
        for train in self._arrivals.collect(now, flow):
            if self._batch > 1:
                births = [born for born in train.born_at() for _ in range(self._batch)]
                train = Train(flow, len(births), births[0], 0, births[0], 0, births)
            flow.sent += train.count
            ring.push(train)
            ring.settle(now)

    def start(self, now: int) -> int | None:
        """Start on what has waited longest; its length in picoseconds, None when nothing waits."""
        self.settle(now)
        self._in_service = self.ring.take(self._together, now)
        if not self._in_service:
            return None
        if not self._lengths:
            self._lengths = np.rint(self._draw(BLOCK)).astype(np.int64).tolist()
        return self._lengths.pop()

    def finish(self, now: int) -> None:
        """What was started is done."""
        flow = self.flow
        for train in self._in_service:
            flow.delivered += train.count
            flow.latency.add_each([now - born for born in train.born_at()])
        self._in_service = []

    def unfinished(self) -> int:
        """Bursts in service."""
        return sum(train.count for train in self._in_service)
