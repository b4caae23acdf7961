"""Cost model: the shipped constants and assumed inputs, and scenarios with other values of them.

A constant belongs to the file that it is written in: a platform, a guest, a server, or the scenario itself. Wherever a scenario
names that file, by itself or through one that extends it, the same constant stands. What fits constants, or asks how much hangs on
them, goes by their names and never by paths of one scenario.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hostsim.analysis.constant import PARTS, Constant, constants_of, input_of
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.record import AxisValues
from hostsim.scenario.component import Change, Changes, Part, Parts
from hostsim.scenario.resolve import Resolver, split_part_path
from hostsim.scenario.scenario import PointResolver, Scenario
from hostsim.scenario.shipped_data import data_root, shipped_parts
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import AssumedValue, Place, Tree, dotted, keys
from hostsim.spec.base import Spec

__all__ = ["constants_at", "part_constants", "scenario_inputs", "shipped_constants", "with_constants"]

_IDEAL = "ideal"
"""Name of the shipped parts on which nothing costs anything: they are for theory, and no model of a host."""
_NOTHING = object()
_UNIT = "westmere-ex"
"""The processor family whose cycles all costs are in: its factor is 1 because of that, and not by anybody's choice."""


@functools.cache
def shipped_constants() -> tuple[Constant, ...]:
    """Every constant of the shipped platforms, servers, peers and guests, each once, in the order of its file."""
    parts = Parts(data_root())
    read: Mapping[str, Callable[[str, KeyPath], Part[Any]]] = {
        "platforms": parts.platform,
        "hardware": parts.hardware,
        "guests": parts.guest,
        "peers": parts.peer,
    }
    found: dict[str, Constant] = {}
    for kind in PARTS:
        for name in shipped_parts(kind):
            if name != _IDEAL:
                found |= {constant.name: constant for constant in constants_of(read[kind](name, ()), (), ())}
    return tuple(found.values())


def constants_at(scenario: Scenario, values: AxisValues) -> tuple[Constant, ...]:
    """Every constant behind a point: of its platform, server, peer and guests, and the scenario's own inputs.

    What the point's axes vary, or ``--set`` has put in its place, is no constant of it; nor are factors of processors that the host
    does not have, and the one that is 1 because it is the unit.

    Args:
        scenario: the scenario.
        values: a value for every axis.
    """
    changes, tree, inside = _changed(scenario, values)
    found: dict[str, Constant] = {}
    family = None
    for key in _part_keys(tree):
        part = scenario.resolver.part(tree, key, inside.get(key, ()))
        if part is not None and part.spec is not None:
            family = part.spec.cpu.family if key == ("hardware",) else family
            found |= {constant.name: constant for constant in constants_of(part, key, inside.get(key, ()))}
    varied = {dotted(path) for path, _, _ in changes}
    found |= {name: constant for name, constant in scenario_inputs(scenario).items() if name not in varied}
    return tuple(constant for constant in found.values() if _is_of(family, constant))


def part_constants(scenario: Scenario, values: AxisValues) -> dict[tuple[KeyPath, str], tuple[Constant, ...]]:
    """The constants of the platform, the server, the peer and the guests of a point, by where the scenario names them and by how.

    Args:
        scenario: the scenario.
        values: a value for every axis.
    """
    _, tree, _ = _changed(scenario, values)
    resolver = scenario.resolver
    parts = {(key, str(resolver.part_name(tree, key))): resolver.part(tree, key, ()) for key in _part_keys(tree)}
    return {
        (key, name): tuple(constants_of(part, key, ()))
        for (key, name), part in parts.items()
        if part is not None and part.spec is not None
    }


def _changed(scenario: Scenario, values: AxisValues) -> tuple[list[Change], Tree, dict[KeyPath, Changes]]:
    """What the axes change at a point, the tree with it, and the changes inside parts."""
    changes = [change for name, axis in scenario.axes.items() for change in axis.changes(values[name], Place("--axis"))]
    return changes, *scenario.resolver.changed(changes)


