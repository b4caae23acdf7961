"""Levels, latency histograms and time slices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.clock import Clock
from hostsim.engine.probe import MAX_SLICES, LatencyLog, Level, Probe
from hostsim.errors import HostsimError
from hostsim.units import LONGEST, MS, US


def test_a_level_integrates_over_time():
    """Two for ten units, then five for three."""
    level = Level()
    level.add(2, 0)
    level.add(3, 10)
    assert level.integral(13) == 2 * 10 + 5 * 3


@given(
    st.lists(
        st.tuples(st.integers(US, 10 * MS), st.integers(-500, 500_000), st.integers(1, 64)), min_size=1, max_size=40
    )
)
def test_trains_are_counted_like_their_packets(trains: list[tuple[int, int, int]]):
    """Counting a train in bulk equals counting packets one by one, and every value falls in its bucket."""
    trains = [(first, step, count) for first, step, count in trains if first + step * (count - 1) > 0]
    by_train, by_packet = LatencyLog(), LatencyLog()
    values = []
    for first, step, count in trains:
        by_train.add(first, step, count)
        each = first + step * np.arange(count, dtype=np.int64)
        by_packet.add_each((-each).tolist(), 0, 0)
        values += each.tolist()
    by_train.flush()
    by_packet.flush()
    assert by_train.counts.tolist() == by_packet.counts.tolist()
    assert by_train.total == sum(values)
    expected, _ = np.histogram(np.maximum(values, LatencyLog.EDGES_PS[0]), LatencyLog.EDGES_PS)
    assert by_train.counts.tolist() == expected.tolist()


def test_a_negative_latency_is_remembered():
    """A packet read before its arrival is a broken model, which is detected."""
    log = LatencyLog()
    log.add(100, -60, 3)
    log.flush()
    assert log.least == -20


def test_slices_merge_when_full_and_keep_the_counters():
    """For any run length at most 256 slices are kept; cumulative counters at their boundaries stay exact."""
    clock = Clock()
    probe = Probe(clock, 10)
    probe.watch("time", ["clock"], {"passed": lambda now: [now], "constant": [7]})
    probe.start()
    clock.advance(10 * 5_000)
    probe.sample()
    instants, series, _ = probe.collect()
    assert len(instants) - 1 <= MAX_SLICES
    assert instants[-1] == 50_000
    assert series["time.passed"].values[:, 0].tolist() == instants.tolist()
    assert series["time.constant"].values[:, 0].tolist() == [7] * len(instants)
    assert len(set(np.diff(instants)[:-1].tolist())) == 1


def test_a_sum_of_latencies_beyond_64_bits_is_an_error():
    """A stored sum would wrap."""
    probe, log = Probe(Clock(), 10), LatencyLog()
    probe.watch_latency("flow.latency", "feed", log)
    log.add(LONGEST, 0, 10)
    with pytest.raises(HostsimError, match="adds up to more than 2"):
        probe.sample()
