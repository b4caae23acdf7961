"""Execution of one task: a run's record, or a failed record with its error."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hostsim.plugin.module import place_of
from hostsim.record import AxisValues, RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.plan import Task
    from hostsim.spec.host import PointSpec

__all__ = ["OUT_OF_MEMORY", "Simulate", "failed_record", "run_task"]


OUT_OF_MEMORY = "MemoryError: the run needs more memory than it may have"
"""Error of a run that exceeded its memory limit."""


class Simulate(Protocol):
    """Function of a simulation run, such as `hostsim.campaign.simulate.simulate`."""

    def __call__(self, spec: PointSpec, *, point_id: str, axes: AxisValues, seed: int, replication: int) -> RunRecord:
        """Returns the record of a run; raises where the simulated host broke a law."""


def run_task(simulate: Simulate, task: Task) -> RunRecord:
    """Runs a task and returns its record; an exception becomes the error of a failed record, except for interrupts."""
    point = task.point
    try:
        return simulate(
            point.spec, point_id=point.id, axes=dict(point.axes), seed=task.seed, replication=task.replication
        )
    except MemoryError:
        error = OUT_OF_MEMORY  # a traceback would hold on to what fills the memory
    except (Exception, SystemExit) as raised:  # a plug-in may raise whatever it likes
        error = traceback.format_exc()
        if place := place_of(raised):
            error = f"{error.rstrip()} (plug-in, {place})\n"
    return failed_record(task, error)


def failed_record(task: Task, error: str) -> RunRecord:
    """Returns the record of a failed run: no slices, no counters, the error in words."""
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
