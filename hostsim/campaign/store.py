"""The results store: one Parquet file for each run, shared by all commands; and the records of a plan in it.

The key of a run is the digest of its code, the hash of its point, the root seed and the replication. Runs of other code remain; if only
the code prevents reuse, a warning is logged. Files appear whole or not at all. A file that cannot be read (truncated,
changed, or of another format) counts as missing, with a warning.

A file holds one row for each counter and each histogram; everything else of the record is JSON in its metadata,
wall-clock facts and the requesting scenario under separate keys. All other bytes depend on the record alone, except
for the digest of the whole file. It is needed because Parquet has checksums of its pages, but none of its metadata.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostsim.campaign.code_version import Code, describe, difference, read_code
from hostsim.config.files import is_below
from hostsim.engine.record import AxisValues, Histogram, IntArray, RunRecord, Scalar, Series
from hostsim.errors import StoreError
from hostsim.results.integrity import (
    BLANK,
    DIGEST_KEY,
    FORMAT,
    confined,
    require_digest,
    require_inside,
    require_small_table,
    require_whole,
    sweep_unfinished,
    with_digest,
)
from hostsim.results.metrics.functions import condensed
from hostsim.scenario.plan import RecordKey, Task, simulated

__all__ = [
    "CODE",
    "CondensedRecords",
    "Origin",
    "RunKey",
    "SavedRecords",
    "SavedRun",
    "Store",
    "StoredRecords",
    "code_digest",
    "dressed",
    "file_of",
    "is_same_run",
    "open_run",
    "read_origin",
    "run_key",
    "run_of",
]

_log = logging.getLogger(__name__)

RunKey = tuple[str, int, int]
"""Key of a run within a version of the code: hash of the point, replication, root seed."""

_EARLIER_FORMAT = 1
"""Older format that is still read; its files have no digest."""

_FILE_NAME = re.compile(r"([0-9a-f]{32}(?:-[0-9]+)?)\.seed([0-9]+)\.r([0-9]+)\.parquet", re.ASCII)

CODE = re.compile(r"[0-9a-f]{16}", re.ASCII)
"""A digest of `hostsim.campaign.code_version`, which is safe as a folder name."""

_INTEGERS = pa.list_(pa.field("element", pa.int64(), nullable=False))
_SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("entities", pa.list_(pa.field("element", pa.string(), nullable=False)), nullable=False),
        pa.field("edges_ps", _INTEGERS),  # only histograms; null for a counter
        pa.field("cells", _INTEGERS),  # entity * buckets + bucket of each cell with a count; null for a counter
        pa.field("sums_ps", _INTEGERS),  # the boundaries, one entity after another; null for a counter
        pa.field("values", _INTEGERS, nullable=False),  # the boundaries, one entity or cell after another
    ]
)
# cumulative values are stored as differences, which take far less space
_ENCODING = {"sums_ps.list.element": "DELTA_BINARY_PACKED", "values.list.element": "DELTA_BINARY_PACKED"}


def run_key(path: Path) -> RunKey | None:
    """The run of a file, by the file's name; None for other files."""
    if match := _FILE_NAME.fullmatch(path.name):
        point_id, seed, replication = match.groups()
        return point_id, int(replication), int(seed)
    return None


@functools.cache
def _code() -> Code:
    return read_code()


def code_digest() -> str:
    """Digest of the code that a run depends on, see `hostsim.campaign.code_version`."""
    return _code().digest


@dataclass(frozen=True)
class Origin:
    """The origin of a run: the first scenario that requested it. Others may have the same point."""

    scenario: str
    parameters: Mapping[str, Scalar]
    """The scenario's values for host and traffic at the point, by dotted path."""


def read_origin(metadata: Mapping[bytes, bytes]) -> Origin | None:
    """The origin in the metadata of a run's file; None if it has none.

    Raises:
        ValueError: it is not an origin.
    """
    if b"hostsim.origin" not in metadata:
        return None
    kept = json.loads(metadata[b"hostsim.origin"])
    if not isinstance(kept, dict) or not isinstance(kept.get("parameters"), dict):
        raise ValueError("is not an origin")
    return Origin(str(kept.get("scenario", "")), kept["parameters"])


