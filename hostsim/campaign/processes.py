"""Worker processes of this machine, each with a pipe of its own.

The pool of the standard library cannot say which run killed its worker and gives up all the others with it; here the end
of a worker's pipe fails that worker's run alone, and another worker takes its place.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import types
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Self

from hostsim.campaign.attempt import Simulate, attempt, failed
from hostsim.record import RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.points import Task

__all__ = ["Processes"]


class Processes:
    """Runs tasks in worker processes.

    They are started when there is something to do for them, and end with this process, however it ends.

    Attributes:
        workers: most processes at a time.
        capacity: as many tasks; each worker holds the one that it runs.
    """

    def __init__(self, simulate: Simulate, workers: int) -> None:
        self.workers = self.capacity = workers
        self._simulate = simulate
        self._processes: dict[Connection, BaseProcess] = {}
        self._tasks: dict[Connection, Task] = {}

    def submit(self, task: Task) -> None:
        """Hands a task to an idle worker, or to a new one."""
        idle = (pipe for pipe in self._processes if pipe not in self._tasks)
        pipe = next(idle, None) or self._start()
        self._tasks[pipe] = task
        with contextlib.suppress(BrokenPipeError):  # the worker is dead: `wait` finds the end of its pipe
            pipe.send(task)

    def wait(self) -> list[tuple[Task, RunRecord]]:
        """Blocks until a worker answers or dies."""
        ready = wait(list(self._tasks))
        return [self._receive(pipe) for pipe in list(self._tasks) if pipe in ready]

    def _receive(self, pipe: Connection) -> tuple[Task, RunRecord]:
        task = self._tasks.pop(pipe)
        try:
            record: RunRecord = pipe.recv()
        except (EOFError, ConnectionResetError):
            process = self._processes.pop(pipe)
            pipe.close()
            process.join()
            return task, failed(task, _last_words(process))
        return task, record

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._simulate), daemon=True)
        with _own_life():
            process.start()
        theirs.close()
        self._processes[ours] = process
        return ours

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for pipe, process in self._processes.items():
            process.join()
            process.close()
            pipe.close()
        self._processes.clear()
        self._tasks.clear()


def _last_words(process: BaseProcess) -> str:
    code = process.exitcode or 0
    cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    hint = "; that often means that the machine ran out of memory" if cause == "SIGKILL" else ""
    return f"the worker process ended before the run did ({cause}{hint})"


@contextlib.contextmanager
def _own_life() -> Iterator[None]:
    """Around the start of a worker: what it must not take over from this process.

    It must not import the caller's script, which would start its sweep anew in there; and it must not hear Ctrl-C before
    it has come far enough to ignore it.
    """
    main, sys.modules["__main__"] = sys.modules["__main__"], types.ModuleType("__main__")
    blocked = None
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # the start of a first worker would, and would lift the block
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _work(pipe: Connection, simulate: Simulate) -> None:
    """A worker's life: runs what comes out of the pipe until its other end is gone. Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send(attempt(simulate, pipe.recv()))
