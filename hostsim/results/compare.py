"""Comparison with earlier results: the baseline, paired differences, and regressions beyond a tolerance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from hostsim.engine.record import FloatArray
from hostsim.errors import Fault, InputError, raise_faults
from hostsim.results.estimate import (
    NOT_ESTIMABLE,
    Interval,
    paired_difference,
    prediction_interval,
    replication_interval,
    variance_ratio,
)
from hostsim.results.folder import read
from hostsim.results.metrics.catalogue import CATALOGUE, NO_BOUND, label_of, require_metrics
from hostsim.results.metrics.subject import IN_PART
from hostsim.results.results import Results
from hostsim.results.rich_view import rich_view
from hostsim.results.table import as_numbers, as_written, axes_of, is_of_ensemble
from hostsim.results.verdicts import PREDICTION, ends_text, number

__all__ = [
    "HEADINGS",
    "Coverage",
    "Differences",
    "PairedDifference",
    "baseline_folder",
    "compare",
    "coverage",
    "difference_rows",
    "differences",
    "read_baseline",
    "require_axes",
    "wall_seconds",
]


def read_baseline(
    before: Results | str | Path, scenario: str, *, quick: bool, seed: int, ensemble: str = ""
) -> Results:
    """Read the baseline of a scenario and check that runs can be paired with it.

    Args:
        before: the results, a folder that `hostsim run` wrote, or one with such folders by scenario.
        scenario: name of the scenario to compare.
        quick: its fidelity.
        seed: its root seed.
        ensemble: words of its ensemble (`hostsim.campaign.pipeline.ensemble_words`); empty without one.

    Raises:
        InputError: the results have another scenario, seed, fidelity or ensemble.
        StoreError: there are no results.
    """
    if isinstance(before, Results):
        baseline, where = before, ""
    else:
        baseline, where = read(baseline_folder(before, scenario)), str(before)
    option = "--against" if where else ""
    digests = [words.rpartition(" ")[2] for words in (baseline.provenance.get("ensemble", ""), ensemble)]
    faults = [
        Fault(f"the earlier run has another {name}", option, then, now, file=where)
        for name, then, now in (
            ("scenario", baseline.scenario, scenario),
            ("fidelity", "quick" if baseline.quick else "full", "quick" if quick else "full"),
            ("seed", str(baseline.provenance["seed"]), str(seed)),
            *([("ensemble", *digests)] if all(digests) else []),
        )
        if then != now
    ]
    if any(digests) and not all(digests):
        which = ("later", "earlier") if ensemble else ("earlier", "later")
        message = f"the {which[0]} run is of an ensemble of hosts, the {which[1]} run of one host"
        faults.append(Fault(message, option, allowed="both with --ensemble, or both without", file=where))
    raise_faults(faults)
    return baseline


def baseline_folder(before: str | Path, scenario: str) -> Path:
    """The folder of a baseline: the given one, or its subfolder of the scenario."""
    folder = Path(before) / scenario
    return folder if folder.is_dir() else Path(before)


@dataclass(frozen=True)
class Coverage:
    """Coverage of a comparison: the points of two tables that have paired runs."""

    paired: tuple[str, ...]
    """Points with at least two pairs of finished runs, so that differences have an interval."""
    alone: tuple[str, ...]
    """Points without a pair of finished runs: in one table only, or with failed runs."""
    single: tuple[str, ...]
    """Points with one pair, without an interval."""

    @property
    def points(self) -> int:
        """Number of points in either table."""
        return len(self.paired) + len(self.alone) + len(self.single)

    @property
    def compared(self) -> int:
        """Number of points whose differences have an interval."""
        return len(self.paired)


def require_axes(table: pd.DataFrame, axes: Sequence[str], whose: str) -> None:
    """Check that a table has these axes and that they identify its points, as runs of different hosts are not
    replications.

    Args:
        table: one of `hostsim.results.table.table_of`.
        axes: columns that identify a point.
        whose: ``earlier`` or ``later``, for the fault.

    Raises:
        InputError: an axis is missing, or the axes do not identify the points.
    """
    table, keys = as_written(table), [*axes, "replication"]
    absent = [axis for axis in keys if axis not in table.columns]
    if absent:
        raise InputError(Fault(f"is not a column of the {whose} table", given=", ".join(absent)))
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
        axes: columns that identify a point.

    Raises:
        InputError: an axis is not a column of the earlier table, or does not identify the points of a table.
    """
    now, then = _comparable(after, before, axes)
    pairs: Counter[tuple[Any, ...]] = Counter(dict.fromkeys(_places(pd.concat([now, then]), axes), 0))
    finished = [table[table["error"] == ""] for table in (now, then)]
    pairs.update(_places(finished[0].merge(finished[1], on=[*axes, "replication"]), axes))
    words = {at: _words(axes, at) for at in pairs}
    alone, single = (tuple(words[at] for at, runs in pairs.items() if runs == count) for count in (0, 1))
    return Coverage(tuple(words[at] for at, runs in pairs.items() if runs > 1), alone, single)


