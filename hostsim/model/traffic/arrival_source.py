"""Arrival and service processes, made from their specs; arrivals from a peer whose transmissions are coalesced."""

from __future__ import annotations

from collections.abc import Callable
from math import log, log1p, sqrt
from typing import Final, Generic, TypeVar

import numpy as np

from hostsim.config.arrival import ArrivalSpec, ServiceSpec
from hostsim.engine.arrivals import (
    Arrivals,
    BurstArrivals,
    ConstantArrivals,
    DrawnArrivals,
    JitteredArrivals,
    RecordedArrivals,
)
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.record import FloatArray
from hostsim.engine.ring import S_co, Stream, Train
from hostsim.model.policy.moderation import CoalescingDepth
from hostsim.units import SECOND

__all__ = [
    "ArrivalTimer",
    "CoalescedArrivals",
    "make_arrivals",
    "make_bursts",
    "make_lengths",
]


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


def make_lengths(spec: ServiceSpec, hertz: float, random: np.random.Generator) -> Draw:
    """Make the service process: a function that draws lengths of bursts of work from the source's own stream.

    Args:
        spec: the process.
        hertz: Westmere-equivalent cycles in a second.
        random: the source's own stream.
    """
    if spec.values is not None:
        values = np.array(spec.values, dtype=np.float64)
        return lambda count: random.choice(values, count)
    return _drawn(spec.distribution, spec.mean_ps(hertz), spec.cv, random)


def _drawn(distribution: str, mean: float, cv: float | None, random: np.random.Generator) -> Draw:
    if distribution == "constant":
        return lambda count: np.full(count, mean)
    if distribution == "exponential":
        return lambda count: random.exponential(mean, count)
    assert cv is not None
    if distribution == "lognormal":
        variance = log1p(cv**2)
        return lambda count: random.lognormal(log(mean) - variance / 2, sqrt(variance), count)
    shape = 1 / cv**2
    return lambda count: random.gamma(shape, mean / shape, count)


S = TypeVar("S", bound=Stream)

_POSTED: Final = Stream()
"""What packets belong to while they wait: who collects them names their flow."""


class CoalescedArrivals(Arrivals):
    """A batch arrival process: packets of another process, which wait until so many are there that the peer's guest calls, or one of them has waited too long.

    Those of a call arrive together. Their number follows the packet rate by the law that a vmxnet3 of the host itself has.

    Args:
        posted: arrival process of the packets at the peer's vNIC.
        law: its coalescing depth.
        timeout: longest wait of a packet in picoseconds.
    """

    def __init__(self, posted: Arrivals, law: CoalescingDepth, timeout: int) -> None:
        self._posted, self._law, self._timeout = posted, law, timeout
        self._count = 0
        self._due: int | None = None
        self._wait()

    def _wait(self) -> None:
        """Gather the packets of the next call."""
        first = self._posted.upcoming()
        self._count, self._due = 0, first
        due = first
        while due is not None and first is not None:
            if due - first > self._timeout:
                self._due = first + self._timeout
                return
            for train in self._posted.collect(due, _POSTED):
                self._count += train.count
                self._law.count(train.count, due)
            self._due = due
            if self._count >= self._law.depth:
                return
            due = self._posted.upcoming()

    def upcoming(self) -> int | None:
        return self._due

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        trains = []
        while (due := self._due) is not None and due <= now:
            trains.append(Train(flow, self._count, due, 0, due, 0))
            self._wait()
        return trains
