"""Bars, and a second metric on the right: what stands where, and how one is told from another."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from sample_table import table, verdict

from hostsim.errors import InputError
from hostsim.results.estimate import student
from hostsim.results.expect import At, Find, Worst
from hostsim.results.figure import FigureSpec
from hostsim.views.plots.figure import GROUP, draw
from hostsim.views.plots.style import LOOKS, as_svg

BARS = FigureSpec("loss", "receivers", "loss", ("split",), kind="bar")


def words(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def brackets(ax: Axes) -> list[list[float]]:
    return [list(line.get_ydata()) for line in ax.get_lines() if line.get_zorder() == 4]


def right_of(ax: Axes) -> Axes:
    (right,) = (other for other in ax.figure.axes if other is not ax)
    return right


def curves(ax: Axes) -> list[Line2D]:
    """Lines with markers; caps of error bars are none."""
    return [line for line in ax.get_lines() if line.get_marker() in ("o", "s")]


def with_cpu(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(host_cpu=100.0 - rows["loss"])


def test_bars_stand_in_groups_at_the_values_of_x_one_a_series():
    """Side by side without overlap, groups one apart whatever the numbers, each as high as the mean."""
    ax = draw(table(), BARS)
    default, split = ax.containers[0], ax.containers[2]
    assert [bar.get_height() for bar in default] == [11, 21, 41]
    assert [bar.get_height() for bar in split] == [2, 3, 5]
    assert [bar.get_x() for bar in default] == pytest.approx([-GROUP / 2, 1 - GROUP / 2, 2 - GROUP / 2])
    assert [bar.get_x() for bar in split] == pytest.approx([bar.get_x() + bar.get_width() for bar in default])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "4"]
    assert (ax.get_xlabel(), ax.get_ylabel(), words(ax)) == ("Receivers", "Packet loss (%)", ["split = 0", "split = 1"])


def test_error_bars_are_the_intervals_and_one_replication_has_none():
    """Student's interval, cut at 0 since a measure is not negative."""
    (ends,) = draw(table(), BARS).containers[1].lines[2]
    interval = student([11, 10, 12])
    assert ends.get_segments()[0][:, 1] == pytest.approx([interval.low, interval.high])
    low = draw(table(), BARS).containers[3].lines[2][0].get_segments()[0][0, 1]
    assert student([1, 2, 3]).low < 0 == low
    assert len(draw(table(replications=1), BARS).containers) == 2


def test_names_of_platforms_are_categories_and_long_ones_are_written_at_a_slant():
    """In the order of the sweep."""
    short = draw(table(rates=("esxi-5.5", "esxi-6.0")), FigureSpec("f", "rate", "loss", kind="bar"))
    assert [tick.get_text() for tick in short.get_xticklabels()] == ["esxi-5.5", "esxi-6.0"]
    assert {tick.get_rotation() for tick in short.get_xticklabels()} == {0}
    rates = tuple(f"a driver with a long name, {n}" for n in range(3))
    long = draw(table(rates=rates), FigureSpec("f", "rate", "loss", kind="bar"))
    assert {tick.get_rotation() for tick in long.get_xticklabels()} == {25}


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


def test_accepted_values_are_a_bracket_beside_the_middle_of_their_own_bar():
    """With the published number above bar and bracket, and one name in the legend."""
    at = At("loss", {"receivers": 2, "split": "0", "rate": "40 kpps"})
    line = Worst(tuple(At("loss", {"receivers": n, "split": "1", "rate": "40 kpps"}) for n in (1, 4)))
    ax = draw(table(), BARS, published=[verdict(at, 18, 30, "24"), verdict(line, 1, 9, "few")])
    assert brackets(ax) == [[18, 18, 30, 30], [1, 1, 9, 9], [1, 1, 9, 9]]
    bar = ax.containers[0][1]
    (bracket, *_) = (line for line in ax.get_lines() if line.get_zorder() == 4)
    assert bar.get_x() + bar.get_width() / 2 < min(bracket.get_xdata())
    assert max(bracket.get_xdata()) < bar.get_x() + bar.get_width()
    numbers = {text.get_text(): text.xy[1] for text in ax.texts}
    assert numbers == {"24": 30, "few": pytest.approx(9.0, abs=1)}
    assert words(ax) == ["split = 0", "split = 1", "published (accepted)"]


