"""Stored runs of a results folder, of all versions of the code: found by parameters, and removed.

Properties of a run are read from the head of its file.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostsim.campaign.code_version import ABOUT
from hostsim.campaign.store import CODE, Origin, RunKey, Store, code_digest, open_run, read_origin, run_key
from hostsim.config.files import is_below
from hostsim.engine.record import AxisValues, RunRecord, Scalar
from hostsim.errors import Fault, InputError, StoreError, nearest_name, raise_faults
from hostsim.results.integrity import confined
from hostsim.scenario.plan import simulated

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "RunHead",
    "RunId",
    "StoredRun",
    "prunable",
    "remove",
    "require_results",
    "require_scenario",
    "runs_in",
    "saved_runs",
    "stored_runs",
]

RunId = tuple[str, RunKey]
"""A run of any version: digest of the code, and key."""


@dataclass(frozen=True)
class RunHead:
    """The head of a run's file: all properties of a run except its counters."""

    axes: AxisValues
    """Parameters as in the scenario that requested the run first."""
    origin: Origin | None
    """None for a run stored by an earlier version of hostsim."""
    has_failed: bool


@dataclass(frozen=True)
class StoredRun:
    """A stored run of a results folder."""

    results: Path
    path: Path
    code: str
    """Digest of its version of the code."""
    key: RunKey
    bytes: int
    stored: float
    """Time of storing, in seconds since 1970."""

    @property
    def is_usable(self) -> bool:
        """True if the current code made the run; other runs are not reused."""
        return self.code == code_digest()

    @property
    def id(self) -> RunId:
        """Version and key."""
        return self.code, self.key

    def head(self) -> RunHead | None:
        """Head of the run's file; None if unreadable."""
        try:
            metadata = open_run(self.results, self.path).metadata.metadata or {}
            head: dict[str, Any] = json.loads(metadata[b"hostsim.run"])
            return RunHead(dict(head["axes"]), read_origin(metadata), head["error"] is not None)
        except (OSError, ValueError, KeyError, TypeError, StoreError):
            return None

    def record(self) -> RunRecord | None:
        """Record of the run; None if unreadable."""
        return Store(self.results, self.code).get(self.key)


def require_results(results: Path, place: str) -> Path:
    """Check that a results folder exists.

    Args:
        results: the folder.
        place: argument or option that faults report.

    Returns:
        The folder.

    Raises:
        InputError: it is not a folder.
    """
    if not results.is_dir():
        raise InputError(Fault("is not a folder", place, repr(str(results)), "a results folder, as `run` makes it"))
    return results


def require_scenario(runs: Iterable[StoredRun], name: str) -> None:
    """Check that a scenario requested one of some stored runs first.

    Raises:
        InputError: none of them.
    """
    names = {scenario for run in runs if (scenario := _scenario(run)) is not None}
    if name not in names:
        allowed = ", ".join(sorted(names)) or "none, as no run is stored"
        raise InputError(
            Fault("requested no stored run first", "--scenario", repr(name), allowed, nearest_name(name, names))
        )


def runs_in(results: Path) -> Iterator[StoredRun]:
    """The stored runs of a results folder, by version, in the order of file names.

    Args:
        results: the results folder; may be missing.
    """
    runs = results / "runs"
    for folder in sorted(runs.iterdir()) if runs.is_dir() else ():
        if CODE.fullmatch(folder.name) and folder.is_dir() and is_below(folder, results):
            for path in sorted(folder.glob("??/*.parquet")):
                key = run_key(path)
                if key is not None and path.is_file():
                    status = path.stat()
                    yield StoredRun(results, path, folder.name, key, status.st_size, status.st_mtime)


