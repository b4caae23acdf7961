"""Stacked bar chart: a horizontal bar for each point, with its parts from left to right."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hostsim.views.plots.style import INCHES, LETTER_INCHES, PAPER, draw_legend, house_style, look_of, sized

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_stacked_bars"]

BAR_INCHES, LINE_INCHES = 0.34, 0.12
"""Height of a bar, and of each further line of its name."""
MARGIN_INCHES = 0.6
LEAST_INCHES = 2.6
"""Least width of the bars: longer names beside them are written in several lines."""
BESIDE_INCHES = 0.6
"""Width of ticks and paddings beside the names, with room for letters that are wider than their mean."""


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
        handles, labels = ax.get_legend_handles_labels()
        height = draw_legend(ax, handles, labels, INCHES["page"][0] - letters * LETTER_INCHES - 0.2)
        if whole is not None:
            whole.set_figheight(whole.get_figheight() + height)
    return ax
