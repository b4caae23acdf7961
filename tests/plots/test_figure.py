"""Figures agree with the table, with labels from the catalogue and published values."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import BarContainer
from sample_table import table, verdict

from hostsim.errors import InputError
from hostsim.results.expect import At, Find, Form, Mean, Worst
from hostsim.results.figure import AxisNames, FigureSpec
from hostsim.results.table import axes_of, with_members
from hostsim.views.plots.axis import axis_label, metric_label
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import INK, LOOKS, PAPER, as_svg, house_style, look_of, save

LOSS = FigureSpec("loss", "receivers", "loss", ("split",))


def find(at: Mapping[str, str | int]) -> Find:
    return Find(largest=True, axis="receivers", start=1, stop=9, metric="loss", below=0.01, at=at)


def test_axes_are_the_columns_between_key_and_measures():
    """No list of axes is needed to read a table."""
    assert axes_of(table()) == ["receivers", "split", "rate"]


def test_each_combination_of_the_series_axes_is_one_line_through_the_means():
    """A point is drawn at the mean of its replications."""
    lines = {line.get_label(): line for line in draw(table(), LOSS).get_lines()}
    assert list(lines) == ["split = 0", "split = 1"]
    assert list(lines["split = 0"].get_xdata()) == [1, 2, 4]
    assert list(lines["split = 0"].get_ydata()) == [11, 21, 41]


def test_labels_come_from_the_catalogue_and_the_axes():
    """Words and units come from the catalogue, for any metric and figure."""
    ax = draw(table(), LOSS)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Receivers", "Packet loss (%)")
    assert metric_label("guest_cpu") == "Guest CPU (% of a vCPU)"
    assert axis_label("rate", ["30 kpps", "40 kpps"]) == "Rate (kpps)"
    assert axis_label("rate", ["900 pps", "1 kpps"]) == "Rate"
    assert axis_label("vNIC interval", ["62 us", "0 us"]) == "vNIC interval (µs)"


def test_an_axis_whose_values_have_names_has_no_unit():
    """The names say it."""
    named = replace(LOSS, x="rate", y="loss", series=(), axes={"rate": AxisNames("", {"40 kpps": "fast"})})
    assert draw(table(), named).get_xlabel() == "Rate"


def test_quantities_stand_at_their_numbers_and_other_text_side_by_side():
    """``30 kpps`` and ``40 kpps`` are 10 apart; names are one apart."""
    rates = draw(table(rates=("30 kpps", "40 kpps")), FigureSpec("f", "rate", "loss", ("split",), {"receivers": 2}))
    assert list(rates.get_lines()[0].get_xdata()) == [30, 40]
    names = draw(table(rates=("slow", "fast")), FigureSpec("f", "rate", "loss", ("split",), {"receivers": 2}))
    markers = [line for line in names.get_lines() if line.get_marker() in ("o", "s")]
    assert [list(line.get_xdata()) for line in markers] == [
        pytest.approx([-0.075, 0.925]),
        pytest.approx([0.075, 1.075]),
    ]
    assert {line.get_linestyle() for line in markers} == {"None"}, "nothing lies between two names"
    assert [tick.get_text() for tick in names.get_xticklabels()] == ["slow", "fast"]


def test_an_axis_of_whole_numbers_has_no_ticks_between_them():
    """There is no half receiver; matplotlib would mark one between 1 and 4."""
    ax = draw(table(), LOSS)
    assert all(float(tick).is_integer() for tick in ax.get_xticks())
    assert len(ax.get_xticks()) > 2


def test_an_axis_that_is_not_drawn_stands_at_its_first_value_or_where_the_figure_says():
    """Rows of other points do not enter a line."""
    both = table(rates=("30 kpps", "40 kpps"))
    both.loc[both["rate"] == "40 kpps", "loss"] += 100
    assert list(draw(both, LOSS).get_lines()[0].get_ydata()) == [11, 21, 41]
    fixed = FigureSpec("loss", "receivers", "loss", ("split",), {"rate": "40 kpps"})
    assert list(draw(both, fixed).get_lines()[0].get_ydata()) == [111, 121, 141]


def test_failed_runs_are_left_out():
    """A failed run has no value and must not interrupt the line."""
    failing = table()
    failing.loc[failing["replication"] > 0, "error"] = "Traceback"
    assert list(draw(failing, LOSS).get_lines()[0].get_ydata()) == [10, 20, 40]


def test_the_interval_is_a_band_and_one_replication_has_none():
    """A band without measurements would be false."""
    assert all(band.get_paths() for band in draw(table(), LOSS).collections)
    assert not any(band.get_paths() for band in draw(table(replications=1), LOSS).collections)


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def diamonds(ax: Axes, *, hollow: bool) -> list[tuple[float, float, str]]:
    """Place and colour of the published (hollow) or simulated (filled) thresholds and values."""
    lines = [line for line in ax.get_lines() if line.get_marker() == "D" and len(line.get_xdata()) == 1]
    found = [line for line in lines if (line.get_markerfacecolor() == PAPER) == hollow]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_color()) for line in found]


def ranges(ax: Axes) -> list[tuple[list[float], list[float]]]:
    """Accepted ranges: their ends in x and y."""
    lines = [line for line in ax.get_lines() if line.get_zorder() == 5]
    return [(list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))) for line in lines]


def test_published_and_simulated_threshold_are_at_the_condition_in_the_colour_of_their_line():
    """A hollow and a filled diamond, and no text on the data."""
    claim = verdict(find({"split": "1", "rate": "40 kpps"}), 1.5, 2.5, "2.2")
    ax = draw(table(), LOSS, published=[claim])
    colours = {line.get_label(): line.get_color() for line in ax.get_lines()}
    assert diamonds(ax, hollow=True) == [(2.2, 0.01, colours["split = 1"])]
    assert diamonds(ax, hollow=False) == [(2.0, 0.01, colours["split = 1"])]
    assert ranges(ax) == [([1.5, 2.5], [0.01, 0.01])]
    assert list(ax.texts) == []
    assert legend(ax)[2:] == ["published (accepted range)", "simulated threshold"]


def test_thresholds_with_overlapping_ranges_are_moved_apart():
    """By an offset in points, so that both are visible."""
    claims = [verdict(find({"split": split, "rate": "40 kpps"}), 1.5, 3) for split in ("0", "1")]
    ax = draw(table(), LOSS, published=claims)
    FigureCanvasAgg(ax.figure).draw()
    marks = [line for line in ax.get_lines() if line.get_zorder() == 6]
    heights = [line.get_transform().transform(line.get_xydata())[0][1] for line in marks]
    assert abs(heights[0] - heights[1]) > 5


@pytest.mark.parametrize("form", [find({"split": "1"}), At("loss", {"receivers": 2, "split": "1"})], ids=["find", "at"])
def test_what_nobody_published_is_not_called_published(form: Form):
    """The accepted range of a user's expectation has no diamond, and no mark beside published values."""
    made = verdict(form, 1.5, 2.5, "1.5 to 2.5 VMs")
    own = replace(made, expectation=replace(made.expectation, is_claim=False))
    ax = draw(table(), LOSS, published=[own])
    assert diamonds(ax, hollow=True) == []
    assert "accepted range" in legend(ax)
    both = draw(table(), LOSS, published=[own, verdict(form, 1.0, 3.0)])
    assert len(ranges(both)) == 1
    assert "accepted range" not in legend(both)


