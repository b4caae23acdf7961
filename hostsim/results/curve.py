"""Curves: a measure against an axis as a tidy frame, deterministic points, and the data behind a figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from hostsim.engine.record import AxisValues
from hostsim.errors import Fault, InputError, nearest_name, raise_faults, unknown_name
from hostsim.results.estimate import DETERMINISTIC, Interval, prediction_interval, replication_interval, student
from hostsim.results.expect import Difference, Ratio, Verdict
from hostsim.results.figure import AnswersSpec, AxisNames, Figure, FigureSpec, TableSpec, point_name
from hostsim.results.metrics.catalogue import CATALOGUE, nearest_metric, unit_of
from hostsim.results.metrics.subject import part_names
from hostsim.results.table import as_numbers, as_written, axes_of, is_of_ensemble, is_value

__all__ = [
    "PairedContrast",
    "answers_frame",
    "bars_frame",
    "curve_frame",
    "curve_spec",
    "deterministic_note",
    "figure_frame",
    "figure_rows",
    "interval_cells",
    "intervals_of",
    "is_partial",
    "is_percentile",
    "measure_intervals",
    "over_time",
    "paired_contrasts",
    "require_axes",
    "require_figure",
    "rows_at",
    "rows_at_points",
    "table_frame",
    "y_unit",
]


def deterministic_note(count: int) -> str:
    """The note on a value of several equal replications."""
    equal = f"{count} replications equal to the last digit"
    return f"{DETERMINISTIC}: {equal}, the interval has zero width because nothing is random"


def curve_spec(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str | Sequence[str] = (),
    at: AxisValues | None = None,
    kind: Literal["line", "bar"] = "line",
    right: str | None = None,
    axes: Mapping[str, AxisNames] | None = None,
) -> FigureSpec:
    """The figure specification of a curve, checked against a table.

    Args:
        table: one row for each point and replication.
        x: an axis.
        y: a measure of the catalogue, or another column of numbers.
        by: axes that distinguish lines.
        at: values of the other axes; the first value of the sweep by default.
        kind: lines, or groups of bars.
        right: a second measure, on the right-hand axis.
        axes: names of axes and of their values, see `hostsim.results.figure.names_of`.

    Raises:
        InputError: an unknown axis, measure, or value of the sweep, or a value of an axis that is drawn.
    """
    series = (by,) if isinstance(by, str) else tuple(by)
    figure = FigureSpec(f"{y} against {x}", x, y, series, dict(at or {}), kind, right, axes=axes or {})
    require_figure(table, figure, is_asked=True)
    rows_at(table, figure.at)  # an unknown value is a fault
    drawn = (x, *series)
    raise_faults(
        Fault("has all values as x or in by, and cannot have one", f"at {axis}", repr(value), _others(table, drawn))
        for axis, value in figure.at.items()
        if axis in drawn
    )
    return figure


def _others(table: pd.DataFrame, drawn: Sequence[str]) -> str:
    others = [axis for axis in axes_of(table) if axis not in drawn]
    return f"values of {', '.join(others)}" if others else "no value, as every axis is drawn"


def require_axes(table: pd.DataFrame, names: Sequence[str], besides: Sequence[str] = ()) -> None:
    """Check that a table has some axes.

    Args:
        table: one row for each point and replication.
        names: of axes.
        besides: other allowed names, for the error.

    Raises:
        InputError: with all missing ones.
    """
    axes = [*axes_of(table), *besides]
    raise_faults(unknown_name("axis", "by", name, axes) for name in names if name not in axes)


def require_figure(table: pd.DataFrame, figure: FigureSpec, *, is_asked: bool = False) -> None:
    """Check that a table has the axes of a figure, and the catalogue its measures.

    Args:
        table: one row a point and replication.
        figure: the figure to draw.
        is_asked: True if the figure was made from arguments of a call, which faults then name; False for a figure from
            a file.

    Raises:
        InputError: with all missing ones.
    """
    axes = axes_of(table)
    axes_of_figure = [("x", figure.x), *(("by", name) for name in figure.series)]
    axes_of_figure += [("at", name) for name in (*figure.at, *figure.reference)]
    faults = [
        Fault(
            "unknown axis",
            word if is_asked else f"figures.{figure.name}",
            name,
            ", ".join(axes),
            nearest_name(name, axes),
        )
        for word, name in axes_of_figure
        if name not in axes
    ]
    for word, metric in (
        ("y", figure.y),
        ("right", figure.right),
        ("per", figure.per),
        *(("y", m) for m in figure.stack),
    ):
        if metric is not None and metric not in CATALOGUE and not _is_own(table, metric):
            allowed = (
                "a name of hostsim.CATALOGUE, or a column of the table" if is_asked else "a name that `metrics` lists"
            )
            where = word if is_asked else f"figures.{figure.name}"
            faults.append(Fault("unknown metric", where, metric, allowed, nearest_metric(metric)))
    raise_faults(faults)


def rows_at(table: pd.DataFrame, at: AxisValues, place: str = "at") -> pd.DataFrame:
    """The rows of a table at given values of axes; values are given as written (``"40 kpps"``, ``1`` or ``"1"``), or as numbers in the unit of the axis.

    Args:
        table: one row a point and replication.
        at: value by axis.
        place: location that a fault reports.

    Raises:
        InputError: an unknown axis, or a value that no point has.
    """
    axes, rows = axes_of(table), table
    for axis, value in at.items():
        if axis not in axes:
            raise InputError(unknown_name("axis", place, axis, axes))
        written = as_written(rows)[axis]
        labels = list(dict.fromkeys(written.astype(str)))
        rows = rows[is_value(written, value)]
        if rows.empty:
            raise InputError(Fault("no point is there", f"{place} {axis}", repr(value), "one of " + ", ".join(labels)))
    return rows


def figure_rows(table: pd.DataFrame, figure: FigureSpec) -> pd.DataFrame:
    """The finished runs at the points of a figure, with axes as in the scenario and any derived measure in column y.

    Differences and ratios are paired with the replications of the reference point; runs without a pair, and the
    reference point, are left out.
    """
    drawn = (figure.x, *figure.series)
    rows = _finished(rows_at_points(table, figure.at, drawn))
    if not figure.reference:
        return _divided(rows, figure)
    own = [axis for axis in drawn if axis not in figure.reference]
    reference = _finished(rows_at_points(table, {**figure.at, **figure.reference}, own))
    keys = [*own, "replication"]
    is_reference = rows["point"].isin(reference["point"])
    pairs = _divided(rows[~is_reference], figure).merge(
        _divided(reference, figure)[[*keys, figure.y]], on=keys, suffixes=("", " there")
    )
    here, there = pairs[figure.y], pairs[f"{figure.y} there"]
    return pairs.assign(**{figure.y: _over(here, there) if figure.to else (here - there).mask(here == there, 0.0)})


def over_time(table: pd.DataFrame, figure: FigureSpec) -> tuple[pd.DataFrame, FigureSpec]:
    """The table of a figure against simulated time, with a row for each part of a run, and the figure for it.

    The axis is the middle of the part. Both are unchanged if the figure's x is already an axis.

    Args:
        table: one row a point and replication, with a column for each measure of the figure in each part.
        figure: of a scenario.

    Raises:
        InputError: the table has no such columns.
    """
    if not figure.parts:
        return table, figure
    written, names = as_written(table), figure.measures
    columns = {name: part_names(name, figure.parts) for name in names}
    if missing := [
        column for columns_of_y in columns.values() for column in columns_of_y if column not in table.columns
    ]:
        allowed = "results of this version, with the runs in their folder"
        raise InputError(Fault("the table has no parts of runs", f"figures.{figure.name}", missing[0], allowed))
    index = list(table.columns).index("seed") + 1 + len(axes_of(table))
    heads = list(table.columns)[:index]
    rest = [name for name in table.columns if name not in heads and name not in CATALOGUE]
    # a precision target lengthens some replications of a point, whose parts are at other times
    lengths = written.groupby(axes_of(table) or ["point"], dropna=False)["length_s"]
    usual = lengths.transform(lambda seconds: seconds.mode().max())
    written = written[written["length_s"].isna() | (written["length_s"] == usual)]
    rows_of_lines = []
    for part in range(figure.parts):
        middle = (part + 0.5) / figure.parts * written["length_s"]
        own = {name: written[columns[name][part]] for name in names}
        time = {figure.x: [f"{seconds:.6g} s" for seconds in middle]}
        rows_of_lines.append(
            pd.concat([written[heads], pd.DataFrame(time | own, index=written.index), written[rest]], axis=1)
        )
    whole = pd.concat(rows_of_lines, ignore_index=True)
    whole.attrs = dict(written.attrs)
    return whole, replace(figure, parts=0)


def is_partial(table: pd.DataFrame, figure: FigureSpec) -> bool:
    """True if a run failed at a point of the figure."""
    rows = rows_at_points(table, figure.at, (figure.x, *figure.series))
    return len(rows) > len(_finished(rows))


def curve_frame(table: pd.DataFrame, figure: FigureSpec) -> pd.DataFrame:
    """The left-hand measure of a figure as a tidy frame: the axes of its series, x, ``mean``, ``low``, ``high``, ``runs``.

    For an ensemble, ``low`` and ``high`` are the ends of the replication's interval; ``prediction_low`` and ``prediction_high`` precede ``runs``
    (`hostsim.results.estimate`). Both ends are NaN with a single run or for an unbounded value; a percentile that is
    not estimable has only NaN.
    """
    rows = figure_rows(table, figure)
    keys = [*figure.series, figure.x]
    ranks = [{value: rank for rank, value in enumerate(dict.fromkeys(rows[key]))} for key in keys]
    groups = [(at, group) for at, group in rows.groupby(keys, sort=False)]
    names = ["mean", "low", "high", *(("prediction_low", "prediction_high") if is_of_ensemble(table) else ())]
    groups.sort(key=lambda entry: [rank[value] for rank, value in zip(ranks, entry[0], strict=True)])
    cells = []
    for at, group in groups:
        is_measured = group[figure.y].notna()
        if is_measured.all() or (is_measured.any() and not is_percentile(figure.y)):
            numbers = interval_cells(intervals_of(group[is_measured], figure.y, signed=bool(figure.less)))
        else:
            numbers = [np.nan] * len(names)
        cells.append((*at, *numbers, len(group)))
    frame = pd.DataFrame(cells, columns=[*keys, *names, "runs"])
    frame.attrs["units"] = dict.fromkeys(names, y_unit(table, figure))
    return as_numbers(frame, keys)


def intervals_of(rows: pd.DataFrame, measure: str, *, signed: bool = False) -> list[Interval]:
    """The intervals of a measure at a point: Student's, or for an ensemble those of replications and prediction.

    Args:
        rows: of finished runs, at least one.
        measure: column of the rows, without NaN.
        signed: the measure may be negative, like a difference; otherwise predictions are cut at 0, and those of a share in percent at 100.
    """
    values = dict(zip(rows["replication"], rows[measure], strict=True))
    return measure_intervals(values, unit_of(measure), ensemble=is_of_ensemble(rows), signed=signed)


def interval_cells(intervals: Sequence[Interval]) -> list[float]:
    """Cells of a frame: the mean, and both ends of each interval, NaN for an unbounded one."""
    ends = (end for interval in intervals for end in (interval.low, interval.high))
    return [intervals[0].mean, *(end if math.isfinite(end) else math.nan for end in ends)]


def measure_intervals(
    values: Mapping[int, float], unit: str, *, ensemble: bool, signed: bool = False
) -> list[Interval]:
    """The intervals of `intervals_of` for values by replication.

    Args:
        values: at least one, without NaN.
        unit: of the values; predictions of a share in percent are cut at 100.
        ensemble: the replications are runs of several hosts.
        signed: the measure may be negative.
    """
    if not ensemble:
        return [student(list(values.values()))]
    least = -math.inf if signed or min(values.values()) < 0 else 0.0
    most = 100.0 if unit == "%" and not signed else math.inf
    return [replication_interval(values), prediction_interval(values, least, most)]


@dataclass(frozen=True)
class PairedContrast:
    """A paired ratio or difference of two points whose intervals in the figure contradict a verdict."""

    points: tuple[tuple[str, float], tuple[str, float]]
    """The value of x, as written, and the mean of each point."""
    words: str
    """``paired: interrupts=1000 / interrupts=16000: 0.811 [0.81, 0.812]``."""


def paired_contrasts(table: pd.DataFrame, figure: FigureSpec, verdicts: Iterable[Verdict]) -> Iterator[PairedContrast]:
    """The paired contrasts that a figure needs beside its intervals to agree with the verdicts on its points.

    Intervals of two points may overlap although their difference is certain, because common random numbers cancel, or be disjoint
    by chance although it is not. Each such ratio or difference of the figure's measure has a contrast.

    Args:
        table: one row a point and replication.
        figure: a curve.
        verdicts: of the scenario.
    """
    if figure.per is not None or figure.reference or figure.stack:
        return
    rows = figure_rows(table, figure)
    for verdict in verdicts:
        match verdict.expectation.form:
            case Ratio(metric=figure.y, of=dict() as of, to=dict() as to, at=at):
                sides, neutral, sign = ({**at, **of}, {**at, **to}), 1.0, "/"
            case Difference(metric=figure.y, at=at, less=less):
                sides, neutral, sign = (dict(at), dict(less)), 0.0, "−"
            case _:
                continue
        value, low, high = verdict.value, verdict.ci_low, verdict.ci_high
        drawn = [rows[rows["point"].isin(rows_at_points(table, side, ())["point"])] for side in sides]
        if any(part.empty or part[figure.y].isna().any() for part in drawn):
            continue
        if value is None or low is None or high is None:
            continue
        one, other = (intervals_of(part, figure.y)[0] for part in drawn)
        is_apart = one.low > other.high or one.high < other.low
        if is_apart == (low > neutral or high < neutral):
            continue
        firsts = [part.iloc[0] for part in drawn]
        varied = [axis for axis in (figure.x, *figure.series) if firsts[0][axis] != firsts[1][axis]]
        names = [", ".join(point_name(figure.axes, axis, first[axis]) for axis in varied) for first in firsts]
        numbers = f"{value:.3g} [{low:.3g}, {high:.3g}]"
        places = (str(firsts[0][figure.x]), one.mean), (str(firsts[1][figure.x]), other.mean)
        yield PairedContrast(places, f"paired: {names[0]} {sign} {names[1]}: {numbers}")


def y_unit(table: pd.DataFrame, figure: FigureSpec) -> str:
    """Unit of the left-hand measure, from the catalogue or the table's ``attrs["units"]``."""
    if figure.to:
        return "ratio"
    units = {**table.attrs.get("units", {}), **{name: metric.unit for name, metric in CATALOGUE.items()}}
    unit = str(units.get(figure.y, ""))
    return unit if figure.per is None else f"{unit} per {units.get(figure.per, '')}"


