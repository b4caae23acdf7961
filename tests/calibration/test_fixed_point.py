"""Fixed points: thresholds from a few measurements, and claims of a host without a search."""

from __future__ import annotations

import math

import pytest

from hostsim.campaign.driver import Outcome
from hostsim.lab.calibration.fixed_point import FixedPoints, Measured, crossing, grid, threshold_crossing
from hostsim.results.expect import Find
from hostsim.results.search_answer import SearchAnswer
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.selection import select


def threshold(*, below: float = 90.0, start: int = 1, stop: int = 1000) -> Find:
    return Find(True, "vms", start, stop, "host_cpu", below, {})


def line(slope: float, values: tuple[int, ...] = (65, 85, 97, 105, 120)) -> list[Measured]:
    """A load that rises linearly until the host is saturated, as measured."""
    return [Measured(float(v), min(slope * v, 100.0), min(slope * v, 100.0)) for v in values]


@pytest.mark.parametrize("slope", [0.80, 0.9, 1.1])
def test_a_load_in_a_straight_line_crosses_where_it_does(slope: float) -> None:
    """Between two measurements by the logarithm, which is nearly linear."""
    assert crossing(threshold(), line(slope)) == pytest.approx(90 / slope - 0.5, rel=0.01)


def test_a_response_that_loses_its_bound_crosses_where_the_host_is_full() -> None:
    """Ten milliseconds up to there, and unbounded beyond; measured at 97 and 105, saturated at 100."""
    measured = [Measured(one.value, 10.0 if one.value < 100 else math.inf, one.load) for one in line(1.0)]
    assert crossing(threshold(below=100.0), measured) == pytest.approx(100 - 0.5, abs=0.1)


def test_a_threshold_beyond_all_measurements_lies_where_the_host_would_be_full_at_the_latest() -> None:
    """All of them hold: by the load, and not farther than three times the last step."""
    measured = [Measured(one.value, 10.0, one.load) for one in line(0.7)]
    assert crossing(threshold(below=100.0), measured) == pytest.approx(100 / 0.7 - 0.5)
    assert crossing(threshold(below=100.0), [Measured(v, 10.0, 5.0) for v in (65.0, 85.0)]) == 85 + 3 * 20 - 0.5


def test_a_threshold_below_all_measurements_is_one_step_below_at_most() -> None:
    """The condition holds at no measured point."""
    measured = [Measured(value, math.inf, 100.0) for value in (65.0, 85.0)]
    assert crossing(threshold(), measured) == 65 - 20 - 0.5


def test_one_measurement_is_no_threshold() -> None:
    """Failed runs leave none."""
    assert math.isnan(crossing(threshold(), [Measured(65.0, 10.0, 50.0), Measured(85.0, math.nan, 50.0)]))


def test_a_grid_is_closest_about_what_was_published() -> None:
    """Shares of the published value; integers without duplicates."""
    assert grid(100.0) == (65, 85, 97, 105, 120)
    assert grid(2.0) == (1, 2)


def test_thresholds_of_one_host_share_their_points() -> None:
    """Two for each mode in the claims, one set of points per mode in the plan; seeds distinguish hosts."""
    [(scenario, names)] = select(
        *(f"dense.medium.{mode}.{what}" for mode in ("default", "dense") for what in ("p95", "cpu"))
    )
    assert len(names) == 4
    points = FixedPoints(scenario, names)
    plan = points.plan(points.scenario, Fidelity(quick=True, seed=7))
    assert len(plan.tasks) == 10
    assert {task.replication for task in plan.tasks} == {0}
    assert {task.seed for task in plan.tasks} == {7}


def test_thresholds_with_their_own_run_length_are_searched_on_request() -> None:
    """At 100 ms, not at 90 % CPU; the answer of a search replaces the interpolation."""
    [(scenario, names)] = select("dense.medium.default.p95", "dense.medium.default.cpu")
    points, fidelity = FixedPoints(scenario, names), Fidelity(quick=True)
    assert points.plan(points.scenario, fidelity).searches == ()
    searched = points.plan(points.scenario, fidelity, is_searched=True)
    assert [search.name for search in searched.searches] == ["dense.medium.default.p95"]
    answers = {"dense.medium.default.p95": SearchAnswer("dense.medium.default.p95", (499.0,))}
    values = points.values(points.scenario, fidelity, Outcome({}, answers, interrupted=False, ran=0, reused=0))
    assert values["dense.medium.default.p95"] == 499.0
    assert math.isnan(values["dense.medium.default.cpu"])


@pytest.mark.parametrize(
    ("below", "above", "limit", "expected"),
    [
        ((20, 0.0), (21, 4.0), 0.01, 20.16),
        ((20, 0.0), (24, 50.0), 0.01, 20.0),
        ((100, 80.0), (110, 96.8), 88.0, 105.0),
    ],
)
def test_a_threshold_is_where_its_metric_crosses_the_limit(
    below: tuple[float, float], above: tuple[float, float], limit: float, expected: float
) -> None:
    """A rate that starts from zero is shared linearly; any other value grows by a factor."""
    assert threshold_crossing(below, above, limit=limit) == pytest.approx(expected)
