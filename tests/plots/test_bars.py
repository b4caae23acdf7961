"""Bars, two panels and logarithmic axes: positions, and distinct looks."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sample_table import table, verdict

from hostsim.errors import InputError
from hostsim.results.estimate import student
from hostsim.results.expect import At, Find, Ratio, Worst
from hostsim.results.figure import FigureSpec
from hostsim.views.plots.figure import GROUP, draw
from hostsim.views.plots.style import LOOKS, as_svg

BARS = FigureSpec("loss", "receivers", "loss", ("split",), kind="bar")


def words(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def ranges(ax: Axes) -> list[list[float]]:
    """Accepted ranges, as marked by reference values."""
    return [list(line.get_ydata()) for line in ax.get_lines() if line.get_zorder() == 5]


def diamonds(ax: Axes) -> list[float]:
    """Published numbers."""
    return [
        float(line.get_ydata()[0]) for line in ax.get_lines() if line.get_marker() == "D" and line.get_zorder() == 6
    ]


def right_of(ax: Axes) -> Axes:
    (right,) = (other for other in ax.figure.axes if other is not ax)
    return right


def named(ax: Axes) -> list[str]:
    """Names of the legend of a figure of two panels."""
    return [text.get_text() for legend in ax.figure.legends for text in legend.get_texts()]


def curves(ax: Axes) -> list[Line2D]:
    """Lines with markers; caps of error bars have none."""
    return [line for line in ax.get_lines() if line.get_marker() in ("o", "s")]


def with_cpu(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(host_cpu=100.0 - rows["loss"])


def test_bars_stand_in_groups_at_the_values_of_x_one_a_series():
    """Side by side without overlap, groups one apart for any numbers, each as high as the mean."""
    ax = draw(table(), BARS)
    default, split = ax.containers[0], ax.containers[2]
    assert [bar.get_height() for bar in default] == [11, 21, 41]
    assert [bar.get_height() for bar in split] == [2, 3, 5]
    assert [bar.get_x() for bar in default] == pytest.approx([-GROUP / 2, 1 - GROUP / 2, 2 - GROUP / 2])
    assert [bar.get_x() for bar in split] == pytest.approx([bar.get_x() + bar.get_width() for bar in default])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "4"]
    assert (ax.get_xlabel(), ax.get_ylabel(), words(ax)) == ("Receivers", "Packet loss (%)", ["split = 0", "split = 1"])


def test_error_bars_are_the_intervals_and_one_replication_has_none():
    """Student's interval, cut at 0 since the measure is not negative."""
    (ends,) = draw(table(), BARS).containers[1].lines[2]
    interval = student([11, 10, 12])
    assert ends.get_segments()[0][:, 1] == pytest.approx([interval.low, interval.high])
    low = draw(table(), BARS).containers[3].lines[2][0].get_segments()[0][0, 1]
    assert student([1, 2, 3]).low < 0 == low
    assert len(draw(table(replications=1), BARS).containers) == 2


def test_names_of_platforms_are_categories_and_long_ones_have_several_lines():
    """In the order of the sweep; a word that is too long is slanted."""
    short = draw(table(rates=("esxi-5.5", "esxi-6.0")), FigureSpec("f", "rate", "loss", kind="bar"))
    assert [tick.get_text() for tick in short.get_xticklabels()] == ["esxi-5.5", "esxi-6.0"]
    rates = tuple(f"a driver with a name of several words, {n}" for n in range(3))
    long = draw(table(rates=rates), FigureSpec("f", "rate", "loss", kind="bar"))
    texts = [tick.get_text() for tick in long.get_xticklabels()]
    assert [text.replace("\n", " ") for text in texts] == list(rates)
    assert all("\n" in text for text in texts)
    assert {tick.get_rotation() for tick in (*short.get_xticklabels(), *long.get_xticklabels())} == {0}
    word = draw(table(rates=tuple("a" * 40 + str(n) for n in range(3))), FigureSpec("f", "rate", "loss", kind="bar"))
    assert {tick.get_rotation() for tick in word.get_xticklabels()} == {25}


def test_quantities_stand_under_bars_without_the_unit_that_the_label_has():
    """``30 kpps`` is 30 on an axis in kpps."""
    ax = draw(table(rates=("30 kpps", "40 kpps")), FigureSpec("f", "rate", "loss", kind="bar"))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["30", "40"]
    assert ax.get_xlabel() == "Rate (kpps)"


