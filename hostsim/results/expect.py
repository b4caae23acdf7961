"""Expectations: their forms with syntax, required points and metrics, and evaluation; verdicts.

A new form is a field of `ExpectPart` with its part, which reads the syntax, and a subclass of `Form`. `Names` looks up axes and metrics;
`Evidence` has the runs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import BeforeValidator, Field, model_validator

from hostsim.config.field import AxisValues as WrittenValues
from hostsim.config.field import BandEnd, Spec, Value
from hostsim.config.quantity import UNITS, PositiveDuration
from hostsim.engine.record import AxisValues, Scalar
from hostsim.results.estimate import Interval, paired_difference, r_squared
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import of_subject_name
from hostsim.results.point_estimate import (
    Case,
    MissingError,
    PointEstimate,
    Runs,
    case_of,
    cases_of,
    difference,
    equal_in_all,
    notes_of,
    opened,
    point_text,
    ratio,
)
from hostsim.results.search_answer import Bound, SearchAnswer

__all__ = [
    "BESIDE_A_FORM",
    "TAGGED",
    "Always",
    "At",
    "Band",
    "Compared",
    "Difference",
    "Direction",
    "Evidence",
    "ExpectPart",
    "Expectation",
    "Find",
    "FindPart",
    "Form",
    "FormPart",
    "KnownRed",
    "Limit",
    "Mean",
    "Monotone",
    "Names",
    "PointForm",
    "PointsPart",
    "Predicate",
    "PredicatePart",
    "PredictionInterval",
    "RSquared",
    "RSquaredPart",
    "Ratio",
    "RatioPart",
    "Refusal",
    "Refused",
    "RefusedPart",
    "Switches",
    "SwitchesPart",
    "Verdict",
    "VerdictState",
    "Within",
    "Worst",
    "is_comparable",
    "is_same_unit",
]

KeyPath = tuple[str | int, ...]
Point = dict[str, Scalar]
"""A value for every axis."""


class Names(Protocol):
    """Names in a scenario file: looks them up and collects faults (`hostsim.scenario.expect.lookup.Lookup`)."""

    def fault(self, path: KeyPath, message: str, allowed: str, nearest: str = "", given: str | None = None) -> None:
        """Gather a fault."""

    def axis(self, name: str, path: KeyPath) -> None:
        """Check that an axis exists."""

    def metric(self, name: str, path: KeyPath) -> str:
        """The unit of a metric; empty if it is unknown."""

    def point(self, values: AxisValues, path: KeyPath, without: Iterable[str] = ()) -> Point:
        """A value for every axis except some."""

    def written(self, values: AxisValues, path: KeyPath, without: Iterable[str] = ()) -> Point:
        """The given values of axes."""

    def first(self, names: Iterable[str]) -> Point:
        """The first values of axes."""

    def values(self, axis: str, values: Sequence[Scalar], path: KeyPath, key: str) -> tuple[Scalar, ...]:
        """Values of an axis."""

    def bound(self, written: Any, unit: str, path: KeyPath) -> float | None:
        """A number in a unit."""

    def threshold(self, written: Any, unit: str, case: AxisValues, path: KeyPath) -> float | None:
        """A number in a unit, or the value of an axis."""

    def is_listed(self, path: KeyPath) -> bool:
        """True if the file has a list."""

    def tried(self, changes: Mapping[str, Any], at: AxisValues, path: KeyPath) -> tuple[str, tuple[str, ...]]:
        """A change of the scenario in words, and the reason if loading refuses it."""


class Evidence(Protocol):
    """Evidence for a form: runs, answers of searches, other expectations."""

    @property
    def runs(self) -> Runs:
        """The runs."""

    def answer(self, name: str) -> SearchAnswer | None:
        """The answer of a search, by the name of its expectation."""

    def other(self, name: str) -> PointEstimate:
        """The estimate of another expectation of the scenario."""


@dataclass(frozen=True)
class Band:
    """An acceptance band: its ends, which are accepted; None for an open end."""

    low: float | None
    high: float | None

    def holds(self, value: float) -> bool:
        """True if the value is in the band."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def depth(self, value: float) -> float:
        """Distance of a value from the nearer end; negative outside the band."""
        below = math.inf if self.low is None else value - self.low
        above = math.inf if self.high is None else self.high - value
        return min(below, above)


class Form(ABC):
    """A form of an expectation: the question that its value answers."""

    is_signed: bool = False
    """True if the value may be negative."""
    is_statement: ClassVar[bool] = False
    """True if the value is 1 for a true condition and 0 for a false one."""
    needs_runs: ClassVar[bool] = True
    most: ClassVar[float] = math.inf
    """Greatest possible value."""

    @property
    @abstractmethod
    def metrics(self) -> tuple[str, ...]:
        """The metrics required at each point; none for a search, which has its own records."""

    @abstractmethod
    def required_points(self) -> list[Point]:
        """Its fixed points, as values of axes; for a search, the ends of its bracket."""

    @abstractmethod
    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        """Estimate its value.

        Args:
            evidence: runs and answers.
            name: of the expectation.
            band: of the expectation.

        Raises:
            MissingError: runs are missing, have failed, or lack the metric.
        """

    def others(self) -> tuple[str, ...]:
        """Names of other expectations from which it is computed."""
        return ()


class PointForm(Form):
    """A form that can be one of several cases."""

    metric: str | None

    @property
    def metrics(self) -> tuple[str, ...]:
        return () if self.metric is None else (self.metric,)

    @abstractmethod
    def sides(self, evidence: Evidence) -> tuple[PointEstimate, ...]:
        """The estimates from which its value is computed."""

    @abstractmethod
    def combined(self, sides: tuple[PointEstimate, ...], runs: Runs) -> PointEstimate:
        """Its value from these."""

    @property
    @abstractmethod
    def shared(self) -> Case:
        """The axis values that are equal on all sides."""

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        return self.combined(self.sides(evidence), evidence.runs)


class FormPart(Spec):
    """The part of a scenario file that defines a form."""

    @abstractmethod
    def read(self, names: Names, path: KeyPath) -> tuple[Form, str]:
        """The form, and the unit of its answer."""


