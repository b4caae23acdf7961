"""Expectations, claims and verdicts as plain values: what results are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from hostsim.engine.record import AxisValues
from hostsim.results.estimate import NOT_ESTIMABLE
from hostsim.results.form import (
    Always,
    At,
    Band,
    Compared,
    Difference,
    Direction,
    Find,
    Form,
    Limit,
    Mean,
    Monotone,
    PointForm,
    Predicate,
    Ratio,
    Refusal,
    Refused,
    RSquared,
    Switches,
    Within,
    Worst,
    is_same_unit,
)
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
]


@dataclass(frozen=True)
class Expectation:
    """An expectation of a scenario: a published claim, or one of the user's, with its form and band."""

    name: str
    """Id of a claim or a measurement, or the name the user gave."""
    form: Form
    band: Band
    unit: str
    published: str
    """The published number as text; for an expectation of your own the band in words."""
    is_claim: bool
    """Published: a claim, or a measurement that is predicted."""
    kind: str = ""
    """Of what is published, one of `hostsim.results.claim.CLAIM_KINDS`; empty for an expectation of the user's."""

    @property
    def counted_in(self) -> str:
        """Unit of the answer: of a search that of its steps, where they have one."""
        return self.form.unit if isinstance(self.form, Find) and self.form.unit else self.unit


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
