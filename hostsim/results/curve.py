"""Curves: a measure against an axis as a tidy frame, with the mean of the replications and its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.estimate import student
from hostsim.expect import FigureSpec
from hostsim.metrics.catalogue import CATALOGUE, nearest_metric
from hostsim.record import AxisValues

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["curve_frame", "curve_spec", "figure_rows", "is_partial", "require_figure", "rows_at"]


def curve_spec(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str | Sequence[str] = (),
    at: AxisValues | None = None,
    kind: Literal["line", "bar"] = "line",
    right: str | None = None,
) -> FigureSpec:
    """The figure specification of a curve, checked against a table.

    Args:
        table: one row a point and replication.
        x: an axis.
        y: a measure of the catalogue.
        by: axes that tell lines apart.
        at: values of the other axes; the first value of the sweep where nothing is given.
        kind: lines, or groups of bars.
        right: a second measure, on the right-hand axis.

    Raises:
        InputError: an unknown axis, an unknown measure, or a value that the sweep does not have.
    """
    series = (by,) if isinstance(by, str) else tuple(by)
    figure = FigureSpec(f"{y} against {x}", x, y, series, dict(at or {}), kind, right)
    require_figure(table, figure)
    rows_at(table, figure.at)  # a value that is not there is a fault
    return figure


def require_figure(table: pd.DataFrame, figure: FigureSpec) -> None:
    """Check that a table has the axes of a figure, and the catalogue its measures.

    Raises:
        InputError: with every one that is not there.
    """
    from hostsim.results.table import axes_of

    axes = axes_of(table)
    faults = [
        Fault("unknown axis", f"figures.{figure.name}", name, ", ".join(axes), nearest_name(name, axes))
        for name in (figure.x, *figure.series, *figure.at)
        if name not in axes
    ]
    for metric in (figure.y, figure.right, *figure.stack):
        if metric is not None and metric not in CATALOGUE:
            allowed = "a name that `metrics` lists"
            near = nearest_metric(metric)
            faults.append(Fault("unknown metric", f"figures.{figure.name}", metric, allowed, near))
    if faults:
        raise InputError(faults)


def rows_at(table: pd.DataFrame, at: AxisValues, place: str = "at") -> pd.DataFrame:
    """The rows of a table at given values of axes; a value may be given as it is written (``"40 kpps"``, ``1`` or ``"1"``), or as a number in the axis' unit.

    Args:
        table: one row a point and replication.
        at: value by axis.
        place: location that a fault reports.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    from hostsim.results.axis_column import as_written, is_value
    from hostsim.results.table import axes_of

    axes, rows = axes_of(table), table
    for axis, value in at.items():
        if axis not in axes:
            allowed = "one of " + ", ".join(axes) if axes else "nothing: there are no axes"
            raise InputError(Fault("unknown axis", place, repr(axis), allowed, nearest_name(axis, axes)))
        written = as_written(rows)[axis]
        known = list(dict.fromkeys(written.astype(str)))
        rows = rows[is_value(written, value)]
        if rows.empty:
            raise InputError(Fault("no point is there", f"{place} {axis}", repr(value), "one of " + ", ".join(known)))
    return rows


def figure_rows(table: pd.DataFrame, figure: FigureSpec) -> pd.DataFrame:
    """The rows of finished runs at the points of a figure, with the axes as the scenario writes them."""
    rows = _rows_at_points(table, figure)
    return rows[rows["error"].isna() | (rows["error"] == "")]


def is_partial(table: pd.DataFrame, figure: FigureSpec) -> bool:
    """True when a run failed at a point of the figure."""
    return len(_rows_at_points(table, figure)) > len(figure_rows(table, figure))


def curve_frame(table: pd.DataFrame, figure: FigureSpec) -> pd.DataFrame:
    """The left-hand measure of a figure as a tidy frame: the axes of its series, x, ``mean``, ``low``, ``high``, ``runs``.

    Ends of an interval are NaN where there is one run, or no bound; a percentile that is not estimable has NaN everywhere.
    """
    import numpy as np
    import pandas as pd

    from hostsim.results.axis_column import as_numbers

    rows = figure_rows(table, figure)
    keys = [*figure.series, figure.x]
    ranks = [{value: rank for rank, value in enumerate(dict.fromkeys(rows[key]))} for key in keys]
    groups = [(at, group) for at, group in rows.groupby(keys, sort=False)]
    groups.sort(key=lambda entry: [rank[value] for rank, value in zip(ranks, entry[0], strict=True)])
    found = []
    for at, group in groups:
        values = group[figure.y].dropna().to_list()
        whole = len(values) == len(group) or CATALOGUE[figure.y].least == 1
        interval = student(values) if values and whole else None
        ends = (
            [] if interval is None else [end if np.isfinite(end) else np.nan for end in (interval.low, interval.high)]
        )
        found.append((*at, *([np.nan] * 3 if interval is None else [interval.mean, *ends]), len(group)))
    frame = pd.DataFrame(found, columns=[*keys, "mean", "low", "high", "runs"])
    frame.attrs["units"] = dict.fromkeys(("mean", "low", "high"), CATALOGUE[figure.y].unit)
    return as_numbers(frame, keys)


def _rows_at_points(table: pd.DataFrame, figure: FigureSpec) -> pd.DataFrame:
    """The rows at the points of a figure, those of failed runs included."""
    from hostsim.results.axis_column import as_written, is_value
    from hostsim.results.table import axes_of

    rows = table = as_written(table)
    for axis in axes_of(table):
        if axis != figure.x and axis not in figure.series and len(rows):
            wanted = figure.at.get(axis, table[axis].iloc[0])
            rows = rows[is_value(rows[axis], wanted)]
    return rows