@dataclass(frozen=True)
class At(PointForm):
    """A metric at one point: its mean over the replications."""

    metric: str
    at: AxisValues

    def required_points(self) -> list[Point]:
        return [dict(self.at)]

    def sides(self, evidence: Evidence) -> tuple[PointEstimate, ...]:
        return (evidence.runs.at(self.metric, self.at),)

    def combined(self, sides: tuple[PointEstimate, ...], runs: Runs) -> PointEstimate:
        return sides[0]

    @property
    def shared(self) -> Case:
        return self.at


@dataclass(frozen=True)
class Difference(PointForm):
    """A paired difference: the metric at one point minus the metric at another, by replication."""

    metric: str
    at: AxisValues
    less: AxisValues
    """The other point."""
    is_signed = True

    def required_points(self) -> list[Point]:
        return [dict(self.at), dict(self.less)]

    def sides(self, evidence: Evidence) -> tuple[PointEstimate, ...]:
        return tuple(evidence.runs.at(self.metric, at) for at in (self.at, self.less))

    def combined(self, sides: tuple[PointEstimate, ...], runs: Runs) -> PointEstimate:
        return difference(sides[0], sides[1], runs)

    @property
    def shared(self) -> Case:
        return {axis: value for axis, value in self.at.items() if self.less[axis] == value}


@dataclass(frozen=True)
class Ratio(PointForm):
    """A paired ratio: one value over another by replication, a metric at two points, or two other expectations of the scenario."""

    metric: str | None = None
    of: AxisValues | str = field(default_factory=dict)
    """Point of the numerator, merged over ``at``; or the name of another expectation."""
    to: AxisValues | str = field(default_factory=dict)
    at: AxisValues = field(default_factory=dict)

    def others(self) -> tuple[str, ...]:
        return tuple(side for side in (self.of, self.to) if isinstance(side, str))

    def required_points(self) -> list[Point]:
        return [{**self.at, **side} for side in (self.of, self.to) if not isinstance(side, str)]

    def sides(self, evidence: Evidence) -> tuple[PointEstimate, ...]:
        return self._side(self.of, evidence), self._side(self.to, evidence)

    def combined(self, sides: tuple[PointEstimate, ...], runs: Runs) -> PointEstimate:
        return ratio(sides[0], sides[1], runs)

    @property
    def shared(self) -> Case:
        return {axis: value for axis, value in self.at.items() if axis not in {*self.of, *self.to}}

    def _side(self, side: AxisValues | str, evidence: Evidence) -> PointEstimate:
        if isinstance(side, str):
            estimate = evidence.other(side)
            return replace(estimate, cases=(case_of({"expectation": side}, estimate.interval),))
        assert self.metric is not None  # the part requires a metric for a ratio of points
        return evidence.runs.at(self.metric, {**self.at, **side})


class RatioPart(FormPart):
    """One value over another, paired by replication: a metric at two points, or two other expectations."""

    metric: str | None = None
    """The metric; not with names of expectations."""
    of: WrittenValues | str
    """Numerator: values of axes, or the name of another expectation."""
    to: WrittenValues | str
    """Denominator: values of axes, or the name of another expectation."""
    at: WrittenValues = Field(default_factory=dict)
    """Values of axes that both points have."""

    @model_validator(mode="after")
    def _points_or_names(self) -> RatioPart:
        are_names = [isinstance(side, str) for side in (self.of, self.to)]
        if any(are_names) != all(are_names) or all(are_names) != (self.metric is None) or (all(are_names) and self.at):
            raise ValueError(
                "mixes points and names|metric: METRIC, of: {AXIS: VALUE}, to: {AXIS: VALUE}; or of: NAME, to: NAME"
            )
        return self

    def read(self, names: Names, path: KeyPath) -> tuple[Form, str]:
        """The form, and the unit of its answer."""
        if isinstance(self.of, str) or isinstance(self.to, str):
            return Ratio(None, self.of, self.to, {}), "ratio"
        names.metric(str(self.metric), (*path, "metric"))
        of, to = (names.written(side, (*path, key)) for key, side in (("of", self.of), ("to", self.to)))
        return Ratio(self.metric, of, to, names.point(self.at, (*path, "at"))), "ratio"


@dataclass(frozen=True)
class _Several(Form):
    """A form over several points."""

    points: tuple[PointForm, ...]
    """All values, all ratios or all differences of a metric."""

    @property
    def is_signed(self) -> bool:  # type: ignore[override]
        return any(point.is_signed for point in self.points)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(metric for point in self.points for metric in point.metrics))

    def required_points(self) -> list[Point]:
        return [point for entry in self.points for point in entry.required_points()]

    def _estimates(self, evidence: Evidence) -> tuple[list[PointEstimate], list[PointEstimate]]:
        """An estimate for each of the points, and the estimates behind them."""
        behind: list[PointEstimate] = []
        estimates: list[PointEstimate] = []
        for point in self.points:
            sides = point.sides(evidence)
            behind += sides
            estimate = point.combined(sides, evidence.runs)
            if not isinstance(point, At):
                shown = {
                    f"{point.metric} of": sides[0],
                    f"{point.metric} {'to' if isinstance(point, Ratio) else 'less'}": sides[1],
                }
                case = {**point.shared, **{key: side.interval.mean for key, side in shown.items()}}
                estimate = replace(estimate, cases=(case_of(case, estimate.interval),))
            estimates.append(estimate)
        return estimates, behind


@dataclass(frozen=True)
class Worst(_Several):
    """The worst case of several points: the one farthest outside the band, or nearest an end of it."""

    best: bool = False
    """True for the point deepest inside instead (``best:``)."""

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        estimates, behind = self._estimates(evidence)
        choose = max if self.best else min
        chosen = choose(estimates, key=lambda estimate: band.depth(estimate.interval.mean))
        return replace(chosen, cases=cases_of(estimates), notes=notes_of([*behind, chosen]))