def test_a_threshold_about_other_points_is_not_drawn():
    """A claim at another rate says nothing about this figure."""
    assert ranges(draw(table(), LOSS, published=[verdict(find({"split": "1", "rate": "30 kpps"}), 1, 3)])) == []


@pytest.mark.parametrize(("low", "high", "seen"), [(0.1, 0.9, False), (4.5, 9, False), (3.5, 9, True), (0, 1, True)])
def test_a_threshold_off_the_figure_is_not_drawn(low: float, high: float, seen: bool):
    """Receivers go from 1 to 4; a shortened sweep leaves most published values outside."""
    at = {"split": "1", "rate": "40 kpps"}
    assert bool(ranges(draw(table(), LOSS, published=[verdict(find(at), low, high, "some")]))) == seen


def test_published_values_at_points_are_marks_beside_them():
    """One at each point, in the colour of its line; a second one at the same place is farther away."""
    points = tuple(At("loss", {"receivers": n, "split": "0", "rate": "40 kpps"}) for n in (1, 2, 4))
    ax = draw(table(), LOSS, published=[verdict(Worst(points), 5.0, 9.0, "7"), verdict(points[0], 1.0, 2.0, "1")])
    assert [(x, y) for x, y, _ in diamonds(ax, hollow=True)] == [(1, 7), (2, 7), (4, 7), (1, 1)]
    FigureCanvasAgg(ax.figure).draw()
    marks = [line for line in ax.get_lines() if line.get_zorder() == 6]
    places = [line.get_transform().transform(line.get_xydata())[0][0] for line in marks]
    assert places[3] > places[0] > ax.transData.transform((1, 0))[0]
    assert legend(ax)[2:] == ["published (accepted range)"]


