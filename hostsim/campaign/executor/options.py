"""Choice of an executor by the options ``--jobs``, ``--cluster``, ``--max-memory`` and ``--max-time``."""

from __future__ import annotations

from hostsim.campaign.executor.base import LOCAL, Executor, InProcessExecutor, worker_count
from hostsim.campaign.task import NO_LIMITS, ResourceLimits, Simulate
from hostsim.errors import Fault, InputError

__all__ = ["check_options", "open_executor"]


def open_executor(
    simulate: Simulate, jobs: int | None, cluster: str | None, limits: ResourceLimits = NO_LIMITS
) -> Executor:
    """Opens the executor that the options choose.

    Args:
        simulate: the function of a run; importable by name where other processes call it.
        jobs: worker processes, None for one per processor that this process may use; 1 runs in this process.
        cluster: address of a Dask scheduler, or `LOCAL` for a cluster on this machine with ``jobs`` workers.
        limits: memory and time of a run; with any limit, runs use worker processes, even with one job.

    Raises:
        InputError: the options contradict each other or cannot be met.
    """
    check_options(jobs, cluster, limits)
    if cluster is not None:
        from hostsim.campaign.executor.dask_cluster import DaskExecutor

        return DaskExecutor(simulate, cluster, worker_count(jobs))
    workers = worker_count(jobs)
    if workers == 1 and not limits:
        return InProcessExecutor(simulate)
    from hostsim.campaign.executor.process_pool import ProcessPoolExecutor

    return ProcessPoolExecutor(simulate, workers, limits)


def check_options(jobs: int | None, cluster: str | None, limits: ResourceLimits) -> None:
    """Checks the options of an executor without opening one.

    Raises:
        InputError: the options contradict each other or cannot be met.
    """
    if cluster is None or cluster == LOCAL:
        worker_count(jobs)
    elif jobs is not None:
        raise InputError(
            Fault(
                "cannot be combined with the address of a cluster", "--jobs", str(jobs), "a cluster or a number of jobs"
            )
        )
    if cluster is None:
        return
    if limits:
        allowed = "limits of Dask's own workers: dask worker --memory-limit"
        options = {"--max-memory": limits.memory_bytes, "--max-time": limits.time_s}
        raise InputError(
            Fault("needs worker processes of this machine", option, "", allowed)
            for option, limit in options.items()
            if limit is not None
        )
