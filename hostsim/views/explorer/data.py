"""Data of the explorer page: rows, measures, published values and details of points as JSON."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hostsim.config.quantity import common_unit, number_in
from hostsim.engine.record import AxisValues, RunRecord
from hostsim.errors import HostsimError
from hostsim.results.by_subject import SHOWN
from hostsim.results.compare import baseline_folder, read_baseline, require_axes
from hostsim.results.curve import is_percentile, measure_intervals
from hostsim.results.distribution import TIMES, added
from hostsim.results.estimate import Interval
from hostsim.results.expect import At, Band, Find, Form, Verdict, Worst
from hostsim.results.figure import FigureSpec, names_of
from hostsim.results.folder import rerun_command
from hostsim.results.metrics.catalogue import CATALOGUE, label_of, spelt, unit_of
from hostsim.results.metrics.subject import OF, of_subject_name, parsed
from hostsim.results.record_frame import is_level, rates
from hostsim.results.results import Explorer, Results
from hostsim.results.table import as_written, axes_of, is_of_ensemble, is_value
from hostsim.results.verdicts import band_text, interval_text, outcome, published_text, value_text
from hostsim.units import SECOND
from hostsim.views.plots.axis import numbers_of, shown_unit
from hostsim.views.plots.style import LOOKS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_BYTES", "Side", "explorer_data", "explorer_of", "write_explorer"]

MOST_BYTES = 1_700_000
"""Size budget of measures and details, which keeps a page with the chart library below 3 MB."""
_SHARE = 0.75
"""Largest share of the budget for measures."""
_STEPS = 120
"""Largest number of points of a distribution."""
_SERIES = {
    "pcpu.busy_ps": "CPU time of a PCPU, mean of all (%)",
    "netpoll.used_ps": "CPU time of NetPoll worlds (% of a PCPU)",
    "splitrx.used_ps": "CPU time of split-receive worlds (% of a PCPU)",
    "networld.used_ps": "CPU time of NetWorlds (% of a PCPU)",
    "vcpu.used_ps": "CPU time of vCPUs (% of a PCPU)",
    "vcpu.ready_ps": "Ready time of vCPUs (% of a vCPU)",
    "queue.inside": "Packets in the fullest receive queue",
    "queue.dropped": "Packets dropped at receive queues (1/s)",
    "port.split_inside": "Packets in the fullest split-receive queue",
    "port.split_dropped": "Packets dropped at split-receive queues (1/s)",
    "port.ring_inside": "Packets in the fullest vNIC ring",
    "port.ring_dropped": "Packets dropped at vNIC rings (1/s)",
    "guest.unread": "Packets in the fullest socket buffer",
    "guest.socket_dropped": "Packets dropped at socket buffers (1/s)",
    "guest.interrupts": "Virtual interrupts (1/s)",
    "tx.inside": "Packets in the fullest transmit ring",
    "tx.dropped": "Packets dropped on transmit (1/s)",
    "nic.rx_frames": "Frames received (1/s)",
    "nic.tx_frames": "Frames sent (1/s)",
    "flow.delivered": "Packets delivered to applications (1/s)",
}
"""Counters over time, aggregated over all entities: the maximum for levels, the sum for others."""
_CONTEXT = ("kind", "name", "serves", "node", "used", "ready", "dispatches", "packets", "dropped", "fill")


_Key = tuple[str, ...]
"""A point, identified by the texts of its values."""


@dataclass(frozen=True)
class Side:
    """Results on the page, or the earlier results for comparison."""

    results: Results
    name: str
    """Name in headings and legends."""
    folder: str = ""
    """Folder for commands on the page; empty for results of a notebook."""


@dataclass(frozen=True)
class _Runs:
    """Runs of results by point; a point is a combination of axis values."""

    table: pd.DataFrame
    places: dict[_Key, list[int]]
    """Runs of each point by replication, in the order of the sweep."""
    finished: dict[_Key, list[int]]
    """Finished runs."""

    def column(self, name: str) -> list[Any]:
        """A column of the table; empty if missing."""
        return self.table[name].tolist() if name in self.table.columns else []


def explorer_data(now: Side, before: Side | None = None) -> dict[str, Any]:
    """Collect the data of a page, as plain values for JSON.

    Measures used by figures and expectations come first. If the sweep is too large for a page, the last measures are
    omitted (``left_out``). Details of points are added in the order of the sweep until the budget is used up.

    Args:
        now: the results.
        before: earlier results of the same scenario to compare with.

    Raises:
        InputError: the axes of the two differ.
    """
    sides = [_with_subjects(side) for side in ((now,) if before is None else (before, now))]
    now = sides[-1]
    axes = axes_of(now.results.table)
    tables = [as_written(side.results.table) for side in sides]
    if before is not None:
        require_axes(before.results.table, axes, "earlier")
        require_axes(now.results.table, axes, "later")
    texts = {axis: _texts(tables[::-1], axis) for axis in axes}
    rows = [_runs(table, axes) for table in tables]
    keys = list(dict.fromkeys(key for runs in reversed(rows) for key in runs.places))
    places = {axis: {text: index for index, text in enumerate(values)} for axis, values in texts.items()}
    measures, columns, differences, left_out, spent = _measures(sides, rows, keys)
    details, with_details, missing = _details(sides, rows, keys, MOST_BYTES - spent)
    return {
        "scenario": now.results.scenario,
        "question": now.results.question,
        "caveat": now.results.caveat,
        "quick": now.results.quick,
        "ensemble": is_of_ensemble(now.results.table),
        "sides": [_side(side) for side in sides],
        "axes": [_axis(now.results, axis, texts[axis]) for axis in axes],
        "subjects": list(dict.fromkeys(measure["of"] for measure in measures)),
        "measures": measures,
        "left_out": left_out,
        "count": len(keys),
        "rows": _packed_json({"axes": [[places[axis][key[index]] for key in keys] for index, axis in enumerate(axes)]}),
        "columns": columns,
        "differences": differences,
        "known": [
            _packed_json(_run_properties(runs, keys, side.results.bottlenecks))
            for runs, side in zip(rows, sides, strict=True)
        ],
        "claims": [_claim(verdict, texts, quick=now.results.quick) for verdict in now.results.verdicts],
        "details": details,
        "with_details": with_details,
        "missing": missing,
        "context_columns": _CONTEXT,
        "series": _SERIES,
        "times": {name: f"{time.label} ({shown_unit(time.unit)})" for name, time in TIMES.items()},
        "stages": [name for name in CATALOGUE if name.startswith("stage_")],
        "start": _start(now.results, texts),
        "looks": [look.colour for look in LOOKS],
    }


def _with_subjects(side: Side) -> Side:
    """Results with the main measures of VM groups or traffic entries as columns; unchanged if the runs are not stored."""
    subjects = side.results.subjects
    for is_qualified in (False, True):  # a VM group and a traffic entry may have the same name
        shown = [
            of_subject_name(measure, f"{kind} {subject}" if is_qualified else str(subject))
            for (kind, subject), rows in subjects.groupby(["kind", "subject"], sort=False)
            for measure in SHOWN
            if rows[measure].fillna(0.0).ne(0.0).any()
        ]
        with contextlib.suppress(HostsimError):  # no stored record, or none with separate packet counts
            return replace(side, results=side.results.with_measures(*shown))
    return side


def _texts(tables: Iterable[pd.DataFrame], axis: str) -> list[str]:
    """The values of an axis as written: numbers and quantities are sorted, others keep the order of the sweep."""
    texts_of_axis = list(dict.fromkeys(str(value) for rows in tables for value in rows[axis]))
    numbers, _ = _axis_numbers(texts_of_axis)
    return texts_of_axis if numbers is None else [text for _, text in sorted(zip(numbers, texts_of_axis, strict=True))]


def _axis_numbers(texts: Sequence[str]) -> tuple[list[float] | None, str]:
    """The values of an axis as numbers, and their unit: that of figures, or the base unit of values in several units.

    None unless all are numbers.
    """
    numbers, unit = numbers_of(texts)
    if numbers is not None:
        return [numbers[text] for text in texts], unit
    unit = common_unit(texts)
    in_base = [number_in(unit, text) for text in texts] if unit else []
    converted = [number for number in in_base if number is not None]
    return (converted, unit) if converted else (None, "")


def _runs(table: pd.DataFrame, axes: Sequence[str]) -> _Runs:
    """The runs of a table, with axis values as written in the scenario."""
    keys: list[_Key] = list(zip(*(map(str, table[axis]) for axis in axes), strict=True)) if axes else [()] * len(table)
    replications, errors = table["replication"].tolist(), table["error"].tolist()
    places: dict[_Key, list[int]] = {}
    for index, key in enumerate(keys):
        places.setdefault(key, []).append(index)
    for runs in places.values():
        runs.sort(key=replications.__getitem__)
    finished = {key: [row for row in runs if not errors[row]] for key, runs in places.items()}
    return _Runs(table, places, finished)


def _side(side: Side) -> dict[str, Any]:
    results = side.results
    provenance = {name: value for name, value in results.provenance.items() if name != "set"}
    return {
        "name": side.name,
        "folder": side.folder,
        "command": rerun_command(vars(results)),
        "changed": results.provenance.get("set", ""),
        "provenance": provenance,
        "warnings": list(results.warnings),
    }


def _axis(results: Results, axis: str, texts: list[str]) -> dict[str, Any]:
    """An axis: label, unit, and text, name and (if all are numbers) number of each value."""
    names = names_of(results.figures).get(axis)
    labels = {} if names is None else names.values  # noqa: PD011  of an axis, not of a frame
    numbers, unit = (None, "") if any(text in labels for text in texts) else _axis_numbers(texts)
    return {
        "name": axis,
        "label": names.label if names is not None and names.label else spelt(axis).capitalize(),
        "unit": shown_unit(unit),
        "texts": texts,
        "names": [labels.get(text, text) for text in texts],
        "numbers": numbers,
    }


def _measures(
    sides: Sequence[Side], rows: Sequence[_Runs], keys: Sequence[_Key]
) -> tuple[list[dict[str, Any]], list[dict[str, str]], dict[str, str], list[str], int]:
    """Measures with their packed columns, differences, the names of those left out, and the number of bytes."""
    now = sides[-1].results
    of_subjects = [name for side in sides for name in side.results.table.columns if OF in name]
    names = [
        name
        for name in dict.fromkeys([*CATALOGUE, *of_subjects])
        if any(_is_measured(side.results.table, name) for side in sides)
    ]
    first = [name for name in _used(now) if name in names]
    ensemble = is_of_ensemble(now.table)
    shown: list[dict[str, Any]] = []
    columns: list[dict[str, str]] = [{} for _ in sides]
    differences: dict[str, str] = {}
    left_out: list[str] = []
    spent = 0
    for name in dict.fromkeys([*first, *names]):
        values = [_values(table, name) for table in rows]
        packed = [
            _packed_column([_interval(name, side.get(key), ensemble=ensemble) for key in keys]) for side in values
        ]
        apart = ""
        if len(sides) == 2:
            pairs = [_difference(values[1].get(key), values[0].get(key)) for key in keys]
            apart = _packed_column([_interval(name, pair, ensemble=ensemble, signed=True) for pair in pairs])
        size = sum(map(len, packed)) + len(apart)
        if shown and spent + size > _SHARE * MOST_BYTES:
            left_out.append(name)
            continue
        spent += size
        for column, text in zip(columns, packed, strict=True):
            column[name] = text
        if apart:
            differences[name] = apart
        about = {"name": name, "label": label_of(name), "unit": unit_of(name), "meaning": CATALOGUE[name].meaning}
        shown.append({**about, "first": name in first, "of": parsed(name)[1]})
    return shown, columns, differences, left_out, spent


def _is_measured(table: pd.DataFrame, name: str) -> bool:
    return name in table.columns and bool(table[name].notna().any())


def _used(results: Results) -> Iterator[str]:
    """Measures used by a scenario's figures and expectations."""
    for figure in results.figures:
        if isinstance(figure, FigureSpec):
            yield from (name for name in (figure.y, *figure.stack, figure.right, figure.per) if name)
    for verdict in results.verdicts:
        form = verdict.expectation.form
        yield from (form.metric,) if isinstance(form, Find) else form.metrics


