"""Interim analysis: an open verdict gets more replications, and three looks do not increase its error rate."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hostsim.campaign.interim_analysis import GROWTH, LEVEL, InterimAnalysis, is_futile, plan_with_looks
from hostsim.campaign.pipeline import judge_expectations
from hostsim.engine.record import FloatArray, RunRecord
from hostsim.results.estimate import Interval, student
from hostsim.results.expect import Band, KnownRed, VerdictState
from hostsim.results.judge import state_of
from hostsim.results.search_answer import look_name
from hostsim.results.verdicts import label
from hostsim.scenario.plan import Fidelity, Plan, RecordKey, Task
from tests.scenario.small_scenario import load_text, record

QUICK = Fidelity(quick=True)
FIVE_QUICK = ("quick: {length: 500 ms, replications: 1}", "quick: {length: 500 ms, replications: 5}")
FIVE = ("replications: 2,", "replications: 5,")
BAND = ("between: [0, 1 %]", "between: [0.05, 0.06]")
FIND = "  - {name: most, between: [4, 26], find: {largest: receivers, from: 1, to: 31, where: {metric: loss, below: 0.01 %}}}\n"


def plan_of(folder: Path, *changes: tuple[str, str], fidelity: Fidelity | None = None) -> Plan:
    return plan_with_looks(load_text(folder, FIVE, *changes), fidelity or Fidelity(), sweep=False)


def play(
    plan: Plan, dropped: Callable[[Task], int], seed: int = 1, **facts: float
) -> tuple[dict[RecordKey, RunRecord], InterimAnalysis]:
    """The interim analysis of the first expectation, with its runs ended one at a time in any order."""
    search = next(search for search in plan.searches if isinstance(search, InterimAnalysis))
    done: dict[RecordKey, RunRecord] = {}
    order = random.Random(seed)
    while waiting := search.wants(done):
        task = order.choice(waiting)
        made = record(task.key, task.point.axes, dropped(task), of=10**8)
        done[task.key] = replace(made, facts=facts)
    return done, search


def noise(mean: float, deviation: float) -> Callable[[Task], int]:
    """Loss in percent, of 10^8 packets."""
    return lambda task: round(1e6 * (mean + deviation * float(np.random.default_rng(task.replication).normal())))


@pytest.mark.parametrize(
    ("mean", "deviation", "replications", "state"),
    [
        (0.055, 0.0005, 5, VerdictState.PASS),
        (0.08, 0.0005, 5, VerdictState.FAIL),
        (0.055, 0.0025, 10, VerdictState.PASS),
        (0.062, 0.0025, 20, VerdictState.FAIL),
        (0.06, 0.0025, 5, VerdictState.OPEN),
    ],
)
def test_a_verdict_is_looked_at_until_it_is_not_open(
    tmp_path: Path, mean: float, deviation: float, replications: int, state: VerdictState
) -> None:
    """By the interval of 5, 10 and 20 replications, at a level at which all three hold together; for any order of runs.
    At the very end of the band 20 would not decide, as 5 already show.
    """
    plan = plan_of(tmp_path, BAND)
    done, search = play(plan, noise(mean, deviation))
    assert len(done) == replications
    assert play(plan, noise(mean, deviation), seed=2)[0].keys() == done.keys()
    answer = search.answer(done)
    more = {key: made for key, made in play(plan, noise(0.06, 0.0025))[0].items() if key not in done}
    [verdict] = judge_expectations(plan.scenario, {**done, **more}, {answer.name: answer}, Fidelity())
    interval = student([made.window("port.ring_lost")[0] / 1e6 for made in done.values()], 1 - 0.05 / 3)
    assert (verdict.state, verdict.ci_low, verdict.ci_high) == (
        state,
        pytest.approx(interval.low),
        pytest.approx(interval.high),
    )


def test_a_ratio_of_equal_hosts_is_looked_at_with_both_points(tmp_path: Path) -> None:
    """They differ in a setting without effect, so that their points have one hash; the ratio is 1, and the verdict has it."""
    weight = ("sweep:\n", "sweep:\n  weight: {set: host.advanced.Net.E1000TxCopySize, values: [0, 100]}\n")
    ratio = (
        "expect:\n",
        "expect:\n  - {name: equal, ratio: {metric: loss, of: {weight: 100}, to: {weight: 0}}, between: [0.9, 1.1]}\n",
    )
    done, search = play(plan_of(tmp_path, weight, ratio), lambda task: 1000)
    (answer,) = [search.answer(done)]
    assert answer.look is not None
    assert {record.axes["weight"] for record in done.values()} == {0, 100}
    assert answer.values == (5.0,)


def test_a_search_is_looked_at_with_as_many_replications(tmp_path: Path) -> None:
    """Its threshold varies from 10 to 25 with a mean in the band: five are not enough, ten are."""
    plan = plan_of(tmp_path, ("expect:\n", f"expect:\n{FIND}"))
    limits = [11, 25, 13, 24, 12, 14, 13, 12, 14, 13]
    done, search = play(
        plan, lambda task: 0 if int(task.point.axes["receivers"]) <= limits[task.replication % 10] else 10**5
    )
    answer = search.answer(done)
    assert answer.look is not None
    assert answer.look.replications == 10
    assert answer.look.searches["most"].values == tuple(map(float, limits))
    states = {v.expectation.name: v for v in judge_expectations(plan.scenario, done, {answer.name: answer}, Fidelity())}
    assert states["most"].state is VerdictState.PASS
    assert states["most"].value == sum(limits) / 10


def test_there_is_no_second_look_where_the_number_of_runs_is_given(tmp_path: Path) -> None:
    """By an option, by a precision, by a scenario of one replication; nor for thorough runs."""
    some = [search.name for search in plan_of(tmp_path).searches]
    assert some == [look_name("mine")]
    for fidelity in (Fidelity(quick=True, replications=5), Fidelity(replications=5), Fidelity(thorough=True)):
        assert plan_of(tmp_path, fidelity=fidelity).searches == ()
    precise = plan_of(tmp_path, ("replications: 5,", "replications: 5, precision: {loss: 1 %},"))
    assert not any(isinstance(search, InterimAnalysis) for search in precise.searches)
    assert plan_of(tmp_path, ("replications: 5,", "replications: 1,")).searches == ()


@pytest.mark.parametrize(
    ("mean", "deviation", "replications", "word"),
    [
        (0.055, 0.0005, 5, "pass"),
        (0.058, 0.0025, 5, "pass?"),  # across the end of the band, and accepted both across and beyond it
        (0.061, 0.0025, 20, "open"),  # across it and beyond
        (0.062, 0.0025, 20, "fail"),
        (0.080, 0.0005, 5, "fail"),
    ],
)
def test_a_quick_verdict_is_looked_at_again_only_where_its_value_is_beyond_the_end_that_it_straddles(
    tmp_path: Path, mean: float, deviation: float, replications: int, word: str
) -> None:
    """The first look has the level of any quick verdict, and an estimate of time includes no further one."""
    plan = plan_of(tmp_path, BAND, FIVE_QUICK, fidelity=QUICK)
    done, search = play(plan, noise(mean, deviation))
    assert (len(done), search.most()) == (replications, 5)
    [verdict] = judge_expectations(plan.scenario, done, {search.name: search.answer(done)}, QUICK)
    level = 0.95 if replications == 5 else 1 - 0.05 / 3
    interval = student([made.window("port.ring_lost")[0] / 1e6 for made in done.values()], level)
    assert (label(verdict, quick=True), verdict.ci_low) == (word, pytest.approx(interval.low))


@pytest.mark.parametrize(
    ("first", "others", "replications", "word"), [(0.055, 0.08, 1, "pass?"), (0.08, 0.045, 4, "pass?")]
)
def test_one_quick_run_with_its_value_outside_the_band_gets_more_replications(
    tmp_path: Path, first: float, others: float, replications: int, word: str
) -> None:
    """It has no interval of its own, and the seed may be an outlier."""
    plan = plan_of(tmp_path, BAND, fidelity=QUICK)
    done, search = play(plan, lambda task: round(1e6 * (others if task.replication else first)))
    assert len(done) == replications
    [verdict] = judge_expectations(plan.scenario, done, {search.name: search.answer(done)}, QUICK)
    assert label(verdict, quick=True) == word


def test_a_known_red_is_not_looked_at_again_at_quick_fidelity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes by its range."""
    monkeypatch.setattr("hostsim.campaign.interim_analysis.known_red", lambda: {"mine": None})
    assert plan_of(tmp_path, FIVE_QUICK, fidelity=QUICK).searches == ()
    assert [search.name for search in plan_of(tmp_path, FIVE_QUICK).searches] == [look_name("mine")]


