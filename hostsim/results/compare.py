"""Two tables of the same points, before and after: every difference, and which curves have moved."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hostsim.errors import Fault, InputError
from hostsim.estimate import Interval, paired_difference, variance_ratio
from hostsim.expect import NOT_ESTIMABLE
from hostsim.metrics import CATALOGUE, NO_BOUND
from hostsim.results.table import axes_of

__all__ = ["Coverage", "Move", "compare", "coverage", "differences", "require_axes"]


@dataclass(frozen=True, slots=True)
class Move:
    """A metric at a point, before and after."""

    metric: str
    unit: str
    at: Mapping[str, Any]
    """Value of each axis: the curve, and where on it."""
    before: float
    """Mean over the replications; NaN where there was nothing to measure it on."""
    after: float
    difference: Interval
    """After minus before, paired by replication."""

    ratio: float
    """Variance of the paired difference over that of two independent runs: what common random numbers are worth. NaN for
    fewer than three pairs, and where nothing varies."""

    @property
    def relative(self) -> float:
        """The difference as a share of what was before; infinite when that was 0 and no longer is."""
        if self.difference.mean == 0:
            return 0.0
        return self.difference.mean / abs(self.before) if self.before else math.copysign(math.inf, self.difference.mean)

    @property
    def is_certain(self) -> bool:
        """True when the interval of the difference excludes 0."""
        return self.difference.low > 0 or self.difference.high < 0

    def __str__(self) -> str:
        place = ", ".join(f"{axis}={value}" for axis, value in self.at.items())
        where = f"{self.metric}{f' at {place}' if place else ''}: "
        before, after = (_words(self.metric, value) for value in (self.before, self.after))
        if not math.isfinite(self.difference.mean):
            return f"{where}{before} -> {after} {self.unit}"
        paired = "" if math.isnan(self.ratio) else f"; pairing leaves {self.ratio:.2g} of its variance"
        return (
            f"{where}{before} -> {after} {self.unit}"
            f" ({self.relative:+.2%}; difference {self.difference.low:.4g} to {self.difference.high:.4g}{paired})"
        )


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which points of two tables can be held against each other."""

    points: int
    """Those of either table."""
    alone: tuple[str, ...]
    """Points without a pair of finished runs: only one table has them, or their runs failed."""
    single: tuple[str, ...]
    """Points with one pair, of whose difference there is no interval."""

    @property
    def compared(self) -> int:
        """Points whose differences have an interval."""
        return self.points - len(self.alone) - len(self.single)


def require_axes(table: pd.DataFrame, axes: Sequence[str], whose: str) -> None:
    """Check that a table has these axes, and that they tell its points apart: runs of two hosts are no replications of one.

    Args:
        table: one of `hostsim.results.table.to_table`.
        axes: columns that make a point.
        whose: ``earlier`` or ``later``, for the fault.

    Raises:
        InputError: they do not.
    """
    keys = [*axes, "replication"]
    absent = [axis for axis in keys if axis not in table.columns]
    if absent:
        raise InputError(Fault(f"is no column of the {whose} table", given=", ".join(absent)))
    if table.duplicated(keys).any():
        more = [axis for axis in axes_of(table) if axis not in axes and len(table[axis].unique()) > 1]
        values = "; ".join(f"{axis} = {', '.join(map(str, table[axis].unique()))}" for axis in more)
        message = f"the {whose} table has several hosts where the other has one, which cannot be paired"
        raise InputError(Fault(message, given=values, allowed="one value of every axis that only one side has"))


def coverage(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str]) -> Coverage:
    """Which points of two tables have runs in pairs, and how many.

    Args:
        after: the table in question.
        before: the table it is held against.
        axes: columns that make a point.

    Raises:
        InputError: an axis is no column of the earlier table, or does not tell the points of a table apart.
    """
    now, then = _comparable(after, before, axes)
    pairs: Counter[tuple[Any, ...]] = Counter(dict.fromkeys(_places(pd.concat([now, then]), axes), 0))
    finished = [table[table["error"] == ""] for table in (now, then)]
    pairs.update(_places(finished[0].merge(finished[1], on=[*axes, "replication"]), axes))
    words = {at: ", ".join(f"{axis}={value}" for axis, value in zip(axes, at, strict=True)) for at in pairs}
    alone, single = (tuple(words[at] for at, runs in pairs.items() if runs == count) for count in (0, 1))
    return Coverage(len(pairs), alone, single)


def compare(
    after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str], tolerance: float, level: float = 0.95
) -> list[Move]:
    """What has moved between two tables, of their `differences`.

    A metric has moved when the interval of its paired difference excludes 0 and the mean difference exceeds the tolerance, or
    when only one side could measure it. One replication shows nothing.

    Args:
        after: the table in question.
        before: the table it is held against.
        axes: columns that make a point.
        tolerance: share of the mean before; 0.02 is 2 %.
        level: of the interval.

    Returns:
        The moves, in the order of ``after`` and of the catalogue.

    Raises:
        InputError: as `differences`.
    """
    return [move for move in differences(after, before, axes, level) if _has_moved(move, tolerance)]


def differences(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str], level: float = 0.95) -> list[Move]:
    """Every metric at every point of two tables of `hostsim.results.table.to_table`, those left out that neither could measure.

    Runs are paired by axes and replication, so that common random numbers cancel; points and replications that only one
    table has, and failed runs, take no part.

    Args:
        after: the table in question.
        before: the table it is held against.
        axes: columns that make a point.
        level: of the interval.

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
    moves = []
    for at, runs in _points(pairs, axes):
        for metric in metrics:
            values = runs[[f"{metric} before", f"{metric} after"]].dropna(how="all")
            if values.empty:
                continue
            old, new = (values[column] for column in values)
            difference = paired_difference(new.tolist(), old.tolist(), level)
            ratio = variance_ratio(new.tolist(), old.tolist())
            unit = CATALOGUE[metric].unit
            moves.append(Move(metric, unit, at, float(old.mean()), float(new.mean()), difference, ratio))
    return moves


def _comparable(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with axes of the same types, once it is certain that the axes tell the points of each apart."""
    require_axes(before, axes, "earlier")
    require_axes(after, axes, "later")
    # the same axis may hold numbers in one table and, among texts, texts in the other
    texts = dict.fromkeys((axis for axis in axes if after[axis].dtype != before[axis].dtype), str)
    return after.astype(texts), before.astype(texts)


def _places(table: pd.DataFrame, axes: Sequence[str]) -> list[tuple[Any, ...]]:
    """The point of each row."""
    return list(zip(*(table[axis] for axis in axes), strict=True)) if axes else [()] * len(table)


def _points(pairs: pd.DataFrame, axes: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if not axes:
        yield {}, pairs
        return
    for values, runs in pairs.groupby(list(axes), sort=False, dropna=False):
        yield dict(zip(axes, values, strict=True)), runs


def _words(metric: str, value: float) -> str:
    if math.isfinite(value):
        return f"{value:.6g}"
    if value == math.inf:
        return NO_BOUND
    return NOT_ESTIMABLE if CATALOGUE[metric].least > 1 else "nothing"


def _has_moved(move: Move, tolerance: float) -> bool:
    difference = move.difference
    if math.isnan(difference.mean):
        return True
    return move.is_certain and (math.isinf(difference.mean) or abs(difference.mean) > tolerance * abs(move.before))
