"""Summary of a sweep: data for its tables, taken from each record once, so that no record is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hostsim.engine.record import RunRecord
from hostsim.results.bottleneck import PackedBottlenecks, bottlenecks_frame
from hostsim.results.by_subject import subjects_frame
from hostsim.results.context import contexts_frame, cpu_frame
from hostsim.results.record_frame import Packed
from hostsim.results.results import ResourceUsage
from hostsim.results.run_extract import RunExtract, extract
from hostsim.results.table import TableRow, table_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepSummary"]

_Key = tuple[str, int]
"""Point and replication."""


class SweepSummary:
    """Rows of a sweep's tables and the usage of its runs, from records in any order."""

    def __init__(self, swept: Iterable[str], *, single: bool, of_subjects: Iterable[str] = ()) -> None:
        """Summary without any run.

        Args:
            swept: ids of the points that get rows, in the order of the sweep.
            of_subjects: names of measures of subjects in the table.
            single: True if no point has more than one run, so that no digests are needed.
        """
        self._swept = list(swept)
        self._places = frozenset(self._swept)
        self._single = single
        self._of_subjects = tuple(dict.fromkeys(of_subjects))
        self._rows: dict[_Key, TableRow] = {}
        self._cpu: dict[_Key, Packed] = {}
        self._subjects: dict[_Key, Packed] = {}
        self._contexts: dict[str, tuple[int, Packed]] = {}
        self._bottlenecks: dict[str, tuple[tuple[float, int], PackedBottlenecks]] = {}
        self._heads: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # equal at most points, so stored once
        self._usage: dict[_Key, tuple[int, float, int, float]] = {}

    def taking(self, point: str, replication: int) -> Callable[[RunRecord], RunExtract | None]:
        """The function that takes the data of a run from its record; can be pickled."""
        if (point, replication) in self._usage:
            return _nothing
        return partial(extract, has_row=point in self._places, single=self._single, of_subjects=self._of_subjects)

    def add(self, run: RunExtract | None) -> None:
        """Adds the data of a run, unless data of the same point and replication were added before."""
        if run is None or run.key in self._usage:
            return
        point, replication = run.key
        self._usage[run.key] = run.usage
        if run.row is not None:
            self._rows[run.key] = run.row
        if (parts := run.parts) is None:
            return
        self._cpu[run.key] = self._shared(parts.cpu)
        self._subjects[run.key] = self._shared(parts.subjects)
        known = self._contexts.get(point)
        if known is None or replication < known[0]:
            self._contexts[point] = replication, self._shared(parts.contexts)
        rank = (-parts.loss if parts.loss == parts.loss else 0.0, replication)
        if point not in self._bottlenecks or rank < self._bottlenecks[point][0]:
            self._bottlenecks[point] = rank, parts.bottlenecks

    def _shared(self, packed: Packed) -> Packed:
        return replace(packed, heads=self._heads.setdefault(packed.heads, packed.heads))

    def table(self, keys: Collection[_Key], flags: Mapping[str, str], provenance: Mapping[str, str]) -> pd.DataFrame:
        """Result table of runs, see `hostsim.results.table.table_of`.

        Args:
            keys: of the runs; points outside the sweep have no row.
            flags: an additional flag of a point, by its id.
            provenance: of the table, besides versions and seeds.
        """
        rows = []
        for key in self._in_order(sorted(keys)):
            row, flag = self._rows[key], flags.get(key[0])
            rows.append(row if flag is None else replace(row, flags=(*row.flags, flag)))
        return table_of(rows, provenance, self._of_subjects)

    def contexts(self) -> pd.DataFrame:
        """The busiest contexts of every point, from its first finished replication."""
        return contexts_frame({point: self._contexts[point][1] for point in self._swept if point in self._contexts})

    def bottlenecks(self) -> pd.DataFrame:
        """The bottlenecks of every point, from the finished replication with most loss (the first of equal ones)."""
        return bottlenecks_frame(
            {point: self._bottlenecks[point][1] for point in self._swept if point in self._bottlenecks}
        )

    def cpu(self, keys: Collection[_Key]) -> pd.DataFrame:
        """CPU time breakdown of every point, means of its finished replications."""
        return cpu_frame([(key[0], self._cpu[key]) for key in self._in_order(keys) if key in self._cpu])

    def subjects(self, keys: Collection[_Key]) -> pd.DataFrame:
        """Main measures of the subjects of every point, see `hostsim.results.by_subject.subjects_frame`."""
        return subjects_frame([(key[0], self._subjects[key]) for key in self._in_order(keys) if key in self._subjects])

    def usage(self, keys: Iterable[_Key]) -> ResourceUsage:
        """Total resource usage of runs."""
        parts = [part for key in keys if (part := self._usage[key])[0]]
        return ResourceUsage(*map(sum, zip(*parts, strict=True)))

    def _in_order(self, keys: Iterable[_Key]) -> list[_Key]:
        """The runs of swept points, in the order of points and keys."""
        of: dict[str, list[_Key]] = {point: [] for point in self._swept}
        for key in keys:  # a point may have additional replications
            if key[0] in of:
                of[key[0]].append(key)
        return [key for point in of.values() for key in point]


def _nothing(_record: RunRecord) -> None:
    """Takes nothing of a run that was added before."""
