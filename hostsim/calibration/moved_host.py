"""Host with assumptions moved: the points, runs and verdicts of a scenario's expectations, as shipped and on a changed host."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hostsim.analysis.cost_model import with_constants
from hostsim.calibration.local_threshold import moved_threshold, near_bracket, points_beside
from hostsim.campaign.driver import Outcome
from hostsim.errors import InputError
from hostsim.expect import Expectation, Find, Verdict
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.pipeline import judge_expectations
from hostsim.record import AxisValues, RunRecord, Scalar
from hostsim.results.deterministic import digest_of
from hostsim.scenario.expect.expectation import required_points
from hostsim.scenario.plan import Fidelity, Plan, Point, PointMaker, RecordKey, Task
from hostsim.scenario.planner import make_plan
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.search_answer import SearchAnswer

__all__ = ["MovedHost", "ShippedHost"]

_Pair = tuple[tuple[float, float], tuple[float, float]]
"""The values of an axis beside a threshold with the metric at each."""
_Records = Mapping[RecordKey, RunRecord]
_Measured = tuple[int, bytes]
"""Events of a run, and the digest of what it measured."""


class ShippedHost:
    """A scenario as shipped: where its expectations are judged, and their verdicts."""

    def __init__(self, scenario: Scenario, names: Collection[str], runs: Fidelity) -> None:
        """A scenario whose runs are still to be made.

        Args:
            scenario: with everything that the expectations are computed from.
            names: of the expectations that are judged.
            runs: how long and how often.
        """
        self.scenario, self.runs = scenario, runs
        self.names = [entry.name for entry in scenario.expectations if entry.name in names]
        self.maker = PointMaker(scenario, runs)
        self.verdicts: dict[str, Verdict] = {}
        self.answers: Mapping[str, SearchAnswer] = {}
        self.beside: dict[str, list[tuple[int, int] | None]] = {}
        """By name of a search: the values of its axis beside the threshold of each replication."""
        self.pairs: dict[str, list[_Pair | None]] = {}
        """What the metric is there."""
        self._records: list[_Records] = []
        self._measured: dict[RecordKey, _Measured] = {}

    def plan(self) -> Plan:
        """Everything that the expectations need, searches included."""
        return make_plan(self.scenario, self.runs, sweep=False)

    def take(self, outcome: Outcome) -> None:
        """Judge the expectations by the runs of `plan`."""
        self.answers = outcome.answers
        self._records.append(outcome.records)
        self.verdicts = _judged(self.scenario, outcome.records, outcome.answers, self.runs)
        for name, find in _searches(self.scenario.expectations):
            values = self.answers[name].values
            self.beside[name] = [points_beside(find, value) for value in values] or [None] * self.maker.replications

    def beside_plan(self) -> Plan:
        """The points beside the thresholds, most of which the searches have run."""
        tasks = [
            task
            for name, find in _searches(self.scenario.expectations)
            for task in tasks_beside(self.maker, find, self.beside[name])
        ]
        return _plan(self.scenario, self.runs, tasks)

    def take_beside(self, outcome: Outcome) -> None:
        """Take the metric beside the thresholds."""
        self._records.append(outcome.records)
        for name, find in _searches(self.scenario.expectations):
            self.pairs[name] = measured_beside(self.maker, find, self.beside[name], outcome.records)

    def measured(self, task: Task) -> _Measured | None:
        """What the run at the point of a moved host measured here; None where it is missing or has failed."""
        key = self.maker.task(self.maker.point(task.point.axes), task.replication).key
        if key not in self._measured:
            measured = _measured(next((records[key] for records in self._records if key in records), None))
            if measured is None:
                return None
            self._measured[key] = measured
        return self._measured[key]

    def first_points(self) -> Iterator[Mapping[str, Scalar]]:
        """Values of the axes at which expectations are judged; of a search one end of its bracket."""
        for expectation in self.scenario.expectations:
            form = expectation.form
            points = required_points(form)[:1] if isinstance(form, Find) else required_points(form)
            yield from ({**self.scenario.first(), **point} for point in points)

    def moved(self, values: Mapping[str, float]) -> MovedHost:
        """The same scenario with other values of constants."""
        return MovedHost(self, with_constants(self.scenario, values))

    def points_of(self, expectation: Expectation) -> Iterator[Mapping[str, Scalar]]:
        """The points that an expectation needs on a moved host."""
        form = expectation.form
        if not isinstance(form, Find):
            yield from required_points(form)
            return
        sides = {side for pair in self.beside.get(expectation.name, ()) for side in pair or (form.start, form.stop)}
        yield from ({**form.at, form.axis: form.written(side)} for side in sorted(sides or {form.start, form.stop}))


class MovedHost:
    """A scenario on a changed host: what the change reaches, the runs for it, and the verdicts."""

    def __init__(self, shipped: ShippedHost, scenario: Scenario) -> None:
        self.shipped = shipped
        self.refused: dict[str, str] = {}
        """By name of an expectation: why the changed host cannot be."""
        self.lost: list[str] = []
        """Searches whose threshold the two points do not say."""
        self._maker = PointMaker(scenario, shipped.runs)
        self.reached = [name for name in shipped.names if self._reaches(name)]
        """Names of the expectations with a point that is another one."""
        self._scenario = restrict(scenario, self.reached)
        self.is_unmoved = False
        """The change left the runs of `first_plan` as they are."""
        self._first: list[Task] = []
        self._records: _Records = {}
        self._answers: dict[str, SearchAnswer] = {}
        self._near: dict[str, Find] = {}
        """By name of a lost search: the part of its bracket that is searched first; none once that was in vain."""

    def _reaches(self, name: str) -> bool:
        """True when a point of an expectation, or of one that it is computed from, is another one."""
        is_other = False
        for expectation in restrict(self.shipped.scenario, [name]).expectations:
            for values in self.shipped.points_of(expectation):
                try:
                    spec = self._maker.point(values).spec
                except InputError as error:
                    self.refused[name] = "; ".join(str(replace(fault, file="", line=None)) for fault in error.faults)
                    return False
                is_other = is_other or spec.digest() != self.shipped.maker.point(values).spec.digest()
        return is_other

    def plan(self) -> Plan:
        """The paired points of what is reached; those that are the same ones are in the results folder already."""
        expectations = self._scenario.expectations
        wanted = [
            point for entry in expectations if not isinstance(entry.form, Find) for point in required_points(entry.form)
        ]
        tasks = [
            self._maker.task(point, replication)
            for point in self._maker.distinct(map(self._maker.point, wanted))
            for replication in range(self._maker.replications)
        ]
        for name, find in _searches(expectations):
            ends = [(find.start, find.stop)] * self._maker.replications  # nothing was found yet
            tasks += tasks_beside(self._maker, find, self.shipped.beside.get(name, ends))
        return _plan(self._scenario, self.shipped.runs, tasks)

    def first_plan(self) -> Plan:
        """Of the points of `plan` that differ in numbers alone, the one with the most events on the host as shipped and the one with the fewest."""
        alike: dict[tuple[Scalar, ...], list[tuple[int, Task]]] = {}
        for task in self.plan().tasks:
            measured = self.shipped.measured(task)
            events = 0 if measured is None else measured[0]
            alike.setdefault(_words(task.point.axes), []).append((events, task))
        self._first = [pick(points, key=_events)[1] for points in alike.values() for pick in (min, max)]
        return _plan(self._scenario, self.shipped.runs, self._first)

    def take_first(self, outcome: Outcome) -> None:
        """Take the runs of `first_plan`: where all are equal to those as shipped, to the last digit, the others are not made."""
        pairs = [(_measured(outcome.records.get(task.key)), self.shipped.measured(task)) for task in self._first]
        self.is_unmoved = bool(pairs) and all(after is not None and after == before for after, before in pairs)

    def take(self, outcome: Outcome) -> None:
        """Take the runs of `plan`: move each threshold, and note those that are lost."""
        self._records = outcome.records
        for name, find in _searches(self._scenario.expectations):
            failed = [record.error for record in outcome.records.values() if record.error is not None]
            shipped = self.shipped
            pairs = measured_beside(self._maker, find, shipped.beside[name], outcome.records)
            values = [
                None if before is None or after is None else moved_threshold(value, before, after, find.below)
                for value, before, after in zip(shipped.answers[name].values, shipped.pairs[name], pairs, strict=False)
            ]
            found = [value for value in values if value is not None]
            if found and len(found) == len(values):
                self._answers[name] = SearchAnswer(name, tuple(found))
            elif failed:
                self._answers[name] = SearchAnswer(name, (), (), (failed[0].strip().splitlines()[-1],))
            else:
                self.lost.append(name)
                self._near[name] = near_bracket(find, [pair for pair in pairs if pair is not None])

    def search_plan(self) -> Plan:
        """Searches for the thresholds that are lost: near where they were, and then in the whole bracket."""
        lost = restrict(self._scenario, self.lost)
        near = tuple(replace(entry, form=self._near.get(entry.name, entry.form)) for entry in lost.expectations)
        return make_plan(replace(lost, expectations=near), self.shipped.runs, sweep=False)

    def take_search(self, outcome: Outcome) -> None:
        """Take the answers of `search_plan`; what lies beyond the part that was searched is still lost."""
        beyond = [name for name in self.lost if outcome.answers[name].bounds and self._near.pop(name, None) is not None]
        self._answers |= {name: answer for name, answer in outcome.answers.items() if name not in beyond}
        self.lost = beyond

    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts on what is reached."""
        if self.is_unmoved:
            return {name: self.shipped.verdicts[name] for name in self.reached}
        return _judged(self._scenario, self._records, self._answers, self.shipped.runs)


