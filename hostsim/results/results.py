"""Results of a scenario: tables of measures, verdicts, figure specifications and provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from hostsim.engine.record import AxisValues, RunRecord
from hostsim.errors import Fault, InputError
from hostsim.results.citation import Citation
from hostsim.results.figure import Figure
from hostsim.results.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AssumedInput", "EffectiveSetting", "LazyRecords", "ResourceUsage", "Results", "runs_frame"]


@dataclass(frozen=True)
class EffectiveSetting:
    """An effective setting with its origin."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True)
class AssumedInput:
    """An assumed input: one that is not published."""

    path: str
    value: str
    reason: str
    range: str


class LazyRecords(Sequence[RunRecord]):
    """Records as a sequence, each read when it is asked for."""

    def __init__(self, records: Mapping[tuple[str, int], RunRecord]) -> None:
        self._records = records
        self._keys = tuple(records)

    @overload
    def __getitem__(self, place: int) -> RunRecord: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[RunRecord, ...]: ...

    def __getitem__(self, place: int | slice) -> RunRecord | tuple[RunRecord, ...]:
        if isinstance(place, slice):
            return tuple(self._records[key] for key in self._keys[place])
        return self._records[self._keys[place]]

    def of(self, point: str, replication: int) -> RunRecord:
        """The record of a replication of a point, by the point's id.

        Raises:
            KeyError: there is none.
        """
        return self._records[point, replication]

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<{len(self)} records>"


@dataclass(frozen=True)
class ResourceUsage:
    """Resource usage of the runs behind the results, those of searches included."""

    runs: int = 0
    simulated_s: float = 0.0
    dispatches: int = 0
    wall_s: float = 0.0
    """Wall-clock seconds of all runs added up, whenever they were made and however many ran side by side."""


def _no_contexts() -> pd.DataFrame:
    from hostsim.results.context import contexts_frame

    return contexts_frame({})


def _no_time() -> pd.DataFrame:
    from hostsim.results.cpu_breakdown import cpu_frame

    return cpu_frame(())


def _no_runs() -> pd.DataFrame:
    return runs_frame(())


def runs_frame(runs: Iterable[tuple[str, int, int, AxisValues, Sequence[str], str]]) -> pd.DataFrame:
    """The frame of `Results.runs`, of point, replication, seed, axes, warnings and flag of each run."""
    import pandas as pd

    rows = [(*key, json.dumps(dict(axes)), json.dumps(list(told)), flag) for *key, axes, told, flag in runs]
    kinds = dict.fromkeys(("point", "axes", "warnings", "flag"), "str") | {"replication": "int64", "seed": "uint64"}
    return pd.DataFrame(rows, columns=["point", "replication", "seed", "axes", "warnings", "flag"]).astype(kinds)


