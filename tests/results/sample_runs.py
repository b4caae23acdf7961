"""Small records with given metrics: host CPU, loss and guest CPU."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hostsim.engine.record import RunRecord, Scalar, Series


def run(
    *, host_cpu: float = 0.0, loss: float = 0.0, guest_cpu: float = 0.0, replication: int = 0, **axes: Scalar
) -> RunRecord:
    """A run of four slices of one second, the first cut: the metrics are those of the other three, and 100 % before."""
    window = 3 * 10**12

    def counter(percent: float, whole: int) -> Series:
        cut, total = whole // 3, round(percent / 100 * whole)
        return Series(("only",), np.array([[0], [cut], [cut], [cut], [cut + total]], np.int64))

    return RunRecord(
        point_id=hashlib.sha256(repr(sorted(axes.items())).encode()).hexdigest()[:32],
        replication=replication,
        seed=1,
        axes=axes,
        instants_ps=np.arange(5, dtype=np.int64) * 10**12,
        series={
            "pcpu.busy_ps": counter(host_cpu, window),
            "vcpu.used_ps": counter(guest_cpu, window),
            "guest.read": counter(100 - loss, 10**9),
            "port.ring_lost": counter(loss, 10**9),
        },
        histograms={},
        cut=1,
        facts={"events": 40, "dispatches": 30, "wall_s": 0.5},
    )


def runs(metric: str, values: Sequence[float], **axes: Scalar) -> list[RunRecord]:
    """One run for each value of the metric, as replications of a point."""
    return [run(replication=number, **{metric: value}, **axes) for number, value in enumerate(values)]


def failed(record: RunRecord, error: str) -> RunRecord:
    """The same run as a failed run."""
    nothing: dict[str, Any] = {
        "series": {},
        "histograms": {},
        "instants_ps": np.zeros(1, np.int64),
        "cut": 0,
        "facts": {},
    }
    return RunRecord(record.point_id, record.replication, record.seed, record.axes, error=error, **nothing)


def line(metric: str, axis: str, levels: Iterable[tuple[Scalar, Sequence[float]]], **axes: Scalar) -> list[RunRecord]:
    """Runs at several points of an axis."""
    return [record for value, values in levels for record in runs(metric, values, **{axis: value}, **axes)]
