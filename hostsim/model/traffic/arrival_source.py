"""Arrival and service processes, created from their specs; arrivals from a peer that coalesces."""

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
from hostsim.engine.checkpoint import checkpoint
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.record import FloatArray
from hostsim.engine.ring import S_co, Stream, Train
from hostsim.model.policy.moderation import CoalescingDepth
from hostsim.units import END, SECOND

__all__ = [
    "ArrivalTimer",
    "CoalescedArrivals",
    "ModulatedGaps",
    "RandomSegments",
    "make_arrivals",
    "make_bursts",
    "make_lengths",
]


Draw = Callable[[int], FloatArray]
"""Draws a given number of times in picoseconds."""


class ArrivalTimer(Generic[S_co]):
    """A timer that passes on every arrival at its own time.

    Args:
        clock: clock of the host.
        arrivals: arrival process.
        flow: flow of the arrivals.
        receive: called with each train of arrivals and the current time.
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
    """Create the arrival process of a source; a constant one starts at a random phase.

    Args:
        spec: spec of the process.
        rate: mean arrivals/s; None with recorded times or phases.
        random: the source's random stream.
        jitter: timer jitter of a constant process, in picoseconds.
    """
    if spec.timestamps_ps is not None:
        return RecordedArrivals(list(spec.timestamps_ps))
    if spec.process in ("on_off", "mmpp", "profile"):
        return DrawnArrivals(ModulatedGaps(_segments(spec, rate, random), random).draw, 0)
    assert rate is not None
    mean = SECOND / rate
    if spec.process == "constant":
        return _paced(rate, random, jitter)
    return DrawnArrivals(_drawn("exponential" if spec.process == "poisson" else "gamma", mean, spec.cv, random), 0)


class ModulatedGaps:
    """The interarrival times of a Poisson process whose rate is a step function of time.

    Arrivals of a process of rate 1 are mapped back through the integral of the rate (time change; D. Daley, D.
    Vere-Jones, *An Introduction to the Theory of Point Processes*, vol. 1, 7.4): a block of arrivals is two array
    operations, for any phases.

    Args:
        segments: returns the next segments: lengths in picoseconds and rates in arrivals per picosecond, in arrays of
            equal length.
        random: the source's random stream.
    """

    def __init__(self, segments: Callable[[], tuple[FloatArray, FloatArray]], random: np.random.Generator) -> None:
        self._segments, self._random = segments, random
        self._times, self._masses = np.zeros(1), np.zeros(1)
        """Ends of segments, and the mean number of arrivals up to each."""
        self._ahead = np.zeros(0)
        """Arrivals of the process of rate 1 that are not mapped yet."""
        self._mass = self._last = 0.0

    def draw(self, count: int) -> FloatArray:
        """Return the next interarrival times in picoseconds, 1 to ``count``."""
        if not len(self._ahead):
            self._ahead = self._mass + np.cumsum(self._random.exponential(1.0, count))
            self._mass = float(self._ahead[-1])
        reached = 0
        while not reached:
            self._extend(self._mass)
            reached = int(np.searchsorted(self._ahead, self._masses[-1], side="right"))
        instants = np.interp(self._ahead[:reached], self._masses, self._times)
        self._ahead = self._ahead[reached:]
        gaps: FloatArray = np.diff(instants, prepend=self._last)
        self._last = float(instants[-1])
        return gaps

    def _extend(self, most: float) -> None:
        """Create segments up to a mean number of arrivals, at most `MOST_SEGMENTS`.

        Segments before the next arrival are dropped.
        """
        checkpoint()
        kept = max(0, int(np.searchsorted(self._masses, self._ahead[0])) - 1)
        times, masses, segments = [self._times[kept:]], [self._masses[kept:]], 0
        end, mass = float(self._times[-1]), float(self._masses[-1])
        while mass < most and segments < MOST_SEGMENTS:
            if end > END:  # longer than any run
                end, mass = end + 1.0, most + 1.0
                times.append(np.array([end]))
                masses.append(np.array([mass]))
                break
            lengths, rates = self._segments()
            segments += len(lengths)
            times.append(end + np.cumsum(lengths))
            masses.append(mass + np.cumsum(lengths * rates))
            end, mass = float(times[-1][-1]), float(masses[-1][-1])
        self._times, self._masses = np.concatenate(times), np.concatenate(masses)


MOST_SEGMENTS: Final = 1 << 16
"""Largest number of segments created at once."""
SEGMENTS: Final = 256
"""Number of random segments created at a time."""


def _segments(
    spec: ArrivalSpec, rate: float | None, random: np.random.Generator
) -> Callable[[], tuple[FloatArray, FloatArray]]:
    """Return the function that returns the next segments of a process.

    The first segment of a random process is drawn from the stationary distribution.
    """
    if spec.on is not None and spec.off is not None:
        assert rate is not None
        means, rates = np.array([spec.on, spec.off], dtype=np.float64), np.array([rate * (1 + spec.off / spec.on), 0.0])
    else:
        assert spec.phases is not None
        means = np.array([phase.length for phase in spec.phases], dtype=np.float64)
        rates = np.array([phase.rate for phase in spec.phases])
    rates = rates / SECOND
    if spec.process == "profile":
        lengths = means if spec.period is None else means * (spec.period / means.sum())
        repeats = -(-SEGMENTS // len(lengths))
        once = np.tile(lengths, repeats), np.tile(rates, repeats)
        return lambda: once
    return RandomSegments(means, rates, random).draw


class RandomSegments:
    """The segments of a Markov-modulated process.

    Each state holds for an exponential time, and is followed by any of the others with equal probability.

    Args:
        means: mean time in each state, in picoseconds.
        rates: arrivals per picosecond in each state.
        random: the source's random stream.
    """

    def __init__(self, means: FloatArray, rates: FloatArray, random: np.random.Generator) -> None:
        self._means, self._rates, self._random = means, rates, random
        self._state = int(random.choice(len(means), p=means / means.sum()))
        """Next state. Times are exponential, so that the rest of the first one has the same distribution."""

    def draw(self) -> tuple[FloatArray, FloatArray]:
        """Return the lengths and rates of the next segments."""
        count = len(self._means)
        steps = self._random.integers(1, count, SEGMENTS)
        states = (self._state + np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), steps]))) % count
        self._state = int(states[-1])
        held = states[:-1]
        return self._random.exponential(self._means[held]), self._rates[held]


def make_bursts(rate: float, burst: int, random: np.random.Generator, jitter: int = 0) -> Arrivals:
    """Create a constant arrival process of ``rate`` bursts/s of ``burst`` packets each.

    It has a random phase and timer jitter.
    """
    bursts = _paced(rate, random, jitter)
    return bursts if burst == 1 else BurstArrivals(bursts, burst)


def _paced(rate: float, random: np.random.Generator, jitter: int) -> Arrivals:
    start = int(random.uniform(0, SECOND / rate))
    return JitteredArrivals(rate, start, jitter, random) if jitter else ConstantArrivals(rate, start)


def make_lengths(spec: ServiceSpec, hertz: float, random: np.random.Generator) -> Draw:
    """Create the service process: a function that draws lengths of bursts of work.

    Args:
        spec: spec of the process.
        hertz: Westmere-equivalent cycles/s.
        random: the source's random stream.
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
"""Placeholder stream of waiting packets; `CoalescedArrivals.collect` sets their flow."""


class CoalescedArrivals(Arrivals):
    """A batch arrival process: packets of another process that wait for the next call of the peer's guest.

    The guest calls when a number of packets wait, or when one has waited too long.

    Packets of a call arrive together. Their number follows the packet rate by the same law as for a vmxnet3 of the
    host.

    Args:
        posted: arrival process of the packets at the peer's vNIC.
        law: coalescing depth.
        timeout: longest wait of a packet, in picoseconds.
    """

    def __init__(self, posted: Arrivals, law: CoalescingDepth, timeout: int) -> None:
        self._posted, self._law, self._timeout = posted, law, timeout
        self._count = 0
        self._due: int | None = None
        self._wait()

    def _wait(self) -> None:
        """Collect the packets of the next call."""
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