def _measured(record: RunRecord | None) -> _Measured | None:
    if record is None or record.error is not None:
        return None
    return int(record.facts["events"]), digest_of(record)


def _events(point: tuple[int, Task]) -> int:
    return point[0]


def _words(axes: AxisValues) -> tuple[Scalar, ...]:
    """The values of the axes that are no numbers, with a unit or without."""
    return tuple(value for value in axes.values() if not str(value)[:1].isdigit())


def tasks_beside(maker: PointMaker, find: Find, beside: Sequence[tuple[int, int] | None]) -> Iterator[Task]:
    """The runs of the points beside a threshold, of each replication its own."""
    for replication, pair in enumerate(beside):
        for side in pair or ():
            yield maker.task(_point(maker, find, side), replication)


def measured_beside(
    maker: PointMaker, find: Find, beside: Sequence[tuple[int, int] | None], records: _Records
) -> list[_Pair | None]:
    """The metric at the points beside a threshold, by replication; None where a run is missing or has failed."""
    found: list[_Pair | None] = []
    for replication, pair in enumerate(beside):
        sides = []
        for side in pair or ():
            record = records.get((_point(maker, find, side).id, replication))
            if record is not None and record.error is None:
                sides.append((float(side), CATALOGUE[find.metric].evaluate(record)))
        found.append((sides[0], sides[1]) if len(sides) == 2 else None)
    return found


def _point(maker: PointMaker, find: Find, side: int) -> Point:
    return maker.point({**find.at, find.axis: find.written(side)})


def _searches(expectations: Iterable[Expectation]) -> list[tuple[str, Find]]:
    return [(entry.name, entry.form) for entry in expectations if isinstance(entry.form, Find)]


def _plan(scenario: Scenario, runs: Fidelity, tasks: Iterable[Task]) -> Plan:
    return Plan(scenario, runs, tuple({task.key: task for task in tasks}.values()), ())


def _judged(
    scenario: Scenario, records: _Records, answers: Mapping[str, SearchAnswer], runs: Fidelity
) -> dict[str, Verdict]:
    return {v.expectation.name: v for v in judge_expectations(scenario, records, answers, quick=runs.quick)}