def prunable(
    runs: Iterable[StoredRun],
    needed: Collection[RunId],
    *,
    usable: bool = False,
    before: float | None = None,
    scenario: str | None = None,
    most_bytes: int | None = None,
) -> list[StoredRun]:
    """The removable runs, the oldest first: those that the code in use cannot reuse and that no saved results need.

    Args:
        runs: all runs of a results folder.
        needed: runs that are always kept, to which saved results refer.
        usable: include runs of the code in use.
        before: only runs stored before this time, in seconds since 1970.
        scenario: only runs that this scenario requested; runs without a recorded scenario are kept.
        most_bytes: remove only until all runs together are at most this large.
    """
    everything = list(runs)
    chosen = [
        run
        for run in sorted(everything, key=lambda run: (run.stored, run.path))
        if (usable or not run.is_usable)
        and run.id not in needed
        and (before is None or run.stored < before)
        and (scenario is None or _scenario(run) == scenario)
    ]
    if most_bytes is None:
        return chosen
    left, taken = sum(run.bytes for run in everything), 0
    while left > most_bytes and taken < len(chosen):
        left -= chosen[taken].bytes
        taken += 1
    return chosen[:taken]


def remove(runs: Iterable[StoredRun]) -> None:
    """Remove stored runs, and folders that become empty.

    Raises:
        StoreError: a file cannot be removed.
    """
    folders = set()
    for run in runs:
        try:
            confined(run.results, run.path).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{run.path}: cannot be removed: {error.strerror or error}") from error
        folders.add(run.path.parent)
    for folder in folders:
        _remove_empty(folder)
    for version in {folder.parent for folder in folders}:
        if [entry.name for entry in version.iterdir()] == [ABOUT]:
            (version / ABOUT).unlink()
        _remove_empty(version)


def _scenario(run: StoredRun) -> str | None:
    head = run.head()
    return None if head is None or head.origin is None else head.origin.scenario


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it is not empty, or another process has just stored a run there
        folder.rmdir()


@dataclass(frozen=True)
class _ReadableRun:
    """A stored run with a readable file."""

    run: StoredRun
    head: RunHead

    @property
    def scenario(self) -> str:
        return "" if self.head.origin is None else self.head.origin.scenario

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """Parameters by path; only the axes if the file has no more."""
        return self.head.axes if self.head.origin is None else self.head.origin.parameters

    @property
    def named(self) -> Mapping[str, Scalar]:
        """Values by path, and by axis name."""
        return {**self.head.axes, **self.parameters}


def stored_runs(
    where: Mapping[str, Scalar | Sequence[Scalar]] | None = None,
    *,
    scenario: str = "*",
    metrics: Sequence[str] | None = None,
    results: str | Path = "results",
    all_versions: bool = False,
) -> pd.DataFrame:
    """Find stored runs by scenario and parameters: one row for each stored run, whichever command made it.

    Args:
        where: values, or lists of values, by dotted path (``{"platform": "esxi-5.0", "traffic.stream.rate": "40 kpps"}``) or by name
            of an axis (``{"receivers": [8, 16]}``). A number is in the base unit of a quantity.
        scenario: name or pattern of names (``dense-*``) of the requesting scenarios. A shared run has the name of the first
            scenario.
        metrics: measures of the catalogue to compute; all by default; ``[]`` reads no record.
        results: folder that stores every run.
        all_versions: include runs of other versions of the code, which no command reuses.

    Returns:
        Columns ``scenario``, ``code``, ``point``, ``replication``, ``seed``, ``stored`` (time), ``bytes`` (of the file) and ``error``; a
        column for each parameter of ``where`` and for each in which the runs differ, by path; a column for each measure. Quantities
        are numbers in their base unit, with the units in ``attrs["units"]``. Parameters that are equal in all rows are in
        ``attrs["parameters"]``. Unreadable files are left out.

    Raises:
        InputError: the folder does not exist, no stored run has such a parameter, or a measure is unknown.
    """
    parameters = dict(where or {})
    names = _metrics(metrics)
    runs = [
        _ReadableRun(run, head)
        for run in runs_in(require_results(Path(results), "results"))
        if (all_versions or run.is_usable) and (head := run.head()) is not None
    ]
    names_of_parameters = list(dict.fromkeys(name for entry in runs for name in entry.named))
    raise_faults(
        Fault(
            "no stored run has this parameter",
            "where",
            repr(name),
            "a dotted path, or an axis of a scenario",
            nearest_name(name, names_of_parameters),
        )
        for name in parameters
        if runs and name not in names_of_parameters
    )
    runs = [entry for entry in runs if fnmatch.fnmatchcase(entry.scenario, scenario) and _fits(entry.named, parameters)]
    return _frame(runs, list(parameters), names)


