"""Results of a scenario: tables of measures, plots, verdicts, figure specifications and provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from hostsim.config.files import write_whole
from hostsim.engine.record import AxisValues, RunRecord
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.results.bottleneck import bottlenecks_frame
from hostsim.results.by_subject import columns_of, subject_frame, subjects_frame, summary_frame
from hostsim.results.claim import Citation
from hostsim.results.context import contexts_frame, cpu_frame
from hostsim.results.figure import AnswersSpec, Figure, FigureSpec, names_of, point_name
from hostsim.results.metrics.catalogue import CATALOGUE, WINDOW
from hostsim.results.metrics.subject import MOST_PARTS, of_subject_name, parsed, part_names
from hostsim.results.rich_view import rich_view
from hostsim.results.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "AssumedInput",
    "EffectiveSetting",
    "Explorer",
    "LazyRecords",
    "ResourceUsage",
    "Results",
    "UnknownMeasureError",
    "runs_frame",
]

_HEIGHT = 900
"""Height of the page in a notebook, in pixels."""


@dataclass(frozen=True, repr=False)
class Explorer:
    """An explorer of results: a notebook displays it, and `save` writes it."""

    title: str
    html: str
    """The page."""

    def save(self, path: str | Path) -> Path:
        """Write the page; returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        return write_whole(Path(path), self.html.encode())

    def _repr_html_(self) -> str:
        import html

        words = html.escape(f"Explorer of {self.title}")
        frame = f'<iframe title="{words}" style="width: 100%; height: {_HEIGHT}px; border: 0"'
        return f'{frame} srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<Explorer of {self.title}>"


@dataclass(frozen=True)
class EffectiveSetting:
    """An effective setting and its origin."""

    name: str
    """Dotted path for ``--set``."""
    value: str
    """The value as written; for a varied setting all its values."""
    origin: str
    """Origin: ``esxi-5.0 default``, a file and line, ``--set``, or the axis that varies it."""


@dataclass(frozen=True)
class AssumedInput:
    """An assumed input, which is not published."""

    path: str
    value: str
    reason: str
    range: str


class LazyRecords(Sequence[RunRecord]):
    """Records as a sequence, each read on demand."""

    def __init__(self, records: Mapping[tuple[str, int], RunRecord]) -> None:
        self._records = records
        self._keys = tuple(records)

    @overload
    def __getitem__(self, index: int) -> RunRecord: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[RunRecord, ...]: ...

    def __getitem__(self, index: int | slice) -> RunRecord | tuple[RunRecord, ...]:
        if isinstance(index, slice):
            return tuple(self._records[key] for key in self._keys[index])
        return self._records[self._keys[index]]

    def of(self, point: str, replication: int) -> RunRecord:
        """The record of a replication of a point, by the point's id.

        Raises:
            KeyError: there is no such record.
        """
        return self._records[point, replication]

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<{len(self)} records>"


class UnknownMeasureError(InputError, KeyError):
    """An unknown measure of results."""

    __str__ = Exception.__str__  # KeyError would quote the text


@dataclass(frozen=True)
class ResourceUsage:
    """Resource usage of the runs behind the results, including those of searches."""

    runs: int = 0
    simulated_s: float = 0.0
    dispatches: int = 0
    wall_s: float = 0.0
    """Total wall-clock seconds of all runs, including earlier and parallel ones."""
    drawing_s: float = 0.0
    """Wall-clock seconds for drawing the figures of their folder; 0 without a folder."""


def runs_frame(runs: Iterable[tuple[str, int, int, AxisValues, Sequence[str], str]]) -> pd.DataFrame:
    """The frame of `Results.runs` from point, replication, seed, axes, warnings and flag of each run."""
    import pandas as pd

    rows = [(*key, json.dumps(dict(axes)), json.dumps(list(warnings)), flag) for *key, axes, warnings, flag in runs]
    kinds = dict.fromkeys(("point", "axes", "warnings", "flag"), "str") | {"replication": "int64", "seed": "uint64"}
    return pd.DataFrame(rows, columns=["point", "replication", "seed", "axes", "warnings", "flag"]).astype(kinds)