def _values(runs: _Runs, name: str) -> dict[_Key, dict[int, float]]:
    """The values of a measure for each point by replication; empty for a point without finished runs."""
    column, replications = runs.column(name), runs.column("replication")
    if not column:
        return {}
    return {key: {replications[row]: float(column[row]) for row in rows} for key, rows in runs.finished.items()}


def _interval(
    name: str, values: Mapping[int, float] | None, *, ensemble: bool, signed: bool = False
) -> list[Interval] | None:
    """The intervals of a measure at a point, by the rules of `hostsim.results.curve.curve_frame`; None without a value."""
    if not values:
        return None
    finite = {replication: value for replication, value in values.items() if not math.isnan(value)}
    if not finite or (len(finite) < len(values) and is_percentile(name)):
        return None
    return measure_intervals(finite, unit_of(name), ensemble=ensemble, signed=signed)


def _difference(now: Mapping[int, float] | None, before: Mapping[int, float] | None) -> dict[int, float] | None:
    """Paired differences by replication; the difference of equal infinite values is 0."""
    if now is None or before is None:
        return None
    common = [replication for replication in now if replication in before]
    return {r: 0.0 if now[r] == before[r] else now[r] - before[r] for r in common}


def _packed_column(intervals: Sequence[list[Interval] | None]) -> str:
    """A packed column: means, half-widths, and ends of prediction intervals if any."""
    means = [math.nan if pair is None else pair[0].mean for pair in intervals]
    halves = [math.nan if pair is None else pair[0].half for pair in intervals]
    column = {"mean": _numbers(means, 6), "half": _numbers(halves, 3, none=math.inf)}
    if any(pair is not None and len(pair) > 1 for pair in intervals):
        for end in ("low", "high"):
            ends = [getattr(pair[1], end) if pair else math.nan for pair in intervals]
            column[f"p{end}"] = _numbers(ends, 4)
    return _packed("{" + ",".join(f'"{name}":{text}' for name, text in column.items()) + "}")


