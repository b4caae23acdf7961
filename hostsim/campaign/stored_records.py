"""Records of a plan, read from the store on demand, as a sweep may be larger than memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hostsim.campaign.store import RunKey, Store
from hostsim.engine.record import AxisValues, RunRecord
from hostsim.errors import StoreError
from hostsim.results.metrics.functions import late_borders
from hostsim.scenario.plan import RecordKey, Task, simulated

__all__ = ["CondensedRecords", "SavedRecords", "SavedRun", "StoredRecords", "condensed", "dressed", "run_of"]

_KEPT = 500
"""Number of condensed records in memory, as searches read the same few repeatedly."""


def run_of(task: Task) -> RunKey:
    """The run of a task by its key in the store; points with the same simulation share it."""
    return task.point.simulated, task.replication, task.seed


def dressed(record: RunRecord, task: Task) -> RunRecord:
    """A record with the id, axes and warnings of this plan, as another point or plan may have stored the run."""
    return replace(
        record, point_id=task.point.id, axes=dict(task.point.axes), flags=(*task.point.warnings, *record.flags)
    )


def condensed(record: RunRecord) -> RunRecord:
    """A record without most of its slices: a tenth of the size, sufficient for measures."""
    kept = sorted({0, record.cut, *late_borders(record), len(record.instants_ps) - 1})
    return record.thinned(kept, kept.index(record.cut))


class StoredRecords(Mapping[RecordKey, RunRecord]):
    """Records of finished and failed tasks, read on demand and not kept in memory."""

    def __init__(
        self, store: Store, tasks: Mapping[RecordKey, Task], flags: Mapping[str, str], wall_s: Mapping[RecordKey, float]
    ) -> None:
        """Records of tasks with stored runs.

        Args:
            store: holds the runs.
            tasks: in the order of the records.
            flags: flag that searches gave a point, by its id.
            wall_s: wall-clock seconds of each run.
        """
        self._store = store
        self._tasks = tasks
        self.flags = flags
        self._wall_s = wall_s

    def __getitem__(self, key: RecordKey) -> RunRecord:
        record = _read(self._store, self._tasks[key])
        flag = self.flags.get(key[0])
        return record if flag is None else replace(record, flags=(*record.flags, flag))

    def __contains__(self, key: object) -> bool:
        return key in self._tasks

    def __iter__(self) -> Iterator[RecordKey]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def axes(self, key: RecordKey) -> AxisValues:
        """Axes of a run, without reading its record."""
        return self._tasks[key].point.axes

    def wall_s(self, key: RecordKey) -> float:
        """Wall-clock seconds of a run, 0 if unknown, without reading its record."""
        return self._wall_s[key]

    def length_ps(self, key: RecordKey) -> int:
        """Requested simulated time of a run, without reading its record."""
        return self._tasks[key].point.spec.length

    def index(self) -> list[SavedRun]:
        """References to the records, for a folder of results."""
        return [
            SavedRun(
                task.point.id,
                task.replication,
                task.seed,
                task.point.axes,
                tuple(task.point.warnings),
                self.flags.get(task.point.id, ""),
            )
            for task in self._tasks.values()
        ]

    def after(self, others: StoredRecords) -> StoredRecords:
        """These records, and before them those of others of the same store that are not among them."""
        return StoredRecords(
            self._store,
            {**others._tasks, **self._tasks},
            {**others.flags, **self.flags},
            {**others._wall_s, **self._wall_s},
        )


@dataclass(frozen=True, slots=True)
class SavedRun:
    """Reference to a run, with the properties that its sweep adds to the stored record."""

    point: str
    replication: int
    seed: int
    axes: AxisValues
    warnings: tuple[str, ...]
    flag: str
    """Flag that searches gave the point; empty without one."""

    @property
    def keys(self) -> tuple[RunKey, ...]:
        """Its key in the store, and the one by which earlier versions stored it."""
        points = dict.fromkeys((simulated(self.point), self.point))
        return tuple((point, self.replication, self.seed) for point in points)


class SavedRecords(Mapping[RecordKey, RunRecord]):
    """Records of earlier results, read from the store on demand."""

    def __init__(self, store: Store, runs: Iterable[SavedRun], command: str) -> None:
        """Records of saved runs.

        Args:
            store: of the version of the code that made them.
            runs: what to read.
            command: repeats deleted runs.
        """
        self._store, self._command = store, command
        self._runs = {(run.point, run.replication): run for run in runs}

    def __getitem__(self, key: RecordKey) -> RunRecord:
        run = self._runs[key]
        record = next((found for key in run.keys if (found := self._store.get(key)) is not None), None)
        if record is None:
            gone = f"replication {run.replication} of point {run.point} is not there"
            raise StoreError(f"{self._store.folder}: {gone}; `{self._command}` runs it again")
        return replace(
            record, point_id=run.point, axes=run.axes, flags=(*run.warnings, *record.flags, *filter(None, [run.flag]))
        )

    def __iter__(self) -> Iterator[RecordKey]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


class CondensedRecords(Mapping[RecordKey, RunRecord]):
    """Condensed records of ended tasks for searches, the latest in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: dict[RecordKey, Task] = {}
        self._latest: OrderedDict[RecordKey, RunRecord] = OrderedDict()

    def add(self, task: Task) -> None:
        """Adds an ended task with a stored run."""
        self._tasks[task.key] = task

    def keep(self, key: RecordKey, record: RunRecord) -> RunRecord:
        """Keeps a record that will probably be read soon; returns it condensed."""
        self._latest[key] = short = condensed(record)
        if len(self._latest) > _KEPT:
            self._latest.popitem(last=False)
        return short

    def __getitem__(self, key: RecordKey) -> RunRecord:
        if key not in self._latest:
            return self.keep(key, _read(self._store, self._tasks[key]))
        self._latest.move_to_end(key)
        return self._latest[key]

    def __contains__(self, key: object) -> bool:
        return key in self._tasks

    def __iter__(self) -> Iterator[RecordKey]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


def _read(store: Store, task: Task) -> RunRecord:
    record = store.get(run_of(task))
    if record is None:
        raise StoreError(f"{store.folder}: replication {task.replication} of point {task.point.id} is gone")
    return dressed(record, task)
