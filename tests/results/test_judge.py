"""Verdicts: every form of expectation, every state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from sample_runs import failed, line, run, runs

from hostsim.engine.record import RunRecord
from hostsim.results.estimate import Interval, student
from hostsim.results.expect import (
    Always,
    At,
    Band,
    Difference,
    Expectation,
    Find,
    Form,
    KnownRed,
    Mean,
    Monotone,
    Ratio,
    Refusal,
    Refused,
    RSquared,
    Verdict,
    VerdictState,
    Worst,
)
from hostsim.results.judge import judge, state_of
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.point_estimate import RunSource
from hostsim.results.search_answer import Bound, SearchAnswer
from tests.campaign.toy_runs import answered_record

PASS, FAIL, OPEN, MISSING = VerdictState
AT_LEAST, AT_MOST, LESS_THAN = Bound


def expect(form: Form, low: float | None = None, high: float | None = None, name: str = "it") -> Expectation:
    return Expectation(name, form, Band(low, high), "%", "", is_claim=True)


def verdict_on(
    expectation: Expectation, records: Sequence[RunRecord], answers: Mapping[str, SearchAnswer] | None = None
) -> Verdict:
    (verdict,) = judge([expectation], "mine", records, answers or {})
    return verdict


@pytest.mark.parametrize(
    ("low", "high", "band", "state"),
    [
        (4, 6, Band(0, 10), PASS),
        (0, 5, Band(0, 10), PASS),  # ends belong to the band, and half its width is not too wide
        (0, 5.1, Band(0, 10), OPEN),  # inside, but too wide for a verdict
        (-1, 1, Band(0, 10), OPEN),
        (9, 11, Band(0, 10), OPEN),
        (-5, 15, Band(0, 10), OPEN),
        (11, 12, Band(0, 10), FAIL),
        (-3, -1, Band(0, 10), FAIL),
        (3, 3, Band(3, 3), PASS),  # without width
        (3.1, 3.1, Band(3, 3), FAIL),
        (1, 1000, Band(1, None), PASS),  # an open end sets no width
        (0.5, 1000, Band(1, None), OPEN),
        (0.5, 0.6, Band(1, None), FAIL),
        (-math.inf, math.inf, Band(0, 10), OPEN),
    ],
)
def test_the_interval_and_the_band_alone_make_the_state(
    low: float, high: float, band: Band, state: VerdictState
) -> None:
    """Inside and narrow passes, outside fails, otherwise open."""
    assert state_of(Interval((low + high) / 2, low, high, 5), band) is state


def test_at_is_the_mean_over_the_replications_with_students_interval() -> None:
    """Other points are ignored, although they share axis values."""
    values = [29.0, 30.0, 31.0, 30.0]
    records = [*runs("host_cpu", values, receivers=20, split="0"), *runs("host_cpu", [90.0], receivers=20, split="1")]
    verdict = verdict_on(expect(At("host_cpu", {"split": "0", "receivers": 20}), 20, 40), records)
    interval = student(values)
    assert (verdict.value, verdict.ci_low, verdict.ci_high) == pytest.approx(
        (interval.mean, interval.low, interval.high)
    )
    assert verdict.state is PASS
    (case,) = verdict.points
    assert (case["receivers"], case["value"], case["low"]) == (20, verdict.value, verdict.ci_low)


@pytest.mark.parametrize("count", range(2, 8))
def test_the_half_width_of_any_number_of_values_is_that_of_scipys_quantile(count: int) -> None:
    """Quantiles for few values are constants in the code, exact to the last bit."""
    from scipy.special import stdtrit

    values = [0.0, *[1.0] * (count - 1)]
    deviation = math.sqrt(math.fsum((value - (count - 1) / count) ** 2 for value in values) / (count - 1))
    half = float(stdtrit(count - 1, 0.975)) * deviation / math.sqrt(count)
    assert student(values).high == (count - 1) / count + half


def test_a_measure_is_not_negative_and_neither_is_its_interval() -> None:
    """A tiny loss is inside a band that starts at 0, although Student's interval alone would reach below."""
    records = runs("loss", [0, 0, 0.001, 0, 0.001], n=1)
    assert student([0, 0, 0.001, 0, 0.001]).low < 0
    verdict = verdict_on(expect(At("loss", {"n": 1}), 0, 0.01), records)
    assert (verdict.state, verdict.ci_low) == (PASS, 0)


