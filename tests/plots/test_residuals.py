"""Residual plot: hosts that meet a measurement's interval look otherwise than those that all miss it."""

from __future__ import annotations

import pytest

from hostsim.views.plots.bars import FARTHEST, draw_residuals

MEETS = ("meets", -3.0, -1.5, -0.9)
OFF = ("off", 1.1, 2.0, 40.0)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([MEETS], ["measured", "90 % of hosts"]),
        ([OFF], ["measured", "all off"]),
        ([OFF, MEETS], ["measured", "90 % of hosts", "all off"]),
    ],
)
def test_the_legend_names_what_is_drawn(rows, labels):
    """In another colour and with another marker."""
    axes = draw_residuals(rows)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == labels
    marked = {line.get_label(): line for line in axes.get_lines() if line.get_label() in labels}
    assert len({(line.get_marker(), line.get_color()) for line in marked.values()}) == len(rows)


def test_rows_are_in_their_order_and_what_is_far_off_ends_at_the_edge():
    """The first on top."""
    axes = draw_residuals([OFF, MEETS])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["off", "meets"]
    assert axes.get_ylim() == (1.5, -0.5)
    assert max(max(line.get_xdata()) for line in axes.get_lines()) == FARTHEST