def wall_seconds(table: pd.DataFrame, axes: Sequence[str]) -> dict[str, float]:
    """Total wall-clock seconds of the runs of each point, by the point in words."""
    table = as_written(table)
    spent: Counter[str] = Counter()
    for at, seconds in zip(_places(table, axes), table["wall_s"].fillna(0.0), strict=True):
        spent[_words(axes, at)] += seconds
    return dict(spent)


def compare(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str], tolerance: float) -> list[PairedDifference]:
    """The significant differences between two tables: those of `differences` beyond a tolerance.

    A difference counts if its paired 95 % interval excludes 0 and the mean difference exceeds the tolerance, or if only
    one side has the metric. One replication is not enough.

    Args:
        after: the table in question.
        before: the baseline.
        axes: columns that identify a point.
        tolerance: share of the mean before; 0.02 is 2 %.

    Returns:
        The differences, in the order of ``after`` and of the catalogue.

    Raises:
        InputError: as `differences`.
    """
    return [entry for entry in differences(after, before, axes) if _exceeds(entry, tolerance)]


def differences(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str]) -> list[PairedDifference]:
    """Paired differences of every metric at every common point of two tables of `hostsim.results.table.table_of`.

    Runs are paired by axes and replication, so that common random numbers cancel; failed runs, and points and replications of
    one table only are ignored.

    Args:
        after: the table in question.
        before: the baseline.
        axes: columns that identify a point.

    Returns:
        In the order of ``after`` and of the catalogue.

    Raises:
        InputError: the tables have no common run, an axis is not a column of the earlier one, or the axes do not identify the
            points of a table.
    """
    now, then = (table[table["error"] == ""] for table in _comparable(after, before, axes))
    pairs = now.merge(then, on=[*axes, "replication"], suffixes=(" after", " before"))
    if pairs.empty:
        raise InputError(Fault("the two tables have no finished run in common"))
    metrics = [name for name in after.columns if name in CATALOGUE and name in before.columns and IN_PART not in name]
    compared = []
    for at, runs in _points(pairs, axes):
        replications = runs["replication"].to_numpy()
        sides = (runs[[f"{name} {side}" for name in metrics]].to_numpy(np.float64) for side in ("before", "after"))
        for metric, old, new in zip(metrics, *(side.T for side in sides), strict=True):
            is_measured = ~(np.isnan(old) & np.isnan(new))
            if not is_measured.any():
                continue
            old, new = old[is_measured], new[is_measured]
            unit = CATALOGUE[metric].unit
            difference, prediction = paired_difference(new.tolist(), old.tolist()), None
            if is_of_ensemble(after):
                with np.errstate(invalid="ignore"):
                    apart = np.where(new == old, 0.0, new - old)  # two infinite values do not differ
                paired = dict(zip(replications[is_measured].tolist(), apart.tolist(), strict=True))
                most = 100.0 if unit == "%" else math.inf  # the largest difference of two shares
                difference, prediction = replication_interval(paired), prediction_interval(paired, -most, most)
            ratio = variance_ratio(new.tolist(), old.tolist())
            compared.append(PairedDifference(metric, unit, at, _mean(old), _mean(new), difference, ratio, prediction))
    return compared


def _mean(values: FloatArray) -> float:
    """Mean of the known values; NaN if there are none."""
    count = np.count_nonzero(~np.isnan(values))
    return float(np.nansum(values) / count) if count else math.nan


