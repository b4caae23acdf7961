"""Expectations, claims and verdicts as plain values: what results are compared with.
Text becomes these on floor 2 (`hostsim.scenario.load`); floor 5 (`hostsim.results.judge`) answers them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from hostsim.engine.record import AxisValues, Scalar
from hostsim.results.search_answer import Bound

__all__ = [
    "NOT_ESTIMABLE",
    "Always",
    "At",
    "Band",
    "Compared",
    "Difference",
    "Direction",
    "Expectation",
    "Find",
    "Form",
    "KnownRed",
    "Limit",
    "Mean",
    "Monotone",
    "PointForm",
    "Predicate",
    "PredictionInterval",
    "RSquared",
    "Ratio",
    "Refusal",
    "Refused",
    "Switches",
    "Verdict",
    "VerdictState",
    "Within",
    "Worst",
    "is_comparable",
    "is_same_unit",
    "is_signed",
    "required_metrics",
]


@dataclass(frozen=True)
class Band:
    """An acceptance band: accepted values, ends included; None where the band is open."""

    low: float | None
    high: float | None

    def holds(self, value: float) -> bool:
        """True when the value lies in the band."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@dataclass(frozen=True)
class At:
    """A metric at one point: its mean over the replications."""

    metric: str
    at: AxisValues


@dataclass(frozen=True)
class Difference:
    """A paired difference: the metric at one point less the metric at another, by replication."""

    metric: str
    at: AxisValues
    less: AxisValues
    """The other point."""


@dataclass(frozen=True)
class Find:
    """A threshold on an axis of integers, or of whole numbers of a unit, found by bisection in steps of 1, each replication by itself."""

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
    """Unit of the axis; empty where its values are plain numbers."""

    def written(self, value: int) -> Scalar:
        """A value of the axis, as it is written."""
        return f"{value} {self.unit}" if self.unit else value

    def read(self, written: Scalar) -> int | None:
        """The number of a value of the axis; None where it is not a whole number of its unit."""
        if not self.unit:
            return written if isinstance(written, int) else None
        number, _, unit = str(written).partition(" ")
        return int(number) if unit == self.unit and number.isdecimal() else None


@dataclass(frozen=True)
class Ratio:
    """A paired ratio: one value over another by replication, a metric at two points, or two other expectations of the scenario."""

    metric: str | None = None
    of: AxisValues | str = field(default_factory=dict)
    """Point of the numerator, merged over ``at``; or the name of another expectation."""
    to: AxisValues | str = field(default_factory=dict)
    at: AxisValues = field(default_factory=dict)


PointForm = At | Ratio | Difference
"""One point of several."""


@dataclass(frozen=True)
class Worst:
    """The worst case of several points: the one farthest outside the band, or nearest an end of it."""

    points: tuple[PointForm, ...]
    """All values, all ratios or all differences of a metric."""
    best: bool = False
    """True takes the point deepest inside instead (``best:``)."""


@dataclass(frozen=True)
class Mean:
    """The mean over several points, by replication."""

    points: tuple[PointForm, ...]
    """All values, all ratios or all differences of a metric."""


@dataclass(frozen=True)
class RSquared:
    """R squared of the straight line of a metric against an axis, for each replication."""

    metric: str
    against: str
    values: tuple[Scalar, ...]
    at: AxisValues


Direction = Literal["rising", "falling", "not falling", "not rising"]
"""How a metric may move at every step of a line; the last two allow for noise."""


@dataclass(frozen=True)
class Monotone:
    """A monotone metric: it moves one way at every step along an axis.

    ``rising`` and ``falling`` are strict and go by the means. ``not falling`` (and likewise ``not rising``) is broken only by a step whose
    differences, paired by replication on common random numbers, have a 95 % Student interval below 0, and whose fall is more than
    0.5 % of the larger mean. Of one replication there is no such interval: every fall of more than 0.5 % breaks it.
    """

    metric: str
    direction: Direction
    along: str
    """The axis."""
    values: tuple[Scalar, ...]
    at: AxisValues


@dataclass(frozen=True)
class Limit:
    """A one-sided limit: a number must be below or above it; exactly one of the two, and equal is neither."""

    below: float | None = None
    above: float | None = None

    def holds(self, value: float) -> bool:
        """True when the value is on the right side."""
        return (self.below is None or value < self.below) and (self.above is None or value > self.above)


@dataclass(frozen=True)
class Within:
    """A metric within a limit (in its unit) at every point of a line, or at one point."""

    metric: str
    limit: Limit
    at: AxisValues
    along: str | None = None
    """The axis; None for the one point ``at``."""
    values: tuple[Scalar, ...] = ()


@dataclass(frozen=True)
class Compared:
    """A comparison of two points: the paired ratio of a metric keeps to a limit."""

    metric: str
    of: AxisValues
    """Numerator, merged over ``at``."""
    to: AxisValues
    """Denominator, merged over ``at``."""
    limit: Limit
    at: AxisValues


Predicate = Monotone | Within | Compared


@dataclass(frozen=True)
class Always:
    """A conjunction of predicates: 1 when all hold, else 0."""

    conditions: tuple[Predicate, ...]