@pytest.mark.parametrize(("spread", "state"), [(0.0, PASS), (0.001, PASS), (0.015, OPEN)])
def test_a_condition_below_is_held_against_the_upper_end(spread: float, state: VerdictState) -> None:
    """The mean of 0.004 is below 0.01; the verdict also requires the interval's upper end to be below it."""
    records = runs("loss", [0.004 - spread / 4, 0.004 + spread / 4] * 2, n=1)
    assert verdict_on(expect(At("loss", {"n": 1}), None, 0.01), records).state is state


def test_one_replication_is_open() -> None:
    """Its interval has no ends, for which JSON has no value."""
    verdict = verdict_on(expect(At("host_cpu", {"n": 1}), 0, 100), runs("host_cpu", [30.0], n=1))
    assert (verdict.state, verdict.ci_low, verdict.ci_high) == (OPEN, None, None)
    assert verdict.value == pytest.approx(30)


def test_no_run_is_missing() -> None:
    """What is missing is said."""
    verdict = verdict_on(expect(At("host_cpu", {"n": 2}), 0, 100), runs("host_cpu", [30.0], n=1))
    assert (verdict.state, verdict.value, verdict.reason) == (MISSING, None, "no run at n=2")


def test_a_failed_run_is_missing() -> None:
    """A verdict never uses only the replications that survived."""
    records = runs("host_cpu", [30.0, 30.0, 30.0], n=1)
    records[1] = failed(records[1], "Traceback\n  somewhere\nInvariantError: a packet was lost")
    verdict = verdict_on(expect(At("host_cpu", {"n": 1}), 0, 100), records)
    assert verdict.state is MISSING
    assert verdict.reason == "(partial) replication 1 failed at n=1: InvariantError: a packet was lost"


def test_what_cannot_be_measured_is_missing() -> None:
    """The runs have no latencies."""
    verdict = verdict_on(expect(At("latency_p95", {"n": 1}), 0, 100), runs("host_cpu", [30.0], n=1))
    assert verdict.reason == "not estimable: latency_p95 needs 72 observations in every run at n=1"
    verdict = verdict_on(expect(At("latency_mean", {"n": 1}), 0, 100), runs("host_cpu", [30.0], n=1))
    assert verdict.reason == "latency_mean has no observations at n=1"


@pytest.mark.parametrize(
    ("levels", "best", "value"),
    [
        ([20, 30, 38], False, 38),  # nearest to an end of 10..40
        ([20, 30, 11], False, 11),
        ([20, 45, 1], False, 1),  # farthest outside
        ([22, 30, 38], True, 22),  # 12 from the nearest end
        ([24, 45, 1], True, 24),
    ],
)
def test_worst_takes_the_point_that_says_most_against_it(levels: list[float], best: bool, value: float) -> None:
    """`best` takes the most favourable point; all points are listed."""
    records = line("host_cpu", "n", [(n, [level, level]) for n, level in enumerate(levels)], split="1")
    form = Worst(tuple(At("host_cpu", {"split": "1", "n": n}) for n in range(len(levels))), best=best)
    verdict = verdict_on(expect(form, 10, 40), records)
    assert verdict.value == pytest.approx(value)
    assert [case["value"] for case in verdict.points] == pytest.approx(levels)


@pytest.mark.parametrize(("best", "value"), [(False, 1.5), (True, 1.05)])
def test_worst_takes_a_ratio_at_every_point(best: bool, value: float) -> None:
    """Each is paired by replication; a case is a ratio with both its sides."""
    noise = [20.0, 40.0, 30.0]
    records = [
        record
        for n, factor in enumerate((1.05, 1.5, 1.2))
        for split, scale in (("1", factor), ("0", 1.0))
        for record in runs("host_cpu", [scale * level for level in noise], n=n, split=split)
    ]
    points = (Ratio("host_cpu", {"split": "1"}, {"split": "0"}, {"n": n, "split": "0"}) for n in range(3))
    verdict = verdict_on(expect(Worst(tuple(points), best=best), 0.9, 1.3), records)
    assert (verdict.value, verdict.ci_low, verdict.ci_high) == pytest.approx((value, value, value))
    assert verdict.state is (PASS if best else FAIL)
    assert verdict.points[1] == pytest.approx(
        {"n": 1, "host_cpu of": 45.0, "host_cpu to": 30.0, "value": 1.5, "low": 1.5, "high": 1.5}
    )
    assert len(verdict.points) == 3
    # of the one that counts
    assert len([note for note in verdict.notes if note.startswith("paired by replication")]) == 1