def _comparable(after: pd.DataFrame, before: pd.DataFrame, axes: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with axes of the same types, after a check that the axes identify the points of each."""
    after, before = as_written(after), as_written(before)
    require_axes(before, axes, "earlier")
    require_axes(after, axes, "later")
    # the same axis may have numbers in one table and, mixed with texts, texts in the other
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
    """True for a certain difference beyond the tolerance, and for a metric of one side only."""
    difference = entry.difference
    if math.isnan(difference.mean):
        return True
    return entry.is_certain and (math.isinf(difference.mean) or abs(difference.mean) > tolerance * abs(entry.before))


HEADINGS = ("metric", "unit", "before", "after", "difference", "95 % interval", "change")


@dataclass(frozen=True)
class PairedDifference:
    """Paired difference of a metric at a point, before and after."""

    metric: str
    unit: str
    at: Mapping[str, Any]
    """Value of each axis."""
    before: float
    """Mean over the replications; NaN without a value."""
    after: float
    difference: Interval
    """After minus before, paired by replication."""

    ratio: float
    """Variance of the paired difference over that of two independent runs: the gain from common random numbers. NaN for
    fewer than three pairs, and without variance."""
    prediction: Interval | None = None
    """For an ensemble, its 90 % prediction interval; the interval of the difference then covers only noise."""

    @property
    def relative(self) -> float:
        """The difference as a share of the value before; infinite if that was 0."""
        if self.difference.mean == 0:
            return 0.0
        return self.difference.mean / abs(self.before) if self.before else math.copysign(math.inf, self.difference.mean)

    @property
    def is_certain(self) -> bool:
        """True if the interval of the difference excludes 0."""
        return self.difference.low > 0 or self.difference.high < 0

    def __str__(self) -> str:
        at = ", ".join(f"{axis}={value}" for axis, value in self.at.items())
        where = f"{self.metric}{f' at {at}' if at else ''}: "
        before, after = (_formatted(self.metric, value) for value in (self.before, self.after))
        if not math.isfinite(self.difference.mean):
            return f"{where}{before} -> {after} {self.unit}"
        prediction = ""
        if self.prediction is not None:
            prediction = f"; {PREDICTION} {self.prediction.low:.4g} to {self.prediction.high:.4g}"
        paired = "" if math.isnan(self.ratio) else f"; pairing leaves {self.ratio:.2g} of its variance"
        return (
            f"{where}{before} -> {after} {self.unit}"
            f" ({_share_text(self.relative, 2)}; difference {self.difference.low:.4g} to {self.difference.high:.4g}{paired}{prediction})"
        )


class Differences(tuple[PairedDifference, ...]):
    """Paired differences of metrics at points, in the order of the points and of the catalogue; a notebook displays a table."""

    __slots__ = ()

    def only(self, *metrics: str) -> Self:
        """The differences of some metrics.

        Raises:
            InputError: a metric is unknown.
        """
        require_metrics(metrics)
        return type(self)(entry for entry in self if entry.metric in metrics)

    @property
    def certain(self) -> Self:
        """The significant differences: those whose 95 % interval excludes 0."""
        return type(self)(entry for entry in self if entry.is_certain)

    def why_uncertain(self, *metrics: str) -> str:
        """The reason why no difference of a comparison is certain.

        Args:
            metrics: only of these metrics; of all by default.
        """
        entries = self.only(*metrics) if metrics else self
        if not self:
            return "no comparison: no pair of runs has finished"
        if not entries:
            return f"no run has a value of {', '.join(metrics)}"
        if not any(math.isfinite(entry.difference.half) for entry in entries):
            return "no difference has an interval, which needs two pairs of runs with finite values"
        return "no difference is certain: every 95 % interval contains 0"

    @property
    def alike(self) -> dict[str, tuple[str, ...]]:
        """Equivalent measures: by the first of the catalogue, the others with the same relative difference and interval at every point."""
        shares: dict[str, list[tuple[Any, ...]]] = {}
        for entry in self:
            difference, before = entry.difference, abs(entry.before)
            ends = [end / before if before else math.nan for end in (difference.mean, difference.low, difference.high)]
            shares.setdefault(entry.metric, []).append((*entry.at.items(), *(f"{end:.3g}" for end in ends)))
        groups: dict[tuple[Any, ...], list[str]] = {}
        for metric, texts in shares.items():
            if not any("nan" in share for share in texts) and any(share[-3] != "0" for share in texts):
                groups.setdefault(tuple(texts), []).append(metric)
        return {first: tuple(others) for first, *others in groups.values() if others}

    @property
    def distinct(self) -> Self:
        """The differences without those of equivalent measures, see `alike`."""
        repeated = {name for others in self.alike.values() for name in others}
        return type(self)(entry for entry in self if entry.metric not in repeated)

    def sentence(self, metrics: Iterable[str]) -> str:
        """The change of some measures in one sentence; empty if no run has any of them.

        Args:
            metrics: in the order of the sentence; of equivalent measures the first is named.
        """
        same = {name: first for first, others in self.alike.items() for name in (first, *others)}
        changed, unchanged, mentioned = [], [], set[str]()
        for metric in metrics:
            entries = self.only(metric)
            if not entries or same.get(metric, metric) in mentioned:
                continue
            mentioned.add(same.get(metric, metric))
            certain = entries.certain
            if certain:
                where = "" if len(certain) == len(entries) else f" at {len(certain)} of {len(entries)} points"
                changed.append(f"{label_of(metric)} {_change(certain)}{where}")
            else:
                unchanged.append(label_of(metric))
        parts = [", ".join(changed)] if changed else []
        parts += [f"no certain change of {', '.join(unchanged)}"] if unchanged else []
        return "; ".join(parts)

    def frame(self) -> pd.DataFrame:
        """The differences as a tidy frame, a row for each metric and point.

        Columns: the axes, with units in ``attrs["units"]``; ``metric``, ``unit``; ``before``, ``after``, ``difference`` and the ends ``low``, ``high`` of its 95 %
        interval, in that unit; of an ensemble ``prediction_low`` and ``prediction_high``, the ends of its 90 % prediction interval; ``change``, the difference as a share of what was before; ``pairing``, the share of the variance
        that common random numbers leave.
        """
        ends = ("low", "high") if any(entry.prediction for entry in self) else ()
        rows = [
            {
                **entry.at,
                "metric": entry.metric,
                "unit": entry.unit,
                "before": entry.before,
                "after": entry.after,
                "difference": entry.difference.mean,
                "low": _finite(entry.difference.low),
                "high": _finite(entry.difference.high),
                "change": entry.relative,
                "pairing": entry.ratio,
            }
            | {f"prediction_{name}": _end(entry.prediction, name) for name in ends}
            for entry in self
        ]
        axes = list(dict.fromkeys(axis for entry in self for axis in entry.at))
        names = ["metric", "unit", "before", "after", "difference", "low", "high", "change", "pairing"]
        names += [f"prediction_{name}" for name in ends]
        return as_numbers(pd.DataFrame(rows, columns=[*axes, *names]), axes)

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no differences"

    def _repr_html_(self) -> str:
        page: str = rich_view("notebook.page").differences_html(self)
        return page


def _change(entries: Differences) -> str:
    """The change of a measure at some points: ``+3 %``, ``+3 % to +8 %``; in its unit if it was 0."""
    shares = [100 * entry.relative for entry in entries]
    if all(map(math.isfinite, shares)):
        ends = [f"{_signed(share)} %" for share in (min(shares), max(shares))]
    else:
        apart = [entry.difference.mean for entry in entries]
        ends = [f"{_signed(number)} {entries[0].unit}".rstrip() for number in (min(apart), max(apart))]
    return " to ".join(dict.fromkeys(ends))


def _signed(number: float) -> str:
    """Three significant digits with a sign, without an exponent for large values."""
    return f"{number:+,.0f}" if abs(number) >= 999.5 else f"{number:+.3g}"


def difference_rows(compared: Differences) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Differences as a table: headings (axes first) and cells."""
    axes = tuple(dict.fromkeys(axis for entry in compared for axis in entry.at))
    is_predicted = any(entry.prediction for entry in compared)
    rows = [
        (
            *(str(entry.at.get(axis, "")) for axis in axes),
            entry.metric,
            entry.unit,
            number(entry.before),
            number(entry.after),
            number(entry.difference.mean),
            _ends_text(entry.difference),
            *([_ends_text(entry.prediction)] if is_predicted else []),
            _share_text(entry.relative, 1),
        )
        for entry in compared
    ]
    more = (PREDICTION,) if is_predicted else ()
    return (*axes, *HEADINGS[:-1], *more, HEADINGS[-1]), rows


def _share_text(share: float, decimals: int) -> str:
    """A change in percent with a sign; one significant digit if the decimals would round it to 0, a dash if infinite."""
    if not math.isfinite(share):
        return "–"
    text = f"{share:+.{decimals}%}"
    return f"{100 * share:+.1g}%" if share and not float(text[:-1]) else text


def _ends_text(interval: Interval | None) -> str:
    return "–" if interval is None or not math.isfinite(interval.half) else ends_text(interval.low, interval.high)


def _end(interval: Interval | None, name: str) -> float:
    return math.nan if interval is None else _finite(getattr(interval, name))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _formatted(metric: str, value: float) -> str:
    if math.isfinite(value):
        return f"{value:.6g}"
    if value == math.inf:
        return NO_BOUND
    return NOT_ESTIMABLE if CATALOGUE[metric].least > 1 else "nothing"
