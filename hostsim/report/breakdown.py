"""Breakdown of time at points of a sweep: CPU time by kind of context, round trips by latency stage, latency percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from hostsim.expect import NOT_ESTIMABLE
from hostsim.figure import names_of, point_name
from hostsim.metrics.catalogue import CATALOGUE, NO_BOUND
from hostsim.metrics.label import label_of, unit_of
from hostsim.plots.axis import with_unit
from hostsim.plots.style import LOOKS
from hostsim.record import AxisValues
from hostsim.report.context_table import ReportedPoint, last_points, points_at
from hostsim.results.axis_column import as_written
from hostsim.results.cpu_breakdown import IDLE
from hostsim.results.distribution import TIMES
from hostsim.results.results import Results

__all__ = ["LATENCIES", "STAGES", "cpu_shares", "latency_rows", "stage_times"]

STAGES = tuple(name for name in CATALOGUE if name.startswith("stage_"))
"""Measures of the stages of a round trip, in its order."""
LATENCIES = tuple(
    name for name in CATALOGUE if name.startswith(tuple(f"{time}_" for time in (*TIMES, "settled_response")))
)
_WORDS = {"vcpu": "vCPUs", "netpoll": "NetPoll", "splitrx": "splitRx", "networld": "NetWorld"}

Bars = list[tuple[str, dict[str, float]]]
"""A name for each point, and its parts by name."""


def cpu_shares(results: Results, at: AxisValues | None = None) -> Bars:
    """CPU time by kind of context, in percent of all PCPUs, by point; idle time is left out.

    Owners are separate parts as long as there are enough looks.

    Args:
        results: what was run.
        at: values of axes, for the points that have them; the last point of each series of each figure where there are none.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    points = _points(results, at)
    names = _names(results, points)
    asked = results.cpu["point"].isin([point.id for point in points])
    busy = results.cpu[asked & (results.cpu["kind"] != IDLE) & (results.cpu["share"] > 0)]
    owners = busy.groupby("kind")["owner"].nunique()
    several = set(owners[owners > 1].index) if owners.sum() <= len(LOOKS) else set()
    found: Bars = []
    for point in points:
        rows = busy[busy["point"] == point.id]
        parts: dict[str, float] = {}
        for row in rows.to_dict("records"):
            word = _WORDS.get(row["kind"], row["kind"])
            part = f"{word} of {row['owner']}" if row["kind"] in several else word
            parts[part] = parts.get(part, 0.0) + row["share"]
        found.append((names[point.id], parts))
    return found


def stage_times(results: Results, at: AxisValues | None = None) -> Bars:
    """Latency breakdown of a round trip: mean time of each stage in microseconds, by point; points without such traffic are left out.

    Args:
        results: what was run.
        at: as of `cpu_shares`.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    points = _points(results, at)
    means = _means(results, points, STAGES)
    names = _names(results, points)
    return [
        (names[key], {label_of(stage): value for stage, value in stages.items()})
        for key, stages in means.items()
        if all(math.isfinite(value) for value in stages.values())
    ]


def latency_rows(results: Results, at: AxisValues | None = None) -> tuple[list[str], list[list[str]]]:
    """Latencies and response times as a table: a column for each point, and a row with its unit for each measure.

    Args:
        results: what was run.
        at: as of `cpu_shares`.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    points = _points(results, at)
    means = _means(results, points, LATENCIES)
    shown = [name for name in LATENCIES if not all(math.isnan(values[name]) for values in means.values())]
    with_values = {key: values for key, values in means.items() if not all(math.isnan(values[name]) for name in shown)}
    names = _names(results, points)
    rows = [
        [with_unit(label_of(name), unit_of(name)), *(_cell(values[name]) for values in with_values.values())]
        for name in shown
    ]
    return ["measure", *(names[key] for key in with_values)], rows


def _cell(value: float) -> str:
    if not math.isfinite(value):
        return NO_BOUND if value == math.inf else NOT_ESTIMABLE
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _points(results: Results, at: AxisValues | None) -> list[ReportedPoint]:
    return last_points(results) if at is None else points_at(results, at)


def _means(results: Results, points: Sequence[ReportedPoint], metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    rows: pd.DataFrame = results.table[results.table["error"] == ""]
    found = {}
    for point in points:
        means = rows.loc[rows["point"] == point.id, list(metrics)].mean()
        found[point.id] = dict(zip(metrics, means.to_list(), strict=True))
    return found


def _names(results: Results, points: Sequence[ReportedPoint]) -> dict[str, str]:
    """Points in words: the axes in which they differ, all of them where that is none."""
    table = as_written(results.table)
    rows: dict[str, dict[Any, Any]] = {
        point.id: table[table["point"] == point.id].iloc[0].to_dict() for point in points
    }
    differ = [axis for axis in results.axes if len({str(row[axis]) for row in rows.values()}) > 1]
    shown = differ or results.axes
    names = names_of(results.figures)
    return {
        key: ", ".join(point_name(names, axis, row[axis]) for axis in shown) or results.scenario
        for key, row in rows.items()
    }
