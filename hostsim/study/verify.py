"""Runs the oracles, in worker processes, and judges them. Results do not depend on the number of workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache

from hostsim.campaign.hold import hold
from hostsim.study.catalogue import oracles
from hostsim.study.oracle import Finding, Oracle, Verdict, judge

__all__ = ["FULL", "QUICK", "Fidelity", "passed", "verify"]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How long the runs are, and how wide the intervals may be for it."""

    replications: int
    share: float
    """Share of the full length, over all replications."""
    widening: float
    """Factor on the half-widths allowed."""


FULL = Fidelity(replications=96, share=1.0, widening=1.0)
QUICK = Fidelity(replications=24, share=1 / 20, widening=7.0)
"""A twentieth of the length makes intervals 4.5 times as wide, a quarter of the replications again 1.1 times; the rest is room for
the widths themselves, which vary by a sixth then."""


def verify(
    chosen: Sequence[Oracle],
    *,
    seed: int = 1,
    fidelity: Fidelity = FULL,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Run oracles and judge them.

    Args:
        chosen: from the catalogue.
        seed: root of all random streams.
        fidelity: how long.
        jobs: worker processes; None for one each processor that this process may use, 1 for none but this process.
        progress: told how many runs are done, of how many.
    """
    portion = fidelity.share / fidelity.replications
    replications = range(fidelity.replications)
    tasks = [(oracle.name, seed, replication, portion) for oracle in chosen for replication in replications]
    values: dict[_Task, tuple[float, ...]] = {}
    for task, value in _run_all(tasks, jobs or _processors()):
        values[task] = value
        if progress is not None:
            progress(len(values), len(tasks))
    findings = []
    for oracle in chosen:
        samples = [values[oracle.name, seed, replication, portion] for replication in replications]
        findings += judge(oracle, samples, fidelity.widening)
    return findings


def passed(findings: Iterable[Finding]) -> bool:
    """True when every one passed."""
    return all(finding.verdict is Verdict.PASS for finding in findings)


_Task = tuple[str, int, int, float]


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Oracle]:
    return {oracle.name: oracle for oracle in oracles()}


def _run(task: _Task) -> tuple[float, ...]:
    name, seed, replication, portion = task
    return _by_name()[name].run(seed, replication, portion)


def _run_all(tasks: list[_Task], jobs: int) -> Iterator[tuple[_Task, tuple[float, ...]]]:
    if jobs == 1:
        for task in tasks:
            with hold():
                values = _run(task)
            yield task, values
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_belong_to_parent) as executor:
        try:
            waiting: dict[Future[tuple[float, ...]], _Task] = {}
            rest = iter(tasks)
            while True:
                for task in rest:
                    waiting[executor.submit(_run, task)] = task
                    if len(waiting) >= 4 * jobs:
                        break
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def _belong_to_parent() -> None:
    """Ctrl-C is the parent's business, and a worker ends with it, however it ends: the pool's own workers would wait for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def outlive_nobody() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=outlive_nobody, daemon=True).start()


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1
