"""Verdicts in words, in JSON and in JUnit, and when a campaign may be accepted."""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree as ET

import pytest

from hostsim.expect import NOT_ESTIMABLE, Band, VerdictState
from hostsim.metrics.catalogue import NO_BOUND
from hostsim.results.scoreboard import HEADINGS, as_json, as_junit, as_rows, band_text, is_accepted, label, number
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
        (verdict(value=None, state=VerdictState.MISSING, known=True), False, "missing", True),
        (verdict(known=True), False, "pass", False),
    ],
)
def test_a_verdict_is_accepted_when_it_is_what_the_project_says(given, quick, word, accepted):
    """A known red claim that passes is not accepted: it must leave the list."""
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
    """An open end is said, not shown as infinity."""
    assert band_text(band, "VMs") == words


def test_numbers_have_four_digits_and_what_is_none_is_a_dash():
    """Nobody reads nan in a table; what is infinite is said in words."""
    assert [number(value) for value in (1 / 3, 20.0, None, math.nan, -math.inf)] == ["0.3333", "20", "–", "–", "–"]
    assert number(math.inf) == NO_BOUND


def test_rows_have_a_cell_for_each_heading_and_mark_known_ones():
    """The table of `check` is complete."""
    rows = as_rows(VERDICTS, quick=True)
    assert {len(row) for row in rows} == {len(HEADINGS)}
    assert [row[-1] for row in rows] == ["pass", "fail", "pass?", "missing", "fail (known)", "pass", "pass"]
    assert rows[0] == ("passes", "about 2 %", "2", "[1.5, 2.5]", "1 to 3 %", "pass")
    assert rows[-1][1] == "–"


def test_json_is_strict_and_has_the_agreed_keys():
    """An absent bound and a value that is not finite are null."""
    endless = verdict(band=(None, 3.0), interval=(-math.inf, math.inf), value=math.nan)
    text = json.dumps(as_json([endless], quick=False), allow_nan=False)
    assert json.loads(text) == [
        {
            "claim": "a.claim",
            "scenario": "small",
            "unit": "%",
            "published": "about 2",
            "value": None,
            "ci_low": None,
            "ci_high": None,
            "low": None,
            "high": 3.0,
            "verdict": "pass",
            "known": False,
        }
    ]


def test_junit_counts_failures_and_skips_what_is_known():
    """A CI server shows the same as the exit status says."""
    suite = ET.fromstring(as_junit(VERDICTS, quick=True)).find("testsuite")  # noqa: S314  our own text
    assert suite is not None
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "skipped")} == {
        "name": "small",
        "tests": "7",
        "failures": "2",
        "skipped": "1",
    }
    failing = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failing == ["fails", "missing"]


def test_junit_is_valid_xml_whatever_a_reason_holds():
    """Control characters and markup in a reason do not break the file."""
    odd = verdict(state=VerdictState.FAIL, reason="a <b> & \x00\x1b[31m \n c")
    assert "a <b> & " in (ET.fromstring(as_junit([odd], quick=False)).find(".//failure").get("message"))  # noqa: S314  our own text


def test_a_percentile_with_too_few_observations_is_told_in_words():
    """Where its value would stand, in the table and in the sentence; a missing run has a dash there."""
    reason = f"{NOT_ESTIMABLE}: latency_p99 needs 368 observations in every run at n=1"
    told = verdict(value=None, interval=(None, None), state=VerdictState.MISSING, reason=reason)
    untold = verdict(value=None, interval=(None, None), state=VerdictState.MISSING, reason="no run")
    assert [row[2] for row in as_rows([told, untold], quick=False)] == ["not estimable", "–"]
    assert "missing: not estimable" in as_junit([told], quick=False)
    assert as_json([told], quick=False)[0]["value"] is None
