"""Arrivals evaluated lazily: a source knows how many packets have come by now, without an event each.

Constant rates are closed forms; every other process is drawn ahead in blocks from the source's own random stream, or given
as timestamps. All three answer the same two questions, so nothing downstream knows which it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.train import Stream, Train
from hostsim.units import SECOND

__all__ = ["Arrivals", "BurstArrivals", "ConstantArrivals", "DrawnArrivals", "RecordedArrivals"]

BLOCK = 4096
"""Gaps drawn at a time."""


class Arrivals(Protocol):
    """Instants at which packets of a flow come, in order."""

    def upcoming(self) -> int | None:
        """Instant of the first arrival not yet collected; None when there will be no more."""
        ...

    def collect(self, now: int, flow: Stream) -> list[Train]:
        """Arrivals up to and including ``now`` that were not collected before, as trains; ``ready`` and ``born`` are theirs."""
        ...


class ConstantArrivals:
    """One packet every ``1 / rate`` seconds, in closed form; instants are exact to the picosecond however long the run."""

    __slots__ = ("_den", "_next", "_num", "_start")

    def __init__(self, rate: float, start: int) -> None:
        interval = SECOND / Fraction(rate).limit_denominator(10**6)
        self._num, self._den = interval.numerator, interval.denominator
        self._start = start
        self._next = 0

    def upcoming(self) -> int | None:
        return self._start + self._next * self._num // self._den

    def collect(self, now: int, flow: Stream) -> list[Train]:
        late = now - self._start
        count = (late * self._den + self._den - 1) // self._num + 1 - self._next if late >= 0 else 0
        if count <= 0:
            return []
        first = self._start + self._next * self._num // self._den
        self._next += count
        gap = self._num // self._den
        return [Train(flow, count, first, gap, first, gap)]


class BurstArrivals:
    """Bursts of packets at a steady rate, in closed form; the packets of a burst come together.

    Args:
        rate: bursts in a second.
        start: instant of the first.
        burst: packets in each.
    """

    __slots__ = ("_burst", "_bursts")

    def __init__(self, rate: float, start: int, burst: int) -> None:
        self._bursts, self._burst = ConstantArrivals(rate, start), burst

    def upcoming(self) -> int | None:
        return self._bursts.upcoming()

    def collect(self, now: int, flow: Stream) -> list[Train]:
        trains = []
        for bursts in self._bursts.collect(now, flow):
            births = [born for born in bursts.born_at() for _ in range(self._burst)]
            trains.append(Train(flow, len(births), births[0], 0, births[0], 0, births))
        return trains


class RecordedArrivals:
    """Packets at given instants, in ascending order."""

    __slots__ = ("_instants", "_next")

    def __init__(self, instants: list[int]) -> None:
        self._instants = instants
        self._next = 0

    def upcoming(self) -> int | None:
        return self._instants[self._next] if self._next < len(self._instants) else None

    def collect(self, now: int, flow: Stream) -> list[Train]:
        first = self._next
        last = bisect_right(self._instants, now, first)
        if last == first:
            return []
        self._next = last
        births = self._instants[first:last]
        return [Train(flow, last - first, births[0], 0, births[0], 0, births)]


class DrawnArrivals:
    """Packets whose gaps are drawn, a block at a time.

    Args:
        draw: given a number, returns as many gaps in picoseconds (float), from the source's own stream.
        start: instant from which the first gap counts.
    """

    __slots__ = ("_block", "_draw", "_rest")

    def __init__(self, draw: Callable[[int], NDArray[np.float64]], start: int) -> None:
        self._draw = draw
        self._rest = float(start)
        self._block = self._drawn()

    def _drawn(self) -> RecordedArrivals:
        instants = self._rest + np.cumsum(self._draw(BLOCK))
        self._rest = float(instants[-1])
        return RecordedArrivals(np.rint(instants).astype(np.int64).tolist())

    def upcoming(self) -> int | None:
        due = self._block.upcoming()
        if due is None:
            self._block = self._drawn()
            due = self._block.upcoming()
        return due

    def collect(self, now: int, flow: Stream) -> list[Train]:
        trains = self._block.collect(now, flow)
        while self._block.upcoming() is None:
            self._block = self._drawn()
            trains += self._block.collect(now, flow)
        return trains
