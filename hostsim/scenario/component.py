"""Components of a scenario: platforms, guests, peers, and hardware with NIC models. Each is read once.

Shipped components are cached in each process, as reading them takes most of the time of loading; they are read again if
one of their files changes.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from hostsim.config.costs import Provenance
from hostsim.config.field import Spec
from hostsim.config.files import display_name, find_below
from hostsim.config.guest import GuestSpec
from hostsim.config.host import HardwareSpec
from hostsim.config.nic import NicSpec
from hostsim.config.peer import PeerSpec
from hostsim.config.platform import PlatformSpec
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.scenario.shipped_data import find_part, shipped_parts
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import NUMBER_KEYS, AssumedValue, Place, Tree, keys, merge, over, unwrap
from hostsim.scenario.yaml.validation import validate

__all__ = ["IN_PLACE", "Change", "Changes", "Part", "Parts", "hardware_in_place", "range_faults"]

Change = tuple[KeyPath, Any, Place]
"""A changed value at a path inside a part, and its place."""
Changes = tuple[Change, ...]
Model = TypeVar("Model", bound=Spec)
_EXTENDABLE = {"platforms": "platform", "guests": "guest", "peers": "peer", "nics": "NIC"}
"""Parts that can extend another part of their kind: their folder, and their name in messages."""
_COSTS = ("costs", "applications", "paths")
"""Sections of parts whose numbers have an origin."""
IN_PLACE = "(in place)"
"""Name of hardware that is a mapping in the scenario."""
MAX_CHAIN = 20
"""Longest chain of files that extend each other."""


@dataclass(frozen=True)
class Part(Generic[Model]):
    """A component of a scenario, with the faults of its file."""

    spec: Model | None
    """None if there are faults."""
    tree: Tree
    assumptions: tuple[AssumedValue, ...]
    faults: tuple[Fault, ...]


class Parts:
    """The components that one scenario names: its platform, hardware, guests and peers."""

    def __init__(self, beside: Path, root: Path | None = None, in_place: Tree | None = None) -> None:
        """The parts of a scenario. Nothing is read yet.

        Args:
            beside: folder that paths are relative to.
            root: folder that must contain all files; by default ``beside``.
            in_place: hardware that is a mapping in the scenario.
        """
        self._beside, self._root = beside, root or beside
        self.in_place = in_place
        self._read: dict[Any, Part[Any]] = {}

    def platform(self, name: str, prefix: KeyPath, changes: Changes = ()) -> Part[PlatformSpec]:
        """Read a platform, merged over those that it extends."""
        return self._part("platforms", PlatformSpec, name, prefix, changes)

    def hardware(self, name: str, prefix: KeyPath, changes: Changes = ()) -> Part[HardwareSpec]:
        """Read a server."""
        return self._part("hardware", HardwareSpec, name, prefix, changes)

    def guest(self, name: str, prefix: KeyPath, changes: Changes = ()) -> Part[GuestSpec]:
        """Read a guest, merged over those that it extends."""
        return self._part("guests", GuestSpec, name, prefix, changes)

    def peer(self, name: str, prefix: KeyPath, changes: Changes = ()) -> Part[PeerSpec]:
        """Read a kind of peer, merged over those that it extends."""
        return self._part("peers", PeerSpec, name, prefix, changes)

    def nic(self, name: str) -> Part[NicSpec]:
        """Read a model of NIC, merged over those that it extends."""
        return self._part("nics", NicSpec, name, (), ())

    def _part(self, kind: str, model: type[Model], name: str, prefix: KeyPath, changes: Changes) -> Part[Model]:
        """Read a part, or return it if it was read before.

        Args:
            kind: folder of the shipped parts.
            model: model of its file.
            name: a shipped name or a path.
            prefix: path of the part below the scenario's root.
            changes: values that replace those of its file.

        Raises:
            InputError: no such name or file; the fault has no place.
        """
        key = (kind, name, prefix, changes)
        if key not in self._read:
            self._read[key] = self._open(kind, model, name, prefix, changes)
        return self._read[key]

    def _open(self, kind: str, model: type[Model], name: str, prefix: KeyPath, changes: Changes) -> Part[Model]:
        if name == IN_PLACE and kind == "hardware" and self.in_place is not None:
            try:
                written = _with_models(self.in_place, self._beside, self._root)
                written, changes = _with_chosen_nics(written, changes, self._beside, self._root)
            except InputError as error:
                return Part(None, self.in_place, (), error.faults)
            return _checked(model, written, prefix, changes)
        file = find_part(kind, name, self._beside, self._root)
        shipped = _Shipped.of(kind, file)
        try:
            if shipped is not None and not changes:
                return _untouched(shipped, model, prefix)
            written = _shipped(shipped) if shipped is not None else _written(file, kind, self._root)
            if kind == "hardware":
                written, changes = _with_chosen_nics(written, changes, self._beside, self._root)
        except InputError as error:
            return Part(None, Tree({}, {}, display_name(file)), (), error.faults)
        return _checked(model, written, prefix, changes)


def hardware_in_place(tree: Tree) -> tuple[Tree, Tree | None]:
    """Separate hardware that is a mapping in the scenario.

    Returns:
        The scenario with `IN_PLACE` as its hardware, and the mapping, which needs no name; None for named hardware.
    """
    key: KeyPath = ("hardware",)
    data = tree.get(key)
    if not isinstance(data, dict) or {"value", "assumed"} <= data.keys():
        return tree, None
    places = {path[1:]: place for path, place in tree.places.items() if path[:1] == key}
    held = Tree({"hardware": "in-place", **data}, places, tree.file, key)
    return tree.put([(key, IN_PLACE, tree.place(key))]), held


@dataclass(frozen=True)
class _Shipped:
    """A shipped component and the state of its files."""

    kind: str
    file: Path
    name: str
    """Its name in faults."""
    stamps: tuple[tuple[int, int], ...]
    """Times and sizes of the files of all parts of its kind, as one may extend another; for a server, also of NICs."""

    @classmethod
    def of(cls, kind: str, file: Path) -> _Shipped | None:
        """The component's file if the component is shipped, else None."""
        files = list(shipped_parts(kind).values())
        if file not in files:
            return None
        nics = shipped_parts("nics").values() if kind == "hardware" else ()
        stats = [other.stat() for other in (*files, *nics)]
        return cls(kind, file, display_name(file), tuple((stat.st_mtime_ns, stat.st_size) for stat in stats))