@dataclass(frozen=True)
class Mean(_Several):
    """The mean over several points, by replication."""

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        estimates, behind = self._estimates(evidence)
        common = set.intersection(*(set(estimate.values) for estimate in estimates))
        if not common:
            raise MissingError("no replication has all points of the mean")
        values = {
            replication: math.fsum(estimate.values[replication] for estimate in estimates) / len(estimates)
            for replication in sorted(common)
        }
        interval = evidence.runs.signed_interval(values) if self.is_signed else evidence.runs.interval(values)
        notes = (self._extremes(estimates, band), *notes_of(behind))
        return PointEstimate(interval, values, cases_of(estimates), notes, equal_in_all(estimates))

    def _extremes(self, estimates: Sequence[PointEstimate], band: Band) -> str:
        """The smallest and the largest case in words; one of them is the worst case."""
        cases = [point.shared for point in self.points]
        varied = [axis for axis in cases[0] if len({str(case[axis]) for case in cases}) > 1]
        means = [estimate.interval.mean for estimate in estimates]
        worst = min(range(len(means)), key=lambda index: band.depth(means[index]))

        def words(index: int) -> str:
            where = point_text({axis: cases[index][axis] for axis in varied})
            return f"{means[index]:.4g} at {where}{' (the worst)' if index == worst else ''}"

        least, greatest = (choose(range(len(means)), key=means.__getitem__) for choose in (min, max))
        return f"the mean of {len(means)} cases, from {words(least)} to {words(greatest)}"


class PointsPart(Spec):
    """A metric, or a ratio or a difference of it, at several points: values of an axis, or cases."""

    metric: str
    of: WrittenValues | None = None
    """For a ratio at every point, paired by replication: axis values of the numerator."""
    to: WrittenValues | None = None
    """For a ratio: axis values of the denominator."""
    less: WrittenValues | None = None
    """For a difference at every point: axis values of the point that is subtracted."""
    over: str | None = None
    """The axis; needs ``values``."""
    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = None
    """Values of the axis."""
    cases: Annotated[tuple[WrittenValues, ...], Field(min_length=1)] | None = None
    """The points, instead of an axis: values of one or several axes."""
    at: WrittenValues = Field(default_factory=dict)
    """Values of axes that all points have."""

    @model_validator(mode="after")
    def _one_set_of_points(self) -> PointsPart:
        if (self.over is None) != (self.values is None):
            raise ValueError("is an incomplete line|over: AXIS and values: [...]")
        if (self.over is None) == (self.cases is None):
            raise ValueError("needs one set of points|over: AXIS and values: [...]; or cases: [{AXIS: VALUE}, ...]")
        if (self.of is None) != (self.to is None):
            raise ValueError("is an incomplete ratio|of: {AXIS: VALUE} and to: {AXIS: VALUE}")
        if self.of is not None and self.less is not None:
            raise ValueError("is a ratio and a difference|of and to; or less")
        return self

    def read(self, names: Names, path: KeyPath) -> tuple[tuple[PointForm, ...], str]:
        """The points, and the unit of the answer."""
        unit = names.metric(self.metric, (*path, "metric"))
        if self.over is not None:
            values = names.values(self.over, self.values or (), path, "over")
            cases = [{self.over: value} for value in values]
        else:
            cases = [names.written(case, (*path, "cases", i)) for i, case in enumerate(self.cases or ())]
        varied = {axis for case in cases for axis in case}
        shared = names.point(self.at, (*path, "at"), varied)
        points = [{**names.first(varied), **case, **shared} for case in cases]
        if self.over is None and any(point in points[:i] for i, point in enumerate(points)):
            names.fault((*path, "cases"), "has a case twice", "each case once")
        if self.less is not None:
            taken_off = names.written(self.less, (*path, "less"), varied)
            if taken_off.items() <= shared.items():
                names.fault((*path, "less"), "would subtract the point from itself", "another point")
            return tuple(Difference(self.metric, point, {**point, **taken_off}) for point in points), unit
        if self.of is None or self.to is None:
            return tuple(At(self.metric, point) for point in points), unit
        of, to = (names.written(side, (*path, key), varied) for key, side in (("of", self.of), ("to", self.to)))
        if {**shared, **of} == {**shared, **to}:
            names.fault((*path, "to"), "is the point that of is", "another point")
        return tuple(Ratio(self.metric, of, to, point) for point in points), "ratio"


@dataclass(frozen=True)
class Find(Form):
    """A threshold on an axis of integers, or of integers of a unit, found by bisection in steps of 1, each replication separately."""

    largest: bool
    """True: the largest value at which the condition holds; False: the smallest."""
    axis: str
    start: int
    stop: int
    metric: str
    below: float
    """The condition: the metric is below this (in the metric's unit)."""
    at: AxisValues
    unit: str = ""
    """Unit of the axis; empty for plain numbers."""
    length_ps: int = 0
    """Shortest length of the runs that decide the threshold."""
    metrics: ClassVar[tuple[str, ...]] = ()

    def written(self, value: int) -> Scalar:
        """A value of the axis, as written."""
        return f"{value} {self.unit}" if self.unit else value

    def read(self, written: Scalar) -> int | None:
        """The number of a value of the axis; None if it is not an integer of its unit."""
        if not self.unit:
            return written if isinstance(written, int) else None
        number, _, unit = str(written).partition(" ")
        return int(number) if unit == self.unit and number.isdecimal() else None

    def required_points(self) -> list[Point]:
        return [{**self.at, self.axis: self.written(value)} for value in (self.start, self.stop)]

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        answer = evidence.answer(name)
        if answer is None:
            raise MissingError("the search has not finished")
        if not answer.values:
            raise MissingError("; ".join(answer.notes) or "the search found nothing")
        values = dict(enumerate(answer.values))
        interval = opened(evidence.runs.signed_interval(values), answer.bounds)
        return PointEstimate(interval, values, answer.points, answer.notes, bounds=answer.bounds)


class WherePart(Spec):
    """A condition on a metric."""

    metric: str
    of: str | None = None
    """Subject of the metric: a traffic entry, a group of VMs, and others; the host by default."""
    below: Amount
    """The metric is below this: a number in the metric's unit, or a number with its unit."""


def _in_unit(end: int | str) -> tuple[int, str]:
    """The end of a bracket as an integer and its unit.

    Raises:
        ValueError: it is not an integer.
    """
    if isinstance(end, int):
        return end, ""
    number, _, unit = end.partition(" ")
    if not number.isdecimal() or not any(unit in units for units in UNITS.values()):
        raise ValueError(
            "has an end that is not a whole number of a unit|an integer, or an integer, a space and a unit"
        )
    return int(number), unit


