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
        axes.axvspan(-1.0, 1.0, color=GRID, linewidth=0, zorder=0.5, label="measured")
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
        points: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for place, (_, *ends) in enumerate(rows):
            low, median, high = (min(max(end, -FARTHEST), FARTHEST) for end in ends)
            meets = ends[0] <= 1.0 and ends[2] >= -1.0
            axes.plot([low, high], [place, place], color=LOOKS[not meets].colour, linewidth=1.4, zorder=2)
            points[meets].append((median, place))
        for meets, label in ((True, "90 % of hosts"), (False, "all off")):
            if points[meets]:
                look = LOOKS[not meets]
                axes.plot(*zip(*points[meets], strict=True), look.marker, color=look.colour, markersize=4, label=label)
        axes.set_yticks(range(len(rows)), [name for name, *_ in rows], fontsize=7)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        widest = max((min(max(abs(end), 1.2), FARTHEST) for _, *ends in rows for end in ends), default=1.2)
        axes.set_xlim(-1.05 * widest, 1.05 * widest)
        axes.set_xlabel("model less measurement, in half-widths of the measurement's interval")
        figure.suptitle(title, x=0.01, ha="left", fontsize=8.5)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.3, borderpad=0.1, fontsize=7.5, ncols=3
        )
    return axes
