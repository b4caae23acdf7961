"""Measurement: time-weighted levels, latency histograms, and samples of all counters at the boundaries of time slices.

Counters are plain attributes of the parts that own them; a `Probe` reads them at the boundaries of at most 256 time slices
and never resets anything. When the slices are full, neighbours merge and the slices double, so memory does not grow with
simulated time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from hostsim.engine.clock import Clock, Timer
from hostsim.record import Histogram, IntArray, Series

__all__ = ["LatencyLog", "Level", "Probe"]

MAX_SLICES = 256
SUBDIVISIONS = 64
"""Buckets in each power of two: a bucket is at most 1.6 % wide."""
LEAST_PS, OCTAVES = 1 << 17, 27
"""Buckets span 0.13 us to 17.6 s; what lies outside counts in the first or last."""
FLUSH: Final = 1024


class Level:
    """A time-weighted integer (queue length, state): the mean over a window is a difference of two integrals.

    Attributes:
        value: the level now.
        area: integral of the level up to the last change, in picoseconds times units.
    """

    def __init__(self) -> None:
        self.value = self.area = self._since = 0

    def add(self, change: int, now: int) -> None:
        """Change the level at ``now``."""
        self.area += self.value * (now - self._since)
        self._since = now
        self.value += change

    def integral(self, now: int) -> int:
        """Return the integral of the level up to ``now``."""
        return self.area + self.value * (now - self._since)


def _edges() -> IntArray:
    octave = np.arange(SUBDIVISIONS, dtype=np.int64)
    steps = [(LEAST_PS << o) + (LEAST_PS << o) // SUBDIVISIONS * octave for o in range(OCTAVES)]
    return np.concatenate([*steps, np.array([LEAST_PS << OCTAVES], dtype=np.int64)])


class LatencyLog:
    """A latency histogram that counts whole packet trains in bulk.

    Adding a train costs one append; the arithmetic is done with numpy once a thousand trains are there.

    Attributes:
        counts: number of latencies in each bucket of `EDGES_PS`.
        total: their sum, in picoseconds.
        least: the least of them where that is negative, else 0: a sign of a broken model.
    """

    EDGES_PS: Final = _edges()

    def __init__(self) -> None:
        self.counts: IntArray = np.zeros(SUBDIVISIONS * OCTAVES, dtype=np.int64)
        self.total = self.least = 0
        self._trains: list[int] = []  # first, step and count of one train after another
        self._values: list[int] = []

    def add(self, first: int, step: int, count: int) -> None:
        """Add the latencies of a train: ``count`` values from ``first`` in steps of ``step`` (may be negative), in picoseconds."""
        trains = self._trains
        trains.append(first)
        trains.append(step)
        trains.append(count)
        if len(trains) >= 3 * FLUSH:
            self.flush()

    def add_each(self, values: list[int]) -> None:
        """Add single latencies, in picoseconds."""
        self._values += values
        if len(self._values) >= FLUSH:
            self.flush()

    def flush(self) -> None:
        """Sort all pending latencies into the buckets."""
        parts = [np.array(self._values, dtype=np.int64)] if self._values else []
        if self._trains:
            first, step, count = np.array(self._trains, dtype=np.int64).reshape(-1, 3).T
            ends = np.cumsum(count)
            place = np.arange(ends[-1], dtype=np.int64) - np.repeat(ends - count, count)
            parts.append(np.repeat(first, count) + np.repeat(step, count) * place)
        if not parts:
            return
        values = np.concatenate(parts)
        self._trains, self._values = [], []
        self.total += int(values.sum())
        self.least = min(self.least, int(values.min()))
        mantissa, exponent = np.frexp(np.maximum(values, LEAST_PS).astype(np.float64))
        bucket = (exponent - LEAST_PS.bit_length()) * SUBDIVISIONS + ((mantissa * 2 - 1) * SUBDIVISIONS).astype(
            np.int64
        )
        self.counts += np.bincount(np.minimum(bucket, len(self.counts) - 1), minlength=len(self.counts))


class _Group(NamedTuple):
    counters: tuple[str, ...]
    entities: tuple[str, ...]
    read: Callable[[int], Sequence[Sequence[int]]]


class Probe:
    """A sampler of all counters of a host at the boundaries of time slices.

    Args:
        clock: the host's clock.
        slice_ps: width of a slice at first, in picoseconds.
    """

    def __init__(self, clock: Clock, slice_ps: int) -> None:
        self._clock = clock
        self._width = slice_ps
        self._groups: list[_Group] = []
        self._logs: dict[str, list[tuple[str, LatencyLog]]] = {}
        self._instants: list[int] = []
        self._rows: list[list[IntArray]] = []
        self._counts: list[dict[str, tuple[IntArray, IntArray]]] = []
        self._timer = Timer(clock, self._tick)
        self.on_sample: list[Callable[[int], None]] = []
        """Callbacks before each sample, for parts that are evaluated lazily."""

    def watch(
        self,
        kind: str,
        counters: Sequence[str],
        entities: Sequence[str],
        read: Callable[[int], Sequence[Sequence[int]]],
    ) -> None:
        """Register the counters ``kind.counter`` of some entities: ``read(now)`` returns, for each counter, a value for each entity."""
        self._groups.append(_Group(tuple(f"{kind}.{counter}" for counter in counters), tuple(entities), read))

    def watch_latency(self, name: str, entity: str, log: LatencyLog) -> None:
        """Register a latency histogram."""
        self._logs.setdefault(name, []).append((entity, log))

    def start(self) -> None:
        """Take the first sample now and one at every boundary from then on."""
        self.sample()
        self._timer.arm(self._clock.now + self._width)

    def sample(self) -> None:
        """Take a sample now."""
        now = self._clock.now
        if self._instants and self._instants[-1] == now:
            return
        for bring_up_to_date in self.on_sample:
            bring_up_to_date(now)
        self._instants.append(now)
        self._rows.append([np.array(group.read(now), dtype=np.int64) for group in self._groups])
        sampled = {}
        for name, logs in self._logs.items():
            for _, log in logs:
                log.flush()
            sampled[name] = (
                np.array([log.counts for _, log in logs]),
                np.array([log.total for _, log in logs], dtype=np.int64),
            )
        self._counts.append(sampled)

    def _tick(self, now: int) -> None:
        self.sample()
        if len(self._instants) > MAX_SLICES:
            for samples in (self._instants, self._rows, self._counts):
                del samples[1::2]
            self._width *= 2
            now = self._instants[-1]
        self._timer.arm(now + self._width)

    def collect(self) -> tuple[IntArray, dict[str, Series], dict[str, Histogram]]:
        """Return the boundaries of the slices in picoseconds, all counters, and all histograms trimmed to the buckets in use."""
        series = {}
        for position, group in enumerate(self._groups):
            values = np.array([row[position] for row in self._rows])
            for column, counter in enumerate(group.counters):
                series[counter] = Series(group.entities, np.ascontiguousarray(values[:, column]))
        histograms = {}
        for name, logs in self._logs.items():
            counts = np.array([sampled[name][0] for sampled in self._counts])
            used = np.flatnonzero(counts[-1].sum(axis=0))
            low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 1)
            histograms[name] = Histogram(
                tuple(entity for entity, _ in logs),
                LatencyLog.EDGES_PS[low : high + 1],
                counts[:, :, low:high],
                np.array([sampled[name][1] for sampled in self._counts]),
            )
        return np.array(self._instants, dtype=np.int64), series, histograms