@pytest.mark.parametrize(
    ("fidelity", "by_interval"),
    [
        (QUICK, False),
        (replace(QUICK, max_processor_s=9), False),
        (replace(QUICK, seed=2), True),
        (replace(QUICK, replications=3), True),
        (Fidelity(), True),
    ],
)
def test_a_known_red_has_its_own_range_in_the_runs_that_it_was_measured_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fidelity: Fidelity, *, by_interval: bool
) -> None:
    """Quick ones with the default root seed, and the range for other runs for all others."""
    claim = ("name: mine", "claim: splitrx.guest_cpu.same"), ("    between: [0, 1 %]\n", "")
    ratio = ("metric: loss\n    at: {receivers: 2}", "ratio: {metric: loss, of: {receivers: 2}, to: {receivers: 1}}")
    plan = plan_of(tmp_path, ratio, *claim, fidelity=fidelity)
    monkeypatch.setattr(
        "hostsim.campaign.pipeline.known_red",
        lambda *, other_runs: {"splitrx.guest_cpu.same": KnownRed(Band(1, 2), "", by_interval=other_runs)},
    )
    [verdict] = judge_expectations(plan.scenario, {}, {}, fidelity)
    assert verdict.known is not None
    assert verdict.known.by_interval is by_interval


def test_no_look_is_taken_that_there_is_no_time_for(tmp_path: Path) -> None:
    """The verdict is open and says why: 5 runs of 2 s took 10 s, ten would take 20."""
    plan = plan_of(tmp_path, BAND, fidelity=Fidelity(max_processor_s=19))
    done, search = play(plan, noise(0.055, 0.0025), wall_processor_s=2)
    assert len(done) == 5
    [verdict] = judge_expectations(plan.scenario, done, {search.name: search.answer(done)}, Fidelity())
    assert verdict.state is VerdictState.OPEN
    assert verdict.notes[-1] == (
        "undecided after 5 replications, which took 10 s of processor time: 10 would take about 20 s, and 19 s are allowed "
        "(--max-processor-time)"
    )
    plan = plan_of(tmp_path, BAND, fidelity=Fidelity(max_processor_s=21))
    assert len(play(plan, noise(0.055, 0.0025), wall_processor_s=2)[0]) == 10


