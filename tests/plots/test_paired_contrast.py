"""A figure agrees with the verdicts on its points: paired contrasts are drawn if intervals do not show them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_table import table, verdict

from hostsim.results.expect import At, Difference, Form, Ratio
from hostsim.results.figure import FigureSpec
from hostsim.views.plots.figure import draw

LOSS = FigureSpec("loss", "receivers", "loss", ("split",))
ONE, TWO, FOUR = ({"receivers": count, "split": "1", "rate": "40 kpps"} for count in (1, 2, 4))
MORE = Difference("loss", TWO, ONE)
"""Of 2 to 4 % and 1 to 3 %, whose intervals overlap, although each replication differs by one."""
TENFOLD = Ratio("loss", {"split": "0"}, {"split": "1"}, {"receivers": 4, "rate": "40 kpps"})
"""Of 40 to 42 % and 4 to 6 %, whose intervals are disjoint."""


@pytest.mark.parametrize(
    ("form", "ends", "words"),
    [
        (MORE, (1.0, 1.0, 1.0), ["paired: receivers=2 − receivers=1: 1 [1, 1]"]),
        (MORE, (1.0, -1.0, 3.0), []),
        (TENFOLD, (8.4, 7.0, 10.0), []),
        (TENFOLD, (8.4, 0.9, 16.0), ["paired: split=0 / split=1: 8.4 [0.9, 16]"]),
        (TENFOLD, (8.4, None, None), []),
        (replace(TENFOLD, metric="host_cpu"), (1.0, 0.9, 1.1), []),
        (At("loss", FOUR), (5.0, 4.0, 6.0), []),
    ],
)
def test_a_contrast_is_drawn_where_figure_and_verdict_disagree(
    form: Form, ends: tuple[float, float | None, float | None], words: list[str]
) -> None:
    """A certain one over overlapping intervals, and an open one over disjoint intervals; no other."""
    judged = replace(verdict(form, None, None), value=ends[0], ci_low=ends[1], ci_high=ends[2])
    lines = {str(line.get_label()): line for line in draw(table(), LOSS, published=[judged]).get_lines()}
    assert [label for label in lines if label.startswith("paired")] == words
    if form is MORE and words:
        assert [list(values) for values in lines[words[0]].get_data()] == [[2, 1], [3, 2]]


def test_bars_have_the_contrast_in_their_legend() -> None:
    """They are side by side, so no line joins them."""
    judged = replace(verdict(MORE, None, None), value=1.0, ci_low=1.0, ci_high=1.0)
    legend = draw(table(), replace(LOSS, kind="bar"), published=[judged]).get_legend()
    assert legend is not None
    assert "paired: receivers=2 − receivers=1: 1 [1, 1]" in [text.get_text() for text in legend.get_texts()]
