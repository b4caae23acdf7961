"""JUnit documents are valid by the schemas of CI systems for any content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st

from hostsim.results.compare import Coverage, PairedDifference
from hostsim.results.estimate import NOT_ESTIMABLE, Interval
from hostsim.results.expect import VerdictState
from hostsim.results.junit import Case, Suite, comparison_suite, document, verdict_suites
from tests.sample_results import VERDICTS, verdict

SCHEMAS = {file.stem: xmlschema.XMLSchema(file) for file in (Path(__file__).parent / "schemas").glob("*.xsd")}
STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PROPERTIES = {"hostsim": "0.1.0", "fidelity": "quick", "seed": "1"}


def written(suites: Sequence[Suite]) -> ET.Element:
    """The suites as a document that both schemas accept, parsed again from its bytes."""
    text = document(suites, STARTED, PROPERTIES)
    for name, schema in SCHEMAS.items():
        assert [error.reason for error in schema.iter_errors(text)] == [], name
    return ET.fromstring(text.encode())  # noqa: S314  our own text


def cases(root: ET.Element) -> dict[str, str]:
    """Outcome of each case, by its name."""
    return {case.get("name", ""): case[0].tag if len(case) else "passed" for case in root.iter("testcase")}


def test_there_are_two_schemas():
    """They are those of Jenkins and Windy Road; a document without required parts of either is refused."""
    assert set(SCHEMAS) == {"jenkins", "windy-road"}
    assert not SCHEMAS["windy-road"].is_valid('<testsuites><testsuite name="a" tests="0"/></testsuites>')
    assert not SCHEMAS["jenkins"].is_valid('<testsuites><testsuite name="a" tests="0"/></testsuites>')


def test_a_verdict_without_a_value_is_an_error_and_one_outside_its_band_a_failure():
    """A CI system distinguishes crashes from wrong results; a known red is skipped."""
    root = written(verdict_suites(VERDICTS, quick=True))
    found = cases(root)
    assert {found.pop("fails"), found.pop("missing"), found.pop("red")} == {"failure", "error", "skipped"}
    assert set(found.values()) == {"passed"}
    (suite,) = root
    counts = {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")}
    assert counts == {"name": "small", "tests": "7", "failures": "1", "errors": "1", "skipped": "1"}
    assert root.find(".//failure").get("message").startswith("fail: 5 %")
    assert "passes: pass: 2 %" in suite.findtext("system-out")


def test_a_crash_behind_a_known_red_is_an_error():
    """The list explains a value out of its band, but not a crash."""
    crashed = verdict(value=None, interval=(None, None), state=VerdictState.MISSING, known=True, reason="boom")
    assert cases(written(verdict_suites([crashed], quick=False))) == {"a.claim": "error"}


def test_seconds_are_those_of_the_runs_and_a_suite_adds_them_up():
    """In digits that every reader accepts: no exponent, no thousands separator."""
    given_s = [replace(verdict("one"), wall_s=1234.5678), replace(verdict("two"), wall_s=1e-9), verdict("three")]
    root = written(verdict_suites(given_s, quick=False))
    assert [case.get("time") for case in root.iter("testcase")] == ["1234.568", "0.000", "0.000"]
    assert root[0].get("time") == "1234.568"


def test_each_scenario_has_a_suite_with_its_own_number():
    """The suite also has the start of the command."""
    root = written([Suite(name, [Case("a", "well")]) for name in ("one", "two")])
    assert [(suite.get("name"), suite.get("id"), suite.get("timestamp")) for suite in root] == [
        ("one", "0", "2026-01-02T03:04:05"),
        ("two", "1", "2026-01-02T03:04:05"),
    ]
    assert {entry.get("name"): entry.get("value") for entry in root[0].iter("property")} == PROPERTIES


@pytest.mark.parametrize("odd", ["\uffff", "\ufffe", "\ud800", "\x00", "\x1b[31m", '<a> & "b" \']]>', "\u2028", "𝔸"])
def test_any_name_and_any_reason_make_xml(odd: str):
    """Names keep all characters that XML allows; others are escaped, so that distinct names stay distinct."""
    suites = [Suite(f"s{odd}", [Case(f"n{odd}", f"t{odd}", 0.0, result, "open") for result in ("failure", "skipped")])]
    root = written(suites)
    name = root.find(".//testcase").get("name")
    assert name == f"n{odd}" or name.startswith("n\\")


@given(st.text(st.characters()))
def test_any_text_makes_xml(text: str):
    """For every Unicode character, including surrogates."""
    assert len(written([Suite("s", [Case(f"n{text}", text)])])) == 1


def test_a_percentile_with_too_few_observations_is_told_in_words():
    """It has no value, which is an error."""
    reason = f"{NOT_ESTIMABLE}: latency_p99 needs 368 observations in every run at n=1"
    told = verdict(value=None, interval=(None, None), state=VerdictState.MISSING, reason=reason)
    error = written(verdict_suites([told], quick=False)).find(".//error")
    assert error.get("message").startswith("missing: not estimable")


def test_a_comparison_has_a_case_for_each_point():
    """Moved points fail and name every measure; points without a comparison are errors."""
    held = Coverage(("n=1", "n=2"), ("n=3",), ("n=4",))
    moves = [
        PairedDifference(metric, "%", {"n": 2}, 5.0, 9.0, Interval(4.0, 3.0, 5.0, 3), 0.5)
        for metric in ("loss", "host_cpu")
    ]
    root = written([comparison_suite("mine", held, moves, {"n=1": 1.5, "n=2": 2.0})])
    assert cases(root) == {"n=1": "passed", "n=2": "failure", "n=3": "error", "n=4": "error"}
    message = root.find(".//failure").get("message")
    assert "loss at n=2" in message
    assert "host_cpu at n=2" in message
    assert [case.get("time") for case in root.iter("testcase")] == ["1.500", "2.000", "0.000", "0.000"]
    assert [error.get("message") for error in root.iter("error")] == [
        "not compared: no finished run in common",
        "not compared: one replication in common",
    ]


def test_a_scenario_without_axes_has_one_point_with_its_own_name():
    """A case needs a name."""
    assert cases(written([comparison_suite("mine", Coverage(("",), (), ()), [], {})])) == {"mine": "passed"}
