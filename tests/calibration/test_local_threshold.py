"""A threshold on a changed host, from two points beside it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hostsim.calibration.local_threshold import moved_threshold, near_bracket, points_beside
from hostsim.expect import Find

LARGEST = Find(True, "vms", 100, 600, "host_cpu", 90.0, {})


def test_the_points_lie_on_both_sides_of_a_threshold_inside_its_bracket() -> None:
    """Neighbours among a few, a fiftieth away among hundreds; none where the threshold is an end of the bracket, or beyond."""
    few = Find(True, "receivers", 1, 48, "loss", 0.01, {})
    assert points_beside(few, 20) == (20, 21)
    assert points_beside(LARGEST, 400) == (392, 409)
    assert points_beside(Find(False, "vms", 100, 600, "loss", 1.0, {}), 400) == (391, 408)
    assert points_beside(LARGEST, 599) == (588, 600)
    assert points_beside(LARGEST, 600) is None
    assert points_beside(LARGEST, 99) is None


def test_a_threshold_moves_as_far_as_a_metric_that_grows_by_a_factor_with_each_step() -> None:
    """A tenth more of it at every value moves the crossing by ln 1.1 over the slope, of which whole steps count."""
    points, slope = (392.0, 409.0), 0.004

    def pair(factor: float) -> tuple[tuple[float, float], tuple[float, float]]:
        low, high = (factor * 90 * math.exp(slope * (value - 400.5)) for value in points)
        return (points[0], low), (points[1], high)

    moved = moved_threshold(400, pair(1.0), pair(1.1), 90.0)
    assert moved == 400 - 24
    assert math.log(1.1) / slope == pytest.approx(23.8, abs=0.05)
    assert moved_threshold(400, pair(1.0), pair(1.0), 90.0) == 400


def test_of_a_share_that_is_lost_the_rest_is_what_gets_through() -> None:
    """At 21 receivers 2 % of the load are lost, then 7 %: capacity falls from 20.58 to 19.53 receivers."""
    before, after = ((20.0, 0.0), (21.0, 2.0)), ((20.0, 2.35), (21.0, 7.0))
    assert moved_threshold(20, before, after, 0.01) == 19
    assert moved_threshold(20, before, ((20.0, 0.0), (21.0, 7.0)), 0.01) == 20  # which was run, and lost nothing


@pytest.mark.parametrize(("high", "moved"), [(90.1, 20), (90.9, 20), (89.9, 21), (91.1, 19)])
def test_between_neighbours_a_threshold_moves_when_the_crossing_passes_a_value(high: float, moved: int) -> None:
    """Wherever between 20 and 21 the limit is passed, 20 is the last value before it."""
    before = ((20.0, 89.0), (21.0, 92.0))
    assert moved_threshold(20, before, ((20.0, high - 1), (21.0, high)), 90.0) == moved


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(((20.0, 0.0), (21.0, 0.0)), id="nothing is lost any more"),
        pytest.param(((20.0, 0.0), (21.0, 70.0)), id="it is far away"),
        pytest.param(((20.0, 3.0), (21.0, 2.0)), id="it turns round"),
        pytest.param(((20.0, 0.0), (21.0, math.inf)), id="it has no bound"),
    ],
)
def test_two_points_that_do_not_say_where_the_threshold_is_say_so(after) -> None:
    """A guess would be a value that no run stands behind."""
    assert moved_threshold(20, ((20.0, 0.0), (21.0, 2.0)), after, 0.01) is None


@pytest.mark.parametrize(
    ("low", "high", "bracket"),
    [
        pytest.param(89.0, 91.0, (392, 409), id="between them"),
        pytest.param(88.0, 89.0, (392, 579), id="above"),
        pytest.param(91.0, 92.0, (222, 409), id="below"),
        pytest.param(91.0, 89.0, (392, 409), id="it turns round"),
    ],
)
def test_a_lost_threshold_is_searched_on_the_side_on_which_it_must_be(
    low: float, high: float, bracket: tuple[int, int]
) -> None:
    """Of a largest value; of a smallest one, below which the condition does not hold, the sides are exchanged."""
    near = near_bracket(LARGEST, [((392.0, low), (409.0, high))])
    assert (near.start, near.stop) == bracket
    smallest = near_bracket(replace(LARGEST, largest=False), [((392.0, 180 - low), (409.0, 180 - high))])
    assert (smallest.start, smallest.stop) == bracket


def test_a_bracket_holds_the_thresholds_of_all_replications_and_ends_where_the_whole_one_does() -> None:
    pairs = [((392.0, 91.0), (409.0, 92.0)), ((300.0, 80.0), (310.0, 100.0)), ((580.0, 80.0), (590.0, 81.0))]
    near = near_bracket(LARGEST, pairs)
    assert (near.start, near.stop) == (222, 600)
    assert near_bracket(LARGEST, []) == LARGEST
