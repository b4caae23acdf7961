"""Bisection: search for a threshold on an integer axis, in each replication separately, with common random numbers.

If the metric is known on both sides, the next value is its interpolated crossing of the limit
(docs/design/searches.md).
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from hostsim.engine.record import AxisValues, RunRecord
from hostsim.results.estimate import NOT_ESTIMABLE
from hostsim.results.expect import Find
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.search_answer import Bound, SearchAnswer
from hostsim.scenario.plan import Point, PointMaker, RecordKey, Records, Task

__all__ = ["Bisection"]

MOST_SMALL_STEPS = 2
"""Largest number of consecutive interpolated steps that fail to halve the bracket; a bisecting step follows."""
CLOSE = 4
"""Width up to which two bisecting steps close the bracket; these use full-length runs."""
CLOSE_SHARE = 0.04
"""Brackets that are narrower than this share of their far side also use full-length runs: a short run has an error of a
percent or two, and a wrong side costs more full-length runs than short runs save.
"""
LONGEST = 4
"""Longest run, in full-length runs, of a threshold with its own length: a run that rises below the limit is repeated with twice
the length.
"""


@dataclass(frozen=True)
class _Side:
    """A probed value of the axis, or an end of the bracket, which has no run."""

    value: int
    measure: float = math.nan
    """Value of the metric there, if known."""
    raw: float = math.nan
    """Its raw value, which is finite if the metric is not."""
    is_whole: bool = True
    """True for a full-length run."""


class _Step(Enum):
    """Reason of a probe."""

    BISECT = "bisect"
    GUIDED = "guided"
    """Probe at the expected crossing of the limit."""
    CONFIRM = "confirm"
    """Confirmation of a short run after the bracket has closed around it."""


@dataclass(frozen=True)
class _State:
    """The bracket of one replication: the condition holds up to the last of ``near``, and no longer at the last of ``far``."""

    near: tuple[_Side, ...]
    far: tuple[_Side, ...]
    """Both lists are in the order in which the bracket became narrower."""
    small_steps: int = 0
    """Number of preceding steps that did not halve the bracket."""
    is_corrected: bool = False
    """True after a full-length run contradicted a short one; no short runs follow."""
    is_slow: bool = False
    """True if the measure needs the threshold's own length, so that the value of a short run says too little."""
    failed: str | None = None
    """The reason why the search cannot continue, if so."""

    @property
    def width(self) -> int:
        """Width in steps of 1."""
        return abs(self.far[-1].value - self.near[-1].value)

    @property
    def is_close(self) -> bool:
        """True if the bracket is too narrow for short runs."""
        return self.width <= max(CLOSE, CLOSE_SHARE * abs(self.far[-1].value))

    def has(self, value: int) -> bool:
        """True for a value strictly inside the bracket."""
        ends = sorted((self.near[-1].value, self.far[-1].value))
        return ends[0] < value < ends[1]

    def crossing(self, limit: float, *, is_rough: bool = False) -> float | None:
        """Distance in steps from the near side to the expected crossing of the limit; None if a side has no finite measure.

        A rough crossing uses the raw value of a far side without a bound. It may only choose the next probe.
        """
        near, far = self.near[-1].measure, self.far[-1].measure
        if is_rough and far == math.inf:
            far = self.far[-1].raw
        if not 0 < near < limit < far < math.inf:
            return None
        # near the limit, a utilisation grows linearly and a response time by a constant factor per step: both are
        # nearly straight on this scale
        return math.log(limit / near) / math.log(far / near) * self.width

    def next(self, limit: float) -> tuple[int, _Step] | None:
        """The next probe and its reason; None once the threshold is known."""
        if self.failed is not None:
            return None
        near, far = self.near[-1], self.far[-1]
        short = next((side for side in (near, far) if not side.is_whole), None)
        if self.width <= 1:
            return None if short is None else (short.value, _Step.CONFIRM)
        is_near = self.is_close or self.is_corrected
        if self.is_slow and is_near and short is not None and (near.is_whole or far.is_whole):
            return short.value, _Step.CONFIRM  # two full-length runs show where the limit is
        crossing = self.crossing(limit, is_rough=self.is_slow) if short is None or not self.is_slow else None
        if self.small_steps >= MOST_SMALL_STEPS or crossing is None:
            return (near.value + far.value) // 2, _Step.BISECT
        step = min(max(round(crossing), 1), self.width - 1)
        return near.value + (step if far.value > near.value else -step), _Step.GUIDED

    def interpolated(self, limit: float) -> _State:
        """The state of a smooth measure: the bracket is closed if a full-length run is within a step of the crossing.

        The slope may come from a short run; its error is at most that of the slope over one step.
        """
        near, far, crossing = self.near[-1], self.far[-1], self.crossing(limit)
        if crossing is None:
            return self
        step = 1 if far.value > near.value else -1
        if near.is_whole and crossing <= 1:
            return replace(self, far=(*self.far, _Side(near.value + step)))
        if far.is_whole and self.width - crossing < 1:
            return replace(self, near=(*self.near, _Side(far.value - step)))
        return self

    def at_answer(self, near: int, far: int) -> int | None:
        """The next probe if the threshold is expected between two adjacent values; None if no such probe is needed.

        The two values are probed first. If one of them contradicts the expectation, the distance doubles until the
        bracket is closed.
        """
        for value in (near, far):
            if self.has(value):
                return value
        step = 1 if far > near else -1
        beyond, short_of = step * (self.near[-1].value - far), step * (near - self.far[-1].value)
        if beyond >= 0:
            value = far + step * (2 * beyond + 1)
        elif short_of >= 0:
            value = near - step * (2 * short_of + 1)
        else:
            return None
        return value if self.has(value) else None

    def after(self, side: _Side, *, holds: bool) -> _State:
        """The state after a probe inside the bracket, or after a full-length run at one of its sides."""
        near, far = self.near, self.far
        if side.value == near[-1].value:
            near, is_corrected = near[:-1], not holds
        elif side.value == far[-1].value:
            far, is_corrected = far[:-1], holds
        else:
            is_corrected = False
        state = replace(self, near=(*near, side)) if holds else replace(self, far=(*far, side))
        state = replace(state, near=state.near if holds else near, far=far if holds else state.far)
        halved = 2 * state.width <= self.width + 1
        small_steps = 0 if halved or is_corrected else self.small_steps + 1
        return replace(state, small_steps=small_steps, is_corrected=self.is_corrected or is_corrected)


