"""Stored runs of a results folder, of all versions of the code: listed by the heads of their files, and removed if unused."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostsim.campaign.code_version import ABOUT
from hostsim.campaign.store import CODE, Origin, RunKey, Store, code_digest, open_run, read_origin, run_key
from hostsim.config.files import is_below
from hostsim.engine.record import AxisValues, RunRecord
from hostsim.errors import StoreError
from hostsim.results.confinement import confined

__all__ = ["RunHead", "RunId", "StoredRun", "prunable", "remove", "stored_runs"]

RunId = tuple[str, RunKey]
"""A run of any version: digest of the code, and key."""


@dataclass(frozen=True)
class RunHead:
    """The head of a run's file: all properties of a run except its counters."""

    axes: AxisValues
    """As in the scenario that requested it first."""
    origin: Origin | None
    """None for a run that an earlier version of hostsim stored."""
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
        """True if the code in use made it; no other run is reused."""
        return self.code == code_digest()

    @property
    def id(self) -> RunId:
        """Version and key."""
        return self.code, self.key

    def head(self) -> RunHead | None:
        """Head of its file; None if unreadable."""
        try:
            metadata = open_run(self.results, self.path).metadata.metadata or {}
            head: dict[str, Any] = json.loads(metadata[b"hostsim.run"])
            return RunHead(dict(head["axes"]), read_origin(metadata), head["error"] is not None)
        except (OSError, ValueError, KeyError, TypeError, StoreError):
            return None

    def record(self) -> RunRecord | None:
        """Its record; None if unreadable."""
        return Store(self.results, self.code).get(self.key)


def stored_runs(results: Path) -> Iterator[StoredRun]:
    """The stored runs of a results folder, version by version, in the order of their files' names.

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
        if [place.name for place in version.iterdir()] == [ABOUT]:
            (version / ABOUT).unlink()
        _remove_empty(version)


def _scenario(run: StoredRun) -> str | None:
    head = run.head()
    return None if head is None or head.origin is None else head.origin.scenario


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it is not empty, or another process has just stored a run there
        folder.rmdir()
