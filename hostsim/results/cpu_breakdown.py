"""CPU time breakdown of a run by kind of context and by VM group or NIC."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from hostsim.record import RunRecord
from hostsim.units import SECOND

__all__ = ["COLUMNS", "IDLE", "CpuRow", "cpu_by_point", "cpu_frame", "cpu_rows", "cpu_time", "owner_of"]

COLUMNS = ("kind", "owner", "worlds", "used", "share", "dispatches")
"""Columns of `cpu_time`."""
KINDS = ("vcpu", "splitrx", "netpoll", "networld", "firmware")
IDLE = "idle"
"""Kind of the time in which PCPUs ran nothing; all other time is charged to a context."""
CpuRow = tuple[str, str, int, float, float, float]
"""A row of `cpu_time`, in the order of its columns."""
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
    return _frame(cpu_rows(record), list(COLUMNS))


def cpu_rows(record: RunRecord) -> list[CpuRow]:
    """Rows of `cpu_time`; none of a run without PCPUs."""
    if "pcpu.busy_ps" not in record.series:
        return []
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
    rows[IDLE, ""] = [0, 100.0 * pcpus - sum(row[1] for row in rows.values()), 0.0]
    return [
        (kind, sys.intern(owner), int(worlds), float(used), float(used) / pcpus, float(dispatches))
        for (kind, owner), (worlds, used, dispatches) in rows.items()
    ]


def cpu_by_point(records: Iterable[RunRecord]) -> pd.DataFrame:
    """CPU time breakdown of every point, means of its finished replications; the column ``point`` has the point's id."""
    return cpu_frame((record.point_id, cpu_rows(record)) for record in records if record.error is None)


def cpu_frame(runs: Iterable[tuple[str, Sequence[CpuRow]]]) -> pd.DataFrame:
    """The frame of `cpu_by_point`, of the point and the rows of each run."""
    columns, keys = ["point", *COLUMNS], ["point", "kind", "owner"]
    frame = _frame([(point, *row) for point, rows in runs for row in rows], columns)
    return _frame(frame.groupby(keys, sort=False).mean().reset_index(), columns)


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
