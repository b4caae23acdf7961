"""Point estimates: a metric with its confidence interval, from replications or from batch means of one run."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hostsim.engine.record import AxisValues, RunRecord, Scalar
from hostsim.results.estimate import (
    LEAST_SLICES,
    MOST_BATCHES,
    NOT_ESTIMABLE,
    Interval,
    batch_means,
    digest_of,
    equal_replications,
    replication_interval,
    student,
    variance_ratio,
)
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import stretch
from hostsim.results.search_answer import Bound

__all__ = [
    "Case",
    "MissingError",
    "PointEstimate",
    "RunSource",
    "Runs",
    "batch_means_interval",
    "case_of",
    "cases_of",
    "difference",
    "equal_in_all",
    "notes_of",
    "opened",
    "point_text",
    "ratio",
]


def batch_means_interval(record: RunRecord, metric: str, level: float = 0.95) -> tuple[Interval, str]:
    """Confidence interval of a measure of one run from batch means, with a note on its basis.

    The measured window is divided into about 40 equal parts. The spread of the measure over them gives the interval; its middle is
    the measure over the whole window. Unbounded if the window has fewer than 20 time slices, or a part has too few observations.

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
    values = [CATALOGUE[metric].evaluate(stretch(record, list(pair))) for pair in itertools.pairwise(ends)]
    if any(math.isnan(value) for value in values):
        return Interval(whole, -math.inf, math.inf, 1), "one run, some parts of which have too few observations"
    interval, note = batch_means(values, level)
    return replace(interval, mean=whole, low=whole - interval.half, high=whole + interval.half), note


def _borders(record: RunRecord) -> list[int]:
    """Boundaries of the window's time slices, without slices of less than half the usual length."""
    instants = record.instants_ps
    places = list(range(record.cut, len(instants)))
    if len(places) < 2:
        return places
    least = float(np.median(np.diff(instants[record.cut :]))) / 2
    kept = places[:1]
    for border in places[1:-1]:
        if min(instants[border] - instants[kept[-1]], instants[-1] - instants[border]) >= least:
            kept.append(border)
    return [*kept, places[-1]]


Case = AxisValues
"""A point's axis values, with its estimate under ``value``, ``low`` and ``high``."""


class MissingError(Exception):
    """Missing estimate, with the reason."""


@dataclass(frozen=True)
class PointEstimate:
    """Point estimate of a metric or a statement, with its confidence interval."""

    interval: Interval
    values: Mapping[int, float]
    """Values by replication, if each has one."""
    cases: tuple[Case, ...] = ()
    notes: tuple[str, ...] = ()
    equal_replications: int = 0
    """Number of replications of a deterministic point, see `hostsim.results.curve`; else 0."""
    bounds: Mapping[int, Bound] = field(default_factory=dict)
    """Kind of bound by replication, if its value is one."""

    @property
    def bound(self) -> Bound | None:
        """Kind of bound of the mean; None if all values are exact, or if the mean is unknown."""
        bounds = set(self.bounds.values())
        if len({bound.is_lower for bound in bounds}) != 1:
            return None
        return Bound.LESS_THAN if Bound.LESS_THAN in bounds else bounds.pop()


@dataclass(frozen=True)
class _Run:
    """Measures of a record, kept instead of the record, as memory may be too small for all."""

    values: Mapping[str, float]
    """By metric; empty for a failed run."""
    flags: tuple[str, ...]
    error: str | None
    digest: bytes
    """Digest of a finished run, see `hostsim.results.curve`."""
    slices: Mapping[str, int] = field(default_factory=dict)
    """Number of time slices with observations beyond each extreme percentile that has a value."""


@dataclass(frozen=True)
class RunSource:
    """Source of a run: its properties before its record is read."""

    axes: AxisValues
    replication: int
    wall_s: float
    """Wall-clock seconds; 0 if unknown."""
    read: Callable[[], RunRecord]
    is_whole: bool = True
    """False for a short run of a search, which estimates ignore."""

    @classmethod
    def of(cls, record: RunRecord) -> RunSource:
        """The source of an available record."""
        return cls(record.axes, record.replication, float(record.facts.get("wall_s", 0.0)), lambda: record)


