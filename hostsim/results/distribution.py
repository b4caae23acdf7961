"""Distribution of latencies and response times: the combined histograms of the runs at a point as a tidy frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hostsim.engine.record import AxisValues, Histogram, IntArray, RunRecord
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.results.by_subject import MeasuredRuns, require_subject
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import OF, Subject, parsed, subject_of, subjects

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["TIMES", "Time", "added", "distribution_frame", "known_time"]


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
        known = list(TIMES)
        raise InputError(
            Fault("unknown distribution", "of", repr(name), "one of " + ", ".join(known), nearest_name(name, known))
        )
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
        InputError: an unknown time or axis, a value that no point has, or points without such a time.
        StoreError: the runs are no longer stored.
    """
    import pandas as pd

    from hostsim.results.curve import require_axes, rows_at, rows_at_points
    from hostsim.results.table import as_numbers, axes_of

    name, subject = parsed(of)
    time, asked = known_time(name), (by,) if isinstance(by, str) else tuple(by)
    kinds = [key for key in asked if key in ("traffic", "group") and key not in axes_of(results.table)]
    keys = tuple(key for key in asked if key not in kinds)
    require_axes(results.table, keys)
    if subject:
        require_subject(results, [f"latency_mean{OF}{subject}"])
    rows_at(results.table, at or {})  # an unknown value is a fault
    rows = rows_at_points(results.table, at or {}, keys)
    rows = rows[rows["error"] == ""]
    frames = []
    for group in [group for _, group in rows.groupby(list(keys), sort=False)] if keys else [rows]:
        runs = group[["point", "replication"]].itertuples(index=False, name=None)
        records = [results.record_of(str(point), int(replication)) for point, replication in runs]
        for own, parts in _apart(records, subject, kinds):
            edges_ps, counts = added(
                [(part.histograms[time.histogram], part.cut) for part in parts if time.histogram in part.histograms]
            )
            filled = np.flatnonzero(counts)
            if not filled.size:
                continue
            buckets = slice(int(filled[0]), int(filled[-1]) + 1)
            found = counts[buckets]
            edges = edges_ps / time.ps
            frame = pd.DataFrame({"low": edges[:-1][buckets], "high": edges[1:][buckets], "count": found})
            frame["share"] = 100.0 * found / found.sum()
            frame["cumulative"] = 100.0 * np.cumsum(found) / found.sum()
            for place, (kind, one) in enumerate(own.items()):
                frame.insert(place, kind, one)
            frames.append(pd.concat([group[list(keys)].iloc[[0] * len(frame)].reset_index(drop=True), frame], axis=1))
    if not frames:
        allowed = "traffic that is measured so: see hostsim.CATALOGUE"
        raise InputError(Fault(f"no run observes a {time.label.lower()}", "of", results.scenario, allowed))
    joined = pd.concat(frames, ignore_index=True)
    joined.attrs["units"] = {"low": time.unit, "high": time.unit, "share": "%", "cumulative": "%"}
    return as_numbers(joined, keys)


def _apart(
    records: Sequence[RunRecord], subject: str, kinds: Sequence[str]
) -> Iterator[tuple[dict[str, str], list[RunRecord]]]:
    """The records restricted to a subject, or to each subject of a kind; unrestricted without either."""
    if subject:
        found = [(record, subject_of(record, subject, CATALOGUE["latency_mean"])) for record in records]
        records = [one.of(record) for record, one in found if one is not None]
    if not kinds:
        yield {}, list(records)
        return
    [kind] = kinds
    for name in dict.fromkeys(name for record in records for name in subjects(record, kind)):
        yield {kind: name}, [Subject(kind, name).of(record) for record in records]


def added(histograms: Sequence[tuple[Histogram, int]]) -> tuple[IntArray, IntArray]:
    """Edges and counts of the histograms of several runs in their windows, all entities together.

    All have the same buckets, but each is trimmed to the used ones.

    Args:
        histograms: each with the index at which its window starts.
    """
    edges = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(one.edges_ps for one, _ in histograms)]))
    counts = np.zeros(max(len(edges) - 1, 0), dtype=np.int64)
    for one, cut in histograms:
        counts[np.searchsorted(edges, one.edges_ps[:-1])] += (one.counts[-1] - one.counts[cut]).sum(axis=0)
    return edges, counts
