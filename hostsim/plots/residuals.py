"""Residual plot: what a calibrated model says beside what was measured, in half-widths of the measurements' intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hostsim.plots.style import GRID, INK, LOOKS, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_residuals"]

ROW_INCHES = 0.24
"""Height of a row."""
FARTHEST = 6.0
"""What is farther off is drawn at the edge."""


def draw_residuals(
    rows: Sequence[tuple[str, float, float, float]], title: str = "", figure: Figure | None = None
) -> Axes:
    """Draw residuals: for each measurement an interval of the model about its median, with the measurement's own interval as a band.

    Args:
        rows: name, and low end, median and high end of the model less the measurement, in half-widths of its interval; the first on top.
        title: above the figure.
        figure: to draw into; a new one by default.
    """
    from matplotlib.figure import Figure

    with house_style():
        figure = figure or Figure()
        figure.set_size_inches(6.4, 1.1 + ROW_INCHES * len(rows))
        axes = figure.add_subplot()
        axes.axvspan(-1.0, 1.0, color=GRID, linewidth=0, zorder=0.5, label="interval of the measurement")
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
        for place, (_, *ends) in enumerate(rows):
            low, median, high = (min(max(end, -FARTHEST), FARTHEST) for end in ends)
            is_inside = ends[0] <= 0.0 <= ends[2]
            look = LOOKS[0] if is_inside else LOOKS[1]
            axes.plot([low, high], [place, place], color=look.colour, linewidth=1.4, zorder=2)
            axes.plot([median], [place], look.marker, color=look.colour, markersize=4, zorder=3)
        axes.set_yticks(range(len(rows)), [name for name, *_ in rows], fontsize=7)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        widest = max((min(max(abs(end), 1.2), FARTHEST) for _, *ends in rows for end in ends), default=1.2)
        axes.set_xlim(-1.05 * widest, 1.05 * widest)
        axes.set_xlabel("model less measurement, in half-widths of the measurement's interval")
        figure.suptitle(title, x=0.01, ha="left", fontsize=8.5)
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.3, borderpad=0.1, fontsize=7.5)
    return axes
