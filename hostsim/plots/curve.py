"""Drawing of curves: lines with bands, bars with error bars, right-hand lines, and notes where there is no value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hostsim.plots.data_series import Curve
from hostsim.plots.style import INK, PAPER, Look, figure_of, halo, look_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = [
    "ABREAST",
    "BAND",
    "DOTS",
    "LIGHTER",
    "PREDICTED",
    "draw_absent",
    "draw_bars",
    "draw_beyond",
    "draw_line",
    "draw_markers",
    "draw_right",
    "draw_stack",
    "interval_names",
]

DOTS = (0, (1.0, 1.3))
"""Dash of the lines of the right-hand axis."""
BAND, LIGHTER = 0.18, 0.09
"""Opacity of the band of an interval, and of that of a prediction."""
PREDICTED = 5.0
"""Width of the bar of a prediction interval, in points."""
ABREAST = 5
"""Most arrowheads at one place in a row."""
MARK_POINTS = 7.0
"""Room that a mark of theirs takes, in points, across and down."""


def draw_markers(axes: Axes, curve: Curve, look: Look, label: str) -> None:
    """Draw a marker at each mean, with the intervals as error bars and no line: categories have nothing between them."""
    if curve.points:
        axes.plot(
            curve.x,
            curve.means,
            color=look.colour,
            linestyle="none",
            marker=look.marker,
            markerfacecolor=PAPER if look.is_open else look.colour,
            label=label or None,
        )
    _error_bars(axes, curve, look.colour)


def draw_line(axes: Axes, curve: Curve, look: Look, label: str) -> None:
    """Draw a line through the means, with the intervals as a band around it, and those of predictions as a lighter one."""
    if not curve.points:
        return
    for intervals, alpha in ((curve.predicted, LIGHTER), (curve.points, BAND)):
        if intervals:
            low, high = np.array([(one.low, one.high) for one in intervals]).T
            shown = np.isfinite(low) & np.isfinite(high)
            axes.fill_between(curve.x, low, high, where=shown.tolist(), color=look.colour, alpha=alpha, linewidth=0)
    axes.plot(
        curve.x,
        curve.means,
        color=look.colour,
        linestyle=look.dash,
        marker=look.marker,
        markerfacecolor=PAPER if look.is_open else look.colour,
        label=label or None,
    )


def draw_bars(axes: Axes, curve: Curve, width: float, look: Look, label: str) -> None:
    """Draw a bar for each mean, with its series' colour and hatch and the intervals as error bars."""
    _bars(axes, curve.x, curve.means, width, look, label)
    _error_bars(axes, curve, INK)


def draw_stack(axes: Axes, curves: Sequence[Curve], width: float, labels: Sequence[str]) -> None:
    """Draw stacked bars: the means of several metrics, the bar of each on those before it; a metric without a value takes no room."""
    tops: dict[float, float] = {}
    for number, (curve, label) in enumerate(zip(curves, labels, strict=True)):
        _bars(axes, curve.x, curve.means, width, look_of(number), label, [tops.get(x, 0.0) for x in curve.x])
        for x, mean in zip(curve.x, curve.means, strict=True):
            tops[x] = tops.get(x, 0.0) + mean


def _bars(
    axes: Axes,
    x: Sequence[float],
    heights: Sequence[float],
    width: float,
    look: Look,
    label: str,
    bottoms: Sequence[float] | float = 0.0,
) -> None:
    bars = axes.bar(
        x,
        heights,
        width,
        bottoms,
        color=look.colour,
        edgecolor=PAPER,
        linewidth=0.6,
        hatch=look.hatch,
        label=label or None,
    )
    for bar in bars:
        bar.set_hatch_linewidth(0.45)


def draw_right(axes: Axes, curve: Curve, look: Look, *, joined: bool) -> None:
    """Draw open markers, with a halo over what is below them; a thin dotted line joins them where x is a number."""
    axes.plot(
        curve.x,
        curve.means,
        color=look.colour,
        linestyle=DOTS if joined else "none",
        linewidth=1.2,
        marker=look.marker,
        markersize=5,
        markerfacecolor=PAPER,
        markeredgewidth=1.1,
        path_effects=halo(3.0),
    )
    _error_bars(axes, curve, look.colour)


def _error_bars(axes: Axes, curve: Curve, colour: str) -> None:
    """Bars of the intervals, before wider and lighter ones of the predictions."""
    if any(np.isfinite(one.half) for one in curve.predicted):
        axes.errorbar(
            curve.x,
            curve.means,
            yerr=curve.predicted_errors(),
            fmt="none",
            ecolor=colour,
            elinewidth=PREDICTED,
            alpha=2 * BAND,
        )
    if any(np.isfinite(point.half) for point in curve.points):
        axes.errorbar(
            curve.x,
            curve.means,
            yerr=curve.errors(),
            fmt="none",
            ecolor=colour,
            elinewidth=0.9,
            capsize=2,
            capthick=0.9,
        )


def interval_names(*, banded: bool) -> list[tuple[Artist, str]]:
    """Legend entries that tell the intervals of an ensemble apart.

    Args:
        banded: bands are drawn, and not bars.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = "95 % interval of the runs", "90 % prediction interval"
    handles: list[Artist] = [
        Patch(color=INK, alpha=BAND + LIGHTER, linewidth=0),
        Patch(color=INK, alpha=LIGHTER, linewidth=0),
    ]
    if not banded:
        handles = [
            Line2D([], [], color=INK, linewidth=0.9),
            Line2D([], [], color=INK, linewidth=PREDICTED, alpha=2 * BAND),
        ]
    return list(zip(handles, names, strict=True))


def draw_beyond(axes: Axes, curves: Sequence[Curve], looks: Sequence[Look], first: int = 0) -> int:
    """Draw an arrowhead at the top where a measure has no bound, with the marker of the series below it.

    Series that have none at the same place stand side by side, `ABREAST` in a row, in their order; more of them go to further rows below.

    Args:
        axes: where to draw.
        curves: of the series.
        looks: of these, one each.
        first: rows that are taken already, from the top.

    Returns:
        Rows that are taken now.
    """
    from matplotlib.transforms import ScaledTranslation

    at: dict[float, list[Look]] = {}
    for curve, look in zip(curves, looks, strict=True):
        for x in curve.beyond:
            at.setdefault(x, []).append(look)
    for x, found in at.items():
        for number, look in enumerate(found):
            row, place = divmod(number, ABREAST)
            abreast = min(ABREAST, len(found) - ABREAST * row)
            offset = (place - (abreast - 1) / 2) * MARK_POINTS
            for marker, down, face in (("^", 0, look.colour), (look.marker, 1, PAPER if look.is_open else look.colour)):
                below = (2 * (first + row) + down) * MARK_POINTS
                shift = ScaledTranslation(offset / 72, -below / 72, figure_of(axes).dpi_scale_trans)
                axes.plot(
                    [x],
                    [0.985],
                    marker=marker,
                    color=look.colour,
                    markerfacecolor=face,
                    linestyle="none",
                    transform=axes.get_xaxis_transform() + shift,
                    clip_on=False,
                    zorder=4,
                )
    return first + max((-(-len(found) // ABREAST) for found in at.values()), default=0)


def draw_absent(axes: Axes, places: Iterable[float], words: str) -> None:
    """Write a note where there is no value to draw, rather than leave a gap."""
    for x in sorted(set(places)):
        axes.axvline(x, color=INK, linewidth=0.6, linestyle=":", alpha=0.5)
        at = axes.get_xaxis_transform()
        axes.text(x, 0.03, words, transform=at, rotation=90, fontsize=7, ha="right", va="bottom", color=INK)
