"""Host fixture of the oracles: a host from a scenario file, run for a fixed time and measured by its probes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from hostsim.config.host import PointSpec
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import RunRecord
from hostsim.model.build import build_host
from hostsim.model.invariants import check_invariants, check_slices
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import SECOND

__all__ = ["PER_SECOND", "SERVICE_PS", "WARM_UP", "mean_time", "measure", "point"]

SERVICE_PS = 10_000_000
"""Mean length of a burst in `queue.yaml`: the unit of time of the closed forms."""
PER_SECOND = SECOND / SERVICE_PS
"""Services a second: the rate in a scenario file for one arrival per mean service."""
WARM_UP = 16
"""The first of this many parts of every run is cut: a fixed share, independent of the measured values."""


def point(file: str, **settings: str) -> PointSpec:
    """A point of a scenario file beside this module; two underscores replace dots in paths of settings."""
    return _point(file, tuple(sorted((path.replace("__", "."), value) for path, value in settings.items())))


@lru_cache(maxsize=64)
def _point(file: str, settings: tuple[tuple[str, str], ...]) -> PointSpec:
    return point_at(load(Path(__file__).parent / file, dict(settings)), {}).spec


def measure(spec: PointSpec, streams: Streams, length: int, warm_up: int = 0) -> RunRecord:
    """Run a host for ``length`` picoseconds, check its laws, and cut a fixed share as warm-up.

    Args:
        spec: the point.
        streams: its random streams.
        length: picoseconds, warm-up included.
        warm_up: smallest cut in picoseconds.

    Raises:
        InvariantError: a conservation law does not hold.
    """
    spec = spec.model_copy(update={"length": length})
    host = build_host(spec, streams)
    host.probe.start()
    host.clock.advance(length)
    host.probe.sample()
    check_invariants(host)
    instants, series, histograms = host.probe.collect()
    check_slices(instants, series, histograms)
    return RunRecord(
        point_id="",
        replication=streams.replication,
        seed=streams.seed,
        axes=dict[str, str](),
        instants_ps=instants,
        series=series,
        histograms=histograms,
        cut=max(len(instants) // WARM_UP, int(np.searchsorted(instants, warm_up))),
    )


def mean_time(record: RunRecord, name: str) -> tuple[float, int]:
    """Exact mean time of a histogram over the window, in picoseconds, and its number of packets or bursts."""
    histogram = record.histograms[name]
    count = int((histogram.counts[-1] - histogram.counts[record.cut]).sum())
    total = int((histogram.sums_ps[-1] - histogram.sums_ps[record.cut]).sum())
    return total / count, count