def test_a_mean_is_taken_in_every_replication_and_says_its_extremes() -> None:
    """Opposite noise of its points cancels; all points are listed, and the worst is named."""
    noise = [-3.0, 0.0, 3.0]
    records = line("host_cpu", "n", [(n, [20 + 10 * n + (-1) ** n * x for x in noise]) for n in range(2)], split="1")
    form = Mean(tuple(At("host_cpu", {"split": "1", "n": n}) for n in range(2)))
    verdict = verdict_on(expect(form, 22, 60), records)
    assert (verdict.value, verdict.ci_low, verdict.ci_high) == pytest.approx((25, 25, 25))
    assert [case["value"] for case in verdict.points] == pytest.approx([20, 30])
    assert verdict.notes == ("the mean of 2 cases, from 20 at n=0 (the worst) to 30 at n=1",)


def test_a_mean_of_differences_may_be_below_zero() -> None:
    """Each is paired with the subtracted point, which is on both sides of its case."""
    records = [
        record
        for split, by_n in (("1", (20.0, 10.0)), ("0", (30.0, 14.0)))
        for n, level in enumerate(by_n)
        for record in runs("host_cpu", [level + x for x in (-1.0, 0.0, 4.0)], n=n, split=split)
    ]
    at = [{"n": n, "split": "1"} for n in range(2)]
    form = Mean(tuple(Difference("host_cpu", point, {**point, "split": "0"}) for point in at))
    verdict = verdict_on(expect(form, -8, None), records)
    assert (verdict.value, verdict.ci_low, verdict.state) == (pytest.approx(-7), pytest.approx(-7), PASS)
    assert verdict.points[0] == pytest.approx(
        {"n": 0, "host_cpu of": 21.0, "host_cpu less": 31.0, "value": -10.0, "low": -10.0, "high": -10.0}
    )


def test_worst_with_a_point_missing_is_missing() -> None:
    """It might have been the worst case."""
    form = Worst((At("host_cpu", {"n": 1}), At("host_cpu", {"n": 2})))
    verdict = verdict_on(expect(form, 0, 100), runs("host_cpu", [30.0, 30.0], n=1))
    assert (verdict.state, verdict.reason) == (MISSING, "no run at n=2")


def test_find_judges_the_answer_of_the_search() -> None:
    """Mean over the replications, Student's interval, and the search's own cases and notes."""
    answer = SearchAnswer("it", (20.0, 20.0, 20.0), ({"receivers": 20, "value": 0.0},), ("not monotone",))
    form = Find(True, "receivers", 1, 48, "loss", 0.01, {})
    verdict = verdict_on(expect(form, 19, 21), [], {"it": answer})
    assert (verdict.value, verdict.ci_low, verdict.ci_high, verdict.state) == (20, 20, 20, PASS)
    assert (verdict.points, verdict.notes) == (answer.points, ("not monotone",))


def test_find_without_an_answer_is_missing() -> None:
    """Interrupted, or ended by a failed run."""
    form = Find(True, "receivers", 1, 48, "loss", 0.01, {})
    assert verdict_on(expect(form, 19, 21), []).reason == "the search has not finished"
    answer = SearchAnswer("it", (), notes=("replication 3 failed",))
    assert verdict_on(expect(form, 19, 21), [], {"it": answer}).reason == "replication 3 failed"


THRESHOLD = Find(True, "rate", 80, 189, "loss", 0.01, {})