def _run(record: RunRecord, metrics: Collection[str]) -> _Run:
    if record.error is not None:
        return _Run({}, record.flags, record.error, b"")
    raw = {CATALOGUE[metric].raw for metric in metrics} - {""}
    values = {metric: CATALOGUE[metric].evaluate(record) for metric in {*metrics, *raw}}
    slices = {
        metric: count(record)
        for metric, value in values.items()
        if (count := CATALOGUE[metric].slices) is not None and math.isfinite(value)
    }
    return _Run(values, record.flags, None, digest_of(record), slices)


class Runs:
    """Runs of a scenario by their points, for point estimates. Records are read at the first request for their point."""

    def __init__(
        self, sources: Iterable[RunSource], metrics: Iterable[str], level: float, *, is_ensemble: bool = False
    ) -> None:
        """Sort runs by their points.

        Args:
            sources: of the runs, in any order.
            metrics: required measures.
            level: of the intervals.
            is_ensemble: replications run several hosts; intervals then cover only noise.
        """
        self.is_ensemble = is_ensemble
        self._level = level
        self._only: int | None = None
        self._most = math.inf
        self._used_points: set[frozenset[tuple[str, Scalar]]] = set()
        self._metrics = set(metrics)
        self._sources: dict[frozenset[tuple[str, Scalar]], dict[int, RunSource]] = {}
        self._wall_s: dict[frozenset[tuple[str, Scalar]], list[float]] = {}
        for source in sources:
            axes = frozenset(source.axes.items())
            self._wall_s.setdefault(axes, []).append(source.wall_s)
            if source.is_whole:
                self._sources.setdefault(axes, {})[source.replication] = source
        self._runs: dict[frozenset[tuple[str, Scalar]], dict[int, _Run]] = {}
        self._spreads: dict[tuple[frozenset[tuple[str, Scalar]], str], tuple[Interval, str]] = {}

    def at(self, metric: str, at: Case) -> PointEstimate:
        """Estimate a metric at a point.

        Raises:
            MissingError: runs are missing, have failed, or could not take the measure.
        """
        runs = self._finished(at)
        values = {replication: run.values[metric] for replication, run in runs.items()}
        if any(math.isnan(value) for value in values.values()):
            least = CATALOGUE[metric].least
            if least > 1:
                raise MissingError(
                    f"{NOT_ESTIMABLE}: {metric} needs {least} observations in every run at {point_text(at)}"
                )
            raise MissingError(f"{metric} has no observations at {point_text(at)}")
        interval, notes = self.interval(values), _flags(runs.values())
        if len(runs) == 1 and self._only is None:
            spread, rests_on = self._spread(metric, at)
            if math.isfinite(spread.half):
                interval, notes = _possible(spread), (*notes, f"one replication: the interval is that of {rests_on}")
        raw, raw_notes = _raw(metric, interval.mean, runs.values())
        equal = equal_replications([run.digest for run in runs.values()])
        notes = (*notes, *_few_slices(metric, runs.values()))
        return PointEstimate(interval, values, ({**case_of(at, interval), **raw},), (*notes, *raw_notes), equal)

    def first(self, replications: int, level: float) -> Runs:
        """The runs of the first replications, with intervals of another level."""
        view = copy.copy(self)
        view._most, view._level = replications, level
        return view

    def only(self, replication: int) -> Runs:
        """The runs of one replication."""
        view = copy.copy(self)
        view._only = replication
        return view

    def replications(self) -> set[int]:
        """The replications of all used points."""
        return set.intersection(*(set(runs) for runs in self._runs.values()))

    def line(self, metric: str, at: Case, axis: str, values: Iterable[Scalar]) -> list[PointEstimate]:
        """Estimate a metric at every point of a line; raises as `at` does."""
        return [self.at(metric, {**at, axis: value}) for value in values]

    def interval(self, values: Mapping[int, float], most: float = math.inf) -> Interval:
        """The interval of values by replication, limited to possible values of the measure."""
        interval = self.signed_interval(values)
        return interval if interval.count == 1 else _possible(interval, most)

    def signed_interval(self, values: Mapping[int, float]) -> Interval:
        """Student's interval of values by replication; for an ensemble that of the noise."""
        if self.is_ensemble:
            return replication_interval(values, self._level)
        return student(list(values.values()), self._level)

    def take_wall_s(self, lines: Iterable[Case] = ()) -> float:
        """Total wall-clock seconds of the runs at all points used since the last call.

        Args:
            lines: axis values of searches, all of whose runs count.
        """
        searched = [at for line in lines for at in self._wall_s if frozenset(line.items()) <= at]
        points, self._used_points = self._used_points.union(searched), set()
        return math.fsum(wall_s for at in points for wall_s in self._wall_s.get(at, ()))

    def _finished(self, at: Case) -> dict[int, _Run]:
        axes = frozenset(at.items())
        self._used_points.add(axes)
        if axes not in self._sources:
            raise MissingError(f"no run at {point_text(at)}")
        if axes not in self._runs:
            self._runs[axes] = {r: _run(source.read(), self._metrics) for r, source in self._sources[axes].items()}
        runs = self._runs[axes]
        for replication, run in sorted(runs.items()):
            if run.error:
                raise MissingError(
                    f"(partial) replication {replication} failed at {point_text(at)}: {run.error.splitlines()[-1]}"
                )
        return dict(
            sorted(
                (replication, run)
                for replication, run in runs.items()
                if replication < self._most and self._only in (None, replication)
            )
        )

    def _spread(self, metric: str, at: Case) -> tuple[Interval, str]:
        """Interval of a metric within the only run of a point, and its basis."""
        key = frozenset(at.items()), metric
        if key not in self._spreads:
            [source] = self._sources[key[0]].values()
            self._spreads[key] = batch_means_interval(source.read(), metric, self._level)
        return self._spreads[key]


