"""Measurement: time-weighted levels, and samples of all counters at the boundaries of time slices.

Counters are plain attributes of the parts that own them. A `Probe` reads them and the latency histograms at the
boundaries of at most 256 time slices and never resets them. When the slices are full, neighbours merge and the width
doubles, so that memory does not grow with simulated time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.latency_log import LatencyLog
from hostsim.engine.record import Histogram, IntArray, Series

__all__ = ["LatencyLog", "Level", "Probe"]

MAX_SLICES = 256


class Level:
    """A time-weighted integer, such as a queue length.

    Its mean over a window is a difference of integrals over the width.


    Attributes:
        value: current level.
        area: integral of the level up to its last change, in picoseconds times its unit.
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


class _Group(NamedTuple):
    counters: tuple[str, ...]
    entities: tuple[str, ...]
    read: Callable[[int], list[int]]
    by_entity: bool
    """Values are ordered by entity, then by counter; else by counter, then by entity."""
    pack: Callable[..., bytes]
    """Packs all values as integers of 64 bits."""


class Probe:
    """A sampler of all counters of a host at the boundaries of time slices.

    Args:
        clock: the host's clock.
        slice_ps: initial width of a slice, in picoseconds.
    """

    def __init__(self, clock: Clock, slice_ps: int) -> None:
        self._clock = clock
        self._width = slice_ps
        self._groups: list[_Group] = []
        self._logs: dict[str, list[tuple[str, LatencyLog]]] = {}
        self._instants: list[int] = []
        self._rows: list[list[bytes]] = []
        self._counts: list[dict[str, tuple[IntArray, IntArray]]] = []
        self._timer = Timer(clock, self._tick)
        self.on_sample: list[Callable[[int], None]] = []
        """Callbacks before each sample, by which lazily evaluated parts update their counters."""

    def watch(
        self,
        kind: str,
        counters: Sequence[str],
        entities: Sequence[str],
        read: Callable[[int], Sequence[Sequence[int]]],
    ) -> None:
        """Register the counters ``kind.counter`` of some entities.

        ``read(now)`` returns a list of values for each counter, with a value for each entity.
        """

        def flat(now: int) -> list[int]:
            values: list[int] = []
            for row in read(now):
                values.extend(row)
            return values

        self._watch(kind, counters, entities, flat, by_entity=False)

    def watch_each(
        self, kind: str, counters: Sequence[str], entities: Sequence[str], read: Callable[[int], list[int]]
    ) -> None:
        """Register the counters ``kind.counter`` of some entities.

        ``read(now)`` returns one flat list: for each entity, a value for each counter.
        """
        self._watch(kind, counters, entities, read, by_entity=True)

    def _watch(
        self,
        kind: str,
        counters: Sequence[str],
        entities: Sequence[str],
        read: Callable[[int], list[int]],
        *,
        by_entity: bool,
    ) -> None:
        names = tuple(f"{kind}.{counter}" for counter in counters)
        pack = struct.Struct(f"{len(counters) * len(entities)}q").pack
        self._groups.append(_Group(names, tuple(entities), read, by_entity, pack))

    def watch_latency(self, name: str, entity: str, log: LatencyLog) -> None:
        """Register a latency histogram."""
        self._logs.setdefault(name, []).append((entity, log))

    def start(self) -> None:
        """Take the first sample now and one at every later boundary."""
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
        # takes half as long as arrays of the standard library or of numpy
        self._rows.append([group.pack(*group.read(now)) for group in self._groups])
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
        """Return the boundaries of the slices in picoseconds, all counters, and all histograms.

        Histograms are trimmed to the buckets in use.
        """
        series = {}
        for position, group in enumerate(self._groups):
            values = np.concatenate([np.frombuffer(row[position], dtype=np.int64) for row in self._rows])
            samples, counters, entities = len(self._rows), len(group.counters), len(group.entities)
            if group.by_entity:
                values = values.reshape(samples, entities, counters).swapaxes(1, 2)
            else:
                values = values.reshape(samples, counters, entities)
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
