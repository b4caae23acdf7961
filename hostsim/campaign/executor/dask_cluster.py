"""Dask executor: runs happen on the workers of a Dask cluster (the extra ``cluster``).

Workers join and leave during a sweep, and any of them may have different code of hostsim. So each record has the digest of the
code that made it, and a record of different code is refused: its task goes to another worker. A worker packs its records only if
it has the same bytes of all modules, as that digest does not cover tables and files; otherwise it returns whole records.

A worker may be lost at any moment, even while the record of a finished run is fetched from it; Dask then runs the task again on the next
worker. So Dask's thread fetches records; this thread only waits for a queue and checks the workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from hostsim.campaign.executor.base import LOCAL
from hostsim.campaign.packing import PackedRun, Packing, packing_digest
from hostsim.campaign.store import code_digest
from hostsim.campaign.task import Parcel, Simulate, failed_record
from hostsim.engine.record import RunRecord
from hostsim.errors import ClusterError, Fault, InputError

if TYPE_CHECKING:
    from hostsim.scenario.plan import Task

__all__ = ["DaskExecutor", "run_marked"]

_log = logging.getLogger(__name__)

_CONNECT_S = 10
_CHECK_S = 2.0
"""Interval of checks of the scheduler and its workers while no run ends."""
_REMIND_S = 60.0
"""Interval of messages about missing workers."""
_ATTEMPTS = 3
"""Number of attempts before a task fails because workers are lost or have different code."""

Run = RunRecord | PackedRun
Marked = tuple[str, str, Run | None]
"""Digest of a worker's code, its address, and its record; None if its code differs."""

Ended = tuple[Any, Marked, BaseException | None]
"""Future of an ended task, its result, and its error."""


def run_marked(simulate: Simulate, parcel: Parcel, code: str, packing: bytes, digest: str) -> Marked:
    """Runs a task on a worker, unless the digest of the worker's code differs from the given one.

    Args:
        simulate: the function of a run.
        parcel: the task.
        code: digest of the campaign's code of a run.
        packing: packs the record, pickled, as a worker with other modules might not be able to unpickle it.
        digest: of the campaign's packing; a worker with another one returns the whole record.
    """
    from distributed import get_worker

    mine, worker = code_digest(), str(get_worker().address)
    if mine != code:
        return mine, worker, None
    record = parcel.run(simulate)
    if digest == packing_digest():
        parcel = replace(parcel, packing=pickle.loads(packing))  # noqa: S301  as trusted as its task
    return mine, worker, parcel.packed(record)


class DaskExecutor:
    """Executor that runs tasks on the workers of a Dask cluster, which must have the same code of hostsim as this process.

    A worker with different code that joins later gets no more tasks once it is detected, and its records are refused.

    Raises:
        InputError: Dask is not or only partly installed, no scheduler answers at the address, or a worker has different code.
    """

    def __init__(self, simulate: Simulate, address: str, workers: int) -> None:
        """Connect to a cluster, or start one.

        Args:
            simulate: the function of a run.
            address: address of the scheduler, or `LOCAL`.
            workers: processes of a local cluster.
        """
        self._simulate = simulate
        self._address = address
        self._tasks: dict[Any, tuple[Task, Packing | None]] = {}
        self._held: list[tuple[Task, Packing | None]] = []
        self._bound: dict[Any, set[str]] = {}  # passed to workers only if they differ from Dask's own
        self._attempts: dict[tuple[str, int], int] = {}
        self._ended: SimpleQueue[Ended] = SimpleQueue()
        self._strangers: set[str] = set()
        self._finished = 0
        self._is_lost = False
        self._note, self._noted_at = "", 0.0
        distributed = _distributed(address)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_quiet())
            self._client = _connect(distributed, address, workers, stack)
            self._stack = stack.pop_all()

    @property
    def workers(self) -> int:
        """Number of threads of all connected workers with this code; 1 without any.

        Raises:
            ClusterError: the scheduler is gone.
        """
        return max(1, sum(self._threads().values()))

    @property
    def capacity(self) -> int:
        """Two tasks per thread, so that no thread waits for the network."""
        return 2 * self.workers

    def submit(self, task: Task, packing: Packing | None = None) -> None:
        """Submits a task to the Dask scheduler, or holds it while all workers have different code.

        Raises:
            ClusterError: the scheduler is gone.
        """
        trusted = self._threads().keys() if self._strangers else None
        if trusted is not None and not trusted:
            self._held.append((task, packing))
            return
        workers = None if trusted is None else list(trusted)
        future = self._client.submit(
            run_marked,
            self._simulate,
            Parcel.of(task),
            code_digest(),
            pickle.dumps(packing),
            packing_digest(),
            pure=False,
            workers=workers,
        )
        self._tasks[future] = task, packing
        if trusted is not None:
            self._bound[future] = set(trusted)
        asyncio.run_coroutine_threadsafe(self._fetch(future), self._client.loop.asyncio_loop)

    async def _fetch(self, future: Any) -> None:
        """Queues a task when it has ended and its record has arrived, after any number of attempts."""
        try:
            self._ended.put((future, await future, None))
        except (Exception, asyncio.CancelledError) as error:
            self._ended.put((future, ("", "", None), error))

    def wait(self) -> list[tuple[Task, Run]]:
        """Blocks until at least one task has ended, and returns all ended tasks.

        Raises:
            ClusterError: the scheduler is gone.
        """
        received: list[tuple[Task, Run]] = []
        while not received:
            try:
                ended = [self._ended.get(timeout=_CHECK_S)]
            except Empty:
                self._check_workers()
                continue
            while not self._ended.empty():
                ended.append(self._ended.get())
            both = ((result[0], self._receive(*result)) for result in ended if result[0] in self._tasks)
            received += [(self._tasks.pop(future)[0], run) for future, run in both if run is not None]
            if not received and self._is_lost:
                raise self._loss()
        records = (run.record if isinstance(run, PackedRun) else run for _, run in received)
        self._finished += sum(record.error is None for record in records)
        return received

    def _receive(self, future: Any, marked: Marked, error: BaseException | None) -> Run | None:
        """The record of an ended task, or the packed one; None if the task was submitted again, or the scheduler is lost."""
        task, packing = self._tasks[future]
        self._bound.pop(future, None)
        code, worker, record = marked
        if record is not None and code == code_digest():
            return record
        try:
            self._threads()
        except ClusterError:
            return None
        if future.status == "cancelled":
            self._is_lost = True
            return None
        if type(error).__name__ == "KilledWorker":
            return failed_record(task, f"KilledWorker: {error}")
        # a run never raises, so either the worker lacks the code, or fetching the record failed
        self._strangers |= {worker} if worker else _strangers(self._client)
        self._attempts[task.key] = self._attempts.get(task.key, 0) + 1
        if self._attempts[task.key] < _ATTEMPTS:
            del self._tasks[future]
            self.submit(task, packing)
            return None
        if error is not None:
            return failed_record(task, f"{type(error).__name__}: {error}")
        return failed_record(
            task, f"the worker {worker} has other code of hostsim, {code}; {code_digest()} is used here"
        )

    def _threads(self) -> dict[str, int]:
        """Threads of each worker, except those known to have different code."""
        if self._client.status != "running":
            raise self._loss()
        try:
            threads = self._client.nthreads()
        except OSError as error:
            raise self._loss() from error
        return {worker: int(count) for worker, count in threads.items() if worker not in self._strangers}

    def _check_workers(self) -> None:
        """Submits held tasks to new workers, or logs at intervals that there is no worker."""
        if threads := self._threads():
            left = [future for future, workers in self._bound.items() if workers.isdisjoint(threads)]
            waiting = self._held + [self._tasks.pop(future) for future in left]
            self._held, self._note = [], ""
            for future in left:
                del self._bound[future]
            self._client.cancel(left)
            for task, packing in waiting:
                self.submit(task, packing)
            return
        others = f" but {len(self._strangers)} with other code of hostsim" if self._strangers else ""
        note = f"the scheduler at {self._address} has no worker{others}: waiting for one"
        if note != self._note or time.monotonic() - self._noted_at >= _REMIND_S:
            self._note, self._noted_at = note, time.monotonic()
            _log.warning(note)

    def _loss(self) -> ClusterError:
        self._is_lost = True
        runs = "1 finished run is" if self._finished == 1 else f"{self._finished} finished runs are"
        return ClusterError(f"the scheduler at {self._address} is gone; {runs} kept, the same command resumes")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        level = logging.root.manager.disable
        if self._is_lost:  # the client logs a traceback of its last attempt to connect
            logging.disable()
        try:
            with self._stack, contextlib.closing(self._client):
                if self._client.status == "running":
                    self._client.cancel(list(self._tasks))
        finally:
            logging.disable(level)
        self._tasks.clear()
        self._held.clear()
        self._bound.clear()


