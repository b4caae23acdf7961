"""Curves of a figure: data series, drawn as lines with bands or as bars with error bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hostsim.engine.record import AxisValues, Scalar
from hostsim.results.curve import figure_rows, intervals_of, is_percentile
from hostsim.results.estimate import NOT_ESTIMABLE, Interval
from hostsim.results.figure import FigureSpec
from hostsim.results.metrics.catalogue import NO_BOUND
from hostsim.results.table import axes_of
from hostsim.views.plots.style import INK, PAPER, Look, figure_of, look_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = [
    "ABREAST",
    "BAND",
    "DOTS",
    "LIGHTER",
    "PREDICTED",
    "Curve",
    "DataSeries",
    "absence_names",
    "curve_of",
    "draw_bars",
    "draw_beyond",
    "draw_line",
    "draw_markers",
    "draw_missing",
    "draw_stack",
    "interval_names",
    "matching_series",
    "series_of",
]


@dataclass(frozen=True)
class DataSeries:
    """Data series of a figure: one line, or one bar in every group."""

    key: tuple[Scalar, ...]
    """Values of the figure's series axes."""
    label: str
    """The values in words; empty for a single series."""
    rows: pd.DataFrame
    look: Look
    place: Mapping[str, float]
    """Position of each value on the x axis, by text."""


@dataclass(frozen=True)
class Curve:
    """Curve of a metric: means and confidence intervals of one data series, ordered by x."""

    x: tuple[float, ...] = ()
    points: tuple[Interval, ...] = ()
    """Mean and interval; for non-negative measures the interval is cut at 0."""
    predicted: tuple[Interval, ...] = ()
    """Prediction intervals; only for an ensemble."""
    missing: tuple[float, ...] = ()
    """Places at which the percentile of some runs is not estimable."""
    beyond: tuple[float, ...] = ()
    """Places at which the measure is unbounded, which get a mark at the top instead of a point."""

    @property
    def is_negative(self) -> bool:
        """True if a mean is negative."""
        return any(point.mean < 0 for point in self.points)

    @property
    def means(self) -> list[float]:
        """The means."""
        return [point.mean for point in self.points]

    @property
    def tops(self) -> dict[float, float]:
        """Upper end of the interval by place, or the mean if there is no interval."""
        ends = [point.high if np.isfinite(point.half) else point.mean for point in self.points]
        widest = [
            interval.high if np.isfinite(interval.half) else end
            for interval, end in zip(self.predicted, ends, strict=False)
        ]
        return dict(zip(self.x, map(max, ends, widest or ends), strict=True))

    def errors(self, intervals: Sequence[Interval]) -> list[list[float]]:
        """Distances of intervals' ends from the means, below and above; NaN without an interval of positive width."""
        ends = [
            (max(mean - p.low, 0.0), max(p.high - mean, 0.0)) if np.isfinite(p.half) and p.half else (np.nan, np.nan)
            for mean, p in zip(self.means, intervals, strict=True)
        ]
        return [[low for low, _ in ends], [high for _, high in ends]]


def series_of(table: pd.DataFrame, figure: FigureSpec, place: Mapping[str, float]) -> Iterator[DataSeries]:
    """The data series of a figure, in the order of the table; failed runs are left out.

    Args:
        table: one row per point and replication.
        figure: the figure; axes that it neither draws nor fixes have the table's first value.
        place: position of each value of x.
    """
    rows = figure_rows(table, figure)
    names = list(figure.series)
    keys = list(dict.fromkeys(rows[names].itertuples(index=False, name=None))) if names else [()]
    for index, key in enumerate(keys):
        own = rows[[tuple(row) == key for row in rows[names].to_numpy()]] if names else rows
        yield DataSeries(key, _label(figure, key), own, look_of(index), place)


def curve_of(series: DataSeries, x: str, metric: str, *, signed: bool = False) -> Curve:
    """The curve of a metric of a data series against an axis.

    Args:
        series: the data series with its rows.
        x: the axis.
        metric: column of the rows.
        signed: the measure can be negative, like a difference; otherwise its interval is cut at 0.
    """
    points: list[tuple[float, list[Interval]]] = []
    missing, beyond = [], []
    for value, group in series.rows.groupby(x, sort=False):
        at = series.place[str(value)]
        finished = group.dropna(subset=[metric])
        measured = finished[metric].to_numpy(dtype=np.float64)
        if len(measured) < len(group) and is_percentile(metric):
            missing.append(at)
        elif np.isinf(measured).any():
            beyond.append(at)
        elif len(measured):
            interval, *predicted = intervals_of(finished, metric, signed=signed)
            if not signed and measured.min() >= 0:
                interval = replace(interval, low=max(0.0, interval.low) if np.isfinite(interval.half) else interval.low)
            points.append((at, [interval, *predicted]))
    points.sort(key=lambda point: point[0])
    return Curve(
        tuple(at for at, _ in points),
        tuple(interval for _, (interval, *_) in points),
        tuple(interval for _, (_, *predicted) in points for interval in predicted),
        tuple(sorted(missing)),
        tuple(sorted(beyond)),
    )


