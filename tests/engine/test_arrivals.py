"""Arrivals evaluated lazily."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.arrivals import BurstArrivals, ConstantArrivals, DrawnArrivals, RecordedArrivals
from hostsim.engine.random_stream import Streams
from hostsim.units import SECOND

FLOW = SimpleNamespace(size=64)


def instants(trains) -> list[int]:
    return [arrived for train in trains for arrived in train.arrival_times()]


@given(
    rate=st.sampled_from([1.0, 3.0, 30_000.0, 40_000.0, 14_880_952.0]),
    start=st.integers(0, 10**9),
    times=st.lists(st.integers(0, 10**12), max_size=6),
)
def test_constant_arrivals_count_exactly(rate: float, start: int, times: list[int]):
    """The number collected by an instant equals the number of exact instants up to it."""
    arrivals = ConstantArrivals(rate, start)
    collected = 0
    for now in sorted(times):
        collected += sum(train.count for train in arrivals.collect(now, FLOW))
        exact = max(0, (now - start) * int(rate) // SECOND + 1) if now >= start else 0
        assert abs(collected - exact) <= 1
        upcoming = arrivals.upcoming()
        assert upcoming > now


@given(st.integers(1, 8), st.lists(st.integers(0, 10**10), max_size=6))
def test_bursts_come_together_however_often_one_looks(burst: int, times: list[int]):
    """A thousand bursts per second: each instant occurs as often as a burst has packets."""
    arrivals = BurstArrivals(ConstantArrivals(1000.0, 7), burst)
    come = [arrived for now in [*sorted(times), 10**10] for arrived in instants(arrivals.collect(now, FLOW))]
    assert come == [7 + number * 10**9 for number in range(10) for _ in range(burst)]
    assert arrivals.upcoming() == 7 + 10 * 10**9


def test_a_constant_rate_does_not_drift():
    """Thirds of picoseconds add up: after a day the count is exact."""
    arrivals = ConstantArrivals(30_000.0, 0)
    day = 86_400 * SECOND
    assert sum(train.count for train in arrivals.collect(day - 1, FLOW)) == 86_400 * 30_000


def test_recorded_arrivals_come_at_their_instants_and_end():
    """Replay returns the recorded instants."""
    arrivals = RecordedArrivals([5, 7, 7, 20])
    assert arrivals.upcoming() == 5
    assert instants(arrivals.collect(7, FLOW)) == [5, 7, 7]
    assert arrivals.collect(6, FLOW) == []
    assert instants(arrivals.collect(100, FLOW)) == [20]
    assert arrivals.upcoming() is None


def test_drawn_arrivals_do_not_depend_on_when_they_are_asked():
    """For any division of time, the same instants result, across many blocks."""

    def source() -> DrawnArrivals:
        random = Streams(1, 0).stream("traffic", 0)
        return DrawnArrivals(lambda count: random.exponential(SECOND / 1e5, count), 0)

    at_once = instants(source().collect(SECOND // 5, FLOW))
    bit_by_bit, arrivals = [], source()
    while (due := arrivals.upcoming()) <= SECOND // 5:
        bit_by_bit += instants(arrivals.collect(due, FLOW))
    assert len(at_once) > 3 * 4096
    assert bit_by_bit == at_once


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_poisson_arrivals_have_their_rate(seed: int):
    """The count of a Poisson process is within four standard deviations of its mean."""
    random = Streams(seed, 0).stream("traffic", 0)
    arrivals = DrawnArrivals(lambda count: random.exponential(SECOND / 1e5, count), 0)
    count = sum(train.count for train in arrivals.collect(SECOND, FLOW))
    assert abs(count - 1e5) < 4 * 1e5**0.5


def test_streams_are_told_apart_by_scope_and_replication_only():
    """Another order of requests, or more streams, changes nothing."""
    one = Streams(1, 0)
    a, b = one.stream("vm", 0, 1).random(4), one.stream("vm", 0, 2).random(4)
    other = Streams(1, 0)
    assert other.stream("vm", 0, 2).random(4).tolist() == b.tolist()
    assert other.stream("vm", 0, 1).random(4).tolist() == a.tolist()
    assert a.tolist() != b.tolist()
    assert Streams(1, 1).stream("vm", 0, 1).random(4).tolist() != a.tolist()
    assert Streams(2, 0).stream("vm", 0, 1).random(4).tolist() != a.tolist()
