"""Bar charts: parts in order, both ends of each input, hosts that overlap an interval."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from hostsim.views.plots.bars import FARTHEST, Swing, draw_predictions, draw_residuals, draw_stacked_bars, draw_tornado
from hostsim.views.plots.style import as_svg, shown_figure

BARS = [("before", {"vCPUs": 50.0, "NetPoll": 10.0}), ("after", {"vCPUs": 40.0, "splitRx": 5.0})]


def test_parts_stand_on_each_other_and_keep_their_look():
    """The second bar has no NetPoll, so the following parts move up."""
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
    """Two bars are not stretched, twenty are not squeezed; given axes are unchanged."""
    two, twenty = (draw_stacked_bars(BARS * n, "x").figure.get_figheight() for n in (1, 10))
    assert twenty - two == pytest.approx(18 * 0.34)
    ax = draw_stacked_bars(BARS, "x")
    assert draw_stacked_bars(BARS, "y", ax=ax) is ax


def test_long_names_leave_room_for_the_bars():
    """Long names are wrapped; the legend and everything else are within the figure."""
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


SWINGS = [
    Swing("udp_sink", "20 to 30 cycles", 10.0, 14.0, "80 % of the variance"),
    Swing("timer", "8 to 20 ms", 13.0, 11.5),
    Swing("ring", "256 to 4078", 12.5, 13.0),
]


def drawn():
    return draw_tornado(SWINGS, "guest_cpu", 12.0, "a host: 12 % of a vCPU")


def test_bars_reach_from_the_base_to_the_ends():
    axes = drawn()
    low, high = axes.containers
    assert [bar.get_x() + bar.get_width() for bar in low] == [swing.low for swing in SWINGS]
    assert [bar.get_x() + bar.get_width() for bar in high] == [swing.high for swing in SWINGS]
    assert {bar.get_x() for bar in [*low, *high]} == {12.0}


def test_the_first_input_is_on_top_and_everything_is_named():
    axes = drawn()
    assert axes.yaxis_inverted()
    assert [label.get_text().split("\n") for label in axes.get_yticklabels()] == [[s.name, s.interval] for s in SWINGS]
    assert axes.get_xlabel() == "Guest CPU (% of a vCPU)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["at its low end", "at its high end"]
    assert "80 % of the variance" in as_svg(axes.get_figure(root=True))


def test_where_both_ends_lie_on_one_side_the_shorter_is_in_front():
    low, high = (bars[2] for bars in drawn().containers)
    assert abs(low.get_width()) < abs(high.get_width())
    assert low.get_zorder() > high.get_zorder()


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


def test_predictions_have_intervals_and_known_values():
    """Each in its row, the first on top; the axis starts at 0."""
    axes = draw_predictions([("one", 1.0, 2.0, 4.0), ("two", 3.0, 5.0, 6.0)], "CPU (%)", known=[2.5, 5.5])
    [intervals] = axes.collections
    assert [segment.tolist() for segment in intervals.get_segments()] == [[[1.0, 0], [4.0, 0]], [[3.0, 1], [6.0, 1]]]
    medians, known = axes.get_lines()
    assert (list(medians.get_xdata()), list(known.get_xdata())) == ([2.0, 5.0], [2.5, 5.5])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["predicted, 90 %", "known"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two"]
    assert axes.get_xlim()[0] == 0.0
    assert axes.get_xlabel() == "CPU (%)"
