"""Execution of one task within limits of memory and time; the result is the record of the run or of its failure."""

from __future__ import annotations

import contextlib
import functools
import math
import pickle
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hostsim.engine.record import AxisValues, RunRecord
from hostsim.errors import Fault, raise_faults

if TYPE_CHECKING:
    from hostsim.campaign.packing import Packing
    from hostsim.config.host import PointSpec
    from hostsim.scenario.plan import Task

__all__ = [
    "NO_LIMITS",
    "OUT_OF_MEMORY",
    "Parcel",
    "ResourceLimits",
    "Simulate",
    "failed_record",
    "resource_limits",
    "run_task",
]


@dataclass(frozen=True)
class ResourceLimits:
    """Limits on the memory and the wall-clock time of a run."""

    memory_bytes: int | None = None
    """Memory limit of the process of a run, including libraries; None for no limit."""
    time_s: float | None = None
    """Wall-clock time limit of a run; None for no limit."""

    def __bool__(self) -> bool:
        """True if there is any limit."""
        return self.memory_bytes is not None or self.time_s is not None

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Limits the memory of this process (``RLIMIT_DATA``) inside the block; allocations beyond it raise MemoryError."""
        if self.memory_bytes is None:
            yield
            return
        import resource

        before = resource.getrlimit(resource.RLIMIT_DATA)
        most = self.memory_bytes if before[1] == resource.RLIM_INFINITY else min(self.memory_bytes, before[1])
        resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, before)

    @property
    def too_small(self) -> str:
        """The error of every run if this process alone needs more memory than the limit; otherwise empty."""
        if self.memory_bytes is None or self.memory_bytes >= (needed := _needed_bytes()):
            return ""
        return f"MemoryError: the memory limit is below the {needed / 1e6:.0f} MB of a worker without a run"


_IMPORTS = 8 << 20
"""Bytes for modules that a run imports, whose errors would not be a MemoryError."""


@functools.cache
def _needed_bytes() -> int:
    """Memory that ``RLIMIT_DATA`` counts, of this process before its first run; 0 if the system does not state it."""
    if not Path("/proc/self/status").exists():
        return 0
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return (int(status.partition("VmData:")[2].split()[0]) << 10) + _IMPORTS


NO_LIMITS = ResourceLimits()
_MOST_BYTES = 2**63
"""Smallest number of bytes that exceeds every system's limit."""


def resource_limits(memory_bytes: float | None, time_s: float | None) -> ResourceLimits:
    """Checks the resource limits of options, and returns them.

    Raises:
        InputError: a value is not a limit, or this system cannot enforce it.
    """
    faults = []
    if memory_bytes is not None and not (0 < memory_bytes < _MOST_BYTES and memory_bytes % 1 == 0):
        allowed = f"whole bytes above 0 and below {_MOST_BYTES:.3g}"
        faults.append(Fault("is not a limit", "--max-memory", _words(memory_bytes, "B"), allowed))
    if time_s is not None and not (isinstance(time_s, Real) and 0 < time_s < math.inf):
        faults.append(Fault("is not a limit", "--max-time", _words(time_s, "s"), "a finite time above 0"))
    if memory_bytes is not None and sys.platform != "linux":
        faults.append(Fault("cannot be enforced on this system", "--max-memory", f"{memory_bytes} B", "Linux"))
    raise_faults(faults)
    return ResourceLimits(None if memory_bytes is None else int(memory_bytes), time_s)


def _words(given: object, unit: str) -> str:
    return f"{given:g} {unit}" if isinstance(given, int | float) else repr(given)


OUT_OF_MEMORY = "MemoryError: the run exceeds its memory limit"
"""Error of a run that exceeded its memory limit."""


class Simulate(Protocol):
    """Function of a simulation run, such as `hostsim.campaign.simulate.simulate`."""

    def __call__(self, spec: PointSpec, *, point_id: str, axes: AxisValues, seed: int, replication: int) -> RunRecord:
        """Returns the record of a run; raises if an invariant of the host is violated."""


@dataclass(frozen=True)
class Parcel:
    """A packed task for another process, where the run unpacks its point, so that plug-in errors belong to the run."""

    task: Task
    """The task without the spec of its point."""
    spec: bytes
    packing: Packing | None = None
    """Packs the record after the run; None for the whole record."""

    @classmethod
    def of(cls, task: Task, packing: Packing | None = None) -> Parcel:
        """Pack a task."""
        empty = replace(task.point, spec=None)  # type: ignore[arg-type]  # until it is unpacked
        return cls(replace(task, point=empty), pickle.dumps(task.point.spec), packing)

    def packed(self, record: RunRecord) -> Any:
        """The packed run; the record itself if it cannot be packed, so that the error belongs to the campaign's process."""
        if self.packing is None:
            return record
        try:
            return self.packing(self.task, record)
        except Exception:
            return record

    def run(self, simulate: Simulate) -> RunRecord:
        """Run the task as `run_task` does."""
        try:
            spec = pickle.loads(self.spec)  # noqa: S301  as trusted as its container
        except Exception as error:
            return failed_record(self.task, _described(error))
        return run_task(simulate, replace(self.task, point=replace(self.task.point, spec=spec)))


def run_task(simulate: Simulate, task: Task) -> RunRecord:
    """Runs a task and returns its record; an exception becomes the error of a failed record, except for interrupts."""
    point = task.point
    try:
        return simulate(
            point.spec, point_id=point.simulated, axes=dict(point.axes), seed=task.seed, replication=task.replication
        )
    except MemoryError:
        error = OUT_OF_MEMORY  # a traceback would keep alive the objects that fill the memory
    except (Exception, SystemExit) as raised:  # a plug-in may raise any exception
        error = _described(raised)
    return failed_record(task, error)


def _described(error: BaseException) -> str:
    """The traceback of an error; the last line has its place in a plug-in."""
    from hostsim.plugin.module import place_of  # workers whose runs do not fail start sooner without it

    text = "".join(traceback.format_exception(error))
    where = place_of(error)
    return f"{text.rstrip()} (plug-in, {where})\n" if where else text


def failed_record(task: Task, error: str) -> RunRecord:
    """Returns the record of a failed run: no slices, no counters, the error in words."""
    return RunRecord(
        point_id=task.point.simulated,
        replication=task.replication,
        seed=task.seed,
        axes=dict(task.point.axes),
        instants_ps=np.zeros(1, dtype=np.int64),
        series={},
        histograms={},
        cut=0,
        error=error,
    )
