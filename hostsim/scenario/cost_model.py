"""Cost model: the shipped constants and assumed inputs with their ranges, and scenarios with changed values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from hostsim.config.field import Spec
from hostsim.config.files import display_name
from hostsim.config.quantity import UNITS, read_quantity
from hostsim.engine.record import AxisValues, Scalar
from hostsim.errors import Fault, InputError, raise_faults, unknown_name
from hostsim.scenario.component import Change, Changes, Part, Parts
from hostsim.scenario.resolve import Resolver, split_part_path
from hostsim.scenario.scenario import PointResolver, Scenario
from hostsim.scenario.shipped_data import PREDICTIONS, data_root, shipped_parts
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import NUMBER_KEYS, AssumedValue, Place, Tree, dotted, keys
from hostsim.units import SECOND

__all__ = [
    "PARTS",
    "SPREAD",
    "Constant",
    "Origin",
    "constants_at",
    "constants_of",
    "input_of",
    "part_constants",
    "scenario_inputs",
    "shipped_constants",
    "with_constants",
]


SPREAD = 0.2
"""Assumed half-width of the range of a constant that has none, as a share of its value."""
PARTS = ("platforms", "hardware", "guests", "peers")
"""Kinds of files, besides scenarios, that contain constants."""


class Origin(StrEnum):
    """Origin of a constant: a source or an assumption."""

    SOURCE = "source"
    """Published: facts, a paper, a data sheet."""
    ASSUMED = "assumed"
    """Judged, with a range."""


@dataclass(frozen=True)
class Constant:
    """Constant of the cost model, or assumed input of a scenario."""

    name: str
    """File and path: ``esxi.costs.driver_rx``; only the path for an input of a scenario."""
    file: str
    """Name of a shipped part, or a file as the user named it; empty for the scenario."""
    paths: tuple[str, ...]
    """Path in the file; several paths if identical ports share one assumption."""
    value: float
    unit: str
    """Unit as written: ``cycles``, ``us``, ``B``; empty for a plain number."""
    origin: Origin
    text: str
    """The source, or the reason of an assumption."""
    range: tuple[float, float] | None = None
    """Both ends, in ``unit``; for a choice, positions in ``words``. None if the source states an exact value."""
    prior: float | None = None
    """Median of the prior distribution, in ``unit`` or as a position in ``words``; None if it equals the value."""
    is_whole: bool = False
    """True if only integers are allowed: a count, or a size with integer ends in its unit."""
    words: tuple[str, ...] = ()
    """Words of a choice; its value is the position of its word."""

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of its interval: the range, or a fifth of the value on either side."""
        return self.range or (self.value * (1 - SPREAD), self.value * (1 + SPREAD))

    def places(self) -> Iterator[tuple[KeyPath, str]]:
        """Place of its number in the file: path of the mapping, and key."""
        for text in self.paths:
            path = keys(text)
            # the name of an input includes a key such as ``time``
            is_key = path[-1] in NUMBER_KEYS and not self.name.endswith(f".{path[-1]}")
            yield (path[:-1], str(path[-1])) if is_key else (path, "value")

    def written(self, value: float) -> Scalar:
        """A value of this constant as the text or number that a file has."""
        if self.words:
            return self.words[round(value)]
        is_size = _kind(self.unit) == "size"
        if is_size and not (self.is_whole or float(value).is_integer()):
            return f"{round(value * UNITS['size'][self.unit])} B"
        number: Scalar = round(value) if self.is_whole or is_size else float(f"{value:.12g}")
        return f"{number} {self.unit}" if _kind(self.unit) else number

    def in_spec(self, value: float) -> float:
        """A value of this constant in the spec's unit."""
        written = self.written(value)
        kind = _kind(self.unit)
        if kind:
            return read_quantity(written, kind) * (SECOND if kind == "duration" else 1)
        return float(written)


