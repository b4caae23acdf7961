"""Contents of a host's files: readings with their places, samples of measures, arrivals, and notes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hostsim.engine.record import FloatArray
from hostsim.results.estimate import LEAST_BATCHES, batch_means, student

__all__ = ["MOST_READINGS", "Arrivals", "Found", "Reading", "Series", "group_name", "mean_of"]

MOST_READINGS = 200_000
"""Readings that are kept; a capture of esxtop with 1,000 VMs has half as many columns."""


@dataclass(frozen=True)
class Reading:
    """A value or a counter that a file states."""

    file: str
    line: int
    subject: str
    """What it is a reading of: ``vmnic0``, ``Group Cpu(1:web)``."""
    name: str
    """Its name in the file."""
    value: str | int | float
    """Of a counter the mean of its samples."""
    samples: int = 0
    """Number of samples; 0 of a plain value."""
    half: float | None = None
    """Half-width of the 95 % interval of the mean; None where there is none."""
    to: str = ""
    """Key of the draft, or measure, that it was used for; empty where hostsim has no use for it."""
    given: Any = None
    """Value of that key."""
    column: int = 0
    """Column of a table, from 1; 0 elsewhere."""

    @property
    def place(self) -> str:
        """File, line and column, as comments of the draft have them."""
        return f"{self.file}:{self.line}" + (f", column {self.column}" if self.column else "")


@dataclass(frozen=True)
class Series:
    """Samples of a measure of hostsim."""

    metric: str
    samples: FloatArray
    """In the measure's unit, in order of time, shape (samples,)."""
    rounding: float
    """Half of the step in which the file writes its numbers, in the measure's unit."""
    source: str
    """Place of the samples, in words."""


@dataclass(frozen=True)
class Arrivals:
    """Instants of the packets of a capture."""

    file: str
    instants_ns: tuple[int, ...]
    """Nanoseconds since the first one, ascending."""
    octets: tuple[int, ...]
    """Bytes of each frame; empty where the file does not state them."""


@dataclass
class Found:
    """Contents of the files of a host."""

    readings: list[Reading] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    arrivals: list[Arrivals] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a user should know before the draft is used, one sentence each."""
    _called: dict[tuple[str, str], str] = field(default_factory=dict)

    def called(self, kind: str, name: str) -> str:
        """Name of a VM or a switch in the draft, the same for the same name, and for each another one.

        Args:
            kind: ``vm`` or ``switch``.
            name: on the host.
        """
        plain = group_name(name)
        for number in range(1, len(self._called) + 2):
            tried = plain if number == 1 else f"{plain}-{number}"
            if self._called.setdefault((kind, tried), name) == name:
                return tried
        raise AssertionError("one more name than there are")

    def add(self, reading: Reading) -> None:
        """Keep a reading, up to `MOST_READINGS`."""
        if len(self.readings) < MOST_READINGS:
            self.readings.append(reading)
        elif len(self.readings) == MOST_READINGS:
            self.note(f"{reading.file}: has more than {MOST_READINGS} counters; the others are not listed")

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def measure(self, metric: str, columns: Sequence[FloatArray], rounding: float, source: str, *, mean: bool) -> None:
        """Keep the sum or the mean of several series of samples as samples of a measure; nothing where there are none.

        Args:
            metric: of the catalogue.
            columns: samples in the metric's unit, each of shape (samples,); NaN where a sample has no value.
            rounding: of each of them.
            source: their place, in words.
            mean: True for the mean, False for the sum.
        """
        if not columns:
            return
        table = np.array(columns, dtype=np.float64)
        whole = table[:, np.isfinite(table).all(axis=0)]
        if whole.shape[1]:
            values = whole.mean(axis=0) if mean else whole.sum(axis=0)
            # roundings of several columns are independent: they add up as the root of their number
            spread = rounding * len(columns) ** 0.5 / (len(columns) if mean else 1)
            self.series.append(Series(metric, values, spread, source))


def group_name(vm: str) -> str:
    """Name of a group of VMs in a scenario, from the name of a VM: letters, digits, ``_`` and ``-``."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", vm).strip("-")[:60]
    return plain or "vm"


def mean_of(samples: FloatArray, rounding: float) -> tuple[float, float | None, int]:
    """Mean of the samples of a counter, half-width of its 95 % interval, and number of samples.

    From 20 samples on the interval is that of batch means, since neighbours depend on each other; of fewer it is Student's. It is never
    narrower than the numbers are rounded.

    Args:
        samples: in order of time, shape (samples,); NaN where a sample has no value.
        rounding: half of the step in which the numbers are written.

    Returns:
        The half-width is None of a single sample, and the mean NaN of none.
    """
    known = samples[np.isfinite(samples)]
    count = len(known)
    if not count:
        return math.nan, None, 0
    interval = batch_means(known)[0] if count >= LEAST_BATCHES else student(known.tolist())
    half = max(interval.half, rounding)
    return float(known.mean()), half if math.isfinite(half) else None, count
