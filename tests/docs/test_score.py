"""Texts that count verdicts agree with ``docs/claims.json``, the claims and the known reds; nothing is simulated."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest
from hostsim_docs import claim_values, score

from hostsim.results.claim import LEVELS
from hostsim.results.verdicts import OUTCOMES
from hostsim.scenario.shipped_data import claims


def kept() -> dict[str, Any]:
    return deepcopy(claim_values.read())


def test_stored_verdicts_agree_with_the_claims_and_the_known_reds() -> None:
    """Otherwise `make claims` has not been run since one of them changed."""
    assert claim_values.disagreements(kept()) == []


@pytest.mark.parametrize(
    ("claim", "changes", "words"),
    [
        ("splitrx.split.40k", {"value": 40.0, "ci_low": 40.0, "ci_high": 40.0}, "its band in claims.csv makes it fail"),
        ("80gbe.send.per_nic", {"outcome": "known red"}, "with known_red.yaml it is in band"),
        ("dense.medium.default.p95", {"value": 600.0}, "with known_red.yaml it is red"),
        (
            "dense.medium.default.p95",
            {"value": 470.0, "ci_low": 470.0, "ci_high": 470.0, "verdict": "pass"},
            "remove it from the list",
        ),
    ],
)
def test_a_stored_verdict_that_disagrees_is_named(claim: str, changes: dict[str, Any], words: str) -> None:
    """Another band, a changed entry of the list, a value outside the listed range, a known red that passes."""
    found = kept()
    found["verdicts"][claim] |= changes
    named = claim_values.disagreements(found)
    assert named
    assert all(text.startswith(f"{claim}: ") for text in named)
    assert words in " ".join(named)


def test_a_claim_without_a_verdict_and_a_verdict_without_a_claim_are_named() -> None:
    """An added or removed row."""
    found = kept()
    found["verdicts"]["gone"] = found["verdicts"].pop("vxlan.cpu")
    assert claim_values.disagreements(found) == ["vxlan.cpu: has no stored verdict", "gone: is not a claim"]


def test_readme_and_pages_have_the_score() -> None:
    """`make score` writes it."""
    found = kept()
    assert score.stale(score.blocks(claim_values.verdicts(found), quick=found["fidelity"] == "quick")) == []


def test_the_forest_plot_is_of_the_stored_verdicts() -> None:
    """Its bytes follow from them alone; `make score` writes it."""
    text = score.FIGURE.read_text(encoding="utf-8")
    assert text == score.figure(claim_values.verdicts(kept()))
    assert len(text) < 200_000
    assert all(f">{claim.label}</text>" in text for claim in claims().values())


def test_all_texts_have_one_count() -> None:
    """Each claim counts once, and each topic has one level."""
    found = kept()
    made = score.blocks(claim_values.verdicts(found), quick=True)
    counts = {name: sum(one["outcome"] == name for one in found["verdicts"].values()) for name in OUTCOMES}
    sentence = made["docs/changelog.md", "score"]
    assert sentence in made["README.md", "score"]
    assert all(f"{count} " in sentence for count in counts.values() if count)
    lines = made["docs/index.md", "score"].split("\n- **")[1:]
    assert [line.partition("**")[0] for line in lines] == list(LEVELS)
    named = re.findall(r"(?:\(|, )([^,;()]+)", " ".join("".join(lines).split("\n\n")[0].split()))
    topics = {(claim.experiment, claim.topic) for claim in claims().values()}
    assert sorted(word.strip() for word in named) == sorted(topic for _, topic in topics)


def test_a_block_is_replaced_and_has_to_be_there() -> None:
    """Only the text between its marks is replaced."""
    text = "a <!-- score: -->old\nlines<!-- :score --> b"
    assert score.with_blocks(text, "x", {("x", "score"): "new"}) == "a <!-- score: -->new<!-- :score --> b"
    assert score.with_blocks(text, "y", {("x", "score"): "new"}) == text
    with pytest.raises(ValueError, match="x: 0 blocks 'meaning'"):
        score.with_blocks(text, "x", {("x", "meaning"): "new"})