@pytest.mark.parametrize(
    ("values", "bounds", "band", "state", "bound", "ends"),
    [
        ((189.0, 189.0), {0: AT_LEAST, 1: AT_LEAST}, (80, None), PASS, AT_LEAST, (189, None)),
        ((189.0, 189.0), {0: AT_LEAST, 1: AT_LEAST}, (18, 22), FAIL, AT_LEAST, (189, None)),
        ((189.0, 189.0), {0: AT_LEAST, 1: AT_LEAST}, (150, 250), OPEN, AT_LEAST, (189, None)),
        ((189.0, 189.0), {0: AT_LEAST, 1: AT_LEAST}, (189, 189), OPEN, AT_LEAST, (189, None)),
        ((80.0, 80.0), {0: LESS_THAN, 1: LESS_THAN}, (80, None), FAIL, LESS_THAN, (None, 80)),
        ((80.0, 80.0), {0: LESS_THAN, 1: LESS_THAN}, (None, 80), PASS, LESS_THAN, (None, 80)),
        ((80.0, 80.0), {0: LESS_THAN, 1: LESS_THAN}, (70, 90), OPEN, LESS_THAN, (None, 80)),
        # one replication of three: the end is that of Student's interval of values cut at the bound
        ((187.0, 188.0, 189.0), {2: AT_LEAST}, (100, None), PASS, AT_LEAST, (student([187, 188, 189]).low, None)),
        ((187.0, 188.0, 189.0), {0: LESS_THAN}, (100, None), OPEN, LESS_THAN, (None, student([187, 188, 189]).high)),
        # a single bound gives no information on the next
        ((189.0,), {0: AT_LEAST}, (80, None), OPEN, AT_LEAST, (None, None)),
        ((80.0, 189.0), {0: LESS_THAN, 1: AT_LEAST}, (80, None), OPEN, None, (None, None)),
    ],
)
def test_a_threshold_beyond_its_bracket_is_judged_as_an_open_interval(
    values: tuple[float, ...],
    bounds: Mapping[int, Bound],
    band: tuple[float | None, float | None],
    state: VerdictState,
    bound: Bound | None,
    ends: tuple[float | None, float | None],
) -> None:
    """Never as the number at the bracket's end; the mean of bounds on both sides is unknown."""
    verdict = verdict_on(expect(THRESHOLD, *band), [], {"it": SearchAnswer("it", values, bounds=bounds)})
    assert (verdict.state, verdict.bound, (verdict.ci_low, verdict.ci_high)) == (state, bound, ends)
    assert verdict.value == (None if bound is None else sum(values) / len(values))


@pytest.mark.parametrize(
    ("of", "to", "value", "bound", "state"),
    [
        (None, None, 2.0, None, PASS),
        (AT_LEAST, None, 2.0, AT_LEAST, PASS),
        (AT_LEAST, LESS_THAN, 2.0, AT_LEAST, PASS),
        (None, LESS_THAN, 2.0, AT_LEAST, PASS),
        (LESS_THAN, None, 2.0, LESS_THAN, OPEN),
        (LESS_THAN, AT_LEAST, 2.0, LESS_THAN, OPEN),
        (None, AT_LEAST, 2.0, AT_MOST, OPEN),
        (AT_LEAST, AT_LEAST, None, None, OPEN),
        (LESS_THAN, LESS_THAN, None, None, OPEN),
    ],
)
def test_a_ratio_of_bounds_is_a_bound_or_unknown(
    of: Bound | None, to: Bound | None, value: float | None, bound: Bound | None, state: VerdictState
) -> None:
    """One side beyond its bracket leaves one end open; both beyond the same end leave nothing."""
    finds = [expect(THRESHOLD, name=name) for name in ("of", "to")]
    answers = {
        name: SearchAnswer(name, (end, end), bounds={} if kind is None else {0: kind, 1: kind})
        for name, end, kind in (("of", 160.0, of), ("to", 80.0, to))
    }
    gain = expect(Ratio(of="of", to="to"), 1.5, None, name="gain")
    double = expect(Ratio(of="gain", to="to"), 0, 1, name="double")
    verdict, of_unknown = judge([gain, double, *finds], "mine", [], answers)[:2]
    assert (verdict.value, verdict.bound, verdict.state) == (value, bound, state)
    assert any("the ratio is unknown" in note for note in verdict.notes) == (value is None)
    assert value is not None or (of_unknown.value, of_unknown.state) == (None, OPEN)