def constants_of(part: Part[Any], key: KeyPath, changes: Iterable[Change]) -> Iterator[Constant]:
    """Read the constants of a component, each under the file that defines it.

    Args:
        part: a valid part.
        key: its place in the scenario.
        changes: changed values; constants among them are left out.
    """
    names = _shipped_names(Path.cwd())
    put = {path for path, _, _ in changes}
    for path, body in _bodies(part.tree.data, ()):
        number = next(number for number in NUMBER_KEYS if number in body)
        if path not in put and (*path, number) not in put:
            file = part.tree.place(path).file
            yield _costed((*path, number), body, names.get(file, _file_of(file, part.tree)))
    shared: dict[Any, list[AssumedValue]] = {}
    for assumption in part.assumptions:
        path = keys(assumption.path)[len(key) :]
        # an assumption about identical ports counts once
        inner_path = ("nics", *path[2:]) if path[0] == "nics" else path
        alike = (inner_path, assumption.value, assumption.range, assumption.reason, assumption.prior)
        shared.setdefault(alike, []).append(assumption)
    for group in shared.values():
        file = group[0].place.file
        constant = input_of(group, names.get(file, _file_of(file, part.tree)), key)
        if constant is not None and not constant.words:  # a part's spec takes numbers
            yield constant


def _file_of(file: str, tree: Tree) -> str:
    """The file of a constant, with the key of a part that is a mapping in the scenario."""
    return f"{file}.{dotted(tree.prefix)}" if tree.prefix and file == tree.file else file


@functools.lru_cache(maxsize=4)
def _shipped_names(folder: Path) -> Mapping[str, str]:
    """Names of shipped parts by the display names of their files, including predictions; equal from every folder."""
    kinds = (*PARTS, *(f"{PREDICTIONS}/{kind}" for kind in PARTS))
    prefix = {kind: f"{PREDICTIONS}/" if kind not in PARTS else "" for kind in kinds}
    return {display_name(file): prefix[kind] + name for kind in kinds for name, file in shipped_parts(kind).items()}