def test_a_published_mean_of_the_lines_is_one_mark():
    """At the common position of its points, in no line's colour; means over several positions have none."""
    at = [At("loss", {"receivers": 2, "split": split, "rate": "40 kpps"}) for split in ("0", "1")]
    ax = draw(table(), LOSS, published=[verdict(Mean(tuple(at)), 5.0, 9.0, "7")])
    assert diamonds(ax, hollow=True) == [(2, 7, INK)]
    assert legend(ax)[2:] == ["published mean (accepted range)"]
    apart = (at[0], replace(at[1], at={**at[1].at, "receivers": 4}))
    assert ranges(draw(table(), LOSS, published=[verdict(Mean(apart), 5.0, 9.0, "7")])) == []


def test_unknown_names_are_input_errors_with_the_nearest_known():
    """A figure is written by users."""
    with pytest.raises(InputError) as caught:
        draw(table(), FigureSpec("loss", "receiver", "los"))
    assert [fault.nearest for fault in caught.value.faults] == ["receivers", "loss"]


def test_the_same_table_gives_the_same_svg_with_text_as_text():
    """Figures can be under version control."""
    first, second = (as_svg(draw(table(), LOSS).get_figure(root=True)) for _ in range(2))
    assert first == second
    assert ">Packet loss (%)</text>" in first
    assert "<dc:date>" not in first