class FindPart(FormPart):
    """A threshold on an axis of integers, or of integers of a unit, in steps of 1, independent of the values of the sweep."""

    largest: str | None = None
    """The axis; the answer is its largest value at which the condition holds."""
    smallest: str | None = None
    """The axis; the answer is its smallest value at which the condition holds."""
    start: Annotated[int | str, Field(alias="from")]
    """Smallest value: ``1``, or ``10 kpps``."""
    stop: Annotated[int | str, Field(alias="to")]
    """Largest value, in the same unit."""
    where: WherePart
    at: WrittenValues = Field(default_factory=dict)
    length: PositiveDuration | None = None
    """Shortest length of the runs that decide the threshold, for a metric that becomes level slowly near its limit; by
    default ``run.length``, or ``run.quick.length`` with ``--quick``. ``run.length`` and
    ``run.quick.length`` of ``--set`` have priority. The calibration to published claims uses it on the host of each step; other calibrations do not.
    """

    @model_validator(mode="after")
    def _one_axis_and_a_bracket(self) -> FindPart:
        if (self.largest is None) == (self.smallest is None):
            raise ValueError("needs exactly one of largest and smallest|largest: AXIS or smallest: AXIS")
        if self.unit != _in_unit(self.stop)[1]:
            raise ValueError("has ends in two units|from and to in one unit, or both without")
        if self.least > self.most:
            raise ValueError("has its ends in the wrong order|from: a number not above to")
        return self

    @property
    def least(self) -> int:
        """Smallest value, in `unit`."""
        return _in_unit(self.start)[0]

    @property
    def most(self) -> int:
        """Largest value, in `unit`."""
        return _in_unit(self.stop)[0]

    @property
    def unit(self) -> str:
        """Unit of the steps; empty for plain numbers."""
        return _in_unit(self.start)[1]

    def read(self, names: Names, path: KeyPath) -> tuple[Form, str]:
        """The form, and the unit of its answer."""
        side = "largest" if self.largest is not None else "smallest"
        axis = str(self.largest or self.smallest)
        names.axis(axis, (*path, side))
        metric = of_subject_name(self.where.metric, self.where.of)
        unit = names.metric(metric, (*path, "where", "metric"))
        below = names.bound(self.where.below, unit, (*path, "where", "below"))
        at = names.point(self.at, (*path, "at"), (axis,))
        form = Find(
            side == "largest", axis, self.least, self.most, metric, below or 0.0, at, self.unit, self.length or 0
        )
        return form, self.unit or axis


@dataclass(frozen=True)
class RSquared(Form):
    """R squared of the straight line of a metric against an axis, for each replication."""

    metric: str
    against: str
    values: tuple[Scalar, ...]
    at: AxisValues
    most = 1.0

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.metric,)

    def required_points(self) -> list[Point]:
        return [{**self.at, self.against: value} for value in self.values]

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        estimates = evidence.runs.line(self.metric, self.at, self.against, self.values)
        x = _positions(self.values)
        common = [r for r in estimates[0].values if all(r in estimate.values for estimate in estimates)]
        values = {r: r_squared(x, [estimate.values[r] for estimate in estimates]) for r in common}
        if not values or any(math.isnan(value) for value in values.values()):
            raise MissingError(f"{self.metric} does not vary along {self.against}")
        interval, equal = evidence.runs.interval(values, most=self.most), equal_in_all(estimates)
        return PointEstimate(interval, values, cases_of(estimates), notes_of(estimates), equal)


def _positions(values: Sequence[Scalar]) -> list[float]:
    """Values of an axis as numbers; quantities of one unit without it, as R squared is independent of scale."""
    parts = [value.split(None, 1) if isinstance(value, str) else [str(value)] for value in values]
    if len({tuple(part[1:]) for part in parts}) > 1:
        raise MissingError(f"a line needs values of one unit, not {', '.join(str(value) for value in values)}")
    try:
        return [float(part[0]) for part in parts]
    except (ValueError, IndexError):
        raise MissingError(f"a line needs numbers, not {', '.join(str(value) for value in values)}") from None


class RSquaredPart(FormPart):
    """R squared of the straight line of a metric against an axis."""

    metric: str
    of: str | None = None
    """Subject of the metric; the host by default."""
    against: str
    """The axis."""
    values: Annotated[tuple[Value, ...], Field(min_length=3)]
    at: WrittenValues = Field(default_factory=dict)

    def read(self, names: Names, path: KeyPath) -> tuple[Form, str]:
        """The form, and the unit of its answer."""
        metric = of_subject_name(self.metric, self.of)
        names.metric(metric, (*path, "metric"))
        values = names.values(self.against, self.values, path, "against")
        return RSquared(metric, self.against, values, names.point(self.at, (*path, "at"), (self.against,))), "R2"


Direction = Literal["rising", "falling", "not falling", "not rising"]
"""Allowed changes of a metric at every step of a line; the last two allow noise."""


@dataclass(frozen=True)
class Limit:
    """A one-sided limit: a number must be strictly below or strictly above it; exactly one is set."""

    below: float | None = None
    above: float | None = None

    def holds(self, value: float) -> bool:
        """True if the value satisfies the limit."""
        return (self.below is None or value < self.below) and (self.above is None or value > self.above)


@dataclass(frozen=True)
class Monotone:
    """A monotone metric along an axis.

    ``rising`` and ``falling`` are strict and compare means. ``not falling`` (and ``not rising`` in reverse) is violated only by a step whose
    differences, paired by replication on common random numbers, have a 95 % Student interval below 0, and whose fall exceeds 0.5 % of the
    larger mean. A single replication has no interval, so any fall of more than 0.5 % violates it.
    """

    metric: str
    direction: Direction
    along: str
    """The axis."""
    values: tuple[Scalar, ...]
    at: AxisValues

    def required_points(self) -> list[Point]:
        """The points of the line."""
        return [{**self.at, self.along: value} for value in self.values]

    def judged(self, runs: Runs) -> PointEstimate:
        """Whether it holds."""
        estimates = runs.line(self.metric, self.at, self.along, self.values)
        broken = []
        for (before, after), pair in zip(pairwise(estimates), pairwise(self.values), strict=True):
            if not _goes(self, before, after):
                broken.append(_step(self, before, after, pair))
        notes = notes_of(estimates)
        if self.direction.startswith("not") and any(len(estimate.values) == 1 for estimate in estimates):
            notes = (*notes, f"one replication: any step of more than {NEGLIGIBLE:.1%} counts")
        holds = float(not broken)
        return PointEstimate(Interval(holds, holds, holds, len(estimates)), {}, cases_of(estimates), (*broken, *notes))


