"""Lookup of the names in expectations and figures: axes, metrics, points and bounds, with every fault gathered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hostsim.config.quantity import UNITS, read_quantity
from hostsim.engine.record import AxisValues, Scalar
from hostsim.errors import Fault, nearest_name
from hostsim.results.metrics.catalogue import CATALOGUE, nearest_metric
from hostsim.scenario.axis import Axis
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["Lookup"]

_NUMBER = re.compile(r"\s*[-+]?\.?\d")


class Lookup:
    """Looks up names of one scenario file, among its axes and in the catalogue of metrics."""

    def __init__(self, tree: Tree, axes: Mapping[str, Axis]) -> None:
        self._tree = tree
        self.axes = axes
        self.faults: list[Fault] = []
        """What was wrong, in the order in which it was found."""

    def fault(self, path: KeyPath, message: str, allowed: str, nearest: str = "", given: str | None = None) -> None:
        """Gather a fault at a path, with its value unless another is given."""
        self.faults.append(self._tree.fault(path, message, allowed, nearest, given))

    def axis(self, name: str, path: KeyPath) -> None:
        """Check that an axis exists."""
        if name not in self.axes:
            known = list(self.axes)
            allowed = "one of " + ", ".join(known) if known else "nothing: the scenario sweeps nothing"
            self.fault(path, "unknown axis", allowed, nearest_name(name, known), given=repr(name))

    def metric(self, name: str, path: KeyPath) -> str:
        """The unit of a metric; empty where it is unknown."""
        if name in CATALOGUE:
            return CATALOGUE[name].unit
        self.fault(path, "unknown metric", "one of " + ", ".join(CATALOGUE), nearest_metric(name))
        return ""

    def point(self, given: AxisValues, path: KeyPath, without: Iterable[str] = ()) -> dict[str, Scalar]:
        """A value for every axis but some: the given one, or else the first of the sweep."""
        left_out = set(without)
        written = self.written(given, path, left_out)
        return {name: written.get(name, axis.values[0]) for name, axis in self.axes.items() if name not in left_out}

    def written(self, given: AxisValues, path: KeyPath, without: Iterable[str] = ()) -> dict[str, Scalar]:
        """The given values of axes but some, each as the sweep writes it."""
        left_out = set(without)
        for name in given:
            self.axis(name, (*path, name))
            if name in left_out:
                self.fault((*path, name), "is an axis that this runs along", "the other axes")
        return {name: self._known(name, value) for name, value in given.items()}

    def first(self, names: Iterable[str]) -> dict[str, Scalar]:
        """The first value of the sweep of these axes, as far as they are there."""
        wanted = set(names)
        return {name: axis.values[0] for name, axis in self.axes.items() if name in wanted}

    def values(self, axis: str, values: Sequence[Scalar], path: KeyPath, key: str) -> tuple[Scalar, ...]:
        """Values of an axis that is named under ``key``, each as the sweep writes it."""
        self.axis(axis, (*path, key))
        known = tuple(self._known(axis, value) for value in values)
        if len(set(known)) < len(known):
            self.fault((*path, "values"), "has a value twice", "each value once")
        return known

    def _known(self, axis: str, value: Scalar) -> Scalar:
        return self.axes[axis].known(value) if axis in self.axes else value

    def bound(self, written: Any, unit: str, path: KeyPath) -> float | None:
        """A number in a unit, written as one or as a quantity; None where nothing is written, it is none, or the unit is not known."""
        if written is None or isinstance(written, int | float) or not unit:
            return None if isinstance(written, str) else written
        word = unit.partition(" ")[0]
        kind = next((kind for kind, units in UNITS.items() if word in units), None)
        if kind is None:
            allowed = "a number, or nothing for an open end"
            self.fault(path, "has a unit where there is none", allowed, given=repr(written))
            return None
        try:
            # 12 digits: what the way through the base unit has rounded is no part of the number
            return float(f"{read_quantity(written, kind) / read_quantity(f'1 {word}', kind):.12g}")
        except ValueError as error:
            message, _, allowed = str(error).partition("|")
            self.fault(path, message, f"{allowed}; or a number in {unit}", given=repr(written))
            return None

    def threshold(self, written: Any, unit: str, case: AxisValues, path: KeyPath) -> float | None:
        """A number in a unit: as written, or the value at a point of the axis that is named.

        Args:
            written: a number, a quantity, or the name of an axis.
            unit: of the number.
            case: the point.
            path: of what is written.
        """
        if not isinstance(written, str) or (written not in self.axes and _NUMBER.match(written)):
            return self.bound(written, unit, path)
        self.axis(written, path)
        value = case.get(written)
        if value is None or not unit:
            return None
        try:
            return float(value)
        except ValueError:
            return self.bound(value, unit, path)
