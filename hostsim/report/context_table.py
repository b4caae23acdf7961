"""Context table of a report: the points to show, and the rows of their contexts (worlds, PCPUs, wires)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hostsim.figure import FigureSpec, names_of, point_name
from hostsim.record import AxisValues
from hostsim.results.axis_column import as_written
from hostsim.results.curve import figure_rows, rows_at
from hostsim.results.results import Results
from hostsim.results.table import axes_of

__all__ = ["CONTEXT_HEADINGS", "ReportedPoint", "context_rows", "last_points", "points_at"]

CONTEXT_HEADINGS = (
    "kind",
    "context",
    "serves",
    "node",
    "used %",
    "ready %",
    "dispatches/s",
    "packets/s",
    "dropped/s",
    "ring %",
)


@dataclass(frozen=True)
class ReportedPoint:
    """A point of the sweep whose contexts a report shows."""

    id: str
    words: str
    """Its axes."""
    bottleneck: str
    """What was full in its first replication that finished; ``none`` where nothing was."""


def last_points(results: Results) -> list[ReportedPoint]:
    """The last point of each series of each figure, each once; of a scenario without curves its last point."""
    table = as_written(results.table)
    rows = []
    curves = [figure for figure in results.figures if isinstance(figure, FigureSpec)]
    for figure in curves:
        drawn = figure_rows(table, figure)
        names = list(figure.series)
        groups = [group for _, group in drawn.groupby(names, sort=False)] if names else [drawn]
        rows += [group.iloc[-1] for group in groups if len(group)]
    if not curves and len(table):
        rows.append(table.iloc[-1])
    return list({point.id: point for row in rows if (point := _point(results, row)) is not None}.values())


def points_at(results: Results, at: AxisValues) -> list[ReportedPoint]:
    """The points of the sweep at given values of axes, as they are written.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    rows = rows_at(as_written(results.table), at, "--at")
    found = [_point(results, row) for row in rows.drop_duplicates("point").to_dict("records")]
    return [point for point in found if point is not None]


def context_rows(found: pd.DataFrame) -> list[tuple[str, ...]]:
    """The rows of a context table, under `CONTEXT_HEADINGS`."""
    return [
        (
            row["kind"],
            row["name"],
            row["serves"],
            _cell(row["node"], "d"),
            *(_cell(row[name], ".1f") for name in ("used", "ready")),
            *(_cell(row[name], ",.0f") for name in ("dispatches", "packets", "dropped")),
            _cell(row["fill"], ".1f"),
        )
        for row in found.astype({"node": "object"}).to_dict("records")
    ]


def _cell(value: Any, form: str) -> str:
    return "–" if value is None or value != value or math.isnan(value) else format(value, form)


def _point(results: Results, row: Mapping[Any, Any] | pd.Series[Any]) -> ReportedPoint | None:
    """The point of a row; None where no contexts of it are stored."""
    table = as_written(results.table)
    runs = table[(table["point"] == row["point"]) & (table["error"] == "")]
    if runs.empty or not (results.contexts["point"] == row["point"]).any():
        return None
    names = names_of(results.figures)
    words = ", ".join(point_name(names, axis, row[axis]) for axis in axes_of(table)) or "the only point"
    first = runs.sort_values("replication").iloc[0]
    return ReportedPoint(str(row["point"]), words, str(first["bottleneck"]))