@dataclass(frozen=True)
class Within:
    """A metric within a limit (in its unit) at every point of a line, or at one point."""

    metric: str
    limit: Limit
    at: AxisValues
    along: str | None = None
    """The axis; None for the one point ``at``."""
    values: tuple[Scalar, ...] = ()

    def required_points(self) -> list[Point]:
        """The points of the line, or the one point."""
        return [dict(self.at)] if self.along is None else [{**self.at, self.along: value} for value in self.values]

    def judged(self, runs: Runs) -> PointEstimate:
        """Whether it holds."""
        if self.along is None:
            estimates = [runs.at(self.metric, self.at)]
        else:
            estimates = runs.line(self.metric, self.at, self.along, self.values)
        intervals = [_satisfies(self.limit, estimate.interval) for estimate in estimates]
        return PointEstimate(_all(intervals), {}, cases_of(estimates), notes_of(estimates))


@dataclass(frozen=True)
class Compared:
    """A comparison of two points: the paired ratio of a metric satisfies a limit."""

    metric: str
    of: AxisValues
    """Numerator, merged over ``at``."""
    to: AxisValues
    """Denominator, merged over ``at``."""
    limit: Limit
    at: AxisValues

    def required_points(self) -> list[Point]:
        """Both points."""
        return [{**self.at, **self.of}, {**self.at, **self.to}]

    def judged(self, runs: Runs) -> PointEstimate:
        """Whether it holds."""
        of, to = (runs.at(self.metric, {**self.at, **side}) for side in (self.of, self.to))
        paired = ratio(of, to, runs)
        shared = {k: v for k, v in self.at.items() if k not in (*self.of, *self.to)}
        shown = (*paired.cases, case_of(shared, paired.interval))
        return replace(paired, interval=_satisfies(self.limit, paired.interval), cases=shown)


Predicate = Monotone | Within | Compared


@dataclass(frozen=True)
class Always(Form):
    """A conjunction of predicates: 1 if all are true, else 0."""

    conditions: tuple[Predicate, ...]
    is_statement = True

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(condition.metric for condition in self.conditions))

    def required_points(self) -> list[Point]:
        return [point for condition in self.conditions for point in condition.required_points()]

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        estimates = [condition.judged(evidence.runs) for condition in self.conditions]
        if len(self.conditions) > 1 or isinstance(self.conditions[0], Compared):
            estimates = [
                replace(estimate, cases=tuple({"condition": _words(condition), **case} for case in estimate.cases))
                for condition, estimate in zip(self.conditions, estimates, strict=True)
            ]
        return PointEstimate(_all([f.interval for f in estimates]), {}, cases_of(estimates), notes_of(estimates))


NEGLIGIBLE = 0.005
"""Largest step in the wrong direction that is tolerated, as a share of the larger mean."""


def _goes(form: Monotone, before: PointEstimate, after: PointEstimate) -> bool:
    first, second = before.interval.mean, after.interval.mean
    match form.direction:
        case "rising":
            return second > first
        case "falling":
            return second < first
        case "not falling":
            return not _falls(before, after)
        case "not rising":
            return not _falls(after, before)


def _falls(before: PointEstimate, after: PointEstimate) -> bool:
    """True if the second value is below the first by a significant and noticeable amount."""
    paired = [replication for replication in before.values if replication in after.values]
    if not paired:
        raise MissingError("no replication has both ends of a step")
    fall = paired_difference([before.values[r] for r in paired], [after.values[r] for r in paired])
    larger = max(sum(side.values[r] for r in paired) / len(paired) for side in (before, after))
    return fall.mean > NEGLIGIBLE * larger and (fall.low > 0 or fall.count == 1)


def _step(form: Monotone, before: PointEstimate, after: PointEstimate, pair: tuple[Scalar, Scalar]) -> str:
    verb = {"rising": "does not rise", "falling": "does not fall", "not falling": "falls", "not rising": "rises"}
    ends = f"{before.interval.mean:.4g} to {after.interval.mean:.4g} {CATALOGUE[form.metric].unit}"
    return f"{form.metric} {verb[form.direction]} from {form.along}={pair[0]} to {pair[1]}: {ends}"


def _satisfies(limit: Limit, interval: Interval) -> Interval:
    """Whether a measure satisfies a limit, judged three ways: by its mean, certainly, and possibly."""
    ends = [limit.holds(end) for end in (interval.low, interval.high)]
    return Interval(float(limit.holds(interval.mean)), float(all(ends)), float(any(ends)), interval.count)


def _agree(one: Interval, other: Interval) -> Interval:
    """Whether two statements have the same truth value, judged three ways: by their means, certainly, and possibly."""
    open_ = one.low != one.high or other.low != other.high
    same = float(one.mean == other.mean)
    return Interval(same, 0.0 if open_ else same, 1.0 if open_ else same, min(one.count, other.count))


def _all(statements: Iterable[Interval]) -> Interval:
    """Whether all statements are true, judged three ways: by their means, certainly, and possibly."""
    intervals = list(statements)
    return Interval(
        min(s.mean for s in intervals), min(s.low for s in intervals), min(s.high for s in intervals), len(intervals)
    )


def _words(condition: Predicate) -> str:
    if isinstance(condition, Monotone):
        return f"{condition.metric} {condition.direction}"
    unit = CATALOGUE[condition.metric].unit if isinstance(condition, Within) else ""
    measure = condition.metric if isinstance(condition, Within) else f"ratio of {condition.metric}"
    below, above = condition.limit.below, condition.limit.above
    bound = f"above {above:g}" if below is None else f"below {below:g}"
    return f"{measure} {bound} {unit}".rstrip()