@dataclass(frozen=True)
class Switches:
    """A switched state: 1 when it is active exactly at those cases at which a metric is below a threshold, else 0.

    The state is active at a case when its metric, in percent of the window, is above 50.
    """

    state: str
    """Metric of the state."""
    when: str
    """Metric that decides."""
    cases: tuple[AxisValues, ...]
    below: tuple[float, ...]
    """The threshold at each case, in the unit of ``when``; 0 means that the state is never to be in force."""


@dataclass(frozen=True)
class Refusal:
    """A refusal that was tried: a scenario with some changes, and why loading refused it."""

    tried: str
    """What was changed, in words; empty where nothing was."""
    feature: str
    """What its refusal must name; empty where it must be accepted."""
    said: tuple[str, ...]
    """Why it was refused; empty where it was accepted."""

    @property
    def holds(self) -> bool:
        """It was accepted, or refused by the right name, as it should be."""
        return any(self.feature in text for text in self.said) if self.feature else not self.said


@dataclass(frozen=True)
class Refused:
    """Refused scenarios: 1 when each was refused, or accepted, as it should be, else 0. Answered when the file is loaded: nothing runs."""

    cases: tuple[Refusal, ...]


Form = At | Difference | Worst | Mean | Find | Ratio | RSquared | Always | Switches | Refused


def is_signed(form: Form) -> bool:
    """True when the value of a form may be below 0: that of a difference, or of several."""
    match form:
        case Difference():
            return True
        case Worst() | Mean():
            return any(map(is_signed, form.points))
    return False


def required_metrics(form: Form) -> tuple[str, ...]:
    """The metrics that a form requires at each of its points; none for a search, which has its own records."""
    match form:
        case Find() | Refused():
            return ()
        case Always():
            return tuple(dict.fromkeys(condition.metric for condition in form.conditions))
        case Switches():
            return form.state, form.when
        case Worst() | Mean():
            return tuple(dict.fromkeys(metric for point in form.points for metric in required_metrics(point)))
        case At() | Difference() | Ratio() | RSquared():
            return () if form.metric is None else (form.metric,)


@dataclass(frozen=True)
class Expectation:
    """An expectation of a scenario: a published claim, or one of the user's, with its form and band."""

    name: str
    """Id of a claim or a measurement, or the name the user gave."""
    form: Form
    band: Band
    unit: str
    published: str
    """The published number as text; for an expectation of one's own the band in words."""
    is_claim: bool
    """Published: a claim, or a measurement that is predicted."""
    kind: str = ""
    """Of what is published, one of `hostsim.results.claim.CLAIM_KINDS`; empty for an expectation of the user's."""

    @property
    def counted_in(self) -> str:
        """Unit of the answer: of a search that of its steps, where they have one."""
        return self.form.unit if isinstance(self.form, Find) and self.form.unit else self.unit


def is_same_unit(one: str, other: str) -> bool:
    """True when two units of measures are one: their first words agree (``%`` and ``% of a vCPU``)."""
    return one.partition(" ")[0] == other.partition(" ")[0]


def is_comparable(one: Expectation, other: Expectation) -> bool:
    """True when two answers may be drawn on one scale: places on one axis in one unit, or numbers of one unit."""
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
    """It straddles an end, or is wider than half the band, at the cap of replications."""
    MISSING = "missing"
    """No finished runs to judge by."""


NOT_ESTIMABLE = "not estimable"
"""Stands in the place of a percentile that has too few observations; begins the reason of a verdict about one."""


@dataclass(frozen=True)
class KnownRed:
    """A known red claim: the range that a check accepts its value in, and the mechanism-level reason."""

    range: Band
    """Both ends are numbers."""
    reason: str
    awaiting: Literal["", "calibration"] = ""
    """``calibration``: red since a mechanism became truer, until the constants are fitted again; counted as red, and not as known."""
    by_interval: bool = False
    """The range is that of other runs than those that it was measured by: a check accepts an interval that meets it, of a pass as well."""


@dataclass(frozen=True)
class PredictionInterval:
    """A prediction interval: how sure the model is of a value, by an ensemble of hosts (`hostsim.results.prediction_interval`)."""

    low: float | None
    """90 % of hosts like the members lie between the ends; None for an end without bound."""
    high: float | None
    members: int
    """Hosts behind it."""
    state: VerdictState
    """Whether the interval lies in the band; ``open`` where it straddles an end."""


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
    """Of a known one: the mechanism-level reason. Of a missing one: what is missing."""
    points: tuple[AxisValues, ...] = ()
    """The cases behind the value: axis values, and under ``value`` (and ``low``, ``high`` where there is an interval) what came out at each; ``raw`` is the raw measure
    beside a settled response time."""
    notes: tuple[str, ...] = ()
    """What to know before trusting it: a bracket that was not monotone, flagged runs."""
    bound: Bound | None = None
    """The kind of bound, where the value is one: an end of a bracket that a threshold lies beyond."""
    equal_replications: int = 0
    """Of a deterministic value, the number of its replications, all equal to the last digit; 0 where chance acts, or of a single one."""
    wall_s: float = 0.0
    """Wall-clock seconds of the runs behind it, added up; 0 where they are not known."""
    prediction: PredictionInterval | None = None
    """Of runs of an ensemble; ``ci_low`` and ``ci_high`` then say how noisy the runs are, and ``state`` goes by these."""
