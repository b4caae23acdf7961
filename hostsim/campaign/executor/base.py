"""Executor protocol, by which the driver submits runs and gets records; and the executor in this process."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, Self

from hostsim.campaign.processors import processor_count
from hostsim.campaign.task import Simulate, run_task
from hostsim.engine.record import RunRecord
from hostsim.errors import Fault, InputError, is_integer

if TYPE_CHECKING:
    from hostsim.campaign.packing import Packing
    from hostsim.scenario.plan import Task

__all__ = [
    "LOCAL",
    "Executor",
    "InProcessExecutor",
    "worker_count",
]


LOCAL = "local"
"""Name of a cluster on this machine, used instead of a scheduler's address."""


class Executor(Protocol):
    """Executor of the runs of a sweep; a context manager that cancels unfinished runs at its end."""

    @property
    def capacity(self) -> int:
        """Number of submitted tasks that is useful; at least 1, and it may change during a sweep."""

    @property
    def workers(self) -> int:
        """Number of concurrent tasks; at least 1, and it may change during a sweep."""

    def submit(self, task: Task, packing: Packing | None = None) -> None:
        """Submits a task; the caller respects the capacity. Its process packs the record, if it can."""

    def wait(self) -> list[tuple[Task, Any]]:
        """Blocks until at least one submitted task has ended; returns all ended tasks with a record or `PackedRun`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def worker_count(jobs: int | None) -> int:
    """Number of workers for ``--jobs``; by default one per available processor.

    Raises:
        InputError: it is not an integer of at least 1.
    """
    if jobs is None:
        return processor_count()
    if not is_integer(jobs) or jobs < 1:
        raise InputError(Fault("is not a number of workers", "--jobs", str(jobs), "an integer from 1"))
    return jobs


class InProcessExecutor:
    """Executor that runs tasks one by one in this process, during `wait`."""

    capacity = workers = 1

    def __init__(self, simulate: Simulate) -> None:
        self._simulate = simulate
        self._tasks: deque[Task] = deque()

    def submit(self, task: Task, packing: Packing | None = None) -> None:
        """Queues a task for `wait`, which returns the whole record."""
        self._tasks.append(task)

    def wait(self) -> list[tuple[Task, RunRecord]]:
        """Runs the oldest task and returns its record."""
        task = self._tasks.popleft()
        return [(task, run_task(self._simulate, task))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._tasks.clear()
