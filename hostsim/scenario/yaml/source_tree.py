"""Source trees: plain values with their places (lines of a file, or options of the command line), and dotted paths.

The dotted path ``vms.receiver.vmx.ethernet0.emuRxMode`` has four keys, as names of settings contain dots.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hostsim.engine.record import Scalar
from hostsim.errors import Fault, InputError, unknown_name
from hostsim.scenario.yaml.reader import KeyPath, read

__all__ = [
    "NUMBER_KEYS",
    "SETTINGS",
    "AssumedValue",
    "Place",
    "Tree",
    "dotted",
    "keys",
    "leaves",
    "merge",
    "over",
    "show_value",
    "unwrap",
]

NUMBER_KEYS = ("cycles", "time", "value")
"""Keys whose value is the number of a constant."""
SETTINGS = frozenset({"vmx", "advanced", "kernel"})
"""Keys after which the remaining path is a single key."""
_NAMED = ("vms", "resource_pools", "traffic", "network")
"""Keys below which the user chooses the names, which may equal a section of settings."""


def keys(path: str) -> KeyPath:
    """The keys of a dotted path."""
    parts = path.split(".")
    for i, part in enumerate(parts):
        if part in SETTINGS and i + 1 < len(parts) and not (i == 1 and parts[0] in _NAMED):
            return (*parts[: i + 1], ".".join(parts[i + 1 :]))
    return tuple(parts)


def dotted(path: KeyPath) -> str:
    """A path as text: keys with dots between, positions in brackets."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Scalar]]:
    """The values of a tree with their paths; a list as text, without missing values."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from leaves(entry, (*path, key))
    elif value is not None:
        yield path, ", ".join(map(str, value)) if isinstance(value, tuple) else value


def show_value(value: Any) -> str:
    """A value as displayed in faults and tables."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple):
        return "[" + ", ".join(show_value(entry) for entry in value) + "]"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Place:
    """The source place of a value: file and line, or an option."""

    file: str
    """A file as the user named it, or an option: ``--set``, ``--axis``."""
    line: int | None = None
    whole_path: KeyPath | None = None
    """The path from the scenario's root; only for a value that an option changed inside a part, and in a Python mapping."""

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class AssumedValue:
    """An assumed value: an input without a published source, written ``{value, assumed, range}``, optionally with ``prior``."""

    path: str
    value: Scalar
    reason: str
    range: tuple[Scalar, ...]
    """Both ends; for a word, all allowed words, including the value."""
    place: Place
    prior: Scalar | None = None
    """Median of the prior distribution, if the value is calibrated."""


