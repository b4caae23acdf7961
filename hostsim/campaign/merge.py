"""Merge of results folders: the runs that several jobs have stored, such as the shards of a batch job, put into one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hostsim.campaign.store import RunKey, Store, code_digest, is_same_run
from hostsim.errors import Fault, InputError, StoreError

__all__ = ["Merged", "merge"]


@dataclass
class Merged:
    """Count of the runs that a folder had, by what became of them."""

    folder: Path
    added: int = 0
    there: int = 0
    """Runs that the target had already."""
    failed: int = 0
    """Runs with an error. Each is kept until a finished run takes its place."""
    unreadable: int = 0
    others: int = 0
    """Runs of other versions of the code, which stay where they are."""


def merge(folders: Sequence[Path], target: Path) -> list[Merged]:
    """Put the runs of results folders into one. The folders stay as they are, and the target keeps all that it has.

    A finished run takes the place of a failed one. Runs of other versions of the code are counted and not taken.

    Args:
        folders: results folders with runs.
        target: the results folder to add to; it need not be there.

    Raises:
        InputError: a folder is none with runs, or is the target; nothing is merged then. Or two records of a run differ:
            everything else is merged, and the target keeps its own.
        StoreError: the target cannot be written.
    """
    faults = [fault for folder in folders for fault in _faults(folder, target)]
    if faults:
        raise InputError(faults)
    store, done = Store(target), []
    for folder in folders:
        source = Store(folder)
        counts = Merged(folder, others=source.others())
        done.append(counts)
        for key in source.runs():
            faults += _add(source, store, key, counts)
    if faults:
        raise InputError(faults)
    return done


def _faults(folder: Path, target: Path) -> list[Fault]:
    try:
        if not (folder / "runs").is_dir():
            return [Fault("holds no runs", "merge", str(folder), "a folder that --results has named")]
        if folder.resolve() == target.resolve():
            return [Fault("is the folder to merge into", "merge", str(folder), "other folders than that of --results")]
    except (OSError, RuntimeError) as error:
        raise StoreError(f"{folder}: cannot be reached: {error}") from error
    return []


def _add(source: Store, target: Store, key: RunKey, counts: Merged) -> list[Fault]:
    """Add one run, and count it; the fault where the target has another record of it."""
    record = source.get(key)
    if record is None:
        counts.unreadable += 1
        return []
    counts.failed += record.error is not None
    mine = target.get(key) if target.path(key).exists() else None
    if mine is None or (mine.error is not None and record.error is None):
        target.put(record, source.origin(key))
        counts.added += 1
        return []
    counts.there += 1
    if mine.error is not None or record.error is not None or is_same_run(mine, record):
        return []
    fault = "holds another record of a run than the target, though both are of this version of the code"
    return [Fault(fault, str(source.path(key)), code_digest(), f"what {target.path(key)} holds")]
