"""A latency histogram with buckets of equal relative width; counts machine integers in compiled code."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np

from hostsim.engine.record import IntArray
from hostsim.units import scaled

if TYPE_CHECKING:
    from mypy_extensions import i64

__all__ = ["LatencyLog"]

_SUBDIVISION_BITS: Final = 6
SUBDIVISIONS: Final = 1 << _SUBDIVISION_BITS
"""Number of buckets in each power of two: a bucket is at most 1.6 % wide."""
_LEAST_BITS: Final = 17
_MOST_BITS: Final = 44
LEAST_PS: Final = 1 << _LEAST_BITS
MOST_PS: Final = 1 << _MOST_BITS
"""Buckets span 0.13 us to 17.6 s; values outside count in the first or last bucket."""
OCTAVES: Final = _MOST_BITS - _LEAST_BITS


def _edges() -> IntArray:
    octave = np.arange(SUBDIVISIONS, dtype=np.int64)
    steps = [(LEAST_PS << o) + (LEAST_PS << o) // SUBDIVISIONS * octave for o in range(OCTAVES)]
    return np.concatenate([*steps, np.array([LEAST_PS << OCTAVES], dtype=np.int64)])


class LatencyLog:
    """A latency histogram.

    Attributes:
        counts: number of latencies in each bucket of `EDGES_PS`, up to the last `flush`.
        total: sum of the latencies, in picoseconds.
        least: the smallest latency if negative, else 0; a negative value is an error of the model.
    """

    EDGES_PS: Final = _edges()

    def __init__(self) -> None:
        self.counts: IntArray = np.zeros(SUBDIVISIONS * OCTAVES, dtype=np.int64)
        self.total = self.least = 0
        self._pending = [0] * (SUBDIVISIONS * OCTAVES)
        self._is_flushed = True
        self._octave: i64 = 0
        """Octave of the latest value, where the search for the next begins."""

    def add(self, first: int, step: int, count: int) -> None:
        """Add ``count`` latencies of a train, from ``first`` in steps of ``step`` (may be negative).

        All are in picoseconds.
        """
        if count == 1:
            self.total += first
            last = first
        else:
            last = first + (count - 1) * step
            self.total += scaled(first + last, count, 2)
        if first < self.least:
            self.least = first
        if last < self.least:
            self.least = last
        self._is_flushed = False
        latency: i64 = first
        between: i64 = step
        pending = self._pending
        for _place in range(count):
            bucket = self._bucket(latency)
            pending[bucket] = pending[bucket] + 1  # mypyc compiles += on a list item to a call
            latency += between

    def add_each(self, timestamps: list[int], first: int, step: int) -> None:
        """Add the latencies of packets with separate arrival times.

        The first latency ends at ``first``, each further one ``step`` later, in picoseconds.
        """
        self._is_flushed = False
        pending = self._pending
        at: i64 = first
        between: i64 = step
        for timestamp in timestamps:
            arrived: i64 = timestamp
            latency = at - arrived
            at += between
            self.total += int(latency)  # as i64 the sum of both would wrap at 2^63
            if latency < self.least:
                self.least = latency
            bucket = self._bucket(latency)
            pending[bucket] = pending[bucket] + 1

    def _bucket(self, latency: i64) -> i64:
        """Return the index of the bucket of a latency."""
        if latency < LEAST_PS:
            return 0
        if latency >= MOST_PS:
            return SUBDIVISIONS * OCTAVES - 1
        octave = self._octave
        while latency >> (octave + (_LEAST_BITS + 1)):
            octave += 1
        while not latency >> (octave + _LEAST_BITS):
            octave -= 1
        self._octave = octave
        within = latency >> (octave + (_LEAST_BITS - _SUBDIVISION_BITS))  # 64 to 127
        return (octave << _SUBDIVISION_BITS) + within - SUBDIVISIONS

    def flush(self) -> None:
        """Update `counts`."""
        if self._is_flushed:
            return
        self._is_flushed = True
        pending = self._pending
        low: i64 = 0
        while not pending[low]:
            low += 1
        high: i64 = len(pending)
        while not pending[high - 1]:
            high -= 1
        used = pending[low:high]
        packed = struct.pack(f"{len(used)}n", *used)  # in less than half of the time of an array of a list
        self.counts[low:high] += np.frombuffer(packed, dtype=np.int64)
        for bucket in range(low, high):
            pending[bucket] = 0