@functools.lru_cache(maxsize=64)
def _shipped(part: _Shipped) -> Tree:
    return _written(part.file, part.kind, part.file.parent)


@functools.lru_cache(maxsize=256)
def _untouched(part: _Shipped, model: type[Model], prefix: KeyPath) -> Part[Model]:
    # a test checks the ranges of shipped parts instead, as each end needs a validation of the whole part
    return _checked(model, _shipped(part), prefix, (), ranges=False)


def _checked(
    model: type[Model], written: Tree, prefix: KeyPath, changes: Changes, *, ranges: bool = True
) -> Part[Model]:
    """A validated component, from its file and the changes to it."""
    # costs, including those of applications, have separate fields for assumptions
    bare, assumptions, faults = unwrap(written, prefix, skip=("costs", "applications"))
    tree = bare.put(changes)
    moved = {path for path, _, _ in changes}
    held = [a for a in assumptions if keys(a.path)[len(prefix) :] not in moved]
    spec, new_faults = validate(model, tree)
    faults += new_faults if model is not HardwareSpec else _with_unknown_models(tree, new_faults)
    if spec is not None and ranges:
        faults += [fault for a in held for fault in range_faults(model, tree, a, keys(a.path)[len(prefix) :])]
    faults += _cost_faults(tree, spec, moved)
    if isinstance(spec, HardwareSpec):
        faults += _overridden_rules(tree, spec, moved)
    return Part(None if faults else spec, tree, tuple(held), tuple(faults))


def _written(file: Path, kind: str, root: Path) -> Tree:
    """The tree of a part, merged over the parts that it extends; for a server, also over its NIC models."""
    tree = _extended(file, kind, root, ())
    return _with_models(tree, file.parent, root) if kind == "hardware" else tree


