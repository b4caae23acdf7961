"""Measures of all subjects of a kind as tidy frames, esxtop's columns for them, and summaries with intervals."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hostsim.engine.record import AxisValues, RunRecord
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.results.metrics.catalogue import CATALOGUE, require_metrics
from hostsim.results.metrics.functions import Metric, condensed
from hostsim.results.metrics.subject import (
    IN_PART,
    KINDS,
    Subject,
    group_masks,
    has,
    kinds_with,
    parsed,
    parted,
    require_kind,
    subject_of,
    subjects,
    words,
)
from hostsim.results.record_frame import Packed, unpacked
from hostsim.units import SECOND

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ESXTOP",
    "SHOWN",
    "MeasuredRuns",
    "columns_of",
    "esxtop",
    "finished_runs",
    "measures_of",
    "packed_subjects",
    "require_subject",
    "subject_frame",
    "subjects_frame",
    "summary_frame",
]


_Key = tuple[str, int]
"""Point and replication of a run."""


class MeasuredRuns(Protocol):
    """The part of `hostsim.results.results.Results` that measures of subjects need."""

    @property
    def scenario(self) -> str:
        """Name of the scenario."""

    @property
    def table(self) -> pd.DataFrame:
        """One row for each point and replication."""

    def record_of(self, point: str, replication: int) -> RunRecord:
        """The record of a replication of a point."""


ESXTOP = {
    "%USED": "%",
    "%RUN": "%",
    "%SYS": "%",
    "%WAIT": "%",
    "%RDY": "%",
    "%CSTP": "%",
    "%MLMTD": "%",
    "PKTRX/s": "/s",
    "PKTTX/s": "/s",
    "%DRPRX": "%",
    "%DRPTX": "%",
}
"""Columns of esxtop with their units."""
_SYSTEM = ("networld", "splitrx")
"""Kinds of worlds that work for a VM in the VMkernel."""
_TWICE = ("round_trip_mean", "busiest_netpoll", "cpu_total", "rx_queues_used")
"""Measures of a subject that equal another one."""
_IN_ESXTOP = {
    "world": (
        "guest_cpu",
        "guest_ready",
        "guest_limited",
        "guest_costop",
        "netpoll_cpu",
        "networld_cpu",
        "splitrx_cpu",
    ),
    "port": ("rx_rate", "tx_rate"),
}
"""Measures that equal columns of esxtop, by kind of subject."""
_IN_US = {"ms": 1e3}
"""Factors of times whose unit is not us."""


def measures_of(kind: str) -> list[Metric]:
    """The measures of the catalogue that subjects of a kind have, each once.

    Args:
        kind: one of `hostsim.results.metrics.subject.KINDS`.
    """
    twice = (*_TWICE, *_IN_ESXTOP.get(kind, ()))
    return [metric for name, metric in CATALOGUE.items() if name not in twice and has(metric, kind)]


def subject_frame(results: MeasuredRuns, kind: str, at: AxisValues | None = None) -> pd.DataFrame:
    """Measures of every subject of a kind in every finished run, see `Results.by`."""
    import pandas as pd

    from hostsim.results.curve import rows_at
    from hostsim.results.table import as_written, axes_of

    require_kind(kind)
    axes, measures = axes_of(results.table), measures_of(kind)
    rows = as_written(rows_at(results.table, at or {}))
    rows = rows[rows["error"] == ""]
    cells: list[dict[str, object]] = []
    notes: dict[str, None] = {}
    for row in rows.to_dict("records"):
        record = condensed(results.record_of(str(row["point"]), int(row["replication"])))
        own = {name: row[name] for name in (*axes, "replication")}
        for name in subjects(record, kind):
            values = {metric.name: _value(metric, record, Subject(kind, name), notes) for metric in measures}
            cells.append(
                {**own, "subject": name, **esxtop(record, Subject(kind, name)), **values, "point": row["point"]}
            )
    columns = [*axes, "replication", "subject", *_esxtop_columns(kind), *(metric.name for metric in measures), "point"]
    by_point = _in_units(pd.DataFrame(cells, columns=columns), results, kind, measures)
    by_point.attrs |= {"of": kind} | ({"notes": list(notes)} if notes else {})
    return by_point


def _in_units(frame: pd.DataFrame, results: MeasuredRuns, kind: str, measures: Iterable[Metric]) -> pd.DataFrame:
    from hostsim.results.table import as_numbers, axes_of

    units = {}
    for metric in measures:
        units[metric.name] = "us" if metric.unit in _IN_US else metric.unit
        frame[metric.name] = frame[metric.name].astype("float64") * _IN_US.get(metric.unit, 1.0)
    frame["point"] = _short(frame["point"])
    frame.attrs["units"] = units | {name: ESXTOP[name] for name in _esxtop_columns(kind)}
    return as_numbers(frame, axes_of(results.table))


def _short(points: pd.Series[str]) -> pd.Series[str]:
    """Prefixes of point ids that are long enough to be unique."""
    points_of_table = points.astype(str).unique()
    length = next(
        (n for n in range(6, 33) if len({point[:n] for point in points_of_table}) == len(points_of_table)), 32
    )
    return points.astype(str).str[:length]


def _value(metric: Metric, record: RunRecord, subject: Subject, notes: dict[str, None]) -> float:
    """A measure of a subject; NaN with a note if the subject does not have it, or if its traffic is not counted separately."""
    if not has(metric, subject.kind, subject.name):
        return math.nan
    try:
        return metric.evaluate(subject.of(record))
    except InputError as error:
        notes[f"{subject.name}: {error}"] = None
        return math.nan


def _esxtop_columns(kind: str) -> list[str]:
    cpu, network = list(ESXTOP)[:7], list(ESXTOP)[7:]
    return {"world": cpu, "vm": [*cpu, *network], "group": [*cpu, *network], "vnic": network, "port": network}.get(
        kind, []
    )


def esxtop(record: RunRecord, subject: Subject) -> dict[str, float]:
    """Values of esxtop for a world, a VM, a group of VMs, a vNIC or a port of a physical NIC, by esxtop's names.

    Args:
        record: a finished run.
        subject: of the kind ``world``, ``vm``, ``group``, ``vnic`` or ``port``; others have no values.

    Returns:
        For worlds, in percent of the window: ``%RUN``, time on a PCPU; ``%RDY``, ready without a PCPU, including ``%MLMTD``, the time
        limited by a CPU limit; ``%CSTP``; ``%WAIT``, the rest, including idle time. ``%USED`` is ``%RUN`` plus ``%SYS``, less the loss on a
        shared core: NaN with hyperthreads, as the record does not have the sharing of each world. For VMs and groups these are sums over
        vCPUs, and ``%SYS`` is the time of their VMkernel worlds; NaN for a single vCPU. For vNICs and ports: ``PKTRX/s`` and ``PKTTX/s``,
        received and sent packets, and ``%DRPRX`` and ``%DRPTX``, the dropped share in percent. What a passed-through device sends
        is counted only by the port of its physical NIC: NaN for its VM.
    """
    columns_of_kind = _esxtop_columns(subject.kind)
    if not columns_of_kind:
        return {}
    columns = _cpu(record, subject) if "%RUN" in columns_of_kind else {}
    return columns | (_network(record, subject) if "PKTRX/s" in columns_of_kind else {})


def _sum(record: RunRecord, subject: Subject, counter: str) -> float:
    """Growth of a counter over the entities of a subject."""
    if counter not in record.series:
        return 0.0
    series, kind = record.series[counter], counter.partition(".")[0]
    own = [index for index, entity in enumerate(series.entities) if subject.holds(record, kind, entity)]
    return float(record.window(counter)[own].sum())


def _cpu(record: RunRecord, subject: Subject) -> dict[str, float]:
    kinds = ("vcpu",) if subject.kind != "world" else ("vcpu", "netpoll", "splitrx", "networld", "vmkernel", "firmware")
    window = record.window_ps / 100.0

    def share(state: str, kinds: Sequence[str] = kinds) -> float:
        return sum(_sum(record, subject, f"{kind}.{state}_ps") for kind in kinds) / window

    counters = [record.series[f"{kind}.used_ps"] for kind in kinds if f"{kind}.used_ps" in record.series]
    count = sum(subject.holds(record, "", entity) for series in counters for entity in series.entities)
    run, ready, costop = share("used"), share("ready"), share("costop")
    system = share("used", _SYSTEM) if subject.kind != "world" else math.nan if ".vcpu" in subject.name else 0.0
    has_threads = record.total("pcpu.used_ps") != record.total("pcpu.busy_ps")
    return {
        "%USED": math.nan if has_threads else run + (0.0 if math.isnan(system) else system),
        "%RUN": run,
        "%SYS": system,
        "%WAIT": max(0.0, 100.0 * count - run - ready - costop),
        "%RDY": ready,
        "%CSTP": costop,
        "%MLMTD": share("limited", ("vcpu",)),
    }


def _network(record: RunRecord, subject: Subject) -> dict[str, float]:
    def count(*counters: str) -> float:
        return sum(_sum(record, subject, counter) for counter in counters)

    if subject.kind == "port":
        came, lost = count("nic.rx_frames"), count("nic.rx_dropped")
        gone, refused = count("nic.tx_packets"), count("nic.tx_dropped")
    else:
        came, lost = count("port.received"), count("port.ring_dropped", "port.split_dropped")
        gone, refused = count("tx.taken"), count("tx.dropped")
        if queues := _passed_through(record, subject):
            # the vNIC counts are those above; a device's own packets to the wire are counted only by its physical NIC
            came += 0.0 if subject.kind == "vnic" else _sum_of(record, "port.received", queues)
            lost, gone = lost + _sum_of(record, "queue.dropped", queues), math.nan

    def share(part: float, rest: float) -> float:
        return 100.0 * part / (part + rest) if part + rest else 0.0

    per_s = SECOND / record.window_ps
    return {
        "PKTRX/s": came * per_s,
        "PKTTX/s": gone * per_s,
        "%DRPRX": share(lost, came),
        "%DRPTX": math.nan if math.isnan(gone) else share(refused, gone),
    }


def _passed_through(record: RunRecord, subject: Subject) -> set[str]:
    """Receive queues of passed-through devices of a subject; each is also a port of a VM."""
    names = set(record.series["queue.taken"].entities) if "queue.taken" in record.series else set()
    if "port.vcpu" not in record.series:
        return set()
    vcpus, ports = record.series["vcpu.used_ps"].entities, record.series["port.vcpu"]
    owners = zip(ports.entities, ports.values[-1].tolist(), strict=True)  # noqa: PD011  of a record
    return {
        port
        for port, vcpu in owners
        if port in names and (subject.holds(record, "port", port) or subject.holds(record, "vcpu", vcpus[vcpu]))
    }


def _sum_of(record: RunRecord, counter: str, names: Collection[str]) -> float:
    """Growth of a counter over some entities."""
    growth = zip(record.series[counter].entities, record.window(counter).tolist(), strict=True)
    return float(sum(count for name, count in growth if name in names))


def summary_frame(results: MeasuredRuns, kind: str | None = None, at: AxisValues | None = None) -> pd.DataFrame:
    """Means of measures with their intervals, see `Results.summary`."""
    import pandas as pd

    from hostsim.results.curve import interval_cells, is_percentile, measure_intervals, rows_at
    from hostsim.results.table import as_numbers, as_written, axes_of, is_of_ensemble

    if kind is None:
        rows = as_written(rows_at(results.table, at or {}))
        rows = rows[rows["error"] == ""]
        names = [name for name in rows.columns if name in CATALOGUE and name != "round_trip_mean"]
        units = {name: CATALOGUE[name].unit for name in names}
        rows = rows.assign(**{name: rows[name] * _IN_US[unit] for name, unit in units.items() if unit in _IN_US})
        units = {name: "us" if unit in _IN_US else unit for name, unit in units.items()}
    else:
        frame = subject_frame(results, kind, at)
        rows, units = as_written(frame), frame.attrs["units"]
        names = [name for name in rows.columns if name in units and name not in axes_of(results.table)]
    keys = [*axes_of(results.table), *(["subject"] if kind is not None else [])]
    is_ensemble = is_of_ensemble(results.table)
    ends = ["mean", "low", "high", *(("prediction_low", "prediction_high") if is_ensemble else ())]
    shown = [name for name in names if rows[name].fillna(0.0).ne(0.0).any()]
    cells = []
    for key, group in rows.groupby(keys, sort=False, dropna=False) if keys else [((), rows)]:
        for name in shown:
            measured = group[name].dropna()
            if measured.empty or (len(measured) < len(group) and is_percentile(name)):
                continue
            values = dict(zip(group.loc[measured.index, "replication"], measured, strict=True))
            intervals = measure_intervals(values, units.get(name, ""), ensemble=is_ensemble)
            cells.append((*key, name, units.get(name, ""), *interval_cells(intervals), len(measured)))
    summary = pd.DataFrame(cells, columns=[*keys, "measure", "unit", *ends, "runs"])
    if kind is not None:
        summary.attrs["of"] = kind
    return as_numbers(summary, axes_of(results.table))


def require_subject(results: MeasuredRuns, names: Sequence[str], read: Mapping[_Key, RunRecord] | None = None) -> None:
    """Check that measures are known, and that their subjects exist in some run.

    Args:
        results: with finished runs.
        names: names of the measures.
        read: records that were read before, by point and replication; for each other point, the first record is read.

    Raises:
        InputError: an unknown measure, an unknown subject, or a subject without the measure; with the known ones.
    """
    _require_measures(results, names)
    subjects_of = {name: subject for name in names if (subject := parted(parsed(name)[1])[0])}
    if subjects_of:
        by_run = read or {}
        records = [condensed(by_run.get(key) or results.record_of(*key)) for key in _first_runs(results)]
        for name, subject in subjects_of.items():
            _require_known(records, CATALOGUE[parsed(name)[0]], subject)


def _require_measures(results: MeasuredRuns, names: Iterable[str]) -> None:
    """Raise InputError if no run has finished or a measure is unknown. No records are read."""
    if not (results.table["error"] == "").any():
        raise InputError(Fault("no run has finished", given=results.scenario, allowed="results with finished runs"))
    require_metrics(parsed(name)[0] for name in names)


def _require_known(records: Sequence[RunRecord], metric: Metric, subject: str) -> None:
    """Raises InputError if no record has the subject, or if the subject does not have the measure."""
    kind, own = words(subject)
    names_of_kind = {
        of_kind: {n for record in records for n in subjects(record, of_kind)} for of_kind in ([kind] if kind else KINDS)
    }
    if not any(own in names for names in names_of_kind.values()):
        every = sorted(set().union(*names_of_kind.values()))
        raise InputError(
            Fault("unknown subject", "of", repr(subject), _having(metric, records), nearest_name(own, every))
        )
    for record in records:
        own_subject = subject_of(record, subject, metric)
        if own_subject is not None:
            metric.evaluate(own_subject.of(record))  # traffic that is not counted separately is a fault


def _first_runs(results: MeasuredRuns) -> list[_Key]:
    """The first finished run of each point."""
    return finished_runs(results.table[results.table["error"] == ""].drop_duplicates("point"))


def finished_runs(rows: pd.DataFrame) -> list[_Key]:
    """Point and replication of the finished runs among rows of a table."""
    rows = rows[rows["error"] == ""]
    return [
        (str(point), int(replication)) for point, replication in zip(rows["point"], rows["replication"], strict=True)
    ]


def _having(metric: Metric, records: Sequence[RunRecord]) -> str:
    """The subjects with a measure, in words; with names if there are few."""
    parts = []
    for kind, subject_kind in KINDS.items():
        if has(metric, kind):
            names = list(dict.fromkeys(name for record in records for name in subjects(record, kind)))
            shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            parts.append(f"{subject_kind.words} ({shown})" if names else subject_kind.words)
    return "; ".join(parts) or kinds_with(metric)


def columns_of(results: MeasuredRuns, names: Sequence[str]) -> dict[str, list[float]]:
    """Measures of each row of a table, by name. Each record is read once; failed runs have NaN.

    Raises:
        InputError: an unknown measure or subject, or a subject that does not have the measure.
        StoreError: the runs are no longer in the results folder.
    """
    _require_measures(results, names)
    has_parts = any(IN_PART in name for name in names)
    values: dict[_Key, list[float]] = {}

    def take(key: _Key) -> RunRecord:
        record = results.record_of(*key)
        short = condensed(record)
        values[key] = [CATALOGUE[name].evaluate(record if has_parts else short) for name in names]
        return short

    require_subject(results, names, {key: take(key) for key in _first_runs(results)})
    for key in finished_runs(results.table):
        if key not in values:
            take(key)
    keys = zip(results.table["point"].astype(str), results.table["replication"].astype(int), strict=True)
    rows = [values.get(key, [math.nan] * len(names)) for key in keys]
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


SHOWN = (
    "guest_cpu",
    "guest_ready",
    "throughput",
    "transactions",
    "loss",
    "latency_mean",
    "latency_p99",
    "response_time_mean",
    "response_time_p99",
    "work_time_mean",
    "work_time_p99",
)
"""Measures of subjects in reports and answers."""


def packed_subjects(record: RunRecord) -> Packed:
    """Measures of the VM groups of a finished run, or of its traffic entries if there is one group; empty if there is one of each.

    Of several traffic entries, those that VM groups share follow the groups, whose measures do not include them.
    """
    kind = next((kind for kind in ("group", "traffic") if len(subjects(record, kind)) > 1), None)
    if kind is None:
        return Packed((), np.empty((0, len(SHOWN))))
    short, notes = condensed(record), dict[str, None]()
    shown, entries = [(kind, name) for name in subjects(record, kind)], subjects(record, "traffic")
    if kind == "group" and len(entries) > 1:
        masks = zip(entries, group_masks(record), strict=True)
        shown += [("traffic", name) for name, mask in masks if mask < 0 or mask.bit_count() > 1]
    numbers = [
        [
            _value(CATALOGUE[name], short, Subject(*subject), notes) * _IN_US.get(CATALOGUE[name].unit, 1.0)
            for name in SHOWN
        ]
        for subject in shown
    ]
    return Packed(tuple(shown), np.array(numbers, dtype=np.float64))


def subjects_frame(runs: Iterable[tuple[str, Packed]]) -> pd.DataFrame:
    """Measures of subjects at points, means of their runs: ``point``, ``kind``, ``subject`` and the measures of `SHOWN`.

    Args:
        runs: point and measures of each finished run.
    """
    texts = ("point", "kind", "subject")
    frame = unpacked(runs, texts[1:], SHOWN).astype(dict.fromkeys(texts, "str"))
    means = frame.groupby(list(texts), sort=False).mean().reset_index()
    units = {name: CATALOGUE[name].unit for name in SHOWN}
    means.attrs["units"] = {name: "us" if unit in _IN_US else unit for name, unit in units.items()}
    return means
