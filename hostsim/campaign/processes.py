"""Worker processes of this machine, each with a pipe of its own.

The pool of the standard library cannot say which run killed its worker and gives up all the others with it; here the end
of a worker's pipe fails that worker's run alone, and another worker takes its place.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
import time
import types
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Self

from hostsim.campaign.attempt import OUT_OF_MEMORY, Simulate, attempt, failed
from hostsim.campaign.limit import NO_LIMITS, Limits
from hostsim.record import RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.points import Task

__all__ = ["Processes", "own_life"]

_BIRTH = threading.Lock()
"""One thread at a time starts a worker: what is put aside meanwhile belongs to all of the process."""
MOST_PATIENCE_S = 3600.0
"""A system waits for weeks at most, and says that more is too large a number."""


class Processes:
    """Runs tasks in worker processes.

    They are started when there is something to do for them, and end with this process, however it ends.

    Attributes:
        workers: most processes at a time.
        capacity: as many tasks; each worker holds the one that it runs.
    """

    def __init__(self, simulate: Simulate, workers: int, limits: Limits = NO_LIMITS) -> None:
        self.workers = self.capacity = workers
        self._simulate = simulate
        self._limits = limits
        self._begun: dict[Connection, float] = {}  # when each worker began with its task
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
        """Blocks until a worker answers, dies or takes longer than it may."""
        ended: list[tuple[Task, RunRecord]] = []
        while not ended:
            ready = wait(list(self._tasks), self._patience())
            for pipe in list(self._tasks):
                record = self._receive(pipe) if pipe in ready else self._overdue(pipe)
                if record is not None:
                    ended.append((self._tasks.pop(pipe), record))
        return ended

    def _receive(self, pipe: Connection) -> RunRecord | None:
        """The record that a worker sends, or what is left of one that has died; None when it has only begun."""
        try:
            record: RunRecord | None = pipe.recv()
        except (EOFError, OSError):  # an OSError where it dies in the midst of sending
            return failed(self._tasks[pipe], _last_words(self._end(pipe)))
        if record is None:
            self._begun[pipe] = time.monotonic()
            return None
        self._begun.pop(pipe, None)
        if record.error == OUT_OF_MEMORY:
            self._end(pipe)  # its memory is full of what was left
        return record

    def _patience(self) -> float | None:
        """Seconds until the next worker has taken too long, or until it is time to look again; None where none can."""
        if self._limits.time_s is None or not self._begun:
            return None
        return min(max(0.0, min(self._begun.values()) + self._limits.time_s - time.monotonic()), MOST_PATIENCE_S)

    def _overdue(self, pipe: Connection) -> RunRecord | None:
        """The record of a run that has taken too long, whose worker is ended; None when it has not."""
        most = self._limits.time_s
        if most is None or pipe not in self._begun or time.monotonic() - self._begun[pipe] < most:
            return None
        self._end(pipe)
        return failed(self._tasks[pipe], f"TimeoutError: the run takes longer than it may, {most:g} s")

    def _end(self, pipe: Connection) -> BaseProcess:
        """Ends a worker, if it has not ended by itself."""
        process = self._processes.pop(pipe)
        self._begun.pop(pipe, None)
        pipe.close()
        if process.is_alive() and self._limits:
            process.kill()
        process.join()
        return process

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._simulate, self._limits), daemon=True)
        with own_life():
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
def own_life() -> Iterator[None]:
    """Around the start of a worker: what it must not take over from this process.

    It must not import the caller's script, which would start its sweep anew in there; and it must not hear Ctrl-C before
    it has come far enough to ignore it.
    """
    with _BIRTH:
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


def _work(pipe: Connection, simulate: Simulate, limits: Limits) -> None:
    """A worker's life: runs what comes out of the pipe until its other end is gone. Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limits.apply()
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            task = pipe.recv()
            pipe.send(None)  # it begins: what came before was starting up, and is not the run's
            pipe.send(attempt(simulate, task))
