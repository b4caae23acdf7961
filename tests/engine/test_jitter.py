"""Lateness of timers and answers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.arrivals import HOLD, ConstantArrivals, Jitter, JitteredArrivals
from hostsim.units import SECOND, US

FLOW = SimpleNamespace(size=64)


def arrivals(rate: float, start: int, amplitude: int) -> JitteredArrivals:
    return JitteredArrivals(rate, start, amplitude, np.random.default_rng(1))


def instants(trains) -> list[int]:
    return [arrived for train in trains for arrived in train.arrival_times()]


@given(
    rate=st.sampled_from([1.0, 3.0, 900.0, 30_000.0, 14_880_952.0]),
    start=st.integers(0, 10**9),
    amplitude=st.integers(0, 10**8),
    times=st.lists(st.integers(0, 10**10), max_size=6),
)
def test_every_packet_is_a_little_late_whoever_looks_and_when(rate, start, amplitude, times) -> None:
    """Frequent observation or a single one give the same packets, in order, each late by at most the amplitude or half an interval."""
    times = [*sorted(times), 10**10]
    often, once = arrivals(rate, start, amplitude), arrivals(rate, start, amplitude)
    found = np.array(instants([train for now in times for train in often.collect(now, FLOW)]), dtype=np.int64)
    rounding = len(found)  # steps of a train are whole picoseconds
    whole = np.array(instants(once.collect(times[-1], FLOW)), dtype=np.int64)
    assert found.shape == whole.shape
    assert (abs(found - whole) <= rounding).all()
    assert once.upcoming() > times[-1]
    due = instants(ConstantArrivals(rate, start).collect(10**10 + amplitude, FLOW))[: len(found)]
    late = found - np.array(due, dtype=np.int64)
    assert (late >= -rounding).all()
    assert (late <= min(amplitude, int(SECOND // rate) // 2) + rounding).all()
    assert (np.diff(found) >= once.least_gap - rounding).all()


def test_the_lateness_of_a_sender_is_uniform_and_held_for_a_tick() -> None:
    """At 10 kpps ten packets have the same lateness, and the mean over a second is half the amplitude."""
    trains = arrivals(10_000.0, 0, 20 * US).collect(SECOND, FLOW)
    assert {train.count for train in trains[:-1]} == {HOLD // (100 * US)}
    late = [train.ready % (100 * US) for train in trains]
    assert np.mean(late) == pytest.approx(10 * US, rel=0.1)
    assert max(late) <= 20 * US


def test_no_jitter_draws_nothing() -> None:
    """The random stream is unchanged."""
    random = np.random.default_rng(1)
    assert [Jitter(0, random).draw() for _ in range(3)] == [0, 0, 0]
    assert random.random() == np.random.default_rng(1).random()