@dataclass(frozen=True, repr=False)
class Results:
    """Results of a scenario: tidy frames, plots of its figures, verdicts and provenance; a notebook shows a page.

    Frames have the units of their columns in ``attrs["units"]``.
    """

    scenario: str
    question: str
    table: pd.DataFrame
    """One row for each point of the sweep and replication: ``point``, ``replication``, ``seed``, the axes, every measure of the
    catalogue in its unit (`hostsim.CATALOGUE`, `hostsim metrics`), ``cut_s`` and ``length_s`` in simulated seconds,
    ``bottleneck``, ``flags``, ``error``."""
    figures: tuple[Figure, ...] = ()
    verdicts: Verdicts = field(default_factory=Verdicts)
    """Verdicts on the scenario's expectations; ``missing`` without runs."""
    settings: tuple[EffectiveSetting, ...] = ()
    assumptions: tuple[AssumedInput, ...] = ()
    citations: Mapping[str, tuple[Citation, ...]] = field(default_factory=dict)
    """Publications behind expectations, by name, and behind the reasons of assumed inputs, by path."""
    warnings: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    """Changes of the host by options, by dotted path; published numbers are not about such a host."""
    quick: bool = False
    usage: ResourceUsage = field(default_factory=ResourceUsage)
    contexts: pd.DataFrame = field(default_factory=lambda: contexts_frame({}))
    """The busiest contexts of each point of the sweep (``point``), in its first replication: columns of
    `hostsim.results.context.contexts`, which has all contexts of a record."""
    cpu: pd.DataFrame = field(default_factory=lambda: cpu_frame(()))
    """CPU time of each point by kind and owner, means of its replications: ``point`` and the columns of `hostsim.results.context.cpu_time`."""
    subjects: pd.DataFrame = field(default_factory=lambda: subjects_frame(()))
    """Main measures of each VM group at each point, or of each traffic entry if there is one group, means of the replications:
    ``point``, ``kind``, ``subject``, the measures of `hostsim.results.by_subject.SHOWN`. Empty if there is one of each; `by` has all measures."""
    bottlenecks: pd.DataFrame = field(default_factory=lambda: bottlenecks_frame({}))
    """Bottleneck of each point with the reason, in the replication with most loss (the first of equal ones): ``point``, ``kind`` (``host``; ``group`` or
    ``traffic`` if there are several), ``subject``, ``bottleneck``, ``reason``, ``relief``. `hostsim.bottleneck` has that of a record."""
    runs: pd.DataFrame = field(default_factory=lambda: runs_frame(()))
    """References to all runs, including those of searches: ``point``, ``replication``, ``seed``,
    and as JSON ``axes``, ``warnings`` and ``flag``."""
    records: Sequence[RunRecord] = ()
    """The records of the runs, read from the results folder on demand and not kept in memory."""

    @property
    def axes(self) -> list[str]:
        """The axes of the sweep, in the order of the scenario."""
        from hostsim.results.table import axes_of

        return axes_of(self.table)

    @property
    def failed(self) -> pd.DataFrame:
        """Rows of failed runs, with the traceback under ``error``."""
        return self.table[self.table["error"].notna() & (self.table["error"] != "")]

    @property
    def caveat(self) -> str:
        """Caveat after the scenario's name: failed runs, a changed host, or empty."""
        words = [word for word, holds in (("partial", len(self.failed)), ("changed", self.changed)) if holds]
        return f" ({', '.join(words)})" if words else ""

    def __len__(self) -> int:
        """Number of runs: rows of the table."""
        return len(self.table)

    def __getitem__(self, measure: str) -> pd.Series[float]:
        """A measure in every run, by axes and replication: ``results["latency_p95"]``, or for a subject ``results["latency_p95 of feed"]``.

        Its ``attrs`` have ``unit``, and ``of`` for a subject.

        Raises:
            UnknownMeasureError: an unknown measure or subject, or a subject that does not have the measure.
            StoreError: the runs are no longer in the results folder.
        """
        try:
            table = self.with_measures(str(measure)).table
        except InputError as error:
            raise UnknownMeasureError(error.faults) from None
        index = [*self.axes, "replication"]
        if measure in index:
            raise UnknownMeasureError(
                Fault("is an axis", given=repr(measure), allowed=f"a column of table, table[{measure!r}]")
            )
        column = table.set_index(index)[measure].copy()
        column.attrs.clear()
        subject = parsed(measure)[1]
        column.attrs["unit"] = table.attrs["units"].get(measure, "")
        if subject:
            column.attrs["of"] = subject
        return column

    __iter__ = None
    """Not iterable over runs; use ``records``."""

    def with_measures(self, *names: str) -> Results:
        """The results with additional measures in the table, computed from the records: ``latency_p99 of feed``.

        Raises:
            InputError: an unknown measure or subject, or a subject that does not have the measure.
            StoreError: the runs are no longer in the results folder.
        """
        missing = [name for name in dict.fromkeys(names) if name not in self.table.columns]
        if not missing:
            return self
        if unknown := [name for name in missing if name not in self._columns]:
            self._columns.update(columns_of(self, unknown))
        table = self.table.copy(deep=False)
        for name in missing:
            table.insert(list(table.columns).index(next(iter(WINDOW))), name, self._columns[name])
        units = self.table.attrs.get("units", {}) | {name: CATALOGUE[name].unit for name in missing}
        table.attrs = {**self.table.attrs, "units": units}
        return replace(self, table=table)

    @cached_property
    def _columns(self) -> dict[str, list[float]]:
        """Computed measures of subjects, by name."""
        return {}

    def by(self, kind: str, *, at: AxisValues | None = None) -> pd.DataFrame:
        """Measures of each subject of a kind in each finished run, from the records.

        Args:
            kind: ``traffic``, ``group`` (of VMs), ``vm``, ``vnic``, ``port`` (of a physical NIC), ``queue``, ``world``, ``pcpu`` or ``node``.
            at: values of axes; all points that have them.

        Returns:
            Columns: the axes, ``replication``, ``subject``; for worlds, VMs, groups, vNICs and ports the values of esxtop, by its names
            (`hostsim.results.by_subject.esxtop`); the measures of the kind, times in us; ``point``, the prefix of the point's id. NaN if
            a subject has no such measure, for example the latency of one VM whose traffic is not counted separately.
            ``attrs["of"]`` has the kind, ``attrs["units"]`` the units, ``attrs["notes"]`` the reasons for such NaN.

        Raises:
            InputError: an unknown kind or axis, or a value that no point has.
            StoreError: the runs are no longer in the results folder.
        """
        return subject_frame(self, kind, at)

    def summary(self, by: str | None = None, *, at: AxisValues | None = None) -> pd.DataFrame:
        """Each measure at each point: mean of the replications and its interval.

        Measures that are 0 or empty everywhere are left out.

        Args:
            by: a kind of subjects, as for `by`; by default the measures are those of the host.
            at: values of axes; all points that have them.

        Returns:
            Columns: the axes; ``subject`` with ``by``; ``measure``, ``unit`` (us for times), ``mean``, ``low``, ``high`` (ends of the 95 % Student interval;
            NaN for one replication), for an ensemble ``prediction_low`` and ``prediction_high``; ``runs``.

        Raises:
            InputError: an unknown kind or axis, or a value that no point has.
            StoreError: with ``by``, the runs are no longer stored.
        """
        return summary_frame(self, by, at)

    def curve(
        self,
        *,
        x: str,
        y: str,
        of: str | None = None,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
        parts: int = 0,
    ) -> pd.DataFrame:
        """A measure against an axis, or against simulated time, as a tidy frame: the mean of the replications and its interval.

        Args:
            x: an axis, or ``time`` with ``parts``.
            y: a measure of the catalogue.
            of: subject of the measure: a traffic entry, a group of VMs, one VM (``web[3]``), or another kind of `by`; the host by default.
            by: axes that distinguish lines.
            at: values of the other axes; by default the first value of the sweep.
            parts: number of equal parts of each run, including warm-up; the measure is taken over each, and ``x`` is
            its middle in seconds.

        Returns:
            Columns ``by`` ..., ``x``, ``mean``, ``low`` and ``high`` (ends of the 95 % Student interval; NaN for one
            replication), for an ensemble ``prediction_low`` and ``prediction_high`` (of the 90 % prediction interval), in the unit of y, and ``runs``, in the order of the sweep; units in ``attrs["units"]``,
            the subject in ``attrs["of"]``.

        Raises:
            InputError: an unknown axis, measure or subject, or a value that the sweep does not have.
            StoreError: with ``of``, the runs are no longer in the results folder.
        """
        from hostsim.results.curve import curve_frame, curve_spec

        y = of_subject_name(y, of)
        table = self._over_time(x, y, parts) if self._is_over_time(x, parts) else self._with(y).table
        frame = curve_frame(table, curve_spec(table, x, y, by, at))
        if subject := parsed(y)[1]:
            frame.attrs["of"] = subject
        return frame

    def _is_over_time(self, x: str, parts: int) -> bool:
        """True for a curve over parts of runs; a missing number of parts is then a fault."""
        return bool(parts) or (x == "time" and x not in self.axes)

    def _over_time(self, x: str, y: str, parts: int) -> pd.DataFrame:
        """The table with a row for each part of each run, and simulated time as an axis."""
        from hostsim.results.curve import over_time

        if x in self.axes or not 2 <= parts <= MOST_PARTS:
            allowed = f"2 to {MOST_PARTS} parts, with an x that is not an axis: time"
            raise InputError(Fault("cannot divide runs into parts", "parts", str(parts), allowed))
        measured = self.with_measures(*part_names(y, parts))
        return over_time(measured.table, FigureSpec(y, x, y, parts=parts))[0]

    def _with(self, *names: str | None) -> Results:
        """The results with the named measures of subjects; other names are checked elsewhere."""
        return self.with_measures(*(name for name in names if name is not None and parsed(name)[1]))

    def record(self, at: AxisValues | None = None, replication: int = 0) -> RunRecord:
        """The record of the run at a point, for `hostsim.contexts`, `hostsim.series_frame` and the like.

        Args:
            at: values of axes; by default the first value of the sweep.
            replication: number of the run at the point, from 0.

        Raises:
            InputError: an unknown axis, value or replication.
            StoreError: the run is no longer stored.
        """
        from hostsim.results.curve import rows_at, rows_at_points

        rows_at(self.table, at or {})  # an unknown value is a fault
        rows = rows_at_points(self.table, at or {}, ())
        chosen = rows[rows["replication"] == replication]
        if chosen.empty:
            numbers = ", ".join(map(str, rows["replication"]))
            raise InputError(Fault("no such run", "replication", str(replication), f"one of {numbers}"))
        return self.record_of(str(chosen["point"].iloc[0]), replication)

    def record_of(self, point: str, replication: int) -> RunRecord:
        """The record of a replication of a point, by the point's id.

        Raises:
            InputError: the results do not have this record.
            StoreError: the run is no longer stored.
        """
        try:
            if isinstance(self.records, LazyRecords):
                return self.records.of(point, replication)
            return {(record.point_id, record.replication): record for record in self.records}[point, replication]
        except KeyError:
            raise InputError(
                Fault("the results do not have this record", given=f"{point}, replication {replication}")
            ) from None

    def to_xarray(self) -> Any:
        """The table as an ``xarray.Dataset``: a dimension for each axis and one for replications, a variable for each measure.

        ``to_xarray()["loss"].mean("replication").sel(rate=40_000).plot()`` draws with labels and units. Needs the extra ``hostsim[xarray]``.

        Returns:
            The dataset. Axes of quantities are numbers in their base unit, numeric axes are sorted; ``attrs`` have ``units``,
            ``long_name`` and ``description``, those of the dataset question and provenance. Cells without a run are NaN.

        Raises:
            InputError: xarray is not installed, or the axes have too many combinations.
        """
        from hostsim.results.table import to_dataset

        dataset = to_dataset(self.table)
        dataset.attrs |= {"question": self.question}
        return dataset

    def plot(
        self,
        name: str | None = None,
        *,
        x: str | None = None,
        y: str | None = None,
        of: str | None = None,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
        kind: Literal["line", "bar"] = "line",
        right: str | None = None,
        log: Literal["", "x", "y", "xy"] = "",
        answers: str | Sequence[str] = (),
        label: str | None = None,
        parts: int = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw a figure of the scenario, the first by default, or any curve or answers.

        Published values are drawn beside the means and their 95 % intervals.

        Args:
            name: of a figure of the scenario; instead of it, x and y, or answers, define a figure.
            x: an axis.
            y: a measure of the catalogue.
            of: subject of y, as for `curve`; the host by default.
            by: axes that distinguish lines or bars.
            at: values of the other axes; by default the first value of the sweep.
            kind: ``bar`` draws a group of bars at each value of x.
            right: a second measure, in a second panel on the right.
            log: logarithmic axes.
            answers: names of expectations, without other arguments: a row for each answer, with its interval, the published value and the
                accepted range.
            label: name of these results in a shared legend; by default the scenario with its changes.
            parts: as for `curve`, with ``x="time"``.
            ax: existing axes with drawn results: ``before.plot(...)``, then ``after.plot(..., ax=ax)`` gives each its
                own style and name. By default a new figure: of pyplot if that is in use, so that notebooks show it, else outside pyplot
                (``ax.figure.savefig(...)``).

        Raises:
            InputError: an unknown figure, axis, measure, expectation or value; answers in several units; existing axes with another axis,
                unit or kind.
        """
        from hostsim.results.curve import curve_spec

        figure: Figure
        measured = self
        if answers and (name, x, y, of, at, right) == (None,) * 6 and not (by or log):
            figure = self._answers(answers)
        elif answers:
            raise InputError(Fault("answers cannot be combined with other arguments", "answers", str(answers)))
        elif x is not None and y is not None and name is None:
            y = of_subject_name(y, of)
            measured = self._with(y, right)
            if self._is_over_time(x, parts):
                measured = replace(measured, table=self._over_time(x, y, parts))
            figure = replace(curve_spec(measured.table, x, y, by, at, kind, right, names_of(self.figures)), log=log)
        elif x is None and y is None and of is None and at is None and not (by or log):
            figure = self._figure(name)
        else:
            raise InputError(Fault("give a figure's name, or x and y with of, by and at, or answers", given=name or ""))
        return self._drawn(
            "figure.draw", measured.table, figure, published=self.verdicts, ax=ax, name=label or self.label
        )

    def save(self, folder: str | Path) -> list[Path]:
        """Write tables, facts and figures as a folder, as ``hostsim run`` does; `open_results`, ``hostsim plot`` and ``hostsim report`` read it.

        Records stay in the results folder.

        Args:
            folder: target; files of the same names are replaced.

        Returns:
            The files.

        Raises:
            StoreError: the folder cannot be written.
        """
        files: list[Path] = rich_view("report.folder").write(self, Path(folder))
        return files

    def report(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML page, as ``hostsim report`` does; returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        page = rich_view("report.page")
        written: Path = page.write_page(Path(path), [page.section(self, 0)], title=self.scenario)
        return written

    def explore(self, against: Results | str | Path | None = None) -> Explorer:
        """A page to explore the results: a notebook shows it, and ``save(path)`` writes a self-contained HTML file, as ``hostsim explore`` does.

        It draws any measure against any axis, with filters by brushing, and for each point worlds, latency stages, time lines and
        distribution, up to 3 MB.

        Args:
            against: earlier results of the scenario, or their folder, for a comparison with paired differences.

        Raises:
            InputError: the earlier results cannot be paired with these.
            StoreError: there are no earlier results.
        """
        explorer: Explorer = rich_view("explorer.data").explorer_of(self, against)
        return explorer

    def plot_cpu(self, *, at: AxisValues | None = None, ax: Axes | None = None) -> Axes:
        """Draw CPU time as a bar for each point: contexts by kind and owner, in percent of all PCPUs.

        Args:
            at: values of axes of the points; by default the last point of each series of the figures.
            ax: existing axes; see `plot`.

        Raises:
            InputError: an unknown axis, or a value that no point has.
        """
        bars = rich_view("report.breakdown").cpu_shares(self, at)
        return self._drawn("bars.draw_stacked_bars", bars, "CPU time (% of all PCPUs)", ax=ax)

    def plot_latency(self, *, at: AxisValues | None = None, ax: Axes | None = None) -> Axes:
        """Draw the stages of a round trip as a bar for each point, in microseconds; only for traffic of kind ``request_response``.

        Args:
            at: as for `plot_cpu`.
            ax: existing axes; see `plot`.

        Raises:
            InputError: an unknown axis, a value that no point has, or no point with such traffic.
        """
        bars = rich_view("report.breakdown").stage_times(self, at)
        if not bars:
            raise InputError(
                Fault("has no traffic of kind request_response, the only one with known stages", given=self.scenario)
            )
        return self._drawn("bars.draw_stacked_bars", bars, "Mean time of a round trip (µs)", ax=ax)

    def plot_cdf(
        self,
        of: str = "latency",
        *,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
        label: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the cumulative distribution of a time: the share of packets or requests that took no longer.

        It includes all replications of a point, without warm-up. `distribution` is the same as a frame.

        Args:
            of: ``latency``, ``response_time`` or ``work_time``; of one subject ``latency of feed``.
            by: axes that distinguish lines, and ``traffic`` or ``group``: a line for each traffic entry or group of VMs.
            at: values of the other axes; by default the first value of the sweep.
            label: name of these results in the legend; by default the scenario with its changes.
            ax: existing axes to add to; see `plot`.

        Raises:
            InputError: an unknown time or axis, a value that no point has, or no such time.
            StoreError: the runs are no longer stored.
        """
        return self._distribution("cdf", of, by, at, label, ax)

    def plot_histogram(
        self,
        of: str = "latency",
        *,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
        label: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the histogram of a time: the share of packets or requests in each bucket. Buckets of longer times are wider.

        Arguments and errors are those of `plot_cdf`.
        """
        return self._distribution("histogram", of, by, at, label, ax)

    def distribution(
        self, of: str = "latency", *, by: str | Sequence[str] = (), at: AxisValues | None = None
    ) -> pd.DataFrame:
        """The distribution of a time as a tidy frame, see `plot_cdf` for arguments and errors.

        Returns:
            A row for each bucket: ``by`` ..., ``low``, ``high`` (its ends), ``count``, ``share`` and ``cumulative`` (percent);
            units in ``attrs["units"]``.
        """
        from hostsim.results.distribution import distribution_frame

        return distribution_frame(self, of, by, at)

    def percentiles(
        self, of: str = "latency", *, by: str | Sequence[str] = (), at: AxisValues | None = None
    ) -> pd.DataFrame:
        """The percentiles of a time up to the 99.99th, with numbers of observations; arguments and errors as for `plot_cdf`.

        Returns:
            A row for each percentile: ``by`` ..., ``percentile``, ``value`` (of all replications together), ``low`` and ``high`` (95 % Student interval of the
            replications' own percentiles), ``count`` of observations, ``slices`` (time slices with observations beyond
            it) and ``note`` (on too few observations or time slices); units in ``attrs["units"]``.
        """
        from hostsim.results.distribution import percentiles_frame

        return percentiles_frame(self, of, by, at)

    def plot_series(
        self, counter: str, *, at: AxisValues | None = None, replication: int = 0, ax: Axes | None = None
    ) -> Axes:
        """Draw a counter of one run over simulated time, a line for each entity; the warm-up is shaded.

        Args:
            counter: full name, as in `hostsim.series_frame`: ``queue.inside`` (a level), ``guest.interrupts`` (drawn as a rate),
                ``pcpu.busy_ps`` (a time, drawn as a share of time).
            at: values of axes; by default the first value of the sweep.
            replication: number of the run at the point, from 0.
            ax: existing axes; see `plot`.

        Raises:
            InputError: an unknown counter, axis, value or replication, or a failed run.
            StoreError: the run is no longer stored.
        """
        return self._drawn("time_series.draw_time_series", self.record(at, replication), counter, ax=ax)

    def _distribution(
        self,
        kind: Literal["cdf", "histogram"],
        of: str,
        by: str | Sequence[str],
        at: AxisValues | None,
        label: str | None,
        ax: Axes | None,
    ) -> Axes:
        from hostsim.results.table import as_written

        frame = as_written(self.distribution(of, by=by, at=at))
        of, subject = parsed(of)
        keys = [by] if isinstance(by, str) else list(by)
        names = names_of(self.figures)
        series = []
        for rows in [rows for _, rows in frame.groupby(keys, sort=False)] if keys else [frame]:
            values = [(axis, rows[axis].iloc[0]) for axis in keys]
            words = [point_name(names, *value) if value[0] in self.axes else str(value[1]) for value in values]
            words += [subject] if subject else []
            own = [label or self.label] if label or ax is not None or not words else []
            series.append((", ".join([*own, *words]), rows))
        return self._drawn("time_series.draw_distribution", series, of, kind, ax=ax)

    @staticmethod
    def _drawn(function: str, *what: Any, ax: Axes | None, **options: Any) -> Axes:
        """Axes drawn by a function of `hostsim.views.plots`; without ``ax`` a notebook shows the new figure."""
        module, _, name = function.partition(".")
        make = rich_view("plots.style").shown_figure
        drawn: Axes = getattr(rich_view(f"plots.{module}"), name)(*what, ax=ax, make=make, **options)
        return drawn

    @property
    def label(self) -> str:
        """Name of these results in legends: the scenario with its changes."""
        changes = self.provenance.get("set", "")
        return f"{self.scenario}, {changes}" if changes else self.scenario

    def _figure(self, name: str | None) -> Figure:
        names = [figure.name for figure in self.figures]
        for figure in self.figures:
            if name in (None, figure.name):
                return figure
        named = f"{', '.join(names)}; or " if names else ""
        allowed = f"{named}x and y, for a curve of any measure"
        raise InputError(
            Fault("no such figure", given=name or "", allowed=allowed, nearest=nearest_name(name or "", names))
        )

    def _answers(self, answers: str | Sequence[str]) -> AnswersSpec:
        figure = AnswersSpec("answers", (answers,) if isinstance(answers, str) else tuple(answers))
        rich_view("plots.answer_dots").require_answers(figure, self.verdicts)
        return figure

    def _repr_html_(self) -> str:
        page: str = rich_view("notebook.page").results_html(self)
        return page

    def __repr__(self) -> str:
        points, failed = self.table["point"].nunique(), len(self.failed)
        fidelity = "quick" if self.quick else "full"
        words = f"{points} points, {len(self.table)} runs{f', {failed} failed' if failed else ''}, {fidelity} fidelity"
        return f"<Results of {self.scenario}: {words}>"