def _numbers(values: Iterable[float], digits: int, none: float = math.nan) -> str:
    """A JSON list of numbers; NaN is null, and infinity is a number that overflows to Infinity in JavaScript."""

    def text(value: float) -> str:
        if math.isnan(value) or value == none:
            return "null"
        return ("1e999" if value > 0 else "-1e999") if math.isinf(value) else f"{value:.{digits}g}"

    return "[" + ",".join(map(text, values)) + "]"


def _packed(text: str) -> str:
    """A text as raw deflate in base64, for a browser's `DecompressionStream`."""
    return base64.b64encode(zlib.compress(text.encode(), 9, -15)).decode()


def _packed_json(value: Any) -> str:
    return _packed(json.dumps(value, separators=(",", ":")))


def _run_properties(side_runs: _Runs, keys: Sequence[_Key], limits: pd.DataFrame) -> dict[str, Any]:
    """Properties of each point other than metrics: numbers of runs and failed runs, bottlenecks, flags.

    Args:
        side_runs: the runs.
        keys: points.
        limits: `Results.bottlenecks`; without rows, the bottleneck of the first finished run counts.
    """
    bottleneck, flag, ids = side_runs.column("bottleneck"), side_runs.column("flags"), side_runs.column("point")
    runs = [len(side_runs.places.get(key, ())) for key in keys]
    finished = [side_runs.finished.get(key, []) for key in keys]
    own = {
        subject: dict(
            zip(rows["point"], zip(rows["bottleneck"], rows["reason"] + " " + rows["relief"], strict=True), strict=True)
        )
        for subject, rows in limits.groupby("subject", sort=False)
    }
    hosts = own.pop("", {})
    of_host = [
        hosts.get(ids[places[0]], (str(bottleneck[places[0]]), "")) if places and bottleneck else ("", "")
        for places in finished
    ]
    of_subjects = {
        subject: [by_point.get(ids[places[0]], ("", ""))[0] if places else "" for places in finished]
        for subject, by_point in own.items()
    }
    flags = ["; ".join(dict.fromkeys(word for row in places for word in _words(flag[row]))) for places in finished]
    host, reason = [name for name, _ in of_host], [text for _, text in of_host]
    names = list(dict.fromkeys([*host, *(name for column in of_subjects.values() for name in column)]))
    reasons, marks = (list(dict.fromkeys(texts)) for texts in (reason, flags))
    by_name, by_reason, by_mark = (
        {text: index for index, text in enumerate(texts)} for texts in (names, reasons, marks)
    )
    return {
        "runs": runs,
        "failed": [count - len(places) for count, places in zip(runs, finished, strict=True)],
        "bottlenecks": names,
        "bottleneck": [by_name[name] for name in host],
        "limits": {subject: [by_name[name] for name in column] for subject, column in of_subjects.items()},
        "reasons": reasons,
        "reason": [by_reason[text] for text in reason],
        "flags": marks,
        "flag": [by_mark[mark] for mark in flags],
    }


