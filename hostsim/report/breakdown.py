"""Where time goes at the points worth a look: CPU by context, a round trip by stage, latencies by percentile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hostsim.expect import NOT_ESTIMABLE
from hostsim.metrics import CATALOGUE, NO_BOUND
from hostsim.plots.style import LOOKS
from hostsim.record import Scalar
from hostsim.report.loaded import LoadedPoint, loaded, points_at
from hostsim.report.results import Results
from hostsim.results.cpu_time import IDLE

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LATENCIES", "STAGES", "cpu_shares", "latency_rows", "stage_times"]

STAGES = tuple(name for name in CATALOGUE if name.startswith("stage_"))
"""Measures of the stages of a round trip, in its order."""
LATENCIES = tuple(name for name in CATALOGUE if name.startswith(("latency_", "response_")))
_WORDS = {"vcpu": "vCPUs", "netpoll": "NetPoll", "splitrx": "splitRx", "networld": "NetWorld"}

Bars = list[tuple[str, dict[str, float]]]
"""A name for each point, and its parts by name."""


def cpu_shares(results: Results, at: Mapping[str, Scalar] | None = None) -> Bars:
    """Share of all PCPUs' time that each kind of context took, in percent, by point; what is idle is left out.

    Owners are told apart as long as there are looks to tell them by.

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


def stage_times(results: Results, at: Mapping[str, Scalar] | None = None) -> Bars:
    """Mean time of each stage of a round trip in microseconds, by point; points without such traffic are left out.

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
        (names[key], {stage.removeprefix("stage_").replace("_", " "): value for stage, value in stages.items()})
        for key, stages in means.items()
        if all(math.isfinite(value) for value in stages.values())
    ]


def latency_rows(results: Results, at: Mapping[str, Scalar] | None = None) -> tuple[list[str], list[list[str]]]:
    """Latencies and response times that were measured, as a table: headings with units, and a row a point.

    Args:
        results: what was run.
        at: as of `cpu_shares`.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    points = _points(results, at)
    means = _means(results, points, LATENCIES)
    shown = [name for name in LATENCIES if not all(math.isnan(values[name]) for values in means.values())]
    names = _names(results, points)
    headings = [f"{name.replace('_', ' ')} ({CATALOGUE[name].unit})" for name in shown]
    rows = []
    for key, values in means.items():
        if not all(math.isnan(values[name]) for name in shown):
            rows.append([names[key], *(_cell(values[name]) for name in shown)])
    return ["point", *headings], rows


def _cell(value: float) -> str:
    if not math.isfinite(value):
        return NO_BOUND if value == math.inf else NOT_ESTIMABLE
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _points(results: Results, at: Mapping[str, Scalar] | None) -> list[LoadedPoint]:
    return loaded(results) if at is None else points_at(results, at)


def _means(results: Results, points: Sequence[LoadedPoint], metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    rows: pd.DataFrame = results.table[results.table["error"] == ""]
    found = {}
    for point in points:
        means = rows.loc[rows["point"] == point.id, list(metrics)].mean()
        found[point.id] = dict(zip(metrics, means.to_list(), strict=True))
    return found


def _names(results: Results, points: Sequence[LoadedPoint]) -> dict[str, str]:
    """Points in words: the axes in which they differ, all of them where that is none."""
    rows: dict[str, dict[Any, Any]] = {
        point.id: results.table[results.table["point"] == point.id].iloc[0].to_dict() for point in points
    }
    differ = [axis for axis in results.axes if len({str(row[axis]) for row in rows.values()}) > 1]
    shown = differ or results.axes
    return {key: ", ".join(f"{axis}={row[axis]}" for axis in shown) or results.scenario for key, row in rows.items()}
