"""Breakdown of time at points of a sweep, and the context table of a report."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from hostsim.engine.record import AxisValues
from hostsim.results.bottleneck import HOST
from hostsim.results.by_subject import SHOWN
from hostsim.results.context import IDLE
from hostsim.results.curve import figure_rows, rows_at
from hostsim.results.distribution import TIMES
from hostsim.results.estimate import NOT_ESTIMABLE
from hostsim.results.figure import FigureSpec, names_of, point_name
from hostsim.results.metrics.catalogue import CATALOGUE, NO_BOUND, label_of, unit_of
from hostsim.results.metrics.subject import parsed, words
from hostsim.results.results import Results
from hostsim.results.table import as_written, axes_of
from hostsim.views.plots.axis import with_unit
from hostsim.views.plots.style import LOOKS

if TYPE_CHECKING:
    from hostsim.results.results import EffectiveSetting

__all__ = [
    "CONTEXT_HEADINGS",
    "LATENCIES",
    "LIMIT",
    "STAGES",
    "ReportedPoint",
    "asked_subjects",
    "context_rows",
    "cpu_shares",
    "last_points",
    "latency_rows",
    "limit_at",
    "points_at",
    "service_notes",
    "stage_times",
    "subject_rows",
]

_SERVICE = re.compile(r"traffic\.([^.]+)\.service( \(.*\))?")
_ORIGIN = re.compile(r"(an? [a-z ]+), ((?:assumed|measured) for .*)")


def service_notes(settings: Iterable[EffectiveSetting], bottleneck: str) -> Iterator[str]:
    """Default service time of each application at a bottleneck, if the guest's default is used.

    Args:
        settings: the effective settings of the scenario, with default service times.
        bottleneck: of a run: ``context db[0].vcpu1`` or ``node node0``.
    """
    rows = {setting.name: setting for setting in settings}
    resource, _, full = bottleneck.partition(" ")
    for name, setting in rows.items():
        match, origin = _SERVICE.fullmatch(name), _ORIGIN.fullmatch(setting.origin)
        if match is None or origin is None:
            continue
        groups = rows[f"traffic.{match[1]}.to"].value.split(", ")
        owned = any(re.fullmatch(rf"{re.escape(group)}\[\d+\]\.vcpu\d+", full) for group in groups)
        if resource == "node" or (resource == "context" and owned):
            yield f"{origin[1]} takes {setting.value} of a vCPU ({origin[2]}): set traffic.{match[1]}.service"


LIMIT = "Bottleneck"
"""Heading of the last column of `subject_rows`, if bottlenecks of subjects are known."""
STAGES = tuple(name for name in CATALOGUE if name.startswith("stage_"))
"""Measures of the stages of a round trip, in order."""
LATENCIES = tuple(
    name
    for name in CATALOGUE
    if name.startswith(tuple(f"{time}_" for time in (*TIMES, "settled_response")))
    and (name.startswith("latency") or not name.endswith(("_p999", "_p9999")))
)
"""Measures of times in reports; percentiles above the 99th only for packets, as few runs have enough requests."""
_WORDS = {
    "vcpu": "vCPUs",
    "netpoll": "NetPoll",
    "splitrx": "splitRx",
    "networld": "NetWorld",
    "vmkernel": "VMkernel port",
}

Bars = list[tuple[str, dict[str, float]]]
"""Parts by name, for each named point."""
Place = AxisValues | Sequence["ReportedPoint"] | None
"""Points of a report, or their axis values, or none."""


def cpu_shares(results: Results, at: Place = None) -> Bars:
    """CPU time by kind of context and point, in percent of all PCPUs, without idle time.

    Owners are separate parts if there are enough styles.

    Args:
        results: of the scenario.
        at: the points, or their axis values; by default the last point of each series of each figure.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    points = _points(results, at)
    names = _names(results, points)
    is_shown = results.cpu["point"].isin([point.id for point in points])
    busy = results.cpu[is_shown & (results.cpu["kind"] != IDLE) & (results.cpu["share"] > 0)]
    owners = busy.groupby("kind")["owner"].nunique()
    several = set(owners[owners > 1].index) if owners.sum() <= len(LOOKS) else set()
    bars: Bars = []
    for point in points:
        rows = busy[busy["point"] == point.id]
        parts: dict[str, float] = {}
        for row in rows.to_dict("records"):
            word = _WORDS.get(row["kind"], row["kind"])
            part = f"{word} of {row['owner']}" if row["kind"] in several else word
            parts[part] = parts.get(part, 0.0) + row["share"]
        bars.append((names[point.id], parts))
    return bars


