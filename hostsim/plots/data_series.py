"""Data series of a figure: the rows of each, and a metric's mean and confidence interval at each value of x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hostsim.estimate import Interval
from hostsim.figure import FigureSpec
from hostsim.plots.style import Look, look_of
from hostsim.record import AxisValues, Scalar
from hostsim.results.curve import figure_rows, intervals_of, is_percentile
from hostsim.results.table import axes_of

__all__ = ["Curve", "DataSeries", "curve_of", "matching_series", "series_of"]


@dataclass(frozen=True)
class DataSeries:
    """Data series of a figure: one line, or one bar of every group."""

    key: tuple[Scalar, ...]
    """Values of the figure's series axes."""
    label: str
    """These in words; empty where there is one series only."""
    rows: pd.DataFrame
    look: Look
    place: Mapping[str, float]
    """By the text of a value of x, where it stands on the x axis."""


@dataclass(frozen=True)
class Curve:
    """Curve of a metric: means and confidence intervals of one data series, in the order of the x axis."""

    x: tuple[float, ...] = ()
    points: tuple[Interval, ...] = ()
    """Mean and interval; an interval of measures that are not negative is cut at 0."""
    predicted: tuple[Interval, ...] = ()
    """Prediction intervals of these, of an ensemble."""
    missing: tuple[float, ...] = ()
    """Where there are runs of which the percentile is not estimable."""
    beyond: tuple[float, ...] = ()
    """Where it has no bound: no point, but a mark at the top."""

    @property
    def is_negative(self) -> bool:
        """True when a mean lies below 0."""
        return any(point.mean < 0 for point in self.points)

    @property
    def means(self) -> list[float]:
        """The means."""
        return [point.mean for point in self.points]

    @property
    def tops(self) -> dict[float, float]:
        """By place, the upper end of the interval, or the mean where it has none."""
        ends = [point.high if np.isfinite(point.half) else point.mean for point in self.points]
        widest = [one.high if np.isfinite(one.half) else end for one, end in zip(self.predicted, ends, strict=False)]
        return dict(zip(self.x, map(max, ends, widest or ends), strict=True))

    def errors(self) -> list[list[float]]:
        """Distances of the interval's ends from the mean, below and above; NaN where it has none, or none with a width."""
        return self._errors(self.points)

    def predicted_errors(self) -> list[list[float]]:
        """The same of the prediction intervals."""
        return self._errors(self.predicted)

    def _errors(self, intervals: Sequence[Interval]) -> list[list[float]]:
        ends = [
            (max(mean - p.low, 0.0), max(p.high - mean, 0.0)) if np.isfinite(p.half) and p.half else (np.nan, np.nan)
            for mean, p in zip(self.means, intervals, strict=True)
        ]
        return [[low for low, _ in ends], [high for _, high in ends]]


def series_of(table: pd.DataFrame, figure: FigureSpec, place: Mapping[str, float]) -> list[DataSeries]:
    """The data series of a figure, in the order of the table; failed runs are left out.

    Args:
        table: one row a point and replication.
        figure: what is drawn; axes that it neither draws nor fixes stand at the table's first value.
        place: where each value of x stands.
    """
    rows = figure_rows(table, figure)
    names = list(figure.series)
    keys = list(dict.fromkeys(rows[names].itertuples(index=False, name=None))) if names else [()]
    made = []
    for number, key in enumerate(keys):
        own = rows[[tuple(row) == key for row in rows[names].to_numpy()]] if names else rows
        made.append(DataSeries(key, _label(figure, key), own, look_of(number), place))
    return made


def curve_of(series: DataSeries, x: str, metric: str, *, signed: bool = False) -> Curve:
    """The curve of a metric of a data series against an axis.

    Args:
        series: with the rows.
        x: the axis.
        metric: column of the rows.
        signed: the measure may be negative, as a difference may; else its interval is cut at 0.
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
    """The data series that match axis values; none when the figure shows no such point."""
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
