"""Search answers: the values found by a sequential search, and bounds for values beyond the bracket.

A value beyond the bracket is censored: only its side of the end is known (docs/decisions/0104).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hostsim.engine.record import Scalar

__all__ = ["Bound", "Look", "SearchAnswer", "look_name"]


class Bound(StrEnum):
    """A bound of a censored value: the number is an end of the bracket, and the value is beyond it."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    LESS_THAN = "less than"

    @property
    def is_lower(self) -> bool:
        """True if the value is above the number."""
        return self is Bound.AT_LEAST


def look_name(expectation: str) -> str:
    """Name of the search for the verdict on an expectation."""
    return f"looks at {expectation}"


@dataclass(frozen=True)
class Look:
    """The look of an interim analysis by which a verdict is judged."""

    replications: int
    """Number of replications used by the look; other expectations may have added more."""
    level: float
    """Level of its intervals."""
    searches: Mapping[str, SearchAnswer]
    """Answers with these replications, by name of the expectation."""
    reason: str = ""
    """Reason if a further look was skipped: no time, or futile."""


@dataclass(frozen=True)
class SearchAnswer:
    """The answer of a search that needs no more runs."""

    name: str
    """Name of its expectation."""
    values: tuple[float, ...]
    """One value for each replication; empty if a run failed or has no value of the measure."""
    points: tuple[Mapping[str, Scalar], ...] = ()
    """The cases on both sides of each threshold: axis values, ``replication``, and the metric under ``value``."""
    notes: tuple[str, ...] = ()
    """Warnings: a condition that is not monotone, a threshold outside the bracket, a failed run."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Flag for all runs of a point, by its id."""
    bounds: Mapping[int, Bound] = field(default_factory=dict)
    """Kind of bound by replication, if its value is one; an exact threshold has runs on both sides."""
    look: Look | None = None
    """For an interim analysis: the final look."""
