"""Expectations, claims and verdicts as plain values."""

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
    """Name in figures; `name` where it is empty."""

    @property
    def counted_in(self) -> str:
        """Unit of the answer; for a search that of its steps, if any."""
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
    """The interval contains an end, or is wider than half the band, at the cap of replications."""
    MISSING = "missing"
    """There are no finished runs."""


@dataclass(frozen=True)
class KnownRed:
    """A known red: the range of its value that a check accepts, and the missing mechanism."""

    range: Band
    """Both ends are numbers."""
    reason: str
    awaiting: Literal["", "calibration"] = ""
    """``calibration``: red since a mechanism was corrected, until the next calibration; counted as red, not as known red."""
    by_interval: bool = False
    """The range is for other runs: a check accepts an interval that overlaps it, even of a pass."""


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
