"""The forest plot of all claims: value, interval and accepted band over the published value, by experiment."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hostsim.results.claim import LEVELS, READING, Claim, experiment_title, interval_ends, level, over_published
from hostsim.results.expect import Verdict
from hostsim.views.plots.style import GRID, INK, PAPER, backed, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_forest"]

Row = tuple[Claim, Verdict]

_LOOKS = (
    ("#00855f", "o", "#00855f"),
    ("#0072b2", "o", PAPER),
    ("#b07a00", "^", "#b07a00"),
    ("#c8470a", "X", "#c8470a"),
)
"""Colour after Okabe and Ito, marker, and colour of its inside, by level."""
_BAND, _ZONE = "#a8cbe8", "#edf0f4"
_LEAST, _MOST = 0.47, 2.13
"""Ends of the axis; a value beyond them is written at the edge."""
_WIDTH, _ROW, _TOP, _BOTTOM = 9.375, 0.168, 0.66, 0.42
"""Width of the figure, 900 pixels, height of a row, and margins, in inches."""
_LABELS = 0.29
"""Share of the width for the labels of a column."""


def draw_forest(rows: Iterable[Row]) -> Figure:
    """Draw the forest plot, in two columns of about the same length.

    Args:
        rows: claims with their verdicts; those of an experiment are drawn together, in this order.
    """
    from matplotlib.figure import Figure

    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0].experiment, []).append(row)
    columns: list[list[Row | str]] = [[], []]
    for experiment, own in sorted(groups.items(), key=lambda group: -len(group[1])):
        min(columns, key=len).extend([experiment_title(experiment), *own])
    lines = max(map(len, columns))
    height = _TOP + _ROW * lines + _BOTTOM
    with house_style():
        figure = Figure(figsize=(_WIDTH, height), layout="none")
        for place, column in enumerate(columns):
            box = (place / 2 + _LABELS, _BOTTOM / height, 0.49 - _LABELS, _ROW * lines / height)
            _draw_column(figure.add_axes(box), column, lines)
        _draw_legend(figure)
    return figure


def _draw_column(axes: Axes, column: Sequence[Row | str], lines: int) -> None:
    axes.set_ylim(lines - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, _MOST)
    axes.minorticks_off()
    axes.set_xticks([0.5, 0.8, 1, 1.2, 1.5, 2], ["0.5", "0.8", "1", "1.2", "1.5", "2"], fontsize=7.5)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=1)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.fill_betweenx([0.5, len(column) - 0.5], 0.8, 1.2, color=_ZONE, linewidth=0, zorder=0)
    axes.vlines(1, 0.5, len(column) - 0.5, INK, linewidth=0.6, zorder=1.5)
    across = axes.get_yaxis_transform()
    edge = -_LABELS / (0.49 - _LABELS)
    for y, row in enumerate(column):
        if isinstance(row, str):
            axes.axhspan(y - 0.5, y + 0.5, color=PAPER, linewidth=0, zorder=1.2)
            axes.text(edge + 0.03, y, row, transform=across, fontsize=8.5, weight="bold", va="center")
        else:
            axes.text(-0.045, y, row[0].label, transform=across, fontsize=8, ha="right", va="center")
            axes.axhline(y, color=GRID, linewidth=0.5, zorder=0.5)
            _draw_row(axes, y, row[1])


def _draw_row(axes: Axes, y: int, verdict: Verdict) -> None:
    colour, marker, face = _LOOKS[level(verdict)]
    found = over_published(verdict)
    left, right = _inside(found.expectation.band.low, _LEAST), _inside(found.expectation.band.high, _MOST)
    axes.barh(y, right - left, 0.66, left, color=_BAND, linewidth=0, zorder=1.4)
    value, words = found.value, "no value"
    if value is not None:
        axes.hlines(y, *(_inside(end, end) for end in interval_ends(found)), colour, linewidth=1.4, zorder=3)
        x = _inside(value, value)
        marker = marker if x == value else "<" if x > value else ">"
        axes.plot(x, y, marker, color=colour, markerfacecolor=face, clip_on=False, zorder=4)
        if x == value:
            return
        words = "no" if verdict.expectation.unit == "boolean" else f"{value:.2f}".replace("-", "−")
    x, side = (_MOST / 1.1, "right") if value is not None and value > _MOST else (_LEAST * 1.1, "left")
    axes.text(x, y, words, fontsize=7.5, ha=side, va="center_baseline", bbox=backed(), zorder=5)


def _inside(end: float | None, absent: float) -> float:
    return min(max(absent if end is None else end, _LEAST), _MOST)


def _draw_legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=colour, marker=marker, markerfacecolor=face, label=name)
        for name, (colour, marker, face) in zip(LEVELS, _LOOKS, strict=True)
    ]
    handles += [Patch(color=_BAND, label="accepted band"), Patch(color=_ZONE, label="within 20 % of published")]
    figure.text(0.009, 0.995, "Simulated over published, with 95 % intervals", fontsize=10.5, weight="bold", va="top")
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.972), ncols=6, fontsize=8, borderaxespad=0)
    figure.text(0.009, 0.005, textwrap.fill(READING, 165), fontsize=7.5, va="bottom")
