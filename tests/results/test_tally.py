"""Verdicts counted by kind of claim and by outcome."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostsim.results.claim import CLAIM_KINDS
from hostsim.results.expect import Verdict, VerdictState
from hostsim.results.verdicts import (
    OUTCOMES,
    Verdicts,
    awaiting_words,
    is_accepted,
    outcome,
    outcomes,
    tally,
    tally_rows,
    tally_words,
)
from tests.sample_results import VERDICTS, verdict


def of_kind(kind: str, state: VerdictState = VerdictState.PASS, *, known: bool = False) -> Verdict:
    made = verdict(state=state, known=known)
    return replace(made, expectation=replace(made.expectation, kind=kind))


@pytest.mark.parametrize(
    ("state", "known", "counts_as"),
    [
        (VerdictState.PASS, False, "in band"),
        (VerdictState.PASS, True, "in band"),
        (VerdictState.OPEN, False, "undecided"),
        (VerdictState.OPEN, True, "known red"),
        (VerdictState.FAIL, False, "red"),
        (VerdictState.FAIL, True, "known red"),
        (VerdictState.MISSING, False, "missing"),
        (VerdictState.MISSING, True, "missing"),  # a list of reds does not excuse a crash
    ],
)
@pytest.mark.parametrize("quick", [False, True])
def test_a_verdict_counts_as_one_outcome(state: VerdictState, known: bool, counts_as: str, quick: bool):
    """Also at quick fidelity, a value in the band whose interval is not inside is undecided."""
    assert outcome(of_kind("scale", state, known=known), quick=quick) == counts_as


def test_what_awaits_calibration_is_red_and_is_named():
    """Accepted in its range like every listed claim, but never counted as a known red; without any there is no line."""
    awaits = verdict("moved", state=VerdictState.FAIL, known=True, awaiting="calibration")
    assert outcome(awaits, quick=False) == "red"
    assert is_accepted(awaits, quick=False)
    assert outcome(replace(awaits, state=VerdictState.PASS), quick=False) == "in band"
    assert awaiting_words([*VERDICTS, awaits]) == "1 of them awaits calibration, counted as red: moved"
    assert awaiting_words([awaits, awaits]).startswith("2 of them await calibration")
    assert awaiting_words(VERDICTS) == ""


def test_kinds_have_rows_in_their_order_and_all_together_the_last():
    """Only existing kinds have rows; in band and known red are separate columns."""
    given = [
        of_kind("rule"),
        of_kind("scale", VerdictState.FAIL, known=True),
        of_kind("scale"),
        of_kind(""),
        of_kind("scale", VerdictState.FAIL),
        of_kind("ratio", VerdictState.OPEN),
    ]
    rows = tally_rows(outcomes(given, quick=False))
    assert rows == [
        ("scale", "3", "1", "0", "1", "1", "0"),
        ("ratio", "1", "0", "1", "0", "0", "0"),
        ("rule", "1", "1", "0", "0", "0", "0"),
        ("own", "1", "1", "0", "0", "0", "0"),
        ("all", "6", "3", "1", "1", "1", "0"),
    ]
    assert tally_words(outcomes(given, quick=False)) == "3 in band, 1 undecided, 1 known red, 1 red"


def test_one_kind_needs_no_sum():
    """It would repeat the row; without verdicts there is none."""
    assert list(tally(outcomes([of_kind("rule")], quick=False))) == ["rule"]
    assert tally([]) == {}
    assert tally_words([]) == "0 in band"


def test_verdicts_have_the_tally_as_a_frame():
    """One row for each kind, one column for each outcome."""
    frame = Verdicts([*VERDICTS, *map(of_kind, CLAIM_KINDS)], quick=True).tally()
    assert list(frame.index) == [*CLAIM_KINDS, "own", "all"]
    assert list(frame.columns) == list(OUTCOMES)
    assert frame.loc["own"].tolist() == [3, 1, 1, 1, 1]
    assert frame.loc["all"].sum() == len(VERDICTS) + len(CLAIM_KINDS)
