"""Arrival processes, evaluated lazily: constant, burst, Poisson or gamma, and recorded arrivals without an event for each packet.

Constant rates are closed forms; every other process is drawn ahead in blocks from the source's own random stream, or given
as timestamps. All have the same interface, `Arrivals`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import numpy as np

from hostsim.engine.checkpoint import checkpoint
from hostsim.engine.packet_train import Stream, Train
from hostsim.engine.record import FloatArray
from hostsim.units import END, SECOND

__all__ = ["Arrivals", "BurstArrivals", "ConstantArrivals", "DrawnArrivals", "RecordedArrivals"]

S = TypeVar("S", bound=Stream)

BLOCK = 4096
"""Gaps drawn at a time."""


class Arrivals:
    """An arrival process: the ordered arrival times of the packets of a flow."""

    def upcoming(self) -> int | None:
        """Return the time of the first arrival not yet collected; None after the last one."""
        raise NotImplementedError

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        """Return the arrivals up to and including ``now`` that were not collected before, as trains; ``ready`` and ``arrived`` are the arrival times."""
        raise NotImplementedError


class ConstantArrivals(Arrivals):
    """A deterministic arrival process: one packet every ``1 / rate`` seconds, in closed form, exact to the picosecond in runs of any length."""

    def __init__(self, rate: float, start: int) -> None:
        interval = SECOND / Fraction(rate).limit_denominator(10**6)
        self._num, self._den = interval.numerator, interval.denominator
        self._start = start
        self._next = 0

    def upcoming(self) -> int | None:
        return self._start + self._next * self._num // self._den

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        late = now - self._start
        count = (late * self._den + self._den - 1) // self._num + 1 - self._next if late >= 0 else 0
        if count <= 0:
            return []
        first = self._start + self._next * self._num // self._den
        self._next += count
        gap = self._num // self._den
        return [Train(flow, count, first, gap, first, gap)]


class BurstArrivals(Arrivals):
    """A batch arrival process: the packets of a burst arrive together.

    Args:
        bursts: arrival process of the bursts.
        burst: packets in each.
    """

    def __init__(self, bursts: Arrivals, burst: int) -> None:
        self._bursts, self._burst = bursts, burst

    def upcoming(self) -> int | None:
        return self._bursts.upcoming()

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        trains = []
        for bursts in self._bursts.collect(now, flow):
            timestamps = [arrived for arrived in bursts.arrival_times() for _ in range(self._burst)]
            trains.append(Train(flow, len(timestamps), timestamps[0], 0, timestamps[0], 0, timestamps))
        return trains


class RecordedArrivals(Arrivals):
    """A trace of arrivals: packets at given times, in ascending order."""

    def __init__(self, instants: list[int]) -> None:
        self._instants = instants
        self._next = 0

    def upcoming(self) -> int | None:
        return self._instants[self._next] if self._next < len(self._instants) else None

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        first = self._next
        last = bisect_right(self._instants, now, first)
        if last == first:
            return []
        self._next = last
        timestamps = self._instants[first:last]
        return [Train(flow, last - first, timestamps[0], 0, timestamps[0], 0, timestamps)]


class DrawnArrivals(Arrivals):
    """A renewal process: random interarrival times, drawn a block at a time.

    Args:
        draw: given a number, returns as many gaps in picoseconds (float), from the source's own stream.
        start: instant from which the first gap counts.
    """

    def __init__(self, draw: Callable[[int], FloatArray], start: int) -> None:
        self._draw = draw
        self._rest = float(start)
        self._block = self._drawn()

    def _drawn(self) -> RecordedArrivals:
        checkpoint()  # any number of blocks may arrive at one instant
        instants = self._rest + np.cumsum(self._draw(BLOCK))
        self._rest = float(instants[-1])
        return RecordedArrivals(np.rint(np.minimum(instants, END)).astype(np.int64).tolist())

    def upcoming(self) -> int | None:
        due = self._block.upcoming()
        if due is None:
            self._block = self._drawn()
            due = self._block.upcoming()
        return due

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        trains = self._block.collect(now, flow)
        while self._block.upcoming() is None:
            self._block = self._drawn()
            trains += self._block.collect(now, flow)
        return trains
