"""In-process executor: runs happen in this process, where a debugger and a profiler find them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Self

from hostsim.campaign.task import Simulate, run_task
from hostsim.record import RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.plan import Task

__all__ = ["InProcessExecutor"]


class InProcessExecutor:
    """Executor that runs tasks one by one in this process, while `wait` is called."""

    capacity = workers = 1

    def __init__(self, simulate: Simulate) -> None:
        self._simulate = simulate
        self._tasks: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        """Queues a task for `wait`."""
        self._tasks.append(task)

    def wait(self) -> list[tuple[Task, RunRecord]]:
        """Runs the oldest task and returns its record."""
        task = self._tasks.popleft()
        return [(task, run_task(self._simulate, task))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._tasks.clear()
