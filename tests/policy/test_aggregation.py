"""Large receive offload: when it is suspended for a while."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hostsim.model.policy.aggregation import USE_RATIO, Backoff


def test_lro_stays_on_while_it_makes_fewer_packets():
    """Two frames per packet in every stretch."""
    backoff = Backoff(3000, 8, 100, 8)
    for _ in range(50):
        backoff.count(20, 10)
        assert backoff.on


def test_lro_goes_off_for_so_many_stretches_where_it_does_not_pay():
    """A packet per frame over 100 frames: the next 800 are delivered separately, then it is tried again."""
    backoff = Backoff(3000, 8, 100, 8)
    backoff.count(99, 99)
    assert backoff.on
    backoff.count(1, 1)
    assert not backoff.on
    backoff.count(799, 799)
    assert not backoff.on
    backoff.count(1, 1)
    assert backoff.on


def test_the_ratio_is_taken_over_a_whole_stretch():
    """Exactly two thirds are still worthwhile; one packet more is not."""
    just, above = Backoff(3000, 8, 99, 8), Backoff(3000, 8, 99, 8)
    just.count(99, 66)
    above.count(99, 67)
    assert (just.on, above.on) == (True, False)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80))
def test_it_is_off_only_after_a_stretch_that_did_not_pay(counts: list[tuple[int, int]]):
    """Every suspension follows a stretch with too many packets, and lasts for its number of frames."""
    backoff = Backoff(3000, 8, 100, 2)
    frames = packets = left = 0
    for came, made in counts:
        made = min(came, made)
        if left > 0:
            left -= came
        else:
            frames, packets = frames + came, packets + made
            if frames >= 100:
                left = 200 if packets > USE_RATIO * frames else 0
                frames = packets = 0
        backoff.count(came, made)
        assert backoff.on == (left <= 0)
