"""Figures of a scenario: a metric against an axis, one line a series, with what was published drawn on it.

Reads tidy tables and verdicts only; runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.estimate import student
from hostsim.expect import NOT_ESTIMABLE, Always, At, FigureSpec, Find, Fit, Ratio, Switches, Verdict, Worst
from hostsim.metrics import CATALOGUE
from hostsim.plots.style import INK, LOOKS, PAPER, RC, Look
from hostsim.record import Scalar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["axes_of", "axis_label", "draw", "metric_label"]


@dataclass(frozen=True, slots=True)
class _Threshold:
    """Accepted values of x, in the units of the axis, and what was published."""

    low: float
    high: float
    published: str
    colour: str


_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?\Z")


def axes_of(table: pd.DataFrame) -> list[str]:
    """The columns of a table that are axes: those between the run's key and the measures."""
    names = list(table.columns)
    first = names.index("seed") + 1
    return names[first : next(i for i, name in enumerate(names) if i >= first and name in CATALOGUE)]


def metric_label(name: str) -> str:
    """The metric's name and unit as they stand in the catalogue: ``guest cpu (% of a vCPU)``."""
    return f"{name.replace('_', ' ')} ({CATALOGUE[name].unit})"


def axis_label(name: str, values: Sequence[Scalar]) -> str:
    """The axis by its name, with the unit that all its values share, if they do: ``rate (kpps)``."""
    _, unit = _numbers(values)
    return f"{name.replace('_', ' ')} ({unit})" if unit else name.replace("_", " ")


