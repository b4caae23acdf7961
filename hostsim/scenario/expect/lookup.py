"""Lookup of names in expectations and figures: axes, metrics, points and bounds; collects every fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hostsim.config.quantity import UNITS, read_quantity
from hostsim.engine.record import AxisValues, Scalar
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.results.metrics.catalogue import CATALOGUE, nearest_metric
from hostsim.results.metrics.functions import Metric
from hostsim.results.metrics.subject import (
    KINDS,
    Subject,
    chosen,
    has,
    kinds_with,
    named,
    parsed,
    reads_traffic,
    shared_fault,
    words,
)
from hostsim.scenario.axis import Axis
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree

__all__ = ["Lookup"]

_NUMBER = re.compile(r"\s*[-+]?\.?\d")


class Lookup:
    """Looks up names of one scenario file among its axes and in the catalogue of metrics."""

    def __init__(self, tree: Tree, axes: Mapping[str, Axis], scenario: Tree | None = None) -> None:
        """Look up names of a file.

        Args:
            tree: of the file.
            axes: of the scenario.
            scenario: tree of the scenario, if the names are in another file.
        """
        self._tree = tree
        self._scenario = tree if scenario is None else scenario
        self.axes = axes
        self.faults: list[Fault] = []
        """Faults in the order in which they were found."""

    def fault(self, path: KeyPath, message: str, allowed: str, nearest: str = "", given: str | None = None) -> None:
        """Add a fault at a path, with its value by default."""
        self.faults.append(self._tree.fault(path, message, allowed, nearest, given))

    def axis(self, name: str, path: KeyPath) -> None:
        """Check that an axis exists."""
        if name not in self.axes:
            self.faults.append(self._tree.unknown(path, "axis", name, self.axes))

    def metric(self, name: str, path: KeyPath) -> str:
        """The unit of a metric; empty if the metric is unknown."""
        measure, subject = parsed(name)
        if measure not in CATALOGUE:
            given = repr(measure) if subject else None
            self.fault(path, "unknown metric", "a name that `hostsim metrics` lists", nearest_metric(measure), given)
            return ""
        if subject:
            self._subject(CATALOGUE[measure], subject, path)
        return CATALOGUE[measure].unit

    def subjects(self) -> dict[str, list[str]]:
        """Names of subjects in the file of the scenario, by kind: traffic entries, groups of VMs, ports of physical NICs."""
        return {"traffic": self._traffic(), "group": self._keys("vms"), "port": self._ports()}

    def _subject(self, metric: Metric, subject: str, path: KeyPath) -> None:
        """Check that the scenario can have a subject, and that the subject has the metric."""
        beside = (*path[:-1], "of")
        path = beside if self._tree.get(beside) == subject else path
        subjects = self.subjects()
        kind, name = words(subject)
        candidates = [candidate for candidate in named(name, *subjects.values()) if kind in ("", candidate.kind)]
        if not candidates:
            having = [
                f"{KINDS[other].words} ({', '.join(own)})"
                for other, own in subjects.items()
                if own and has(metric, other)
            ]
            allowed = "; ".join(having) or kinds_with(metric)
            every = [own for owns in subjects.values() for own in owns]
            self.fault(path, "unknown subject", allowed, nearest_name(name, every), repr(subject))
            return
        try:
            candidate = chosen(candidates, subject, metric)
        except InputError as error:
            [fault] = error.faults
            self.fault(path, fault.message, fault.allowed, given=fault.given)
            return
        if candidate.kind in ("group", "vm") and reads_traffic(metric):
            self._own_traffic(candidate, path)

    def _own_traffic(self, subject: Subject, path: KeyPath) -> None:
        """Check that the traffic of a group of VMs, or of a VM, is not shared with other VMs."""
        group = subject.name.partition("[")[0]
        groups = {name: self._groups_of(name) for name in self._keys("traffic")}
        own = [name for name, members in groups.items() if group in members]
        wide = [name for name in own if len(groups[name]) > 1]
        several = subject.kind == "vm" and self._scenario.get(("vms", group, "count")) not in (None, 1)
        if wide or (several and own):
            fault = shared_fault(*((wide, "several VM groups") if wide else (own, f"all VMs of {group}")))
            self.fault(path, fault.message, fault.allowed, given=repr(subject.name))

    def _groups_of(self, traffic: str) -> set[str]:
        """Groups of VMs that a traffic entry names."""
        groups: set[str] = set()
        for key in ("to", "sender"):
            written = self._scenario.get(("traffic", traffic, key))
            groups |= {written} if isinstance(written, str) else set(map(str, written or ()))
        return groups

    def _traffic(self) -> list[str]:
        """Names of traffic: entries of the file, and calls of the tiers of a service."""
        names = self._keys("traffic")
        behind = {name: self._scenario.get(("traffic", name, "behind")) for name in names}
        return names + [
            f"{name}-{tier + 2}"
            for name, tiers in behind.items()
            if isinstance(tiers, tuple)
            for tier in range(len(tiers))
        ]

    def _keys(self, section: str) -> list[str]:
        section_keys = self._scenario.get((section,))
        return list(map(str, section_keys)) if isinstance(section_keys, Mapping) else []

    def _ports(self) -> list[str]:
        """Ports of physical NICs that the file names: uplinks of its virtual switches, and those with options."""
        networks = self._scenario.get(("network",))
        ports = [
            str(uplink)
            for switch in (networks.values() if isinstance(networks, Mapping) else ())
            for uplink in ((switch.get("uplinks") if isinstance(switch, Mapping) else None) or ())
        ]
        options = self._scenario.get(("host", "nics"))
        return list(dict.fromkeys([*ports, *(map(str, options) if isinstance(options, Mapping) else ())]))

    def point(self, values: AxisValues, path: KeyPath, without: Iterable[str] = ()) -> dict[str, Scalar]:
        """A value for every axis except some: the given value, or the first of the sweep."""
        left_out = set(without)
        written = self.written(values, path, left_out)
        return {name: written.get(name, axis.values[0]) for name, axis in self.axes.items() if name not in left_out}

    def written(self, values: AxisValues, path: KeyPath, without: Iterable[str] = ()) -> dict[str, Scalar]:
        """The given values of axes, except some axes, each as the sweep writes it."""
        left_out = set(without)
        for name in values:
            self.axis(name, (*path, name))
            if name in left_out:
                self.fault((*path, name), "is the axis that is varied here", "the other axes")
        return {name: self._own_value(name, value) for name, value in values.items()}

    def first(self, names: Iterable[str]) -> dict[str, Scalar]:
        """The first values of the given axes, if known."""
        chosen_axes = set(names)
        return {name: axis.values[0] for name, axis in self.axes.items() if name in chosen_axes}

    def values(self, axis: str, values: Sequence[Scalar], path: KeyPath, key: str) -> tuple[Scalar, ...]:
        """Values under ``key`` for an axis, each as the sweep writes it."""
        self.axis(axis, (*path, key))
        own_values = tuple(self._own_value(axis, value) for value in values)
        if len(set(own_values)) < len(own_values):
            self.fault((*path, "values"), "has a value twice", "each value once")
        return own_values

    def _own_value(self, axis: str, value: Scalar) -> Scalar:
        return self.axes[axis].own_value(value) if axis in self.axes else value

    def bound(self, written: Any, unit: str, path: KeyPath) -> float | None:
        """A number in a unit, written as a number or a quantity; None if missing, invalid, or of an unknown unit."""
        if written is None or isinstance(written, int | float) or not unit:
            return None if isinstance(written, str) else written
        word = unit.partition(" ")[0]
        kind = next((kind for kind, units in UNITS.items() if word in units), None)
        if kind is None:
            allowed = "a number, or no value for an open end"
            self.fault(path, "has a unit, and the quantity has none", allowed, given=repr(written))
            return None
        try:
            # 12 digits hide rounding errors of the conversion
            return float(f"{read_quantity(written, kind) / read_quantity(f'1 {word}', kind):.12g}")
        except ValueError as error:
            message, _, allowed = str(error).partition("|")
            self.fault(path, message, f"{allowed}; or a number in {unit}", given=repr(written))
            return None

    def threshold(self, written: Any, unit: str, case: AxisValues, path: KeyPath) -> float | None:
        """A number in a unit: as written, or the value of the named axis at a point.

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