def _words(flags: Any) -> list[str]:
    return [word for word in flags.split("; ") if word] if isinstance(flags, str) else []


def _claim(verdict: Verdict, texts: Mapping[str, list[str]], *, quick: bool) -> dict[str, Any]:
    """An expectation with its verdict and its place in a chart: points of a measure, or a threshold on an axis."""
    expectation = verdict.expectation
    form, band = expectation.form, expectation.band
    try:
        value = float(expectation.published)
    except ValueError:
        value = None
    if value is not None and not math.isfinite(value):
        value = None
    return {
        "name": expectation.name,
        "claim": expectation.is_claim,
        "published": published_text(expectation),
        "value": value_text(verdict),
        "interval": interval_text(verdict),
        "band": band_text(band, expectation.unit),
        "outcome": outcome(verdict, quick=quick),
        "low": band.low,
        "high": band.high,
        "number": value,
        "points": [{"measure": at.metric, "at": _places(at.at, texts)} for at in _points(form)],
        "threshold": _threshold(form, band, texts) if isinstance(form, Find) else None,
    }


def _threshold(form: Find, band: Band, texts: Mapping[str, list[str]]) -> dict[str, Any]:
    """The accepted values of an axis, in the unit of the axis."""
    base, (_, unit) = common_unit(texts.get(form.axis, [])), _axis_numbers(texts.get(form.axis, []))
    of_band, of_axis = (number_in(base, f"1 {name}") or 1.0 for name in (form.unit, unit))
    low, high = (None if end is None else end * of_band / of_axis for end in (band.low, band.high))
    return {"measure": form.metric, "axis": form.axis, "at": _places(form.at, texts), "low": low, "high": high}


