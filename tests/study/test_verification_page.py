"""The page of the documentation is of the oracles that there are, in full, and all of them passed."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import hostsim
from hostsim.study.catalogue import oracles
from hostsim.study.verify import FULL

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "verification.md"


def test_the_page_is_up_to_date():
    """A row for each quantity with the answer that theory has now; written by the whole command, not by hand."""
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
            f"{quantity.theory:.6g}",
            f"{100 * quantity.most_half:g} %",
        )
        assert verdict == "pass |"
    assert f"of {FULL.replications} replications each" in text
    assert "`hostsim verify --docs`" in text


def test_the_page_begins_with_its_introduction():
    """Prose is edited in one place."""
    introduction = files("hostsim.study").joinpath("verification.md").read_text(encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8").startswith(introduction.rstrip())