def matching_series(
    at: AxisValues, figure: FigureSpec, all_series: Sequence[DataSeries], table: pd.DataFrame
) -> list[DataSeries]:
    """The data series that match axis values; empty if the figure has no such point."""
    for axis in axes_of(table):
        fixed = figure.at.get(axis, table[axis].iloc[0])
        if axis != figure.x and axis not in figure.series and str(at.get(axis, fixed)) != str(fixed):
            return []
    return [
        series
        for series in all_series
        if all(str(at.get(axis, value)) == str(value) for axis, value in zip(figure.series, series.key, strict=True))
    ]


def _label(figure: FigureSpec, key: Sequence[Scalar]) -> str:
    return ", ".join(figure.value_name(axis, value) for axis, value in zip(figure.series, key, strict=True))


DOTS = (0, (1.0, 1.3))
"""Dash pattern of the line between the points of a paired contrast."""
BAND, LIGHTER = 0.18, 0.09
"""Opacities of the bands of intervals and of prediction intervals."""
PREDICTED = 5.0
"""Width of the bar of a prediction interval, in points."""
ABREAST = 5
"""Largest number of arrowheads side by side at one place."""
MARK_POINTS = 7.0
"""Width and height of an arrowhead with its marker, in points."""


def draw_markers(axes: Axes, curve: Curve, look: Look, label: str) -> None:
    """Draw a marker with error bars at each mean, without a line, as there is nothing between categories."""
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
    """Draw a line through the means, with bands for intervals and, lighter, for prediction intervals."""
    if not curve.points:
        return
    for intervals, alpha in ((curve.predicted, LIGHTER), (curve.points, BAND)):
        if intervals:
            low, high = np.array([(interval.low, interval.high) for interval in intervals]).T
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
    """Draw the means of several metrics as stacked bars; a metric without a value has no height."""
    tops: dict[float, float] = {}
    for index, (curve, label) in enumerate(zip(curves, labels, strict=True)):
        _bars(axes, curve.x, curve.means, width, look_of(index), label, [tops.get(x, 0.0) for x in curve.x])
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
    axes.bar(
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


def _error_bars(axes: Axes, curve: Curve, colour: str) -> None:
    """Error bars of the intervals, in front of wider and lighter ones of the prediction intervals."""
    if any(np.isfinite(interval.half) for interval in curve.predicted):
        axes.errorbar(
            curve.x,
            curve.means,
            yerr=curve.errors(curve.predicted),
            fmt="none",
            ecolor=colour,
            elinewidth=PREDICTED,
            alpha=2 * BAND,
        )
    if any(np.isfinite(point.half) for point in curve.points):
        axes.errorbar(
            curve.x,
            curve.means,
            yerr=curve.errors(curve.points),
            fmt="none",
            ecolor=colour,
            elinewidth=0.9,
            capsize=2,
            capthick=0.9,
        )


def interval_names(*, banded: bool) -> list[tuple[Artist, str]]:
    """Legend entries that distinguish the intervals of an ensemble.

    Args:
        banded: True for bands, False for bars.
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
    """Draw an arrowhead at the top for each unbounded value, with the marker of the series below it.

    Arrowheads of several series at the same place are side by side in the order of the series, up to `ABREAST` in a
    row; the others are in rows below.

    Args:
        axes: the axes.
        curves: one for each series.
        looks: one for each curve.
        first: number of occupied rows from the top.

    Returns:
        The number of occupied rows afterwards.
    """
    from matplotlib.transforms import ScaledTranslation

    at: dict[float, list[Look]] = {}
    for curve, look in zip(curves, looks, strict=True):
        for x in curve.beyond:
            at.setdefault(x, []).append(look)
    for x, stacked in at.items():
        for index, look in enumerate(stacked):
            row, column = divmod(index, ABREAST)
            abreast = min(ABREAST, len(stacked) - ABREAST * row)
            offset = (column - (abreast - 1) / 2) * MARK_POINTS
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
    return first + max((-(-len(stacked) // ABREAST) for stacked in at.values()), default=0)


def draw_missing(axes: Axes, curves: Iterable[Curve]) -> None:
    """Draw a cross at the bottom of each place with a percentile that is not estimable, once for all curves."""
    for x in sorted({x for curve in curves for x in curve.missing}):
        look: dict[str, Any] = {"color": INK, "linestyle": "none", "marker": "x", "markersize": 4, "clip_on": False}
        axes.plot([x], [0.02], transform=axes.get_xaxis_transform(), **look)


def absence_names(curves: Sequence[Curve]) -> Iterator[tuple[Artist, str]]:
    """Legend entries of the marks for missing and for unbounded values."""
    from matplotlib.lines import Line2D

    if any(curve.beyond for curve in curves):
        yield Line2D([], [], color=INK, linestyle="none", marker="^"), NO_BOUND
    if any(curve.missing for curve in curves):
        yield Line2D([], [], color=INK, linestyle="none", marker="x", markersize=4), NOT_ESTIMABLE