def _points(form: Form) -> list[At]:
    match form:
        case At():
            return [form]
        case Worst(points=points):
            return [point for point in points if isinstance(point, At)]
    return []


def _places(at: AxisValues, texts: Mapping[str, list[str]]) -> dict[str, int]:
    """Indices of values on their axes; -1 for an unknown value."""
    indices = {}
    for axis, value in at.items():
        same = is_value(texts.get(axis, []), value)
        indices[axis] = int(np.argmax(same)) if same.any() else -1
    return indices


def _start(results: Results, texts: Mapping[str, list[str]]) -> dict[str, Any]:
    """The initial view of a page: the first curve of the scenario."""
    for figure in results.figures:
        if not isinstance(figure, FigureSpec) or figure.parts:
            continue
        if figure.y in results.table.columns and not figure.reference:
            second = figure.right or next(
                (entry.y for entry in results.figures if isinstance(entry, FigureSpec) and entry.y != figure.y), ""
            )
            return {
                "x": figure.x,
                "y": figure.y,
                "y2": second,
                "by": list(figure.series),
                "at": _places(figure.at, texts),
            }
    axes = [*texts, ""]
    return {"x": axes[0], "y": "", "y2": "", "by": axes[1:-1][:1], "at": {}}


def _details(
    sides: Sequence[Side], rows: Sequence[_Runs], keys: Sequence[_Key], most: int
) -> tuple[list[dict[int, str]], int, list[str]]:
    """Packed details of points by index for each side, up to a number of bytes.

    Returns:
        The details, the number of processed points, and for each side the reason for missing records.
    """
    cells: list[dict[int, str]] = [{} for _ in sides]
    missing = [""] * len(sides)
    contexts = [dict(list(_frames(side.results.contexts, _CONTEXT))) for side in sides]
    cpu = [dict(list(_frames(side.results.cpu, ("kind", "owner", "share")))) for side in sides]
    names = [list(zip(runs.column("point"), runs.column("replication"), strict=True)) for runs in rows]
    spent = 0
    for index, key in enumerate(keys):
        texts: dict[int, str] = {}
        for side_index, side in enumerate(sides):
            first = next(iter(rows[side_index].finished.get(key, ())), None)
            if first is None:
                continue
            point, replication = names[side_index][first]
            parts = {"contexts": contexts[side_index].get(point, []), "cpu": cpu[side_index].get(point, [])}
            if not missing[side_index]:
                try:
                    parts |= _of_record(side.results.record_of(point, replication), replication)
                except HostsimError as error:
                    missing[side_index] = str(error)
            if any(parts.values()):
                texts[side_index] = _packed_json(parts)
        size = sum(map(len, texts.values()))
        if spent + size > most:
            return cells, index, missing
        spent += size
        for side_index, text in texts.items():
            cells[side_index][index] = text
    return cells, len(keys), missing