@dataclass(frozen=True, repr=False)
class Results:
    """Results of a scenario: tidy frames, figure specifications, verdicts and provenance.

    Frames have the units of their columns in ``attrs["units"]``.
    """

    scenario: str
    question: str
    table: pd.DataFrame
    """One row a point of the sweep and replication: ``point``, ``replication``, ``seed``, the axes, every measure of the
    catalogue in its unit (`hostsim.CATALOGUE`, `hostsim metrics`), ``cut_s`` and ``length_s`` in simulated seconds,
    ``bottleneck``, ``flags``, ``error``."""
    figures: tuple[Figure, ...] = ()
    verdicts: Verdicts = field(default_factory=Verdicts)
    """What the scenario expects, with its answers; those of which no runs were made are ``missing``."""
    settings: tuple[EffectiveSetting, ...] = ()
    assumptions: tuple[AssumedInput, ...] = ()
    citations: Mapping[str, tuple[Citation, ...]] = field(default_factory=dict)
    """Publications behind expectations, by name, and behind the reasons of assumed inputs, by path."""
    warnings: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    """What options changed of the host, by dotted path; what was published is not about such a host."""
    quick: bool = False
    usage: ResourceUsage = field(default_factory=ResourceUsage)
    contexts: pd.DataFrame = field(default_factory=_no_contexts)
    """The fullest contexts of each point of the sweep (``point``), in its first replication: columns of
    `hostsim.results.context.contexts`, which has all of them of a record."""
    cpu: pd.DataFrame = field(default_factory=_no_time)
    """Where the CPU time of each point went, means of its replications: ``point`` and the columns of `hostsim.results.cpu_breakdown.cpu_time`."""
    runs: pd.DataFrame = field(default_factory=_no_runs)
    """The runs behind all this, those of searches included, by which their records are found: ``point``, ``replication``, ``seed``,
    and as JSON ``axes``, ``warnings`` and ``flag``."""
    records: Sequence[RunRecord] = ()
    """The records of the runs, each read from the results folder when it is asked for and kept by nobody."""

    @property
    def axes(self) -> list[str]:
        """The axes of the sweep, in the order of the scenario."""
        from hostsim.results.table import axes_of

        return axes_of(self.table)

    @property
    def failed(self) -> pd.DataFrame:
        """Rows of the failed runs, with the traceback under ``error``."""
        return self.table[self.table["error"].notna() & (self.table["error"] != "")]

    @property
    def caveat(self) -> str:
        """Caveat to print after the scenario's name: failed runs, a changed host, or nothing."""
        words = [word for word, holds in (("partial", len(self.failed)), ("changed", self.changed)) if holds]
        return f" ({', '.join(words)})" if words else ""

    def curve(
        self,
        *,
        x: str,
        y: str,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
    ) -> pd.DataFrame:
        """A measure against an axis as a tidy frame: the mean of the replications and its interval.

        Args:
            x: an axis.
            y: a measure of the catalogue.
            by: axes that tell lines apart.
            at: values of the other axes; the first value of the sweep for one that is not named.

        Returns:
            Columns ``by`` ..., ``x``, ``mean``, ``low`` and ``high`` (ends of the 95 % Student interval; NaN of a single
            replication), of an ensemble ``prediction_low`` and ``prediction_high`` (of the 90 % prediction interval), in the unit of y, and ``runs``, in the order of the sweep; units in ``attrs["units"]``.

        Raises:
            InputError: an unknown axis, an unknown measure, or a value that the sweep does not have.
        """
        from hostsim.results.curve import curve_frame, curve_spec

        return curve_frame(self.table, curve_spec(self.table, x, y, by, at))

    def record(self, at: AxisValues | None = None, replication: int = 0) -> RunRecord:
        """The record of the run at a point, for `hostsim.contexts`, `hostsim.series_frame` and the like.

        Args:
            at: values of axes; the first value of the sweep for one that is not named.
            replication: number of the run at the point, from 0.

        Raises:
            InputError: an unknown axis, or a value or replication that is not there.
            StoreError: the results folder does not hold the run any more.
        """
        from hostsim.results.curve import rows_at, rows_at_points

        rows_at(self.table, at or {})  # a value that is not there is a fault
        rows = rows_at_points(self.table, at or {}, ())
        chosen = rows[rows["replication"] == replication]
        if chosen.empty:
            known = ", ".join(map(str, rows["replication"]))
            raise InputError(Fault("no such run", "replication", str(replication), f"one of {known}"))
        return self.record_of(str(chosen["point"].iloc[0]), replication)

    def record_of(self, point: str, replication: int) -> RunRecord:
        """The record of a replication of a point, by the point's id.

        Raises:
            InputError: the results have no such record.
            StoreError: the results folder does not hold the run any more.
        """
        try:
            if isinstance(self.records, LazyRecords):
                return self.records.of(point, replication)
            return {(record.point_id, record.replication): record for record in self.records}[point, replication]
        except KeyError:
            raise InputError(
                Fault("the results have no such record", given=f"{point}, replication {replication}")
            ) from None

    def to_xarray(self) -> Any:
        """The table as an ``xarray.Dataset``: a dimension for each axis and one for replications, a variable for each measure.

        ``to_xarray()["loss"].mean("replication").sel(rate=40_000).plot()`` draws with labels and units. Needs the extra ``hostsim[xarray]``.

        Returns:
            The dataset. Axes of quantities are numbers in their base unit, numeric axes are sorted; ``attrs`` have ``units``,
            ``long_name`` and ``description``, and of the dataset question and provenance. Places without a run are NaN.

        Raises:
            InputError: xarray is not installed, or the axes span too many places.
        """
        from hostsim.results.table import to_dataset

        made = to_dataset(self.table)
        made.attrs |= {"question": self.question}
        return made

    def __repr__(self) -> str:
        points, failed = self.table["point"].nunique(), len(self.failed)
        fidelity = "quick" if self.quick else "full"
        words = f"{points} points, {len(self.table)} runs{f', {failed} failed' if failed else ''}, {fidelity} fidelity"
        return f"<Results of {self.scenario}: {words}>"