def draw(table: pd.DataFrame, figure: FigureSpec, *, published: Sequence[Verdict] = (), ax: Axes | None = None) -> Axes:
    """Draw one figure: the mean of the replications, their 95 % Student interval as a band, and what was published.

    Args:
        table: one row a point and replication, as `hostsim.results.table.to_table` makes it.
        figure: what to draw; axes that are neither x nor series and that it does not fix stand at the table's first value.
        published: verdicts of the scenario; those about this metric are drawn: a threshold as a vertical band with the
            published number, a value at a point or along a line as a band of accepted values.
        ax: where to draw; without it a new figure is made (``axes.figure``).

    Raises:
        InputError: the figure names a metric or an axis that is not there.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    _require(table, figure)
    lines = _series(table, figure)
    values = list(dict.fromkeys(value for rows in lines.values() for value in rows[figure.x]))
    place = _placement(values)
    with mpl.rc_context(RC):
        axes = Figure().add_subplot() if ax is None else ax
        looks: dict[tuple[Scalar, ...], Look] = {}
        missing: set[float] = set()
        for number, (key, rows) in enumerate(lines.items()):
            looks[key] = LOOKS[number % len(LOOKS)]
            missing |= _line(axes, rows, figure, place, looks[key], _series_label(figure.series, key))
        _not_estimable(axes, missing)
        drawn = [_published(axes, verdict, figure, place, looks, table) for verdict in published]
        axes.set_xlabel(axis_label(figure.x, values))
        axes.set_ylabel(metric_label(figure.y))
        if _numbers(values)[0] is None:
            axes.set_xticks([place[str(value)] for value in values], [str(value) for value in values])
        if (
            min((float(rows[figure.y].min()) for rows in lines.values() if rows[figure.y].notna().any()), default=0.0)
            >= 0
        ):
            axes.set_ylim(bottom=0)
        _thresholds(axes, [threshold for threshold in drawn if threshold is not None])
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best", handlelength=3.2)
    return axes


def _require(table: pd.DataFrame, figure: FigureSpec) -> None:
    axes = axes_of(table)
    faults = [
        Fault("unknown axis", f"figures.{figure.name}", name, ", ".join(axes), nearest_name(name, axes))
        for name in (figure.x, *figure.series, *figure.at)
        if name not in axes
    ]
    if figure.y not in CATALOGUE:
        near = nearest_name(figure.y, list(CATALOGUE))
        faults.append(Fault("unknown metric", f"figures.{figure.name}", figure.y, "a name that `metrics` lists", near))
    if faults:
        raise InputError(faults)


def _series(table: pd.DataFrame, figure: FigureSpec) -> dict[tuple[Scalar, ...], pd.DataFrame]:
    """Finished rows of each line, in the order of the table."""
    rows = table[table["error"].isna() | (table["error"] == "")]
    for axis in axes_of(table):
        if axis != figure.x and axis not in figure.series and len(rows):
            wanted = figure.at.get(axis, table[axis].iloc[0])
            rows = rows[rows[axis].astype(str) == str(wanted)]
    if not figure.series:
        return {(): rows}
    keys = dict.fromkeys(rows[list(figure.series)].itertuples(index=False, name=None))
    return {key: rows[[tuple(row) == key for row in rows[list(figure.series)].to_numpy()]] for key in keys}


def _numbers(values: Sequence[Scalar]) -> tuple[dict[str, float] | None, str]:
    """Each value as a number, keyed by its text, and the unit they share; None where they are not all such."""
    found: dict[str, float] = {}
    units = set()
    for value in values:
        match = None if isinstance(value, bool) else _QUANTITY.match(str(value))
        if match is None:
            return None, ""
        found[str(value)] = float(match[1])
        units.add(match[2] or "")
    return (found, units.pop()) if len(units) == 1 else (None, "")


def _placement(values: Sequence[Scalar]) -> dict[str, float]:
    """Where on the x axis each value stands: at its number, or one after the other."""
    numbers, _ = _numbers(values)
    return numbers if numbers is not None else {str(value): float(i) for i, value in enumerate(values)}


def _series_label(axes: Sequence[str], key: Sequence[Scalar]) -> str:
    return ", ".join(f"{axis.replace('_', ' ')} = {value}" for axis, value in zip(axes, key, strict=True))


def _line(
    axes: Axes, rows: pd.DataFrame, figure: FigureSpec, place: Mapping[str, float], look: Look, label: str
) -> set[float]:
    """Draw one line; where on the x axis there are runs of which its percentile is not estimable."""
    points = []
    missing: set[float] = set()
    for value, group in rows.groupby(figure.x, sort=False):
        measured = group[figure.y].dropna().to_numpy(dtype=np.float64)
        if len(measured) < len(group) and CATALOGUE[figure.y].least > 1:
            missing.add(place[str(value)])
        elif len(measured):
            points.append((place[str(value)], student(measured.tolist()), measured))
    points.sort(key=lambda point: point[0])
    if not points:
        return missing
    x = np.array([point[0] for point in points])
    low, high = np.array([[interval.low, interval.high] for _, interval, _ in points]).T
    floor = 0.0 if min(float(measured.min()) for *_, measured in points) >= 0 else -np.inf
    shown = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(x, np.maximum(low, floor), high, where=shown.tolist(), color=look.colour, alpha=0.18, linewidth=0)
    axes.plot(
        x,
        [interval.mean for _, interval, _ in points],
        color=look.colour,
        linestyle=look.dash,
        marker=look.marker,
        markerfacecolor=PAPER if look.is_open else look.colour,
        label=label or None,
    )
    return missing


def _not_estimable(axes: Axes, places: Iterable[float]) -> None:
    """Say in words where a percentile has too few observations, rather than leave the reader with a gap."""
    for x in sorted(places):
        axes.axvline(x, color=INK, linewidth=0.6, linestyle=":", alpha=0.5)
        at = axes.get_xaxis_transform()
        axes.text(x, 0.03, NOT_ESTIMABLE, transform=at, rotation=90, fontsize=7, ha="right", va="bottom", color=INK)


def _colour(
    at: Mapping[str, Scalar], figure: FigureSpec, looks: Mapping[tuple[Scalar, ...], Look], table: pd.DataFrame
) -> str | None:
    """Colour of the series that a statement at these axis values is about; None when it is about nothing in the figure."""
    for axis in axes_of(table):
        fixed = figure.at.get(axis, table[axis].iloc[0])
        if axis != figure.x and axis not in figure.series and str(at.get(axis, fixed)) != str(fixed):
            return None
    hits = [
        look.colour
        for key, look in looks.items()
        if all(str(at.get(axis, value)) == str(value) for axis, value in zip(figure.series, key, strict=True))
    ]
    if not hits:
        return None
    return hits[0] if len(hits) == 1 else INK


def _published(
    axes: Axes,
    verdict: Verdict,
    figure: FigureSpec,
    place: Mapping[str, float],
    looks: Mapping[tuple[Scalar, ...], Look],
    table: pd.DataFrame,
) -> _Threshold | None:
    """Draw what one expectation accepts of a value; what it accepts as a threshold is returned instead."""
    expectation, band = verdict.expectation, verdict.expectation.band
    match expectation.form:
        case Find(axis=figure.x, metric=figure.y, at=at):
            colour = _colour(at, figure, looks, table)
            if colour is None or _numbers(list(place))[0] is None:
                return None
            low, high = (-np.inf if band.low is None else band.low), (np.inf if band.high is None else band.high)
            return _Threshold(low, high, expectation.published, colour)
        case At(metric=figure.y, at=at):
            xs = [place[str(at[figure.x])]] if str(at.get(figure.x)) in place else []
            colour = _colour(at, figure, looks, table)
        case Worst(metric=figure.y, at=at, over=figure.x, values=values):
            xs = [place[str(value)] for value in values if str(value) in place]
            colour = _colour(at, figure, looks, table)
        case Find() | At() | Worst() | Ratio() | Fit() | Always() | Switches():
            return None
    if xs and colour is not None and (band.low is not None or band.high is not None):
        edge = axes.get_ylim()
        low, high = (edge[0] if band.low is None else band.low), (edge[1] if band.high is None else band.high)
        _accepted(
            axes, sorted(xs), low, high, colour, f"published: {expectation.published} {expectation.unit}".rstrip()
        )
    return None


def _accepted(axes: Axes, xs: Sequence[float], low: float, high: float, colour: str, label: str) -> None:
    """Accepted values: a hatched strip along a line, a bracket at a single point."""
    if len(xs) > 1:
        axes.fill_between(
            list(xs), low, high, facecolor="none", edgecolor=colour, hatch="////", alpha=0.35, linewidth=0, label=label
        )
        return
    middle = (low + high) / 2
    axes.errorbar(
        xs,
        [middle],
        yerr=[[middle - low], [high - middle]],
        fmt="none",
        ecolor=colour,
        capsize=4,
        elinewidth=1,
        label=label,
    )


def _thresholds(axes: Axes, thresholds: Sequence[_Threshold]) -> None:
    """Accepted thresholds: a faint band through the axes, and above them a bar of its own with the published number."""
    edge = axes.get_xlim()
    for row, threshold in enumerate(sorted(thresholds, key=lambda threshold: -threshold.low)):
        low, high = max(threshold.low, edge[0]), min(threshold.high, edge[1])
        axes.axvspan(low, high, color=threshold.colour, alpha=0.1, linewidth=0)
        height = 1.035 + 0.055 * row
        axes.plot(
            [low, high],
            [height, height],
            transform=axes.get_xaxis_transform(),
            color=threshold.colour,
            linewidth=3.5,
            solid_capstyle="butt",
            clip_on=False,
        )
        axes.annotate(
            f"published {threshold.published}",
            (high, height),
            xycoords=axes.get_xaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            color=threshold.colour,
            fontsize=7.5,
            va="center",
        )
    axes.set_xlim(edge)
