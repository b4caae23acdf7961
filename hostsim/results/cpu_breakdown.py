"""CPU time breakdown of a run by kind of context and by VM group or NIC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from hostsim.record import RunRecord
from hostsim.units import SECOND

__all__ = ["COLUMNS", "IDLE", "cpu_by_point", "cpu_time", "owner_of"]

COLUMNS = ("kind", "owner", "worlds", "used", "share", "dispatches")
"""Columns of `cpu_time`."""
KINDS = ("vcpu", "splitrx", "netpoll", "networld", "firmware")
IDLE = "idle"
"""Kind of the time in which PCPUs ran nothing; all other time is charged to a context."""
_UNITS = {"used": "% of a PCPU", "share": "% of all PCPUs", "dispatches": "/s"}


def cpu_time(record: RunRecord) -> pd.DataFrame:
    """CPU time breakdown over all PCPUs in the measured window of a run.

    Args:
        record: a finished run.

    Returns:
        A row for each kind of context (``vcpu``, ``splitrx``, ``netpoll``, ``networld``, ``firmware``) and owner, then ``idle``.
        Columns ``kind``; ``owner``, the group of VMs or the NIC that the contexts serve; ``worlds``, how many there are; ``used``,
        their charged time in percent of one PCPU, switches, cache refills and halt exits that they began with included;
        ``share``, the same in percent of all PCPUs, 100 in sum; ``dispatches`` a second.
    """
    pcpus = len(record.series["pcpu.busy_ps"].entities)
    rows: dict[tuple[str, str], list[float]] = {}
    for kind in KINDS:
        counter = f"{kind}.used_ps"
        if counter not in record.series:
            continue
        used, dispatches = _percent(record, counter), record.window(f"{kind}.dispatches") * (SECOND / record.window_ps)
        for name, *values in zip(record.series[counter].entities, used, dispatches, strict=True):
            row = rows.setdefault((kind, owner_of(kind, name)), [0, 0.0, 0.0])
            row[:] = [before + more for before, more in zip(row, (1, *values), strict=True)]
    entries: list[dict[str, Any]] = [
        {"kind": kind, "owner": owner, "worlds": int(row[0]), "used": row[1], "dispatches": row[2]}
        for (kind, owner), row in rows.items()
    ]
    idle = 100.0 * pcpus - sum(entry["used"] for entry in entries)
    entries.append({"kind": IDLE, "owner": "", "worlds": 0, "used": idle, "dispatches": 0.0})
    for entry in entries:
        entry["share"] = entry["used"] / pcpus
    return _frame(entries, list(COLUMNS))


def cpu_by_point(records: Iterable[RunRecord]) -> pd.DataFrame:
    """CPU time breakdown of every point, means of its finished replications; the column ``point`` has the point's id."""
    parts = [
        cpu_time(record).assign(point=record.point_id)
        for record in records
        if record.error is None and "pcpu.busy_ps" in record.series
    ]
    columns = ["point", *COLUMNS]
    if not parts:
        return _frame([], columns)
    keys = ["point", "kind", "owner"]
    return _frame(pd.concat(parts).groupby(keys, sort=False).mean().reset_index(), columns)


def _frame(rows: Any, columns: list[str]) -> pd.DataFrame:
    texts = dict.fromkeys([name for name in columns if name in ("point", "kind", "owner")], "str")
    numbers = {"worlds": "int64", **dict.fromkeys(_UNITS, "float64")}
    frame = pd.DataFrame(rows, columns=columns).astype({**texts, **numbers})
    frame.attrs["units"] = dict(_UNITS)
    return frame


def _percent(record: RunRecord, counter: str) -> Any:
    return 100.0 * record.window(counter) / record.window_ps


def owner_of(kind: str, world: str) -> str:
    """Owner of a context, by its name: the VMs ``web`` of ``web[3].vcpu0``, the NIC of ``vmnic0-pollWorld-2``, none of firmware."""
    if kind == "firmware":
        return ""
    return world.partition("-pollWorld")[0] if kind == "netpoll" else re.split(r"[\[.]", world)[0]