def open_run(results: Path, path: Path) -> pq.ParquetFile:
    """Open the file of a run and check its digest; files of the older format have none.

    Args:
        results: the results folder.
        path: the file.

    Raises:
        StoreError: it leads out of the folder, is not a file, or is too large.
        ValueError: it is damaged, or of another format. Errors of pyarrow about a file without digest are not converted.
    """
    whole = confined(results, path).read_bytes()
    has_digest = require_whole(whole)
    # reading only parts of it takes longer
    file = pq.ParquetFile(pa.BufferReader(whole), pre_buffer=False, page_checksum_verification=True)
    require_small_table(path, file.metadata)
    given = int((file.metadata.metadata or {}).get(b"hostsim.format", b"0"))
    require_digest(results, given, _EARLIER_FORMAT, has_digest=has_digest)
    return file


class Store:
    """Runs stored in a folder.

    Attributes:
        folder: the results folder; runs are in ``runs/`` and a folder named by the digest of the code, with a file that
            describes this code.
    """

    def __init__(self, folder: Path, code: str = "") -> None:
        """The runs of one version of the code.

        Args:
            folder: the results folder; may be missing.
            code: digest of that version, the code in use by default.

        Raises:
            StoreError: it is not such a digest.
        """
        if code and not CODE.fullmatch(code):
            raise StoreError(f"{folder}: {code[:40]!r} is not a version of the code")
        self.folder = Path(folder)
        self._swept = False
        self._runs = self.folder / "runs" / (code or code_digest())
        self._is_described = self._is_told = False
        self._warnings: set[str] = set()

    def path(self, key: RunKey) -> Path:
        """The file of a run, existing or not."""
        point_id, replication, seed = key
        return self._runs / point_id[:2] / f"{point_id}.seed{seed}.r{replication}.parquet"

    def runs(self) -> Iterator[RunKey]:
        """The runs of this version of the code, in the order of file names."""
        for path in sorted(self._runs.glob("??/*.parquet")):
            if key := run_key(path):
                yield key

    def others(self) -> int:
        """Number of runs of other versions of the code."""
        return sum(1 for folder in self._others for _ in folder.glob("??/*.parquet"))

    def get(self, key: RunKey) -> RunRecord | None:
        """The run, finished or failed; None if there is no readable file."""
        path = self.path(key)
        try:
            path.lstat()  # the checks of an existing file take twenty times as long
            with open_run(self.folder, path) as file:
                record = _from_table(file.read(use_threads=False), file.metadata.metadata or {})
            if (record.point_id, record.replication, record.seed) == key:
                return record
            problem = "is another run"
        except FileNotFoundError:
            self._tell_of_others(path)
            return None
        except Exception as error:  # a user's file may contain anything
            problem = f"cannot be read ({(str(error) or type(error).__name__).splitlines()[0]})"
        warning = f"{path} {problem}: the run counts as missing"
        if warning not in self._warnings:  # a run is looked up again before it starts
            self._warnings.add(warning)
            _log.warning("%s", warning)
        return None

    def origin(self, key: RunKey) -> Origin | None:
        """The scenario that requested a stored run; None if its file does not name one."""
        try:
            return read_origin(open_run(self.folder, self.path(key)).metadata.metadata or {})
        except (OSError, ValueError, StoreError):
            return None

    def put(self, record: RunRecord, origin: Origin | None = None) -> None:
        """Stores a run, replacing one with the same key.

        Args:
            record: the run.
            origin: the scenario that requested it.

        Raises:
            StoreError: the folder cannot be written.
        """
        self.write((record.point_id, record.replication, record.seed), file_of(record, origin))

    def write(self, key: RunKey, content: bytes) -> None:
        """Writes the file of a run, replacing an existing one.

        Args:
            key: the run.
            content: of `file_of`.

        Raises:
            StoreError: the folder cannot be written.
        """
        path = self.path(key)
        unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            require_inside(self.folder, path.parent)
            if path.is_dir():
                raise StoreError(f"{path}: a run cannot be written, as a folder has its name; remove the folder")
            if not self._swept:
                self._swept = True
                sweep_unfinished(self.folder)
                sweep_unfinished(self.folder / "runs", "**/*.tmp")
            try:
                try:
                    unfinished.write_bytes(content)
                except FileNotFoundError:  # the first run in its folder
                    path.parent.mkdir(parents=True, exist_ok=True)
                    unfinished.write_bytes(content)
                unfinished.replace(path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise StoreError(f"{path}: a run cannot be written: {error}") from error
        if not self._is_described:
            describe(self.folder, self._runs, _code())
            self._is_described = True

    @functools.cached_property
    def _others(self) -> list[Path]:
        """Folders of other versions of the code with runs, the latest first."""
        try:
            folders = [folder for folder in self._runs.parent.iterdir() if folder != self._runs and folder.is_dir()]
            folders = [folder for folder in folders if is_below(folder, self.folder)]
            folders.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
        except (OSError, RuntimeError):  # there are no runs, permission is missing, or links are circular
            return []
        return [folder for folder in folders if any(folder.rglob("*.parquet"))]

    def _tell_of_others(self, path: Path) -> None:
        """Log once why a run is missing: another version of the code made it, or made all existing runs.

        Without any run of this version it is always logged, because hashes of points may have changed, too.
        """
        if self._is_told or not self._others:
            return
        if self._runs.exists() and not any((other / path.relative_to(self._runs)).is_file() for other in self._others):
            return
        self._is_told = True
        kept = difference(self.folder, self._others, _code())
        _log.warning(
            "%s: runs of other versions of the code are kept there and not reused:\n%s", self._runs.parent, kept
        )


def is_same_run(one: RunRecord, other: RunRecord) -> bool:
    """True if two records of a run differ only in wall-clock time and in the axes of the requesting plan."""
    heads = [_to_head(dataclasses.replace(record, axes={}))["hostsim.run"] for record in (one, other)]
    return heads[0] == heads[1] and _to_table(one).equals(_to_table(other))


def file_of(record: RunRecord, origin: Origin | None = None) -> bytes:
    """The file content of a run."""
    whole = pa.BufferOutputStream()
    with pq.ParquetWriter(
        whole,
        _SCHEMA,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        column_encoding=_ENCODING,
        write_page_checksum=True,
        store_schema=False,  # Parquet's schema is sufficient; Arrow's would take half of a small file
    ) as file:
        file.write_table(_to_table(record))
        file.add_key_value_metadata(_to_head(record))
        if origin is not None:
            file.add_key_value_metadata({"hostsim.origin": json.dumps(dataclasses.asdict(origin))})
        file.add_key_value_metadata({DIGEST_KEY: BLANK})
    return with_digest(whole.getvalue().to_pybytes())


def _is_wall_clock(fact: str) -> bool:
    return fact.startswith("wall_")


def _to_table(record: RunRecord) -> pa.Table:
    rows = [
        {"name": name, "entities": series.entities, "values": _columns(series.values)}
        for name, series in record.series.items()
    ]
    rows += [_histogram_row(name, histogram) for name, histogram in record.histograms.items()]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _to_head(record: RunRecord) -> dict[str, str]:
    """Metadata of a file: everything of a record except counters and histograms."""
    head = {
        "point_id": record.point_id,
        "replication": record.replication,
        "seed": record.seed,
        "axes": dict(record.axes),
        "instants_ps": record.instants_ps.tolist(),
        "cut": record.cut,
        "flags": record.flags,
        "facts": {name: value for name, value in record.facts.items() if not _is_wall_clock(name)},
        "error": record.error,
    }
    wall_clock = {name: value for name, value in record.facts.items() if _is_wall_clock(name)}
    return {
        "hostsim.format": str(FORMAT),
        "hostsim.run": json.dumps(head),
        "hostsim.wall_clock": json.dumps(wall_clock),
    }


def _histogram_row(name: str, histogram: Histogram) -> dict[str, Any]:
    boundaries, entities, buckets = histogram.counts.shape
    counts = histogram.counts.reshape(boundaries, entities * buckets)
    cells = np.flatnonzero(counts.any(axis=0))
    return {
        "name": name,
        "entities": histogram.entities,
        "edges_ps": histogram.edges_ps,
        "cells": cells,
        "sums_ps": _columns(histogram.sums_ps),
        "values": _columns(counts[:, cells]),
    }


def _columns(values: IntArray) -> IntArray:
    """The columns of a matrix, one after another."""
    return values.T.ravel()


def _from_table(table: pa.Table, facts: Mapping[bytes, bytes]) -> RunRecord:
    head: dict[str, Any] = json.loads(facts[b"hostsim.run"])
    wall_clock: dict[str, Scalar] = json.loads(facts[b"hostsim.wall_clock"])
    head["instants_ps"] = np.array(head["instants_ps"], dtype=np.int64)
    head["flags"] = tuple(head["flags"])
    head["facts"] |= wall_clock
    boundaries = len(head["instants_ps"])
    series: dict[str, Series] = {}
    histograms: dict[str, Histogram] = {}
    of_histogram = table.column("edges_ps").is_valid().to_pylist()
    edges, cells, sums_ps, samples = (_parts(table, name) for name in ("edges_ps", "cells", "sums_ps", "values"))
    entities = table.column("entities").to_pylist()
    for row, name in enumerate(table.column("name").to_pylist()):
        values = _matrix(samples(row), boundaries)
        if of_histogram[row]:
            sums = _matrix(sums_ps(row), boundaries)
            histograms[name] = _histogram(tuple(entities[row]), edges(row), cells(row), sums, values)
        else:
            series[name] = Series(tuple(entities[row]), values)
    return RunRecord(series=series, histograms=histograms, **head)


def _parts(table: pa.Table, name: str) -> Callable[[int], IntArray]:
    """A function that returns a column's list in a row. All lists come from one array, which is faster."""
    column = table.column(name).combine_chunks()
    flat: IntArray = column.values.to_numpy()
    bounds = column.offsets.to_pylist()
    return lambda row: flat[bounds[row] : bounds[row + 1]]


def _histogram(
    entities: tuple[str, ...], edges: IntArray, cells: IntArray, sums_ps: IntArray, values: IntArray
) -> Histogram:
    buckets = len(edges) - 1
    counts = np.zeros((len(values), len(entities) * buckets), dtype=np.int64)
    counts[:, cells] = values
    return Histogram(entities, edges, counts.reshape(len(values), len(entities), buckets), sums_ps)


def _matrix(flat: IntArray, rows: int) -> IntArray:
    return flat.reshape(-1, rows).T


_KEPT = 500
"""Number of condensed records in memory, as searches read a few records repeatedly."""


def run_of(task: Task) -> RunKey:
    """The run of a task by its key in the store; points with the same simulation share it."""
    return task.point.simulated, task.replication, task.seed


def dressed(record: RunRecord, task: Task) -> RunRecord:
    """A record with the id, axes and warnings of this plan, as another point or plan may have stored it."""
    return replace(
        record, point_id=task.point.id, axes=dict(task.point.axes), flags=(*task.point.warnings, *record.flags)
    )


class _TaskRecords(Mapping[RecordKey, RunRecord]):
    """Records by the keys of their tasks."""

    _tasks: Mapping[RecordKey, Task]

    def __contains__(self, key: object) -> bool:
        return key in self._tasks

    def __iter__(self) -> Iterator[RecordKey]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


class StoredRecords(_TaskRecords):
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
        """These records, preceded by other records of the same store that are not among them."""
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
        """Its key in the store, and its key in earlier versions."""
        points = dict.fromkeys((simulated(self.point), self.point))
        return tuple((point, self.replication, self.seed) for point in points)


class SavedRecords(Mapping[RecordKey, RunRecord]):
    """Records of earlier results, read from the store on demand."""

    def __init__(self, store: Store, runs: Iterable[SavedRun], command: str) -> None:
        """Records of saved runs.

        Args:
            store: store of the version of the code that made them.
            runs: references to the runs.
            command: command that repeats deleted runs, for messages.
        """
        self._store, self._command = store, command
        self._runs = {(run.point, run.replication): run for run in runs}

    def __getitem__(self, key: RecordKey) -> RunRecord:
        run = self._runs[key]
        record = next((stored for key in run.keys if (stored := self._store.get(key)) is not None), None)
        if record is None:
            gone = f"replication {run.replication} of point {run.point} is missing"
            raise StoreError(f"{self._store.folder}: {gone}; `{self._command}` runs it again")
        return replace(
            record, point_id=run.point, axes=run.axes, flags=(*run.warnings, *record.flags, *filter(None, [run.flag]))
        )

    def __iter__(self) -> Iterator[RecordKey]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


class CondensedRecords(_TaskRecords):
    """Condensed records of ended tasks for searches, the latest in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: dict[RecordKey, Task] = {}
        self._latest: OrderedDict[RecordKey, RunRecord] = OrderedDict()

    def add(self, task: Task) -> None:
        """Adds a finished task with a stored run."""
        self._tasks[task.key] = task

    def keep(self, key: RecordKey, short: RunRecord) -> RunRecord:
        """Caches and returns a condensed record that will probably be read soon."""
        self._latest[key] = short
        if len(self._latest) > _KEPT:
            self._latest.popitem(last=False)
        return short

    def __getitem__(self, key: RecordKey) -> RunRecord:
        if key not in self._latest:
            return self.keep(key, condensed(_read(self._store, self._tasks[key])))
        self._latest.move_to_end(key)
        return self._latest[key]


def _read(store: Store, task: Task) -> RunRecord:
    record = store.get(run_of(task))
    if record is None:
        raise StoreError(f"{store.folder}: replication {task.replication} of point {task.point.id} no longer exists")
    return dressed(record, task)
