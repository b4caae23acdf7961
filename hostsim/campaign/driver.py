"""The driver of a campaign, from plans to records: reuses stored runs, and makes and stores the others.

The set of runs depends on the plans alone, not on the number of workers or the order in which runs end. Runs requested by a search
have priority, because a search requests one after another. Idle workers take the longest remaining run, so that no worker is busy
long after the others have ended. While the runs that are left take less time than the start of workers, they run in this process.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hostsim.campaign.deferred_sigint import deferred_sigint
from hostsim.campaign.executor.base import Executor
from hostsim.campaign.executor.options import open_executor
from hostsim.campaign.packing import PackedRun, Packing
from hostsim.campaign.store import CondensedRecords, Origin, RunKey, Store, StoredRecords, dressed, run_of
from hostsim.campaign.task import NO_LIMITS, ResourceLimits, Simulate
from hostsim.engine.record import RunRecord
from hostsim.results.metrics.functions import condensed
from hostsim.results.search_answer import SearchAnswer
from hostsim.scenario.plan import Plan, RecordKey, Search, Task
from hostsim.scenario.scenario import Scenario
from hostsim.units import SECOND

__all__ = ["Costs", "Observer", "Outcome", "Progress", "RecordKey", "preview", "run_together", "stored_outcome"]


class Costs:
    """Known wall-clock seconds of runs, and an estimate for the remaining runs.

    A remaining run takes as long as earlier runs of its point, or else the mean of all points. Sums are updated with each
    run, as computing them again each time is quadratic in the size of a sweep.
    """

    def __init__(self) -> None:
        self._took: dict[str, tuple[float, int]] = {}  # seconds of a point's runs, and their number
        self._left: Counter[str] = Counter()  # remaining runs, by point
        self._runs_left = 0
        self._means = 0.0  # sum of the points' means
        self._known_s = 0.0  # remaining seconds of points with a mean
        self._unknown = 0  # remaining runs of points without a mean

    def expect(self, task: Task) -> None:
        """Adds a remaining run."""
        self._change(task.point.simulated, 1)

    def settle(self, task: Task) -> None:
        """Removes a run that has ended."""
        self._change(task.point.simulated, -1)

    def _change(self, point: str, more: int) -> None:
        self._left[point] += more
        self._runs_left += more
        if point in self._took:
            self._known_s += more * self._mean(point)
        else:
            self._unknown += more

    def add(self, record: RunRecord) -> None:
        """Adds the time of a finished run."""
        if "wall_s" not in record.facts:
            return
        point = record.point_id
        left, before = self._left[point], self._mean(point)
        if point not in self._took:
            self._unknown -= left
        seconds, count = self._took.get(point, (0.0, 0))
        self._took[point] = seconds + float(record.facts["wall_s"]), count + 1
        rise = self._mean(point) - before
        self._means += rise
        self._known_s += left * rise

    def left_s(self) -> float | None:
        """Estimated seconds of the remaining runs; None without any finished run."""
        if not self._took:
            return None
        if not self._runs_left:
            return 0.0  # no rounding error
        return max(self._known_s + self._unknown * self._means / len(self._took), 0.0)

    def _mean(self, point: str) -> float:
        seconds, count = self._took.get(point, (0.0, 1))
        return seconds / count


_SMALL_S = 1.5
"""Largest total time of runs in this process, in seconds: two workers need 0.9 s to start and are not faster."""
_SMALL_EFFORT = 3 * SECOND
"""Largest effort of a run in this process before any run time is known: half a second at the slowest shipped rate."""


@dataclass(frozen=True)
class Observer:
    """Observer of the runs of plans: each run once, when it ends, or at the start for a stored run."""

    taking: Callable[[Plan, Task], Callable[[RunRecord], Any]]
    """Returns a function that extracts the observer's values from a whole record. Workers call it, so it can be pickled."""
    add: Callable[[Plan, Any], None]
    """Receives the result of that function, in the process of the campaign."""


