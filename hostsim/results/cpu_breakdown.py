"""CPU time breakdown of a run by kind of context and by VM group or NIC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hostsim.engine.record import FloatArray, RunRecord
from hostsim.results.record_frame import require_finished
from hostsim.units import SECOND

__all__ = ["COLUMNS", "IDLE", "PackedCpu", "cpu_frame", "cpu_time", "owner_of", "packed_cpu"]

COLUMNS = ("kind", "owner", "worlds", "used", "share", "dispatches")
"""Columns of `cpu_time`."""
KINDS = ("vcpu", "splitrx", "netpoll", "networld", "vmkernel", "firmware")
IDLE = "idle"
"""Kind of idle time of PCPUs; all other time is charged to a context."""
_UNITS = {"used": "% of a PCPU", "share": "% of all PCPUs", "dispatches": "/s"}


@dataclass(frozen=True, slots=True)
class PackedCpu:
    """CPU time breakdown of a run, kept for each run of a sweep."""

    heads: tuple[tuple[str, str, int], ...]
    """Kind, owner and worlds of each row, which are equal at most points of a sweep."""
    numbers: FloatArray
    """The other columns of each row, shape (rows, 3)."""


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
    return _frame([packed_cpu(record)])


def packed_cpu(record: RunRecord) -> PackedCpu:
    """CPU time breakdown of a finished run; empty without PCPUs."""
    if "pcpu.busy_ps" not in record.series:
        return PackedCpu((), np.empty((0, 3)))
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
    heads = tuple((kind, owner, int(row[0])) for (kind, owner), row in rows.items())
    numbers = [(used, used / pcpus, dispatches) for _, used, dispatches in rows.values()]
    return PackedCpu(heads, np.array(numbers, dtype=np.float64))


def cpu_frame(runs: Sequence[tuple[str, PackedCpu]]) -> pd.DataFrame:
    """CPU time breakdown of points, means of their runs: the columns of `cpu_time`, and ``point`` before them.

    Args:
        runs: point and breakdown of each finished run.
    """
    frame = _frame([packed for _, packed in runs])
    points = pd.Series([point for point, packed in runs for _ in packed.heads], dtype="str")
    frame.insert(0, "point", points)
    return _typed(frame.groupby(["point", "kind", "owner"], sort=False).mean().reset_index())


def _frame(runs: Sequence[PackedCpu]) -> pd.DataFrame:
    heads = [head for packed in runs for head in packed.heads]
    numbers = np.concatenate([np.empty((0, 3)), *(packed.numbers for packed in runs)])
    columns = {name: [head[place] for head in heads] for place, name in enumerate(COLUMNS[:3])}
    frame = pd.DataFrame({**columns, "used": numbers[:, 0], "share": numbers[:, 1], "dispatches": numbers[:, 2]})
    return _typed(frame)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    texts = dict.fromkeys([name for name in ("point", "kind", "owner") if name in frame], "str")
    typed = frame.astype({**texts, "worlds": "int64", **dict.fromkeys(_UNITS, "float64")})
    typed.attrs["units"] = dict(_UNITS)
    return typed


def _percent(record: RunRecord, counter: str) -> Any:
    return 100.0 * record.window(counter) / record.window_ps


def owner_of(kind: str, world: str) -> str:
    """Owner of a context, by its name: the VMs ``web`` of ``web[3].vcpu0``, the NIC of ``vmnic0-pollWorld-2``, none for firmware."""
    if kind == "firmware":
        return ""
    return world.partition("-pollWorld")[0] if kind == "netpoll" else re.split(r"[\[.]", world)[0]
