"""Execution of one task: a run's record, or a failed record with its error."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hostsim.plugin.module import place_of
from hostsim.record import AxisValues, RunRecord

if TYPE_CHECKING:
    from hostsim.scenario.plan import Task
    from hostsim.spec.host import PointSpec

__all__ = ["OUT_OF_MEMORY", "Parcel", "Simulate", "failed_record", "run_task"]


OUT_OF_MEMORY = "MemoryError: the run needs more memory than it may have"
"""Error of a run that exceeded its memory limit."""


class Simulate(Protocol):
    """Function of a simulation run, such as `hostsim.campaign.simulate.simulate`."""

    def __call__(self, spec: PointSpec, *, point_id: str, axes: AxisValues, seed: int, replication: int) -> RunRecord:
        """Returns the record of a run; raises where the simulated host broke a law."""


@dataclass(frozen=True)
class Parcel:
    """A task on its way to another process. The run unpacks its point there, so that an error of a plug-in is one of this run."""

    task: Task
    """Without the spec of its point."""
    spec: bytes

    @classmethod
    def of(cls, task: Task) -> Parcel:
        """Pack a task."""
        empty = replace(task.point, spec=None)  # type: ignore[arg-type]  # until it is unpacked
        return cls(replace(task, point=empty), pickle.dumps(task.point.spec))

    def run(self, simulate: Simulate) -> RunRecord:
        """Run the task as `run_task` does."""
        try:
            spec = pickle.loads(self.spec)  # noqa: S301  as much to be trusted as what it was packed in
        except Exception as error:
            return failed_record(self.task, _described(error))
        return run_task(simulate, replace(self.task, point=replace(self.task.point, spec=spec)))


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
        error = _described(raised)
    return failed_record(task, error)


def _described(error: BaseException) -> str:
    """The traceback of an error; the last line says where in a plug-in it comes from."""
    text = "".join(traceback.format_exception(error))
    place = place_of(error)
    return f"{text.rstrip()} (plug-in, {place})\n" if place else text


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