@dataclass(frozen=True)
class Tree:
    """A source tree: plain values with places; a change makes a new tree that shares unchanged values."""

    data: Any
    places: Mapping[KeyPath, Place]
    file: str
    """Place of values without a known line."""
    prefix: KeyPath = ()
    """Path from the root of its file, if the tree is a part of it."""

    @classmethod
    def of(cls, file: Path, name: str) -> Tree:
        """The tree of a YAML file, with its name for faults.

        Raises:
            InputError: see `hostsim.scenario.yaml.reader.read`.
        """
        text = read(file, name)
        return cls(text.tree, {path: Place(name, line) for path, line in text.lines.items()}, name)

    def place(self, path: KeyPath) -> Place:
        """The source place of a path, or else of the nearest enclosing mapping."""
        return self._placed(path)[0]

    def _placed(self, path: KeyPath) -> tuple[Place, KeyPath]:
        """The source place of a path; or that of the nearest enclosing mapping, and the rest of the path."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self.places[path[:length]], path[length:]
        return Place(self.file), path

    def get(self, path: KeyPath) -> Any:
        """The value at a path, or None."""
        value = self.data
        for key in path:
            keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, tuple) else ()
            if key not in keys:
                return None
            value = value[key]
        return value

    def put(self, changes: Iterable[tuple[KeyPath, Any, Place]]) -> Tree:
        """A tree with other values at some paths; missing mappings are added."""
        data, places = self.data, dict[KeyPath, Place]()
        for path, value, place in changes:
            data = _put(data, path, value)
            places[path] = place
        return replace(self, data=data, places=over(places, self.places))

    def fault(
        self, path: KeyPath, message: str, allowed: str = "", nearest: str = "", given: str | None = None
    ) -> Fault:
        """A fault at a path, with its value."""
        place, rest = self._placed(path)
        shown = dotted((*self.prefix, *path) if place.file == self.file else path)
        if place.whole_path is not None:
            shown = dotted((*place.whole_path, *rest))
        if given is None:
            value = self.get(path)
            given = "" if value is None else show_value(value)
        return Fault(message, shown, given, allowed, nearest, place.file, place.line)

    def unknown(self, path: KeyPath, noun: str, name: str, names: Collection[str]) -> Fault:
        """The fault of an unknown name at a path."""
        fault = unknown_name(noun, "", name, names)
        return self.fault(path, fault.message, fault.allowed, fault.nearest, fault.given)

    def located(self, path: KeyPath, error: InputError) -> list[Fault]:
        """The faults of an error; those without a file get a path."""
        place = self.place(path)
        return [
            fault if fault.file else replace(fault, path=dotted(path), file=place.file, line=place.line)
            for fault in error.faults
        ]


def over(upper: Mapping[KeyPath, Place], lower: Mapping[KeyPath, Place]) -> Mapping[KeyPath, Place]:
    """Places of both trees, the upper ones first; not copied, as a file may have thousands and every point changes it."""
    layers = [
        layer for places in (upper, lower) for layer in (places.maps if isinstance(places, ChainMap) else [places])
    ]
    return ChainMap(*layers)  # type: ignore[arg-type]  # never changed


def _put(data: Any, path: KeyPath, value: Any) -> Any:
    if not path:
        return value
    key, rest = path[0], path[1:]
    branch = data if isinstance(data, dict) else {}
    return {**branch, key: _put(branch.get(key), rest, value)}


def merge(parent: Tree, delta: Tree) -> Tree:
    """Merge changes over a parent, key by key down to the values; a constant is replaced together with its origin.

    ``~`` for a key removes the parent's value.
    """
    return replace(delta, data=_merge(parent.data, delta.data), places=over(delta.places, parent.places))


def _merge(parent: Any, delta: Any) -> Any:
    if not (isinstance(parent, dict) and isinstance(delta, dict)) or any(key in delta for key in NUMBER_KEYS):
        return delta
    gone = {key for key, value in delta.items() if value is None and key in parent}
    kept = {key: value for key, value in parent.items() if key not in gone}
    return kept | {key: _merge(parent.get(key), value) for key, value in delta.items() if key not in gone}


def unwrap(tree: Tree, prefix: KeyPath = (), skip: Sequence[str] = ()) -> tuple[Tree, list[AssumedValue], list[Fault]]:
    """Unwrap assumed values: take the value out of every ``{value, assumed, range}``.

    Args:
        tree: of a file.
        prefix: path of the tree below the scenario's root.
        skip: top-level keys that are not changed.

    Returns:
        The tree of bare values, the assumptions (their values are not checked), and faults of their form.
    """
    assumptions: list[AssumedValue] = []
    faults: list[Fault] = []

    def bare(value: Any, path: KeyPath) -> Any:
        if isinstance(value, tuple):
            return tuple(bare(entry, (*path, i)) for i, entry in enumerate(value))
        if not isinstance(value, dict):
            return value
        if not {"value", "assumed"} <= value.keys():
            return {key: value[key] if not path and key in skip else bare(value[key], (*path, key)) for key in value}
        ends = value.get("range")
        reason = value["assumed"]
        is_reason = isinstance(reason, str) and bool(reason.strip())
        if set(value) - {"prior"} != {"value", "assumed", "range"} or not (
            is_reason and isinstance(ends, tuple) and len(ends) >= 2 and value.get("prior", 0) is not None
        ):
            allowed = "value, assumed: reason, range: [low, high]"
            faults.append(tree.fault(path, "is not a complete assumption", allowed))
        else:
            where = dotted((*prefix, *path))
            assumptions.append(AssumedValue(where, value["value"], reason, ends, tree.place(path), value.get("prior")))
        return value["value"]

    return replace(tree, data=bare(tree.data, ())), assumptions, faults
