"""Contexts of a run: the queues, node, utilisation and occupancy of each, and CPU time by kind."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hostsim.engine.record import FloatArray, IntArray, RunRecord
from hostsim.results.record_frame import Packed, require_finished, unpacked
from hostsim.units import SECOND

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COLUMNS",
    "CPU_COLUMNS",
    "IDLE",
    "Row",
    "contexts",
    "contexts_frame",
    "cpu_frame",
    "cpu_time",
    "fullest",
    "owner_of",
    "packed_contexts",
    "packed_cpu",
]

COLUMNS = ("kind", "name", "serves", "node", "used", "ready", "dispatches", "packets", "dropped", "fill")
"""Columns of `contexts`."""
_TEXTS = COLUMNS[:3]
_NUMBERS = COLUMNS[4:]
_UNITS = {"used": "%", "ready": "%", "dispatches": "/s", "packets": "/s", "dropped": "/s", "fill": "%"}
Row = dict[str, Any]
"""A context: its values by column."""


MOST_ALONE = 3
"""Number of separate rows of a kind; idle contexts are always combined."""
_IDLE = 0.05
"""Percent below which a context counts as idle."""


@dataclass(frozen=True)
class _Stage:
    """Stage of the packet path: the queues that a kind of world serves."""

    of: str
    """Kind of the entities that it serves."""
    owner: str
    """Counter with the world that serves each."""
    taken: str
    dropped: str
    inside: str
    capacity: str


_STAGES = {
    "netpoll": _Stage("queue", "context", "taken", "dropped", "inside", "capacity"),
    "splitrx": _Stage("port", "context", "split_taken", "split_dropped", "split_inside", "split_capacity"),
    "networld": _Stage("tx", "context", "taken", "dropped", "inside", "capacity"),
    "vcpu": _Stage("port", "vcpu", "received", "ring_dropped", "ring_inside", "ring_capacity"),
}
_WIRES = (
    ("receive", "nic.rx_wire_ps", {"packets": "nic.rx_frames"}),
    ("transmit", "nic.tx_wire_ps", {"packets": "nic.tx_packets", "dropped": "nic.tx_dropped"}),
)


def contexts(record: RunRecord) -> pd.DataFrame:
    """The contexts of a run over its measured window: a row for each world, each PCPU and each direction of a wire.

    Args:
        record: a finished run.

    Returns:
        Columns ``kind`` (``netpoll``, ``splitrx``, ``networld``, ``vcpu``; ``pcpu``; ``wire``); ``name``; ``serves``, the queues
        that it takes packets from (of a vCPU the receive queues of its vNICs, or ``work``); ``node``, the home node
        during most of the window; ``used``, charged time in percent of a PCPU (%UTIL of a PCPU; of a wire the share of
        time it
        carried something); ``ready``, time runnable without a PCPU, in percent; ``dispatches`` per second; ``packets``
        per second that the context took or a wire carried; ``dropped`` per second at the full rings that it serves, or
        in front of a wire; ``fill``, the largest occupancy of these rings at the end of a time slice, in percent of
        their size, including packets on their way into the ring, at most 100. NaN if not applicable. Units are in
        ``attrs["units"]``.

    Raises:
        InputError: the run has failed.
    """
    require_finished(record)
    return _frame([("", _packed(_rows(record)))]).drop(columns="point")


def fullest(rows: Sequence[Row]) -> list[Row]:
    """The fullest contexts of each kind, the others as one row of means, PCPUs as one row for each node.

    Args:
        rows: of `contexts`, as mappings from columns; missing columns count as NaN.
    """
    kinds: dict[tuple[str, Any], list[Row]] = {}
    for row in rows:
        kinds.setdefault((row["kind"], row["node"] if row["kind"] == "pcpu" else None), []).append(row)
    merged: list[Row] = []
    for (kind, node), group in kinds.items():
        alone = 0
        if kind != "pcpu":
            group.sort(key=lambda row: -row["used"])
            alone = min(sum(row["used"] >= _IDLE for row in group), MOST_ALONE)
            if len(group) - alone == 1:  # a single row is not combined
                alone += 1
            merged += group[:alone]
        if rest := group[alone:]:
            name = f"mean of {len(rest)}{' others' if alone else ''}"
            merged.append(_row(kind, name, node, **{column: _mean(rest, column) for column in _NUMBERS}))
    return merged


def packed_contexts(record: RunRecord) -> Packed:
    """The fullest contexts of a finished run: kind, name, served queues and node of each, and its numbers."""
    return _packed(fullest(_rows(record)))


def contexts_frame(points: Mapping[str, Packed]) -> pd.DataFrame:
    """The contexts of points as one frame: the columns of `contexts`, and ``point`` before them."""
    return _frame(points.items())


def _rows(record: RunRecord) -> list[Row]:
    """All rows of `contexts`."""
    return [*(row for kind in _STAGES for row in _worlds(record, kind)), *_pcpus(record), *_wires(record)]


def _packed(rows: Sequence[Row]) -> Packed:
    heads = tuple((*(row[text] for text in _TEXTS), row["node"]) for row in rows)
    numbers = [[row.get(name, math.nan) for name in _NUMBERS] for row in rows]
    return Packed(heads, np.array(numbers, dtype=np.float64).reshape(-1, len(_NUMBERS)))


def _frame(runs: Iterable[tuple[str, Packed]]) -> pd.DataFrame:
    frame = unpacked(runs, COLUMNS[:4], _NUMBERS)
    frame = frame.astype({**dict.fromkeys(("point", *_TEXTS), "object"), "node": "Int64"})
    frame.attrs["units"] = dict(_UNITS)
    return frame


def _mean(rows: Sequence[Row], name: str) -> float:
    """The mean of a column over the rows with a value."""
    numbers = [row[name] for row in rows if name in row]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def _row(kind: str, name: str, node: int | None, **numbers: Any) -> Row:
    return {"kind": kind, "name": name, "serves": "", "node": node, **numbers}


def _samples(record: RunRecord, counter: str) -> IntArray:
    """A level at the boundaries of the window's slices, shape (boundaries, entities)."""
    series = record.series[counter]
    return series.values[record.cut :]  # noqa: PD011  of a record, not of a frame


