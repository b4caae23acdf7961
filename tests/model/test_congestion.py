"""A TCP sender's window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hostsim.model.traffic.tcp import Congestion


def grown(window: int, initial: int, flights: int) -> Congestion:
    """The window after a number of flights that were acknowledged completely."""
    congestion = Congestion(window, initial)
    for _ in range(flights):
        flight = congestion.room()
        congestion.in_flight += flight
        congestion.acked(flight)
    return congestion


def test_slow_start_doubles_up_to_the_window():
    """2, 4, 8, 16, then the receiver's window."""
    assert [grown(20, 2, flights).allowed for flights in range(6)] == [2, 4, 8, 16, 20, 20]


def test_a_loss_halves_the_window_once_for_all_losses_of_it():
    """Sixteen segments in flight, three lost at two observations: a window of eight; a later loss halves it again once these are acknowledged."""
    congestion = grown(16, 16, 0)
    congestion.in_flight = 16
    congestion.lost(2)
    congestion.lost(1)
    assert (congestion.allowed, congestion.in_flight, congestion.room()) == (8, 13, 0)
    congestion.acked(13)  # one before the recovery point, 14: no growth yet
    assert congestion.allowed == 8
    congestion.in_flight = 8
    congestion.acked(1)
    congestion.acked(7)
    assert congestion.allowed == 8  # 8.875
    congestion.lost(0)
    assert congestion.allowed == 4


def test_congestion_avoidance_adds_a_segment_a_window():
    """Above the threshold the window grows by one for each acknowledged window."""
    congestion = Congestion(100, 32)
    congestion.in_flight = 32
    congestion.lost(0)
    congestion.acked(32)  # recovery ends
    for expected in (17, 18, 19):
        congestion.in_flight = congestion.allowed
        congestion.acked(congestion.in_flight)
        assert congestion.allowed == expected


def test_a_time_out_starts_again_with_one_segment():
    """Slow start up to half of the previous window, then one segment at a time."""
    congestion = grown(64, 16, 0)
    congestion.in_flight = 16
    congestion.timed_out(16)
    assert (congestion.allowed, congestion.in_flight, congestion.room()) == (1, 0, 1)
    seen = []
    for _ in range(6):
        congestion.in_flight = congestion.allowed
        congestion.acked(congestion.in_flight)
        seen.append(congestion.allowed)
    assert seen == [2, 4, 8, 9, 10, 11]


def test_a_window_of_one_segment_stays_one():
    """Half of the window, at least two segments, but never more than the receiver's window."""
    congestion = Congestion(1, 10)
    congestion.in_flight = 1
    congestion.lost(1)
    assert (congestion.allowed, congestion.room()) == (1, 1)


@given(
    window=st.integers(1, 64),
    initial=st.integers(1, 12),
    steps=st.lists(st.tuples(st.sampled_from(["send", "ack", "lose", "time out"]), st.integers(0, 64)), max_size=60),
)
def test_in_flight_is_never_negative_and_never_above_the_window(window, initial, steps):
    """For any sequence of sent, acknowledged and lost segments that were in flight."""
    congestion = Congestion(window, initial)
    for step, count in steps:
        if step == "send":
            congestion.in_flight += min(count, congestion.room())
        else:
            count = min(count, congestion.in_flight)
            {"ack": congestion.acked, "lose": congestion.lost, "time out": congestion.timed_out}[step](count)
        assert 0 <= congestion.in_flight <= window
        assert 1 <= congestion.allowed <= window
        assert congestion.room() == max(0, congestion.allowed - congestion.in_flight)
