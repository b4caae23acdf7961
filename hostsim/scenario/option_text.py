"""Option text: Python values in the form of ``--set`` and ``--axis``, and points of ``--at``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

from hostsim.config.quantity import common_unit
from hostsim.engine.record import Scalar
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.scenario.axis import read_values
from hostsim.scenario.resolve import Resolver, split_part_path
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.yaml.source_tree import Place, Tree, keys

__all__ = [
    "option_texts",
    "parse_point",
    "unit_reader",
]


def option_texts(
    values: Mapping[str, Any] | None, several: str = "[{}]", unit_of: Callable[[str], str] | None = None
) -> dict[str, str]:
    """The option text of values by name, as for ``--set``; with a pattern for lists, as for ``--axis``.

    Args:
        values: text, numbers, or lists of these.
        several: pattern of a list.
        unit_of: base unit by name, which numbers get; empty without one.
    """
    found = {}
    for name, value in (values or {}).items():
        is_number = any(isinstance(entry, Real) for entry in (value if isinstance(value, list | tuple) else [value]))
        unit = unit_of(str(name)) if unit_of is not None and is_number else ""
        found[str(name)] = _text(value, several, unit)
    return found


def unit_reader(tree: Tree, resolver: Resolver) -> Callable[[str], str]:
    """A function that returns the base unit of an axis or a dotted path by its value in the file; empty without a quantity.

    Args:
        tree: the scenario's file.
        resolver: of its components.
    """

    def values(axis: str) -> list[Any]:
        written = tree.get(("sweep", axis, "labels")) or tree.get(("sweep", axis, "values"))
        return list(written) if isinstance(written, tuple) else []

    def unit_of(name: str) -> str:
        sweep = tree.get(("sweep",))
        axes = sweep if isinstance(sweep, dict) else {}
        if name in axes:
            return common_unit(values(name))
        if unit := common_unit([_at(tree, resolver, name)]):
            return unit
        return next((common_unit(values(axis)) for axis in axes if tree.get(("sweep", axis, "set")) == name), "")

    return unit_of


def _at(tree: Tree, resolver: Resolver, path: str) -> Any:
    """The value at a dotted path of a file or its components; None without one."""
    split = split_part_path(keys(path))
    if split is None:
        return tree.get(keys(path))
    try:
        part = resolver.part(tree, split[0])
    except InputError:
        return None  # reported with the point
    return None if part is None else part.tree.get(split[1])


def _text(value: Any, several: str, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return several.format(", ".join(_text(entry, several, unit) for entry in value))
    if isinstance(value, Real) and unit:
        return f"{float(value):.12g} {unit}"
    return str(value)


def parse_point(scenario: Scenario, at: Mapping[str, str]) -> dict[str, Scalar]:
    """Parse a point from ``--at axis=value``; axes that are not named have the first value of their sweep.

    Raises:
        InputError: an unknown axis or value.
    """
    values, faults = scenario.first(), []
    for name, text in at.items():
        axis = scenario.axes.get(name)
        if axis is None:
            allowed = "one of " + ", ".join(scenario.axes) if scenario.axes else "nothing: the scenario sweeps nothing"
            faults.append(Fault("unknown axis", "--at", repr(name), allowed, nearest_name(name, list(scenario.axes))))
            continue
        try:
            written = read_values(text, axis.values)
        except InputError as error:
            faults += [Fault(f.message, name, f.given, "one value", file="--at") for f in error.faults]
            continue
        fault = axis.fault(name, written[0], Place("--at"))
        if len(written) > 1:
            faults.append(Fault("is several values", name, repr(text), "one value", file="--at"))
        elif fault is not None:
            faults.append(fault)
        values[name] = axis.known(written[0])
    if faults:
        raise InputError(faults)
    return values
