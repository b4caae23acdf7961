"""Reader of expectations and figures, which looks up their claims."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hostsim.engine.record import AxisValues
from hostsim.errors import nearest_name
from hostsim.results.claim import Claim, Measurement
from hostsim.results.expect import Band, Expectation, ExpectPart, Find, Form, is_same_unit
from hostsim.results.figure import Figure
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.axis import Axis
from hostsim.scenario.expect.figure import FigurePart, read_figure
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.resolve import Resolver
from hostsim.scenario.scenario import Precision
from hostsim.scenario.shipped_data import claims, measurements
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Place, Tree, keys, show_value
from hostsim.units import SECOND

__all__ = [
    "LoadTrial",
    "Reader",
]


_NO_COUNT = ("ratio", "boolean", "R2", "%")
"""Units of claims that values of an axis cannot have."""


class Reader(Lookup):
    """Reads the expectations and figures of a scenario; collects their faults."""

    def __init__(self, tree: Tree, axes: Mapping[str, Axis], trial: LoadTrial) -> None:
        super().__init__(tree, axes)
        self._trial = trial
        written = tree.get(("expect",))
        entries = [entry for entry in written if isinstance(entry, dict)] if isinstance(written, tuple) else []
        # their faults are reported at their own place
        self._labels = [str(entry.get("claim", entry.get("measurement", entry.get("name")))) for entry in entries]
        tables = {"claim": claims().keys(), "measurement": measurements().keys()}
        self._misspelt = {
            str(entry[key])
            for key, table in tables.items()
            for entry in entries
            if key in entry and entry[key] not in table
        }

    def is_listed(self, path: KeyPath) -> bool:
        """True if the file has a list at the path."""
        return isinstance(self._tree.get(path), tuple)

    def tried(self, changes: Mapping[str, Any], at: AxisValues, path: KeyPath) -> tuple[str, tuple[str, ...]]:
        """A change of the scenario in words, and the reason if it cannot be loaded."""
        return self._trial(changes, at, self._tree.place(path))

    def figures(
        self, parts: Iterable[tuple[str | int, FigurePart]], expectations: Iterable[Expectation | None]
    ) -> tuple[Figure, ...]:
        """Read all figures.

        Args:
            parts: entries of the file, by name.
            expectations: the valid expectations.
        """
        figures = {entry.name: entry for entry in expectations if entry is not None}
        return tuple(
            read_figure(name, part, self, figures, self._require) for name, part in parts if isinstance(name, str)
        )

    def _require(self, answer: str, path: KeyPath) -> None:
        """Add a fault if no expectation of the file has this name."""
        if answer not in self._labels:
            is_asked = "names of expectations of this scenario"
            allowed = is_asked if self._labels else "nothing, because no expectation is defined"
            self._unknown(answer, path, allowed, self._labels)

    def expectation(self, index: int, part: ExpectPart) -> Expectation | None:
        """Read one expectation; None if it has faults."""
        path: KeyPath = ("expect", index)
        before = len(self.faults)
        form, unit = part.read(self, path)
        if part.claim is not None:
            claim = claims().get(part.claim)
            if claim is None:
                nearest = nearest_name(part.claim, claims())
                self.fault((*path, "claim"), "unknown claim", "an id of claims.csv", nearest)
                return None
            self._check_unit(claim, form, unit, (*path, "claim"))
            label = claim.label if claim.label != claim.metric else ""
            band, published = claim.band, claim.published
            expectation = Expectation(
                claim.id, form, band, claim.unit, published, is_claim=True, kind=claim.kind, label=label
            )
        elif part.measurement is not None:
            row = measurements().get(part.measurement)
            if row is None:
                nearest = nearest_name(part.measurement, measurements())
                self.fault((*path, "measurement"), "unknown measurement", "an id of published-2.csv", nearest)
                return None
            row = row.counted_in(unit)
            self._check_unit(row, form, unit, (*path, "measurement"))
            expectation = Expectation(row.id, form, row.band, row.unit, row.value, is_claim=True, kind=row.kind)
        else:
            low, high = (self.bound(end, unit, (*path, "between")) for end in part.between or (None, None))
            if low is not None and high is not None and low > high:
                self.fault((*path, "between"), "has its ends in the wrong order", "[low, high]")
            expectation = Expectation(
                str(part.name), form, Band(low, high), unit, _in_words(part.between), is_claim=False
            )
        return expectation if len(self.faults) == before else None

    def _check_unit(self, claim: Claim | Measurement, form: Form, unit: str, path: KeyPath) -> None:
        """Check that the answer of a form has the unit of the claim. An axis value is a count."""
        if isinstance(form, Find):
            if claim.unit.partition(" ")[0] in _NO_COUNT:
                self.fault(
                    path, f"is in {claim.unit}, and its answer is a value of {form.axis}", "a question in its unit"
                )
        elif unit and not is_same_unit(claim.unit, unit):
            fitting = [metric.name for metric in CATALOGUE.values() if is_same_unit(metric.unit, claim.unit)]
            allowed = f"a question in its unit{'; metrics: ' if fitting else ''}{', '.join(fitting)}"
            self.fault(path, f"is in {claim.unit}, and its answer in {unit}", allowed)

    def precision(self, name: str, text: str) -> Precision | None:
        """Read the target precision of a metric; None if it has faults."""
        path: KeyPath = ("run", "precision", name)
        unit = self.metric(name, path)
        written = text.strip()
        absolute = written.removesuffix(" abs")
        relative = absolute == written
        value = self.bound(absolute, "%" if relative else unit, path)
        if value is None or not unit:
            return None
        if not 0 < value < math.inf:
            self.fault(path, "is not a half-width", "a number above 0 with its unit", given=repr(text))
            return None
        return Precision(name, value / 100 if relative else value, relative)

    def names(self, parts: Mapping[int, ExpectPart]) -> None:
        """Check that names of expectations are unique, and that ratios are of known ones."""
        first_index: dict[str, int] = {}
        for index, part in parts.items():
            name = part.label
            path: KeyPath = ("expect", index)
            if name in first_index:
                self.fault((*path, part.named_by), "is given twice", "each expectation once")
            first_index.setdefault(name, index)
            for side, other in (("of", part.ratio.of), ("to", part.ratio.to)) if part.ratio else ():
                if isinstance(other, str) and (other not in self._labels or other == name):
                    others = [entry for entry in self._labels if entry != name]
                    allowed = "the name of another expectation of this scenario"
                    self._unknown(other, (*path, "ratio", side), allowed, sorted(others))
                elif isinstance(other, str) and any(_sides(below, parts) for below in _sides(other, parts)):
                    # a ratio of ratios at most, so that no ratio depends on itself
                    self.fault(
                        (*path, "ratio", side),
                        "is itself a ratio of ratios",
                        "an expectation that is not a ratio of ratios",
                    )

    def _unknown(self, name: str, path: KeyPath, allowed: str, names: Sequence[str]) -> None:
        """Report an unknown name, unless it is a misspelt claim that is reported at its own place."""
        nearest = nearest_name(name, names)
        if nearest not in self._misspelt:
            self.fault(path, "unknown expectation", allowed, nearest, given=repr(name))


class LoadTrial:
    """Test of loading: a scenario at a point of its axes with some values changed, which must be refused or accepted."""

    def __init__(self, resolver: Resolver, axes: Mapping[str, Axis]) -> None:
        self._resolver, self._axes = resolver, axes

    def __call__(self, tried: Mapping[str, Any], at: AxisValues, place: Place) -> tuple[str, tuple[str, ...]]:
        """The changes in words, and the reason if they cannot be loaded.

        Args:
            tried: values by dotted path.
            at: values of the axes. Invalid values are reported elsewhere.
            place: of the changes.
        """
        changes = [
            change
            for name, axis in self._axes.items()
            if axis.fault(name, at[name], place) is None
            for change in axis.changes(at[name], place)
        ]
        changes += [(keys(path), value, place) for path, value in tried.items()]
        faults = self._resolver.resolve(changes, SECOND).faults
        words = ", ".join(f"{path}={_written(value)}" for path, value in tried.items())
        return words, tuple(fault.message for fault in faults)


def _written(value: Any) -> str:
    """A value as written in a scenario file, without quotes."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return value if isinstance(value, str) else show_value(value)


def _sides(name: str, parts: Mapping[int, ExpectPart]) -> list[str]:
    """Names of the two expectations of which an expectation is the ratio, if it is one."""
    ratios = [part.ratio for part in parts.values() if name == part.label and part.ratio is not None]
    return [side for ratio in ratios for side in (ratio.of, ratio.to) if isinstance(side, str)]


def _in_words(between: tuple[Any, Any] | None) -> str:
    low, high = between or (None, None)
    if low is None:
        return f"at most {high}" if high is not None else "any"
    return f"{low} to {high}" if high is not None else f"at least {low}"
