"""One task on its own: what it ends in, whatever happens to it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hostsim.record import RunRecord, Scalar

if TYPE_CHECKING:
    from hostsim.scenario.points import Task
    from hostsim.spec.host import PointSpec

__all__ = ["OUT_OF_MEMORY", "Simulate", "attempt", "failed"]


OUT_OF_MEMORY = "MemoryError: the run needs more memory than it may have"
"""Error of a run that got no more memory."""


class Simulate(Protocol):
    """One run, as `hostsim.campaign.simulate.simulate` does it."""

    def __call__(
        self, spec: PointSpec, *, point_id: str, axes: Mapping[str, Scalar], seed: int, replication: int
    ) -> RunRecord:
        """The finished run; raises where the simulated host broke a law."""


def attempt(simulate: Simulate, task: Task) -> RunRecord:
    """One run; what it raises becomes the error of its record. Interrupts pass."""
    point = task.point
    try:
        return simulate(
            point.spec, point_id=point.id, axes=dict(point.axes), seed=task.seed, replication=task.replication
        )
    except MemoryError:
        error = OUT_OF_MEMORY  # a traceback would hold on to what fills the memory
    except Exception:
        error = traceback.format_exc()
    return failed(task, error)


def failed(task: Task, error: str) -> RunRecord:
    """The record of a run that came to nothing: no slices, no counters, the error in words."""
    return RunRecord(
        point_id=task.point.id,
        replication=task.replication,
        seed=task.seed,
        axes=dict(task.point.axes),
        instants_ps=np.zeros(1, dtype=np.int64),
        series={},
        histograms={},
        cut=0,
        error=error,
    )