def test_a_futile_look_is_not_taken_and_the_verdict_says_so(tmp_path: Path) -> None:
    """The mean of five is at the end of the band, where no number of replications decides."""
    plan = plan_of(tmp_path, BAND)
    done, search = play(plan, noise(0.06, 0.0025))
    [verdict] = judge_expectations(plan.scenario, done, {search.name: search.answer(done)}, Fidelity())
    assert verdict.notes[-1] == "undecided after 5 replications, and also after 20 if mean and deviation do not change"


@pytest.mark.parametrize(("mean", "futile"), [(1.0, True), (0.7, True), (0.6, False), (-0.1, False)])
def test_a_look_is_futile_where_the_interval_of_the_last_one_would_reach_the_end_of_the_band(
    mean: float, *, futile: bool
) -> None:
    """The half-width 1 of five becomes a third: by Student's quantiles of 19 and 4 degrees of freedom, and half for four times as many."""
    assert is_futile(Interval(mean, mean - 1, mean + 1, 5), Band(None, 1.0), 20) is futile


def test_a_look_is_futile_where_the_interval_would_be_wider_than_half_the_band() -> None:
    assert is_futile(Interval(0.5, -2.5, 3.5, 5), Band(-1.0, 2.0), 20)
    assert not is_futile(Interval(0.5, -1.5, 2.5, 5), Band(-1.0, 2.0), 20)


def verdicts(values: FloatArray, band: Band) -> list[VerdictState]:
    """The final verdict of each experiment, with twenty replications per row."""
    found = []
    for row in values.tolist():
        for factor in GROWTH:
            interval = student(row[: 5 * factor], LEVEL)
            state = state_of(interval, band)
            if state is not VerdictState.OPEN or is_futile(interval, band, 5 * GROWTH[-1]):
                break
        found.append(state)
    return found


NORMAL = np.random.default_rng(1).normal(size=(4000, 20))
SKEWED = np.random.default_rng(2).gamma(4, 0.5, size=(4000, 20)) - 2
"""Mean 0, deviation 1, skewness 1."""


@pytest.mark.parametrize("off", [-0.02, 0.02])
@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("values", [NORMAL, SKEWED], ids=["normal", "skewed"])
def test_verdicts_near_an_end_of_a_band_are_wrong_no_more_often_than_they_may_be(
    values: FloatArray, end: str, off: float
) -> None:
    """The true value is a fiftieth of a deviation inside or outside of the band: at most 5 % of all verdicts are wrong."""
    band = Band(-off, 8.0) if end == "low" else Band(-8.0, off)
    is_inside = band.holds(0)
    wrong = VerdictState.FAIL if is_inside else VerdictState.PASS
    assert verdicts(values, band).count(wrong) <= 0.05 * len(values)
