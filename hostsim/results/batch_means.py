"""Batch means: the confidence interval of a measure within a single run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol, Self, TypeVar

import numpy as np

from hostsim.estimate import MOST_BATCHES, Interval, batch_means
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.record import RunRecord

__all__ = ["batch_means_interval"]


class _Sampled(Protocol):
    def thinned(self, rows: list[int]) -> Self: ...


_Samples = TypeVar("_Samples", bound=_Sampled)


def batch_means_interval(record: RunRecord, metric: str, level: float = 0.95) -> tuple[Interval, str]:
    """Confidence interval of a measure of one run from batch means, with a note on its basis.

    The measured window is cut into some 40 stretches of equal length, the measure is taken over each, and their spread gives the
    interval; its middle is the measure over the whole window. Unbounded when the window has fewer than 20 time slices,
    or a stretch has too little to measure.

    Args:
        record: a finished run.
        metric: name of a measure.
        level: of the interval.
    """
    whole = CATALOGUE[metric].evaluate(record)
    borders = _borders(record)
    if len(borders) < 2 or math.isnan(whole):
        return Interval(whole, -math.inf, math.inf, 1), "one run"
    together = max((len(borders) - 1) // MOST_BATCHES, 1)
    ends = borders[(len(borders) - 1) % together :: together]
    values = [CATALOGUE[metric].evaluate(_stretch(record, list(pair))) for pair in itertools.pairwise(ends)]
    if any(math.isnan(value) for value in values):
        return Interval(whole, -math.inf, math.inf, 1), "one run, parts of which have too little to measure"
    interval, note = batch_means(values, level)
    return replace(interval, mean=whole, low=whole - interval.half, high=whole + interval.half), note


class _Thinned(Mapping[str, _Samples]):
    """Series or histograms at some boundaries, taken when they are asked for: a measure asks for a few of a hundred."""

    def __init__(self, whole: Mapping[str, _Samples], rows: list[int]) -> None:
        self._whole, self._rows = whole, rows

    def __getitem__(self, name: str) -> _Samples:
        return self._whole[name].thinned(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


def _stretch(record: RunRecord, rows: list[int]) -> RunRecord:
    """The run with some of its boundaries only, as `RunRecord.thinned` gives it, without the work for what no measure asks for."""
    series, histograms = _Thinned(record.series, rows), _Thinned(record.histograms, rows)
    return replace(record, instants_ps=record.instants_ps[rows], series=series, histograms=histograms, cut=0)


def _borders(record: RunRecord) -> list[int]:
    """Boundaries of the window's time slices, without those that leave a slice of less than half the usual length."""
    instants = record.instants_ps
    places = list(range(record.cut, len(instants)))
    if len(places) < 2:
        return places
    least = float(np.median(np.diff(instants[record.cut :]))) / 2
    kept = places[:1]
    for place in places[1:-1]:
        if min(instants[place] - instants[kept[-1]], instants[-1] - instants[place]) >= least:
            kept.append(place)
    return [*kept, places[-1]]
