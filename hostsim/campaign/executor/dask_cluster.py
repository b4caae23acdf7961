"""Dask executor: runs happen on the workers of a Dask cluster (the extra ``cluster``)."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from hostsim.campaign.store import code_digest
from hostsim.campaign.task import Simulate, failed_record, run_task
from hostsim.errors import Fault, InputError
from hostsim.record import RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.plan import Task

__all__ = ["DaskExecutor"]

_CONNECT_S = 10


class DaskExecutor:
    """Executor that runs tasks on the workers of a Dask cluster, which must have the same code of hostsim as this process.

    Raises:
        InputError: Dask is not installed, no scheduler answers at the address, or a worker has other code.
    """

    def __init__(self, simulate: Simulate, address: str) -> None:
        self._simulate = simulate
        self._tasks: dict[Any, Task] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._client = _connect(address)

    @property
    def workers(self) -> int:
        """Number of threads of all workers that are connected now."""
        return max(1, int(sum(self._client.nthreads().values())))

    @property
    def capacity(self) -> int:
        """Two tasks per thread, so that none waits for the next to cross the network."""
        return 2 * self.workers

    def submit(self, task: Task) -> None:
        """Hands a task to the Dask scheduler."""
        future = self._client.submit(run_task, self._simulate, task, pure=False)
        self._tasks[future] = task
        future.add_done_callback(self._ended.put)

    def wait(self) -> list[tuple[Task, RunRecord]]:
        """Blocks until at least one task has ended, and returns all that have."""
        futures = [self._ended.get()]
        while not self._ended.empty():
            futures.append(self._ended.get())
        return [self._receive(future) for future in futures]

    def _receive(self, future: Any) -> tuple[Task, RunRecord]:
        task = self._tasks.pop(future)
        error = future.exception()  # a run raises nothing: a worker died, or the cluster failed
        return task, future.result() if error is None else failed_record(task, f"{type(error).__name__}: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.cancel(list(self._tasks))
        self._tasks.clear()
        self._client.close()


def _connect(address: str) -> Any:
    """A client of the scheduler, none of whose methods is typed."""
    try:
        import distributed
    except ImportError:
        fault = Fault("needs the package distributed", "--cluster", address, "after pip install 'hostsim[cluster]'")
        raise InputError(fault) from None
    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        fault = Fault(f"finds no scheduler ({error})", "--cluster", address, "an address such as tcp://host:8786")
        raise InputError(fault) from error
    try:
        codes = client.run(code_digest)
    except ImportError as error:
        codes = {str(error): ""}
    strangers = sorted(worker for worker, code in codes.items() if code != code_digest())
    if strangers:
        client.close()
        fault = Fault("has workers with other code of hostsim", "--cluster", ", ".join(strangers), "the code used here")
        raise InputError(fault)
    return client
