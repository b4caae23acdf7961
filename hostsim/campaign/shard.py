"""Shards: the parts of a campaign for jobs of a batch system, and the merge of their results folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hostsim.campaign.store import RunKey, Store, code_digest, is_same_run
from hostsim.errors import Fault, InputError, StoreError, raise_faults
from hostsim.scenario.plan import Plan, Search, Task

__all__ = [
    "MOST_SHARDS",
    "Merged",
    "Shard",
    "deal",
    "merge",
    "read_shard",
]


MOST_SHARDS = 100_000


@dataclass(frozen=True)
class Shard:
    """A shard: one of several parts of a campaign."""

    number: int
    """From 1."""
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def read_shard(text: str) -> Shard:
    """Read a shard: ``2/8`` is the second of eight.

    Raises:
        InputError: it is none.
    """
    match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text, re.ASCII)
    if match and len(text) < 32:
        number, count = map(int, match.groups())
        if 1 <= number <= count <= MOST_SHARDS:
            return Shard(number, count)
    allowed = f"I/N, such as 2/8 for the second of eight shards; N at most {MOST_SHARDS}"
    raise InputError(Fault("is not a shard", "--shard", repr(text), allowed))


def deal(plans: Sequence[Plan], shard: Shard) -> list[Plan]:
    """The part of each plan that a shard runs, without its sweep; all shards together run the whole plan.

    A search stays with its first runs. Parts are assigned, the largest first, to the shard with the least work.

    Args:
        plans: the plans of the campaign, in an order that all shards share.
        shard: the shard.
    """
    loads = [0] * shard.count
    dealt = []
    for plan in plans:
        parts = sorted(_parts(plan), key=lambda part: -part.effort)
        tasks: set[tuple[str, int]] = set()
        searches: list[Search] = []
        for part in parts:
            least = loads.index(min(loads))
            loads[least] += max(part.effort, 1)
            if least == shard.number - 1:
                tasks |= {task.key for task in part.tasks}
                searches += part.searches
        mine = tuple(task for task in plan.tasks if task.key in tasks)
        dealt.append(replace(plan, tasks=mine, searches=tuple(searches), swept=()))
    return dealt


@dataclass(frozen=True)
class _Part:
    """An indivisible part: runs, with the search that requests them first."""

    tasks: tuple[Task, ...]
    searches: tuple[Search, ...]
    effort: int


def _parts(plan: Plan) -> Iterable[_Part]:
    left = {task.key: task for task in plan.tasks}
    for search in plan.searches:
        requested = search.wants({})
        tasks = tuple(left.pop(task.key) for task in requested if task.key in left)
        mean = sum(task.point.effort for task in requested) // max(len(requested), 1)
        yield _Part(tasks, (search,), mean * search.most())
    for task in left.values():
        yield _Part((task,), (), task.point.effort)


@dataclass
class Merged:
    """Number of runs of a folder by outcome of the merge."""

    folder: Path
    added: int = 0
    there: int = 0
    """Runs that the target already had."""
    failed: int = 0
    """Failed runs; each remains until a finished run replaces it."""
    unreadable: int = 0
    others: int = 0
    """Runs of other versions of the code, which are not merged."""


def merge(folders: Sequence[Path], target: Path) -> list[Merged]:
    """Merge the runs of results folders into one. The source folders do not change, and the target keeps all its runs.

    A finished run replaces a failed one. Runs of other versions of the code are counted but not merged.

    Args:
        folders: results folders with runs.
        target: the results folder to add to; created if missing.

    Raises:
        InputError: a folder has no runs or is the target, and nothing is merged. Or two records of a run differ: the rest is
            merged, and the target keeps its record.
        StoreError: the target cannot be written.
    """
    faults = [fault for folder in folders for fault in _faults(folder, target)]
    raise_faults(faults)
    store, done = Store(target), []
    for folder in folders:
        source = Store(folder)
        counts = Merged(folder, others=source.others())
        done.append(counts)
        for key in source.runs():
            faults += _add(source, store, key, counts)
    raise_faults(faults)
    return done


def _faults(folder: Path, target: Path) -> list[Fault]:
    try:
        if not (folder / "runs").is_dir():
            return [Fault("contains no runs", "merge", str(folder), "a results folder")]
        if folder.resolve() == target.resolve():
            return [Fault("is the folder to merge into", "merge", str(folder), "other folders")]
    except (OSError, RuntimeError) as error:
        raise StoreError(f"{folder}: cannot be reached: {error}") from error
    return []


def _add(source: Store, target: Store, key: RunKey, counts: Merged) -> list[Fault]:
    """Add one run and count it; returns a fault if the target has a different record of it."""
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
    fault = "has a different record of a run than the target, although both are from this version of the code"
    return [Fault(fault, str(source.path(key)), code_digest(), f"what {target.path(key)} holds")]
