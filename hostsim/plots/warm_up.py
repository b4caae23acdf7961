"""Warm-up plot of a run: its settling measures slice by slice, and the start of the measured window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hostsim.errors import Fault, InputError
from hostsim.plots.style import INK, LOOKS, house_style
from hostsim.record import RunRecord
from hostsim.units import SECOND
from hostsim.warm_up import SETTLED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_warm_up"]


def draw_warm_up(record: RunRecord) -> Figure:
    """Draw the warm-up of a run: the measures that detect it, one above the other.

    What was cut is shaded; the level of the rest is a dashed line. The title names the point, the cut and, where the run could not
    be made long enough, its flag.

    Args:
        record: a finished run.

    Raises:
        InputError: the run failed: there is nothing to draw.
    """
    from matplotlib.figure import Figure

    if record.error is not None:
        raise InputError(Fault("a run that failed has no warm-up", given=record.error.strip().splitlines()[-1]))
    seconds = record.instants_ps / SECOND
    widths = np.diff(seconds)
    cut = float(seconds[record.cut])
    with house_style():
        figure = Figure(figsize=(5.6, 4.8))
        panels = figure.subplots(len(SETTLED), 1, sharex=True)
        for axes, (name, counters), look in zip(panels, SETTLED.items(), LOOKS, strict=False):
            found = [record.series[counter] for counter in counters if counter in record.series]
            grown = np.diff(sum((series.values.sum(axis=1) for series in found), np.zeros(len(seconds))))
            per_second = grown / widths
            if name == "busy":  # picoseconds a second, of all PCPUs
                per_second *= 100 / SECOND / max(sum(len(series.entities) for series in found), 1)
            axes.stairs(per_second, seconds, color=look.colour, baseline=None)
            level = float(np.average(per_second[record.cut :], weights=widths[record.cut :]))
            axes.hlines(level, cut, seconds[-1], color=INK, linewidth=0.8, linestyle="--")
            axes.axvspan(0, cut, color=INK, alpha=0.08, linewidth=0)
            axes.axvline(cut, color=INK, linewidth=0.8)
            axes.set_ylabel(f"{name} ({'%' if name == 'busy' else 'pps'})")
            axes.set_xlim(0, float(seconds[-1]))
            axes.set_ylim(0, 1.1 * float(per_second.max()) or 1.0)
        panels[0].set_title(_title(record, cut), fontsize=8.5)
        panels[-1].set_xlabel("simulated time (s)")
    return figure


def _title(record: RunRecord, cut: float) -> str:
    place = ", ".join(f"{axis.replace('_', ' ')} = {value}" for axis, value in record.axes.items())
    flagged = ", flagged warm-up" if "warm-up" in record.flags else ""
    where = f"{place}, replication {record.replication}" if place else f"replication {record.replication}"
    return f"{where}\nwarm-up {cut:.4g} of {float(record.instants_ps[-1]) / SECOND:.4g} s{flagged}"
