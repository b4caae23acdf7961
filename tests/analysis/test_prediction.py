"""Predictions are scored by kind: errors, bands, sides and orders, first and today, with changed ones separate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostsim.lab.prediction import (
    HEADINGS,
    SCORE_HEADINGS,
    TIMES,
    FirstPrediction,
    Prediction,
    as_json,
    headings,
    rows,
    score_rows,
    scores,
)
from hostsim.results.claim import Measurement
from hostsim.results.expect import At, Band, Expectation, PredictionInterval, Verdict, VerdictState
from hostsim.results.search_answer import Bound

FIRST = FirstPrediction(
    date="2026-01-02",
    inputs="a" * 40,
    digest="same",
    code="c",
    value=0.0,
    interval=(None, None),
    fidelity="full",
    seed=1,
    hostsim="0",
)


def prediction(
    name: str,
    value: str,
    band: tuple[float, float],
    first: float | None,
    today: float | None,
    *,
    unit: str = "us",
    digest: str = "same",
    changed_for: str = "",
) -> Prediction:
    row = Measurement(name, "quantity", value, unit, Band(*band), "setup", "source", "high", "exists")
    expectation = Expectation(name, At("latency_mean", {}), row.band, unit, value, is_claim=True, kind=row.kind)
    state = VerdictState.MISSING if today is None else VerdictState.PASS
    verdict = Verdict(expectation, "small", today, None, None, state)
    entry = None if first is None else FIRST.model_copy(update={"value": first, "changed_for": changed_for})
    return Prediction(row, verdict, digest, entry)


LOW = prediction("lab.low", "50", (20, 90), 60, 55)
HIGH = prediction("lab.high", "400", (200, 900), 40, 600)
OTHER = prediction("other.one", "100", (99, 101), None, 100)


@pytest.mark.parametrize(
    ("unit", "metric", "value", "band", "counted_in"),
    [
        ("Mpps", "pps", "2300000", (2e6, 2.45e6), "pps"),
        ("Mpps", "kpps", "2300", (2000, 2450), "kpps"),
        ("1/s", "/s", "2.3", (2, 2.45), "/s"),
        ("us", "us", "2.3", (2, 2.45), "us"),
        ("% of a PCPU", "% of a vCPU", "2.3", (2, 2.45), "% of a PCPU"),
        ("ratio", "ratio", "2.3", (2, 2.45), "ratio"),
        ("us", "pps", "2.3", (2, 2.45), "us"),
    ],
)
def test_a_measurement_is_told_in_the_unit_of_its_metric(unit, metric, value, band, counted_in):
    """The value is converted if both units are of one kind; otherwise it is unchanged."""
    row = prediction("lab.rate", "2.3", (2, 2.45), 2, 2, unit=unit).measurement.counted_in(metric)
    assert (row.value, row.band, row.unit) == (value, Band(*band), counted_in)


def test_errors_are_relative_to_what_was_published():
    """Separately for both values; a value that was never recorded has none."""
    assert [[each.error(time) for time in TIMES] for each in (LOW, HIGH, OTHER)] == [
        [pytest.approx(0.2), pytest.approx(0.1)],
        [pytest.approx(-0.9), pytest.approx(0.5)],
        [None, 0.0],
    ]
    assert [[each.in_band(time) for time in TIMES] for each in (LOW, HIGH, OTHER)] == [
        [True, True],
        [False, True],
        [None, True],
    ]


def test_two_of_a_source_are_in_the_published_order_or_not():
    """The order is judged for either of the two. Bands that touch, different units and different sources have no order."""
    assert [LOW.is_in_order(HIGH, time) for time in TIMES] == [False, True]
    assert [HIGH.is_in_order(LOW, time) for time in TIMES] == [False, True]
    touching = prediction("lab.third", "90", (90, 100), 1, 1)
    assert LOW.is_in_order(touching, "today") is None
    assert LOW.is_in_order(OTHER, "today") is None
    assert LOW.is_in_order(prediction("lab.rate", "400", (200, 900), 1, 1, unit="kpps"), "today") is None
    assert LOW.orders([LOW, HIGH, OTHER], "first") == [False]


@pytest.mark.parametrize(
    ("value", "unit", "band", "predicted", "right"),
    [
        ("1.3", "ratio", (1.2, 1.4), 1.01, True),
        ("1.3", "ratio", (1.2, 1.4), 0.99, False),
        ("<1", "ratio", (0.5, 0.99), 0.2, True),
        ("-1", "sign", (-1, -1), -0.3, True),
        ("-1", "sign", (-1, -1), 0.3, False),
        ("1.0", "ratio", (0.95, 1.05), 1.3, None),
        ("50", "us", (20, 90), 0.5, None),
    ],
)
def test_a_quotient_lies_on_the_published_side_or_not(value, unit, band, predicted, right):
    """Of 1, or of 0 for a sign; a band around 1 has no side, and a direction has no error."""
    made = prediction("lab.it", value, band, predicted, predicted, unit=unit)
    assert made.side_is_right("today") == right
    assert (made.error("today") is None) == (made.measurement.kind == "direction")


def test_scores_are_medians_and_counts_by_kind():
    """First and today; a pair counts once."""
    found = {score.time: score for score in scores([LOW, HIGH, OTHER])}
    first, today = found["first"], found["today"]
    assert (first.kind, first.predicted, first.in_band, first.orders, first.right) == ("scale", 2, 1, 1, 0)
    assert first.median_error == pytest.approx(0.55)
    assert (today.predicted, today.in_band, today.orders, today.right) == (3, 3, 1, 1)
    assert today.median_error == pytest.approx(0.1)


def test_what_was_changed_for_a_measurement_is_scored_apart():
    """A prediction with other inputs is scored separately, too; its order against another counts for neither."""
    changed = prediction("lab.high", "400", (200, 900), 40, 400, changed_for="a wait that was not there")
    inputs = prediction("lab.third", "2000", (1000, 3000), 2000, 2000, digest="another")
    found = [(score.apart, score.predicted, score.orders) for score in scores([LOW, changed, inputs])]
    assert found[::2] == [("", 1, 0), ("inputs changed", 1, 0), ("mechanism changed for it", 1, 0)]


def test_a_bound_is_no_value():
    """A bound is printed as such, is not in any band and has no error."""
    made = replace(LOW, verdict=replace(LOW.verdict, bound=Bound.AT_LEAST), first=None)
    assert (made.value("today"), made.in_band("today"), made.error("today")) == (None, False, None)
    assert rows([made])[1][4] == "at least 55"


def test_tables_have_a_cell_for_each_heading():
    """Two rows for each measurement; a dash for a missing record."""
    table = rows([LOW, HIGH, OTHER])
    assert {len(row) for row in table} == {len(HEADINGS)}
    assert table[0] == (
        *("lab.low", "50 us", "20 to 90", "first", "60"),
        "–",
        "+20.0 %",
        "yes",
        "0 of 1",
        "2026-01-02, full",
    )
    assert table[4][3:] == ("first", "–", "–", "–", "–", "–", "not recorded")
    assert [len(row) for row in score_rows([LOW, HIGH])] == 2 * [len(SCORE_HEADINGS)]
    assert score_rows([LOW, HIGH])[0][:6] == ("scale", "first", "2", "55.0 %", "1 of 2", "0 of 1")


def test_json_has_first_and_today_beside_each_other():
    """Both have their errors, bands and orders."""
    made = as_json([LOW, OTHER])
    low, other = made["predictions"]
    assert other["first"] is None
    assert low["first"]["value"] == 60
    assert (low["today"]["value"], low["today"]["in_band"], low["today"]["orders"]) == (55, True, [])
    assert [score["predicted"] for score in made["scores"]] == ["first", "today"]


def test_todays_prediction_interval_has_a_column_where_there_is_one():
    """For runs of an ensemble; the first prediction has none."""
    told = PredictionInterval(40.0, 95.0, 3, VerdictState.OPEN)
    found = [replace(LOW, verdict=replace(LOW.verdict, prediction=told)), OTHER]
    place = headings(found).index("90 % prediction")
    assert [row[place] for row in rows(found)] == ["–", "[40, 95] across an end", "–", "–"]
    low, other = as_json(found)["predictions"]
    assert (low["today"]["prediction"], low["today"]["members"]) == ([40.0, 95.0], 3)
    assert "prediction" not in other["today"]
    assert headings([OTHER]) == HEADINGS
