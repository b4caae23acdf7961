"""The page of assumptions says what the stored studies found."""

from __future__ import annotations

from pathlib import Path

from hostsim_docs.assumptions_page import page, shipped_page
from hostsim_docs.cost_model_page import shipped_page as cost_model_page

import hostsim
from hostsim.calibration.assumption import Move, RefusedEnd, Study
from hostsim.calibration.freedom import FittedCount, FittedInput, count_fitted

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "assumptions.md"
NOTHING = FittedCount((), (), ())


def test_the_page_is_up_to_date() -> None:
    """`make cost-model` writes it."""
    assert PAGE.read_text(encoding="utf-8") == shipped_page()


def test_the_cost_model_page_says_what_counts_as_fitted() -> None:
    """All three counts."""
    assert count_fitted().sentence.rstrip(".") in cost_model_page()


def test_a_flipped_verdict_is_in_bold_and_one_that_is_kept_is_not() -> None:
    """Beside the value as shipped; a run without a value, and an end at which no host can be, are said."""
    moves = (
        Move("a.burst", "2", "numa.10g.cpu", 0.914, 0.889, "in", "out"),
        Move("a.burst", "8", "numa.10g.cpu", 0.914, 0.92, "in", "in"),
        Move("a.delay", "1 s", "numa.10g.cpu", 0.914, None, "in", "missing"),
        Move("a.chance", "3", "numa.10g.cpu", 0.911, 0.913, "in", "in", confirmed=True),
        Move("a.same", "5", "numa.10g.cpu", 0.914, 0.914, "in", "in"),
    )
    names = ("a.burst", "a.delay", "a.chance", "a.same", "a.still")
    described = {name: {"value": "4", "ends": "2, 8", "reason": "so"} for name in names}
    refused = (RefusedEnd("a.still", "9", "numa.10g.cpu", "no such host"),)
    text = page([Study("numa-io", "2026-11-22", "0" * 64, True, 1, 1, described, moves, refused)], {}, NOTHING)
    assert "| numa.10g.cpu (0.914; 0.9 to 0.95) |" in text
    assert "| `a.burst` | 4 | 2 | **0.889** |" in text
    assert "| `a.burst` | 4 | 8 | 0.92 |" in text
    assert "| `a.delay` | 4 | 1 s | **missing** |" in text
    assert "`a.still` at 9 (numa.10g.cpu: no such host)" in text
    assert "| `a.chance` | 4 | 3 | 0.913 |" in text
    assert "Without any effect on any claim, at any end: `a.same` (2, 8), `a.still` (2, 8)." in text
    assert "5 assumptions, of which 4 reach a claim and 2 flip a verdict." in text
    assert "| `a.burst` | 4 | 2 | numa.10g.cpu (0.914 to 0.889) |" in text
    assert "| `a.delay` | 4 | 1 s | numa.10g.cpu (0.914 to missing) |" in text


def test_what_is_known_without_a_study_is_listed_with_the_place_that_says_so() -> None:
    entry = FittedInput(claims=("numa.10g.cpu",), how="chosen", evidence="docs/receive-side.md: seen")
    assert "| `a.b` | numa.10g.cpu | chosen | docs/receive-side.md: seen |" in page([], {"a.b": entry}, NOTHING)
