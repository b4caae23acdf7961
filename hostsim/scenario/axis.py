"""Axes of a parameter sweep: the values that vary, from a scenario file or from ``--axis name=1..40:4``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hostsim.config.quantity import UNITS, read_quantity
from hostsim.engine.record import Scalar
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.results.figure import AxisNames
from hostsim.scenario.component import Change
from hostsim.scenario.yaml.reader import parse_value
from hostsim.scenario.yaml.source_tree import Place, keys, show_value

__all__ = ["MOST_VALUES", "Axis", "PointKey", "canonical_text", "make_axis", "point_key", "read_values", "written_text"]

MOST_VALUES = 100_000
"""Largest number of values of an axis."""

_RANGE = re.compile(r"(?P<start>-?\d+)\s*\.\.\s*(?P<stop>-?\d+)(?:\s*:\s*(?P<step>\d+))?(?:\s*(?P<unit>[^\d\s:.].*))?")
_HALF_RANGE = re.compile(r"\d\s*\.\.|\.\.\s*\d")
_ALLOWED_RANGE = (
    "start..stop:step with start not above stop, a step above 0, "
    f"at most {MOST_VALUES} values, and the unit once, at the end: 5..20:5 kpps"
)


PointKey = tuple[tuple[type, object], ...]
"""Key of a point of a scenario: type and value on each of its axes."""


def point_key(values: Iterable[Scalar]) -> PointKey:
    """The key of a point; 1 and true differ."""
    return tuple((type(value), value) for value in values)


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep: one parameter that varies, or several that vary together."""

    paths: tuple[str, ...]
    """Varied dotted paths."""
    values: tuple[Scalar, ...]
    """Values as written, in order; a step with one value for each path is written with commas."""
    steps: tuple[tuple[Scalar, ...], ...]
    """For each value, the values of all paths."""
    places: tuple[Place, ...]
    """Place in the file of each value."""
    index: Mapping[str, int] = field(repr=False, compare=False)
    """Position of each value by canonical text, see `canonical_text`."""
    labels: tuple[Scalar, ...] = ()
    """Names of all steps, swept or not, if steps have names; other values are then refused."""
    names: AxisNames = field(default=AxisNames(), compare=False)
    """Labels of the axis and of its values in figures."""

    def fault(self, name: str, value: Scalar, place: Place) -> Fault | None:
        """Fault for a value that the axis ``name`` does not have, or None."""
        if not self.labels or canonical_text(value) in self.index:
            return None
        labels = [str(label) for label in self.labels]
        allowed = "one of " + ", ".join(labels)
        nearest = nearest_name(str(value), labels)
        return Fault("is not a label of the axis", name, repr(value), allowed, nearest, place.file, place.line)

    def own_value(self, value: Scalar) -> Scalar:
        """The value as written in the axis; an unknown value is returned unchanged."""
        index = self.index.get(canonical_text(value))
        return value if index is None else (self.labels or self.values)[index]

    def changes(self, value: Scalar, place: Place) -> list[Change]:
        """Changes that a value of the axis makes to a scenario; ``place`` is reported for an unknown value."""
        step: tuple[Scalar, ...] = (value,) * len(self.paths)
        index = self.index.get(canonical_text(value))
        if index is not None:
            step, place = self.steps[index], self.places[index]
        return [(keys(path), setting, place) for path, setting in zip(self.paths, step, strict=True)]

    def only(self, chosen: Iterable[Scalar]) -> Axis:
        """The axis restricted to some of its labels, in the given order. All labels must exist."""
        return replace(self, values=tuple(dict.fromkeys(map(self.own_value, chosen))))


def canonical_text(value: Scalar) -> str:
    """The canonical text of a value, equal for all its spellings: ``1`` and ``"1"``, ``40 kpps`` and ``40000 pps``."""
    for kind in UNITS if isinstance(value, str) else ():
        try:
            return f"{read_quantity(value, kind):.12g} {kind}"
        except ValueError:
            continue
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def written_text(value: Scalar) -> str:
    """A value of an axis in a single YAML spelling: lower-case booleans, quantities in one unit."""
    return str(value).lower() if isinstance(value, bool) else canonical_text(value)


def make_axis(
    name: str, paths: tuple[str, ...], written: Iterable[tuple[Any, Place]], labels: Sequence[Scalar] = ()
) -> tuple[Axis | None, list[Fault]]:
    """An axis from its values.

    Args:
        name: its name, for faults.
        paths: varied paths.
        written: the values, each a scalar or a list with one value for each path, with their places.
        labels: a name for each value; by default the value itself.

    Returns:
        The axis, or None if there are faults; and the faults: lists that do not match the paths, and repeated values.
    """
    index: dict[str, int] = {}
    values: list[Scalar] = []
    steps: list[tuple[Scalar, ...]] = []
    places: list[Place] = []
    faults: list[Fault] = []
    for position, (value, place) in enumerate(written):
        step = value if isinstance(value, tuple) else (value,) * len(paths)
        label = ", ".join(map(str, value)) if isinstance(value, tuple) else value
        label = labels[position] if labels else label
        if len(step) != len(paths):
            allowed = f"one value, or a list of {len(paths)}" if len(paths) > 1 else "one value, not a list"
            message = "does not fit the paths of the axis"
        elif not isinstance(label, Scalar):
            allowed, message = "text or a number", "is not a value"
        elif canonical_text(label) in index:
            allowed, message = "each value once", "is given twice"
        else:
            index[canonical_text(label)] = len(values)
            values.append(label)
            steps.append(step)
            places.append(place)
            continue
        faults.append(
            Fault(
                message,
                f"sweep.{name}.values",
                show_value(label if labels else value),
                allowed,
                "",
                place.file,
                place.line,
            )
        )
    return (None if faults else Axis(paths, tuple(values), tuple(steps), tuple(places), index, tuple(labels))), faults


def read_values(text: str, like: Iterable[Scalar]) -> list[Scalar]:
    """The values of ``--axis name=VALUES``: a list with commas, of values and ranges ``start..stop[:step] [unit]``.

    Args:
        text: text after the equals sign.
        like: values of the axis in the file; if all are text, numbers are read as text.

    Raises:
        InputError: the text is not a list of values; the fault has no path.
    """
    as_text = bool(others := list(like)) and all(isinstance(value, str) for value in others)
    values: list[Scalar] = []
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece.strip())
        if match is None and _HALF_RANGE.search(piece):
            raise InputError(Fault("is not a range", given=repr(piece), allowed=_ALLOWED_RANGE, file="--axis"))
        if match is None:
            value = parse_value(piece.strip(), "--axis")
            if value == "" or not isinstance(value, Scalar):
                allowed = "values separated by commas, or start..stop:step"
                raise InputError(Fault("is not a list of values", given=repr(text), allowed=allowed, file="--axis"))
            values.append(value)
            continue
        start, stop, step = int(match["start"]), int(match["stop"]), int(match["step"] or 1)
        if step == 0 or stop < start or (stop - start) // step >= MOST_VALUES:
            raise InputError(Fault("is not a range", given=repr(piece), allowed=_ALLOWED_RANGE, file="--axis"))
        unit = match["unit"]
        values += [f"{n} {unit}" if unit else n for n in range(start, stop + 1, step)]
    return [str(value) for value in values] if as_text else values
