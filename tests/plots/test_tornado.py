"""The tornado shows each input's two ends about the base, and says what they are."""

from __future__ import annotations

from hostsim.views.plots.bars import Swing, draw_tornado
from hostsim.views.plots.style import as_svg

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
