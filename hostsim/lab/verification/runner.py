"""All test oracles, run in worker processes; results do not depend on the number of workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import lru_cache

from hostsim.campaign.deferred_sigint import deferred_sigint
from hostsim.campaign.executor.base import worker_count
from hostsim.campaign.executor.process_pool import worker_pool
from hostsim.lab.verification.interrupt import interrupt_moderation, periodic_polling, static_coalescing
from hostsim.lab.verification.littles_law import littles_law_stages
from hostsim.lab.verification.oracle import Oracle, OracleOutcome, OracleResult, compare_with_theory
from hostsim.lab.verification.queues import (
    batch_arrivals,
    bulk_service,
    finite_buffer,
    multiple_servers,
    polling,
    priority_classes,
    processor_sharing,
    single_server,
)
from hostsim.results.verdicts import number

__all__ = ["FULL", "HEADINGS", "QUICK", "Effort", "all_passed", "oracles", "rows", "verify"]


def oracles() -> list[Oracle]:
    """All test oracles, in the order of the report."""
    cases = [
        *single_server(),
        *finite_buffer(),
        *batch_arrivals(),
        *bulk_service(),
        *multiple_servers(),
        *priority_classes(),
        *processor_sharing(),
    ]
    cases += [*polling(), *static_coalescing(), *interrupt_moderation(), *periodic_polling(), *littles_law_stages()]
    assert len({oracle.name for oracle in cases}) == len(cases)
    return cases


HEADINGS = ("case", "quantity", "theory", "simulated", "99.9 % interval", "half-width", "verdict")


def rows(results: Iterable[OracleResult]) -> list[tuple[str, ...]]:
    """The result table: a row for each quantity, under `HEADINGS`."""
    return [
        (
            result.oracle.name,
            result.quantity.name,
            number(result.quantity.theory),
            number(result.interval.mean),
            f"{number(result.interval.low)} to {number(result.interval.high)}",
            f"{100 * result.half:.2f} %",
            result.outcome.value,
        )
        for result in results
    ]


@dataclass(frozen=True)
class Effort:
    """Effort of a verification: number and length of replications, and the allowed interval width."""

    replications: int
    share: float
    """Total length of all replications, as a share of the full length."""
    widening: float
    """Factor on the allowed half-widths."""


FULL = Effort(replications=96, share=1.0, widening=1.0)
QUICK = Effort(replications=24, share=1 / 20, widening=7.0)
"""A twentieth of the length makes intervals 4.5 times as wide, and a quarter of the replications another 1.1 times; the
remainder allows for widths that vary by a sixth.
"""


def verify(
    chosen: Sequence[Oracle],
    *,
    seed: int = 1,
    effort: Effort = FULL,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[OracleResult]:
    """Run oracles and compare them with theory.

    Args:
        chosen: from the catalogue.
        seed: root of all random streams.
        effort: number and length of replications.
        jobs: worker processes; None for one per available processor, 1 for this process only.
        progress: called with the numbers of finished and all runs.

    Raises:
        InputError: ``jobs`` is not a number of workers.
        WorkerError: a worker process was killed.
    """
    portion = effort.share / effort.replications
    replications = range(effort.replications)
    tasks = [(oracle.name, seed, replication, portion) for oracle in chosen for replication in replications]
    values: dict[_Task, tuple[float, ...]] = {}
    for task, value in _run_all(tasks, jobs):
        values[task] = value
        if progress is not None:
            progress(len(values), len(tasks))
    results = []
    for oracle in chosen:
        samples = [values[oracle.name, seed, replication, portion] for replication in replications]
        results += compare_with_theory(oracle, samples, effort.widening)
    return results


def all_passed(results: Iterable[OracleResult]) -> bool:
    """True if every quantity passed."""
    return all(result.outcome is OracleOutcome.PASS for result in results)


_Task = tuple[str, int, int, float]


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Oracle]:
    return {oracle.name: oracle for oracle in oracles()}


def _run(task: _Task) -> tuple[float, ...]:
    name, seed, replication, portion = task
    with deferred_sigint():
        return _by_name()[name].run(seed, replication, portion)


def _run_all(tasks: list[_Task], jobs: int | None) -> Iterator[tuple[_Task, tuple[float, ...]]]:
    if worker_count(jobs) == 1:  # each result is yielded before the next starts
        yield from ((task, _run(task)) for task in tasks)
        return
    with worker_pool(jobs) as submit:
        futures = {submit(_run, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
