"""Pool of worker processes on this machine, made of pebble's pools.

The pool of the standard library loses all runs when one worker dies, and cannot end a run at its time limit. Pebble's pool can, but
its workers share a pipe and its locks: a worker that is killed while it holds them blocks the others. So each worker has a
pebble pool with one process (docs/design/store.md).
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TYPE_CHECKING, Any, Self

from pebble import ProcessExpired, ProcessPool

from hostsim.campaign.executor.base import worker_count
from hostsim.campaign.task import NO_LIMITS, OUT_OF_MEMORY, Parcel, ResourceLimits, Simulate, failed_record
from hostsim.errors import WorkerError

if TYPE_CHECKING:
    from hostsim.campaign.packing import Packing
    from hostsim.scenario.plan import Task

__all__ = ["ProcessPoolExecutor", "worker_pool"]

_START = threading.Lock()
"""Lock for starts of workers: each replaces the main module of this process for a moment."""
_CHECK_S = 1.0
"""Interval of checks for broken pools while no run ends."""
_STATUS_0 = 256
"""Replaces exit status 0."""


class ProcessPoolExecutor:
    """Executor that runs tasks in worker processes; the death of one does not affect the others.

    A worker starts when a task finds no idle worker. Workers end with this process, however it ends.

    Attributes:
        workers: largest number of processes.
        capacity: the same; each worker holds the one task that it runs.
    """

    def __init__(self, simulate: Simulate, workers: int, limits: ResourceLimits = NO_LIMITS) -> None:
        self.workers = self.capacity = workers
        self._simulate = simulate
        self._limits = limits
        self._idle: list[_Pool] = []
        self._running: dict[Future[tuple[Any, str | None, float]], tuple[Task, _Pool]] = {}

    def submit(self, task: Task, packing: Packing | None = None) -> None:
        """Submits a task to an idle worker, or to a new one.

        Raises:
            WorkerError: no worker can be started.
        """
        pool = self._idle.pop() if self._idle else _Pool(1, self._simulate)
        try:
            # the limits are those of a run alone
            parcel = Parcel.of(task, None if self._limits else packing)
            future = pool.schedule(_run_timed, (self._simulate, parcel, self._limits), timeout=self._limits.time_s)
        except BrokenProcessPool as error:
            raise WorkerError(f"a worker process cannot be started: {error.__cause__}") from error
        except RuntimeError:  # the idle worker was killed
            _stop(pool)
            self.submit(task, packing)
        else:
            self._running[future] = task, pool

    def wait(self) -> list[tuple[Task, Any]]:
        """Blocks until a run ends, its worker dies, or its time is over."""
        ended: list[Future[tuple[Any, str | None, float]]] = []
        while not ended:
            wait(self._running, _CHECK_S, FIRST_COMPLETED)
            ended = [future for future, (_, pool) in self._running.items() if future.done() or not pool.active]
        return [self._receive(future) for future in ended]

    def _receive(self, future: Future[tuple[Any, str | None, float]]) -> tuple[Task, Any]:
        task, pool = self._running.pop(future)
        error = future.exception() if future.done() else BrokenProcessPool()
        if error is None:
            record, failure, took_s = future.result()
            if (
                self._limits.time_s is not None and took_s > self._limits.time_s
            ):  # pebble itself checks only at intervals
                record = failed_record(task, self._describe(TimeoutError(), pool))
        else:
            record = failed_record(task, self._describe(error, pool))
        if error is None and failure != OUT_OF_MEMORY:
            self._idle.append(pool)
        else:  # the state of pipe and locks is unknown, or the worker's memory is full
            _stop(pool)
        return task, record

    def _describe(self, error: BaseException, pool: _Pool) -> str:
        """The error of a run without a record, in words."""
        if isinstance(error, TimeoutError):
            return f"TimeoutError: the run exceeds its time limit, {self._limits.time_s or 0:g} s"
        if not isinstance(error, ProcessExpired | BrokenProcessPool):
            return f"{type(error).__name__}: {error}"
        # a pool whose worker died between two runs is broken and does not start another
        code = error.exitcode if isinstance(error, ProcessExpired) else pool.context.worker.exitcode or 0
        cause = signal.Signals(-code).name if code < 0 else f"exit status {code % _STATUS_0}"
        hint = "; that often means that the machine ran out of memory" if cause == "SIGKILL" else ""
        return f"the worker process ended before the run did ({cause}{hint})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        _stop(*self._idle, *(pool for _, pool in self._running.values()))
        self._idle.clear()
        self._running.clear()


def _run_timed(simulate: Simulate, parcel: Parcel, limits: ResourceLimits) -> tuple[Any, str | None, float]:
    """Run a task; returns its record, which the parcel may pack, its error, and its wall-clock seconds."""
    started = time.monotonic()
    error = limits.too_small
    if not error:
        try:
            with limits.applied():  # an error outside of the run would end the worker
                record = parcel.run(simulate)
        except MemoryError:
            error = OUT_OF_MEMORY
    if error:
        record = failed_record(parcel.task, error)
    took_s = time.monotonic() - started
    return parcel.packed(record), record.error, took_s


Submit = Callable[..., Future[Any]]
"""Submits a function with its arguments; returns the future of its result."""


@contextlib.contextmanager
def worker_pool(jobs: int | None = None) -> Iterator[Submit]:
    """Pool of worker processes for functions that are importable by name; leaving it cancels unfinished work.

    Args:
        jobs: worker processes, None for one per processor; with 1, work runs in this process at submission.

    Raises:
        InputError: ``jobs`` is not a number of workers.
        WorkerError: a worker process was killed.
    """
    workers = worker_count(jobs)
    if workers == 1:
        yield _call
        return
    pool = _Pool(workers)
    try:
        yield lambda function, *args: pool.schedule(function, args)
    except (ProcessExpired, RuntimeError) as error:
        if isinstance(error, RuntimeError) and pool.active:  # the caller's own
            raise
        cause = "that often means that the machine ran out of memory"
        raise WorkerError(f"a worker process was killed; {cause}") from error
    finally:
        _stop(pool)


def _call(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """Calls a function in this process; exceptions propagate."""
    done: Future[Any] = Future()
    done.set_result(function(*args))
    return done


class _Pool(ProcessPool):
    """Pebble pool of worker processes, which import the function of a run before their memory is limited."""

    def __init__(self, workers: int, simulate: Simulate | None = None) -> None:
        self.context = _Context()
        super().__init__(workers, initializer=_prepare, initargs=(simulate,), context=self.context)

    def _stop_pool(self) -> None:
        """Kills all workers before pebble closes their locks and waits, as a starting worker would report lost locks."""
        if self._pool_manager_loop is not None:  # it starts workers
            self._pool_manager_loop.join()
        for worker in tuple(self._pool_manager.worker_manager.workers.values()):
            worker.kill()
        super()._stop_pool()  # type: ignore[no-untyped-call]


def _stop(*pools: ProcessPool) -> None:
    """Kills the workers of pools."""
    for pool in pools:
        pool.stop()
    for pool in pools:
        pool.join()


def _prepare(simulate: Simulate | None) -> None:
    """Prepares a worker, which already ignores SIGINT through pebble."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # pebble's handler would wait for compiled code to return


class _WorkerProcess(SpawnProcess):
    """A worker process of a pebble pool that ends with this process."""

    def start(self) -> None:
        """Starts the process with Ctrl-C ignored, and without the caller's script, which would run there again."""
        self.daemon = True
        with _START:
            main, sys.modules["__main__"] = sys.modules["__main__"], types.ModuleType("__main__")
            blocked = None
            if sys.platform != "win32":  # inherited until the worker ignores the signal
                blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main
                if blocked is not None:
                    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    @property
    def exitcode(self) -> int | None:
        """The exit status, never 0: pebble takes 0 as a requested end, and would wait for the task forever."""
        return _STATUS_0 if super().exitcode == 0 else super().exitcode


class _Context(SpawnContext):
    """Start method of the worker processes of a pool.

    Attributes:
        worker: the process started last.
    """

    worker: _WorkerProcess

    def Process(self, **arguments: Any) -> _WorkerProcess:  # type: ignore[override]  # noqa: N802
        """Makes a worker process."""
        self.worker = _WorkerProcess(**arguments)
        return self.worker