@dataclass(frozen=True)
class Progress:
    """Progress of a plan; searches increase the total."""

    done: int
    """Finished runs, including reused and failed ones."""
    total: int
    """Number of runs known so far."""
    running: int
    reused: int
    failed: int
    seconds_left: float | None
    """Estimated wall-clock seconds of the known remaining runs, including those of concurrent plans; None if unknown."""
    missing: Sequence[Task] = ()
    """Number of known runs that are not stored; only before a plan runs."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a plan: its records and the answers of its searches."""

    records: StoredRecords
    """Fixed points in plan order, then the runs requested by searches. Records are read from the store on look-up and not kept in memory, because a sweep may be larger than memory."""
    answers: Mapping[str, SearchAnswer]
    """Answers of completed searches, by name."""
    interrupted: bool
    """True if Ctrl-C ended the plan early; finished runs are included and stored."""
    ran: int
    reused: int


def run_together(
    plans: Sequence[Plan],
    store: Store,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    limits: ResourceLimits = NO_LIMITS,
    progress: Callable[[Plan, Progress], None] | None = None,
    observe: Observer | None = None,
    simulate: Simulate | None = None,
) -> list[Outcome]:
    """Run the missing runs of several plans concurrently, so that no worker is idle at the end of a plan.

    Runs that failed before are tried again.

    Args:
        plans: fixed points and searches.
        store: the results store; each run is stored as soon as it ends.
        jobs: worker processes; None for one per processor, or none if little work remains; 1 for this process only.
        cluster: address of a Dask scheduler to run on instead.
        limits: memory and time of a run; a run beyond them fails.
        progress: called with the progress of a plan, once at the start and after each run.
        observe: gets each run of each plan once, as soon as it is available.
        simulate: the function of a run; `hostsim.campaign.simulate.simulate` by default.

    Raises:
        InputError: ``jobs`` or ``cluster`` cannot be satisfied.
        StoreError: the store cannot be written.
    """
    report = progress or _say_nothing
    front = _Front(plans, store, observe)
    for sweep in front.sweeps:
        report(sweep.plan, front.progress(sweep, workers=1))
    interrupted = False
    in_turn: list[tuple[int | None, Callable[[], bool]]] = [(jobs, front.has_work)]
    if jobs is None and cluster is None and not limits:
        in_turn.insert(0, (1, front.is_small))
    try:
        for workers, goes_on in in_turn:
            if goes_on():
                with open_executor(simulate or _simulate(), workers, cluster, limits) as executor:
                    _work_off(front, executor, report, goes_on)
    except KeyboardInterrupt:
        interrupted = True
    return [sweep.outcome(interrupted=interrupted) for sweep in front.sweeps]


def stored_outcome(plan: Plan, store: Store, observe: Observer | None = None) -> Outcome | None:
    """The outcome of a plan if all its runs are stored; None if one is missing or failed. Starts no run."""
    [sweep] = _Front([plan], store, observe).sweeps
    return None if sweep.waiting else sweep.outcome()


def preview(plan: Plan, store: Store) -> Progress:
    """Progress of a plan before it runs: stored and missing runs, with seconds on one worker."""
    front = _Front([plan], store)
    [sweep] = front.sweeps
    return replace(front.progress(sweep, workers=1), missing=(*sweep.requested, *sweep.fixed))


def _work_off(
    front: _Front, executor: Executor, report: Callable[[Plan, Progress], None], goes_on: Callable[[], bool]
) -> None:
    """Submits runs while a condition holds, and waits for the submitted runs."""
    while True:
        while goes_on() and len(front.running) < executor.capacity and (task := front.start()) is not None:
            executor.submit(task, front.packing(task))
        if not front.running:
            return
        ended = executor.wait()
        with deferred_sigint():  # store and count a run together, or do neither
            for task, run in ended:
                for sweep in front.finish(task, run):
                    report(sweep.plan, front.progress(sweep, executor.workers))


def _simulate() -> Simulate:
    # imported here: a fully stored sweep needs no simulator
    from hostsim.campaign.simulate import simulate

    return simulate


def _say_nothing(plan: Plan, progress: object) -> None:
    pass


def _nothing(_record: RunRecord) -> None:
    pass


_NO_OBSERVER = Observer(lambda _plan, _task: _nothing, _say_nothing)


