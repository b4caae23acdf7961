"""Verdicts in words and in JSON, and the acceptance of a campaign."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from hostsim.results.estimate import NOT_ESTIMABLE
from hostsim.results.expect import Band, VerdictState
from hostsim.results.junit import verdict_suites
from hostsim.results.metrics.catalogue import NO_BOUND
from hostsim.results.search_answer import Bound
from hostsim.results.verdicts import (
    HEADINGS,
    as_json,
    as_rows,
    band_text,
    interval_text,
    is_accepted,
    known_text,
    label,
    number,
    sentence,
    value_text,
)
from tests.sample_results import VERDICTS, verdict

OPEN_INSIDE = verdict(state=VerdictState.OPEN)
OPEN_OUTSIDE = verdict(value=3.5, state=VerdictState.OPEN)


@pytest.mark.parametrize(
    ("given", "quick", "word", "accepted"),
    [
        (verdict(), False, "pass", True),
        (verdict(state=VerdictState.FAIL), False, "fail", False),
        (OPEN_INSIDE, False, "open", False),
        (OPEN_INSIDE, True, "pass?", True),
        (OPEN_OUTSIDE, True, "open", False),
        (verdict(value=None, state=VerdictState.MISSING), True, "missing", False),
        (verdict(state=VerdictState.FAIL, known=True), False, "fail", True),
        (verdict(value=None, state=VerdictState.MISSING, known=True), False, "missing", False),
        (verdict(state=VerdictState.FAIL, known=True, known_range=(1.0, 1.9)), False, "fail", False),
        (verdict(state=VerdictState.FAIL, known=True, known_range=(2.0, 2.0)), False, "fail", True),
        (verdict(state=VerdictState.FAIL, value=0.1 + 0.2, known=True, known_range=(0.3, 0.3)), False, "fail", True),
        (verdict(state=VerdictState.OPEN, known=True, known_range=(2.1, 3.0)), True, "pass?", False),
        (verdict(state=VerdictState.FAIL, known=True, bound=Bound.AT_LEAST), False, "fail", False),
        (verdict(state=VerdictState.OPEN, bound=Bound.AT_LEAST), True, "open", False),
        (verdict(known=True), False, "pass", False),
        (verdict(known=True, by_interval=True), False, "pass", True),
        (verdict(state=VerdictState.FAIL, known=True, by_interval=True, known_range=(1.0, 1.6)), True, "fail", True),
        (verdict(state=VerdictState.FAIL, known=True, by_interval=True, known_range=(2.4, 3.0)), True, "fail", True),
        (verdict(state=VerdictState.FAIL, known=True, by_interval=True, known_range=(2.6, 3.0)), True, "fail", False),
        (verdict(known=True, by_interval=True, known_range=(2.6, 3.0)), True, "pass", False),
        (
            verdict(
                state=VerdictState.FAIL, interval=(None, None), known=True, by_interval=True, known_range=(2.1, 3.0)
            ),
            True,
            "fail",
            False,
        ),
    ],
)
def test_a_verdict_is_accepted_when_it_is_what_the_project_says(given, quick, word, accepted):
    """A known red claim that passes is not accepted, since it must leave the list; nor is one without an exact value in its range.

    In other runs than those that its range was measured by, what counts is that the interval [1.5, 2.5] meets the range for these.
    """
    assert label(given, quick=quick) == word
    assert is_accepted(given, quick=quick) == accepted


@pytest.mark.parametrize(
    ("band", "words"),
    [
        (Band(19, 21), "19 to 21 VMs"),
        (Band(None, 0.01), "at most 0.01 VMs"),
        (Band(0.98, None), "at least 0.98 VMs"),
        (Band(1, 1), "1 VMs"),
        (Band(None, None), "any VMs"),
    ],
)
def test_bands_read_as_words(band, words):
    """An open end is written in words, not as infinity."""
    assert band_text(band, "VMs") == words


def test_numbers_have_four_digits_and_what_is_none_is_a_dash():
    """A table never contains nan; infinite values are written in words."""
    assert [number(value) for value in (1 / 3, 20.0, None, math.nan, -math.inf)] == ["0.3333", "20", "–", "–", "–"]
    assert number(math.inf) == NO_BOUND
    assert [number(value) for value in (9_999.4, 9_999.5, -23_456.0)] == ["9999", "10,000", "-23,460"]


def test_rows_have_a_cell_for_each_heading_and_mark_known_ones():
    """The table of `check` is complete."""
    rows = as_rows(VERDICTS, quick=True)
    assert {len(row) for row in rows} == {len(HEADINGS)}
    assert [row[-1] for row in rows] == ["pass", "fail", "pass?", "missing", "known red", "pass", "pass"]
    assert rows[0] == ("passes", "about 2 %", "2", "[1.5, 2.5]", "1 to 3 %", "pass")
    assert rows[-1][1] == "–"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (verdict(state=VerdictState.FAIL), ""),
        (verdict(state=VerdictState.FAIL, known=True), "known"),
        (verdict(state=VerdictState.FAIL, known=True, awaiting="calibration"), "known, awaits calibration"),
        (verdict(known=True), "known to be red: remove it from the list"),
        (verdict(value=None, state=VerdictState.MISSING, known=True), "known, but no value"),
        (verdict(state=VerdictState.OPEN, bound=Bound.LESS_THAN, known=True), "known, but only a bound"),
        (
            verdict(state=VerdictState.FAIL, value=490.0, known=True, known_range=(500.25, 512.0)),
            "known, but outside its range 500.25 to 512",
        ),
    ],
)
def test_a_known_red_says_whether_it_is_as_listed(given, words):
    """In the table, in the sentence, and as a failure or an error in JUnit if it is not."""
    assert known_text(given) == words
    in_words = label(given, quick=False) + (f" ({words})" if words else "")
    assert as_rows([given], quick=False)[0][-1] == ("known red" if words == "known" else in_words)
    [suite] = verdict_suites([given], quick=False)
    [case] = suite.cases
    expected = (
        "skipped"
        if words in ("known", "known, awaits calibration")
        else "error"
        if given.state is VerdictState.MISSING
        else "failure"
    )
    assert case.result == expected
    assert words in case.text


@pytest.mark.parametrize(
    ("interval", "bound", "words"),
    [
        ((189.0, None), Bound.AT_LEAST, ("at least 189", "at least 189")),
        ((None, 189.0), Bound.LESS_THAN, ("less than 189", "less than 189")),
        ((0.0, 189.0), Bound.AT_MOST, ("at most 189", "[0, 189]")),
        ((None, None), Bound.AT_LEAST, ("at least 189", "–")),
        ((188.0, 190.0), None, ("189", "[188, 190]")),
    ],
)
def test_a_bound_is_said_to_be_one(interval, bound, words):
    """In the columns of value and interval, and in JSON."""
    given = verdict(value=189.0, interval=interval, bound=bound)
    assert (value_text(given), interval_text(given)) == words
    [row] = as_json([given], quick=False)
    assert (row["value"], row["bound"]) == (189.0, bound)


def test_json_is_strict_and_has_the_agreed_keys():
    """An absent bound and a non-finite value are null."""
    endless = verdict(band=(None, 3.0), interval=(-math.inf, math.inf), value=math.nan)
    text = json.dumps(as_json([endless], quick=False), allow_nan=False)
    assert json.loads(text) == [
        {
            "claim": "a.claim",
            "scenario": "small",
            "kind": None,
            "unit": "%",
            "published": "about 2",
            "value": None,
            "bound": None,
            "ci_low": None,
            "ci_high": None,
            "low": None,
            "high": 3.0,
            "verdict": "pass",
            "outcome": "in band",
            "known": False,
            "awaiting": None,
            "reason": "",
            "notes": ["look at it"],
            "deterministic": False,
            "cases": [{"receivers": 2, "value": 2.0, "low": 1.5}],
        }
    ]


def test_a_percentile_with_too_few_observations_is_told_in_words():
    """In place of its value in the table and the sentence; a missing run has a dash there."""
    reason = f"{NOT_ESTIMABLE}: latency_p99 needs 368 observations in every run at n=1"
    told = verdict(value=None, interval=(None, None), state=VerdictState.MISSING, reason=reason)
    untold = verdict(value=None, interval=(None, None), state=VerdictState.MISSING, reason="no run")
    assert [row[2] for row in as_rows([told, untold], quick=False)] == ["not estimable", "–"]
    assert sentence(told, quick=False).startswith("missing: not estimable")
    assert as_json([told], quick=False)[0]["value"] is None


def test_a_deterministic_value_has_no_interval_in_the_table_and_is_told_in_json():
    """A range without width would look like a measured one."""
    made = replace(verdict(interval=(2.0, 2.0)), equal_replications=3)
    assert as_rows([made], quick=False)[0][3] == "deterministic"
    assert as_json([made], quick=False)[0]["deterministic"] is True


def test_json_has_the_kind_of_a_claim_and_the_raw_value_of_its_cases():
    """A raw measure accompanies an unbounded one, for which JSON has no number."""
    made = verdict()
    made = replace(
        made, expectation=replace(made.expectation, kind="scale"), points=({"n": 1, "value": math.inf, "raw": 51.5},)
    )
    (row,) = as_json([made], quick=False)
    assert row["kind"] == "scale"
    assert row["cases"] == [{"n": 1, "value": None, "raw": 51.5}]
