"""The plan of a campaign as values: points, runs, searches that request further runs, and their limits.

`hostsim.scenario.planner` makes plans. It imports no reader of scenarios, as commands that only read stored runs need none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from hostsim.errors import InputError

if TYPE_CHECKING:
    from hostsim.config.host import PointSpec
    from hostsim.engine.record import AxisValues, RunRecord, Scalar
    from hostsim.results.search_answer import SearchAnswer
    from hostsim.scenario.axis import PointKey
    from hostsim.scenario.scenario import Scenario

__all__ = [
    "Fidelity",
    "Members",
    "Plan",
    "Point",
    "PointMaker",
    "RecordKey",
    "Records",
    "Search",
    "Task",
    "point_at",
    "simulated",
]

FAR: Final = 3
"""Length of a short probe of a search, as a share of a full run."""
LEAST_FAR_PS: Final = 500 * 10**9
"""Shortest probe: control loops, TCP and request queues need about half a second to settle."""
_MS: Final = 10**9
RecordKey = tuple[str, int]
"""Key of a record of a plan: id of the point, replication."""
Records: TypeAlias = "Mapping[RecordKey, RunRecord]"
"""The available records of a plan."""


def simulated(point_id: str) -> str:
    """The hash of a point's simulation: its id without the suffix."""
    return point_id.partition("-")[0]


@dataclass(frozen=True)
class Point:
    """A point of the plan: one host with its workload, at one value of every axis."""

    id: str
    """Hash of its simulation; with a number as suffix if an earlier point of the plan differs only in axes."""
    axes: AxisValues
    """Value of every axis, as written."""
    spec: PointSpec
    warnings: tuple[str, ...]
    effort: int = 0
    """Rough effort of a run, used to start the longest first; see `hostsim.config.host.PointSpec.effort`."""

    @property
    def simulated(self) -> str:
        """Hash of its simulation; points with equal hashes share their runs."""
        return simulated(self.id)


@dataclass(frozen=True)
class Task:
    """A task: one simulation run, of a point with the random numbers of one replication."""

    point: Point
    replication: int
    """0-based."""
    seed: int
    """Root seed; it is the same for all points, so that they are compared on common random numbers."""

    @property
    def key(self) -> RecordKey:
        """The key of its record."""
        return self.point.id, self.replication


@dataclass(frozen=True)
class Fidelity:
    """Fidelity of a sweep: quick or full runs, root seed, number of replications."""

    quick: bool = False
    """True for the scenario's shorter and fewer runs."""
    seed: int = 1
    replications: int | None = None
    """Number of runs of each point, in place of the scenario's number."""
    thorough: bool = False
    """True if all runs have their full length and no search shares runs (run option ``--thorough``)."""
    max_processor_s: float | None = field(default=None, compare=False)
    """Limit of processor time for an expectation's runs, after which no replications are added; it changes no run."""
    ensemble: Members | None = None
    """Ensemble whose members the replications simulate; None for the scenario's host."""

    @property
    def looks(self) -> bool:
        """True if open verdicts get more replications; an ensemble never adds runs."""
        return not (self.thorough or self.replications or self.ensemble)


class Members(Protocol):
    """Interface through which a plan uses an ensemble of hosts."""

    @property
    def name(self) -> str:
        """The ensemble's file, as the user named it."""
        ...

    @property
    def digest(self) -> str:
        """Digest of all values."""
        ...

    def moves(self, scenario: Scenario, axes: AxisValues) -> str:
        """Text of the values that the ensemble changes at a point, which distinguishes points."""
        ...

    def number_of(self, replication: int) -> int:
        """Number of a replication's member."""
        ...

    def changed(self, scenario: Scenario, replication: int) -> Scenario:
        """A scenario on the host of a replication's member; raises InputError if the ensemble has no such member."""
        ...

    def refused(self, replication: int, error: InputError) -> InputError:
        """The faults of an impossible host, with its member's number."""
        ...


class Search(Protocol):
    """A sequential search: requests runs until it has an answer. It is a pure function of the records.

    The order of the records does not matter. Its requests change only when a requested run ends.
    """

    @property
    def name(self) -> str:
        """Name of its expectation or other target."""
        ...

    def wants(self, done: Records) -> list[Task]:
        """The missing runs that it needs next; empty if it is finished."""
        ...

    def most(self) -> int:
        """Estimated number of runs, including the first ones; usually the largest possible number."""
        ...

    def answer(self, done: Records) -> SearchAnswer:
        """The answer, once the search needs no more runs."""
        ...


@dataclass(frozen=True)
class Plan:
    """The plan of a campaign: runs known from the start, and searches that add runs."""

    scenario: Scenario
    fidelity: Fidelity
    tasks: tuple[Task, ...]
    """Runs known from the start, without duplicates, in the order of points, with the replications of a point together."""
    searches: tuple[Search, ...]
    swept: tuple[Point, ...] = ()
    """Points of the sweep in order: the rows of the table, and the first tasks."""


