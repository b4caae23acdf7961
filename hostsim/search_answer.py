"""Search answers: the values that a sequential search found, and bounds in place of values beyond the bracket.

A value beyond the bracket is censored: the search knows on which side of its end the value lies, and no more (docs/decisions/0104).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hostsim.record import Scalar

__all__ = ["Bound", "SearchAnswer"]


class Bound(StrEnum):
    """A bound of a censored value: the number beside it is no value but an end that the value lies beyond."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    LESS_THAN = "less than"

    @property
    def is_lower(self) -> bool:
        """True when the value lies above the number."""
        return self is Bound.AT_LEAST


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
