"""Sequential stopping rule: replications of a point are added until its confidence intervals are narrow enough.

A point starts with the replications of every other point and stops at a cap. The number of further ones follows from the spread of
the existing ones, so that few rounds are needed; it does not depend on workers or order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hostsim.engine.record import RunRecord
from hostsim.results.estimate import student
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.search_answer import SearchAnswer
from hostsim.scenario.plan import Point, PointMaker, Records, Task
from hostsim.scenario.scenario import Precision

__all__ = ["FLAG", "MOST_FOR_PRECISION", "Replications"]

MOST_FOR_PRECISION = 30
"""Cap of replications, unless a point starts with more."""
FLAG = "precision"
"""Flag of the runs of a point that reached the cap."""


class _End(Enum):
    """State of the stopping rule of a point."""

    WAITS = "waits"
    """Waits for runs."""
    REACHED = "reached"
    """All half-widths are small enough."""
    SHORT = "short"
    """The cap is reached."""
    FAILED = "failed"
    """A run failed."""


@dataclass(frozen=True)
class _State:
    count: int
    """Requested replications."""
    end: _End
    notes: tuple[str, ...] = ()


class Replications:
    """Sequential replications of one point, until the interval of every listed metric is narrow enough, or the cap."""

    def __init__(self, point: Point, maker: PointMaker, targets: Sequence[Precision], first: int) -> None:
        """A search.

        Args:
            point: the point.
            maker: makes its runs.
            targets: target precision of at least one metric.
            first: replications of the first step.
        """
        self.name = f"{FLAG} of {point.id}"
        self._point, self._maker, self._targets = point, maker, tuple(targets)
        self._first, self._most = first, max(MOST_FOR_PRECISION, first)

    def wants(self, done: Records) -> list[Task]:
        """Missing runs of the next step: see `Search`."""
        state = self._state(done)
        if state.end is not _End.WAITS:
            return []
        tasks = (self._maker.task(self._point, replication) for replication in range(state.count))
        return [task for task in tasks if task.key not in done]

    def most(self) -> int:
        """Largest number of runs: see `Search`."""
        return self._most

    def answer(self, done: Records) -> SearchAnswer:
        """The number of replications, none after a failed run; a flag for the point at the cap: see `Search`."""
        state = self._state(done)
        values = () if state.end is _End.FAILED else (float(state.count),)
        flags = {self._point.id: FLAG} if state.end is _End.SHORT else {}
        return SearchAnswer(self.name, values, (), state.notes, flags)

    def _state(self, done: Records) -> _State:
        count = self._first
        while True:
            records = [done.get((self._point.id, replication)) for replication in range(count)]
            there = [record for record in records if record is not None]
            if any(record.error is not None for record in there):
                return _State(count, _End.FAILED, (f"(partial) a replication of {self._point.id} failed",))
            if len(there) < count:
                return _State(count, _End.WAITS)
            needed = [self._needed(target, there) for target in self._targets]
            if max(needed) <= count:
                return _State(count, _End.REACHED)
            if count >= self._most or math.inf in needed:
                short = [t.metric for t, enough in zip(self._targets, needed, strict=True) if enough > count]
                return _State(count, _End.SHORT, (f"{', '.join(short)} not known as well as asked for",))
            # at most twice as many, as the spread of few runs is uncertain
            count = min(self._most, 2 * count, int(max(needed)))

    def _needed(self, target: Precision, records: Sequence[RunRecord]) -> float:
        """Sufficient replications by the spread of the existing ones; infinite if no number suffices."""
        values = [CATALOGUE[target.metric].evaluate(record) for record in records]
        if any(math.isnan(value) for value in values):
            return math.inf
        count = len(values)
        if count == 1:
            return 2
        interval = student(values)
        widest = target.target * abs(interval.mean) if target.relative else target.target
        if interval.half <= widest:
            return count
        for more in range(count + 1, self._most):
            if interval.half * _unit(more) / _unit(count) <= widest:
                return more
        return max(self._most, count + 1)


def _unit(count: int) -> float:
    """Half-width of the interval of a number of values with deviation 1."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975)) / math.sqrt(count)
