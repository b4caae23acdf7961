"""Shard: the part of a campaign that one job of a batch system runs, such as one task of a Slurm job array.

Every job deals the same plans by itself, so that the shards share no run but what two searches may both ask for. Nothing is judged
or drawn in a shard: `hostsim.campaign.merge` puts the stored runs together, and the usual command finds all of them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hostsim.errors import Fault, InputError
from hostsim.scenario.plan import Plan, Search, Task

__all__ = ["MOST_SHARDS", "Shard", "deal", "read_shard"]

MOST_SHARDS = 100_000


@dataclass(frozen=True)
class Shard:
    """A shard: one of so many parts of a campaign."""

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
    raise InputError(Fault("is no shard", "--shard", repr(text), allowed))


def deal(plans: Sequence[Plan], shard: Shard) -> list[Plan]:
    """The part of each plan that a shard runs, without its sweep: all shards together run all of it.

    A search stays with the runs that it asks for at first. Parts go, the largest first, to the shard that has least to do.

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
            place = loads.index(min(loads))
            loads[place] += max(part.effort, 1)
            if place == shard.number - 1:
                tasks |= {task.key for task in part.tasks}
                searches += part.searches
        mine = tuple(task for task in plan.tasks if task.key in tasks)
        dealt.append(replace(plan, tasks=mine, searches=tuple(searches), swept=()))
    return dealt


@dataclass(frozen=True)
class _Part:
    """What cannot be dealt to two shards: runs, and the search that asks for them at first."""

    tasks: tuple[Task, ...]
    searches: tuple[Search, ...]
    effort: int


def _parts(plan: Plan) -> Iterable[_Part]:
    left = {task.key: task for task in plan.tasks}
    for search in plan.searches:
        wanted = search.wants({})
        tasks = tuple(left.pop(task.key) for task in wanted if task.key in left)
        mean = sum(task.point.effort for task in wanted) // max(len(wanted), 1)
        yield _Part(tasks, (search,), mean * search.most())
    for task in left.values():
        yield _Part((task,), (), task.point.effort)
