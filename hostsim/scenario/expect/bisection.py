"""Bisection: the search for a threshold on an integer axis, each replication by itself on common random numbers.

Bisection; once there is a measure on both sides that can be interpolated, the step is taken to where it would reach the limit
(docs/decisions/0047, docs/decisions/0074).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hostsim.expect import NOT_ESTIMABLE, Find
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.record import AxisValues
from hostsim.scenario.plan import Point, PointMaker, Records, Task
from hostsim.search_answer import Bound, SearchAnswer

__all__ = ["Bisection"]

MOST_SMALL_STEPS = 2
"""Steps in a row that are guided by the measure although they do not halve the bracket; then comes one that does."""


@dataclass(frozen=True)
class _State:
    """The bracket of one replication: the condition holds on the near side up to ``near`` and not from ``far`` on."""

    near: int
    far: int
    measures: tuple[float, float] = (math.nan, math.nan)
    """The metric at both, as far as it was taken there."""
    small_steps: int = 0
    """How many steps before this one have not halved the bracket."""
    failed: str | None = None
    """Why it cannot go on."""

    def next(self, limit: float) -> int | None:
        """The value to look at next, None when the threshold is known."""
        width = abs(self.far - self.near)
        if self.failed is not None or width <= 1:
            return None
        middle = (self.near + self.far) // 2
        near, far = self.measures
        if self.small_steps >= MOST_SMALL_STEPS or not 0 < near < limit < far < math.inf:
            return middle
        # near the limit a utilisation grows evenly, and a response time by a factor with each step: both are nearly straight on this scale
        share = math.log(limit / near) / math.log(far / near)
        step = min(max(round(share * width), 1), width - 1)
        return self.near + (step if self.far > self.near else -step)

    def after(self, value: int, measure: float, *, holds: bool) -> _State:
        """The state once the metric at a value is known."""
        near, far = self.measures
        state = (
            replace(self, near=value, measures=(measure, far))
            if holds
            else replace(self, far=value, measures=(near, measure))
        )
        halved = 2 * abs(state.far - state.near) <= abs(self.far - self.near) + 1
        return replace(state, small_steps=0 if halved else self.small_steps + 1)


class Bisection:
    """A bisection for the largest (or smallest) value of an axis at which a metric is below a limit.

    The condition is taken to hold below the threshold and not above it (or the other way round); where that is not so, the answer
    says so. A replication looks at no more than ``3 ceil(log2(values + 1))`` of the values in the bracket.
    """

    def __init__(self, name: str, find: Find, maker: PointMaker, fixed: Sequence[Point] = ()) -> None:
        """A search.

        Args:
            name: of the expectation.
            find: what is looked for.
            maker: makes its points.
            fixed: points that the plan runs anyway: those on the line of the search tell whether it is monotone.
        """
        self.name = name
        self._find = find
        self._maker = maker
        line = maker.point({**find.at, find.axis: find.written(find.start)}).axes
        others = {axis: value for axis, value in line.items() if axis != find.axis}
        self._line = [
            point
            for point in fixed
            if all(point.axes[axis] == value for axis, value in others.items())
            and (value := find.read(point.axes[find.axis])) is not None
            and find.start <= value <= find.stop
        ]

    def wants(self, done: Records) -> list[Task]:
        """The next run of each replication that is not finished: see `Search`."""
        tasks = []
        for replication in range(self._maker.replications):
            value = self._state(replication, done).next(self._find.below)
            if value is not None:
                tasks.append(self._maker.task(self._point(value), replication))
        return tasks

    def most(self) -> int:
        """Thrice as many as it takes to bisect the bracket in each replication, as every third step halves it: see `Search`."""
        steps = (MOST_SMALL_STEPS + 1) * math.ceil(math.log2(self._find.stop - self._find.start + 2))
        return steps * self._maker.replications

    def answer(self, done: Records) -> SearchAnswer:
        """The threshold of each replication, the points on both sides of it, and reasons for doubt: see `Search`."""
        states = [self._state(replication, done) for replication in range(self._maker.replications)]
        failures = [f"replication {r}: {state.failed}" for r, state in enumerate(states) if state.failed is not None]
        if failures:
            return SearchAnswer(self.name, (), (), tuple(failures))
        values: list[float] = []
        bounds: dict[int, Bound] = {}
        cases: list[AxisValues] = []
        notes: list[str] = []
        for replication, state in enumerate(states):
            value, bound, note = self._threshold(state)
            values.append(value)
            if bound is not None:
                bounds[replication] = bound
            notes += [
                f"replication {replication}: {text}"
                for text in (note, self._not_monotone(replication, done, state))
                if text
            ]
            cases += [
                {**self._point(side).axes, "replication": replication, "value": self._metric(side, replication, done)}
                | self._raw(side, replication, done)
                for side in sorted((state.near, state.far))
                if self._find.start <= side <= self._find.stop
            ]
        noted = (*notes, *self._raw_notes(cases))
        return SearchAnswer(self.name, tuple(values), tuple(cases), noted, bounds=bounds)

    def _point(self, value: int) -> Point:
        return self._maker.point({**self._find.at, self._find.axis: self._find.written(value)})

    def _metric(self, value: int, replication: int, done: Records) -> float:
        return CATALOGUE[self._find.metric].evaluate(done[self._point(value).id, replication])

    def _raw(self, value: int, replication: int, done: Records) -> dict[str, float]:
        """For the case of a side, the raw measure beside a settled one; empty where the measure is no settled one."""
        name = CATALOGUE[self._find.metric].raw
        return {"raw": CATALOGUE[name].evaluate(done[self._point(value).id, replication])} if name else {}

    def _raw_notes(self, cases: Sequence[AxisValues]) -> tuple[str, ...]:
        """A note on the raw measure at the sides of the threshold where the settled one has no bound."""
        raw = [float(case["raw"]) for case in cases if "raw" in case and case["value"] == math.inf]
        if not raw:
            return ()
        name = CATALOGUE[self._find.metric].raw
        low, high, unit = f"{min(raw):.4g}", f"{max(raw):.4g}", CATALOGUE[name].unit
        span = low if low == high else f"{low} to {high}"
        return (f"{self._find.metric} has no bound beyond the threshold; {name} of the same runs is {span} {unit}",)

    def _state(self, replication: int, done: Records) -> _State:
        find = self._find
        outer, inner = find.start - 1, find.stop + 1
        state = _State(outer, inner) if find.largest else _State(inner, outer)
        while (value := state.next(find.below)) is not None:
            record = done.get((self._point(value).id, replication))
            if record is None:
                break
            if record.error is not None:
                reason = record.error.strip().splitlines()[-1:] or ["no reason told"]
                state = replace(state, failed=f"the run at {find.axis} = {value} failed: {reason[0]}")
            else:
                measure = CATALOGUE[find.metric].evaluate(record)
                if math.isnan(measure):  # neither side of the threshold: to go on would be to guess
                    state = replace(state, failed=self._without_value(value))
                else:
                    state = state.after(value, measure, holds=measure < find.below)
        return state

    def _without_value(self, value: int) -> str:
        """The reason of a search that came to a run in which the metric has no value."""
        metric, axis = CATALOGUE[self._find.metric], self._find.axis
        at = f"{axis} = {self._find.written(value)}"
        if metric.least > 1:
            return (
                f"{NOT_ESTIMABLE}: {metric.name} needs {metric.least} observations at {at}; "
                f"lengthen the runs (run.length), or leave that {axis} out of the bracket"
            )
        return f"{metric.name} has nothing to be measured on at {at}; leave that {axis} out of the bracket"

    def _threshold(self, state: _State) -> tuple[int, Bound | None, str]:
        """The answer of one replication; when it lies outside the bracket a bound, and what to say of it.

        A smallest value is one more than the largest at which the condition does not hold: what is at most the first value of the
        bracket is less than the next.
        """
        find = self._find
        first, last = (find.start, find.stop) if find.largest else (find.stop, find.start)
        if state.near == last:
            note = f"holds at every {find.axis} from {find.start} to {find.stop}; the threshold lies beyond"
            return (last, Bound.AT_LEAST, note) if find.largest else (last + 1, Bound.LESS_THAN, note)
        if not find.start <= state.near <= find.stop:
            note = f"holds nowhere from {find.start} to {find.stop}, not even at {find.axis} = {first}"
            return (first, Bound.LESS_THAN, note) if find.largest else (first + 1, Bound.AT_LEAST, note)
        return state.near, None, ""

    def _not_monotone(self, replication: int, done: Records, state: _State) -> str:
        """Which points of the plan contradict the threshold. What the search looked at itself cannot: it is how it got there."""
        wrong = []
        for point in self._line:
            record = done.get((point.id, replication))
            if record is None or record.error is not None:
                continue
            value = self._find.read(point.axes[self._find.axis])
            assert value is not None  # as all on the line are
            beyond = value >= state.far if self._find.largest else value <= state.far
            measure = CATALOGUE[self._find.metric].evaluate(record)
            if not math.isnan(measure) and (measure < self._find.below) == beyond:
                wrong.append(str(value))
        if not wrong:
            return ""
        return f"not monotone: found {state.near}, but {self._find.axis} = {', '.join(wrong)} says otherwise"