def is_percentile(metric: str) -> bool:
    """True for a measure that is not estimable with too few observations."""
    return metric in CATALOGUE and CATALOGUE[metric].least > 1


def _is_own(table: pd.DataFrame, name: str) -> bool:
    """True for a column of numbers that a user added to a table."""
    return name in table.columns and name not in axes_of(table) and bool(table[name].dtype.kind in "fiu")


def _divided(rows: pd.DataFrame, figure: FigureSpec) -> pd.DataFrame:
    """The rows with y divided by another metric, if any."""
    return rows if figure.per is None else rows.assign(**{figure.y: _over(rows[figure.y], rows[figure.per])})


def _over(part: pd.Series[Any], whole: pd.Series[Any]) -> pd.Series[Any]:
    """One measure over another; NaN if that is 0."""
    return part / whole.where(whole != 0)


def _finished(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["error"].isna() | (rows["error"] == "")]


def rows_at_points(table: pd.DataFrame, at: AxisValues, free: Sequence[str]) -> pd.DataFrame:
    """The rows at values of axes, by default the first of the table, including failed runs.

    Args:
        table: one row a point and replication.
        at: values of axes.
        free: axes with all their values.
    """
    rows = table = as_written(table)
    for axis in axes_of(table):
        if axis not in free and len(rows):
            rows = rows[is_value(rows[axis], at.get(axis, table[axis].iloc[0]))]
    return rows