class PointMaker:
    """Makes the points and tasks of a scenario at one fidelity, each point once.

    Attributes:
        replications: number of runs of a point that an expectation needs.
        length_ps: length of these runs.
        thorough: every search makes its own runs, all of this length.
        starts_at_first: searches of later replications start at the answer of the first.
    """

    def __init__(self, scenario: Scenario, fidelity: Fidelity) -> None:
        run = scenario.run
        needed, swept = (run.quick, run.quick_swept) if fidelity.quick else (run.full, run.swept)
        self.replications = fidelity.replications or needed.replications
        self.length_ps = needed.length_ps
        self.thorough = fidelity.thorough
        self.starts_at_first = fidelity.quick and not fidelity.thorough and fidelity.ensemble is None
        swept = needed if fidelity.thorough else swept
        self._swept_length_ps = swept.length_ps
        self._swept_replications = fidelity.replications or swept.replications
        self._scenario = scenario
        self._seed = fidelity.seed
        self._points: dict[tuple[PointKey, int], Point] = {}
        self._ensemble = fidelity.ensemble
        self._hosts: dict[int, Scenario] = {}

    def point(self, values: AxisValues, length_ps: int | None = None) -> Point:
        """The point at the given values; unnamed axes have the first value of their sweep.

        Args:
            values: of axes.
            length_ps: length of its runs; by default that of a point that an expectation needs.
        """
        from hostsim.scenario.axis import point_key

        axes, length_ps = self._axes(values), length_ps or self.length_ps
        key = point_key(axes.values()), length_ps
        if key not in self._points:
            spec, warnings = self._spec(self._scenario, axes, length_ps)
            self._points[key] = Point(self._id(spec.digest(), axes), axes, spec, warnings, spec.effort)
        return self._points[key]

    def _spec(self, scenario: Scenario, axes: AxisValues, length_ps: int) -> tuple[PointSpec, tuple[str, ...]]:
        spec, warnings = scenario.simulated(axes, length_ps)
        return (spec.model_copy(update={"lengthening": 1.0}), warnings) if self.thorough else (spec, warnings)

    def _id(self, digest: str, axes: AxisValues) -> str:
        """Id of a point; an ensemble changes it, because its replications run other hosts.

        A number that the user has set is the same in every replication, and so makes a different point even if it
        equals the shipped number.
        """
        if self._ensemble is None:
            return digest
        import hashlib

        return hashlib.sha256(f"{digest} {self._ensemble.moves(self._scenario, axes)}".encode()).hexdigest()[
            : len(digest)
        ]

    def probe(self, values: AxisValues) -> Point:
        """The point for a short probe; of full length if its traffic needs that or the probe is hardly shorter."""
        # a length that scenarios also use for points of their sweeps
        length_ps = max(self.length_ps // FAR // _MS * _MS, LEAST_FAR_PS)
        return self.point(values) if 2 * length_ps > self.length_ps else self._shortened(values, length_ps)

    def short(self, values: AxisValues) -> Point:
        """The point with a third of the length, as the calibration uses it; of full length if its runs or traffic need that."""
        length_ps = self.length_ps // FAR // _MS * _MS
        return self.point(values) if length_ps < LEAST_FAR_PS else self._shortened(values, length_ps)

    def _shortened(self, values: AxisValues, length_ps: int) -> Point:
        """The point with a shorter length; of full length if its traffic needs that, or with ``--thorough``."""
        if self.thorough:
            return self.point(values)
        try:
            return self.point(values, length_ps)
        except InputError:
            return self.point(values)

    def swept(self, values: AxisValues) -> tuple[Point, int]:
        """A point of the sweep, with its number of runs."""
        from hostsim.scenario.axis import point_key

        if point_key(self._axes(values).values()) in self._scenario.judged:
            return self.point(values), self.replications
        return self.point(values, self._swept_length_ps), self._swept_replications

    def values(self, axis: str) -> tuple[Scalar, ...]:
        """The values of an axis in the sweep."""
        return self._scenario.axes[axis].values

    def is_swept(self, values: AxisValues) -> bool:
        """True for a point of the sweep."""
        return all(value in self._scenario.axes[name].values for name, value in self._axes(values).items())

    def alike(self, values: AxisValues, searched: str) -> AxisValues:
        """The values of the first equal point of the sweep for values on a search's line, or the values themselves.

        So searches on equal hosts use the same points and have the same answer.
        """
        axes = self._axes(values)
        here = self.point(axes).simulated
        for name in [name for name in axes if name != searched]:
            for value in self.values(name):
                other = {**axes, name: value}
                if self._simulated(other) == here:
                    axes = other
                    break
        return axes

    def _simulated(self, values: AxisValues) -> str | None:
        """Hash of the simulation at these values; None if the point is impossible."""
        try:
            return self.point(values).simulated
        except InputError:
            return None

    def _axes(self, values: AxisValues) -> AxisValues:
        return {**self._scenario.first(), **values}

    def distinct(self, points: Iterable[Point]) -> list[Point]:
        """The points without duplicates; those that differ only in axes get different ids."""
        from hostsim.scenario.axis import point_key

        at: dict[str, Point] = {}
        for point in points:
            copies = (f"{point.id}-{n}" for n in itertools.count(2))
            free = next(name for name in itertools.chain([point.id], copies) if at.get(name, point).axes == point.axes)
            if free != point.id:
                point = replace(point, id=free)
            self._points[point_key(point.axes.values()), point.spec.length] = point
            at[free] = point
        return list(at.values())

    def task(self, point: Point, replication: int) -> Task:
        """One run of a point; with an ensemble, on the host of the replication's member.

        Raises:
            InputError: the host is impossible.
        """
        if self._ensemble is not None:
            if replication not in self._hosts:
                self._hosts[replication] = self._ensemble.changed(self._scenario, replication)
            try:
                spec, _ = self._spec(self._hosts[replication], point.axes, point.spec.length)
            except InputError as error:
                raise self._ensemble.refused(replication, error) from None
            point = replace(point, spec=spec)
        return Task(point, replication, self._seed)


def point_at(scenario: Scenario, values: AxisValues, fidelity: Fidelity | None = None) -> Point:
    """One point of a scenario, by default at full fidelity; unnamed axes have the first value of their sweep.

    Raises:
        InputError: an unknown axis, or an impossible value.
    """
    return PointMaker(scenario, fidelity or Fidelity()).point(values)
