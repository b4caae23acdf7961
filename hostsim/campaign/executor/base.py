"""Executor protocol: how the driver of a sweep hands out runs and takes back their records.

The order in which runs finish decides nothing. A run that raises, or whose worker dies, comes back as a failed record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from hostsim.errors import Fault, InputError, is_integer
from hostsim.processors import processor_count
from hostsim.record import RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.plan import Task

__all__ = ["LOCAL", "Executor", "worker_count"]

LOCAL = "local"
"""Cluster of this machine, in place of the address of a scheduler."""


class Executor(Protocol):
    """Executor of the runs of a sweep; a context manager that drops the unfinished ones when it is left."""

    @property
    def capacity(self) -> int:
        """Number of tasks worth having handed out at once; at least 1, and it may change while a sweep runs."""

    @property
    def workers(self) -> int:
        """Number of tasks that run at the same time; at least 1, and it may change while a sweep runs."""

    def submit(self, task: Task) -> None:
        """Hands out a task; the caller keeps to the capacity."""

    def wait(self) -> list[tuple[Task, RunRecord]]:
        """Blocks until at least one submitted task has ended, and returns all that have."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def worker_count(jobs: int | None) -> int:
    """Number of workers that ``--jobs`` gives; by default one per processor that this process may use.

    Raises:
        InputError: it is no integer from 1.
    """
    if jobs is None:
        return processor_count()
    if not is_integer(jobs) or jobs < 1:
        raise InputError(Fault("is not a number of workers", "--jobs", str(jobs), "an integer from 1"))
    return jobs