def ratio(of: PointEstimate, to: PointEstimate, runs: Runs) -> PointEstimate:
    """Ratio estimate: one estimate over another, replication by replication.

    Raises:
        MissingError: they have no common replication, or the denominator is 0.
    """
    paired = [replication for replication in of.values if replication in to.values]
    if not paired:
        raise MissingError("no replication has both sides of the ratio")
    if not all(to.values[replication] for replication in paired):
        raise MissingError("the denominator of the ratio is 0")
    if any(math.isinf(of.values[replication]) and math.isinf(to.values[replication]) for replication in paired):
        raise MissingError("both sides of the ratio are infinite")
    values, bounds = {}, {}
    for replication in paired:
        values[replication] = of.values[replication] / to.values[replication]
        above, below = of.bounds.get(replication), to.bounds.get(replication)
        if above is not None and below is not None and above.is_lower == below.is_lower:
            values[replication] = math.nan  # both are beyond the same end of their brackets
        elif above is not None:
            bounds[replication] = above
        elif below is not None:
            bounds[replication] = Bound.AT_MOST if below.is_lower else Bound.AT_LEAST
    worth = _pairing([of.values[r] for r in paired], [to.values[r] for r in paired])
    if any(math.isnan(value) for value in values.values()):
        worth = ("the ratio is unknown, as both of its sides are bounds: widen their brackets",)
    notes, interval = (*notes_of([of, to]), *worth), opened(runs.interval(values), bounds)
    return PointEstimate(interval, values, cases_of([of, to]), notes, equal_in_all([of, to]), bounds=bounds)


