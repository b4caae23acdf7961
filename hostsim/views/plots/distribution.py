"""Distributions of times as cumulative shares or as histograms, a line for each series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from hostsim.results.distribution import known_time
from hostsim.views.plots.axis import with_unit
from hostsim.views.plots.style import draw_legend, figure_of, house_style, look_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_distribution"]

_WIDE = 30
"""Longest time over shortest, from which the axis of times is logarithmic."""


def draw_distribution(
    series: Sequence[tuple[str, pd.DataFrame]],
    of: str,
    kind: Literal["cdf", "histogram"],
    *,
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
) -> Axes:
    """Draw distributions of a time; those that are drawn already keep their looks, and the new ones get the next.

    Args:
        series: name and frame of each, see `hostsim.results.distribution.distribution_frame`.
        of: ``latency``, ``response_time`` or ``work_time``.
        kind: the share that took no longer, linear inside a bucket; or the share in each bucket.
        ax: where to draw; without it a new figure is made.
        make: makes that figure; by default one outside pyplot.

    Returns:
        The axes.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import StepPatch

    time = known_time(of)
    with house_style():
        axes = (make or Figure)().add_subplot() if ax is None else ax
        drawn = len(axes.lines) + sum(isinstance(patch, StepPatch) for patch in axes.patches)
        for number, (name, frame) in enumerate(series, start=drawn):
            look = look_of(number)
            edges = np.append(frame["low"].to_numpy(), frame["high"].iloc[-1])
            if kind == "cdf":
                shares = np.append(0.0, frame["cumulative"].to_numpy())
                axes.plot(edges, shares, color=look.colour, linestyle=look.dash, label=name)
            else:
                outline = axes.stairs(frame["share"], edges, baseline=None, color=look.colour, label=name)
                outline.set(linestyle=look.dash, linewidth=1.2)
            if axes.get_xscale() == "linear" and edges[0] > 0 and edges[-1] > _WIDE * edges[0]:
                axes.set_xscale("log")
        unit = {"us": "µs"}.get(time.unit, time.unit)
        axes.set_xlabel(with_unit(time.label, unit))
        what = (
            f"{time.of.capitalize()} that took no longer" if kind == "cdf" else f"{time.of.capitalize()} in each bucket"
        )
        axes.set_ylabel(with_unit(what, "%"))
        axes.set_ylim(bottom=0, top=100 if kind == "cdf" else None)
        handles, labels = axes.get_legend_handles_labels()
        if len(labels) > 1:
            whole = figure_of(axes)
            height = draw_legend(axes, handles, labels, axes.get_window_extent().width / whole.dpi)
            if ax is None:
                whole.set_figheight(whole.get_figheight() + height)
    return axes