def figure_frame(table: pd.DataFrame, figure: Figure, verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """The numbers of a figure as a tidy frame.

    Args:
        table: one row a point and replication.
        figure: a figure or table.
        verdicts: of the scenario, for a figure of answers.

    Returns:
        For a curve: the axes, ``measure``, ``unit``, ``mean``, ``low``, ``high``, ``runs``. For answers: `answers_frame`. For a table of metrics: `table_frame`.
    """
    match figure:
        case FigureSpec():
            table, figure = over_time(table, figure)
            plain = replace(figure, per=None, less={}, to={})
            others = [replace(plain, y=name) for name in (*figure.stack, figure.right) if name is not None]
            frames = []
            for drawn in (figure, *others):
                frame = curve_frame(table, drawn)
                index = list(frame.columns).index("mean")
                frame.insert(index, "measure", drawn.y_label if drawn is figure else drawn.y)
                frame.insert(index + 1, "unit", y_unit(table, drawn))
                frames.append(frame)
            return pd.concat(frames, ignore_index=True)
        case AnswersSpec() | TableSpec() if figure.answers:
            return answers_frame(figure.answers, verdicts)
        case TableSpec():
            return table_frame(table, figure)
    raise AssertionError(figure)


def answers_frame(names: Sequence[str], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Answers to expectations beside published values, a row each; without numbers if there is no verdict."""
    by_name = {verdict.expectation.name: verdict for verdict in verdicts}
    is_predicted = any(verdict.prediction for verdict in by_name.values())
    rows = []
    for name in names:
        verdict = by_name.get(name)
        expectation = verdict.expectation if verdict else None
        prediction = verdict.prediction if verdict else None
        ends = {f"prediction_{end}": getattr(prediction, end, None) for end in ("low", "high")}
        rows.append(
            {
                "answer": name,
                "unit": expectation.counted_in if expectation else "",
                "published": expectation.published if expectation and expectation.is_claim else "",
                "value": verdict.value if verdict else None,
                "low": verdict.ci_low if verdict else None,
                "high": verdict.ci_high if verdict else None,
                "accepted_low": expectation.band.low if expectation else None,
                "accepted_high": expectation.band.high if expectation else None,
                "verdict": verdict.state.value if verdict else "missing",
                **(ends if is_predicted else {}),
            }
        )
    return pd.DataFrame(rows)


def table_frame(table: pd.DataFrame, figure: TableSpec) -> pd.DataFrame:
    """The means of a table of metrics with their intervals: the axis, ``measure``, ``unit``, ``mean``, ``low``, ``high``, ``runs``."""
    curves = []
    for metric in figure.columns:
        frame = curve_frame(table, FigureSpec(figure.name, figure.x, metric, at=figure.at))
        frame.insert(1, "measure", metric)
        frame.insert(2, "unit", CATALOGUE[metric].unit)
        curves.append(frame)
    return pd.concat(curves, ignore_index=True)


def bars_frame(bars: Sequence[tuple[str, Mapping[str, float]]]) -> pd.DataFrame:
    """The parts of stacked bars: ``point``, ``part``, ``value``."""
    rows = [(point, part, value) for point, parts in bars for part, value in parts.items()]
    return pd.DataFrame(rows, columns=["point", "part", "value"])