def stage_times(results: Results, at: Place = None) -> Bars:
    """Latency breakdown of a round trip: mean time of each stage in microseconds, by point with such traffic.

    Args:
        results: the results.
        at: as for `cpu_shares`.

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


def latency_rows(results: Results, at: Place = None) -> tuple[list[str], list[list[str]]]:
    """Latencies and response times as a table: a column for each point, a row with unit for each measure.

    Args:
        results: the results.
        at: as for `cpu_shares`.

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


def subject_rows(results: Results, point: str) -> tuple[list[str], list[list[str]]]:
    """Measures and bottlenecks of VM groups or traffic entries of a point, without measures that are 0 or unknown for all.

    Args:
        results: the results.
        point: id of the point.

    Returns:
        The headings and the rows; no rows for a single subject.
    """
    subjects = results.subjects[results.subjects["point"] == point]
    units = results.subjects.attrs.get("units", {})
    shown = [name for name in SHOWN if subjects[name].fillna(0.0).ne(0.0).any()]
    kind = subjects["kind"].iloc[0] if len(subjects) else ""
    headings = [
        {"group": "VM group"}.get(kind, kind),
        *(with_unit(label_of(name), {"us": "µs"}.get(units[name], units[name])) for name in shown),
    ]
    rows = [
        [
            row["subject"] if row["kind"] == kind else f"{row['kind']} {row['subject']}",
            *("–" if math.isnan(row[name]) else _cell(row[name]) for name in shown),
        ]
        for row in subjects.to_dict("records")
    ]
    limits = [
        limit_at(results, point, f"{kind} {name}")
        for kind, name in zip(subjects["kind"], subjects["subject"], strict=True)
    ]
    if any(limits):
        headings.append(LIMIT)
        for row, limit in zip(rows, limits, strict=True):
            row.append(limit[0] if limit else "–")
    return headings, rows


def _cell(value: float) -> str:
    if not math.isfinite(value):
        return NO_BOUND if value == math.inf else NOT_ESTIMABLE
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _points(results: Results, at: Place) -> Sequence[ReportedPoint]:
    if isinstance(at, Mapping):
        return points_at(results, at)
    return last_points(results) if at is None else at


