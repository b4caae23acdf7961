"""Texts that count verdicts say what ``docs/claims.json`` holds, and that agrees with the claims and the known reds; nothing is simulated."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hostsim_docs import claim_values, score

from hostsim.results.claim import CLAIM_KINDS
from hostsim.results.verdicts import OUTCOMES


def kept() -> dict[str, Any]:
    return deepcopy(claim_values.read())


def test_stored_verdicts_agree_with_the_claims_and_the_known_reds() -> None:
    """Otherwise `make claims` has not been run since one of them changed."""
    assert claim_values.disagreements(kept()) == []


@pytest.mark.parametrize(
    ("claim", "changes", "words"),
    [
        ("splitrx.split.40k", {"value": 40.0, "ci_low": 40.0, "ci_high": 40.0}, "its band in claims.csv makes it fail"),
        ("splitrx.split.40k", {"outcome": "known red"}, "with known_red.yaml it is in band"),
        ("splitrx.default.40k", {"value": 9.0}, "with known_red.yaml it is red"),
        (
            "splitrx.default.40k",
            {"value": 20.0, "ci_low": 20.0, "ci_high": 20.0, "verdict": "pass"},
            "remove it from the list",
        ),
    ],
)
def test_a_stored_verdict_that_disagrees_is_named(claim: str, changes: dict[str, Any], words: str) -> None:
    """Another band, another entry of the list, a value outside the range that is listed, a known red that passes."""
    found = kept()
    found["verdicts"][claim] |= changes
    named = claim_values.disagreements(found)
    assert named
    assert all(text.startswith(f"{claim}: ") for text in named)
    assert words in " ".join(named)


def test_a_claim_without_a_verdict_and_a_verdict_without_a_claim_are_named() -> None:
    """A row that came or went."""
    found = kept()
    found["verdicts"]["gone"] = found["verdicts"].pop("vxlan.cpu")
    assert claim_values.disagreements(found) == ["vxlan.cpu: has no stored verdict", "gone: is not a claim"]


def test_readme_and_changelog_have_the_score() -> None:
    """`make score` writes it."""
    found = kept()
    assert score.stale(score.blocks(claim_values.verdicts(found), quick=found["fidelity"] == "quick")) == []


def test_all_texts_have_one_count() -> None:
    """By kind and together: each claim counts once, and the sentence has the last row of the table."""
    found = kept()
    made = score.blocks(claim_values.verdicts(found), quick=True)
    lines = [line.strip("| ").split(" | ") for line in made["README.md", "score"].splitlines() if line.startswith("| ")]
    headings, rows = lines[0], lines[2:]
    counts = {name: sum(one["outcome"] == name for one in found["verdicts"].values()) for name in OUTCOMES}
    assert [row[0] for row in rows[:-1]] == list(CLAIM_KINDS)
    assert dict(zip(headings[3:], map(int, rows[-1][3:]), strict=True)) == {n: c for n, c in counts.items() if c}
    assert all(int(row[2]) == sum(map(int, row[3:])) for row in rows)
    assert all(f"{count} " in made["docs/changelog.md", "score"] for count in counts.values() if count)


def test_a_block_is_replaced_and_has_to_be_there() -> None:
    """Between its marks, and nothing else."""
    text = "a <!-- score: -->old\nlines<!-- :score --> b"
    assert score.with_blocks(text, "x", {("x", "score"): "new"}) == "a <!-- score: -->new<!-- :score --> b"
    assert score.with_blocks(text, "y", {("x", "score"): "new"}) == text
    with pytest.raises(ValueError, match="x: 0 blocks 'meaning'"):
        score.with_blocks(text, "x", {("x", "meaning"): "new"})
