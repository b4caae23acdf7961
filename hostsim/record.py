"""What one run yields: cumulative counters and histograms in time slices, and where they came from.

A record is the only thing that crosses from the simulated side (floors 1 to 4) to the numbers side (floor 5). Counters
are cumulative and are never reset: a window is the difference of two instants. A few are levels (`hostsim.metrics` says
which): what is inside a stage, so that every balance can be drawn up over any window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Histogram", "RunRecord", "Series"]

Scalar = str | int | float | bool
"""A value of an axis."""


@dataclass(frozen=True, slots=True)
class Series:
    """One counter of one kind of entity, sampled at the boundaries of the time slices."""

    entities: tuple[str, ...]
    """Names of the entities, one per column."""
    values: NDArray[np.int64]
    """Cumulative values, or levels, shape (boundaries, entities); the first row is the start of the run (zeros)."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a duration in logarithmic buckets, cumulative at the boundaries of the time slices."""

    entities: tuple[str, ...]
    edges_ps: NDArray[np.int64]
    """Lower edges of the buckets and the upper edge of the last, in picoseconds; length buckets + 1."""
    counts: NDArray[np.int64]
    """Cumulative counts, shape (boundaries, entities, buckets)."""
    sums_ps: NDArray[np.int64]
    """Cumulative sum of the durations, shape (boundaries, entities)."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One point x replication: finished (``error`` is None) or failed (``error`` holds the traceback)."""

    point_id: str
    """Hash of the resolved point."""
    replication: int
    """0-based."""
    seed: int
    """Root seed of the campaign; the replication's streams derive from (seed, replication)."""
    axes: Mapping[str, Scalar]
    """Value of each axis at this point, as written in the scenario."""
    instants_ps: NDArray[np.int64]
    """Boundaries of the time slices, shape (boundaries,); the first is 0, the last the end of the run."""
    series: Mapping[str, Series]
    """Counter name -> samples. Names are ``kind.counter``: ``pcpu.busy_ps``, ``vnic.delivered``; see `hostsim.metrics`."""
    histograms: Mapping[str, Histogram]
    cut: int
    """Index into ``instants_ps`` where the measured window starts: what MSER-5 left."""
    flags: tuple[str, ...] = ()
    """Reasons to look before trusting the numbers: ``warm-up``, ``setting not modelled: ...``."""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    """Plain facts of the run: events, dispatches, wall_s (wall clock), versions."""
    error: str | None = None

    @property
    def window_ps(self) -> int:
        """Length of the measured window in picoseconds."""
        return int(self.instants_ps[-1] - self.instants_ps[self.cut])

    def window(self, counter: str) -> NDArray[np.int64]:
        """Growth of a counter over the measured window, one value per entity, shape (entities,).

        Raises:
            KeyError: the run has no such counter.
        """
        values = self.series[counter].values
        growth: NDArray[np.int64] = values[-1] - values[self.cut]
        return growth

    def total(self, counter: str) -> int:
        """Growth of a counter over the measured window, summed over its entities; 0 where the run has no such counter."""
        return int(self.window(counter).sum()) if counter in self.series else 0
