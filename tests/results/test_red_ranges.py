"""Ranges of known reds: the tool's output for verdicts with several root seeds, and the coverage of a further seed."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from hostsim.results.expect import Band, KnownRed, Verdict, VerdictState
from hostsim.results.search_answer import Bound
from tests.ci_tool import load_tool
from tests.sample_results import verdict

LISTED = {"a.claim": KnownRed(Band(1, 2), "because"), "b.claim": KnownRed(Band(5, 6), "so")}
TEXT = """\
# reds
a.claim:
  range: [1, 2]
  reason: because
b.claim:
  range: [5, 6]
  other_runs: [4, 7]
  reason: so
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The tool as a module."""
    return load_tool("red_ranges")


def red(value: float, state: VerdictState = VerdictState.FAIL, bound: Bound | None = None) -> Verdict:
    return verdict("a.claim", value=value, state=state, bound=bound)


def test_both_ranges_are_written_and_the_rest_stays(tool: ModuleType) -> None:
    """The value of root seed 1, and mean -+ t(4, 0.995) s sqrt(1 + 1/5): 3 -+ 4.604 x 0.01581 x 1.0954; a value at full fidelity widens it."""
    found = {"a.claim": [red(value) for value in (3.0004, 2.98, 3.02, 2.99, 3.01)]}
    text, said = tool.measured(TEXT, LISTED, found, {})
    assert text == TEXT.replace("  range: [1, 2]\n", "  range: [3.0, 3.001]\n  other_runs: [2.92, 3.08]\n")
    assert said == []
    text, _ = tool.measured(text, LISTED, found, {"a.claim": red(3.2)})
    assert "  range: [3.0, 3.001]\n  other_runs: [2.92, 3.2]\n" in text
    text, _ = tool.measured(TEXT, LISTED, {"b.claim": [red(22.0)] * 5}, {})
    assert "b.claim:\n  range: [22.0, 22.0]\n  other_runs: [22.0, 22.0]\n  reason: so\n" in text


@pytest.mark.parametrize(
    ("claim", "verdicts", "words"),
    [
        ("c.claim", [red(2.0, VerdictState.PASS), red(5.0)], "not listed: c.claim: 2.0 pass, 5.0 fail"),
        ("a.claim", [red(2.0, VerdictState.PASS), red(5.0)], "passes: a.claim: 2.0 pass, 5.0 fail"),
        ("a.claim", [red(5.0), red(189.0, bound=Bound.AT_LEAST)], "has no value, or a bound: a.claim: 5.0 fail, 189.0"),
    ],
)
def test_what_is_not_as_listed_is_said_and_not_written(
    tool: ModuleType, claim: str, verdicts: list[Verdict], words: str
) -> None:
    """A claim to add, one to remove, one without an exact value; one that passes only with another root seed stays listed."""
    text, [said] = tool.measured(TEXT, LISTED, {claim: verdicts}, {})
    assert text == TEXT
    assert said.startswith(words)


def test_one_further_value_lies_within_in_99_percent_of_the_cases(tool: ModuleType) -> None:
    """For 4,000 experiments with five values and a sixth."""
    values = np.random.default_rng(1).normal(size=(4000, 6))
    ends = [tool.further(row[:5].tolist()) for row in values]
    held = np.mean([low <= row[5] <= high for row, (low, high) in zip(values, ends, strict=True)])
    assert held == pytest.approx(0.99, abs=0.005)


def test_ends_are_rounded_away_from_each_other(tool: ModuleType) -> None:
    """By decimal digits, so that a number of four digits is unchanged; also for negative numbers."""
    assert tool.outwards([0.3, 1.29991]) == (0.3, 1.3)
    assert tool.outwards([-1.23456]) == (-1.235, -1.234)
    assert tool.outwards([0.0, 543.21]) == (0.0, 543.3)
