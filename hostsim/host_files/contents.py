"""Contents of a host's files: readings with their places, samples of metrics, arrivals, and notes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.results.estimate import LEAST_BATCHES, batch_means, student

__all__ = ["MOST_READINGS", "Arrivals", "Contents", "Reading", "Series", "group_name", "mean_of", "rate_of"]

MOST_READINGS = 200_000
"""Largest number of readings; an esxtop capture with 1,000 VMs has half as many columns."""


@dataclass(frozen=True)
class Reading:
    """A value or a counter in a file."""

    file: str
    line: int
    subject: str
    """The object: ``vmnic0``, ``Group Cpu(1:web)``."""
    name: str
    """The name in the file."""
    value: str | int | float
    """The value; for a counter the mean of its samples."""
    samples: int = 0
    """Number of samples; 0 for a plain value."""
    half: float | None = None
    """Half-width of the 95 % interval of the mean, or None."""
    to: str = ""
    """Key of the draft, or metric, that uses the reading; empty if unused."""
    given: Any = None
    """Value of that key."""
    column: int = 0
    """Column of a table, from 1; 0 for other formats."""

    @property
    def place(self) -> str:
        """File, line and column, as in comments of the draft."""
        return f"{self.file}:{self.line}" + (f", column {self.column}" if self.column else "")


@dataclass(frozen=True)
class Series:
    """Samples of one of hostsim's metrics."""

    metric: str
    samples: FloatArray
    """Samples in the metric's unit, in order of time, shape (samples,)."""
    rounding: float
    """Half of the rounding step of the file's numbers, in the metric's unit."""
    file: str
    source: str
    """Origin of the samples, in words."""


@dataclass(frozen=True)
class Arrivals:
    """Instants of the packets of a capture."""

    file: str
    instants_ns: tuple[int, ...]
    """Nanoseconds since the first one, ascending."""
    octets: tuple[int, ...]
    """Bytes of each frame; empty if unknown."""


@dataclass
class Contents:
    """Contents of the files of a host."""

    readings: list[Reading] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    arrivals: list[Arrivals] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Notes on the draft, one sentence each."""
    _called: dict[tuple[str, str], str] = field(default_factory=dict)

    def called(self, kind: str, name: str) -> str:
        """Name of a VM or a switch in the draft, unique for each name.

        Args:
            kind: ``vm`` or ``switch``.
            name: on the host.
        """
        plain = group_name(name)
        for number in range(1, len(self._called) + 2):
            tried = plain if number == 1 else f"{plain}-{number}"
            if self._called.setdefault((kind, tried), name) == name:
                return tried
        raise AssertionError("no free suffix")

    def add(self, reading: Reading) -> None:
        """Add a reading, up to `MOST_READINGS`."""
        if len(self.readings) < MOST_READINGS:
            self.readings.append(reading)
        elif len(self.readings) == MOST_READINGS:
            self.note(f"{reading.file}: has more than {MOST_READINGS} counters; the others are not listed")

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def measure(
        self, metric: str, columns: Sequence[FloatArray], rounding: float, file: str, source: str, *, mean: bool
    ) -> None:
        """Add the sum or mean of several series of samples as samples of a metric; does nothing without samples.

        Args:
            metric: of the catalogue.
            columns: samples in the metric's unit, each of shape (samples,); NaN for missing values.
            rounding: rounding error of each series.
            file: of the series.
            source: place of the series in the file, in words, after the name of the file.
            mean: True for the mean, False for the sum.
        """
        if not columns:
            return
        table = np.array(columns, dtype=np.float64)
        whole = table[:, np.isfinite(table).all(axis=0)]
        if whole.shape[1]:
            values = whole.mean(axis=0) if mean else whole.sum(axis=0)
            # rounding errors of columns are independent, so that of their sum grows with the square root of their
            # number
            spread = rounding * len(columns) ** 0.5 / (len(columns) if mean else 1)
            self.series.append(Series(metric, values, spread, file, file + source))


def group_name(vm: str, default: str = "vm") -> str:
    """Name of a group of VMs in a scenario, from the name of a VM: letters, digits, ``_`` and ``-``."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", vm).strip("-")[:60]
    return plain or default


def mean_of(samples: FloatArray, rounding: float) -> tuple[float, float | None, int]:
    """Mean of the samples of a counter, half-width of its 95 % interval, and number of samples.

    With 20 samples or more, the interval is that of batch means, as consecutive samples are correlated; with fewer, it
    is Student's. It is at least as wide as the rounding of the numbers.

    Args:
        samples: in order of time, shape (samples,); NaN for missing values.
        rounding: half of the rounding step of the numbers.

    Returns:
        The half-width is None for a single sample, and the mean NaN without samples.
    """
    finite = samples[np.isfinite(samples)]
    count = len(finite)
    if not count:
        return math.nan, None, 0
    interval = batch_means(finite)[0] if count >= LEAST_BATCHES else student(finite.tolist())
    half = max(interval.half, rounding)
    return float(finite.mean()), half if math.isfinite(half) else None, count


def rate_of(mbits: int) -> str:
    """A line rate in the notation of a hardware file: ``10 Gbit/s``."""
    return f"{mbits / 1000:g} Gbit/s" if mbits >= 1000 else f"{mbits} Mbit/s"
