"""The page of verification has all oracles at full length, and all of them passed."""

from __future__ import annotations

from pathlib import Path

from hostsim_docs import verification_page

import hostsim
from hostsim.lab.verification.oracle import Oracle, Quantity, compare_with_theory
from hostsim.lab.verification.runner import FULL, oracles
from hostsim.results.verdicts import number

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "verification.md"


def test_the_page_is_up_to_date():
    """A row for each quantity with theory's current answer; written by the complete command, not by hand."""
    text = PAGE.read_text(encoding="utf-8")
    rows = [
        line.split(" | ")
        for line in text.splitlines()
        if line.endswith(" |") and not line.startswith(("| ---", "| case"))
    ]
    expected = [(oracle.name, quantity) for oracle in oracles() for quantity in oracle.quantities]
    assert len(rows) == len(expected)
    for (case, name, theory, *_, allowed, verdict), (oracle, quantity) in zip(rows, expected, strict=True):
        assert case.removeprefix("| ").startswith(oracle)
        assert (name, theory, allowed) == (
            quantity.name,
            number(quantity.theory),
            f"{100 * quantity.most_half:g} %",
        )
        assert verdict == "pass |"
    assert f"of {FULL.replications} replications each" in text
    assert "`python -m hostsim_docs.verification_page`" in text


def test_the_page_begins_with_its_introduction():
    """Prose is edited in one place."""
    introduction = Path(verification_page.__file__).with_name("verification.md").read_text(encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8").startswith(introduction.rstrip())


def test_the_page_has_a_row_for_every_quantity_under_its_group():
    """Introduction, the command with its options, and counts before them."""
    case = Oracle("Group", "case", "parameters", (Quantity("answer", 100.0),), lambda draw, portion: (100.0,))
    found = [compare_with_theory(case, [(value,), (value,)])[0] for value in (100.0, 90.0)]
    text = verification_page.page(found, seed=3, quick=True)
    assert "# Verification" in text
    assert "`python -m hostsim_docs.verification_page --quick --seed 3`" in text
    assert "1 passed, 1 failed, 0 too wide" in text
    group = text.index("## Group")
    assert "| case: parameters | answer | 100 | 100 | 100 to 100 | 0.00 % | 1 % | pass |" in text[group:]
    assert "| case: parameters | answer | 100 | 90 | 90 to 90 | 0.00 % | 1 % | fail |" in text[group:]
