"""A tiny real run and plans of it, which the campaign's tests use instead of a host.

The spec of a point is a mapping of what its run shall do; a point's axes are the same mapping.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from hostsim.engine.record import Histogram, RunRecord, Scalar, Series
from hostsim.results.search_answer import SearchAnswer
from hostsim.scenario.plan import Fidelity, Plan, Point, Task
from hostsim.units import MS


def point(warnings: tuple[str, ...] = (), **axes: Scalar) -> Point:
    return Point(hashlib.sha256(json.dumps(axes).encode()).hexdigest()[:32], axes, axes, warnings)


def tasks(points: Sequence[Point], replications: int = 2, seed: int = 1) -> tuple[Task, ...]:
    return tuple(Task(p, replication, seed) for p in points for replication in range(replications))


def plan(tasks: Sequence[Task], searches: Sequence[Any] = ()) -> Plan:
    return Plan(scenario=None, fidelity=Fidelity(), tasks=tuple(tasks), searches=tuple(searches))


def toy_record(seed: int, replication: int, *, point_id: str = "ab" * 16, **fields: Any) -> RunRecord:
    """A record with counters of several shapes and a histogram, all drawn from its seed."""
    draw = np.random.default_rng([seed, replication])
    boundaries = 9

    def grow(columns: int) -> np.ndarray:
        return np.vstack(
            [np.zeros((1, columns), np.int64), draw.integers(0, 10**9, (boundaries - 1, columns)).cumsum(0)]
        )

    counts = np.zeros((boundaries, 2, 40), np.int64)
    counts[1:, :, 7:11] = draw.integers(0, 5, (boundaries - 1, 2, 4)).cumsum(0)
    return RunRecord(
        point_id=point_id,
        replication=replication,
        seed=seed,
        instants_ps=np.arange(boundaries, dtype=np.int64) * 10**12,
        series={
            "flow.sent": Series(("stream",), grow(1)),
            "pcpu.busy_ps": Series(("pcpu0", "pcpu1", "pcpu2"), grow(3)),
            "splitrx.used_ps": Series((), grow(0)),
        },
        histograms={"flow.latency": Histogram(("a", "b"), np.arange(41, dtype=np.int64) ** 3, counts, grow(2))},
        **{"axes": {}, "cut": 2, "facts": {"events": 17, "wall_s": 0.25}, **fields},
    )


def answered_record(times_ms: Sequence[int], *, cut: int = 0) -> RunRecord:
    """A run with a slice of 10 ms for each time; in each slice five hundred requests are answered after that many milliseconds."""
    return requests_record([[time_ms] * 500 for time_ms in times_ms], cut=cut)


def requests_record(slices_ms: Sequence[Sequence[float]], *, slice_ms: int = 10, cut: int = 0) -> RunRecord:
    """A run of slices of the given length, with the times of the requests answered in each, in milliseconds below 1000."""
    edges = np.arange(0, 1001, dtype=np.int64) * MS
    counts = [np.bincount(np.array(times, dtype=np.int64), minlength=1000) for times in slices_ms]
    sums = [[round(sum(times) * MS)] for times in slices_ms]
    grown = np.concatenate([np.zeros((1, 1, 1000), np.int64), np.cumsum(counts, axis=0)[:, None, :]])
    return replace(
        toy_record(1, 0),
        instants_ps=np.arange(len(slices_ms) + 1, dtype=np.int64) * slice_ms * MS,
        series={},
        histograms={"flow.response": Histogram(("visitors",), edges, grown, np.cumsum([[0], *sums], axis=0))},
        cut=cut,
    )


class Lethal:
    """Kills the process that pickles it."""

    def __reduce__(self) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""


def _send_half(pipe: Connection, content: memoryview) -> None:
    """Ends its process in the middle of a message."""
    os.write(pipe.fileno(), content[: len(content) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def simulate(
    spec: Mapping[str, Any], *, point_id: str, axes: Mapping[str, Scalar], seed: int, replication: int
) -> RunRecord:
    """A run controlled by its spec: takes a time, or waits while the file ``held`` exists, raises, counts ``n``, or reports ``took`` seconds.

    Or its process ends: at once, with exit status 0, or while it sends its record.
    """
    started = time.perf_counter()
    time.sleep(float(spec.get("sleep", 0)))
    while spec.get("held") and Path(str(spec["held"])).exists():
        time.sleep(0.01)
    if "flag_file" in spec and not Path(str(spec["flag_file"])).exists():
        raise RuntimeError("the flag file is missing")
    if "megabytes" in spec:
        bytearray(int(spec["megabytes"]) << 20)
    if spec.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if spec.get("exit"):
        os._exit(0)
    if spec.get("half"):
        Connection._send = _send_half  # type: ignore[attr-defined]
    if spec.get("interrupt"):
        raise KeyboardInterrupt
    record = toy_record(seed, replication, point_id=point_id, axes=axes, flags=("toy",))
    record.series["flow.sent"].values[-1] += int(spec.get("n", 0)) * 10**9
    record.facts["wall_s"] = time.perf_counter() - started  # type: ignore[index]
    if "took" in spec:
        record.facts.update(wall_s=spec["took"], process=os.getpid())  # type: ignore[attr-defined]
    if spec.get("lethal"):
        record.facts["events"] = Lethal()  # type: ignore[index, assignment]
    return record


@dataclass(frozen=True)
class Bisection:
    """Finds, for each replication, the largest ``n`` of 0 to 15 whose toy run sends less than a threshold."""

    threshold: float
    name: str = "largest n"
    replications: int = 2

    def _walk(self, replication: int, done: Mapping[tuple[str, int], RunRecord]) -> tuple[int, Task | None]:
        low, high = -1, 16
        while high - low > 1:
            task = Task(point(n=(low + high) // 2), replication, 1)
            record = done.get((task.point.id, replication))
            if record is None:
                return low, task
            if record.total("flow.sent") < self.threshold:
                low = (low + high) // 2
            else:
                high = (low + high) // 2
        return low, None

    def wants(self, done: Mapping[tuple[str, int], RunRecord]) -> list[Task]:
        steps = [self._walk(replication, done)[1] for replication in range(self.replications)]
        return [task for task in steps if task is not None]

    def answer(self, done: Mapping[tuple[str, int], RunRecord]) -> SearchAnswer:
        return SearchAnswer(self.name, tuple(float(self._walk(r, done)[0]) for r in range(self.replications)))
