"""Arrival and service processes, made from their specs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

import numpy as np

from hostsim.engine.arrivals import Arrivals, BurstArrivals, ConstantArrivals, DrawnArrivals, RecordedArrivals
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.jitter import JitteredArrivals
from hostsim.engine.packet_train import S_co, Train
from hostsim.record import FloatArray
from hostsim.spec.arrival import ArrivalSpec, ServiceSpec
from hostsim.units import SECOND

__all__ = ["ArrivalTimer", "make_arrivals", "make_bursts", "make_lengths"]

Draw = Callable[[int], FloatArray]
"""Draws a number of times in picoseconds."""


class ArrivalTimer(Generic[S_co]):
    """A timer that hands over every arrival at its own instant.

    Args:
        clock: the host's.
        arrivals: instants.
        flow: of what arrives.
        receive: takes arrivals and the instant.
    """

    def __init__(
        self, clock: Clock, arrivals: Arrivals, flow: S_co, receive: Callable[[Train[S_co], int], None]
    ) -> None:
        self._arrivals, self._flow, self._receive = arrivals, flow, receive
        self._timer = Timer(clock, self._fire)
        self._arm()

    def _arm(self) -> None:
        due = self._arrivals.upcoming()
        if due is not None:
            self._timer.arm(due)

    def _fire(self, now: int) -> None:
        for train in self._arrivals.collect(now, self._flow):
            self._receive(train, now)
        self._arm()


def make_arrivals(spec: ArrivalSpec, rate: float | None, random: np.random.Generator, jitter: int = 0) -> Arrivals:
    """Make the arrival process of a source; a constant one starts at a random phase.

    Args:
        spec: the process.
        rate: arrivals in a second; None with recorded instants only.
        random: the source's own stream.
        jitter: timer jitter of a constant one in picoseconds.
    """
    if spec.timestamps_ps is not None:
        return RecordedArrivals(list(spec.timestamps_ps))
    assert rate is not None
    mean = SECOND / rate
    if spec.process == "constant":
        return _paced(rate, random, jitter)
    return DrawnArrivals(_drawn("exponential" if spec.process == "poisson" else "gamma", mean, spec.cv, random), 0)


def make_bursts(rate: float, burst: int, random: np.random.Generator, jitter: int = 0) -> Arrivals:
    """Make a constant arrival process of ``rate`` bursts a second of ``burst`` packets each, with a random phase and timer jitter."""
    bursts = _paced(rate, random, jitter)
    return bursts if burst == 1 else BurstArrivals(bursts, burst)


def _paced(rate: float, random: np.random.Generator, jitter: int) -> Arrivals:
    start = int(random.uniform(0, SECOND / rate))
    return JitteredArrivals(rate, start, jitter, random) if jitter else ConstantArrivals(rate, start)


def make_lengths(spec: ServiceSpec, random: np.random.Generator) -> Draw:
    """Make the service process: a function that draws lengths of bursts of work from the source's own stream."""
    return _drawn(spec.distribution, spec.mean, spec.cv, random)


def _drawn(distribution: str, mean: float, cv: float | None, random: np.random.Generator) -> Draw:
    if distribution == "constant":
        return lambda count: np.full(count, mean)
    if distribution == "exponential":
        return lambda count: random.exponential(mean, count)
    assert cv is not None
    shape = 1 / cv**2
    return lambda count: random.gamma(shape, mean / shape, count)
