"""Search answers: the values that a sequential search found, and bounds in place of values beyond the bracket.

A value beyond the bracket is censored: the search knows on which side of its end the value lies, and no more (docs/decisions/0104).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hostsim.engine.record import Scalar

__all__ = ["Bound", "Look", "SearchAnswer", "look_name"]


class Bound(StrEnum):
    """A bound of a censored value: the number beside it is no value but an end that the value lies beyond."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    LESS_THAN = "less than"

    @property
    def is_lower(self) -> bool:
        """True when the value lies above the number."""
        return self is Bound.AT_LEAST


def look_name(expectation: str) -> str:
    """Name of the search that looks at the verdict on an expectation."""
    return f"looks at {expectation}"


@dataclass(frozen=True)
class Look:
    """The look of an interim analysis by which a verdict is judged."""

    replications: int
    """That it takes into account; there may be more for the sake of others."""
    level: float
    """Of its intervals."""
    searches: Mapping[str, SearchAnswer]
    """Answers of as many replications, by name of the expectation."""
    reason: str = ""
    """Why no further look was taken, where there was no time for it or it would be futile."""


@dataclass(frozen=True)
class SearchAnswer:
    """The answer of a search that needs no more runs."""

    name: str
    """Name of the expectation that asked."""
    values: tuple[float, ...]
    """What was found, one value for each replication; empty when a run failed or could not take the measure."""
    points: tuple[Mapping[str, Scalar], ...] = ()
    """The cases on both sides of each threshold: axis values, ``replication``, and the metric under ``value``."""
    notes: tuple[str, ...] = ()
    """What to know before trusting it: a condition that was not monotone, a threshold outside the bracket, a failed run."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """By id of a point: a flag for all its runs."""
    bounds: Mapping[int, Bound] = field(default_factory=dict)
    """By replication: the kind of bound, where its value is one; both sides of an exact threshold were measured."""
    look: Look | None = None
    """Of an interim analysis: the look that is final."""
