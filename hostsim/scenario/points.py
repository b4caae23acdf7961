"""From a scenario to a plan: fixed points in order, and searches that ask for more as they learn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from hostsim.expect import Find, SearchAnswer
from hostsim.record import RunRecord, Scalar
from hostsim.scenario.expectation import needed
from hostsim.scenario.scenario import Scenario
from hostsim.spec.host import PointSpec

__all__ = ["Fidelity", "Plan", "Point", "RecordKey", "Search", "Task", "point_at", "points"]

RecordKey = tuple[str, int]
"""What a record of a plan is found by: id of the point, replication."""


@dataclass(frozen=True, slots=True)
class Point:
    """One host and what comes at it."""

    id: str
    """Hash of the spec. A second point of a plan that differs in its axes only has a number behind it."""
    axes: Mapping[str, Scalar]
    """Value of every axis, as written."""
    spec: PointSpec
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One run: a point with the random numbers of one replication."""

    point: Point
    replication: int
    """0-based."""
    seed: int
    """Root seed; equal for all points, so that they compare on common random numbers."""

    @property
    def key(self) -> RecordKey:
        """What the record of this run is found by."""
        return self.point.id, self.replication


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How well to look."""

    quick: bool = False
    """The scenario's shorter runs, and fewer of them."""
    seed: int = 1
    replications: int | None = None
    """Runs of each point, in place of the scenario's number."""


class Search(Protocol):
    """Asks for runs until it knows its answer: a pure function of the records so far, whoever made them in whatever order.

    What it wants changes only when a run ends that it wanted.
    """

    @property
    def name(self) -> str:
        """Name of the expectation that it answers, or of what else it looks for."""
        ...

    def wants(self, done: Mapping[RecordKey, RunRecord]) -> list[Task]:
        """The runs that it needs next and does not have; none when it is finished."""
        ...

    def most(self) -> int:
        """Runs that it asks for at most, those included that it asks for at first."""
        ...

    def answer(self, done: Mapping[RecordKey, RunRecord]) -> SearchAnswer:
        """What it found, once it wants no more."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a campaign has to do."""

    scenario: Scenario
    fidelity: Fidelity
    tasks: tuple[Task, ...]
    """Runs known from the start, in the order of points, replications of a point together; none twice."""
    searches: tuple[Search, ...]


class Bench:
    """Makes the points and tasks of a scenario at one fidelity, each point once."""

    def __init__(self, scenario: Scenario, fidelity: Fidelity) -> None:
        run = scenario.run
        self.replications = fidelity.replications or (run.quick_replications if fidelity.quick else run.replications)
        self._scenario = scenario
        self._seed = fidelity.seed
        self._length_ps = run.quick_length_ps if fidelity.quick else run.length_ps
        self._points: dict[tuple[Scalar, ...], Point] = {}

    def point(self, values: Mapping[str, Scalar]) -> Point:
        """The point at these values; axes that are not named have the first value of their sweep."""
        axes = {**self._scenario.first(), **values}
        key = tuple(axes.values())
        if key not in self._points:
            spec, warnings = self._scenario.spec(axes, self._length_ps)
            self._points[key] = Point(spec.digest(), axes, spec, warnings)
        return self._points[key]

    def table(self, values: Iterable[Mapping[str, Scalar]]) -> list[Point]:
        """The points that get rows of a table: each once, and those that differ in their axes only under different ids."""
        at: dict[str, Point] = {}
        for point in map(self.point, values):
            copies = (f"{point.id}-{n}" for n in itertools.count(2))
            free = next(name for name in itertools.chain([point.id], copies) if at.get(name, point).axes == point.axes)
            if free != point.id:
                point = replace(point, id=free)
                self._points[tuple(point.axes.values())] = point
            at[free] = point
        return list(at.values())

    def task(self, point: Point, replication: int) -> Task:
        """One run of a point."""
        return Task(point, replication, self._seed)


def point_at(scenario: Scenario, values: Mapping[str, Scalar], fidelity: Fidelity | None = None) -> Point:
    """One point of a scenario; axes that are not named have the first value of their sweep, full fidelity if none is given.

    Raises:
        InputError: an unknown axis, or a value that cannot be.
    """
    return Bench(scenario, fidelity or Fidelity()).point(values)


def points(scenario: Scenario, fidelity: Fidelity, *, sweep: bool = True, expectations: bool = True) -> Plan:
    """The plan of a scenario.

    Args:
        scenario: what to look at.
        fidelity: how well.
        sweep: with every point of the sweep: axes crossed, the last one fastest.
        expectations: with every point that an expectation is judged by, and a search for each threshold.

    Where the scenario asks for a precision, every point has a search for enough replications, unless their number is given or
    the look is a quick one. A search for a threshold has none: each of its replications is an answer of its own.
    """
    from hostsim.scenario.precision import Replications
    from hostsim.scenario.search import Bisection

    bench = Bench(scenario, fidelity)
    wanted: list[Mapping[str, Scalar]] = []
    if sweep:
        swept = itertools.product(*(axis.values for axis in scenario.axes.values()))
        wanted += [dict(zip(scenario.axes, values, strict=True)) for values in swept]
    asked = scenario.expectations if expectations else ()
    for expectation in asked:
        if not isinstance(expectation.form, Find):
            wanted += needed(expectation.form)
    fixed = bench.table(wanted)
    tasks = tuple(bench.task(point, replication) for point in fixed for replication in range(bench.replications))
    searches: list[Search] = [
        Bisection(expectation.name, expectation.form, bench, fixed)
        for expectation in asked
        if isinstance(expectation.form, Find)
    ]
    targets = scenario.run.precision
    if targets and not fidelity.quick and fidelity.replications is None:
        searches += [Replications(point, bench, targets) for point in fixed]
    return Plan(scenario, fidelity, tasks, tuple(searches))
