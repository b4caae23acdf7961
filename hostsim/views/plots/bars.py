"""Bar charts: stacked bars of points, tornado of a sensitivity analysis, residuals and predictions of a calibration."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hostsim.views.plots.axis import metric_label
from hostsim.views.plots.style import (
    GRID,
    INCHES,
    INK,
    LETTER_INCHES,
    LOOKS,
    PAPER,
    draw_legend,
    house_style,
    look_of,
    sized,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Swing", "draw_predictions", "draw_residuals", "draw_stacked_bars", "draw_tornado"]

BAR_INCHES, LINE_INCHES = 0.34, 0.12
"""Height of a bar, and of each additional line of its name."""
MARGIN_INCHES = 0.6
LEAST_INCHES = 2.6
"""Smallest width of the bars; longer names beside them are wrapped."""
BESIDE_INCHES = 0.6
"""Width of ticks and padding beside the names, with a margin for wide letters."""


def draw_stacked_bars(
    bars: Sequence[tuple[str, Mapping[str, float]]],
    label: str,
    *,
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
) -> Axes:
    """Draw a stacked bar chart.

    Args:
        bars: from top to bottom, each with its name and its parts by name. A part has the same colour and hatch in all
            bars.
        label: axis label with the unit of the parts.
        ax: axes to draw on; by default those of a new figure, whose size fits the bars and their names.
        make: makes the new figure; by default one outside pyplot.

    Returns:
        The axes.
    """
    from matplotlib.figure import Figure

    parts = list(dict.fromkeys(part for _, values in bars for part in values))
    room = int((INCHES["page"][0] - LEAST_INCHES - BESIDE_INCHES) / LETTER_INCHES)
    names = [textwrap.fill(name, room) for name, _ in bars]
    letters = max((len(line) for name in names for line in name.split("\n")), default=0)
    with house_style():
        whole = None
        if ax is None:
            whole = sized((make or Figure)(), "page")
            lines = sum(name.count("\n") for name in names)
            whole.set_figheight(MARGIN_INCHES + BAR_INCHES * len(bars) + LINE_INCHES * lines)
            ax = whole.add_subplot()
        ends = [0.0] * len(bars)
        places = range(len(bars))
        for index, part in enumerate(parts):
            look = look_of(index)
            lengths = [values.get(part, 0.0) for _, values in bars]
            ax.barh(places, lengths, 0.72, ends, color=look.colour, edgecolor=PAPER, hatch=look.hatch, label=part)
            ends = [end + length for end, length in zip(ends, lengths, strict=True)]
        ax.set_yticks(places, names)
        ax.set_ylim(len(bars) - 0.5, -0.5)
        ax.set_xlim(0, max([*ends, 1e-9]) * 1.02)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel(label)
        handles, labels = ax.get_legend_handles_labels()
        height = draw_legend(ax, handles, labels, INCHES["page"][0] - letters * LETTER_INCHES - 0.2)
        if whole is not None:
            whole.set_figheight(whole.get_figheight() + height)
    return ax


ROW_INCHES = 0.42
"""Height of a bar with its margins."""


@dataclass(frozen=True)
class Swing:
    """Swing of a measure: one bar of a tornado plot."""

    name: str
    interval: str
    """The low and high end of the input, in words."""
    low: float
    """The measure at the input's low end, with all other inputs at their values."""
    high: float
    """The measure at the input's high end."""
    note: str = ""
    """Note beside the bar."""