def saved_runs(results: Path) -> set[RunId]:
    """The runs to which saved results in a results folder refer; folders of other formats count as empty.

    Args:
        results: the results folder, with a folder for each scenario.
    """
    from hostsim.results.folder import read

    needed: set[RunId] = set()
    for file in sorted(results.glob("*/results.json")):
        try:
            kept = read(file.parent)
        except StoreError:
            continue
        keys = kept.runs[["point", "replication", "seed"]].itertuples(index=False, name=None)
        code = str(kept.provenance.get("code", ""))
        # earlier versions stored a run for each point, even for equal simulations
        needed |= {(code, (p, int(r), int(seed))) for point, r, seed in keys for p in (simulated(point), point)}
    return needed


def _metrics(names: Sequence[str] | None) -> list[str]:
    from hostsim.results.metrics.catalogue import CATALOGUE, require_metrics

    if names is None:
        return list(CATALOGUE)
    require_metrics(names, "metrics")
    return list(names)


def _fits(values: Mapping[str, Scalar], parameters: Mapping[str, Scalar | Sequence[Scalar]]) -> bool:
    from hostsim.results.table import is_value

    for name, value_or_values in parameters.items():
        if name not in values:
            return False
        choices = [value_or_values] if isinstance(value_or_values, Scalar) else value_or_values
        if not any(bool(is_value([values[name]], choice).iloc[0]) for choice in choices):
            return False
    return True


def _frame(runs: Sequence[_ReadableRun], first: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    from hostsim.results.metrics.catalogue import CATALOGUE
    from hostsim.results.table import as_numbers

    paths = list(dict.fromkeys(path for entry in runs for path in entry.parameters))
    values = {path: [entry.named.get(path) for entry in runs] for path in dict.fromkeys([*first, *paths])}
    shown = [path for path, column in values.items() if path in first or len(set(map(str, column))) > 1]
    columns: dict[str, Any] = {
        "scenario": [entry.scenario for entry in runs],
        "code": [entry.run.code for entry in runs],
        "point": [entry.run.key[0] for entry in runs],
        "replication": [entry.run.key[1] for entry in runs],
        "seed": [entry.run.key[2] for entry in runs],
        "stored": pd.to_datetime([entry.run.stored for entry in runs], unit="s", utc=True),
        "bytes": [entry.run.bytes for entry in runs],
    }
    records = (entry.run.record() if metrics or entry.head.has_failed else None for entry in runs)
    measured = [_measured(record, metrics) for record in records]
    columns |= {"error": [error for error, _ in measured]}
    columns |= {path: values[path] for path in shown}
    columns |= {name: [row[index] for _, row in measured] for index, name in enumerate(metrics)}
    frame = pd.DataFrame(columns)
    frame.attrs["units"] = {"bytes": "B"} | {name: CATALOGUE[name].unit for name in metrics}
    frame.attrs["parameters"] = {path: column[0] for path, column in values.items() if path not in shown}
    return as_numbers(frame, shown)


def _measured(record: RunRecord | None, metrics: Sequence[str]) -> tuple[str, list[float]]:
    """The error of a run and its measures; NaN if it failed."""
    from hostsim.results.metrics.catalogue import CATALOGUE

    if record is None or record.error is not None:
        return (record.error or "") if record is not None else "", [float("nan")] * len(metrics)
    return "", [CATALOGUE[name].evaluate(record) for name in metrics]
