"""Bars of parts: on each other in the order in which they come, one look a part."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from hostsim.views.plots.bars import draw_stacked_bars
from hostsim.views.plots.style import shown_figure

BARS = [("before", {"vCPUs": 50.0, "NetPoll": 10.0}), ("after", {"vCPUs": 40.0, "splitRx": 5.0})]


def test_parts_stand_on_each_other_and_keep_their_look():
    """The second bar has no NetPoll: what follows moves up."""
    ax = draw_stacked_bars(BARS, "CPU time (%)")
    containers = {container.get_label(): container for container in ax.containers}
    assert list(containers) == ["vCPUs", "NetPoll", "splitRx"]
    assert [bar.get_x() for bar in containers["NetPoll"]] == [50, 40]
    assert [bar.get_width() for bar in containers["splitRx"]] == [0, 5]
    assert containers["splitRx"][1].get_x() == 40
    assert len({container[0].get_facecolor() for container in ax.containers}) == 3
    assert [text.get_text() for text in ax.get_yticklabels()] == ["before", "after"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first bar on top
    assert ax.get_xlabel() == "CPU time (%)"


def test_a_figure_is_as_high_as_its_bars_need():
    """Two bars are not blown up, twenty are not squeezed; given axes stay as they are."""
    two, twenty = (draw_stacked_bars(BARS * n, "x").figure.get_figheight() for n in (1, 10))
    assert twenty - two == pytest.approx(18 * 0.34)
    ax = draw_stacked_bars(BARS, "x")
    assert draw_stacked_bars(BARS, "y", ax=ax) is ax


def test_long_names_leave_room_for_the_bars():
    """Names that would take it are written in several lines; legend and all are on the paper."""
    name = "moderation=62 us, coalescing=disabled, sensitivity=normal, and more words than have room beside the bars"
    parts = dict.fromkeys(("wire", "moderation", "netpoll wait", "coalescing", "transmit"), 10.0)
    ax = draw_stacked_bars([(name, parts)], "mean time of a round trip (us)", make=shown_figure)
    figure = ax.figure
    FigureCanvasAgg(figure).draw()  # lays out: the canvas of a figure outside pyplot draws nothing
    inches = figure.dpi_scale_trans.inverted()
    assert ax.get_window_extent().transformed(inches).width > 2.6
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().transformed(inches).x1 < figure.get_figwidth()