Amount = int | float | str
"""A number in the metric's unit, or a number with its unit."""


class PredicatePart(Spec):
    """A condition: a metric is monotone along an axis, satisfies a limit at every point, or its ratio to another point does.

    The three forms: ``metric, is, along, values``; ``metric, below`` (or ``above``) with ``along, values`` or for one point;
    ``metric, of, to, below`` (or ``above``). Each takes ``at``.
    """

    metric: str
    direction: Annotated[Direction | None, Field(alias="is")] = None
    """Direction of every step. ``rising`` and ``falling`` compare means strictly. ``not falling`` and ``not rising`` allow noise: a step
    violates them if the 95 % interval of its paired differences excludes 0 and it exceeds 0.5 % of the larger mean."""
    along: str | None = None
    """The axis."""
    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = None
    """Values of the axis; at least two with ``is``."""
    of: WrittenValues | None = None
    """Numerator of a ratio, paired by replication: values of axes."""
    to: WrittenValues | None = None
    """Denominator of the ratio: values of axes."""
    below: Amount | None = None
    """The metric is below this at every point: a number in its unit or with a unit; for a ratio a plain number. A 95 % interval that contains
    the limit leaves the verdict open."""
    above: Amount | None = None
    """The metric is above this at every point; see ``below``."""
    at: WrittenValues = Field(default_factory=dict)
    """Values of the other axes."""

    @model_validator(mode="after")
    def _one_predicate(self) -> PredicatePart:
        limits = (self.below is not None) + (self.above is not None)
        if (self.direction is not None) + limits != 1:
            raise ValueError("needs exactly one condition|one of is, below, above")
        if (self.along is None) != (self.values is None):
            raise ValueError("is an incomplete line|along: AXIS and values: [...]")
        if (self.of is None) != (self.to is None):
            raise ValueError("is an incomplete ratio|of: {AXIS: VALUE} and to: {AXIS: VALUE}")
        if self.of is not None and (self.direction is not None or self.along is not None):
            raise ValueError("is a ratio and a line|below or above with of and to; or along and values")
        if self.direction is not None and len(self.values or ()) < 2:
            raise ValueError("moves along fewer than two values|along: AXIS and values: two or more")
        return self

    def read(self, names: Names, path: KeyPath) -> Predicate:
        """The predicate."""
        unit = names.metric(self.metric, (*path, "metric"))
        values = () if self.along is None else names.values(self.along, self.values or (), path, "along")
        at = names.point(self.at, (*path, "at"), () if self.along is None else (self.along,))
        if self.direction is not None:
            return Monotone(self.metric, self.direction, str(self.along), values, at)
        unit = unit if self.of is None else "ratio"
        below, above = (names.bound(getattr(self, end), unit, (*path, end)) for end in ("below", "above"))
        limit = Limit(below, above)
        if self.of is None or self.to is None:
            return Within(self.metric, limit, at, self.along, values)
        of, to = names.written(self.of, (*path, "of")), names.written(self.to, (*path, "to"))
        if {**at, **of} == {**at, **to}:
            names.fault((*path, "to"), "is the point that of is", "another point")
        return Compared(self.metric, of, to, limit, at)


def _alone(value: Any) -> Any:
    return (value,) if isinstance(value, dict) else value


Predicates = Annotated[
    tuple[PredicatePart, ...],
    Field(min_length=1),
    BeforeValidator(_alone, json_schema_input_type=PredicatePart | tuple[PredicatePart, ...]),
]
"""One condition, or a list of conditions that must all be true."""


IN_FORCE = Limit(above=50.0)
"""Percent of the window above which a state counts as active."""


@dataclass(frozen=True)
class Switches(Form):
    """A switched state: 1 if the state is active at exactly the cases in which a metric is below a threshold, else 0.

    The state is active at a case if its metric, in percent of the window, is above 50.
    """

    state: str
    """Metric of the state."""
    when: str
    """Metric that decides."""
    cases: tuple[AxisValues, ...]
    below: tuple[float, ...]
    """The threshold at each case, in the unit of ``when``; 0 means that the state must never be active."""
    is_statement = True

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.state, self.when

    def required_points(self) -> list[Point]:
        return [dict(case) for case in self.cases]

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        states = [evidence.runs.at(self.state, case) for case in self.cases]
        measures = [evidence.runs.at(self.when, case) for case in self.cases]
        self._check_sides(measures)
        agreements = []
        cases = []
        notes = []
        for case, below, state, measure in zip(self.cases, self.below, states, measures, strict=True):
            agrees = _agree(_satisfies(IN_FORCE, state.interval), _satisfies(Limit(below=below), measure.interval))
            agreements.append(agrees)
            cases.append(
                {**case, self.state: state.interval.mean, self.when: measure.interval.mean, "value": agrees.mean}
            )
            if not agrees.mean:
                force = "active" if IN_FORCE.holds(state.interval.mean) else "inactive"
                side = "below" if measure.interval.mean < below else "not below"
                notes.append(f"{self.state} is {force} while {self.when} is {side} {below:g} at {point_text(case)}")
        return PointEstimate(_all(agreements), {}, tuple(cases), (*notes, *notes_of([*states, *measures])))

    def _check_sides(self, measures: Sequence[PointEstimate]) -> None:
        """Checks that there are cases on both sides of every threshold except 0."""
        for threshold in sorted(set(self.below)):
            means = [m.interval.mean for m, below in zip(measures, self.below, strict=True) if below == threshold]
            if threshold > 0 and len({value < threshold for value in means}) == 1:
                lacking = "from it on" if means[0] < threshold else "below it"
                unit = CATALOGUE[self.when].unit
                there = ", ".join(f"{value:.4g}" for value in means)
                raise MissingError(f"no case has {self.when} {lacking} at the threshold {threshold:g} {unit}: {there}")


