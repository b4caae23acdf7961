"""Statements that are true or false: lines, limits, ratios, states against thresholds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sample_runs import line, run, runs

from hostsim.engine.record import RunRecord
from hostsim.results.expect import (
    Always,
    Band,
    Compared,
    Direction,
    Expectation,
    Limit,
    Monotone,
    Predicate,
    Switches,
    Verdict,
    VerdictState,
    Within,
)
from hostsim.results.judge import judge

PASS, FAIL, OPEN, MISSING = VerdictState


def verdict_on(form: Always | Switches, records: Sequence[RunRecord]) -> Verdict:
    (verdict,) = judge([Expectation("it", form, Band(1, 1), "boolean", "exact", is_claim=True)], "mine", records, {})
    return verdict


def always(condition: Predicate, records: Sequence[RunRecord]) -> Verdict:
    return verdict_on(Always((condition,)), records)


@pytest.mark.parametrize(
    ("direction", "steps", "state"),
    [
        ("not falling", [[50, 52], [60, 61]], PASS),
        ("not falling", [[50, 50], [50, 50]], PASS),
        ("not falling", [[50, 60], [49, 59]], FAIL),  # it varies by ten, and falls by one in every replication
        ("not falling", [[50, 60], [49.8, 59.8]], PASS),  # certain, but below 0.5 %
        (
            "not falling",
            [[50, 60], [49.7255, 59.7255]],
            PASS,
        ),  # 0.499 % of the larger mean, 0.502 % of the smaller; 0.501 % of the larger mean
        ("not falling", [[50, 60], [49.7245, 59.7245]], FAIL),  # 0.501 % of the larger mean
        ("not falling", [[50, 60], [55, 50]], PASS),  # the mean falls by five, but not significantly
        ("not falling", [[40, 41], [50, 51], [45, 46]], FAIL),  # one step is enough
        ("not rising", [[50, 60], [51, 61]], FAIL),
        ("not rising", [[51, 61], [50, 60]], PASS),
    ],
)
def test_not_falling_is_broken_by_a_fall_that_is_certain_and_noticeable(
    direction: Direction, steps: list[list[float]], state: VerdictState
) -> None:
    """Differences are paired by replication: common noise hides nothing, and noise alone violates nothing."""
    records = line("host_cpu", "n", list(enumerate(steps)))
    verdict = always(Monotone("host_cpu", direction, "n", tuple(range(len(steps))), {}), records)
    assert verdict.state is state
    assert verdict.value == (state is PASS)
    assert [case["n"] for case in verdict.points] == list(range(len(steps)))


def test_of_one_replication_every_noticeable_fall_counts_and_the_verdict_says_so() -> None:
    """There is no spread that could explain it."""
    form = Monotone("host_cpu", "not falling", "n", (0, 1), {})
    small = always(form, line("host_cpu", "n", [(0, [50.0]), (1, [49.9])]))
    large = always(form, line("host_cpu", "n", [(0, [50.0]), (1, [49.0])]))
    assert (small.state, large.state) == (PASS, FAIL)
    assert "one replication: any step of more than 0.5% counts" in small.notes
    assert "host_cpu falls from n=0 to 1: 50 to 49 %" in large.notes


@pytest.mark.parametrize(
    ("limit", "values", "state", "value"),
    [
        (Limit(below=40), [30, 31, 30], PASS, 1),
        (Limit(below=30), [30, 30, 30], FAIL, 0),  # equal is not below
        (Limit(above=30), [30, 30, 30], FAIL, 0),
        (Limit(above=29), [30, 30, 30], PASS, 1),
        (Limit(below=40), [30, 41, 38], OPEN, 1),  # by the mean it is true, but not certainly
        (Limit(above=40), [30, 41, 38], OPEN, 0),
        (Limit(above=60), [30, 31, 30], FAIL, 0),
    ],
)
def test_a_limit_that_the_interval_straddles_leaves_it_open(
    limit: Limit, values: list[float], state: VerdictState, value: float
) -> None:
    """One point of a line is enough."""
    verdict = always(Within("host_cpu", limit, {"n": 1}), runs("host_cpu", values, n=1))
    assert (verdict.state, verdict.value) == (state, value)


def test_a_limit_holds_at_every_point_of_a_line() -> None:
    """The others do not compensate for one."""
    records = line("host_cpu", "n", [(0, [30, 30]), (1, [96, 96]), (2, [30, 30])], split="1")
    form = Within("host_cpu", Limit(below=95), {"split": "1"}, "n", (0, 1, 2))
    verdict = always(form, records)
    assert (verdict.state, len(verdict.points)) == (FAIL, 3)
    assert always(Within("host_cpu", Limit(below=95), {"split": "1"}, "n", (0, 2)), records).state is PASS


@pytest.mark.parametrize(("limit", "state"), [(1.4, PASS), (1.5, FAIL), (1.6, FAIL)])
def test_a_point_against_another_is_paired_by_replication(limit: float, state: VerdictState) -> None:
    """Both vary, their ratio does not; both points and the ratio are listed."""
    noise = [20.0, 40.0, 30.0]
    records = [*runs("host_cpu", [1.5 * n for n in noise], split="1", n=1), *runs("host_cpu", noise, split="0", n=1)]
    form = Compared("host_cpu", {"split": "1"}, {"split": "0"}, Limit(above=limit), {"n": 1, "split": "0"})
    verdict = always(form, records)
    assert verdict.state is state
    assert [(case["condition"], case.get("split"), case["value"]) for case in verdict.points] == [
        (f"ratio of host_cpu above {limit:g}", "1", pytest.approx(45)),
        (f"ratio of host_cpu above {limit:g}", "0", pytest.approx(30)),
        (f"ratio of host_cpu above {limit:g}", None, pytest.approx(1.5)),
    ]


def test_all_conditions_of_a_list_must_hold() -> None:
    """Each case names its condition; a violated condition outweighs an open one."""
    records = line("host_cpu", "n", [(0, [30, 31]), (1, [40, 41])])
    rising = Monotone("host_cpu", "rising", "n", (0, 1), {})
    falling = Monotone("host_cpu", "falling", "n", (0, 1), {})
    within = Within("host_cpu", Limit(below=90), {"n": 1})
    unsure = Within("host_cpu", Limit(below=41), {"n": 1})
    verdict = verdict_on(Always((rising, within)), records)
    assert (verdict.state, verdict.value) == (PASS, 1)
    assert [(case["condition"], case["n"]) for case in verdict.points] == [
        ("host_cpu rising", 0),
        ("host_cpu rising", 1),
        ("host_cpu below 90 %", 1),
    ]
    assert verdict_on(Always((rising, unsure)), records).state is OPEN
    assert verdict_on(Always((falling, unsure)), records).state is FAIL
    missing = Within("host_cpu", Limit(below=90), {"n": 2})
    assert verdict_on(Always((falling, missing)), records).reason == "no run at n=2"


def switches(cases: list[tuple[float, float, float]]) -> Verdict:
    """Cases of a state, a measure and a threshold: loss represents the state, guest CPU the deciding measure."""
    records = [
        run(loss=state, guest_cpu=measure, replication=r, n=n, threshold=threshold)
        for n, (state, measure, threshold) in enumerate(cases)
        for r in range(2)
    ]
    at = tuple({"n": n, "threshold": threshold} for n, (*_, threshold) in enumerate(cases))
    form = Switches("loss", "guest_cpu", at, tuple(threshold for *_, threshold in cases))
    return verdict_on(form, records)


@pytest.mark.parametrize(
    ("cases", "state"),
    [
        ([(100, 40, 60), (0, 70, 60)], PASS),
        ([(100, 40, 60), (100, 70, 60)], FAIL),
        ([(0, 40, 60), (0, 70, 60)], FAIL),
        ([(100, 40, 60), (0, 60, 60)], PASS),  # at the threshold is not below it
        ([(0, 40, 0)], PASS),  # 0 means never, and has no other side
        ([(0, 0, 0)], PASS),
        ([(100, 40, 0)], FAIL),
        ([(100, 40, 60), (0, 70, 60), (100, 70, 80), (0, 90, 80), (0, 40, 0)], PASS),
    ],
)
def test_a_state_is_in_force_exactly_below_its_threshold(
    cases: list[tuple[float, float, float]], state: VerdictState
) -> None:
    """Above half of the window counts as active."""
    assert switches(cases).state is state


@pytest.mark.parametrize(
    ("cases", "reason"),
    [
        ([(100, 40, 60), (100, 50, 60)], "no case has guest_cpu from it on at the threshold 60 % of a vCPU: 40, 50"),
        ([(0, 70, 60)], "no case has guest_cpu below it at the threshold 60 % of a vCPU: 70"),
        (
            [(100, 40, 60), (0, 70, 60), (0, 90, 80)],
            "no case has guest_cpu below it at the threshold 80 % of a vCPU: 90",
        ),
    ],
)
def test_a_threshold_seen_from_one_side_is_missing(cases: list[tuple[float, float, float]], reason: str) -> None:
    """A state that is always on says nothing about its threshold."""
    verdict = switches(cases)
    assert (verdict.state, verdict.value, verdict.reason) == (MISSING, None, reason)


def test_cases_of_a_state_carry_both_numbers_and_a_note_says_what_is_wrong() -> None:
    """The message names the wrong case."""
    verdict = switches([(100, 40, 60), (80, 70, 60)])
    assert [(c["threshold"], c["loss"], c["guest_cpu"], c["value"]) for c in verdict.points] == [
        (60, pytest.approx(100), pytest.approx(40), 1),
        (60, pytest.approx(80), pytest.approx(70), 0),
    ]
    assert verdict.notes == ("loss is active while guest_cpu is not below 60 at n=1, threshold=60",)


def test_a_measure_that_straddles_its_threshold_leaves_the_state_open() -> None:
    """It is unknown whether the state should be active there."""
    records = [
        *(run(loss=100, guest_cpu=cpu, replication=r, n=0) for r, cpu in enumerate([40, 79])),
        *(run(loss=0, guest_cpu=cpu, replication=r, n=1) for r, cpu in enumerate([90, 90])),
    ]
    form = Switches("loss", "guest_cpu", ({"n": 0}, {"n": 1}), (60.0, 60.0))
    verdict = verdict_on(form, records)
    assert (verdict.state, verdict.value) == (OPEN, 1)
