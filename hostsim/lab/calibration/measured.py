"""Measurements of your own host: a CSV file of axis values, metric, value and interval, read as expectations."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hostsim.config.files import display_name, read_text
from hostsim.config.quantity import common_unit
from hostsim.engine.record import AxisValues, Scalar
from hostsim.errors import Fault, InputError, nearest_name, raise_faults
from hostsim.results.expect import At, Band, Expectation
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.axis import Axis
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.yaml.foreign_text import format_of
from hostsim.scenario.yaml.reader import parse_value
from hostsim.scenario.yaml.source_tree import Place, Tree

__all__ = ["expected_at", "name_at", "read_measured", "read_prediction"]

_NUMBERS = ("value", "interval")
_COLUMNS = ("metric", *_NUMBERS)


def name_at(metric: str, at: AxisValues) -> str:
    """Name of a metric at a point: ``host_cpu at vms=16``."""
    return f"{metric} at {', '.join(f'{axis}={value}' for axis, value in at.items())}" if at else metric


def expected_at(metric: str, at: AxisValues, value: float = 0.0, interval: float = math.inf) -> Expectation:
    """A metric at a point as an expectation; if it has no interval, any value passes.

    Args:
        metric: of the catalogue.
        at: values of axes.
        value: measured, in the metric's unit.
        interval: half-width of its 95 % interval, in the same unit.
    """
    band = Band(value - interval, value + interval) if math.isfinite(interval) else Band(None, None)
    unit = CATALOGUE[metric].unit
    return Expectation(name_at(metric, at), At(metric, at), band, unit, f"{value:g}", is_claim=False, kind="scale")


def read_measured(file: Path, scenario: Scenario) -> tuple[Expectation, ...]:
    """Read the measurements of a host.

    The columns are axes of the scenario, ``metric``, ``value`` and ``interval``: the half-width of its 95 % interval. Values are numbers in
    the metric's unit, or have a unit of their own; axis values are written as in the scenario, or as numbers in the
    unit of result tables. An axis without a column has the first value of its sweep.

    Raises:
        InputError: every fault of the file with its line.
    """
    name = display_name(file)
    text = read_text(file, name)
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        columns = [column.strip() for column in reader.fieldnames or ()]
        if not columns:
            raise InputError(Fault("is empty", file=name, allowed="a line of columns, and a row for each measurement"))
        if not {column.lower() for column in columns} & set(_COLUMNS):
            other_format = format_of(text) or "another table"
            given, allowed = ascii(columns[0][:40]), "columns for axes of the scenario, metric, value and interval"
            raise InputError(
                Fault(f"is {other_format}, not a table of measurements", "", given, allowed, file=name, line=1)
            )
        reader.fieldnames = columns
        _require_columns(columns, scenario, name)
        entries: dict[str, Expectation] = {}
        faults: list[Fault] = []
        for row in reader:
            try:
                expectation = _measured(row, scenario, Place(name, reader.line_num))
            except InputError as error:
                faults += error.faults
                continue
            if expectation.name in entries:
                fault = Fault("is measured twice", given=expectation.name, allowed="one row for a metric at a point")
                faults.append(replace(fault, file=name, line=reader.line_num))
            entries[expectation.name] = expectation
    except csv.Error as error:
        raise InputError(Fault(f"is not CSV: {error}", file=name, line=reader.reader.line_num)) from None
    if not entries and not faults:
        faults.append(Fault("contains no measurements", file=name, allowed="a row for each measurement"))
    raise_faults(faults)
    return tuple(entries.values())


def _point(metric: str, at: Mapping[str, Any], scenario: Scenario, place: Place) -> tuple[str, AxisValues]:
    """A metric and a value for every axis, as in the scenario; by default the first value of the sweep.

    Raises:
        InputError: an unknown metric or axis, or an impossible host.
    """
    lookup = Lookup(
        Tree({"metric": metric, **at}, dict.fromkeys([("metric",), *((axis,) for axis in at)], place), place.file),
        scenario.axes,
        scenario.resolver.tree,
    )
    lookup.metric(metric, ("metric",))
    point = {axis: _in_unit(value, scenario.axes.get(axis)) for axis, value in lookup.point(at, ()).items()}
    faults = lookup.faults
    faults += [f for axis, value in point.items() if (f := scenario.axes[axis].fault(axis, value, place)) is not None]
    if not faults:
        resolution = scenario.points.resolve(point, scenario.run.quick.length_ps, place)
        faults += [
            fault if fault.file else replace(fault, file=place.file, line=place.line) for fault in resolution.faults
        ]
    raise_faults(faults)
    return metric, point


def _in_unit(value: Scalar, axis: Axis | None) -> Scalar:
    """The value as the axis writes it; a plain number is in the unit of result tables, if the axis has a unit."""
    unit = common_unit(axis.values) if axis is not None and isinstance(value, int | float) else ""
    return axis.own_value(f"{value:.12g} {unit}") if axis is not None and unit else value


def read_prediction(text: str, scenario: Scenario) -> tuple[str, AxisValues]:
    """Read the measure to predict: ``METRIC@axis=value,axis=value``.

    Raises:
        InputError: an invalid text, or an unknown name.
    """
    metric, _, point = text.partition("@")
    at: dict[str, Scalar] = {}
    for pair in filter(None, (part.strip() for part in point.split(","))):
        axis, sign, value = (part.strip() for part in pair.partition("="))
        if not sign or not axis or axis in at:
            raise InputError(
                Fault("is not a metric at a point", "--predict", repr(text), "METRIC@axis=value,axis=value")
            )
        at[axis] = _scalar(value)
    return _point(metric.strip(), at, scenario, Place("--predict"))


def _require_columns(columns: list[str], scenario: Scenario, name: str) -> None:
    allowed_columns = [*scenario.axes, *_COLUMNS]
    allowed = "axes of the scenario, metric, value, interval: " + ", ".join(allowed_columns)
    faults = [
        Fault("unknown column", given=repr(column), allowed=allowed, nearest=nearest_name(column, allowed_columns))
        for column in columns
        if column not in allowed_columns
    ]
    faults += [Fault(f"has no column {column}", allowed=allowed) for column in _COLUMNS if column not in columns]
    faults += [
        Fault("has a column twice", given=repr(column), allowed="each column once")
        for column in dict.fromkeys(columns)
        if columns.count(column) > 1
    ]
    if faults:
        raise InputError(faults).at(name, 1)


def _measured(row: Mapping[str, Any], scenario: Scenario, place: Place) -> Expectation:
    """A row. Its keys are the known columns, and None for excess values."""
    if None in row or None in row.values():
        raise InputError(Fault("has a different number of values than columns", file=place.file, line=place.line))
    raise_faults(
        Fault("is empty", axis, allowed="a value of the axis", file=place.file, line=place.line)
        for axis in scenario.axes
        if axis in row and not row[axis].strip()
    )
    written: dict[str, Scalar] = {column: _scalar(text) for column, text in row.items()}
    metric, at = _point(
        str(written["metric"]), {axis: written[axis] for axis in scenario.axes if axis in written}, scenario, place
    )
    tree = Tree(written, {(column,): place for column in written}, place.file)
    lookup = Lookup(tree, scenario.axes)
    value, interval = (lookup.bound(written[column], CATALOGUE[metric].unit, (column,)) for column in _NUMBERS)
    raise_faults(lookup.faults)
    if value is None or interval is None or not (math.isfinite(value) and 0 < interval < math.inf):
        fault = Fault(
            "is not a measurement",
            given=f"{row['value']} +- {row['interval']}",
            allowed="a number, and an interval above 0",
        )
        raise InputError(fault).at(place.file, place.line)
    return expected_at(metric, at, value, interval)


def _scalar(text: str) -> Scalar:
    """A number, as in YAML, or else the text."""
    try:
        value = parse_value(text, "")
    except InputError:
        return text.strip()
    return value if isinstance(value, Scalar) else text.strip()
