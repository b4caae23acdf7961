"""One simulation run: build the host, advance time, detect the warm-up, check conservation laws, make the record."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from hostsim.campaign.deferred_sigint import deferred_sigint
from hostsim.config.host import PointSpec
from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import AxisValues, IntArray, RunRecord, Series
from hostsim.model.build import build_host
from hostsim.model.invariants import check_invariants, check_slices
from hostsim.results.warm_up import SETTLED, mser5
from hostsim.units import ps_to_seconds

__all__ = ["simulate"]

MOST_LENGTH = 4
"""Longest run, as a multiple of its length."""
YOUNG = 100_000
"""Number of new objects after which cycles are searched."""
NEVER = 10**9
"""Number of searches of new objects before one includes older objects; larger than in any run."""
PARTS = 16
"""Number of parts of a run; a warm-up ends at the start of a part."""
SAME_LEVEL = 0.005
"""Largest relative difference of two means that count as equal; so does a difference within a standard error."""
NEGLIGIBLE_LOSS = 1e-4
"""Largest change of the loss, as a share of the intended packets, that is ignored."""


@contextmanager
def _own_garbage() -> Iterator[None]:
    """Collect reference cycles only among the objects of a run, seldom during the run and once at its end.

    Reference counts free almost everything during a run, and the search for cycles took a twelfth of its time. Only the search frees the
    parts of a host, which refer to each other. Older objects, such as a sweep's plan, may be a hundred times as many.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, NEVER, NEVER)
    try:
        yield
    finally:
        gc.collect()
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@deferred_sigint()
@_own_garbage()
def simulate(
    spec: PointSpec,
    *,
    point_id: str,
    axes: AxisValues,
    seed: int,
    replication: int,
    flags: tuple[str, ...] = (),
    clock: Clock | None = None,
) -> RunRecord:
    """Simulate one replication of a point.

    The run lasts ``spec.length``; while MSER-5 cuts more than half of it, it is lengthened by the share ``spec.lengthening``, up to
    four times the length; if this is not enough, the run is flagged ``warm-up``. If the rate of some traffic depends on
    time, the run has no steady state: it lasts ``spec.length``, and no warm-up is cut.

    Args:
        spec: the resolved point.
        point_id: hash of the point, kept in the record.
        axes: value of each axis, kept in the record.
        seed: root seed.
        replication: number of the replication; with the seed it fixes every random stream.
        flags: warnings known before the run, kept in the record.
        clock: clock of the host, at 0; a new one by default. `Clock(StockEventQueue())` runs it on SimPy's stock
            environment, with the same bytes.

    Raises:
        WiringError: the host cannot be built.
        InvariantError: a conservation law does not hold.
        KeyboardInterrupt: Ctrl-C.
    """
    started, processor_started = time.perf_counter(), time.thread_time()
    host = build_host(spec, Streams(seed, replication), clock=clock)
    host.probe.start()
    length = spec.length
    is_stationary = all(traffic.is_stationary for traffic in spec.traffic.values())
    while True:
        host.clock.advance(length)
        host.probe.sample()
        check_invariants(host)
        instants, series, histograms = host.probe.collect()
        cut = _warm_up(instants, series) if is_stationary else 0
        if 2 * cut <= len(instants) - 1:
            break
        longer = length + round(length * spec.lengthening)
        if longer > MOST_LENGTH * spec.length:
            flags = (*flags, "warm-up")
            break
        length = longer
    check_slices(instants, series, histograms)
    return RunRecord(
        point_id=point_id,
        replication=replication,
        seed=seed,
        axes=axes,
        instants_ps=instants,
        series=series,
        histograms=histograms,
        cut=min(cut, len(instants) - 2),
        flags=flags,
        facts={
            "simulated_s": ps_to_seconds(length),
            "events": host.clock.scheduled(),
            "dispatches": sum(pcpu.dispatches for pcpu in host.scheduler.pcpus),
            "wall_s": time.perf_counter() - started,
            "wall_processor_s": time.thread_time() - processor_started,
        },
    )


def _warm_up(instants: IntArray, series: Mapping[str, Series]) -> int:
    """Number of time slices to cut: the largest over the measures that must settle.

    MSER-5's error is an estimate, and noisy if few batches remain: its cut of a level series is often chance. So the cut moves to the
    earliest sixteenth of the run that leaves the same mean as MSER-5's cut. Drops are rare events, by which TCP finds its window: while
    they are a negligible share of the traffic, all means count as equal.
    """
    widths = np.diff(instants)
    most = 0
    for name, counters in SETTLED.items():
        slack = (
            NEGLIGIBLE_LOSS * float(series["flow.intended"].values[-1].sum()) / int(instants[-1])
            if name == "dropped"
            else 0.0
        )
        rates = np.diff(sum(series[counter].values.sum(axis=1) for counter in counters)) / widths
        chosen = mser5(rates)
        settled = rates[chosen:]
        level = float(settled.mean())
        noise = float(settled.std()) / len(settled) ** 0.5
        for cut in (len(rates) * part // PARTS for part in range(PARTS)):
            if cut >= chosen:
                break
            early = float(rates[cut:].mean())
            if abs(early - level) <= max(SAME_LEVEL * max(early, level), noise, slack):
                chosen = cut
                break
        most = max(most, chosen)
    return most
