"""Short answer of a sweep: the curves of its figures, the values of its expectations, and the bottleneck."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from hostsim.cli.output import columns
from hostsim.results.expect import VerdictState
from hostsim.results.figure import FigureSpec, TableSpec, point_name

if TYPE_CHECKING:
    import pandas as pd

    from hostsim.engine.record import Scalar
    from hostsim.results.results import Results

__all__ = ["answer"]

MOST_SERIES = 6
"""Number of printed series of a figure; the others are counted."""
MOST_PLACES = 4
"""Largest number of x values that are all printed; beyond it, the first, the last, and an extreme between them."""
MOST_POINTS = 4
"""Number of points with a printed bottleneck."""
MOST_ROWS = 12
"""Number of printed points of a sweep without a curve; the others are counted."""
WIDTH = 120
"""Number of characters in a line of a paragraph."""
MEASURES = ("throughput", "loss", "cpu_total")
"""Measures of a sweep without figures."""


def answer(results: Results) -> str:
    """Format the question, each figure's curves, the judged expectations, and the bottleneck at the end of each curve.

    A sweep with no figures, or only with tables of measures, has a row for each point instead of curves.
    """
    blocks = [f"{results.question}{results.caveat}"]
    curves = [figure for figure in results.figures if isinstance(figure, FigureSpec) and not figure.stack]
    tables = [figure for figure in results.figures if isinstance(figure, TableSpec) and figure.x]
    if len(tables) == len(results.figures):
        names = dict.fromkeys(name for figure in tables for name in figure.columns) or MEASURES
        blocks.append("\n".join(_points(results.table, list(names))))
    blocks += ["\n".join(lines) for figure in curves if (lines := list(_curves(results.table, figure)))]
    blocks += [
        "\n".join(lines) for lines in (_judged(results), list(_subjects(results)), list(_bottlenecks(results))) if lines
    ]
    return "\n\n".join(blocks)


def _curves(table: pd.DataFrame, figure: FigureSpec) -> Iterator[str]:
    """Format a figure: a heading, then a line for each series."""
    from hostsim.results.curve import curve_frame, over_time, y_unit
    from hostsim.results.table import as_written

    table, figure = over_time(table, figure)
    frame = as_written(curve_frame(table, figure))
    if frame.empty:
        return
    yield f"{figure.words} ({y_unit(table, figure)})"
    series = list(figure.series)
    groups = list(frame.groupby(series, sort=False)) if series else [((), frame)]
    rows = []
    for key, rest in groups[:MOST_SERIES]:
        values = dict(zip(series, cast("tuple[Scalar, ...]", key), strict=True))
        name = ", ".join(point_name(figure.axes, axis, value) for axis, value in values.items())
        rows.append((name, _values(rest.to_dict("records"), figure)))
    width = max(len(name) for name, _ in rows)
    yield from (f"  {name.ljust(width)}  {values}" if width else f"  {values}" for name, values in rows)
    if len(groups) > MOST_SERIES:
        yield f"  and {len(groups) - MOST_SERIES} more series"


def _points(table: pd.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """Format a row for each point: its axes, the means of measures, and the bottleneck of the run with most loss."""
    from hostsim.results.metrics.catalogue import unit_of
    from hostsim.results.table import as_written, axes_of
    from hostsim.results.verdicts import number

    axes = list(axes_of(table))
    groups = [rows for _, rows in as_written(table).groupby("point", sort=False)]
    body = []
    for rows in groups[:MOST_ROWS]:
        means = [float(rows[name].mean()) for name in names]
        values = [number(mean) if math.isfinite(mean) else "–" for mean in means]
        limit = rows.sort_values("loss", ascending=False, kind="stable")["bottleneck"].iloc[0]
        body.append((*(rows[axis].iloc[0] for axis in axes), *values, limit))
    yield from columns((*axes, *(f"{name} ({unit_of(name)})" for name in names), "bottleneck"), body).splitlines()
    if len(groups) > MOST_ROWS:
        yield f"and {len(groups) - MOST_ROWS} more points: table.csv"


def _values(rows: Sequence[Mapping[Any, Any]], figure: FigureSpec) -> str:
    """The main values of a series: ``0 at 1, 12.5 at 36``."""
    from hostsim.results.verdicts import number

    chosen = list(rows)
    if len(rows) > MOST_PLACES:
        between = [row for row in rows[1:-1] if math.isfinite(row["mean"])]
        ends = [rows[0]["mean"], rows[-1]["mean"]]
        extremes = [pick(between, key=lambda row: row["mean"]) for pick in (min, max) if between]
        outside = [row for row in extremes if row["mean"] < min(ends) or row["mean"] > max(ends)]
        chosen = [row for row in rows if row is rows[0] or row is rows[-1] or row in outside]
    return ", ".join(
        f"{number(row['mean']) if math.isfinite(row['mean']) else 'no value'} at {figure.tick(figure.x, str(row[figure.x]))}"
        for row in chosen
    )


def _judged(results: Results) -> list[str]:
    """The expectations with a value, as a table."""
    from hostsim.results.verdicts import as_rows, headings

    judged = [verdict for verdict in results.verdicts if verdict.state is not VerdictState.MISSING]
    return columns(headings(judged), as_rows(judged, quick=results.quick)).splitlines() if judged else []


def _subjects(results: Results) -> Iterator[str]:
    """Measures of each VM group or traffic entry at the last point, if there are several subjects."""
    from hostsim.views.report.breakdown import LIMIT, last_points, subject_rows

    for point in last_points(results)[-1:]:
        headings, rows = subject_rows(results, point.id)
        if rows:
            shown = rows[:MOST_SERIES]
            table = list(zip(headings, *shown, strict=True))  # one column for each subject, because the labels are long
            has_limits = headings[-1] == LIMIT
            yield f"by {headings[0]} at {point.words}"
            body = table[1:-1] if has_limits else table[1:]
            yield from (f"  {line}".rstrip() for line in columns(("", *table[0][1:]), body).splitlines())
            if has_limits:
                yield "  bottleneck of " + "; of ".join(f"{row[0]}: {row[-1]}" for row in shown)
            if len(rows) > MOST_SERIES:
                yield f"  and {len(rows) - MOST_SERIES} more"


def _bottlenecks(results: Results) -> Iterator[str]:
    """The bottleneck at the last point of each series, a line for each."""
    from hostsim.views.report.breakdown import asked_subjects, last_points, limit_at

    points, printed = last_points(results), set[str]()
    for point in points[:MOST_POINTS]:
        at = f" at {point.words}" if point.words else ""
        yield f"bottleneck{at}: {point.bottleneck}{point.where}"
        if point.reason:
            yield _wrapped(point.reason)
        for subject in asked_subjects(results):
            if limit := limit_at(results, point.id, subject):
                yield f"bottleneck of {subject}{at}: {limit[0]}"
                if limit[1] != point.reason:
                    yield _wrapped(limit[1])
        new = [note for note in point.notes if note not in printed]
        printed.update(new)
        yield from map(_wrapped, new)
    if len(points) > MOST_POINTS:
        yield f"and {len(points) - MOST_POINTS} more points: `hostsim report {results.scenario} --contexts`"


def _wrapped(text: str) -> str:
    """An indented paragraph."""
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