def _with_models(tree: Tree, beside: Path, root: Path) -> Tree:
    """A server's tree with each NIC merged over the model that it names."""
    nics = tree.data.get("nics")
    for name, nic in nics.items() if isinstance(nics, dict) else ():
        if isinstance(nic, dict):
            tree = _laid_over_model(tree, name, nic, beside, root)
    return tree


def _with_chosen_nics(tree: Tree, changes: Changes, beside: Path, root: Path) -> tuple[Tree, Changes]:
    """A server with changed models of NICs, and the remaining changes.

    A model from an option or an axis replaces all keys of the NIC in the server's file, except its node.

    Raises:
        InputError: the model does not exist.
    """
    left = []
    for path, value, place in changes:
        if path[:1] != ("nics",) or path[2:] != ("model",):
            left.append((path, value, place))
            continue
        node = tree.get((*path[:2], "node"))
        nic = {"model": value} | ({} if node is None else {"node": node})
        tree = tree.put([(path[:2], nic, place), (path, value, place)])
        if _model_file(value, beside, root) is None:
            raise InputError(_unknown_model(tree, path, "one of " + ", ".join(shipped_parts("nics"))))
        tree = _laid_over_model(tree, str(path[1]), nic, beside, root)
    return tree, tuple(left)


def _model_file(model: Any, beside: Path, root: Path) -> Path | None:
    """The file of a model of NIC; None for any other text, such as a name on a data sheet.

    Raises:
        InputError: a path does not lead to a file below the root; the fault has no place.
    """
    name = str(model)  # 82599 is an integer in YAML
    return find_below(name, beside, root) if name.endswith((".yaml", ".yml")) else shipped_parts("nics").get(name)


def _laid_over_model(tree: Tree, name: str, written: dict[str, Any], beside: Path, root: Path) -> Tree:
    """A server's tree with a NIC merged over its model; unchanged without a model."""
    path: KeyPath = ("nics", name)
    try:
        file = _model_file(written.get("model"), beside, root)
    except InputError as error:
        raise InputError(tree.located((*path, "model"), error)) from None
    if file is None:
        return tree
    model = _extended(file, "nics", root, ())
    of_model = dict(model.data)
    if "moderation" in written:  # an interval has priority over a rule
        of_model.pop("interrupt_interval", None)
    places = {(*path, *inner): model.place(inner) for inner in model.places}
    delta = Tree({key: value for key, value in written.items() if key != "model"}, {}, tree.file)
    nic = merge(Tree(of_model, {}, model.file), delta).data
    nics = {**tree.data["nics"], name: nic}
    return replace(tree, data={**tree.data, "nics": nics}, places=over(tree.places, places))


def _overridden_rules(tree: Tree, server: HardwareSpec, moved: set[KeyPath]) -> Iterator[Fault]:
    """Faults of moderation rules from options or axes, which a fixed interval makes ineffective."""
    for name, nic in server.nics.items():
        path: KeyPath = ("nics", name, "moderation")
        if path in moved and nic.moderation is not None and nic.interrupt_interval is not None:
            yield tree.fault(path, "has no effect beside interrupt_interval", "a rule, with interrupt_interval null")


_NEEDED = ("line_rate", "rx_ring", "driver")
"""Required keys of a NIC without a model of the catalogue."""


def _with_unknown_models(tree: Tree, faults: list[Fault]) -> list[Fault]:
    """The faults of a server; a NIC with an unknown model has one fault instead of all its missing keys."""
    nics = tree.get(("nics",))
    alone = {
        name: nic["model"]
        for name, nic in (nics.items() if isinstance(nics, dict) else ())
        if isinstance(nic, dict) and isinstance(nic.get("model"), str | int) and nic.keys().isdisjoint(_NEEDED)
    }
    missing = {f"nics.{name}.{key}" for name in alone for key in _NEEDED}
    allowed = f"one of {', '.join(shipped_parts('nics'))}, a path that ends in .yaml, or a name with {', '.join(_NEEDED)} and the moderation beside it"
    unknown = [_unknown_model(tree, ("nics", name, "model"), allowed) for name in alone]
    return [*unknown, *(fault for fault in faults if fault.path.removeprefix("hardware.") not in missing)]