def _bodies(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    """Mappings with a number and its origin."""
    if not isinstance(value, dict):
        return
    if any(number in value for number in NUMBER_KEYS) and not {"source", "assumed"}.isdisjoint(value):
        yield path, value
        return
    for key, entry in value.items():
        yield from _bodies(entry, (*path, key))


def _costed(path: KeyPath, body: Mapping[str, Any], file: str) -> Constant:
    value, unit = _read(body[str(path[-1])])
    ends, prior = body.get("range"), body.get("prior")
    return Constant(
        name=f"{file}.{dotted(path[:-1])}",
        file=file,
        paths=(dotted(path),),
        value=value,
        unit=unit or ("cycles" if path[-1] == "cycles" else ""),
        origin=Origin.ASSUMED if "assumed" in body else Origin.SOURCE,
        text=str(body.get("source") or body.get("assumed") or ""),
        range=None if ends is None else (_as(unit, ends[0]), _as(unit, ends[1])),
        prior=None if prior is None else _as(unit, prior),
    )


def input_of(group: Sequence[AssumedValue], file: str, key: KeyPath) -> Constant | None:
    """The constant of an assumption that is written for one or several identical ports; None unless it is a number, quantity or choice."""
    first = group[0]
    if isinstance(first.value, bool):
        return None
    words: tuple[str, ...] = ()
    numbers = [first.value, *first.range, *(() if first.prior is None else (first.prior,))]
    try:
        value, unit = _read(first.value)
        ends = _as(unit, first.range[0]), _as(unit, first.range[1])
        prior = None if first.prior is None else _as(unit, first.prior)
    except ValueError:
        words = tuple(map(str, first.range))
        value, unit, ends = float(words.index(str(first.value))), "", (0.0, float(len(words) - 1))
        prior = None if first.prior is None else float(words.index(str(first.prior)))
    inner = [keys(assumption.path)[len(key) :] for assumption in group]
    name = dotted(inner[0])
    if len(group) > 1:
        name = dotted((inner[0][0], f"{inner[0][1]}..{inner[-1][1]}", *inner[0][2:]))
    return Constant(
        name=f"{file}.{name}" if file else name,
        file=file,
        paths=tuple(map(dotted, inner)),
        value=value,
        unit=unit,
        origin=Origin.ASSUMED,
        text=first.reason,
        range=ends,
        prior=prior,
        is_whole=all(isinstance(number, int) for number in numbers)
        or (_kind(unit) == "size" and all(number.is_integer() for number in (value, *ends, prior or value))),
        words=words,
    )


def _kind(unit: str) -> str:
    """The kind of quantity of a unit; empty for an unknown unit."""
    return next((kind for kind, units in UNITS.items() if unit in units), "")


def _read(written: Scalar) -> tuple[float, str]:
    """A number and its unit.

    Raises:
        ValueError: the text is neither a number nor a quantity.
    """
    if not isinstance(written, str):
        return float(written), ""
    unit = written.strip().lstrip("+-.0123456789eE").strip()
    if not _kind(unit):
        raise ValueError("is not a number")
    return _as(unit, written), unit


def _as(unit: str, written: Scalar) -> float:
    """Convert a written value to a unit.

    Raises:
        ValueError: it cannot be converted.
    """
    kind = _kind(unit)
    if not kind:
        return float(written)
    return float(f"{read_quantity(written, kind) / read_quantity(f'1 {unit}', kind):.12g}")


_IDEAL = "ideal"
"""Name of the shipped parts without costs, which are for comparisons with theory and do not model a host."""
_NOTHING = object()
_ENSEMBLE = Place("--ensemble")
_UNIT = "westmere-ex"
"""The processor family whose cycles are the unit of all costs; its factor is 1."""


@functools.cache
def shipped_constants() -> tuple[Constant, ...]:
    """All constants of the shipped platforms, servers, peers and guests, without duplicates, in file order.

    Those of the catalogue of NICs, which servers name by model, are left out.
    """
    parts = Parts(data_root())
    read: Mapping[str, Callable[[str, KeyPath], Part[Any]]] = {
        "platforms": parts.platform,
        "hardware": parts.hardware,
        "guests": parts.guest,
        "peers": parts.peer,
    }
    constants: dict[str, Constant] = {}
    for kind in PARTS:
        names = shipped_parts(kind)
        for name in names:
            if name != _IDEAL:
                found = constants_of(read[kind](name, ()), (), ())
                constants |= {constant.name: constant for constant in found if constant.file in names}
    return tuple(constants.values())


def constants_at(scenario: Scenario, values: AxisValues) -> tuple[Constant, ...]:
    """Every constant that a point uses: those of its platform, server, peer and guests, and the scenario's inputs.

    Values that an axis or ``--set`` changes are left out, and so are the factors of other processors and the factor
    that is 1 by definition.

    Args:
        scenario: the scenario.
        values: a value for every axis.
    """
    changes, tree, inside = _changed(scenario, values)
    constants: dict[str, Constant] = {}
    family = None
    for key in _part_keys(tree):
        part = scenario.resolver.part(tree, key, inside.get(key, ()))
        if part is not None and part.spec is not None:
            family = part.spec.cpu.family if key == ("hardware",) else family
            constants |= {constant.name: constant for constant in constants_of(part, key, inside.get(key, ()))}
    varied = {dotted(path) for path, _, _ in changes}
    constants |= {name: constant for name, constant in scenario_inputs(scenario).items() if name not in varied}
    return tuple(constant for constant in constants.values() if _is_of(family, constant))


def part_constants(scenario: Scenario, values: AxisValues) -> dict[tuple[KeyPath, str], tuple[Constant, ...]]:
    """The constants of the platform, the server, the peer and the guests of a point, by key and name in the scenario.

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
    """Changes of the axes at a point, the changed tree, and the changes inside parts."""
    changes = [change for name, axis in scenario.axes.items() for change in axis.changes(values[name], Place("--axis"))]
    return changes, *scenario.resolver.changed(changes)


def scenario_inputs(scenario: Scenario) -> dict[str, Constant]:
    """The assumed inputs of a scenario by their paths, including those that its axes vary."""
    return {
        constant.name: constant
        for assumption in scenario.assumptions
        if _is_own(assumption) and (constant := input_of([assumption], "", ()))
    }


def _is_of(family: str | None, constant: Constant) -> bool:
    """False for the factor of another processor family, and for the factor that is 1 by definition."""
    _, _, other = constant.name.partition(".costs.generations.")
    return not other or (other == family and other != _UNIT)


def with_constants(scenario: Scenario, values: Mapping[str, float], *, validated: bool = False) -> Scenario:
    """Replace values of constants in a scenario, at every point that uses them.

    Values of ``--set`` and of axes have priority, except an axis value that equals the scenario's assumption. Points that do not depend
    on a constant do not change.

    Args:
        scenario: the scenario.
        values: by name of a constant, in its unit; integer constants are rounded.
        validated: True if points raise InputError for impossible values of parts, as for those of ``--set``.

    Raises:
        InputError: neither a shipped part nor the scenario has such a constant.
    """
    constants = scenario_inputs(scenario) | {c.name: c for c in constants_at(scenario, scenario.first())}
    if not constants.keys() >= values.keys():
        names = {**constants, **{constant.name: constant for constant in shipped_constants()}}
        raise_faults(unknown_name("constant", "", name, names) for name in values if name not in names)
    return replace(
        scenario, points=PointResolver(_ChangedConstants(scenario, constants, values, validated), scenario.axes)
    )


class _ChangedConstants(Resolver):
    """Resolver of points whose constants are replaced."""

    def __init__(
        self, scenario: Scenario, constants: Mapping[str, Constant], values: Mapping[str, float], validated: bool
    ) -> None:
        self._base = scenario.resolver
        in_place = self._base.parts.in_place
        super().__init__(self._base.tree, (), scenario.file.parent, self._base.root, in_place=in_place)
        self._values, self._validated = values, validated
        self._valid: set[tuple[KeyPath, Any]] = set()
        self._in_part: dict[Any, list[Constant]] = {}
        own = {a.path for a in scenario.assumptions if _is_own(a)} & values.keys()
        self._inputs: list[Change] = [
            (keys(path), constants[path].written(values[path]), self._base.tree.place(keys(path)))
            for path in sorted(own)
        ]

    def changed(self, changes: Iterable[Change]) -> tuple[Tree, dict[KeyPath, Changes]]:
        """Apply changes on top of the scenario's replaced inputs; a change to the assumed value itself keeps the replacement."""
        replaced = {path: self._base.tree.get(path) for path, _, _ in self._inputs}
        return self._base.changed([*self._inputs, *(c for c in changes if replaced.get(c[0], _NOTHING) != c[1])])

    def part(self, tree: Tree, key: KeyPath, changes: Changes = ()) -> Part[Any] | None:
        """The base's part with constants replaced in its spec, as reading it again would take a hundred times as long."""
        part = self._base.part(tree, key, changes)
        if part is None or part.spec is None:
            return part
        changed = (key, tree.get(key), changes)
        if changed not in self._in_part:
            self._in_part[changed] = [c for c in constants_of(part, key, changes) if c.name in self._values]
        if self._validated and changed[:2] not in self._valid:
            self._require_valid(tree, key, self._in_part[changed])
            self._valid.add(changed[:2])
        spec = part.spec
        for constant in self._in_part[changed]:
            number = constant.in_spec(self._values[constant.name])
            for path in constant.paths:
                spec = _put(spec, path.split("."), number)
        return replace(part, spec=spec)

    def _require_valid(self, tree: Tree, key: KeyPath, constants: Sequence[Constant]) -> None:
        """Check the values of a part's constants, once for each part, as it is read again.

        Raises:
            InputError: impossible values; the path of a fault is the name of the constant.
        """

        def faults(*chosen: Constant) -> tuple[Fault, ...]:
            changes = ((keys(path), c.written(self._values[c.name]), _ENSEMBLE) for c in chosen for path in c.paths)
            part = self._base.part(tree, key, tuple(changes))
            return part.faults if part is not None else ()

        if found := faults(*constants):
            raise_faults(
                replace(fault, path=c.name, given=f"{self._values[c.name]:g} {c.unit}".strip(), file="", line=None)
                for c in constants
                for fault in faults(c)[:1]
            )
            raise InputError(found)


def _put(spec: Any, path: Sequence[str], number: float) -> Any:
    """A copy of a frozen spec with a different number at a path."""
    if not path:
        return round(number) if isinstance(spec, int) else number
    key, rest = path[0], path[1:]
    if isinstance(spec, Spec):
        return spec.model_copy(update={key: _put(getattr(spec, key), rest, number)})
    return {**spec, key: _put(spec[key], rest, number)}


def _part_keys(tree: Tree) -> list[KeyPath]:
    return [("platform",), ("hardware",), ("peer",), *(("vms", group, "guest") for group in tree.get(("vms",)))]


def _is_own(assumption: AssumedValue) -> bool:
    """True for an input of the scenario, False for a value of a named part."""
    return split_part_path(keys(assumption.path)) is None
