"""Jitter: random lateness of timers and answers, so that nothing on a host stays in phase with anything by accident.

All of it is uniform, from nothing up to an amplitude, and drawn from the source's own random stream.
"""

from __future__ import annotations

from array import array
from fractions import Fraction
from typing import Final, TypeVar

import numpy as np

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.packet_train import Stream, Train
from hostsim.units import MS, SECOND, scaled, scaled_up

__all__ = ["HOLD", "Jitter", "JitteredArrivals"]

S = TypeVar("S", bound=Stream)

BLOCK: Final = 256
"""Random numbers drawn at a time."""
LIST: Final = 32
"""Of these, taken out as a list, which is quicker to take one from."""
HOLD = 1 * MS
"""Time for which a sender at a constant rate keeps its lateness: a tick of its kernel. Between two draws its packets stay a closed form."""


class Jitter:
    """A source of lateness.

    Args:
        amplitude: greatest lateness in picoseconds; 0 for none.
        random: the source's own stream.
    """

    def __init__(self, amplitude: int, random: np.random.Generator) -> None:
        self._amplitude, self._random = amplitude, random
        self._drawn = array("q")  # a list would have an object for each, and a host has thousands of sources
        self._next: list[int] = []

    def draw(self) -> int:
        """Return the next lateness in picoseconds."""
        if not self._amplitude:
            return 0
        if not self._next:
            drawn = self._drawn
            if not drawn:
                drawn.frombytes(self._random.integers(0, self._amplitude, BLOCK, endpoint=True).tobytes())
            self._next = drawn[-LIST:].tolist()
            del drawn[-LIST:]
        return self._next.pop()


class JitteredArrivals(Arrivals):
    """A constant-rate arrival process with timer jitter: every packet is late by what was drawn for its tick, and no lateness adds up.

    Packet ``n`` is due at ``start + n / rate``. The lateness is half an interval at most, so that packets keep their order.

    Args:
        rate: packets in a second.
        start: instant of the first, were it on time.
        amplitude: greatest lateness in picoseconds.
        random: the source's own stream.
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
        """Return the arrivals up to and including ``now`` that were not collected before, as trains of one lateness each."""
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
