"""Extract of a run for the tables of its sweep, taken once from the whole record, in the process of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hostsim.engine.record import RunRecord
from hostsim.results.bottleneck import PackedBottlenecks, packed_bottlenecks
from hostsim.results.by_subject import packed_subjects
from hostsim.results.context import packed_contexts, packed_cpu
from hostsim.results.metrics.functions import loss
from hostsim.results.metrics.subject import parsed
from hostsim.results.record_frame import Packed
from hostsim.results.table import TableRow, table_row
from hostsim.units import ps_to_seconds

__all__ = ["RunExtract", "extract"]


@dataclass(frozen=True)
class _Parts:
    """Rows of a finished run in the tables of its sweep."""

    cpu: Packed
    subjects: Packed
    contexts: Packed
    bottlenecks: PackedBottlenecks
    loss: float


@dataclass(frozen=True)
class RunExtract:
    """An extract of a run."""

    key: tuple[str, int]
    """Point and replication."""
    usage: tuple[int, float, int, float]
    """Values of `hostsim.results.results.ResourceUsage`; zeros for a failed run."""
    row: TableRow | None
    """Row in the result table; None for a point outside the sweep."""
    parts: _Parts | None
    """None without a row, and for a failed run."""


def extract(record: RunRecord, *, has_row: bool, single: bool, of_subjects: Sequence[str]) -> RunExtract:
    """The extract of a run.

    Args:
        record: the run, with the axes of its sweep.
        has_row: True for a point of the sweep.
        single: True for the only run of its point.
        of_subjects: names of measures of subjects.
    """
    parts, limit = None, ""
    if has_row and record.error is None:
        limits = packed_bottlenecks(record, (parsed(name)[1] for name in of_subjects))
        _, _, limit, *_ = limits[0]  # of the host
        parts = _Parts(packed_cpu(record), packed_subjects(record), packed_contexts(record), limits, loss(record))
    row = table_row(record, limit, single=single, of_subjects=of_subjects) if has_row else None
    return RunExtract((record.point_id, record.replication), _usage(record), row, parts)


def _usage(record: RunRecord) -> tuple[int, float, int, float]:
    """Values of `ResourceUsage`; without failed runs."""
    if record.error is not None:
        return 0, 0.0, 0, 0.0
    simulated_s = ps_to_seconds(int(record.instants_ps[-1]))
    return 1, simulated_s, int(record.facts.get("dispatches", 0)), float(record.facts.get("wall_s", 0.0))
