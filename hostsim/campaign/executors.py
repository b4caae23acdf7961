"""Where runs happen: in this process, in worker processes of this machine, or on a Dask cluster.

An executor is handed tasks and gives records back in whatever order they finish; that order decides nothing. A run that
raises, or whose worker dies, comes back as a failed record.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Protocol, Self

from hostsim.campaign.attempt import Simulate, attempt
from hostsim.campaign.cluster import Cluster
from hostsim.campaign.limit import NO_LIMITS, Limits
from hostsim.campaign.processes import Processes
from hostsim.errors import Fault, InputError, is_integer
from hostsim.record import RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.points import Task

__all__ = ["Executor", "InProcess", "check_options", "open_executor", "processors"]


class Executor(Protocol):
    """Something that runs tasks. A context: leaving it drops what has not finished."""

    @property
    def capacity(self) -> int:
        """Tasks worth having handed out at once; at least 1, and it may change while a sweep runs."""

    @property
    def workers(self) -> int:
        """Tasks that run at the same time; at least 1, and it may change while a sweep runs."""

    def submit(self, task: Task) -> None:
        """Hands a task out."""

    def wait(self) -> list[tuple[Task, RunRecord]]:
        """Blocks until at least one submitted task has ended, and takes out those that have."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def open_executor(simulate: Simulate, jobs: int | None, cluster: str | None, limits: Limits = NO_LIMITS) -> Executor:
    """The executor that the options ask for.

    Args:
        simulate: what a run is; importable by name where other processes do it.
        jobs: worker processes, None for one each processor that this process may use; 1 runs in this process.
        cluster: address of a Dask scheduler.
        limits: what a run may need; one that has any is done by a worker process, also with one job.

    Raises:
        InputError: options that contradict each other or cannot be met.
    """
    check_options(jobs, cluster, limits)
    if cluster is not None:
        return Cluster(simulate, cluster)
    workers = processors() if jobs is None else jobs
    return InProcess(simulate) if workers == 1 and not limits else Processes(simulate, workers, limits)


def check_options(jobs: int | None, cluster: str | None, limits: Limits) -> None:
    """Look at the options of an executor without opening one.

    Raises:
        InputError: options that contradict each other or cannot be met.
    """
    if jobs is not None and (not is_integer(jobs) or jobs < 1):
        raise InputError(Fault("is not a number of workers", "--jobs", str(jobs), "an integer from 1"))
    if cluster is not None:
        if jobs is not None:
            raise InputError(Fault("does not go with --cluster", "--jobs", str(jobs), "one of --jobs, --cluster"))
        if limits:
            allowed = "limits of Dask's own workers: dask worker --memory-limit"
            raise InputError(
                Fault("goes with worker processes of this machine", "--max-memory, --max-time", "", allowed)
            )


def processors() -> int:
    """How many this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class InProcess:
    """Runs tasks here, one by one, while `wait` is called."""

    capacity = workers = 1

    def __init__(self, simulate: Simulate) -> None:
        self._simulate = simulate
        self._tasks: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        """Keeps a task for `wait`."""
        self._tasks.append(task)

    def wait(self) -> list[tuple[Task, RunRecord]]:
        """Runs the oldest task."""
        task = self._tasks.popleft()
        return [(task, attempt(self._simulate, task))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._tasks.clear()
