"""The page about the cost model agrees with the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hostsim_docs.cost_model_page import page, shipped_page

import hostsim
from hostsim.scenario.cost_model import Constant, Origin

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "cost-model.md"
CONSTANT = Constant("a.costs.x", "a", ("costs.x.cycles",), 100.0, "cycles", Origin.ASSUMED, "so", (90, 120))


def test_the_page_is_up_to_date():
    """`make cost-model` writes it."""
    assert PAGE.read_text(encoding="utf-8") == shipped_page()


def test_a_value_that_a_calibration_moved_is_marked():
    """Beside the previously stated value; a number that still has it is unchanged, and so is one without."""
    moved, kept = (page([replace(CONSTANT, prior=prior)]) for prior in (105.0, 100.0))
    assert "| a.costs.x | 100 cycles, calibrated | 105 cycles | 90 to 120 cycles | so |" in moved
    assert "| a.costs.x | 100 cycles | 100 cycles | 90 to 120 cycles | so |" in kept
    assert "| a.costs.x | 100 cycles |  | 90 to 120 cycles | so |" in page([CONSTANT])
    assert "1 constants: 0 from sources, 1 assumed. 1 of them are calibrated." in moved
    assert "0 of them are calibrated." in kept


def test_a_source_has_a_range_or_is_known():
    """In a separate table."""
    known = replace(CONSTANT, origin=Origin.SOURCE, text="a row", range=None)
    assert "| a.costs.x | 100 cycles |  |  | a row |" in page([known]).partition("## Assumed")[0]
