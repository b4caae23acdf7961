"""Machine integers of compiled code compared with Python's, up to the longest times and the largest numbers of packets
that a file can have.

Interpreted code passes these tests trivially; `make test` runs them with compiled modules.
"""

from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.latency_log import LatencyLog
from hostsim.engine.ring import Ring, Stream, Train
from hostsim.units import END, LONGEST, rounded, scaled, scaled_up

FLOW = Stream()
MOST_PACKETS = 10**18
"""A picosecond apart in the longest run."""

instants = st.one_of(st.integers(0, END), st.sampled_from([0, 1, LONGEST, LONGEST + 1, 2 * LONGEST, END - 1, END]))


@st.composite
def trains(draw: st.DrawFn) -> tuple[int, int, int]:
    """Count, first instant and step of a train that ends before `END`."""
    count = draw(st.one_of(st.integers(1, 5), st.integers(1, MOST_PACKETS), st.just(MOST_PACKETS)))
    step = draw(st.integers(0, min(LONGEST, END // count)))
    return count, draw(st.integers(0, END - (count - 1) * step)), step


@given(st.lists(instants, max_size=30))
def test_events_happen_in_order_up_to_the_last_instant(dues: list[int]):
    """The heap compares instants beyond 2^53 and 2^61 exactly."""
    clock, rung = Clock(), []
    for number, due in enumerate(dues):
        Timer(clock, lambda now, number=number: rung.append((now, number))).arm(due)
    clock.advance(END + 1)
    assert rung == sorted((due, number) for number, due in enumerate(dues))


@given(trains(), st.data())
def test_a_ring_admits_drops_and_gives_what_python_counts(train: tuple[int, int, int], data: st.DataObject):
    """One train, observed once: how many packets have arrived, find room, are taken, and when the rest begins."""
    count, ready, step = train
    near = st.integers(-1, 1).map(lambda more: max(1, count + more))
    capacity = data.draw(near | st.integers(1, 2 * MOST_PACKETS))
    limit = data.draw(near | st.integers(1, MOST_PACKETS))
    last = ready + (count - 1) * step
    now = data.draw(instants | st.integers(-1, 1).map(lambda more: max(0, last + more)))
    here = 0 if now < ready else count if step == 0 else min(count, (now - ready) // step + 1)
    room = min(here, capacity)
    ring = Ring(capacity)
    ring.push(Train(FLOW, count, ready, step, ready, step))
    assert ring.first() == ready
    assert ring.nth(count) == last
    taken = ring.take(limit, now)
    assert sum(part.count for part in taken) == min(room, limit) == ring.taken
    assert (ring.held, ring.dropped) == (room - ring.taken, here - room)
    if here < count and ring.held == 0:
        assert ring.first() == ready + here * step


@given(st.integers(0, END), st.integers(-LONGEST, LONGEST), st.integers(1, 20))
def test_a_latency_log_counts_and_adds_up_as_python_does(first: int, step: int, count: int):
    """Sums exceed 2^63; latencies below 0 and beyond the last bucket count in the outer ones."""
    values = [first + step * i for i in range(count) if abs(first + step * i) <= END]
    log = LatencyLog()
    log.add(first, step, len(values))
    log.add_each([first - value for value in values[:2]], first, 0)
    log.flush()
    edges = LatencyLog.EDGES_PS.tolist()
    expected = [0] * len(log.counts)
    for value in values + values[:2]:
        expected[min(max(bisect_right(edges, value) - 1, 0), len(expected) - 1)] += 1
    assert log.counts.tolist() == expected
    assert log.total == sum(values) + sum(values[:2])
    assert log.least == min(0, *values)


@given(st.lists(instants, min_size=1, max_size=10))
def test_a_timer_fires_once_at_the_last_time_set(dues: list[int]):
    """Whatever was set before."""
    clock, fired = Clock(), []
    timer = Timer(clock, fired.append)
    for due in dues:
        timer.arm(due)
    clock.advance(END + 1)
    assert fired == [dues[-1]]


def test_a_delay_beyond_the_last_instant_is_an_error():
    """A user's process is also checked; it raises the error compiled or not."""
    clock = Clock()
    clock.timeout(END)
    with pytest.raises(ValueError, match="ends after the last time of the clock"):
        clock.timeout(END + 1)


@given(
    st.integers(-5, 5) | st.integers(0, END) | st.integers(2**31 - 2, 2**31 + 2),
    st.integers(1, 2**31 + 2) | st.integers(1, END),
    st.integers(1, 1000) | st.integers(1, END) | st.integers(2**31 - 2, 2**31 + 2),
)
def test_a_scaled_amount_is_what_python_counts(amount: int, factor: int, divisor: int):
    """On both sides of the limit for products of machine integers."""
    assert scaled(amount, factor, divisor) == amount * factor // divisor
    assert scaled_up(amount, factor, divisor) == -(-amount * factor // divisor)


@given(st.floats(0, 2.0**52) | st.integers(0, 2**51).map(lambda halves: halves / 2))
def test_a_rounded_number_is_the_nearest_and_the_even_one_of_two(value: float):
    """The result is that of ``round``."""
    assert rounded(value) == round(value)
