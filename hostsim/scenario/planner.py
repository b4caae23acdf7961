"""The planner: from a scenario to its plan, with a search for each threshold and target precision.

A target precision adds replications to a point until its confidence intervals are narrow enough. A point starts with as
many replications as every other point, and stops at a cap. The number of added replications follows from the spread of
the existing ones, so that few rounds are needed; it does not depend on workers or order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from hostsim.engine.record import AxisValues, RunRecord
from hostsim.results.estimate import student
from hostsim.results.expect import Expectation, Find, Form
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.search_answer import SearchAnswer
from hostsim.scenario.expect.bisection import Bisection
from hostsim.scenario.plan import Fidelity, Plan, Point, PointMaker, Records, Search, Task
from hostsim.scenario.scenario import Precision, Scenario

__all__ = ["FLAG", "MOST_FOR_PRECISION", "Replications", "make_plan", "searches_of"]


def make_plan(scenario: Scenario, fidelity: Fidelity, *, sweep: bool = True, expectations: bool = True) -> Plan:
    """Make the plan of a scenario: its fixed runs and its searches.

    Args:
        scenario: the scenario.
        fidelity: quick or full, seed and replications.
        sweep: include every point of the sweep: the axes are crossed, and the last one varies fastest.
        expectations: include every point that an expectation needs, and a search for each threshold.

    Points of the sweep that no expectation needs may have shorter and fewer runs (``run.swept``). With a target precision, every point has a search for enough replications, unless their number is given,
    the fidelity is quick or an ensemble is used. Points of a threshold search have no such search, as each of their
    replications has its own answer.
    """
    maker = PointMaker(scenario, fidelity)
    crossed = itertools.product(*(axis.values for axis in scenario.axes.values())) if sweep else ()
    points_of_axes: list[AxisValues] = [dict(zip(scenario.axes, values, strict=True)) for values in crossed]
    swept = maker.distinct(maker.swept(values)[0] for values in points_of_axes)
    entries = scenario.expectations if expectations else ()
    judged = [
        values for entry in entries if not isinstance(entry.form, Find) for values in entry.form.required_points()
    ]
    fixed = maker.distinct([*(maker.swept(values)[0] for values in points_of_axes), *map(maker.point, judged)])
    counts = {maker.swept(values)[0].id: maker.swept(values)[1] for values in points_of_axes}
    tasks = tuple(
        maker.task(point, replication)
        for point in fixed
        for replication in range(counts.get(point.id, maker.replications))
    )
    searches: list[Search] = list(searches_of(scenario, entries, maker, fixed))
    targets = scenario.run.precision
    if targets and not fidelity.quick and fidelity.replications is None and fidelity.ensemble is None:
        searches += [Replications(point, maker, targets, counts.get(point.id, maker.replications)) for point in fixed]
    return Plan(scenario, fidelity, tasks, tuple(searches), tuple(swept))


def searches_of(
    scenario: Scenario,
    expectations: Iterable[Expectation],
    maker: PointMaker,
    fixed: Sequence[Point] = (),
    replications: int | None = None,
) -> Iterator[Bisection]:
    """The searches for the thresholds of expectations of a scenario.

    A search uses the runs of the previous search on the same line, which does not depend on the selected expectations.

    Args:
        scenario: the scenario.
        expectations: its expectations, or some of them.
        maker: makes the points.
        fixed: points of the plan.
        replications: of each search; by default those of the fidelity.
    """
    for expectation in expectations:
        find = expectation.form
        if isinstance(find, Find):
            before = None if maker.thorough else _before(scenario, expectation, maker, replications)
            yield Bisection(expectation.name, find, maker, fixed, before, replications)


def _before(
    scenario: Scenario, expectation: Expectation, maker: PointMaker, replications: int | None
) -> Bisection | None:
    """The last earlier search of the file with the same line and bracket."""
    before = None
    for other in scenario.searched:
        if other.name == expectation.name:
            break
        if _line(other.form, maker) == _line(expectation.form, maker):
            assert isinstance(other.form, Find)
            before = Bisection(other.name, other.form, maker, (), before, replications)
    return before


def _line(form: Form, maker: PointMaker) -> tuple[object, ...]:
    """Key of searches with the same values on equal hosts."""
    assert isinstance(form, Find)
    at = maker.alike({**form.at, form.axis: form.written(form.start)}, form.axis)
    return form.axis, form.start, form.stop, form.unit, at


MOST_FOR_PRECISION = 30
"""Largest number of replications, unless a point starts with more."""
FLAG = "precision"
"""Flag of runs of a point that reached the largest number of replications."""


class _End(Enum):
    """State of the stopping rule of a point."""

    WAITS = "waits"
    """Waits for runs."""
    REACHED = "reached"
    """True if all half-widths are small enough."""
    SHORT = "short"
    """The largest number of replications is reached."""
    FAILED = "failed"
    """A run failed."""


@dataclass(frozen=True)
class _State:
    count: int
    """Number of requested replications."""
    end: _End
    notes: tuple[str, ...] = ()


class Replications:
    """Adds replications of one point until the interval of every listed metric is narrow enough, up to the largest number."""

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
        """Missing runs of the next step. See `Search`."""
        state = self._state(done)
        if state.end is not _End.WAITS:
            return []
        tasks = (self._maker.task(self._point, replication) for replication in range(state.count))
        return [task for task in tasks if task.key not in done]

    def most(self) -> int:
        """Largest number of runs. See `Search`."""
        return self._most

    def answer(self, done: Records) -> SearchAnswer:
        """The number of replications, or none after a failed run; a point with the largest number has a flag. See `Search`."""
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
                return _State(count, _End.SHORT, (f"{', '.join(short)} less precise than requested",))
            # at most doubled, as the spread of a few runs is uncertain
            count = min(self._most, 2 * count, int(max(needed)))

    def _needed(self, target: Precision, records: Sequence[RunRecord]) -> float:
        """Number of replications that suffices according to the spread of the existing ones; infinite if no number does."""
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
    """Half-width of the interval of a given number of values with deviation 1."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975)) / math.sqrt(count)