def test_ratio_of_a_metric_pairs_replications() -> None:
    """Common noise cancels: both points vary, but their ratio does not."""
    noise = [20.0, 40.0, 30.0]
    records = [*runs("host_cpu", [1.5 * n for n in noise], split="1", n=1), *runs("host_cpu", noise, split="0", n=1)]
    form = Ratio("host_cpu", {"split": "1"}, {"split": "0"}, {"n": 1})
    verdict = verdict_on(expect(form, 1.4, 1.6), records)
    assert (verdict.value, verdict.ci_low, verdict.ci_high) == pytest.approx((1.5, 1.5, 1.5))
    assert [case["split"] for case in verdict.points] == ["1", "0"]


def test_ratio_of_two_searches() -> None:
    """Gains are ratios of thresholds, by replication."""
    finds = [expect(Find(True, "receivers", 1, 48, "loss", 0.01, {}), name=name) for name in ("split", "default")]
    answers = {
        "split": SearchAnswer("split", (28.0, 30.0)),
        "default": SearchAnswer("default", (20.0, 24.0)),
    }
    gain = expect(Ratio(of="split", to="default"), 1.33, 1.47, name="gain")
    verdict = judge([gain, *finds], "mine", [], answers)[0]
    assert verdict.value == pytest.approx((28 / 20 + 30 / 24) / 2)
    assert [case["expectation"] for case in verdict.points] == ["split", "default"]
    del answers["default"]
    assert judge([gain, *finds], "mine", [], answers)[0].state is MISSING


def test_ratio_of_two_ratios() -> None:
    """One gain over another, by replication."""
    found = {"high": (30.0, 24.0), "high-plain": (20.0, 20.0), "low": (12.0, 10.0), "low-plain": (10.0, 10.0)}
    finds = [expect(Find(True, "vms", 1, 48, "loss", 0.01, {}), name=name) for name in found]
    answers = {name: SearchAnswer(name, values) for name, values in found.items()}
    gains = [expect(Ratio(of=rate, to=f"{rate}-plain"), name=f"{rate}-gain") for rate in ("high", "low")]
    order = expect(Ratio(of="high-gain", to="low-gain"), 1, 1.5, name="order")
    verdict = judge([order, *gains, *finds], "mine", [], answers)[0]
    assert verdict.value == pytest.approx((1.5 / 1.2 + 1.2 / 1.0) / 2)
    assert [case["expectation"] for case in verdict.points] == ["high-gain", "low-gain"]


def test_ratio_to_nothing_is_missing() -> None:
    """There is no number to print."""
    records = [*runs("loss", [0.1, 0.2], n=1), *runs("loss", [0.1, 0.0], n=2)]
    verdict = verdict_on(expect(Ratio("loss", {"n": 1}, {"n": 2}), 0, 1), records)
    assert verdict.reason == "the denominator of the ratio is 0"


def test_fit_is_r_squared_of_each_replication() -> None:
    """Quantities of one unit are positions; R squared and its interval are at most 1."""
    levels = [("10 kpps", [10, 11]), ("20 kpps", [20, 22]), ("30 kpps", [30, 33])]
    form = RSquared("guest_cpu", "rate", ("10 kpps", "20 kpps", "30 kpps"), {"n": 1})
    verdict = verdict_on(expect(form, 0.98, 1), line("guest_cpu", "rate", levels, n=1))
    assert verdict.state is PASS
    assert verdict.value == pytest.approx(1)
    assert verdict.ci_high is not None
    assert verdict.ci_high <= 1
    bent = [("10 kpps", [10, 10]), ("20 kpps", [20, 20]), ("30 kpps", [10, 10])]
    assert verdict_on(expect(form, 0.98, 1), line("guest_cpu", "rate", bent, n=1)).value == pytest.approx(0)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (("1 kpps", "2 Mpps"), "a line needs values of one unit, not 1 kpps, 2 Mpps"),
        (("few", "many"), "a line needs numbers, not few, many"),
    ],
)
def test_fit_needs_positions(values: tuple[str, ...], reason: str) -> None:
    """Names and mixed units have no line through them."""
    records = line("guest_cpu", "rate", [(value, [10, 10]) for value in values])
    verdict = verdict_on(expect(RSquared("guest_cpu", "rate", values, {}), 0.98, 1), records)
    assert (verdict.state, verdict.reason) == (MISSING, reason)