def test_eight_series_are_told_apart_by_colour_and_hatch():
    """No two of a group look the same, not even in grey."""
    ax = draw(table(rates=("1", "2", "3", "4")), FigureSpec("f", "receivers", "loss", ("split", "rate"), kind="bar"))
    looks = [(to_hex(bars[0].get_facecolor()), bars[0].get_hatch()) for bars in ax.containers[::2]]
    assert len(looks) == len(set(looks)) == 8
    assert len({hatch for _, hatch in looks}) == 8


def test_a_longer_legend_makes_the_figure_higher_and_leaves_a_given_one_alone():
    """Bars keep their room."""
    many = FigureSpec("f", "receivers", "loss", ("split", "rate"), kind="bar")
    rows = table(rates=("10 kpps", "20 kpps", "30 kpps", "40 kpps"))
    assert draw(rows, many).figure.get_figheight() > draw(table(), BARS).figure.get_figheight()
    mine = draw(table(), BARS).figure.add_subplot()
    before = mine.figure.get_figheight()
    assert draw(rows, many, ax=mine).figure.get_figheight() == before


def test_published_values_are_marks_on_their_own_bar():
    """A diamond at the number, beside the middle of the bar, and a line over the accepted range; words have no diamond. One legend entry."""
    at = At("loss", {"receivers": 2, "split": "0", "rate": "40 kpps"})
    line = Worst(tuple(At("loss", {"receivers": n, "split": "1", "rate": "40 kpps"}) for n in (1, 4)))
    ax = draw(table(), BARS, published=[verdict(at, 18, 30, "24"), verdict(line, 1, 9, "few")])
    assert ranges(ax) == [[18, 30], [1, 9], [1, 9]]
    assert diamonds(ax) == [24]
    bar = ax.containers[0][1]
    (mark, *_) = (line for line in ax.get_lines() if line.get_zorder() == 5)
    assert bar.get_x() + bar.get_width() / 2 < min(mark.get_xdata())
    assert max(mark.get_xdata()) < bar.get_x() + bar.get_width()
    assert words(ax) == ["split = 0", "split = 1", "published (accepted range)"]
    assert [text for text in ax.texts if text.get_text()] == [], "no text on data"


@pytest.mark.parametrize(("low", "high"), [(38, None), (None, 50)])
def test_an_open_end_has_an_arrow(low, high):
    """From the existing end of the range, and the figure has space for it."""
    at = At("loss", {"receivers": 4, "split": "0", "rate": "40 kpps"})
    ax = draw(table(), BARS, published=[verdict(at, low, high, "38+")])
    (arrow,) = ax.texts
    assert arrow.arrow_patch is not None
    assert arrow.xy[1] == (low or high)
    assert arrow.xyann[1] * (1 if high is None else -1) > 0
    assert ax.get_ylim()[1] >= (low or high)


def test_a_published_ratio_is_a_multiple_of_the_simulated_reference():
    """Both points are in the figure: 3 times the mean of 21, for a published loss of 3 times the default."""
    ratio = Ratio("loss", {"split": "1"}, {"split": "0"}, {"receivers": 2, "rate": "40 kpps"})
    ax = draw(table(), BARS, published=[verdict(ratio, 2.0, 4.0, "3")])
    assert (ranges(ax), diamonds(ax)) == ([[42, 84]], [63])
    assert words(ax)[-1] == "published ratio × simulated"
    elsewhere = replace(ratio, at={"receivers": 2, "rate": "30 kpps"})
    assert ranges(draw(table(), BARS, published=[verdict(elsewhere, 2.0, 4.0, "3")])) == []


def test_what_is_about_another_point_or_a_threshold_puts_no_mark_on_bars():
    """Groups have no numeric position, so a threshold has no place among them."""
    elsewhere = At("loss", {"receivers": 2, "split": "0", "rate": "30 kpps"})
    threshold = Find(True, "receivers", 1, 9, "loss", 0.01, {"split": "0", "rate": "40 kpps"})
    ax = draw(table(), BARS, published=[verdict(elsewhere, 1, 2), verdict(threshold, 1, 2)])
    assert (ranges(ax), list(ax.texts)) == ([], [])


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_a_second_metric_has_a_panel_of_its_own(kind):
    """Beside the first, with its own axis, the looks of the series, and one legend for both."""
    ax = draw(with_cpu(table()), FigureSpec("f", "receivers", "loss", ("split",), {}, kind, "host_cpu"))
    right = right_of(ax)
    if kind == "bar":
        drawn = [[bar.get_height() for bar in one] for one in right.containers if isinstance(one, BarContainer)]
    else:
        drawn = [list(line.get_ydata()) for line in curves(right)]
        assert [line.get_color() for line in curves(right)] == [look.colour for look in LOOKS[:2]]
    assert drawn == [[89, 79, 59], [98, 97, 95]]
    assert (ax.get_ylabel(), right.get_ylabel()) == ("Packet loss (%)", "Host CPU utilisation (%)")
    assert (words(ax), words(right), named(ax)) == ([], [], ["split = 0", "split = 1"])
    FigureCanvasAgg(ax.figure).draw()
    assert ax.get_window_extent().x1 < right.get_window_extent().x0
    assert ax.get_window_extent().width == pytest.approx(right.get_window_extent().width)