def _frames(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[str, list[list[Any]]]]:
    """The rows of a frame by point, as plain values."""
    if frame.empty:
        return
    for point, rows in frame.astype(object).groupby("point", sort=False):
        yield str(point), [[_plain(value) for value in row] for row in rows[list(columns)].to_numpy().tolist()]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return float(f"{number:.4g}") if math.isfinite(number) else None


def _of_record(record: RunRecord, replication: int) -> dict[str, Any]:
    """Counters over time and distributions of a run."""
    return {
        "replication": replication,
        "ends": [_short(float(instant)) for instant in record.instants_ps[1:] / SECOND],
        "start": _short(float(record.instants_ps[record.cut]) / SECOND),
        "series": {name: values for name in _SERIES if (values := _over_time(record, name)) is not None},
        "cdf": {name: steps for name in TIMES if (steps := _distribution(record, name)) is not None},
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _over_time(record: RunRecord, counter: str) -> list[float] | None:
    """A counter in each time slice, aggregated over entities; None if it is always 0."""
    if counter not in record.series or not record.series[counter].entities:
        return None
    _, values = rates(record, counter)
    if is_level(counter):
        joined = values.max(axis=1)
    else:
        joined = values.mean(axis=1) if counter == "pcpu.busy_ps" else values.sum(axis=1)
    return [_short(float(value)) for value in joined] if joined.any() else None


def _distribution(record: RunRecord, name: str) -> list[list[float]] | None:
    """The steps of a cumulative distribution: upper bucket ends, and the percentage of observations up to each."""
    time = TIMES[name]
    if time.histogram not in record.histograms:
        return None
    edges, counts = added([(record.histograms[time.histogram], record.cut)])
    filled = np.flatnonzero(counts)
    if not filled.size:
        return None
    share = 100.0 * np.cumsum(counts) / counts.sum()
    chosen = filled if filled.size <= _STEPS else filled[np.unique(np.linspace(0, filled.size - 1, _STEPS).astype(int))]
    first = edges[filled[0]] / time.ps
    return [
        [_short(first), *(_short(float(edge)) for edge in edges[chosen + 1] / time.ps)],
        [0.0, *(float(f"{value:.6g}") for value in share[chosen])],
    ]


_HERE = Path(__file__).parent


def write_explorer(path: Path, results: Results, folder: Path, against: Path | None = None) -> Path:
    """Write the page of the results of a folder as one self-contained HTML file; returns its path.

    Args:
        path: the file.
        results: of the folder.
        folder: for commands on the page.
        against: folder of earlier results of the same scenario, or one with such folders by scenario.

    Raises:
        InputError: the earlier results cannot be paired with these.
        StoreError: there are no earlier results, or the file cannot be written.
    """
    before = None
    if against is not None:
        earlier = baseline_folder(against, results.scenario)
        before = Side(_earlier(results, against), str(earlier), str(earlier))
    return Explorer(results.scenario, _page(Side(results, str(folder), str(folder)), before)).save(path)


def explorer_of(results: Results, against: Results | str | Path | None = None) -> Explorer:
    """The explorer of results in memory; see `hostsim.results.results.Results.explore`."""
    if against is None:
        return Explorer(results.scenario, _page(Side(results, results.label), None))
    earlier = _earlier(results, against)
    name = f"{earlier.label}, before" if earlier.label == results.label else earlier.label
    return Explorer(results.scenario, _page(Side(results, results.label), Side(earlier, name)))


def _earlier(results: Results, against: Results | str | Path) -> Results:
    provenance = results.provenance
    seed, ensemble = int(provenance["seed"]), provenance.get("ensemble", "")
    return read_baseline(against, results.scenario, quick=results.quick, seed=seed, ensemble=ensemble)


def _page(now: Side, before: Side | None) -> str:
    from jinja2 import Environment, StrictUndefined
    from jinja2.loaders import FileSystemLoader
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    data = explorer_data(now, before)
    # these are the only characters that can end a script element or begin a comment
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    files = {
        name: Markup((_HERE / file).read_text(encoding="utf-8"))  # noqa: S704  our own files and the vendored script
        for name, file in (("style", "explorer.css"), ("script", "explorer.js"), ("charts", "echarts/echarts.min.js"))
    }
    results = now.results
    return environment.get_template("page.html.j2").render(
        title=f"{results.scenario}{results.caveat}",
        question=results.question,
        data=Markup(text),  # noqa: S704
        **files,
    )
