"""Work that does not have to be waited for: done by worker processes while this one goes on."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from hostsim.campaign.executors import check_options, processors
from hostsim.campaign.limit import NO_LIMITS
from hostsim.campaign.processes import own_life
from hostsim.errors import StoreError

__all__ = ["aside"]


@contextlib.contextmanager
def aside(jobs: int | None = None) -> Iterator[Executor]:
    """An executor with worker processes, for functions that are importable by name; all is done when it is left.

    An exception that leaves it drops what has not begun.

    Args:
        jobs: most processes, one each processor where None; with 1 the work is done here, before ``submit`` returns.

    Raises:
        InputError: that is no number of workers.
        StoreError: a worker process was killed.
    """
    check_options(jobs, None, NO_LIMITS)
    workers = processors() if jobs is None else jobs
    executor = _Here() if workers == 1 else _Workers(workers)
    try:
        yield executor
    except BrokenProcessPool as error:
        cause = "that often means that the machine ran out of memory"
        raise StoreError(f"a worker process that writes tables and figures was killed; {cause}") from error
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


class _Here(Executor):
    """Does the work in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Does it now; an exception is the caller's at once."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class _Workers(ProcessPoolExecutor):
    """Worker processes that know nothing of the caller's script."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hands the work to a process, which may have to be started for it."""
        with own_life():
            return super().submit(fn, *args, **kwargs)