class Bisection:
    """A bisection for the largest (or smallest) value of an axis at which a metric is below a limit.

    The condition is assumed to hold below the threshold and not above it (or the other way round); otherwise the answer has a note.
    Values far from the threshold are probed with short runs. Full-length runs confirm both sides of the answer; if one
    contradicts a short run, the search continues from there with full-length runs. A threshold with its own length has longer full-length
    runs, and the ordinary runs of the scenario are short for it. Existing runs are used first: those
    of the previous search on the same line, and points of the sweep near the middle of the bracket. At quick fidelity
    the first replication searches, and the others start at its answer.
    """

    def __init__(
        self,
        name: str,
        find: Find,
        maker: PointMaker,
        fixed: Sequence[Point] = (),
        before: Bisection | None = None,
        replications: int | None = None,
    ) -> None:
        """A search.

        Args:
            name: of the expectation.
            find: the threshold to find.
            maker: makes its points.
            fixed: points of the plan; those on the line of the search show whether the metric is monotone.
            before: a search on the same line that completes before this one.
            replications: number of searches; by default that of the maker.
        """
        self.name = name
        self._find = find
        self._maker = maker
        self._before = before
        self._replications = range(replications or maker.replications)
        self._length_ps = max(maker.length_ps, find.length_ps)
        self._is_slow = self._length_ps > maker.length_ps
        self._alike = line = maker.alike({**find.at, find.axis: find.written(find.start)}, find.axis)
        self._values: dict[int, AxisValues] = {}
        """Axis values at each requested value."""
        others = {axis: value for axis, value in line.items() if axis != find.axis}
        self._line = [
            point
            for point in fixed
            if all(point.axes[axis] == value for axis, value in others.items())
            and (value := find.read(point.axes[find.axis])) is not None
            and find.start <= value <= find.stop
            and self._is_whole(point)
        ]
        inside = range(find.start, find.stop + 1)
        swept = (value for value in map(find.read, maker.values(find.axis)) if value is not None and value in inside)
        self._swept = [] if maker.thorough else [value for value in swept if maker.is_swept(self._axes(value))]
        self._asked_of: Records = {}
        self._measures: dict[RecordKey, tuple[float, float]] = {}
        """Cache of the latest records, as every finished run repeats the search of each replication, and records may be files."""

    def wants(self, done: Records) -> list[Task]:
        """The next run of each unfinished replication. See `Search`."""
        return [task for replication in self._replications if (task := self._next(replication, done)) is not None]

    def _next(self, replication: int, done: Records) -> Task | None:
        if self._before is not None and (task := self._before._next(replication, done)) is not None:
            return task
        if replication and self._maker.starts_at_first and self._next(0, done) is not None:
            return None  # it starts at the answer of the first
        _, _, point = self._walk(replication, done)
        return None if point is None else self._maker.task(point, replication)

    def most(self) -> int:
        """Two confirmations, and three times the bisection steps of each replication, as at least every third step
        halves the bracket. See `Search`.
        """
        steps = (MOST_SMALL_STEPS + 1) * math.ceil(math.log2(self._find.stop - self._find.start + 2))
        own = steps if self._maker.thorough else 2 * steps + 2
        return own * len(self._replications) + (self._before.most() if self._before else 0)

    def answer(self, done: Records) -> SearchAnswer:
        """The threshold of each replication, the points on both sides of it, and notes on doubtful answers. See `Search`."""
        states = [self._walk(replication, done)[0] for replication in self._replications]
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
            for side in sorted((state.near[-1], state.far[-1]), key=lambda side: side.value):
                if not math.isnan(side.measure):
                    raw = {} if math.isnan(side.raw) else {"raw": side.raw}
                    cases.append(
                        {**self._point(side.value).axes, **self._find.at}
                        | {"replication": replication, "value": side.measure}
                        | raw
                    )
        noted = (*notes, *self._raw_notes(cases))
        return SearchAnswer(self.name, tuple(values), tuple(cases), noted, bounds=bounds)

    def _axes(self, value: int) -> AxisValues:
        """Values of the axes for the point at a value, or for an equal point of the sweep."""
        if value not in self._values:
            written = {self._find.axis: self._find.written(value)}
            own, alike = {**self._find.at, **written}, {**self._alike, **written}
            is_same = self._maker.point(own).simulated == self._maker.point(alike).simulated
            self._values[value] = alike if is_same else own
        return self._values[value]

    def _point(self, value: int) -> Point:
        return self._maker.point(self._axes(value), self._length_ps)

    def _is_whole(self, point: Point) -> bool:
        return point.spec.length >= self._length_ps

    def _swept_point(self, value: int, replication: int) -> Point | None:
        """A point of the sweep with enough replications, or None."""
        if value not in self._swept:
            return None
        point, count = self._maker.swept(self._axes(value))
        return point if replication < count else None

    def _keep(self, key: RecordKey, record: RunRecord) -> None:
        """Caches the metric of a finished run, and its raw value if the metric has a rule for unbounded growth, else NaN."""
        metric = CATALOGUE[self._find.metric]
        raw = CATALOGUE[metric.raw].evaluate(record) if metric.raw else math.nan
        self._measures[key] = metric.evaluate(record), raw

    def _decisive(self, point: Point, replication: int, done: Records) -> Point:
        """The point, or a longer one while its full-length run ends below the limit and still rises."""
        while self._is_slow and self._length_ps <= point.spec.length < LONGEST * self._length_ps:
            key = (point.id, replication)
            if key not in self._measures:
                if key not in done or (record := done[key]).error is not None:
                    break
                self._keep(key, record)
            measure, raw = self._measures[key]
            if not (measure == math.inf and raw < self._find.below):
                break
            point = self._maker.point(point.axes, 2 * point.spec.length)
        return point

    def _raw_notes(self, cases: Sequence[AxisValues]) -> tuple[str, ...]:
        """A note with the raw value at a side where the metric counts as infinite."""
        raw = [float(case["raw"]) for case in cases if "raw" in case and case["value"] == math.inf]
        if not raw:
            return ()
        name = CATALOGUE[self._find.metric].raw
        low, high, unit = f"{min(raw):.4g}", f"{max(raw):.4g}", CATALOGUE[name].unit
        span = low if low == high else f"{low} to {high}"
        return (f"{self._find.metric} has no bound beyond the threshold; {name} of the same runs is {span} {unit}",)

    def _walk(self, replication: int, done: Records) -> tuple[_State, dict[int, Point], Point | None]:
        """Progress of a replication: its state, the point that decided each value, and the next point."""
        find = self._find
        outer, inner = (_Side(find.start - 1),), (_Side(find.stop + 1),)
        state = (
            _State(outer, inner, is_slow=self._is_slow) if find.largest else _State(inner, outer, is_slow=self._is_slow)
        )
        free = self._looked_before(replication, done)
        if done is not self._asked_of:
            self._asked_of, self._measures = done, {}
        first = self._walk(0, done)[0] if replication and self._maker.starts_at_first else None
        looked: dict[int, Point] = {}
        silent: set[int] = set()  # values whose short run lacks the metric
        is_smooth = (CATALOGUE[find.metric].is_smooth or self._is_slow) and not self._maker.thorough
        while (proposed := state.next(find.below)) is not None:
            is_far = True
            if first is not None and first.failed is None:
                expected = state.at_answer(first.near[-1].value, first.far[-1].value)
                if expected is not None:
                    proposed, is_far = (expected, _Step.CONFIRM), False
            value, point = self._choose(*proposed, state, replication, free, silent)
            point = self._decisive(point, replication, done)
            key = (point.id, replication)
            if key not in done:
                return state, looked, point
            if key not in self._measures:
                record = done[key]
                if record.error is not None:
                    reason = record.error.strip().splitlines()[-1:] or ["no reason given"]
                    state = replace(state, failed=f"the run at {find.axis} = {value} failed: {reason[0]}")
                    continue
                self._keep(key, record)
            (measure, raw), is_whole = self._measures[key], self._is_whole(point)
            if not math.isnan(measure):
                looked[value] = point
                side = _Side(value, measure, raw, is_whole)
                after = state.after(side, holds=measure < find.below)
                # existing runs and the answer of the first replication do not count as steps
                is_step = free.pop(value, None) is None and is_far
                state = after if is_step else replace(after, small_steps=state.small_steps)
                state = state.interpolated(find.below) if is_smooth else state
            elif is_whole:  # the side of the threshold is unknown: continuing would be a guess
                state = replace(state, failed=self._without_value(value))
            else:
                silent.add(value)
                free.pop(value, None)
        return state, looked, None

    def _choose(
        self, value: int, why: _Step, state: _State, replication: int, free: Mapping[int, Point], silent: Container[int]
    ) -> tuple[int, Point]:
        """The value to probe instead of a proposed one, with its point."""
        simulated = [size for size in free if state.has(size)]
        if simulated:
            value = min(simulated, key=lambda size: (abs(size - value), size))
            return value, free[value]
        if why is _Step.BISECT:
            near_by = [
                size
                for size in self._swept
                if state.has(size) and 4 * abs(size - value) <= state.width and self._swept_point(size, replication)
            ]
            value = min(near_by, key=lambda size: (abs(size - value), size), default=value)
        is_near = state.is_close or state.is_corrected or value in silent
        if why is not _Step.BISECT or is_near or self._maker.thorough:
            return value, self._point(value)
        return value, self._swept_point(value, replication) or self._maker.probe(self._axes(value))

    def looked(self, replication: int, done: Records) -> dict[int, Point]:
        """Probed values of a replication and of earlier searches, each with its point."""
        return {**self._looked_before(replication, done), **self._walk(replication, done)[1]}

    def _looked_before(self, replication: int, done: Records) -> dict[int, Point]:
        """Probed values of earlier searches on an equal host."""
        before = self._before
        if before is None:
            return {}
        looked = before.looked(replication, done)
        return {
            value: point
            for value, point in looked.items()
            if self._maker.point(self._axes(value)).simulated == self._maker.point(before._axes(value)).simulated
        }

    def _without_value(self, value: int) -> str:
        """The reason if a search ended at a run without the metric."""
        metric, axis = CATALOGUE[self._find.metric], self._find.axis
        at = f"{axis} = {self._find.written(value)}"
        if metric.least > 1:
            return (
                f"{NOT_ESTIMABLE}: {metric.name} needs {metric.least} observations at {at}; "
                f"lengthen the runs (run.length), or leave that {axis} out of the bracket"
            )
        return f"{metric.name} has no observations at {at}; leave that {axis} out of the bracket"

    def _threshold(self, state: _State) -> tuple[int, Bound | None, str]:
        """The answer of one replication, with a note; a bound if the answer is outside the bracket.

        A smallest value is one more than the largest at which the condition does not hold, so a bound that is at most
        the first value of the bracket is less than the next one.
        """
        find = self._find
        first, last = (find.start, find.stop) if find.largest else (find.stop, find.start)
        near = state.near[-1].value
        if near == last:
            note = f"holds at {find.axis} = {last}, and at all other values that were tried from {find.start} to {find.stop}"
            return (last, Bound.AT_LEAST, note) if find.largest else (last + 1, Bound.LESS_THAN, note)
        if not find.start <= near <= find.stop:
            note = f"does not hold at {find.axis} = {first}, nor at any other value that was tried from {find.start} to {find.stop}"
            return (first, Bound.LESS_THAN, note) if find.largest else (first + 1, Bound.AT_LEAST, note)
        return near, None, ""

    def _not_monotone(self, replication: int, done: Records, state: _State) -> str:
        """Points of the plan that contradict the threshold; probes of the search cannot contradict it."""
        wrong = []
        for point in self._line:
            record = done.get((point.id, replication))
            if record is None or record.error is not None:
                continue
            value = self._find.read(point.axes[self._find.axis])
            assert value is not None  # every point on the line has a value
            beyond = value >= state.far[-1].value if self._find.largest else value <= state.far[-1].value
            measure = CATALOGUE[self._find.metric].evaluate(record)
            if not math.isnan(measure) and (measure < self._find.below) == beyond:
                wrong.append(str(value))
        if not wrong:
            return ""
        return f"not monotone: found {state.near[-1].value}, but {self._find.axis} = {', '.join(wrong)} says otherwise"
