"""Comparison of two tables of the same points: paired differences, and regressions beyond a tolerance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hostsim.errors import Fault, InputError
from hostsim.estimate import paired_difference, variance_ratio
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.prediction_interval import prediction_interval, replication_interval
from hostsim.results.axis_column import as_written
from hostsim.results.differences import PairedDifference
from hostsim.results.table import axes_of, is_of_ensemble

__all__ = ["Coverage", "compare", "coverage", "differences", "require_axes", "wall_seconds"]


@dataclass(frozen=True)
class Coverage:
    """Coverage of a comparison: the points of two tables that have paired runs."""

    paired: tuple[str, ...]
    """Points with two pairs of finished runs or more, whose differences have an interval."""
    alone: tuple[str, ...]
    """Points without a pair of finished runs: only one table has them, or their runs failed."""
    single: tuple[str, ...]
    """Points with one pair, of whose difference there is no interval."""

    @property
    def points(self) -> int:
        """Number of the points of either table."""
        return len(self.paired) + len(self.alone) + len(self.single)

    @property
    def compared(self) -> int:
        """Number of the points whose differences have an interval."""
        return len(self.paired)


def require_axes(table: pd.DataFrame, axes: Sequence[str], whose: str) -> None:
    """Check that a table has these axes, and that they identify its points: runs of two hosts are no replications of one.

    Args:
        table: one of `hostsim.results.table.table_of`.
        axes: columns that make a point.
        whose: ``earlier`` or ``later``, for the fault.

    Raises:
        InputError: they do not.
    """
    table, keys = as_written(table), [*axes, "replication"]
    absent = [axis for axis in keys if axis not in table.columns]
    if absent:
        raise InputError(Fault(f"is no column of the {whose} table", given=", ".join(absent)))
    if table.duplicated(keys).any():
        more = [axis for axis in axes_of(table) if axis not in axes and len(table[axis].unique()) > 1]
        values = "; ".join(f"{axis} = {', '.join(map(str, table[axis].unique()))}" for axis in more)
        message = f"the {whose} table has several hosts where the other has one, which cannot be paired"
        raise InputError(Fault(message, given=values, allowed="one value of every axis that only one side has"))


def coverage(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str]) -> Coverage:
    """Count the points of two tables that have paired runs.

    Args:
        after: the table in question.
        before: the baseline.
        axes: columns that make a point.

    Raises:
        InputError: an axis is no column of the earlier table, or does not tell the points of a table apart.
    """
    now, then = _comparable(after, before, axes)
    pairs: Counter[tuple[Any, ...]] = Counter(dict.fromkeys(_places(pd.concat([now, then]), axes), 0))
    finished = [table[table["error"] == ""] for table in (now, then)]
    pairs.update(_places(finished[0].merge(finished[1], on=[*axes, "replication"]), axes))
    words = {at: _words(axes, at) for at in pairs}
    alone, single = (tuple(words[at] for at, runs in pairs.items() if runs == count) for count in (0, 1))
    return Coverage(tuple(words[at] for at, runs in pairs.items() if runs > 1), alone, single)


def wall_seconds(table: pd.DataFrame, axes: Sequence[str]) -> dict[str, float]:
    """Wall-clock seconds of the runs of each point, added up, by the point in words."""
    table = as_written(table)
    spent: Counter[str] = Counter()
    for at, seconds in zip(_places(table, axes), table["wall_s"].fillna(0.0), strict=True):
        spent[_words(axes, at)] += seconds
    return dict(spent)


def compare(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str], tolerance: float) -> list[PairedDifference]:
    """The significant differences between two tables: those of `differences` beyond a tolerance.

    A difference counts when its paired 95 % interval excludes 0 and the mean difference exceeds the tolerance, or
    when only one side could measure the metric. One replication shows nothing.

    Args:
        after: the table in question.
        before: the baseline.
        axes: columns that make a point.
        tolerance: share of the mean before; 0.02 is 2 %.

    Returns:
        The differences, in the order of ``after`` and of the catalogue.

    Raises:
        InputError: as `differences`.
    """
    return [entry for entry in differences(after, before, axes) if _exceeds(entry, tolerance)]


def differences(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str]) -> list[PairedDifference]:
    """Paired differences of every metric at every point of two tables of `hostsim.results.table.table_of`; metrics that neither could measure are left out.

    Runs are paired by axes and replication, so that common random numbers cancel; points and replications that only one
    table has, and failed runs, take no part.

    Args:
        after: the table in question.
        before: the baseline.
        axes: columns that make a point.

    Returns:
        In the order of ``after`` and of the catalogue.

    Raises:
        InputError: the tables have no run in common, an axis is no column of the earlier one, or the axes do not tell the points
            of a table apart.
    """
    now, then = (table[table["error"] == ""] for table in _comparable(after, before, axes))
    pairs = now.merge(then, on=[*axes, "replication"], suffixes=(" after", " before"))
    if pairs.empty:
        raise InputError(Fault("the two tables have no finished run in common"))
    metrics = [name for name in CATALOGUE if name in after.columns and name in before.columns]
    found = []
    for at, runs in _points(pairs, axes):
        for metric in metrics:
            values = runs[[f"{metric} before", f"{metric} after"]].dropna(how="all")
            if values.empty:
                continue
            old, new = (values[column] for column in values)
            difference, prediction = paired_difference(new.tolist(), old.tolist()), None
            if is_of_ensemble(after):
                apart = (new - old).mask(new == old, 0.0)  # where both are infinite they do not differ
                paired = dict(zip(runs.loc[values.index, "replication"], apart, strict=True))
                difference, prediction = replication_interval(paired), prediction_interval(paired)
            ratio = variance_ratio(new.tolist(), old.tolist())
            unit = CATALOGUE[metric].unit
            means = float(old.mean()), float(new.mean())
            found.append(PairedDifference(metric, unit, at, *means, difference, ratio, prediction))
    return found


def _comparable(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with axes of the same types, after a check that the axes identify the points of each."""
    after, before = as_written(after), as_written(before)
    require_axes(before, axes, "earlier")
    require_axes(after, axes, "later")
    # the same axis may hold numbers in one table and, among texts, texts in the other
    texts = dict.fromkeys((axis for axis in axes if after[axis].dtype != before[axis].dtype), str)
    return after.astype(texts), before.astype(texts)


def _places(table: pd.DataFrame, axes: Sequence[str]) -> list[tuple[Any, ...]]:
    """The point of each row."""
    return list(zip(*(table[axis] for axis in axes), strict=True)) if axes else [()] * len(table)


def _words(axes: Sequence[str], at: Sequence[Any]) -> str:
    """A point in words."""
    return ", ".join(f"{axis}={value}" for axis, value in zip(axes, at, strict=True))


def _points(pairs: pd.DataFrame, axes: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if not axes:
        yield {}, pairs
        return
    for values, runs in pairs.groupby(list(axes), sort=False, dropna=False):
        yield dict(zip(axes, values, strict=True)), runs


def _exceeds(entry: PairedDifference, tolerance: float) -> bool:
    """True of a certain difference beyond the tolerance, and of a metric that one side alone could measure."""
    difference = entry.difference
    if math.isnan(difference.mean):
        return True
    return entry.is_certain and (math.isinf(difference.mean) or abs(difference.mean) > tolerance * abs(entry.before))
