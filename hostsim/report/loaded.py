"""Who serves which queue, as people read it: the points worth a look, and the rows of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hostsim.expect import FigureSpec
from hostsim.plots.scale import rows_at
from hostsim.plots.series import finished
from hostsim.record import Scalar
from hostsim.report.results import Results
from hostsim.results.table import axes_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CONTEXT_HEADINGS", "LoadedPoint", "context_rows", "loaded", "points_at"]

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


@dataclass(frozen=True, slots=True)
class LoadedPoint:
    """A point whose contexts are shown."""

    id: str
    words: str
    """Its axes."""
    bottleneck: str
    """What was full in its first replication that finished; ``none`` where nothing was."""


def loaded(results: Results) -> list[LoadedPoint]:
    """The last point of each series of each figure, each once; of a scenario without curves its last point."""
    table = results.table
    rows = []
    curves = [figure for figure in results.figures if isinstance(figure, FigureSpec)]
    for figure in curves:
        drawn = finished(table, figure)
        names = list(figure.series)
        groups = [group for _, group in drawn.groupby(names, sort=False)] if names else [drawn]
        rows += [group.iloc[-1] for group in groups if len(group)]
    if not curves and len(table):
        rows.append(table.iloc[-1])
    return list({point.id: point for row in rows if (point := _point(results, row)) is not None}.values())


def points_at(results: Results, at: Mapping[str, Scalar]) -> list[LoadedPoint]:
    """The points at given values of axes, as they are written.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    rows = rows_at(results.table, at, "--at")
    found = [_point(results, row) for row in rows.drop_duplicates("point").to_dict("records")]
    return [point for point in found if point is not None]


def context_rows(found: pd.DataFrame) -> list[tuple[str, ...]]:
    """The cells of a table of contexts, under `CONTEXT_HEADINGS`."""
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


def _point(results: Results, row: Mapping[Any, Any] | pd.Series[Any]) -> LoadedPoint | None:
    """A point by one of its rows; None where no contexts of it are kept."""
    table = results.table
    runs = table[(table["point"] == row["point"]) & (table["error"] == "")]
    if runs.empty or not (results.contexts["point"] == row["point"]).any():
        return None
    words = ", ".join(f"{axis}={row[axis]}" for axis in axes_of(table)) or "the only point"
    first = runs.sort_values("replication").iloc[0]
    return LoadedPoint(str(row["point"]), words, str(first["bottleneck"]))
