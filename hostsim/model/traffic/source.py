"""Sources as their specs describe them: when things come, and how long they last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.arrivals import Arrivals, BurstArrivals, ConstantArrivals, DrawnArrivals, RecordedArrivals
from hostsim.spec.workload import ArrivalSpec, ServiceSpec
from hostsim.units import SECOND

__all__ = ["make_arrivals", "make_bursts", "make_lengths"]

Draw = Callable[[int], NDArray[np.float64]]
"""Given a number, returns as many times in picoseconds."""


def make_arrivals(spec: ArrivalSpec, rate: float | None, random: np.random.Generator) -> Arrivals:
    """Instants of a source; a steady one starts at a random point of its interval.

    Args:
        spec: the process.
        rate: arrivals in a second; None with recorded instants only.
        random: the source's own stream.
    """
    if spec.timestamps_ps is not None:
        return RecordedArrivals(list(spec.timestamps_ps))
    assert rate is not None
    mean = SECOND / rate
    if spec.process == "constant":
        return ConstantArrivals(rate, int(random.uniform(0, mean)))
    return DrawnArrivals(_drawn("exponential" if spec.process == "poisson" else "gamma", mean, spec.cv, random), 0)


def make_bursts(rate: float, burst: int, random: np.random.Generator) -> Arrivals:
    """Bursts of a steady source, which starts at a random point of its interval: ``rate`` of them in a second, of ``burst`` packets each."""
    start = int(random.uniform(0, SECOND / rate))
    return ConstantArrivals(rate, start) if burst == 1 else BurstArrivals(rate, start, burst)


def make_lengths(spec: ServiceSpec, random: np.random.Generator) -> Draw:
    """Lengths of bursts of work, from the source's own stream."""
    return _drawn(spec.distribution, spec.mean, spec.cv, random)


def _drawn(distribution: str, mean: float, cv: float | None, random: np.random.Generator) -> Draw:
    if distribution == "constant":
        return lambda count: np.full(count, mean)
    if distribution == "exponential":
        return lambda count: random.exponential(mean, count)
    assert cv is not None
    shape = 1 / cv**2
    return lambda count: random.gamma(shape, mean / shape, count)