def _strangers(client: Any) -> set[str]:
    """Addresses of workers with different code or none."""
    codes = client.run(code_digest, on_error="return")
    return {worker for worker, code in codes.items() if code != code_digest()}


def _distributed(address: str) -> Any:
    """The package; importing it sets levels of its loggers."""
    try:
        return importlib.import_module("distributed")
    except Exception as error:  # a broken installation may raise any exception
        if isinstance(error, ModuleNotFoundError) and error.name == "distributed":
            raise _needs("distributed", address) from None
        reason = f"{type(error).__name__}: {error}"
        fault = Fault(f"cannot be used: the import of distributed fails ({reason})", "--cluster", address)
        raise InputError(fault) from None


def _needs(package: str, address: str) -> InputError:
    fault = Fault(f"needs the package {package}", "--cluster", address, "after pip install 'hostsim[cluster]'")
    return InputError(fault)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Limits Dask's log to warnings, and its client's to errors: lost records are reported by this module."""
    levels = {logging.getLogger("distributed"): logging.WARNING, logging.getLogger("distributed.client"): logging.ERROR}
    before = {logger: logger.level for logger in levels}
    for logger, level in levels.items():
        logger.setLevel(max(level, logger.level))
    try:
        yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)


def _local(distributed: Any, address: str, workers: int) -> Any:
    """A cluster on this machine that other users cannot use or inspect, although they can connect to its ports.

    Connections need a certificate that only its processes have. The HTTP servers that Dask always starts have no pages.
    """
    from dask import config

    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise _needs("cryptography", address) from None
    with config.set({f"distributed.{part}.http.routes": [] for part in ("scheduler", "worker")}):
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            security=security,
            dashboard_address="127.0.0.1:0",  # port of the scheduler's HTTP server: any
            scheduler_kwargs={"dashboard": False},
        )


def _connect(distributed: Any, address: str, workers: int, stack: contextlib.ExitStack) -> Any:
    """An untyped client of the scheduler. A local cluster ends with the stack."""
    if address == LOCAL:
        return distributed.Client(stack.enter_context(_local(distributed, address, workers)), set_as_default=False)
    try:
        client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        fault = Fault(
            f"finds no scheduler ({error})", "--cluster", address, "an address such as tcp://host:8786, or local"
        )
        raise InputError(fault) from error
    if strangers := sorted(_strangers(client)):
        client.close()
        fault = Fault("has workers with other code of hostsim", "--cluster", ", ".join(strangers), "the code used here")
        raise InputError(fault)
    return client