class _Front:
    """Plans that run together: the order of their runs, and the sweeps that wait for each run.

    Attributes:
        sweeps: the plans.
        running: submitted runs, each with the sweeps that wait for it and their tasks.
    """

    def __init__(self, plans: Sequence[Plan], store: Store, observe: Observer | None = None) -> None:
        self.running: dict[RunKey, list[tuple[_Sweep, Task]]] = {}
        self._store = store
        self._costs = Costs()
        self.sweeps = [_Sweep(plan, store, self._costs, observe or _NO_OBSERVER) for plan in plans]
        self._turn = 0

    def has_work(self) -> bool:
        """True if tasks remain that have not started."""
        return any(sweep.waiting for sweep in self.sweeps)

    def is_small(self) -> bool:
        """True if the remaining work is known and too short for a worker process."""
        if not self.has_work() or any(sweep.plan.searches for sweep in self.sweeps):
            return False
        left_s = self._costs.left_s()
        if left_s is None:
            return max(sweep.next_s()[1] for sweep in self.sweeps if sweep.waiting) <= _SMALL_EFFORT
        return left_s <= _SMALL_S

    def start(self) -> Task | None:
        """The next task to submit; None if the driver must wait."""
        while (sweep := self._next()) is not None:
            task = sweep.start()
            waiting = self.running.get(run_of(task))
            if waiting is not None:
                waiting.append((sweep, task))
            elif not sweep.reuses(task):  # another sweep, or an equal host of this sweep, may have made the run already
                self.running[run_of(task)] = [(sweep, task)]
                return task
        return None

    def _next(self) -> _Sweep | None:
        """The next sweep: sweeps with search requests in turn, else a sweep without finished runs, else the longest next run."""
        for index in range(self._turn, self._turn + len(self.sweeps)):
            sweep = self.sweeps[index % len(self.sweeps)]
            if sweep.requested:
                self._turn = index + 1
                return sweep
        return max((sweep for sweep in self.sweeps if sweep.waiting), key=_Sweep.next_s, default=None)

    def packing(self, task: Task) -> Packing:
        """The packing of a submitted task for the first sweep that waits for it."""
        return self.running[run_of(task)][0][0].packing(task)

    def finish(self, task: Task, run: RunRecord | PackedRun) -> list[_Sweep]:
        """Stores a finished run; returns the waiting sweeps, without duplicates."""
        packed = run if isinstance(run, PackedRun) else self.packing(task)(task, run)
        waiting = self.running.pop(run_of(task))
        self._store.write(run_of(task), packed.file)
        whole = run if isinstance(run, RunRecord) else None
        ended: list[_Sweep] = []
        for sweep, other in waiting:
            if other is not task:  # seldom, so the whole record comes from its file
                whole = whole or self._store.get(run_of(task))
                assert whole is not None
                packed = sweep.packing(other)(other, whole)
            sweep.finish(other.key, packed, ran=sweep not in ended)
            if sweep not in ended:
                ended.append(sweep)
        return ended

    def progress(self, sweep: _Sweep, workers: int) -> Progress:
        """Progress of a sweep if the given number of workers shares the remaining work of all sweeps."""
        left = self._costs.left_s()
        return Progress(
            done=sweep.done,
            total=sweep.total,
            running=len(sweep.running),
            reused=sweep.reused,
            failed=sweep.failed,
            seconds_left=None if left is None else left / workers,
        )