def test_a_saved_figure_is_an_svg_a_png_and_a_pdf_with_the_same_bytes_every_time(tmp_path):
    """For screens, slides and, on demand, paper; no incomplete file is left, and none contains a date."""
    figures = (draw(table(), LOSS).get_figure(root=True) for _ in "ab")
    first, second = (
        save(figure, tmp_path / name / "loss", pdf=True) for figure, name in zip(figures, "ab", strict=True)
    )
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["loss.pdf", "loss.png", "loss.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_files_have_the_layout_that_matplotlib_gives_them(tmp_path):
    """The layout is computed once, without a first drawing: for SVG. The figure keeps its layout engine and canvas."""
    figure = draw(table(), LOSS, with_title=True).get_figure(root=True)
    before = figure.get_layout_engine(), figure.canvas, figure.dpi
    files = save(figure, tmp_path / "loss")
    assert (figure.get_layout_engine(), figure.canvas, figure.dpi) == before
    with house_style():
        for file in files:
            whole = io.BytesIO()
            none = dict.fromkeys(("Date", "Creator") if file.suffix == ".svg" else ("Software",))
            figure.savefig(whole, format=file.suffix[1:], dpi=300, metadata=none, transparent=False, facecolor="white")
            assert file.read_bytes() == whole.getvalue()
            figure.set_layout_engine("none")


def test_a_percentile_that_is_not_estimable_is_a_cross():
    """If there are too few observations there is a cross instead of a point, once for all lines, named in the legend."""
    rows = table()
    rows["latency_p99"] = rows["loss"].where(rows["receivers"] > 1)
    ax = draw(rows, FigureSpec("latency", "receivers", "latency_p99", ("split",)))
    crosses = [line for line in ax.get_lines() if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[1]]
    assert legend(ax)[-1] == "not estimable"
    assert [list(line.get_xdata()) for line in ax.get_lines() if len(line.get_xdata()) == 2][:1] == [[2, 4]]
    assert ax.get_ylim()[0] == 0
    nothing = draw(rows.assign(latency_p99=np.nan), FigureSpec("latency", "receivers", "latency_p99", ("split",)))
    assert legend(nothing) == ["not estimable"]
    assert len([line for line in nothing.get_lines() if line.get_marker() == "x"]) == 3


def test_what_has_no_bound_is_marked_at_the_top():
    """No point and no band there: an arrowhead, named in the legend; the axis fits the bounded values."""
    rows = table()
    rows["settled_response_p95"] = rows["loss"].where(rows["receivers"] < 4, np.inf)
    ax = draw(rows, FigureSpec("response", "receivers", "settled_response_p95", ("split",)))
    assert legend(ax)[-1] == "no bound"
    heads = [line for line in ax.get_lines() if line.get_marker() == "^"]
    assert [list(line.get_xdata()) for line in heads] == [[4], [4]]
    assert ax.get_ylim()[1] < 40
    nothing = draw(
        rows.assign(settled_response_p95=np.inf),
        FigureSpec("response", "receivers", "settled_response_p95", ("split",)),
    )
    assert legend(nothing) == ["no bound"]


def many(count: int) -> pd.DataFrame:
    """The sample table with a number of series; for 4 receivers no response time is bounded."""
    one = table().query("split == '0'")
    rows = pd.concat([one.assign(split=str(number), loss=one["loss"] + number) for number in range(count)])
    return rows.assign(settled_response_p95=rows["loss"].where(rows["receivers"] < 4, np.inf))


def test_thirty_two_lines_are_told_apart_in_the_plot_and_in_the_legend():
    """By colour and marker, and by colour and dash; the names are above the figure, whose height is unchanged."""
    ax = draw(many(32), LOSS)
    for lines in ([line for line in ax.get_lines() if len(line.get_xdata()) > 1], ax.get_legend().get_lines()):
        assert len({(line.get_color(), line.get_marker()) for line in lines}) == 32
        # matplotlib has no public access to a dash
        assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == 32
    figure = ax.get_figure(root=True)
    FigureCanvasAgg(figure).draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1
    assert ax.get_window_extent().height > 0.6 * draw(table(), LOSS).get_figure(root=True).bbox.height


def test_thirty_two_bars_of_a_group_are_told_apart():
    """By colour and hatch."""
    ax = draw(many(32), replace(LOSS, kind="bar"))
    bars = [container[0] for container in ax.containers if isinstance(container, BarContainer)]
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == 32


def marks(ax: Axes) -> list[tuple[float, float, str, str]]:
    """Visible position of an arrowhead, or of the marker below it, in points; its colour and marker."""
    FigureCanvasAgg(ax.get_figure(root=True)).draw()
    lines = [line for line in ax.get_lines() if list(line.get_ydata()) == [0.985]]
    seen = [line.get_transform().transform(line.get_xydata()[0]) * 72 / ax.get_figure(root=True).dpi for line in lines]
    return [
        (round(float(x), 1), round(float(y), 1), line.get_color(), line.get_marker())
        for (x, y), line in zip(seen, lines, strict=True)
    ]


@pytest.mark.parametrize("right", [None, "settled_response_p99"])
def test_what_has_no_bound_at_the_same_place_stands_side_by_side(right: str | None):
    """Each arrowhead has the marker of its series below it, and none overlaps another, for any metric."""
    rows = many(7).assign(settled_response_p99=lambda table: table["settled_response_p95"])
    ax = draw(rows, FigureSpec("response", "receivers", "settled_response_p95", ("split",), right=right))
    found = [mark for axes in ax.get_figure(root=True).axes for mark in marks(axes)]
    assert len(found) == 14 if right is None else 28
    for number, one in enumerate(found):
        assert all(max(abs(one[0] - other[0]), abs(one[1] - other[1])) > 5 for other in found[:number])
    for head, own, look in zip(found[0:14:2], found[1:14:2], LOOKS, strict=False):
        assert (head[0], head[2:], own[2:]) == (own[0], (look.colour, "^"), (look.colour, look.marker))
        assert own[1] < head[1]


def test_looks():
    """The first eight as listed; 64 of which no two share colour and marker, colour and dash, or colour and hatch; then they repeat."""
    assert [look_of(number) for number in range(8)] == list(LOOKS)
    looks = [look_of(number) for number in range(64)]
    for part in ("marker", "dash", "hatch"):
        assert len({(look.colour, getattr(look, part)) for look in looks}) == 64
    assert look_of(64) == LOOKS[0]


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_an_ensemble_has_both_intervals_with_names(kind):
    """The prediction's is wider and lighter, besides the look of the series; without an ensemble it is absent."""
    rows = table(replications=5)
    rows["loss"] += np.where(rows["replication"] % 5 % 3 == 2, 7.0, 0.0)
    figure = replace(LOSS, kind=kind)
    plain, found = draw(rows, figure), draw(with_members(rows), figure)
    names = ["95 % interval of the runs", "90 % prediction interval"]
    assert [text.get_text() for text in found.get_legend().get_texts()][-2:] == names
    assert not {text.get_text() for text in plain.get_legend().get_texts()} & set(names)
    drawn = [[shape for shape in axes.collections if shape.get_paths()] for axes in (plain, found)]
    assert len(drawn[1]) == 2 * len(drawn[0])