def _percent(record: RunRecord, counter: str) -> FloatArray:
    return np.asarray(100.0 * record.window(counter) / record.window_ps, dtype=np.float64)


def _rate(record: RunRecord, counter: str) -> FloatArray:
    return np.asarray(record.window(counter) * (SECOND / record.window_ps), dtype=np.float64)


def _worlds(record: RunRecord, kind: str) -> list[Row]:
    worlds = record.series.get(f"{kind}.node")
    if worlds is None or not worlds.entities:
        return []
    used, ready = (_percent(record, f"{kind}.{state}_ps") for state in ("used", "ready"))
    dispatches = _rate(record, f"{kind}.dispatches")
    homes = _samples(record, f"{kind}.node")
    rows = [
        _row(kind, name, int(np.bincount(homes[:, i]).argmax()), used=used[i], ready=ready[i], dispatches=dispatches[i])
        for i, name in enumerate(worlds.entities)
    ]
    _add_queues(record, _STAGES[kind], rows)
    if kind == "vcpu" and "work.started" in record.series:
        by_name = {row["name"]: row for row in rows}
        for name in record.series["work.started"].entities:
            row = by_name[name]
            row["serves"] = ", ".join(filter(None, (row["serves"], "work")))
    return rows


def _add_queues(record: RunRecord, stage: _Stage, rows: list[Row]) -> None:
    """Add the queues that each world serves."""

    def counter(name: str) -> str:
        return f"{stage.of}.{name}"

    queues = record.series[counter(stage.taken)].entities
    owners = _samples(record, counter(stage.owner))[-1]
    taken, dropped = _rate(record, counter(stage.taken)), _rate(record, counter(stage.dropped))
    inside = _samples(record, counter(stage.inside))
    capacity = _samples(record, counter(stage.capacity))[-1]
    # the ring of a passed-through port or function is a queue of the NIC
    own = {name: i for i, name in enumerate(record.series["queue.taken"].entities)} if stage.owner == "vcpu" else {}
    for i, queue in enumerate(queues):
        if owners[i] < 0:
            continue
        lost, level = dropped[i], inside[:, i]
        if queue in own:
            lost = _rate(record, "queue.dropped")[own[queue]]
            level = _samples(record, "queue.inside")[:, own[queue]]
        row = rows[owners[i]]
        row["serves"] = f"{row['serves']}, {queue}" if row["serves"] else queue
        row["packets"] = row.get("packets", 0.0) + taken[i]
        row["dropped"] = row.get("dropped", 0.0) + lost
        row["fill"] = max(row.get("fill", 0.0), min(100.0, 100.0 * int(level.max()) / int(capacity[i])))