def test_two_panels_divide_the_place_of_given_axes():
    """The legend is above the first, and other axes are unchanged."""
    figure = Figure(layout="constrained")
    place, other = figure.subplots(1, 2)
    spec = FigureSpec("f", "receivers", "loss", ("split",), {}, "bar", "host_cpu")
    assert draw(with_cpu(table()), spec, ax=place) is place
    assert len(figure.axes) == 3
    assert (words(place), figure.legends) == (["split = 0", "split = 1"], [])
    FigureCanvasAgg(figure).draw()
    assert figure.axes[2].get_window_extent().x1 < other.get_window_extent().x0


def test_both_panels_have_the_published_values_of_their_measure():
    """Each on its own axis."""
    both = FigureSpec("f", "receivers", "loss", ("split",), {}, "bar", "host_cpu")
    at = {"receivers": 2, "split": "0", "rate": "40 kpps"}
    claims = [verdict(At("loss", at), 1, 3), verdict(At("host_cpu", at), 5, 6, "x")]
    ax = draw(with_cpu(table()), both, published=claims)
    assert (ranges(ax), ranges(right_of(ax))) == ([[1, 3]], [[5, 6]])
    assert named(ax) == ["split = 0", "split = 1", "published (accepted range)"]


def test_bars_are_markers_on_a_logarithmic_axis():
    """There is no 0 as their base; ticks are plain numbers."""
    ax = draw(table(), replace(BARS, log="y"))
    assert ax.get_yscale() == "log"
    assert not [one for one in ax.containers if isinstance(one, BarContainer)]
    assert [list(line.get_ydata()) for line in curves(ax)] == [[11, 21, 41], [2, 3, 5]]
    FigureCanvasAgg(ax.figure).draw()
    assert {"2", "10", "20"} <= {tick.get_text() for tick in ax.get_yticklabels()}


def test_a_logarithmic_x_axis_has_the_values_of_the_sweep_as_ticks():
    """For a few values; lines stay lines."""
    ax = draw(table(), FigureSpec("f", "receivers", "loss", ("split",), log="x"))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert list(ax.get_xticks()) == [1, 2, 4]


def test_a_stack_is_one_metric_on_the_other():
    """Each with its own look and name; the axis has their unit. One without any value has no height."""
    spec = FigureSpec("f", "receivers", "loss", (), {"split": "1"}, "bar", stack=("loss_nic", "host_cpu"))
    ax = draw(with_cpu(table()), spec)
    bars = [container for container in ax.containers if len(container)]
    assert [[bar.get_height() for bar in container] for container in bars] == [[2, 3, 5], [98, 97, 95]]
    assert [bar.get_y() for bar in bars[1]] == [2, 3, 5]
    assert [to_hex(container[0].get_facecolor()) for container in bars] == [LOOKS[0].colour, LOOKS[2].colour]
    assert (ax.get_ylabel(), words(ax)) == (
        "%",
        ["Packet loss", "Packet loss at the physical NIC", "Host CPU utilisation"],
    )
    assert ax.get_ylim()[1] > 100


def test_unknown_metrics_on_the_right_are_input_errors():
    """Like those on the left."""
    with pytest.raises(InputError) as caught:
        draw(table(), FigureSpec("f", "receivers", "loss", right="host_cpuu"))
    assert [fault.nearest for fault in caught.value.faults] == ["host_cpu"]


def test_bars_are_the_same_bytes_every_time():
    """Hatches have names that depend on the content only."""
    spec = FigureSpec("f", "receivers", "loss", ("split",), {}, "bar", "host_cpu")
    first, second = (as_svg(draw(with_cpu(table()), spec).get_figure(root=True)) for _ in range(2))
    assert first == second
    assert re.search(r"<pattern id=", first)
