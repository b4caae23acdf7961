"""Time series of a counter, the warm-up plot of a run, and the distribution of a latency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from hostsim.engine.record import RunRecord
from hostsim.errors import Fault, InputError
from hostsim.results.distribution import known_time
from hostsim.results.metrics.catalogue import spelt
from hostsim.results.record_frame import rates
from hostsim.results.results import Results
from hostsim.results.warm_up import SETTLED
from hostsim.units import SECOND
from hostsim.views.plots.axis import with_unit
from hostsim.views.plots.style import INCHES, INK, LOOKS, draw_legend, figure_of, house_style, look_of, sized

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_distribution", "draw_time_series", "draw_warm_up", "longest_warm_up"]

_MOST = 8
"""Largest number of lines; beyond it, the largest entities and the mean of the others are drawn."""


def draw_time_series(
    record: RunRecord, counter: str, *, ax: Axes | None = None, make: Callable[[], Figure] | None = None
) -> Axes:
    """Draw a counter of a run over simulated time, with the warm-up shaded.

    With more than eight entities, the seven with the largest means and the mean of the others are drawn.

    Args:
        record: a finished run.
        counter: full name, such as ``queue.inside``. A cumulative counter is drawn as a rate, a time as a share of
            time.
        ax: axes to draw on; by default those of a new figure.
        make: makes the new figure; by default one outside pyplot.

    Returns:
        The axes.

    Raises:
        InputError: the run has failed, or has no such counter.
    """
    from matplotlib.figure import Figure

    unit, values = rates(record, counter)
    seconds = record.instants_ps / SECOND
    names = record.series[counter].entities
    order = sorted(range(len(names)), key=lambda index: -float(values[:, index].mean()))
    single = order if len(order) <= _MOST else order[: _MOST - 1]
    lines = [(names[index], values[:, index]) for index in sorted(single)]
    if rest := order[len(single) :]:
        lines.append((f"mean of {len(rest)} others", values[:, rest].mean(axis=1)))
    with house_style():
        axes = sized((make or Figure)(), "page").add_subplot() if ax is None else ax
        first = len(axes.lines)
        for look_index, (name, line) in enumerate(lines, start=first):
            look = look_of(look_index)
            # a value is constant over its time slice
            ends = np.append(line, line[-1])
            axes.plot(seconds, ends, color=look.colour, linestyle=look.dash, drawstyle="steps-post", label=name)
        if record.cut and not first:
            axes.axvspan(0, float(seconds[record.cut]), color=INK, alpha=0.08, linewidth=0)
        kind, _, counter_name = counter.partition(".")
        axes.set_xlabel("Simulated time (s)")
        axes.set_ylabel(with_unit(f"{kind}: {spelt(counter_name.removesuffix('_ps'))}", unit))
        axes.set_ylim(bottom=0)
        _name_lines(axes, is_new=ax is None)
    return axes


def draw_warm_up(record: RunRecord) -> Figure:
    """Draw the warm-up of a run: the measures that determine it, one above the other.

    The warm-up is shaded; a dashed line is the mean of the rest. The title has the point, the cut and, if the run could
    not be extended far enough, a flag.

    Args:
        record: a finished run.

    Raises:
        InputError: the run failed, so there is nothing to draw.
    """
    from matplotlib.figure import Figure

    if record.error is not None:
        raise InputError(Fault("a failed run has no warm-up", given=record.error.strip().splitlines()[-1]))
    seconds = record.instants_ps / SECOND
    widths = np.diff(seconds)
    cut = float(seconds[record.cut])
    with house_style():
        figure = Figure(figsize=(INCHES["page"][0], 4.8))
        panels = figure.subplots(len(SETTLED), 1, sharex=True)
        for axes, (name, counters), look in zip(panels, SETTLED.items(), LOOKS, strict=False):
            recorded = [record.series[counter] for counter in counters if counter in record.series]
            grown = np.diff(sum((series.values.sum(axis=1) for series in recorded), np.zeros(len(seconds))))  # noqa: PD011  of a record
            per_second = grown / widths
            if name == "busy":  # picoseconds per second, summed over PCPUs
                per_second *= 100 / SECOND / max(sum(len(series.entities) for series in recorded), 1)
            axes.stairs(per_second, seconds, color=look.colour, baseline=None)
            level = float(np.average(per_second[record.cut :], weights=widths[record.cut :]))
            axes.hlines(level, cut, seconds[-1], color=INK, linewidth=0.8, linestyle="--")
            axes.axvspan(0, cut, color=INK, alpha=0.08, linewidth=0)
            axes.axvline(cut, color=INK, linewidth=0.8)
            axes.set_ylabel(f"{name} ({'%' if name == 'busy' else 'pps'})")
            axes.set_xlim(0, float(seconds[-1]))
            axes.set_ylim(0, 1.1 * float(per_second.max()) or 1.0)
        panels[0].set_title(_title(record, cut), fontsize=8.5)
        panels[-1].set_xlabel("Simulated time (s)")
    return figure


def _title(record: RunRecord, cut: float) -> str:
    point = ", ".join(f"{axis.replace('_', ' ')} = {value}" for axis, value in record.axes.items())
    flagged = ", flagged warm-up" if "warm-up" in record.flags else ""
    where = f"{point}, replication {record.replication}" if point else f"replication {record.replication}"
    return f"{where}\nwarm-up {cut:.4g} of {float(record.instants_ps[-1]) / SECOND:.4g} s{flagged}"


def longest_warm_up(results: Results) -> RunRecord:
    """The run with the longest warm-up, as a share of its length.

    Args:
        results: the results, with their records.

    Raises:
        InputError: none of the runs has finished.
        StoreError: the run is no longer in the results folder.
    """
    share = (results.table["cut_s"] / results.table["length_s"]).dropna()
    if share.empty:
        raise InputError(Fault("no run has finished", given=results.scenario))
    row = results.table.loc[[share.idxmax()]].to_dict("records")[0]
    return results.record_of(str(row["point"]), int(row["replication"]))


_WIDE = 30
"""Smallest ratio of longest to shortest time for a logarithmic time axis."""


def draw_distribution(
    series: Sequence[tuple[str, pd.DataFrame]],
    of: str,
    kind: Literal["cdf", "histogram"],
    *,
    ax: Axes | None = None,
    make: Callable[[], Figure] | None = None,
) -> Axes:
    """Draw distributions of a time; existing lines keep their looks, and new ones get the next looks.

    Args:
        series: name and frame of each, see `hostsim.results.distribution.distribution_frame`.
        of: ``latency``, ``response_time`` or ``work_time``.
        kind: the cumulative share, linear inside a bucket, or the share in each bucket.
        ax: axes to draw on; by default those of a new figure.
        make: makes the new figure; by default one outside pyplot.

    Returns:
        The axes.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import StepPatch

    time = known_time(of)
    with house_style():
        axes = (make or Figure)().add_subplot() if ax is None else ax
        drawn = len(axes.lines) + sum(isinstance(patch, StepPatch) for patch in axes.patches)
        for index, (name, frame) in enumerate(series, start=drawn):
            look = look_of(index)
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
        _name_lines(axes, is_new=ax is None)
    return axes


def _name_lines(axes: Axes, *, is_new: bool) -> None:
    """Draw the legend of several lines above their axes; a new figure grows by its height."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        whole = figure_of(axes)
        height = draw_legend(axes, handles, labels, axes.get_window_extent().width / whole.dpi)
        if is_new:
            whole.set_figheight(whole.get_figheight() + height)
