"""Measurements of one's own host: a CSV file of axis values, metric, value and interval, read as expectations of a scenario."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.expect import At, Band, Expectation
from hostsim.files import display_name, read_text
from hostsim.metrics.catalogue import CATALOGUE, nearest_metric
from hostsim.record import AxisValues, Scalar
from hostsim.scenario.scenario import Scenario
from hostsim.spec.quantity import read_quantity

__all__ = ["expected_at", "name_at", "read_measured"]

_NUMBERS = ("value", "interval")


def name_at(metric: str, at: AxisValues) -> str:
    """Name of a metric at a point: ``host_cpu at vms=16``."""
    return f"{metric} at {', '.join(f'{axis}={value}' for axis, value in at.items())}" if at else metric


def expected_at(metric: str, at: AxisValues, value: float = 0.0, interval: float = math.inf) -> Expectation:
    """A metric at a point as an expectation; any value will do without an interval.

    Args:
        metric: of the catalogue.
        at: values of axes.
        value: measured, in the metric's unit.
        interval: half-width of its 95 % interval, likewise.
    """
    band = Band(value - interval, value + interval) if math.isfinite(interval) else Band(None, None)
    unit = CATALOGUE[metric].unit
    return Expectation(name_at(metric, at), At(metric, at), band, unit, f"{value:g}", is_claim=False, kind="scale")


def read_measured(file: Path, scenario: Scenario) -> tuple[Expectation, ...]:
    """Read the measurements of a host.

    The columns are axes of the scenario, ``metric``, ``value`` and ``interval``: the half-width of its 95 % interval. Values are numbers in
    the metric's unit, or have a unit.

    Raises:
        InputError: every fault of the file with its line.
    """
    name = display_name(file)
    rows = list(csv.DictReader(io.StringIO(read_text(file, name))))
    columns = list(rows[0]) if rows else []
    axes = [column for column in columns if column not in ("metric", *_NUMBERS)]
    faults = [
        Fault(
            "is no axis of the scenario",
            f"{name}:1",
            repr(axis),
            _named(scenario),
            nearest_name(axis, list(scenario.axes)),
        )
        for axis in axes
        if axis not in scenario.axes
    ]
    faults += [
        Fault("has no such column", f"{name}:1", repr(column), "axes of the scenario, metric, value, interval")
        for column in ("metric", *_NUMBERS)
        if column not in columns
    ]
    if faults:
        raise InputError(faults)
    found: dict[str, Expectation] = {}
    for line, row in enumerate(rows, 2):
        try:
            one = _measured(row, axes, scenario)
        except InputError as error:
            faults += [Fault(f.message, f"{name}:{line}", f.given, f.allowed, f.nearest) for f in error.faults]
            continue
        if one.name in found:
            faults.append(Fault("is measured twice", f"{name}:{line}", one.name, "one row for a metric at a point"))
        found[one.name] = one
    if faults:
        raise InputError(faults)
    return tuple(found.values())


def _named(scenario: Scenario) -> str:
    return "one of " + ", ".join(scenario.axes) if scenario.axes else "none: the scenario sweeps nothing"


def _measured(row: Mapping[str, str | None], axes: list[str], scenario: Scenario) -> Expectation:
    metric = (row["metric"] or "").strip()
    if metric not in CATALOGUE:
        raise InputError(
            Fault(
                "unknown metric",
                given=repr(metric),
                allowed="one of " + ", ".join(CATALOGUE),
                nearest=nearest_metric(metric),
            )
        )
    value, interval = (_number(row[column], column, CATALOGUE[metric].unit) for column in _NUMBERS)
    if not (math.isfinite(value) and 0 < interval < math.inf):
        raise InputError(
            Fault(
                "is no measurement",
                given=f"{row['value']} +- {row['interval']}",
                allowed="a number, with an interval above 0",
            )
        )
    at = {axis: scenario.axes[axis].known(_scalar(row[axis] or "")) for axis in axes}
    return expected_at(metric, at, value, interval)


def _number(text: str | None, column: str, unit: str) -> float:
    """A number in the metric's unit, or with a unit of its own."""
    text = (text or "").strip()
    try:
        return float(text)
    except ValueError:
        pass
    kind = _kind_of(unit)
    if not kind:
        raise InputError(
            Fault(f"is no {column}", given=repr(text), allowed=f"a number of {unit}" if unit else "a number")
        )
    return read_quantity(text, kind) / read_quantity(f"1 {unit}", kind)


def _kind_of(unit: str) -> str:
    from hostsim.spec.quantity import UNITS

    return next((kind for kind, units in UNITS.items() if unit in units), "")


def _scalar(text: str) -> Scalar:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip()
