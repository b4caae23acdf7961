"""Figures of differences, ratios and derived measures, with limits as lines and published values."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from sample_table import table, verdict

from hostsim.results.curve import curve_frame
from hostsim.results.estimate import student
from hostsim.results.expect import Difference, Ratio
from hostsim.results.figure import AxisNames, FigureSpec
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import figure_of

SAVED = FigureSpec("saved", "receivers", "loss", at={"split": "0"}, less={"split": "1"})
GAIN = FigureSpec("gain", "receivers", "loss", at={"split": "0"}, to={"split": "1"}, kind="bar")


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_a_difference_is_paired_by_replication() -> None:
    """The replication is added to both sides and cancels: the interval has zero width."""
    frame = curve_frame(table(), SAVED)
    assert list(frame["mean"]) == [9, 18, 36]
    assert list(frame["low"]) == list(frame["high"]) == [9, 18, 36]
    assert frame.attrs["units"]["mean"] == "%"


def test_a_ratio_is_paired_by_replication_and_has_no_unit() -> None:
    """The mean of the ratios, not the ratio of the means."""
    frame = curve_frame(table(), GAIN)
    expected = student([(10.0 + r) / (1.0 + r) for r in range(3)])
    assert frame["mean"][0] == pytest.approx(expected.mean)
    assert frame["high"][0] == pytest.approx(expected.high)
    assert draw(table(), GAIN).get_ylabel() == "Packet loss, ratio to split = 1"


def test_the_reference_of_a_series_is_no_line_of_its_own() -> None:
    """Its difference from itself would be zero."""
    ax = draw(table(), FigureSpec("saved", "receivers", "loss", ("split",), less={"split": "1"}))
    assert [line.get_label() for line in ax.get_lines() if line.get_marker() == "o"] == ["split = 0"]


def test_a_run_without_its_pair_is_left_out() -> None:
    """A failed replication on one side removes the other side's, too."""
    rows = table()
    rows.loc[(rows["split"] == "1") & (rows["replication"] == 2), "error"] = "Traceback"
    assert list(curve_frame(rows, SAVED)["runs"]) == [2, 2, 2]


def test_a_measure_over_another_is_divided_run_by_run() -> None:
    """The result is absent if the other measure is 0."""
    rows = table().assign(host_cpu=2.0)
    rows.loc[rows["receivers"] == 4, "host_cpu"] = 0.0
    frame = curve_frame(rows, FigureSpec("f", "receivers", "loss", at={"split": "0"}, per="host_cpu"))
    assert list(frame["mean"][:2]) == [5.5, 10.5]
    assert frame["mean"].isna()[2]
    assert frame.attrs["units"]["mean"] == "% per %"


def test_a_column_of_ones_own_is_drawn_with_its_unit() -> None:
    """A measure added to a table needs no registration."""
    rows = table()
    rows["cost_of_loss"] = rows["loss"] * 2
    rows.attrs["units"] = {"cost_of_loss": "EUR"}
    ax = draw(rows, FigureSpec("f", "receivers", "cost_of_loss", ("split",)))
    assert ax.get_ylabel() == "cost of loss (EUR)"
    assert list(ax.get_lines()[0].get_ydata()) == [22, 42, 82]


@pytest.mark.parametrize(
    ("figure", "form", "seen"),
    [
        (SAVED, Difference("loss", {"receivers": 2, "split": "0"}, {"receivers": 2, "split": "1"}), True),
        (SAVED, Difference("loss", {"receivers": 2, "split": "1"}, {"receivers": 2, "split": "0"}), False),
        (GAIN, Ratio("loss", {"split": "0"}, {"split": "1"}, {"receivers": 2}), True),
        (GAIN, Ratio("loss", {"receivers": 2}, {"receivers": 1}, {"split": "0"}), False),
        (SAVED, Ratio("loss", {"split": "0"}, {"split": "1"}, {"receivers": 2}), False),
    ],
)
def test_what_was_published_is_drawn_where_it_is_about_the_same_comparison(
    figure: FigureSpec, form: Difference | Ratio, seen: bool
) -> None:
    """In reverse, or against another point, it is about something else."""
    ax = draw(table(), figure, published=[verdict(form, 8.0, 9.0, "8.5")])
    assert any("published" in name for name in legend(ax)) == seen


def test_a_limit_is_a_line_with_its_number_and_is_on_the_axis() -> None:
    """The figure extends to a limit that no point reaches."""
    ax = draw(table(), FigureSpec("loss", "receivers", "loss", lines=(90.0,)))
    assert [(text.get_text(), text.xy[0]) for text in ax.texts] == [("90 %", 1)], "beside the axes"
    assert [90.0, 90.0] in [list(line.get_ydata()) for line in ax.get_lines()]
    assert ax.get_ylim()[1] > 90


def test_axes_and_values_have_the_names_that_a_sweep_gives_them() -> None:
    """In the legend, at the ticks and below the axis."""
    axes = {"split": AxisNames("Mode", {"0": "default", "1": "splitRxMode"}), "receivers": AxisNames("Receiving VMs")}
    lines = draw(table(), FigureSpec("f", "receivers", "loss", ("split",), axes=axes))
    assert (lines.get_xlabel(), legend(lines)) == ("Receiving VMs", ["default", "splitRxMode"])
    bars = draw(table(), FigureSpec("f", "split", "loss", kind="bar", axes=axes))
    assert [tick.get_text() for tick in bars.get_xticklabels()] == ["default", "splitRxMode"]


def test_a_printed_figure_has_its_width_and_no_title() -> None:
    """A journal sets the caption; a figure without a specified size is as wide as its content needs, and has its title."""
    column, screen, page = (
        figure_of(draw(table(), figure, with_title=True))
        for figure in (
            FigureSpec("f", "receivers", "loss", size="column"),
            FigureSpec("f", "receivers", "loss"),
            FigureSpec("f", "receivers", "loss", right="host_cpu"),
        )
    )
    assert [figure.get_figwidth() for figure in (column, screen, page)] == [3.5, 3.5, 7.2]
    assert column.texts == []
    assert [text.get_text() for text in screen.texts] == ["Packet loss against receivers"]
    assert screen.get_figheight() > column.get_figheight()
