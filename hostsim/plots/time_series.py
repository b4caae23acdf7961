"""Time series of a counter: its rate, share of time or level, slice by slice, a line for each entity."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hostsim.metrics.label import spelt
from hostsim.plots.axis import with_unit
from hostsim.plots.style import INK, house_style, look_of
from hostsim.record import RunRecord
from hostsim.results.record_frame import rates
from hostsim.units import SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_time_series"]

_MOST = 8
"""Lines of entities; of more the largest are drawn, and the mean of the others."""


def draw_time_series(
    record: RunRecord, counter: str, *, ax: Axes | None = None, make: Callable[[], Figure] | None = None
) -> Axes:
    """Draw a counter of a run over simulated time; what was cut as warm-up is shaded.

    Of more than eight entities the seven with the largest means are drawn, and the mean of the others.

    Args:
        record: a finished run.
        counter: full name, such as ``queue.inside``. A cumulative one is drawn as a rate, a time as a share of time.
        ax: where to draw; without it a new figure is made.
        make: makes that figure; one that belongs to nobody where nothing is said.

    Returns:
        The axes.

    Raises:
        InputError: the run has failed, or has no such counter.
    """
    from matplotlib.figure import Figure

    unit, values = rates(record, counter)
    seconds = record.instants_ps / SECOND
    names = record.series[counter].entities
    order = sorted(range(len(names)), key=lambda place: -float(values[:, place].mean()))
    single = order if len(order) <= _MOST else order[: _MOST - 1]
    lines = [(names[place], values[:, place]) for place in sorted(single)]
    if rest := order[len(single) :]:
        lines.append((f"mean of {len(rest)} others", values[:, rest].mean(axis=1)))
    with house_style():
        axes = (make or Figure)().add_subplot() if ax is None else ax
        first = len(axes.lines)
        for number, (name, line) in enumerate(lines, start=first):
            look = look_of(number)
            # a slice's value holds over the whole of it
            ends = np.append(line, line[-1])
            axes.plot(seconds, ends, color=look.colour, linestyle=look.dash, drawstyle="steps-post", label=name)
        if record.cut and not first:
            axes.axvspan(0, float(seconds[record.cut]), color=INK, alpha=0.08, linewidth=0)
        kind, _, what = counter.partition(".")
        axes.set_xlabel("Simulated time (s)")
        axes.set_ylabel(with_unit(f"{kind}: {spelt(what.removesuffix('_ps'))}", unit))
        axes.set_ylim(bottom=0)
        if len(axes.get_legend_handles_labels()[1]) > 1:
            axes.legend(loc="best", handlelength=3.2)
    return axes
