"""Stretches of a run: its record restricted to some of the boundaries of its time slices, taken as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol, Self, TypeVar

import numpy as np

from hostsim.engine.record import RunRecord

__all__ = ["part_of", "stretch"]


class _Sampled(Protocol):
    def thinned(self, rows: list[int]) -> Self: ...


_Samples = TypeVar("_Samples", bound=_Sampled)


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


def stretch(record: RunRecord, rows: list[int]) -> RunRecord:
    """The run with some of its boundaries only, as `RunRecord.thinned` gives it, without the work for what no measure asks for."""
    series, histograms = _Thinned(record.series, rows), _Thinned(record.histograms, rows)
    return replace(record, instants_ps=record.instants_ps[rows], series=series, histograms=histograms, cut=0)


def part_of(record: RunRecord, number: int, count: int) -> RunRecord:
    """One of several equal parts of a run, warm-up included; its ends are those of the nearest time slices.

    Args:
        record: a finished run with all its slices.
        number: of the part, from 1 on.
        count: parts of the run.
    """
    instants = record.instants_ps
    ends = [int(np.abs(instants - int(instants[-1]) * place // count).argmin()) for place in (number - 1, number)]
    return stretch(record, ends)
