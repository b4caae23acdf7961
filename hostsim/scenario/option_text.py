"""Options: Python values as option text, dotted paths, points, and names of metrics."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

from hostsim.config.effective_settings import vmx_table
from hostsim.config.field import Spec
from hostsim.config.guest import GuestSpec
from hostsim.config.host import HardwareSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import PlatformSpec
from hostsim.config.quantity import common_unit, quantity_text
from hostsim.engine.record import Scalar
from hostsim.errors import Fault, InputError, nearest_name, raise_faults, unknown_name
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import of_subject_name, parsed
from hostsim.scenario.axis import canonical_text, read_values
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.resolve import Resolver, split_part_path
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.schema import ScenarioFile
from hostsim.scenario.source import plain_number
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.settings_file import FILE
from hostsim.scenario.yaml.source_tree import SETTINGS, Place, Tree, dotted, keys
from hostsim.scenario.yaml.validation import schema_of, walk

__all__ = [
    "faults_of_at",
    "measures_of",
    "option_texts",
    "parse_point",
    "require_axis_values",
    "require_mappings",
    "require_measures",
    "subject_names",
    "unit_reader",
    "unsettable",
]


def option_texts(
    values: Mapping[str, Any] | None, several: str = "[{}]", unit_of: Callable[[str], str] | None = None
) -> dict[str, str]:
    """The option text of values by name, as for ``--set``; with a pattern for lists, as for ``--axis``.

    Args:
        values: text, numbers, or lists of these.
        several: pattern for a list.
        unit_of: function from a name to the base unit that is added to numbers; empty without a unit.
    """
    texts = {}
    for name, value in (values or {}).items():
        value = value.tolist() if hasattr(value, "tolist") else value  # of numpy or pandas
        is_number = any(isinstance(entry, Real) for entry in (value if _is_list(value) else [value]))
        unit = unit_of(str(name)) if unit_of is not None and is_number else ""
        texts[str(name)] = _text(value, several, unit)
    return texts


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
    """The value at a dotted path of a file or its components; None if there is none."""
    split = split_part_path(keys(path))
    if split is None:
        return tree.get(keys(path))
    try:
        part = resolver.part(tree, split[0])
    except InputError:
        return None  # the fault is reported with the point
    return None if part is None else part.tree.get(split[1])


def _text(value: Any, several: str, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if _is_list(value):
        return several.format(", ".join(_text(entry, several, unit) for entry in value))
    if isinstance(value, Real) and unit:
        return f"{float(value):.12g} {unit}"
    return str(plain_number(value) if isinstance(value, Real) and math.isfinite(value) else value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def require_mappings(**arguments: Any) -> None:
    """Check that arguments of a call are mappings or None.

    Raises:
        InputError: with all that are not.
    """
    raise_faults(
        Fault("is not a mapping", name, f"{value!r:.60}", 'values by name, such as {"receivers": [8, 16]}')
        for name, value in arguments.items()
        if value is not None and not isinstance(value, Mapping)
    )


def require_axis_values(axes: Mapping[str, Any]) -> None:
    """Check that values of axes are text, numbers, or lists or one-dimensional arrays of these.

    Raises:
        InputError: with all that are not.
    """
    faults = []
    for name, given in axes.items():
        value = given.tolist() if hasattr(given, "tolist") else given
        entries = value if _is_list(value) else [value]
        if not all(isinstance(entry, str | Real | Path) or hasattr(entry, "dtype") for entry in entries):
            allowed = "text, a number, or a list or one-dimensional array of these"
            faults.append(Fault("is not a list of values", str(name), f"{given!r:.60}", allowed, file="--axis"))
    raise_faults(faults)


def parse_point(scenario: Scenario, at: Mapping[str, str]) -> dict[str, Scalar]:
    """Parse a point from ``--at axis=value``; axes that are not named have the first value of their sweep.

    A number is read in the base unit of the axis if the axis has this value.

    Raises:
        InputError: an unknown axis or value.
    """
    values, faults = scenario.first(), []
    for name, text in at.items():
        axis = scenario.axes.get(name)
        if axis is None:
            faults.append(unknown_name("axis", "--at", name, scenario.axes))
            continue
        try:
            written = read_values(text, axis.values)
        except InputError as error:
            faults += [Fault(f.message, name, f.given, "one value", file="--at") for f in error.faults]
            continue
        quantity = quantity_text(written[0], common_unit(axis.labels or axis.values))
        value = quantity if canonical_text(quantity) in axis.index else written[0]
        fault = axis.fault(name, value, Place("--at"))
        if len(written) > 1:
            faults.append(Fault("is several values", name, repr(text), "one value", file="--at"))
        elif fault is not None:
            faults.append(fault)
        values[name] = axis.own_value(value)
    raise_faults(faults)
    return values


@contextlib.contextmanager
def faults_of_at() -> Iterator[None]:
    """Faults of a point from `parse_point` name ``--at``, instead of the option that gives values to axes elsewhere."""
    try:
        yield
    except InputError as error:
        raise InputError(
            replace(fault, file="--at") if fault.file == "--axis" else fault for fault in error.faults
        ) from None


def unsettable(
    model: type[ScenarioFile], resolver: Resolver, path: KeyPath, place: Place, roots: tuple[str, ...]
) -> Fault | None:
    """The fault of a path that cannot be changed, or None.

    Args:
        model: of the file.
        resolver: of the scenario.
        path: to change.
        place: option or line of the change.
        roots: sections that may be changed.
    """
    fault: Fault | None
    split = split_part_path(path)
    if path[0] not in roots:
        nearest = nearest_name(str(path[0]), roots)
        is_key = str(path[0]) in schema_of(model)["properties"]
        message = "cannot be varied" if is_key else "there is no such path"
        fault = Fault(message, dotted(path), allowed="a path below " + ", ".join(roots), nearest=nearest)
    elif split is None:
        fault = walk(model, resolver.tree, path)
    else:
        key, inner = split
        fault = walk(model, resolver.tree, key)
        models: dict[str, type[Spec]] = {"platform": PlatformSpec, "hardware": HardwareSpec, "peer": PeerSpec}
        part_model = models.get(str(key[-1]), GuestSpec)
        try:
            part = None if fault else resolver.part(resolver.tree, key)
        except InputError:
            part = None  # reported when the point is made
        if part is not None and not part.faults:
            fault = walk(part_model, part.tree, inner, key)
    if fault is None and len(path) > 2 and path[-2] in SETTINGS and (len(path) > 3 or path[0] == "host"):
        fault = _unknown_setting(resolver, path)
    if fault is None:
        return None
    return Fault(fault.message, fault.path, "", fault.allowed, fault.nearest, place.file, place.line)


def _unknown_setting(resolver: Resolver, path: KeyPath) -> Fault | None:
    platform = resolver.tree.get(("platform",))
    try:
        spec = resolver.parts.platform(platform, ("platform",)).spec if isinstance(platform, str) else None
    except InputError:
        return None  # reported when the point is made
    if spec is None:
        return None
    names = list(getattr(spec, str(path[-2])))
    if path[-2] == "vmx":
        networks = resolver.tree.get((*path[:-2], "networks"))
        names = list(vmx_table(spec, len(networks) if isinstance(networks, tuple) else 1))
    name = str(path[-1])
    if name in names or (name == FILE and path[-2] != "kernel"):
        return None
    return Fault(
        "unknown setting", dotted(path), allowed="a setting of the platform", nearest=nearest_name(name, names)
    )


def require_measures(scenario: Scenario, names: Iterable[str], option: str) -> None:
    """Check that the metrics and subjects that an option or argument names exist in a scenario.

    Args:
        scenario: the scenario.
        names: names of metrics, with or without a subject.
        option: location that faults report.

    Raises:
        InputError: unknown metrics, and metrics that their subject does not have.
    """
    raise_faults(faults_of(scenario, names, option))


def faults_of(scenario: Scenario, names: Iterable[str], option: str) -> list[Fault]:
    """The faults of `require_measures`."""
    listed = list(names)
    lookup = _lookup(scenario, listed, option)
    for name in listed:
        lookup.metric(name, ("metric",))
    return [replace(fault, path=option, file="", line=None) for fault in lookup.faults]


def subject_names(scenario: Scenario) -> list[str]:
    """Names of the traffic entries, VM groups and physical NIC ports in a scenario, without duplicates."""
    subjects = _lookup(scenario, (), "of").subjects()
    return list(dict.fromkeys(name for names in subjects.values() for name in names))


def _lookup(scenario: Scenario, names: Sequence[str], option: str) -> Lookup:
    tree = Tree({"metric": tuple(names)}, {("metric",): Place(option)}, option)
    return Lookup(tree, scenario.axes, scenario.resolver.tree)


def measures_of(scenario: Scenario, subject: str, names: Iterable[str] = (), option: str = "of") -> list[str]:
    """Names of the metrics of a subject (``latency_p99 of feed``): the given ones, or all.

    Args:
        scenario: the scenario.
        subject: its name.
        names: names of metrics; a name with a subject keeps it.
        option: location that faults report.

    Raises:
        InputError: an unknown metric or subject, or a metric that the subject does not have.
    """
    measures = [name if parsed(name)[1] else of_subject_name(name, subject) for name in names]
    if not measures:
        every = [of_subject_name(name, subject) for name in CATALOGUE]
        measures = [name for name in every if not faults_of(scenario, [name], option)]
        if not measures:
            raise InputError(faults_of(scenario, [of_subject_name("latency_mean", subject)], option))
        return measures
    require_measures(scenario, measures, option)
    return measures