class SwitchesPart(FormPart):
    """A state that is active exactly while a metric is below a threshold.

    Each threshold except 0 needs cases on both sides, which is known only after the runs.
    """

    state: str
    """Metric of the state, in percent of the window: active above 50."""
    when: str
    """Metric that decides."""
    below: Amount
    """The threshold: a number in the unit of ``when``, a number with its unit, or the name of an axis with its value. 0: never active."""
    cases: Annotated[tuple[WrittenValues, ...], Field(min_length=1)]
    """Cases: values of axes."""

    def read(self, names: Names, path: KeyPath) -> tuple[Form, str]:
        """The form, and the unit of its answer."""
        unit = names.metric(self.state, (*path, "state"))
        if unit and not is_same_unit(unit, "%"):
            names.fault((*path, "state"), f"is in {unit}", "a metric in %: the state is active above 50")
        unit = names.metric(self.when, (*path, "when"))
        cases = tuple(names.point(case, (*path, "cases", i)) for i, case in enumerate(self.cases))
        below = (names.threshold(self.below, unit, case, (*path, "below")) for case in cases)
        limits = tuple(0.0 if number is None else float(number) for number in below)
        return Switches(self.state, self.when, cases, limits), "boolean"


@dataclass(frozen=True)
class Refusal:
    """Test of a refusal: a changed scenario, and the reason if it could not be loaded."""

    tried: str
    """The changes in words; empty without any."""
    feature: str
    """Text that its refusal must contain; empty if it must be accepted."""
    said: tuple[str, ...]
    """Reason of its refusal; empty if it was accepted."""

    @property
    def holds(self) -> bool:
        """True if it was accepted, or refused with the required name, as expected."""
        return any(self.feature in text for text in self.said) if self.feature else not self.said


@dataclass(frozen=True)
class Refused(Form):
    """Refused scenarios: 1 if each was refused or accepted as expected, else 0. Evaluated at loading, without runs."""

    cases: tuple[Refusal, ...]
    metrics: ClassVar[tuple[str, ...]] = ()
    needs_runs = False

    def required_points(self) -> list[Point]:
        return []

    def estimate(self, evidence: Evidence, name: str, band: Band) -> PointEstimate:
        holds = float(all(case.holds for case in self.cases))
        cases: tuple[Case, ...] = tuple(
            {"tried": case.tried or "as it stands", "refusal": case.feature or "none", "value": float(case.holds)}
            for case in self.cases
        )
        notes = tuple(
            f"{case.tried or 'as it stands'}: {'; '.join(case.said) or 'accepted'}"
            for case in self.cases
            if not case.holds
        )
        return PointEstimate(Interval(holds, holds, holds, len(cases)), {}, cases, notes)


Changes = dict[str, Value | tuple[Value, ...]]
"""Values by dotted path."""


class RefusalPart(Spec):
    """Something that must be refused."""

    set: Changes
    """Changes: values by dotted path, as for ``--set``."""
    names: Annotated[str, Field(min_length=1)]
    """The feature that the refusal must name."""


class RefusedPart(FormPart):
    """Changes that loading must refuse or accept."""

    cases: Annotated[tuple[RefusalPart, ...], Field(min_length=1)]
    """Changes that must be refused."""
    accepted: Annotated[tuple[Changes, ...], Field(min_length=1)]
    """Changes that must be accepted; ``{}`` is the unchanged scenario."""
    at: WrittenValues = Field(default_factory=dict)
    """Common values of axes."""

    def read(self, names: Names, path: KeyPath) -> tuple[Form, str]:
        """The form, and the unit of its answer: each case is tried."""
        at = names.point(self.at, (*path, "at"))
        changes_of_cases = [
            *((case.set, case.names) for case in self.cases),
            *((changes, "") for changes in self.accepted),
        ]
        tried = [(feature, names.tried(changes, at, path)) for changes, feature in changes_of_cases]
        return Refused(tuple(Refusal(words, feature, messages) for feature, (words, messages) in tried)), "boolean"


BESIDE_A_FORM = ("claim", "measurement", "name", "between", "of", "at", "less")
"""Keys of an expectation that are not forms."""


class ExpectPart(Spec):
    """An expectation: a published claim, or your own measurement."""

    claim: str | None = None
    """Id of a published claim; its band and unit are those of ``claims.csv``."""
    measurement: str | None = None
    """Id of a published measurement for predictions; its band and unit are those of ``published-2.csv``. `hostsim predict` runs it."""
    name: str | None = None
    """Name of your own expectation; needs ``between``."""
    between: tuple[BandEnd, BandEnd] | None = None
    """Accepted values of your own expectation, including the ends."""
    metric: str | None = None
    """The mean of this metric at the point ``at``."""
    of: str | None = None
    """With ``metric``: its subject, a traffic entry, a group of VMs, one VM (``web[3]``), a vNIC, a port or queue of a physical NIC, a
    world, a PCPU or a NUMA node; the host by default. Other forms include it in the name: ``metric: latency_p99 of feed``."""
    at: WrittenValues | None = None
    """With ``metric``: values of axes."""
    less: WrittenValues | None = None
    """With ``metric``: axis values of another point; its metric is subtracted, paired by replication."""
    find: FindPart | None = None
    """The largest (or smallest) value of an axis at which a measure stays below a limit, by bisection in steps of 1."""
    ratio: RatioPart | None = None
    """One point over another, or one expectation over another, paired by replication."""
    worst: PointsPart | None = None
    """The point that is farthest outside the band, or nearest an end of it."""
    best: PointsPart | None = None
    """The point that is deepest inside the band."""
    mean: PointsPart | None = None
    """The mean over the points by replication; the smallest and the largest case are printed beside it."""
    r2: RSquaredPart | None = None
    """The fit of a straight line (R squared)."""
    always: Predicates | None = None
    """1 if a measure rises or falls along an axis, or meets a limit at every point, else 0; a list requires all its conditions."""
    switches: SwitchesPart | None = None
    """1 if a state is active exactly at the points at which a measure is below a threshold, else 0."""
    refused: RefusedPart | None = None
    """1 if loading refuses every case with the right name, and accepts the others, else 0; no runs are needed."""

    @model_validator(mode="after")
    def _one_question(self) -> ExpectPart:
        names = [name for name in type(self).model_fields if name not in BESIDE_A_FORM]
        forms = [form for form in names if getattr(self, form)]
        if len(forms) != 1:
            raise ValueError(
                f"needs exactly one form|one of metric (with at), {', '.join(names[1:])}"
                + (f"; has {' and '.join(forms)}" if forms else "")
            )
        if self.metric is None and (self.at is not None or self.less is not None):
            raise ValueError("has at or less without a metric|at and less beside metric, at inside other forms")
        if self.metric is None and self.of is not None:
            raise ValueError("has of without a metric|of beside metric; inside other forms metric: METRIC of SUBJECT")
        names_given = [key for key in ("claim", "measurement", "name") if getattr(self, key) is not None]
        if len(names_given) != 1 or (self.name is None) != (self.between is None):
            raise ValueError(
                "is neither a claim, a measurement nor your own expectation|"
                "claim: ID; measurement: ID; or name: TEXT and between: [low, high]"
            )
        return self

    @property
    def label(self) -> str:
        """Its name for other expectations: an id, or the user's name."""
        return self.claim or self.measurement or str(self.name)

    @property
    def named_by(self) -> str:
        """The key of the label."""
        return "claim" if self.claim else "measurement" if self.measurement else "name"

    def read(self, names: Names, path: KeyPath) -> tuple[Form, str]:
        """The form, and the unit of its answer."""
        for key, part in self:
            if isinstance(part, FormPart):
                return part.read(names, (*path, key))
        for key, several in (("worst", self.worst), ("best", self.best), ("mean", self.mean)):
            if several is not None:
                points, unit = several.read(names, (*path, key))
                return Mean(points) if key == "mean" else Worst(points, best=key == "best"), unit
        if self.always is not None:
            path = (*path, "always")
            listed = names.is_listed(path)
            read = (part.read(names, (*path, i) if listed else path) for i, part in enumerate(self.always))
            return Always(tuple(read)), "boolean"
        metric = of_subject_name(str(self.metric), self.of)
        unit = names.metric(metric, (*path, "metric"))
        point = names.point(self.at or {}, (*path, "at"))
        if self.less is None:
            return At(metric, point), unit
        less = {**point, **names.written(self.less, (*path, "less"))}
        if less == point:
            names.fault((*path, "less"), "would subtract the point from itself", "another point")
        return Difference(metric, point, less), unit