class _Sweep:
    """A plan in progress: its known tasks and their outcomes.

    Attributes:
        plan: the plan.
        fixed: waiting tasks of the plan's points, the longest first.
        requested: tasks that searches request, the longest first.
        running: tasks in progress.
    """

    def __init__(self, plan: Plan, store: Store, costs: Costs, observe: Observer) -> None:
        self.plan = plan
        self.fixed: deque[Task] = deque()
        self.requested: deque[Task] = deque()
        self.running: dict[RecordKey, Task] = {}
        self.reused = self.ran = self.failed = 0
        self._store = store
        self._tasks: dict[RecordKey, Task] = {}
        self._done = CondensedRecords(store)  # only searches read a record again
        self._wall_s: dict[RecordKey, float] = {}
        self._open = set(range(len(plan.searches)))  # unfinished searches, by their position in the plan
        self._awaited: dict[RecordKey, set[int]] = {}  # unfinished searches that wait for a run
        self._costs = costs
        self._observe = observe
        self._seconds = 0.0  # wall-clock time and effort of the runs that have ended
        self._effort = 0
        self._admit(sorted(plan.tasks, key=lambda task: -task.point.effort), self.fixed)
        self._ask(self._open)

    @property
    def waiting(self) -> int:
        """Number of tasks that have not started."""
        return len(self.requested) + len(self.fixed)

    def next_s(self) -> tuple[float, int]:
        """Expected seconds of the next task (infinite before any run has ended), then its effort."""
        effort = (self.requested or self.fixed)[0].point.effort
        return (effort * self._seconds / self._effort if self._effort else math.inf), effort

    def origin(self, task: Task) -> Origin | None:
        """The scenario and parameters that are stored with a run; None for a plan without a scenario."""
        scenario: Scenario | None = self.plan.scenario
        return None if scenario is None else Origin(scenario.name, scenario.parameters(task.point.axes))

    def packing(self, task: Task) -> Packing:
        """The packing of a task's record for this sweep."""
        return Packing(self.origin(task), self._observe.taking(self.plan, task), bool(self.plan.searches))

    def start(self) -> Task:
        """The next task to submit."""
        task = (self.requested or self.fixed).popleft()
        self.running[task.key] = task
        return task

    def reuses(self, task: Task) -> bool:
        """True if the run of a task is already stored and can be reused."""
        record = self._store.get(run_of(task))
        if record is None or record.error is not None:
            return False
        self.reused += 1
        self._end(task.key, *self._parts(task, record))
        return True

    def finish(self, key: RecordKey, run: PackedRun, *, ran: bool) -> None:
        """Adds a finished run (of an equal host if ``ran`` is False), and advances the searches."""
        self.ran += ran
        self.reused += not ran
        self.failed += run.record.error is not None
        self._end(key, run.record, run.taken)

    def _end(self, key: RecordKey, record: RunRecord, taken: Any) -> None:
        task = self.running.pop(key)
        self._costs.settle(task)
        self._accept(task, record, taken)
        self._ask(self._awaited.pop(key, ()))

    def _parts(self, task: Task, record: RunRecord) -> tuple[RunRecord, Any]:
        """A stored record for searches, and what the observer takes from it."""
        whole = dressed(record, task)
        return condensed(whole) if self.plan.searches else whole, self._observe.taking(self.plan, task)(whole)

    def _ask(self, places: Iterable[int]) -> None:
        """Advances searches until each of them waits for a run."""
        for index in sorted(places):
            search: Search = self.plan.searches[index]
            while requested := search.wants(self._done):
                self._admit(requested, self.requested)
                if not any(task.key in self._done for task in requested):
                    break
            for task in requested:
                self._awaited.setdefault(task.key, set()).add(index)
            if not requested:
                self._open.discard(index)

    def _admit(self, tasks: Iterable[Task], waiting: deque[Task]) -> None:
        """Adds tasks: stored ones as done, others to the queue."""
        for task in tasks:
            if task.key in self._tasks:
                continue
            self._tasks[task.key] = task
            record = self._store.get(run_of(task))
            if record is None or record.error is not None:
                waiting.append(task)
                self._costs.expect(task)
            else:
                self.reused += 1
                self._accept(task, *self._parts(task, record))

    def _accept(self, task: Task, record: RunRecord, taken: Any) -> None:
        self._costs.add(record)
        self._wall_s[task.key] = float(record.facts.get("wall_s", 0.0))
        self._seconds += self._wall_s[task.key]
        self._effort += task.point.effort
        self._done.add(task)
        if self.plan.searches:
            self._done.keep(task.key, record)
        self._observe.add(self.plan, taken)

    @property
    def done(self) -> int:
        """Number of finished and reused runs."""
        return len(self._done)

    @property
    def total(self) -> int:
        """Number of known runs."""
        return len(self._tasks)

    def outcome(self, *, interrupted: bool = False) -> Outcome:
        """The outcome so far, independent of workers: the searches are repeated on the stored records."""
        answers: dict[str, SearchAnswer] = {}
        order = [task.key for task in self.plan.tasks]
        for index, search in enumerate(self.plan.searches):
            ended: dict[RecordKey, RunRecord] = {}
            while requested := [task.key for task in search.wants(ended)]:
                order += requested
                ended |= {key: self._done[key] for key in requested if key in self._done}
                if not ended.keys() >= set(requested):
                    break
            if index not in self._open:
                answers[search.name] = search.answer(self._done)
        order += sorted(self._done.keys() - set(order))
        tasks = {key: self._tasks[key] for key in dict.fromkeys(order) if key in self._done}
        flags = {point: flag for answer in answers.values() for point, flag in answer.flags.items()}
        records = StoredRecords(self._store, tasks, flags, self._wall_s)
        return Outcome(records, answers, interrupted, self.ran, self.reused)