def test_a_bracket_has_no_lip_at_an_open_end():
    """It reaches to where the figure ended, and there is room for its number."""
    at = At("loss", {"receivers": 4, "split": "0", "rate": "40 kpps"})
    ax = draw(table(), BARS, published=[verdict(at, 38, None, "38+")])
    ((first, second, third),) = brackets(ax)
    assert first == second == 38
    assert 41 < third < ax.get_ylim()[1]
    below = draw(table(), BARS, published=[verdict(at, None, 50)])
    assert brackets(below)[0][1:] == [50, 50]


def test_what_is_about_another_point_or_a_threshold_puts_no_bracket_on_bars():
    """Groups stand at no number, so a threshold has no place among them."""
    elsewhere = At("loss", {"receivers": 2, "split": "0", "rate": "30 kpps"})
    threshold = Find(True, "receivers", 1, 9, "loss", 0.01, {"split": "0", "rate": "40 kpps"})
    ax = draw(table(), BARS, published=[verdict(elsewhere, 1, 2), verdict(threshold, 1, 2)])
    assert (brackets(ax), list(ax.texts)) == ([], [])


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_a_second_metric_is_a_line_on_the_right_with_a_label_of_its_own(kind):
    """One a series, in its colour, with markers, over its own bar."""
    ax = draw(with_cpu(table()), FigureSpec("f", "receivers", "loss", ("split",), {}, kind, "host_cpu"))
    right = right_of(ax)
    drawn = curves(right)
    assert [list(line.get_ydata()) for line in drawn] == [[89, 79, 59], [98, 97, 95]]
    assert [line.get_color() for line in drawn] == [look.colour for look in LOOKS[:2]]
    assert {line.get_marker() for line in drawn} == {"o", "s"}
    assert (ax.get_ylabel(), right.get_ylabel()) == ("Packet loss (%)", "Host CPU utilisation (%)")
    assert words(ax) == ["split = 0", "split = 1", "Host CPU utilisation (right)"]
    if kind == "bar":
        bar = ax.containers[0][0]
        assert drawn[0].get_xdata()[0] == pytest.approx(bar.get_x() + bar.get_width() / 2)
    else:
        assert list(drawn[0].get_xdata()) == [1, 2, 4]


def test_both_metrics_of_a_single_series_are_named_and_have_their_own_colours():
    """The legend says which is which."""
    ax = draw(with_cpu(table()), FigureSpec("f", "receivers", "loss", (), {"split": "1"}, "line", "host_cpu"))
    assert words(ax) == ["Packet loss", "Host CPU utilisation (right)"]
    (right,) = curves(right_of(ax))
    assert right.get_color() != ax.get_lines()[0].get_color()


def test_the_left_metrics_published_values_stay_with_a_second_metric():
    """And the second one's are not drawn: there is one kind of mark for one axis."""
    both = FigureSpec("f", "receivers", "loss", ("split",), {}, "line", "host_cpu")
    at = {"receivers": 2, "split": "0", "rate": "40 kpps"}
    ax = draw(
        with_cpu(table()), both, published=[verdict(At("loss", at), 1, 3), verdict(At("host_cpu", at), 5, 6, "x")]
    )
    assert [name for name in words(ax) if "published" in name] == ["published: 2 VMs"]


def test_a_percentile_that_cannot_be_told_is_told_for_the_metric_that_it_is():
    """Two metrics, two places to look."""
    rows = table().assign(latency_p99=np.nan)
    ax = draw(rows, FigureSpec("f", "receivers", "loss", (), {"split": "1"}, "bar", "latency_p99"))
    assert {text.get_text() for text in right_of(ax).texts} == {"99th percentile of one-way latency: not estimable"}
    assert not ax.texts


def test_a_stack_is_one_metric_on_the_other():
    """Each with a look and a name of its own; the axis has their unit. One that is nowhere measured takes no room."""
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