def difference(of: PointEstimate, less: PointEstimate, runs: Runs) -> PointEstimate:
    """Difference estimate: one estimate minus another, replication by replication.

    Raises:
        MissingError: they have no common replication.
    """
    paired = [replication for replication in of.values if replication in less.values]
    if not paired:
        raise MissingError("no replication has both sides of the difference")
    values = {replication: of.values[replication] - less.values[replication] for replication in paired}
    # two infinite values do not differ
    interval = runs.signed_interval({r: 0.0 if of.values[r] == less.values[r] else values[r] for r in paired})
    return PointEstimate(interval, values, cases_of([of, less]), notes_of([of, less]), equal_in_all([of, less]))


def opened(interval: Interval, bounds: Mapping[int, Bound]) -> Interval:
    """An interval that is open on the sides of the bounds among its values; without a mean if both sides are open.

    The other end is that of Student's interval with the bounds as values: it limits the mean of values cut at their bounds, and the mean of
    the values is beyond it.
    """
    sides = {bound.is_lower for bound in bounds.values()}
    low = -math.inf if False in sides else interval.low
    high = math.inf if True in sides else interval.high
    return replace(interval, mean=math.nan if len(sides) == 2 else interval.mean, low=low, high=high)


def _pairing(of: Sequence[float], to: Sequence[float]) -> tuple[str, ...]:
    """Variance reduction of a ratio by common random numbers, to first order in the relative variation of its sides."""
    apart = variance_ratio(
        *([value * len(side) / math.fsum(side) if any(side) else 0.0 for value in side] for side in (of, to))
    )
    return (
        ()
        if math.isnan(apart)
        else (f"paired by replication, the ratio has {apart:.2g} times the variance of unpaired runs",)
    )


def _possible(interval: Interval, most: float = math.inf) -> Interval:
    """An interval limited to possible values: no measure of the catalogue is negative."""
    return replace(interval, low=max(0.0, interval.low), high=min(most, interval.high))


def case_of(at: Case, interval: Interval) -> Case:
    """A case: a point with its estimate."""
    ends = {"low": interval.low, "high": interval.high}
    return {**at, "value": interval.mean, **{name: end for name, end in ends.items() if math.isfinite(end)}}


def cases_of(estimates: Iterable[PointEstimate]) -> tuple[Case, ...]:
    """The cases of several estimates."""
    return tuple(case for estimate in estimates for case in estimate.cases)


def notes_of(estimates: Iterable[PointEstimate]) -> tuple[str, ...]:
    """The notes of several estimates, each once."""
    return tuple(dict.fromkeys(note for estimate in estimates for note in estimate.notes))


def equal_in_all(estimates: Iterable[PointEstimate]) -> int:
    """Number of equal replications of several estimates; 0 unless all are deterministic."""
    return min((estimate.equal_replications for estimate in estimates), default=0)


def _raw(metric: str, value: float, runs: Iterable[_Run]) -> tuple[Case, tuple[str, ...]]:
    """The raw measure beside a settled one for a point, and a note if the settled one is infinite."""
    name = CATALOGUE[metric].raw
    if not name:
        return {}, ()
    raw = [run.values[name] for run in runs]
    mean = math.fsum(raw) / len(raw)
    note = f"{metric} has no bound; {name} of the same runs is {mean:.4g} {CATALOGUE[name].unit}"
    return {"raw": mean}, (note,) if math.isinf(value) else ()


def _few_slices(metric: str, runs: Iterable[_Run]) -> tuple[str, ...]:
    """A note if an extreme percentile depends on too few time slices, as packets delayed by one stall are not independent."""
    least = min((run.slices[metric] for run in runs if metric in run.slices), default=LEAST_SLICES)
    if least >= LEAST_SLICES:
        return ()
    return (f"{metric} of a run rests on {least} time slices, fewer than {LEAST_SLICES}: lengthen the runs",)


def point_text(at: Case) -> str:
    """A point as text."""
    return ", ".join(f"{axis}={value}" for axis, value in at.items()) or "the only point"


def _flags(runs: Iterable[_Run]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag for run in runs for flag in run.flags))