def _means(results: Results, points: Sequence[ReportedPoint], metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    rows: pd.DataFrame = results.table[results.table["error"] == ""]
    by_point = {}
    for point in points:
        means = rows.loc[rows["point"] == point.id, list(metrics)].mean()
        by_point[point.id] = dict(zip(metrics, means.to_list(), strict=True))
    return by_point


def _names(results: Results, points: Sequence[ReportedPoint]) -> dict[str, str]:
    """Points in words: the axes in which they differ, or all axes if none differs."""
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
    """A point of the sweep with contexts in the report."""

    id: str
    words: str
    """Its axes."""
    bottleneck: str
    """Bottleneck of the host in the replication with the most loss (the first of equal ones); ``none`` without traffic."""
    where: str = ""
    """Number of runs with this bottleneck, if not all: `` (in 1 of 2 runs)``."""
    reason: str = ""
    """Sentences with the reason and the remedy."""
    notes: tuple[str, ...] = ()
    """Default service times of the applications at the bottleneck."""


def last_points(results: Results) -> list[ReportedPoint]:
    """The last point of each series of each figure, without duplicates; the last point of a scenario without curves."""
    table = as_written(results.table)
    rows: list[pd.Series[Any]] = []
    curves = [figure for figure in results.figures if isinstance(figure, FigureSpec)]
    for figure in curves:
        drawn = figure_rows(table, figure)
        names = list(figure.series)
        groups = [group for _, group in drawn.groupby(names, sort=False)] if names else [drawn]
        rows += [group.iloc[-1] for group in groups if len(group)]
    if not curves and len(table):
        rows.append(table.iloc[-1])
    ends = {row["point"]: row for row in rows}
    return [point for row in ends.values() if (point := _point(results, table, row)) is not None]


def points_at(results: Results, at: AxisValues) -> list[ReportedPoint]:
    """The points of the sweep at given values of axes, as written.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    table = as_written(results.table)
    rows = rows_at(table, at, "--at")
    points = [_point(results, table, row) for row in rows.drop_duplicates("point").to_dict("records")]
    return [point for point in points if point is not None]


def context_rows(contexts: pd.DataFrame) -> list[tuple[str, ...]]:
    """The rows of a context table, under `CONTEXT_HEADINGS`."""
    return [
        (
            row["kind"],
            row["name"],
            row["serves"],
            _context_cell(row["node"], "d"),
            *(_context_cell(row[name], ".1f") for name in ("used", "ready")),
            *(_context_cell(row[name], ",.0f") for name in ("dispatches", "packets", "dropped")),
            _context_cell(row["fill"], ".1f"),
        )
        for row in contexts.astype({"node": "object"}).to_dict("records")
    ]


def _context_cell(value: Any, form: str) -> str:
    return "–" if value is None or value != value or math.isnan(value) else format(value, form)


def _point(results: Results, table: pd.DataFrame, row: Mapping[Any, Any] | pd.Series[Any]) -> ReportedPoint | None:
    """The point of a row of a table with axes as in the scenario; None without stored contexts."""
    runs = table[(table["point"] == row["point"]) & (table["error"] == "")]
    if runs.empty or not (results.contexts["point"] == row["point"]).any():
        return None
    names = names_of(results.figures)
    words = ", ".join(point_name(names, axis, row[axis]) for axis in axes_of(table)) or "the only point"
    every = runs.sort_values("replication")["bottleneck"].astype(str)
    limit = limit_at(results, str(row["point"]))
    full, reason = limit or (every.iloc[0], "")
    alike = int((every.str.partition(" ")[0] == full.partition(" ")[0]).sum())
    where = f" (in {alike} of {len(every)} runs)" if alike < len(every) else ""
    notes = tuple(service_notes(results.settings, full))
    return ReportedPoint(str(row["point"]), words, full, where, reason, notes)


def limit_at(results: Results, point: str, subject: str | None = None) -> tuple[str, str] | None:
    """The bottleneck of a point, of the host or a subject, with reason and remedy; None if it is not stored.

    Args:
        results: the results.
        point: id of the point.
        subject: a traffic entry, a group of VMs, or a VM that a figure or an expectation names; with its kind before it
        if names are not unique.
    """
    bottlenecks = results.bottlenecks[results.bottlenecks["point"] == point]
    kind, name = words(subject) if subject else (HOST, "")
    bottlenecks = bottlenecks[
        (bottlenecks["subject"] == name) & (bottlenecks["kind"] == kind if kind else bottlenecks["kind"] != HOST)
    ]
    if bottlenecks.empty:
        return None
    row = bottlenecks.iloc[-1]  # a traffic entry has priority over a group of the same name
    return str(row["bottleneck"]), f"{row['reason']} {row['relief']}".strip()


def asked_subjects(results: Results) -> list[str]:
    """Subjects of the table's measures, which come from figures and expectations, without duplicates."""
    return list(dict.fromkeys(filter(None, (parsed(str(name))[1] for name in results.table.columns))))
