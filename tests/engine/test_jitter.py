"""Lateness of timers and answers."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.arrivals import ConstantArrivals
from hostsim.engine.jitter import HOLD, Jitter, JitteredArrivals
from hostsim.units import SECOND, US

FLOW = SimpleNamespace(size=64)


def arrivals(rate: float, start: int, amplitude: int) -> JitteredArrivals:
    return JitteredArrivals(rate, start, amplitude, np.random.default_rng(1))


def instants(trains) -> list[int]:
    return [arrived for train in trains for arrived in train.arrival_times()]


@pytest.mark.slow  # `make long-tests` runs it, in CI as well
@given(
    rate=st.sampled_from([1.0, 3.0, 900.0, 30_000.0, 14_880_952.0]),
    start=st.integers(0, 10**9),
    amplitude=st.integers(0, 10**8),
    times=st.lists(st.integers(0, 10**10), max_size=6),
)
def test_every_packet_is_a_little_late_whoever_looks_and_when(rate, start, amplitude, times) -> None:
    """Looking often or once gives the same packets, in order, each late by no more than the amplitude or half an interval."""
    times = [*sorted(times), 10**10]
    often, once = arrivals(rate, start, amplitude), arrivals(rate, start, amplitude)
    found = instants([train for now in times for train in often.collect(now, FLOW)])
    rounding = len(found)  # steps of a train are whole picoseconds
    whole = instants(once.collect(times[-1], FLOW))
    assert found == [pytest.approx(at, abs=rounding) for at in whole]
    assert once.upcoming() > times[-1]
    due = instants(ConstantArrivals(rate, start).collect(10**10 + amplitude, FLOW))[: len(found)]
    gap = int(SECOND // rate)
    assert all(
        -rounding <= at - on_time <= min(amplitude, gap // 2) + rounding for at, on_time in zip(found, due, strict=True)
    )
    assert all(after - before >= once.least_gap - rounding for before, after in itertools.pairwise(found))


def test_the_lateness_of_a_sender_is_uniform_and_held_for_a_tick() -> None:
    """At 10 kpps ten packets are late by the same, and the mean over a second is half the amplitude."""
    trains = arrivals(10_000.0, 0, 20 * US).collect(SECOND, FLOW)
    assert {train.count for train in trains[:-1]} == {HOLD // (100 * US)}
    late = [train.ready % (100 * US) for train in trains]
    assert np.mean(late) == pytest.approx(10 * US, rel=0.1)
    assert max(late) <= 20 * US


def test_no_jitter_draws_nothing() -> None:
    """The random stream stays where it was."""
    random = np.random.default_rng(1)
    assert [Jitter(0, random).draw() for _ in range(3)] == [0, 0, 0]
    assert random.random() == np.random.default_rng(1).random()
