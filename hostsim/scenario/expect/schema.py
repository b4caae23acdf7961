"""Schema of expectations in a scenario file, key by key.

These models check one entry by itself; names of axes, metrics and claims are looked up in `hostsim.scenario.expect.expectation`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from hostsim.config.field import AxisValues, BandEnd, Spec, Value
from hostsim.config.quantity import UNITS
from hostsim.results.expect import Direction

__all__ = [
    "ExpectPart",
    "FindPart",
    "PointsPart",
    "PredicatePart",
    "RSquaredPart",
    "RatioPart",
    "RefusedPart",
    "SwitchesPart",
]

Amount = int | float | str
"""A number in the metric's unit, or a number with its unit."""


Changes = dict[str, Value | tuple[Value, ...]]
"""Values by dotted path."""


def _alone(value: Any) -> Any:
    return (value,) if isinstance(value, dict) else value


class WherePart(Spec):
    """A condition on a metric."""

    metric: str
    below: Amount
    """The metric is below this: a number in the metric's unit, or a number with its unit."""


def _in_unit(end: int | str) -> tuple[int, str]:
    """The end of a bracket as a whole number and its unit.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(end, int):
        return end, ""
    number, _, unit = end.partition(" ")
    if not number.isdecimal() or not any(unit in units for units in UNITS.values()):
        raise ValueError("has an end that is no whole number of a unit|an integer, or an integer, a space and a unit")
    return int(number), unit


class FindPart(Spec):
    """A threshold on an axis of integers, or of whole numbers of a unit, in steps of 1, whatever values the sweep has."""

    largest: str | None = None
    """The axis; the answer is its largest value at which the condition holds."""
    smallest: str | None = None
    """The axis; the answer is its smallest value at which the condition holds."""
    start: Annotated[int | str, Field(alias="from")]
    """Least value to look at: ``1``, or ``10 kpps``."""
    stop: Annotated[int | str, Field(alias="to")]
    """Greatest value to look at, in the same unit."""
    where: WherePart
    at: AxisValues = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_axis_and_a_bracket(self) -> FindPart:
        if (self.largest is None) == (self.smallest is None):
            raise ValueError("needs exactly one of largest and smallest|largest: AXIS or smallest: AXIS")
        if self.unit != _in_unit(self.stop)[1]:
            raise ValueError("has ends in two units|from and to in one unit, or both without")
        if self.least > self.most:
            raise ValueError("has its ends the wrong way round|from: a number not above to")
        return self

    @property
    def least(self) -> int:
        """Least value to look at, in `unit`."""
        return _in_unit(self.start)[0]

    @property
    def most(self) -> int:
        """Greatest value to look at, in `unit`."""
        return _in_unit(self.stop)[0]

    @property
    def unit(self) -> str:
        """Unit of the steps; empty where they are plain numbers."""
        return _in_unit(self.start)[1]


class RatioPart(Spec):
    """One value over another, paired by replication: a metric at two points, or two other expectations."""

    metric: str | None = None
    """The metric; not with names of expectations."""
    of: AxisValues | str
    """Numerator: values of axes, or the name of another expectation."""
    to: AxisValues | str
    """Denominator, likewise."""
    at: AxisValues = Field(default_factory=dict)
    """Values of axes that both points have."""

    @model_validator(mode="after")
    def _points_or_names(self) -> RatioPart:
        named = [isinstance(side, str) for side in (self.of, self.to)]
        if any(named) != all(named) or all(named) != (self.metric is None) or (all(named) and self.at):
            raise ValueError(
                "mixes points and names|metric: METRIC, of: {AXIS: VALUE}, to: {AXIS: VALUE}; or of: NAME, to: NAME"
            )
        return self


class PointsPart(Spec):
    """A metric, or a ratio or a difference of it, at several points: values of an axis, or cases."""

    metric: str
    of: AxisValues | None = None
    """Of a ratio, taken at every point and paired by replication: values of axes of the numerator."""
    to: AxisValues | None = None
    """Those of its denominator."""
    less: AxisValues | None = None
    """Of a difference, taken likewise: values of axes of the point that is taken off."""
    over: str | None = None
    """The axis; needs ``values``."""
    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = None
    """Values of the axis."""
    cases: Annotated[tuple[AxisValues, ...], Field(min_length=1)] | None = None
    """The points instead: values of one axis or several."""
    at: AxisValues = Field(default_factory=dict)
    """Values of axes that all points have."""

    @model_validator(mode="after")
    def _one_set_of_points(self) -> PointsPart:
        if (self.over is None) != (self.values is None):
            raise ValueError("is half a line|over: AXIS and values: [...]")
        if (self.over is None) == (self.cases is None):
            raise ValueError("needs one set of points|over: AXIS and values: [...]; or cases: [{AXIS: VALUE}, ...]")
        if (self.of is None) != (self.to is None):
            raise ValueError("is half a ratio|of: {AXIS: VALUE} and to: {AXIS: VALUE}")
        if self.of is not None and self.less is not None:
            raise ValueError("is a ratio and a difference|of and to; or less")
        return self


class RSquaredPart(Spec):
    """R squared of the straight line of a metric against an axis."""

    metric: str
    against: str
    """The axis."""
    values: Annotated[tuple[Value, ...], Field(min_length=3)]
    at: AxisValues = Field(default_factory=dict)


class PredicatePart(Spec):
    """What always holds: a metric moves one way along an axis, keeps to a limit at every point, or does so against another point.

    The three ways to write one: ``metric, is, along, values``; ``metric, below`` (or ``above``) with ``along, values`` or for one point;
    ``metric, of, to, below`` (or ``above``). Each takes ``at``.
    """

    metric: str
    direction: Annotated[Direction | None, Field(alias="is")] = None
    """How it moves at every step. ``rising`` and ``falling`` go by the means, strictly. ``not falling`` and ``not rising`` allow for noise: a
    step breaks them when the 95 % interval of its differences, paired by replication, excludes 0 and it exceeds 0.5 % of the larger mean."""
    along: str | None = None
    """The axis."""
    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = None
    """Values of the axis, two or more with ``is``."""
    of: AxisValues | None = None
    """Numerator of a ratio, paired by replication: values of axes."""
    to: AxisValues | None = None
    """Its denominator, likewise."""
    below: Amount | None = None
    """At every point the metric is below this, a number in its unit or with its unit; of a ratio a bare number. A point whose 95 % interval
    straddles the limit leaves the verdict open."""
    above: Amount | None = None
    """At every point the metric is above this, likewise."""
    at: AxisValues = Field(default_factory=dict)
    """Values of the other axes."""

    @model_validator(mode="after")
    def _one_predicate(self) -> PredicatePart:
        limits = (self.below is not None) + (self.above is not None)
        if (self.direction is not None) + limits != 1:
            raise ValueError("needs exactly one condition|one of is, below, above")
        if (self.along is None) != (self.values is None):
            raise ValueError("is half a line|along: AXIS and values: [...]")
        if (self.of is None) != (self.to is None):
            raise ValueError("is half a ratio|of: {AXIS: VALUE} and to: {AXIS: VALUE}")
        if self.of is not None and (self.direction is not None or self.along is not None):
            raise ValueError("is a ratio and a line|below or above with of and to; or along and values")
        if self.direction is not None and len(self.values or ()) < 2:
            raise ValueError("moves along fewer than two values|along: AXIS and values: two or more")
        return self


Predicates = Annotated[
    tuple[PredicatePart, ...],
    Field(min_length=1),
    BeforeValidator(_alone, json_schema_input_type=PredicatePart | tuple[PredicatePart, ...]),
]
"""One condition, or a list of conditions that all hold."""


class SwitchesPart(Spec):
    """A state that is in force exactly while a metric is below a threshold.

    There must be a case on each side of every threshold but 0; on which side a case lies is known when it has been run.
    """

    state: str
    """Metric of the state, in percent of the window: above 50 it is in force."""
    when: str
    """Metric that decides."""
    below: Amount
    """The threshold: a number in the unit of ``when``, a number with its unit, or the name of an axis whose value it is. 0: never in force."""
    cases: Annotated[tuple[AxisValues, ...], Field(min_length=1)]
    """Where to look: values of axes."""


class RefusalPart(Spec):
    """Something that must be refused."""

    set: Changes
    """What is changed: values by dotted path, as with ``--set``."""
    names: Annotated[str, Field(min_length=1)]
    """The feature that the refusal must name."""


class RefusedPart(Spec):
    """What is refused when it is loaded, and what is not."""

    cases: Annotated[tuple[RefusalPart, ...], Field(min_length=1)]
    """Each must be refused."""
    accepted: Annotated[tuple[Changes, ...], Field(min_length=1)]
    """Each must not; ``{}`` is the scenario as it stands."""
    at: AxisValues = Field(default_factory=dict)
    """Values of axes that all have."""


class ExpectPart(Spec):
    """One thing that is expected: a published claim, or a measurement of one's own."""

    claim: str | None = None
    """Id of a published claim; its band and unit are those of ``claims.csv``."""
    measurement: str | None = None
    """Id of a published measurement that is predicted; its band and unit are those of ``published-2.csv``. `hostsim predict` runs it."""
    name: str | None = None
    """Name of an expectation of one's own; needs ``between``."""
    between: tuple[BandEnd, BandEnd] | None = None
    """Accepted values, ends included, of an expectation of one's own."""
    metric: str | None = None
    """The mean of this metric at the point ``at``."""
    at: AxisValues | None = None
    less: AxisValues | None = None
    """With ``metric``: the metric at the point that differs from ``at`` in these values is taken off, replication by replication."""
    find: FindPart | None = None
    ratio: RatioPart | None = None
    worst: PointsPart | None = None
    """The point that is farthest outside the band, or nearest an end of it."""
    best: PointsPart | None = None
    """The point that is deepest inside the band."""
    mean: PointsPart | None = None
    """The mean over the points, replication by replication; its least and its greatest case are printed beside it."""
    r2: RSquaredPart | None = None
    """R squared of the straight line."""
    always: Predicates | None = None
    """1 when the condition holds, or all of a list do, else 0."""
    switches: SwitchesPart | None = None
    """1 when the state is in force exactly at those cases where it should be, else 0."""
    refused: RefusedPart | None = None
    """1 when every case is refused, and by its name, and none of those accepted, else 0; known as soon as the file is loaded."""

    @model_validator(mode="after")
    def _one_question(self) -> ExpectPart:
        names = ("metric", "find", "ratio", "worst", "best", "mean", "r2", "always", "switches", "refused")
        forms = [form for form in names if getattr(self, form)]
        if len(forms) != 1:
            raise ValueError(
                f"needs exactly one form|one of metric (with at), {', '.join(names[1:])}"
                + (f"; has {' and '.join(forms)}" if forms else "")
            )
        if self.metric is None and (self.at is not None or self.less is not None):
            raise ValueError(
                "has an at or a less that belongs to no metric|at and less beside metric, at inside other forms"
            )
        named = [key for key in ("claim", "measurement", "name") if getattr(self, key) is not None]
        if len(named) != 1 or (self.name is None) != (self.between is None):
            raise ValueError(
                "is neither a claim, a measurement nor your own expectation|"
                "claim: ID; measurement: ID; or name: TEXT and between: [low, high]"
            )
        return self

    @property
    def label(self) -> str:
        """What other expectations call it: an id, or the name that the user gave."""
        return self.claim or self.measurement or str(self.name)

    @property
    def named_by(self) -> str:
        """The key that the label stands under."""
        return "claim" if self.claim else "measurement" if self.measurement else "name"