def test_fit_of_a_constant_is_missing() -> None:
    """A constant metric fits any line and none."""
    records = line("guest_cpu", "n", [(1, [10, 10]), (2, [10, 10])])
    assert verdict_on(expect(RSquared("guest_cpu", "n", (1, 2), {}), 0.98, 1), records).state is MISSING


@pytest.mark.parametrize(
    ("levels", "rising", "value"),
    [([1, 2, 3], True, 1), ([1, 2, 2], True, 0), ([3, 2, 1], True, 0), ([3, 2, 1], False, 1)],
)
def test_always_is_strictly_monotone_in_the_means(levels: list[float], rising: bool, value: float) -> None:
    """Each step counts; a boolean has no interval; every step is listed."""
    records = line("loss", "n", [(n, [level, level + 0.5]) for n, level in enumerate(levels)])
    form = Always((Monotone("loss", "rising" if rising else "falling", "n", tuple(range(3)), {}),))
    verdict = verdict_on(expect(form, 1, 1), records)
    assert (verdict.value, verdict.ci_low, verdict.ci_high) == (value, value, value)
    assert verdict.state is (PASS if value else FAIL)
    assert len(verdict.points) == 3


def test_flags_of_the_runs_are_notes() -> None:
    """A verdict has the warnings of its runs, without duplicates."""
    records = [
        RunRecord(r.point_id, r.replication, 1, r.axes, r.instants_ps, r.series, {}, r.cut, ("warm-up",))
        for r in runs("host_cpu", [30.0, 31.0], n=1)
    ]
    assert verdict_on(expect(At("host_cpu", {"n": 1}), 0, 100), records).notes == ("warm-up",)


@pytest.mark.parametrize(
    "form",
    [
        At("host_cpu", {"n": 1}),
        Worst((At("host_cpu", {"n": 1}), At("host_cpu", {"n": 1}))),
        Ratio("host_cpu", {"n": 1}, {"n": 2}),
        Difference("host_cpu", {"n": 1}, {"n": 2}),
        RSquared("host_cpu", "n", (1, 2), {}),
    ],
    ids=lambda form: type(form).__name__,
)
def test_a_value_of_equal_replications_is_deterministic(form: Form) -> None:
    """An interval of zero width is not certainty, and the verdict says so; one differing replication ends it."""
    records = line("host_cpu", "n", [(1, [30.0] * 3), (2, [20.0] * 3)])
    verdict = verdict_on(expect(form), records)
    assert (verdict.equal_replications, verdict.ci_low) == (3, verdict.value)
    assert verdict.notes[0].startswith("deterministic: 3 replications equal to the last digit")
    other = run(host_cpu=30, loss=0.1, replication=2, n=1)  # in another measure than that of the verdict
    random = verdict_on(expect(form), [other if r.replication == 2 and r.axes == {"n": 1} else r for r in records])
    assert (random.equal_replications, random.value) == (0, verdict.value)
    assert not any("deterministic" in note for note in random.notes)


def test_a_single_replication_is_not_deterministic() -> None:
    """Its spread is unknown."""
    assert verdict_on(expect(At("host_cpu", {"n": 1})), runs("host_cpu", [30.0], n=1)).equal_replications == 0


def test_equal_answers_of_a_search_are_not_deterministic() -> None:
    """They are integers: equal ones may come from different runs."""
    answer = SearchAnswer("it", (20.0, 20.0, 20.0))
    form = Find(True, "n", 1, 99, "loss", 0.01, {})
    assert verdict_on(expect(form), [], {"it": answer}).equal_replications == 0


