"""Distribution of latencies and response times: the combined histograms of the runs at a point as a tidy frame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hostsim.engine.record import AxisValues, Histogram, IntArray, RunRecord
from hostsim.errors import Fault, InputError, unknown_name
from hostsim.results.by_subject import MeasuredRuns, finished_runs, require_subject
from hostsim.results.curve import require_axes, rows_at, rows_at_points
from hostsim.results.estimate import (
    LEAST_SLICES,
    NOT_ESTIMABLE,
    histogram_quantile,
    least_count,
    slices_beyond,
    student,
)
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import OF, Subject, parsed, subject_of, subjects
from hostsim.results.table import as_numbers, axes_of

__all__ = ["TIMES", "Time", "added", "distribution_frame", "known_time", "percentiles_frame"]


@dataclass(frozen=True)
class Time:
    """A time with a stored distribution."""

    label: str
    histogram: str
    unit: str
    ps: float
    """Picoseconds in its unit."""
    of: str
    """The observed items, in the plural."""


TIMES = {
    "latency": Time("One-way latency", "flow.latency", "us", 1e6, "packets"),
    "work_time": Time("Time of a burst of CPU work", "work.time", "ms", 1e9, "bursts"),
    "response_time": Time("Response time", "flow.response", "ms", 1e9, "requests"),
}
"""Times with a stored distribution, by the prefix of their measures."""


def known_time(name: str) -> Time:
    """A time by its name.

    Raises:
        InputError: an unknown name.
    """
    if name not in TIMES:
        raise InputError(unknown_name("distribution", "of", name, TIMES))
    return TIMES[name]


def distribution_frame(
    results: MeasuredRuns, of: str, by: str | Sequence[str] = (), at: AxisValues | None = None
) -> pd.DataFrame:
    """The distribution of a time at points of a sweep, over the measured windows of all replications and all receivers or clients.

    Args:
        results: with the records.
        of: ``latency``, ``response_time`` or ``work_time``; of one subject ``latency of feed``.
        by: axes that distinguish distributions, and optionally ``traffic`` or ``group`` for each subject of the kind.
        at: values of the other axes; by default the first value of the sweep.

    Returns:
        A row for each bucket between the shortest and the longest time: columns ``by`` ..., ``low`` and ``high``, the ends of the
        bucket, ``count``, ``share`` (percent of all observations) and ``cumulative`` (percent that took no longer than ``high``); units in
        ``attrs["units"]``.

    Raises:
        InputError: an unknown time or axis, a value that no point has, or points at which the time is not measured.
        StoreError: the runs are no longer stored.
    """
    time, keys, parts = _parts_at(results, of, by, at)
    frames = []
    for own, records in parts:
        edges_ps, counts = added(
            [(part.histograms[time.histogram], part.cut) for part in records if time.histogram in part.histograms]
        )
        filled = np.flatnonzero(counts)
        if not filled.size:
            continue
        buckets = slice(int(filled[0]), int(filled[-1]) + 1)
        shown = counts[buckets]
        edges = edges_ps / time.ps
        frame = pd.DataFrame({"low": edges[:-1][buckets], "high": edges[1:][buckets], "count": shown})
        frame["share"] = 100.0 * shown / shown.sum()
        frame["cumulative"] = 100.0 * np.cumsum(shown) / shown.sum()
        for index, (key, value) in enumerate(zip(keys, own, strict=True)):
            frame.insert(index, key, value)
        frames.append(frame)
    if not frames:
        raise _not_observed(results, time)
    joined = pd.concat(frames, ignore_index=True)
    joined.attrs["units"] = {"low": time.unit, "high": time.unit, "share": "%", "cumulative": "%"}
    return as_numbers(joined, [key for key in keys if key not in ("traffic", "group")])


def _parts_at(
    results: MeasuredRuns, of: str, by: str | Sequence[str], at: AxisValues | None
) -> tuple[Time, list[str], list[tuple[tuple[Any, ...], list[RunRecord]]]]:
    """A time, the names that distinguish its distributions, and the values of these names with the records of each."""
    name, subject = parsed(of)
    time, dimensions = known_time(name), (by,) if isinstance(by, str) else tuple(by)
    kinds = [key for key in dimensions if key in ("traffic", "group") and key not in axes_of(results.table)]
    keys = tuple(key for key in dimensions if key not in kinds)
    require_axes(results.table, keys, besides=("traffic", "group"))
    rows_at(results.table, at or {})  # an unknown value is a fault
    rows = rows_at_points(results.table, at or {}, keys)
    rows = rows[rows["error"] == ""]
    read = {key: results.record_of(*key) for key in finished_runs(rows)}
    if subject:
        require_subject(results, [f"latency_mean{OF}{subject}"], read)
    grouped = []
    for group in [group for _, group in rows.groupby(list(keys), sort=False)] if keys else [rows]:
        records = [read[key] for key in finished_runs(group)]
        values = tuple(group[key].iloc[0] for key in keys)
        grouped += [((*values, *own.values()), parts) for own, parts in _apart(records, subject, kinds)]
    return time, [*keys, *kinds], grouped


def _not_observed(results: MeasuredRuns, time: Time) -> InputError:
    allowed = "traffic with such a measure: see hostsim.CATALOGUE"
    return InputError(Fault(f"no run observes a {time.label.lower()}", "of", results.scenario, allowed))


PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
"""Percentiles of `percentiles_frame`."""


def percentiles_frame(
    results: MeasuredRuns, of: str, by: str | Sequence[str] = (), at: AxisValues | None = None
) -> pd.DataFrame:
    """The percentiles of a time up to the 99.99th at points of a sweep, with their numbers of observations.

    Args:
        results: with the records.
        of: as for `distribution_frame`.
        by: as for `distribution_frame`.
        at: as for `distribution_frame`.

    Returns:
        A row for each percentile: columns ``by`` ..., ``percentile``; ``value``, of all replications together; ``low``
        and ``high``, the 95 % Student interval of the replications' percentiles, NaN for one replication or if one
        percentile is not estimable; ``count``, observations of all replications; ``slices``, time slices with
        observations beyond the value; ``note``, empty unless there are too few observations or slices. A percentile
        with too few observations has no value. Units in ``attrs["units"]``.

    Raises:
        InputError: as for `distribution_frame`.
        StoreError: the runs are no longer in the results folder.
    """
    cells: list[tuple[Any, ...]] = []
    time, keys, parts = _parts_at(results, of, by, at)
    for own, records in parts:
        windows = [(part.histograms[time.histogram], part.cut) for part in records if time.histogram in part.histograms]
        edges_ps, counts = added(windows)
        cells += [
            (*own, *_percentile(windows, edges_ps, counts, percentile, time.ps))
            for percentile in PERCENTILES
            if counts.any()
        ]
    if not cells:
        raise _not_observed(results, time)
    names = [*keys, "percentile", "value", "low", "high", "count", "slices", "note"]
    frame = pd.DataFrame(cells, columns=names)
    frame.attrs["units"] = {"percentile": "%", "value": time.unit, "low": time.unit, "high": time.unit}
    return frame


def _percentile(
    windows: Sequence[tuple[Histogram, int]], edges_ps: IntArray, counts: IntArray, percentile: float, unit_ps: float
) -> tuple[Any, ...]:
    """A row of `percentiles_frame` from the percentile on."""
    share, count = percentile / 100, int(counts.sum())
    least = least_count(share)
    if count < least:
        return percentile, math.nan, math.nan, math.nan, count, 0, f"{NOT_ESTIMABLE} from fewer than {least}"
    value = histogram_quantile(counts, edges_ps, share)
    beyond, single = 0, []
    for histogram, cut in windows:
        slices = np.diff(histogram.counts[cut:], axis=0).sum(axis=1)
        beyond += slices_beyond(slices, histogram.edges_ps, value)
        whole = slices.sum(axis=0)
        if int(whole.sum()) >= least:
            single.append(histogram_quantile(whole, histogram.edges_ps, share) / unit_ps)
    interval = student(single) if len(single) == len(windows) > 1 else None
    low, high = (math.nan, math.nan) if interval is None else (max(0.0, interval.low), interval.high)
    note = (
        "" if beyond >= LEAST_SLICES else f"rests on {beyond} time slices: fewer than {LEAST_SLICES}, lengthen the runs"
    )
    return percentile, value / unit_ps, low, high, count, beyond, note


def _apart(
    records: Sequence[RunRecord], subject: str, kinds: Sequence[str]
) -> Iterator[tuple[dict[str, str], list[RunRecord]]]:
    """The records restricted to a subject, or to each subject of a kind; unrestricted without either."""
    if subject:
        paired = [(record, subject_of(record, subject, CATALOGUE["latency_mean"])) for record in records]
        records = [
            subject_of_record.of(record) for record, subject_of_record in paired if subject_of_record is not None
        ]
    if not kinds:
        yield {}, list(records)
        return
    [kind] = kinds
    for name in dict.fromkeys(name for record in records for name in subjects(record, kind)):
        yield {kind: name}, [Subject(kind, name).of(record) for record in records]


def added(histograms: Sequence[tuple[Histogram, int]]) -> tuple[IntArray, IntArray]:
    """Edges and counts of the histograms of several runs in their windows, summed over entities.

    All histograms have the same buckets, but each is trimmed to those in use.

    Args:
        histograms: each with the index at which its window starts.
    """
    edges = np.unique(
        np.concatenate([np.zeros(0, dtype=np.int64), *(histogram.edges_ps for histogram, _ in histograms)])
    )
    counts = np.zeros(max(len(edges) - 1, 0), dtype=np.int64)
    for histogram, cut in histograms:
        counts[np.searchsorted(edges, histogram.edges_ps[:-1])] += (histogram.counts[-1] - histogram.counts[cut]).sum(
            axis=0
        )
    return edges, counts