def draw_tornado(swings: Sequence[Swing], metric: str, base: float, title: str = "") -> Axes:
    """Draw a tornado plot: one bar for each input, from the measure at its low end to that at its high end.

    Args:
        swings: at least one, from top to bottom.
        metric: name in the catalogue.
        base: the measure with every input at its value.
        title: above the figure.
    """
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(INCHES["page"][0], 1.15 + ROW_INCHES * len(swings)))
        axes = figure.add_subplot()
        places = range(len(swings))
        for ends, look, label in (
            ([swing.low for swing in swings], LOOKS[0], "at its low end"),
            ([swing.high for swing in swings], LOOKS[1], "at its high end"),
        ):
            bars = axes.barh(
                places,
                [end - base for end in ends],
                0.62,
                base,
                color=look.colour,
                edgecolor=PAPER,
                linewidth=0.6,
                hatch=look.hatch,
                label=label,
            )
            for bar in bars:
                # if both are on the same side, the shorter bar is in front
                bar.set_zorder(2 + 1 / (1 + abs(bar.get_width())))
        axes.axvline(base, color=INK, linewidth=0.8, zorder=4)
        axes.set_yticks(list(places), [f"{swing.name}\n{swing.interval}" for swing in swings], fontsize=7.5)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.04)
        for index, swing in enumerate(swings):
            axes.text(1.01, index, swing.note, transform=axes.get_yaxis_transform(), fontsize=7.5, va="center")
        axes.set_xlabel(metric_label(metric))
        # the title spans the whole figure: names take half of its width, and titles name a point
        figure.suptitle(title, x=0.01, ha="left", fontsize=8.5)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.3, borderpad=0.1, fontsize=7.5
        )
    return axes


RESIDUAL_ROW_INCHES = 0.24
"""Height of a row."""
FARTHEST = 6.0
"""Larger residuals are drawn at the edge."""


def draw_residuals(
    rows: Sequence[tuple[str, float, float, float]], title: str = "", figure: Figure | None = None
) -> Axes:
    """Draw residuals: the model's interval and median for each measurement, over the measurement's interval as a band.

    Args:
        rows: from top to bottom: name, and low end, median and high end of model minus measurement, in half-widths of
        the measurement's interval.
        title: above the figure.
        figure: to draw into; a new one by default.
    """
    from matplotlib.figure import Figure

    with house_style():
        figure = figure or Figure()
        figure.set_size_inches(INCHES["page"][0], 1.1 + RESIDUAL_ROW_INCHES * len(rows))
        axes = figure.add_subplot()
        axes.axvspan(-1.0, 1.0, color=GRID, linewidth=0, zorder=0.5, label="measured")
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
        points: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for index, (_, *ends) in enumerate(rows):
            low, median, high = (min(max(end, -FARTHEST), FARTHEST) for end in ends)
            meets = ends[0] <= 1.0 and ends[2] >= -1.0
            axes.plot([low, high], [index, index], color=LOOKS[not meets].colour, linewidth=1.4, zorder=2)
            points[meets].append((median, index))
        for meets, label in ((True, "90 % of hosts"), (False, "all off")):
            if points[meets]:
                look = LOOKS[not meets]
                axes.plot(*zip(*points[meets], strict=True), look.marker, color=look.colour, markersize=4, label=label)
        widest = max((min(max(abs(end), 1.2), FARTHEST) for _, *ends in rows for end in ends), default=1.2)
        axes.set_xlim(-1.05 * widest, 1.05 * widest)
        axes.set_xlabel("Model minus measurement, in half-widths of the measurement's interval")
        figure.suptitle(title, x=0.01, ha="left", fontsize=8.5)
        _finish_rows(axes, [name for name, *_ in rows])
    return axes


def draw_predictions(
    rows: Sequence[tuple[str, float, float, float]],
    label: str,
    known: Sequence[float] = (),
    figure: Figure | None = None,
) -> Axes:
    """Draw predictions: for each an interval about its median.

    Args:
        rows: name, and low end, median and high end; the first on top.
        label: of the values, with their unit.
        known: true or measured values beside the predictions, in their order.
        figure: to draw into; a new one by default.
    """
    from matplotlib.figure import Figure

    with house_style():
        figure = figure or Figure()
        figure.set_size_inches(INCHES["page"][0], 1.1 + RESIDUAL_ROW_INCHES * len(rows))
        axes, look = figure.add_subplot(), LOOKS[0]
        lows, medians, highs = ([row[column] for row in rows] for column in (1, 2, 3))
        axes.hlines(range(len(rows)), lows, highs, color=look.colour, linewidth=1.4)
        axes.plot(medians, range(len(rows)), look.marker, color=look.colour, markersize=4, label="predicted, 90 %")
        if len(known):
            axes.plot(known, range(len(rows)), "x", color=INK, markersize=5, label="known")
        axes.set_xlim(left=0.0)
        axes.set_xlabel(label)
        _finish_rows(axes, [name for name, *_ in rows])
    return axes


def _finish_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name rows, the first on top, and draw the legend above them."""
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.3, borderpad=0.1, fontsize=7.5, ncols=3)
