"""Arrival processes, evaluated lazily: no event for each packet.

Constant rates are closed forms. Poisson and gamma processes are drawn ahead in blocks from the source's random stream.
Recorded arrivals are timestamps. All have the interface `Arrivals`.

Jitter is random lateness of timers and answers, which prevents accidental phase locks on a host. It is uniform from 0
to an amplitude, and drawn from the source's random stream.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeVar

import numpy as np

from hostsim.engine.checkpoint import checkpoint
from hostsim.engine.record import FloatArray
from hostsim.engine.ring import Stream, Train
from hostsim.units import END, MS, SECOND, scaled, scaled_up

__all__ = [
    "HOLD",
    "Arrivals",
    "BurstArrivals",
    "ConstantArrivals",
    "DrawnArrivals",
    "Jitter",
    "JitteredArrivals",
    "RecordedArrivals",
    "ServiceTimes",
]

S = TypeVar("S", bound=Stream)

BLOCK = 4096
"""Number of gaps drawn at a time."""


class Arrivals:
    """An arrival process: the ordered arrival times of the packets of a flow."""

    def upcoming(self) -> int | None:
        """Return the time of the first arrival not yet collected; None after the last one."""
        raise NotImplementedError

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        """Return the arrivals up to and including ``now`` that are not yet collected, as trains.

        ``ready`` and ``arrived`` of a train are the arrival times.
        """
        raise NotImplementedError


class ConstantArrivals(Arrivals):
    """A deterministic arrival process: one packet every ``1 / rate`` seconds.

    Arrival times are a closed form, exact to the picosecond in runs of any length.
    """

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
        burst: number of packets in each.
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
    """A trace of arrivals: packets at given times in ascending order."""

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
    """A renewal process: random interarrival times, drawn in blocks.

    Args:
        draw: returns a given number of gaps in picoseconds (float), from the source's random stream.
        start: beginning of the first gap, in picoseconds.
    """

    def __init__(self, draw: Callable[[int], FloatArray], start: int) -> None:
        self._draw = draw
        self._rest = float(start)
        self._block = self._drawn()

    def _drawn(self) -> RecordedArrivals:
        checkpoint()  # one instant may have any number of blocks
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


DRAWN_AHEAD: Final = 256
"""Number of random numbers drawn at a time."""
LIST: Final = 32
"""Number of these in a list, which returns single values faster than an array."""
HOLD = 1 * MS
"""Time for which a constant-rate sender keeps its lateness: a tick of its kernel.

Within it packets are a closed form.
"""


class Jitter:
    """A source of lateness.

    Args:
        amplitude: largest lateness in picoseconds; 0 for none.
        random: the source's random stream.
    """

    def __init__(self, amplitude: int, random: np.random.Generator) -> None:
        self._amplitude, self._random = amplitude, random
        self._drawn = array("q")  # a list would allocate an object for each number, and a host has thousands of sources
        self._next: list[int] = []

    def draw(self) -> int:
        """Return the next lateness in picoseconds."""
        if not self._amplitude:
            return 0
        if not self._next:
            drawn = self._drawn
            if not drawn:
                drawn.frombytes(self._random.integers(0, self._amplitude, DRAWN_AHEAD, endpoint=True).tobytes())
            self._next = drawn[-LIST:].tolist()
            del drawn[-LIST:]
        return self._next.pop()


class JitteredArrivals(Arrivals):
    """A constant-rate arrival process with timer jitter, which does not accumulate.

    All packets of a tick have the same lateness.

    Packet ``n`` is due at ``start + n / rate``. The lateness is at most half an interval, so that packets keep their order.

    Args:
        rate: packets/s.
        start: due time of the first packet.
        amplitude: largest lateness in picoseconds.
        random: the source's random stream.
    """

    def __init__(self, rate: float, start: int, amplitude: int, random: np.random.Generator) -> None:
        interval = SECOND / Fraction(rate).limit_denominator(10**6)
        self._num, self._den = interval.numerator, interval.denominator
        self._start = start
        self._next = 0
        gap = self._num // self._den
        most = min(amplitude, gap // 2)
        self.least_gap = gap - most
        """Least time between two packets in picoseconds."""
        self._hold = max(1, HOLD // gap)
        self._jitter = Jitter(most, random)
        self._late = self._jitter.draw()
        self._until = self._hold

    def upcoming(self) -> int | None:
        """Return the time of the first arrival not yet collected."""
        return self._start + scaled(self._next, self._num, self._den) + self._late

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        """Return the arrivals up to and including ``now`` that are not yet collected, as trains.

        All packets of a train have the same lateness.
        """
        trains: list[Train[S]] = []
        while True:
            passed = now - self._start - self._late
            stop = min(scaled_up(passed + 1, self._den, self._num), self._until) if passed >= 0 else 0
            count = stop - self._next
            if count <= 0:
                return trains
            first = self._start + scaled(self._next, self._num, self._den) + self._late
            gap = self._num // self._den
            trains.append(Train(flow, count, first, gap, first, gap))
            self._next = stop
            if stop == self._until:
                self._late = self._jitter.draw()
                self._until += self._hold


SERVICES: Final = 64
"""Number of service times drawn at a time."""


class ServiceTimes:
    """Service times of an application, in sequence.

    Args:
        draw: returns a given number of lengths in picoseconds.
        factor: multiplier of each length.
    """

    def __init__(self, draw: Callable[[int], FloatArray], factor: float) -> None:
        self._draw, self._factor = draw, factor
        self._next: list[int] = []

    def take(self) -> int:
        """Return the next service time in picoseconds, at least 1."""
        if not self._next:
            drawn = self._draw(SERVICES) * self._factor
            self._next = np.maximum(np.rint(drawn).astype(np.int64), 1).tolist()
        return self._next.pop()

    def total(self, count: int) -> int:
        """Return the sum of the next ``count`` service times in picoseconds."""
        total = 0
        for _ in range(count):
            total += self.take()
        return total