def is_same_unit(one: str, other: str) -> bool:
    """True if two units of measures are equal: their first words agree (``%`` and ``% of a vCPU``)."""
    return one.partition(" ")[0] == other.partition(" ")[0]


def _derived(kind: type[object]) -> list[type[object]]:
    """A class and all classes that are derived from it."""
    return [kind, *(lower for derived in kind.__subclasses__() for lower in _derived(derived))]


TAGGED: dict[str, type] = {
    kind.__name__: kind for kind in (*_derived(Form), Monotone, Within, Compared, Limit, Refusal)
}
"""Forms and parts of forms, by their names in stored results."""


@dataclass(frozen=True)
class Expectation:
    """An expectation of a scenario: a published claim or the user's own, with form and band."""

    name: str
    """Id of a claim or a measurement, or the name the user gave."""
    form: Form
    band: Band
    unit: str
    published: str
    """The published number as text; for an expectation of your own the band in words."""
    is_claim: bool
    """Published: a claim or a measurement for predictions."""
    kind: str = ""
    """One of `hostsim.results.claim.CLAIM_KINDS` if published; empty for a user's expectation."""
    label: str = ""
    """Name in figures; if empty, `name` is used."""

    @property
    def counted_in(self) -> str:
        """Unit of the answer; for a search, the unit of its steps, if any."""
        return self.form.unit if isinstance(self.form, Find) and self.form.unit else self.unit


def is_comparable(one: Expectation, other: Expectation) -> bool:
    """True if two answers can share a scale: values of one axis in one unit, or numbers of one unit."""
    match one.form, other.form:
        case Find(axis=axis, unit=unit), Find(axis=its_axis, unit=its_unit) if axis == its_axis:
            return unit == its_unit
    return is_same_unit(one.counted_in, other.counted_in)


class VerdictState(StrEnum):
    """The state of a verdict."""

    PASS = "pass"  # noqa: S105  not a password
    """The interval lies in the band."""
    FAIL = "fail"
    """The interval lies outside the band."""
    OPEN = "open"
    """The interval contains an end or is wider than half the band, with the largest number of replications."""
    MISSING = "missing"
    """There are no finished runs."""


@dataclass(frozen=True)
class KnownRed:
    """A known red: the range of its value that a check accepts, and the missing mechanism."""

    range: Band
    """Both ends are numbers."""
    reason: str
    awaiting: Literal["", "calibration"] = ""
    """``calibration`` if the claim became red by a corrected mechanism and the entry ends with the next calibration; it
    counts as red, not as known red.
    """
    by_interval: bool = False
    """True if the range is for other runs: a check then accepts any interval that overlaps it, even that of a pass."""


@dataclass(frozen=True)
class PredictionInterval:
    """A prediction interval: the uncertainty of the model about a value, by an ensemble of hosts (`hostsim.results.estimate`)."""

    low: float | None
    """90 % of hosts like the members are between the ends; None for an unbounded end."""
    high: float | None
    members: int
    """Number of hosts."""
    state: VerdictState
    """State of the interval and the band; ``open`` if the interval contains an end."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on an expectation: its value with interval, and whether it passes."""

    expectation: Expectation
    scenario: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    state: VerdictState
    known: KnownRed | None = None
    """The entry of ``known_red.yaml`` about the claim."""
    reason: str = ""
    """For a known red, the missing mechanism; for a missing verdict, the missing runs or values."""
    points: tuple[AxisValues, ...] = ()
    """The cases behind the value: axis values, and ``value`` (with ``low`` and ``high`` if there is an interval); ``raw`` is the raw measure
    beside a settled response time."""
    notes: tuple[str, ...] = ()
    """Warnings: a measure that is not monotone, flagged runs."""
    bound: Bound | None = None
    """The kind of bound, if the value is an end of the bracket and the threshold is beyond it."""
    equal_replications: int = 0
    """For a deterministic value, the number of its equal replications; 0 for random values and single replications."""
    wall_s: float = 0.0
    """Total wall-clock seconds of its runs; 0 if unknown."""
    prediction: PredictionInterval | None = None
    """Prediction interval of an ensemble; ``ci_low`` and ``ci_high`` then cover only noise, and decide ``state``."""