def _pcpus(record: RunRecord) -> list[Row]:
    if "pcpu.node" not in record.series:
        return []
    util, dispatches = _percent(record, "pcpu.busy_ps"), _rate(record, "pcpu.dispatches")
    nodes = _samples(record, "pcpu.node")[-1]
    return [
        _row("pcpu", name, int(nodes[i]), used=util[i], dispatches=dispatches[i])
        for i, name in enumerate(record.series["pcpu.busy_ps"].entities)
    ]


def _wires(record: RunRecord) -> Iterator[Row]:
    for way, time, counters in _WIRES:
        if time in record.series:
            busy = _percent(record, time)
            rates = {column: _rate(record, counter) for column, counter in counters.items()}
            for i, name in enumerate(record.series[time].entities):
                own = {column: rate[i] for column, rate in rates.items()}
                yield _row("wire", f"{name} {way}", None, used=busy[i], **own)


CPU_COLUMNS = ("kind", "owner", "worlds", "used", "share", "dispatches")
"""Columns of `cpu_time`."""
KINDS = ("vcpu", "splitrx", "netpoll", "networld", "vmkernel", "firmware")
IDLE = "idle"
"""Kind of idle time of PCPUs; all other time is charged to a context."""
_CPU_UNITS = {"used": "% of a PCPU", "share": "% of all PCPUs", "dispatches": "/s"}


def cpu_time(record: RunRecord) -> pd.DataFrame:
    """CPU time breakdown over all PCPUs in the measured window of a run.

    Args:
        record: a finished run.

    Returns:
        A row for each kind of context (``vcpu``, ``splitrx``, ``netpoll``, ``networld``, ``vmkernel``, ``firmware``) and owner, then ``idle``.
        Columns ``kind``; ``owner``, the group of VMs or the NIC that the contexts serve; ``worlds``, their number; ``used``, their
        charged time in percent of one PCPU, including the switches, cache refills and halt exits at their start;
        ``share``, the same in percent of all PCPUs, with the sum 100; ``dispatches`` a second. Units are in ``attrs["units"]``.

    Raises:
        InputError: the run has failed.
    """
    require_finished(record)
    return _cpu_table([("", packed_cpu(record))]).drop(columns="point")


def packed_cpu(record: RunRecord) -> Packed:
    """CPU time breakdown of a finished run: kind, owner and worlds of each row, and its numbers; empty without PCPUs."""
    if "pcpu.busy_ps" not in record.series:
        return Packed((), np.empty((0, 3)))
    pcpus = len(record.series["pcpu.busy_ps"].entities)
    rows: dict[tuple[str, str], list[float]] = {}
    for kind in KINDS:
        counter = f"{kind}.used_ps"
        if counter not in record.series:
            continue
        used, dispatches = _percent(record, counter), _rate(record, f"{kind}.dispatches")
        for name, *values in zip(record.series[counter].entities, used, dispatches, strict=True):
            row = rows.setdefault((kind, owner_of(kind, name)), [0, 0.0, 0.0])
            row[:] = [before + more for before, more in zip(row, (1, *values), strict=True)]
    rows[IDLE, ""] = [0, 100.0 * pcpus - sum(row[1] for row in rows.values()), 0.0]
    heads = tuple((kind, owner, int(row[0])) for (kind, owner), row in rows.items())
    numbers = [(used, used / pcpus, dispatches) for _, used, dispatches in rows.values()]
    return Packed(heads, np.array(numbers, dtype=np.float64))


def cpu_frame(runs: Iterable[tuple[str, Packed]]) -> pd.DataFrame:
    """CPU time breakdown of points, means of their runs: the columns of `cpu_time`, and ``point`` before them.

    Args:
        runs: point and breakdown of each finished run.
    """
    means = _cpu_table(runs).groupby(["point", "kind", "owner"], sort=False).mean()
    return _typed(means.reset_index())


def _cpu_table(runs: Iterable[tuple[str, Packed]]) -> pd.DataFrame:
    return _typed(unpacked(runs, CPU_COLUMNS[:3], CPU_COLUMNS[3:]))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    texts, numbers = dict.fromkeys(("point", "kind", "owner"), "str"), dict.fromkeys(_CPU_UNITS, "float64")
    typed = frame.astype({**texts, "worlds": "int64", **numbers})
    typed.attrs["units"] = dict(_CPU_UNITS)
    return typed


def owner_of(kind: str, world: str) -> str:
    """Owner of a context, by its name: the VMs ``web`` of ``web[3].vcpu0``, the NIC of ``vmnic0-pollWorld-2``, none for firmware."""
    if kind == "firmware":
        return ""
    return world.partition("-pollWorld")[0] if kind == "netpoll" else re.split(r"[\[.]", world)[0]
