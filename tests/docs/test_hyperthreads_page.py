"""The page of hyperthreads shows every claim both ways."""

from __future__ import annotations

from pathlib import Path

from hostsim_docs.hyperthreads_page import page, shipped_page

import hostsim
from hostsim.calibration.assumption import Move, Study

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "hyperthreads.md"


def test_the_page_is_up_to_date() -> None:
    """`make cost-model` writes it."""
    assert PAGE.read_text(encoding="utf-8") == shipped_page()


def test_a_claim_stands_with_hyperthreads_on_and_off() -> None:
    """Whichever is shipped; what is out of its band is in bold."""
    moves = (
        Move("on.cpu.threads", "1", "latency.tuned", 0.2, 0.9, "in", "out"),
        Move("off.cpu.threads", "2", "latency.tuned", 0.2, 0.9, "in", "out"),
    )
    described = {f"{name}.cpu.threads": {"value": value} for name, value in (("on", "2"), ("off", "1"))}
    text = page([Study("latency", "2026-11-23", "0" * 64, True, 1, None, described, moves)])
    assert "| `on.cpu.threads` | latency.tuned | 0 to 0.85 | 0.2 | **0.9** | 2 |" in text
    assert "| `off.cpu.threads` | latency.tuned | 0 to 0.85 | **0.9** | 0.2 | 1 |" in text