def test_the_raw_percentile_stands_beside_a_settled_one() -> None:
    """In the case behind the value; if the settled measure is unbounded, a note names both."""
    rising, level = ([10 + time // 2 for time in range(128)], [30] * 128)
    form = At("settled_response_p95", {})
    unbounded = verdict_on(expect(form), [answered_record(rising, cut=0)])
    raw = CATALOGUE["response_time_p95"].evaluate(answered_record(rising, cut=0))
    assert (unbounded.value, unbounded.points[0]["raw"]) == (math.inf, raw)
    assert 60 < raw < 80
    assert f"settled_response_p95 has no bound; response_time_p95 of the same runs is {raw:.4g} ms" in unbounded.notes
    bounded = verdict_on(expect(form), [answered_record(level, cut=0)])
    assert bounded.points[0]["raw"] == bounded.value
    assert not any("no bound" in note for note in bounded.notes)


def test_known_claims_carry_their_reason() -> None:
    """The kind of a claim is independent of the outcome."""
    bad, good, unknown = (
        expect(At("host_cpu", {"n": 1}), low, 100, name=name)
        for low, name in ((50, "bad"), (0, "good"), (0, "unknown"))
    )
    known = {
        name: KnownRed(Band(1, 2), reason)
        for name, reason in (("bad", "no such mechanism"), ("good", "was fixed since"))
    }
    verdicts = judge(
        [bad, good, unknown], "mine", [run(host_cpu=30, n=1), run(host_cpu=30, replication=1, n=1)], {}, known
    )
    assert [(v.state, v.known, v.reason) for v in verdicts] == [
        (FAIL, known["bad"], "no such mechanism"),
        (PASS, known["good"], "was fixed since"),
        (PASS, None, ""),
    ]
    assert {v.scenario for v in verdicts} == {"mine"}


def test_a_difference_is_paired_by_replication() -> None:
    """Noise common to both sides does not count; the value may be negative."""
    noise = (0.0, 2.0, -1.0)
    form = Difference("host_cpu", {"path": "a"}, {"path": "b"})
    records = [
        *runs("host_cpu", [30 + n for n in noise], path="a"),
        *runs("host_cpu", [24 + n for n in noise], path="b"),
    ]
    verdict = verdict_on(expect(form, 5, 7), records)
    assert (verdict.value, verdict.state) == (pytest.approx(6), PASS)
    assert [case["value"] for case in verdict.points] == pytest.approx([30 + 1 / 3, 24 + 1 / 3])
    other = verdict_on(expect(Difference("host_cpu", {"path": "b"}, {"path": "a"}), -7, -5), records)
    assert (other.value, other.state) == (pytest.approx(-6), PASS)
    assert verdict_on(expect(form, 5, 7), records[:3]).state is MISSING


def test_refusals_must_name_the_feature_and_the_rest_be_accepted() -> None:
    """1 if all cases are as expected, else 0 with the messages."""
    named = Refusal("count=2", "sharing", ("does not go with sharing",))
    accepted = Refusal("", "", ())
    assert verdict_on(expect(Refused((named, accepted)), 1, 1), []).state is PASS
    for wrong in (
        Refusal("count=2", "sharing", ()),
        Refusal("count=2", "sharing", ("is too large",)),
        Refusal("", "", ("is too large",)),
    ):
        verdict = verdict_on(expect(Refused((named, accepted, wrong)), 1, 1), [])
        assert (verdict.value, verdict.state) == (0, FAIL)
        assert len(verdict.notes) == 1


def test_runs_are_read_when_their_point_is_judged_and_no_others():
    """Each record is read once for any number of expectations; the run time is known without it."""
    read = []

    def source(n, replication):
        def record():
            read.append((n, replication))
            return run(host_cpu=10.0 * n + replication, replication=replication, n=n)

        return RunSource({"n": n}, replication, 0.5, record)

    asked = [Expectation(name, At("host_cpu", {"n": 2}), Band(0, 50), "%", "", is_claim=False) for name in ("a", "b")]
    verdicts = judge(asked, "mine", [source(n, r) for n in (1, 2, 3) for r in (0, 1)], {})
    assert read == [(2, 0), (2, 1)]
    assert [(verdict.state, verdict.wall_s) for verdict in verdicts] == [(PASS, 1.0)] * 2


def test_short_runs_of_searches_cost_time_and_bear_nothing():
    """At the point of another expectation: in any order, the full-length run counts, and the time of both."""
    whole, short = run(host_cpu=10.0, n=1), run(host_cpu=90.0, n=1)
    sources = [RunSource({"n": 1}, 0, 2.0, lambda: whole), RunSource({"n": 1}, 0, 0.5, lambda: short, is_whole=False)]
    asked = Expectation("a", At("host_cpu", {"n": 1}), Band(0, 50), "%", "", is_claim=False)
    for order in (sources, sources[::-1]):
        [verdict] = judge([asked], "mine", order, {})
        assert verdict.value == 10.0
        assert verdict.wall_s == 2.5