def scenario_inputs(scenario: Scenario) -> dict[str, Constant]:
    """The assumed inputs of a scenario itself by their paths, those included that its axes vary."""
    return {
        constant.name: constant
        for assumption in scenario.assumptions
        if _is_own(assumption) and (constant := input_of([assumption], "", ()))
    }


def _is_of(family: str | None, constant: Constant) -> bool:
    """False of the factor of another processor family, and of the one that is the unit."""
    _, _, other = constant.name.partition(".costs.generations.")
    return not other or (other == family and other != _UNIT)


def with_constants(scenario: Scenario, values: Mapping[str, float]) -> Scenario:
    """Replace values of constants in a scenario, at every point that uses them.

    What ``--set`` has put there stays as it is, and so does what an axis varies, but where it puts the value that the scenario assumes.
    So does everything at points behind which a constant does not stand.

    Args:
        scenario: the scenario.
        values: by name of a constant, in its unit; whole ones are rounded.

    Raises:
        InputError: no shipped part has such a constant, and the scenario neither.
    """
    known = scenario_inputs(scenario) | {c.name: c for c in constants_at(scenario, scenario.first())}
    if not known.keys() >= values.keys():
        names = list({**known, **{constant.name: constant for constant in shipped_constants()}})
        faults = [
            Fault(
                "unknown constant",
                given=repr(name),
                allowed="one of " + ", ".join(names),
                nearest=nearest_name(name, names),
            )
            for name in values
            if name not in names
        ]
        if faults:
            raise InputError(faults)
    return replace(scenario, points=PointResolver(_ChangedConstants(scenario, known, values), scenario.axes))


class _ChangedConstants(Resolver):
    """Resolver of points with replaced constants."""

    def __init__(self, scenario: Scenario, known: Mapping[str, Constant], values: Mapping[str, float]) -> None:
        self._base = scenario.resolver
        super().__init__(self._base.tree, (), scenario.file.parent, scenario.resolver.root)
        self._values = values
        self._in_part: dict[Any, list[Constant]] = {}
        own = {a.path for a in scenario.assumptions if _is_own(a)} & values.keys()
        self._inputs: list[Change] = [
            (keys(path), known[path].written(values[path]), self._base.tree.place(keys(path))) for path in sorted(own)
        ]

    def changed(self, changes: Iterable[Change]) -> tuple[Tree, dict[KeyPath, Changes]]:
        """Apply changes as the base does, over the scenario's replaced inputs; one that puts what is assumed leaves it replaced."""
        replaced = {path: self._base.tree.get(path) for path, _, _ in self._inputs}
        return self._base.changed([*self._inputs, *(c for c in changes if replaced.get(c[0], _NOTHING) != c[1])])

    def part(self, tree: Tree, key: KeyPath, changes: Changes = ()) -> Part[Any] | None:
        """The base's part with its constants replaced in its spec, because reading it anew takes a hundred times as long."""
        part = self._base.part(tree, key, changes)
        if part is None or part.spec is None:
            return part
        place = (key, tree.get(key), changes)
        if place not in self._in_part:
            self._in_part[place] = [c for c in constants_of(part, key, changes) if c.name in self._values]
        spec = part.spec
        for constant in self._in_part[place]:
            number = constant.in_spec(self._values[constant.name])
            for path in constant.paths:
                spec = _put(spec, path.split("."), number)
        return replace(part, spec=spec)


def _put(spec: Any, path: Sequence[str], number: float) -> Any:
    """A frozen spec with another number somewhere inside."""
    if not path:
        return round(number) if isinstance(spec, int) else number
    key, rest = path[0], path[1:]
    if isinstance(spec, Spec):
        return spec.model_copy(update={key: _put(getattr(spec, key), rest, number)})
    return {**spec, key: _put(spec[key], rest, number)}


def _part_keys(tree: Tree) -> list[KeyPath]:
    return [("platform",), ("hardware",), ("peer",), *(("vms", group, "guest") for group in tree.get(("vms",)))]


def _is_own(assumption: AssumedValue) -> bool:
    """True of an input of the scenario itself, not of a part that it names."""
    return split_part_path(keys(assumption.path)) is None
