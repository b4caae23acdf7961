"""Measurement: time-weighted levels, and samples of all counters at the boundaries of time slices.

Counters are plain attributes of the parts that own them. A `Probe` reads them and the latency histograms at the
boundaries of at most 256 time slices and never resets them. When the slices are full, neighbours merge and the width
doubles, so that memory does not grow with simulated time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.latency_log import LatencyLog
from hostsim.engine.record import Histogram, IntArray, Series
from hostsim.errors import HostsimError

__all__ = ["Column", "LatencyLog", "Level", "Probe"]

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


Column: TypeAlias = Sequence[int] | Callable[[int], Sequence[int]]
"""Values of a counter, one for each entity: constant ones, or a function of the time that reads them."""


class _Group(NamedTuple):
    kind: str
    entities: tuple[str, ...]
    columns: Mapping[str, Column]
    read: list[Callable[[int], Sequence[int]]]
    """Columns that are sampled."""
    pack: Callable[..., bytes]
    """Packs all values of a sample as integers of 64 bits."""


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

    def watch(self, kind: str, entities: Sequence[str], columns: Mapping[str, Column]) -> None:
        """Register the counters ``kind.counter`` of some entities.

        Args:
            kind: kind of the entities.
            entities: names of the entities.
            columns: values for each entity, by name of the counter. Constant values are not sampled.
        """
        read = [column for column in columns.values() if callable(column)]
        pack = struct.Struct(f"{len(read) * len(entities)}n").pack  # n: as q, in 0.6 of its time
        self._groups.append(_Group(kind, tuple(entities), columns, read, pack))

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
        row = []
        for group in self._groups:
            values: list[int] = []
            for read in group.read:
                values.extend(read(now))
            row.append(group.pack(*values))  # takes a third of the time of an array
        self._rows.append(row)
        sampled = {}
        for name, logs in self._logs.items():
            for _, log in logs:
                log.flush()
            totals = [log.total for _, log in logs]
            if max(totals) >= 1 << 63:
                raise HostsimError(f"{name} adds up to more than 2^63 ps (106 days); use a shorter run")
            sampled[name] = np.array([log.counts for _, log in logs]), np.array(totals, dtype=np.int64)
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
            packed = bytearray().join([row[position] for row in self._rows])
            values = np.frombuffer(packed, dtype=np.int64).reshape(
                len(self._rows), len(group.read), len(group.entities)
            )
            sampled = iter(range(len(group.read)))
            for counter, column in group.columns.items():
                if callable(column):
                    table = np.ascontiguousarray(values[:, next(sampled)])
                else:
                    table = np.empty((len(self._rows), len(column)), dtype=np.int64)
                    table[:] = column
                series[f"{group.kind}.{counter}"] = Series(group.entities, table)
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