def _unknown_model(tree: Tree, path: KeyPath, allowed: str) -> Fault:
    given = str(tree.get(path))
    return tree.fault(path, "unknown model of NIC", allowed, nearest_name(given, shipped_parts("nics")))


def _extended(file: Path, kind: str, root: Path, chain: tuple[Path, ...]) -> Tree:
    """The tree of a part merged over the parts that it extends, which are all below ``root`` or shipped."""
    tree = Tree.of(file, display_name(file))
    if not isinstance(tree.data, dict):
        raise InputError(tree.fault((), "is not a mapping", "keys and values"))
    if kind not in _EXTENDABLE or "extends" not in tree.data:
        return tree
    parent, noun = tree.data["extends"], _EXTENDABLE[kind]
    if not isinstance(parent, str):
        raise InputError(tree.fault(("extends",), "is not a name", f"a {noun}, or a path with a slash"))
    chain = (*chain, file.resolve())
    if len(chain) > MAX_CHAIN:
        raise InputError(tree.fault(("extends",), "extends too many files", f"a chain of at most {MAX_CHAIN} files"))
    try:
        parent_file = find_part(kind, parent, file.parent, root)
    except InputError as error:
        raise InputError(tree.located(("extends",), error)) from None
    if parent_file.resolve() in chain:
        raise InputError(tree.fault(("extends",), "extends itself", f"a {noun} that does not extend this one"))
    delta = Tree({key: value for key, value in tree.data.items() if key != "extends"}, tree.places, tree.file)
    return merge(_extended(parent_file, kind, root, chain), delta)


def _cost_faults(tree: Tree, spec: Spec | None, moved: Collection[KeyPath]) -> Iterator[Fault]:
    """Faults of costs, factors and priors that are outside their ranges; values of an option or an axis are not checked."""
    for path, constant in _constants({key: getattr(spec, key, None) for key in _COSTS}, ()):
        number = next(key for key in NUMBER_KEYS if getattr(constant, key, None) is not None)
        ends = getattr(constant, "range", None)
        for key in (number, "prior"):
            value = getattr(constant, key, None)
            if ends is not None and value is not None and (*path, key) not in moved and not ends[0] <= value <= ends[1]:
                yield tree.fault((*path, key), "is outside its range", _within("prior" if key == "prior" else "value"))


def _constants(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Provenance]]:
    """The costs and factors of a part by their paths."""
    if isinstance(value, Provenance):
        yield path, value
    elif isinstance(value, Spec | dict):
        for key, entry in value if isinstance(value, Spec) else value.items():
            yield from _constants(entry, (*path, key))


def range_faults(model: type[Spec], tree: Tree, assumption: AssumedValue, path: KeyPath) -> list[Fault]:
    """Check the range of an assumed value: both ends must be valid and contain the value; a choice must contain it."""
    read = []
    numbers = [assumption.value, *(() if assumption.prior is None else (assumption.prior,))]
    for written in (*numbers, *assumption.range):
        spec, faults = validate(model, tree.put([(path, written, assumption.place)]))
        if spec is None:
            return faults
        read.append(_value(spec, path))
    values, ends = read[: len(numbers)], read[len(numbers) :]
    is_word = isinstance(values[0], str)
    if not is_word and len(ends) > 2:
        return [tree.fault(path, "has a range of more than two ends", "[low, high]", given=str(assumption.value))]
    return [
        tree.fault(place, "is outside its range", "one of its range" if is_word else _within(what), given=str(given))
        for place, what, given, value in zip(
            (path, (*path, "prior")), ("value", "prior"), numbers, values, strict=False
        )
        if (value not in ends if is_word else not ends[0] <= value <= ends[1])
    ]


def _within(what: str) -> str:
    return f"low not above the {what}, high not below it"


def _value(spec: Any, path: KeyPath) -> Any:
    for key in path:
        spec = getattr(spec, str(key)) if isinstance(spec, BaseModel) else spec[key]
    return spec
