"""Constant of the cost model, or assumed input: value, unit, range and origin, read from files."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from hostsim.files import display_name
from hostsim.record import Scalar
from hostsim.scenario.component import Change, Part
from hostsim.scenario.shipped_data import PREDICTIONS, shipped_parts
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import NUMBER_KEYS, AssumedValue, dotted, keys
from hostsim.spec.quantity import UNITS, read_quantity
from hostsim.units import SECOND

__all__ = ["PARTS", "SPREAD", "Constant", "Origin", "constants_of", "input_of"]

SPREAD = 0.2
"""Share of its value to either side in which a constant without a range is taken to lie."""
PARTS = ("platforms", "hardware", "guests", "peers")
"""Kinds of files, beside scenarios, that hold constants."""


class Origin(StrEnum):
    """Origin of a constant: a source or an assumption."""

    SOURCE = "source"
    """A row of the facts, a paper, a data sheet."""
    ASSUMED = "assumed"
    """Somebody's judgement, with a range."""


@dataclass(frozen=True)
class Constant:
    """Constant of the cost model, or assumed input of a scenario."""

    name: str
    """The file and the path in it: ``esxi.costs.driver_rx``; of an input of a scenario the path alone."""
    file: str
    """Name of a shipped part, or a file as the user knows it; empty for the scenario itself."""
    paths: tuple[str, ...]
    """Where it stands in the file; several paths where equal ports share one assumption."""
    value: float
    unit: str
    """As it is written: ``cycles``, ``us``, ``B``; empty for a number without one."""
    origin: Origin
    text: str
    """The source, or the reason of an assumption."""
    range: tuple[float, float] | None = None
    """Both ends, in ``unit``; of a choice, its place among ``words``. None where a source leaves no range."""
    prior: float | None = None
    """Median of the prior distribution, likewise; None where the value itself is that."""
    is_whole: bool = False
    """It has no values between whole numbers: it counts something, or is a size of which all ends are whole numbers of its unit."""
    words: tuple[str, ...] = ()
    """Of a choice: all that may stand in its place. Its value is the place of its word among them."""

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of its interval: the range, or else a fifth of the value to either side."""
        return self.range or (self.value * (1 - SPREAD), self.value * (1 + SPREAD))

    @property
    def is_calibrated(self) -> bool:
        """True of a number that a calibration moves: its prior stands beside its value."""
        return self.prior is not None

    def places(self) -> Iterator[tuple[KeyPath, str]]:
        """Where its number stands in the file: the path of the mapping that holds it, and its key there."""
        for text in self.paths:
            path = keys(text)
            # an input at a key such as ``time`` has that in its name as well
            is_key = path[-1] in NUMBER_KEYS and not self.name.endswith(f".{path[-1]}")
            yield (path[:-1], str(path[-1])) if is_key else (path, "value")

    def written(self, value: float) -> Scalar:
        """A value of this constant as text or number for a file."""
        if self.words:
            return self.words[round(value)]
        is_size = _kind(self.unit) == "size"
        if is_size and not (self.is_whole or float(value).is_integer()):
            return f"{round(value * UNITS['size'][self.unit])} B"
        number: Scalar = round(value) if self.is_whole or is_size else float(f"{value:.12g}")
        return f"{number} {self.unit}" if _kind(self.unit) else number

    def in_spec(self, value: float) -> float:
        """A value of this constant in the unit of the spec."""
        written = self.written(value)
        kind = _kind(self.unit)
        if kind:
            return read_quantity(written, kind) * (SECOND if kind == "duration" else 1)
        return float(written)


def constants_of(part: Part[Any], key: KeyPath, changes: Iterable[Change]) -> Iterator[Constant]:
    """Read the constants of a component, each under the file that defines it.

    Args:
        part: a sound one.
        key: where it stands in the scenario.
        changes: what has been put into it; a constant that was there is none.
    """
    names = _shipped_names(Path.cwd())
    put = {path for path, _, _ in changes}
    for path, body in _bodies(part.tree.data, ()):
        number = next(number for number in NUMBER_KEYS if number in body)
        if path not in put and (*path, number) not in put:
            file = part.tree.place(path).file
            yield _costed((*path, number), body, names.get(file, file))
    shared: dict[Any, list[AssumedValue]] = {}
    for assumption in part.assumptions:
        path = keys(assumption.path)[len(key) :]
        # an assumption about equal ports is one, however often it is written
        place = ("nics", *path[2:]) if path[0] == "nics" else path
        alike = (place, assumption.value, assumption.range, assumption.reason, assumption.prior)
        shared.setdefault(alike, []).append(assumption)
    for group in shared.values():
        file = group[0].place.file
        constant = input_of(group, names.get(file, file), key)
        if constant is not None and not constant.words:  # a part's spec takes numbers
            yield constant


@functools.lru_cache(maxsize=4)
def _shipped_names(folder: Path) -> Mapping[str, str]:
    """Names of shipped parts by the display names of their files, those of predictions included: they are the same from every folder."""
    kinds = (*PARTS, *(f"{PREDICTIONS}/{kind}" for kind in PARTS))
    prefix = {kind: f"{PREDICTIONS}/" if kind not in PARTS else "" for kind in kinds}
    return {display_name(file): prefix[kind] + name for kind in kinds for name, file in shipped_parts(kind).items()}


def _bodies(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    """Mappings that hold a number with its origin."""
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
    """The constant of an assumption, written once or for several equal ports; None unless it is a number, a quantity or one of some words."""
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
    """The kind of quantity that a unit measures; empty where it measures none."""
    return next((kind for kind, units in UNITS.items() if unit in units), "")


def _read(written: Scalar) -> tuple[float, str]:
    """A number and the unit behind it.

    Raises:
        ValueError: it is neither a number nor a quantity.
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
        ValueError: it cannot be.
    """
    kind = _kind(unit)
    if not kind:
        return float(written)
    return float(f"{read_quantity(written, kind) / read_quantity(f'1 {unit}', kind):.12g}")
