"""Stacked bar chart: a horizontal bar for each point, with its parts from left to right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hostsim.views.plots.style import PAPER, house_style, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_stacked_bars"]

BAR_INCHES = 0.34
MARGIN_INCHES = 1.15
LETTER_INCHES = 0.072
LEAST_INCHES = 4.0
"""Least width of the bars, however long the names beside them are."""
LEGEND_LETTERS, NARROW_LETTERS = 80, 66
"""In a row of the legend, above the whole figure and above bars that have the least."""


def draw_stacked_bars(
    bars: Sequence[tuple[str, Mapping[str, float]]],
    label: str,
    *,
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
) -> Axes:
    """Draw a stacked bar chart of parts of wholes.

    Args:
        bars: from top to bottom; of each its name, and its parts by name. A part has one colour and hatch in all of them.
        label: of the axis: what the parts are of, and their unit.
        ax: where to draw; without it a new figure is made, as high as its bars need and as wide as their names do.
        make: makes that figure; by default one outside pyplot.

    Returns:
        The axes.
    """
    from matplotlib.figure import Figure

    parts = list(dict.fromkeys(part for _, values in bars for part in values))
    names = [name for name, _ in bars]
    row, beside = LEGEND_LETTERS, LETTER_INCHES * max(map(len, names), default=0)
    with house_style():
        if ax is None:
            whole = (make or Figure)()
            whole.set_figheight(MARGIN_INCHES + BAR_INCHES * len(bars))
            if whole.get_figwidth() < beside + LEAST_INCHES:
                whole.set_figwidth(beside + LEAST_INCHES)
                row = NARROW_LETTERS
            ax = whole.add_subplot()
        ends = [0.0] * len(bars)
        places = range(len(bars))
        for number, part in enumerate(parts):
            look = look_of(number)
            lengths = [values.get(part, 0.0) for _, values in bars]
            drawn = ax.barh(
                places, lengths, 0.72, ends, color=look.colour, edgecolor=PAPER, hatch=look.hatch, label=part
            )
            for bar in drawn:
                bar.set_hatch_linewidth(0.45)
            ends = [end + length for end, length in zip(ends, lengths, strict=True)]
        ax.set_yticks(places, names)
        ax.set_ylim(len(bars) - 0.5, -0.5)
        ax.set_xlim(0, max([*ends, 1e-9]) * 1.02)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel(label)
        if parts:
            ax.legend(
                loc="lower left",
                bbox_to_anchor=(0.0, 1.0),
                ncols=max(1, min(len(parts), row // (max(map(len, parts)) + 6))),
                fontsize=7.5,
                borderpad=0.1,
                columnspacing=1.4,
            )
    return ax
