"""Expectations and figures: from what stands in the file to the forms of `hostsim.expect`, names looked up, axes filled in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hostsim.errors import Fault, nearest_name
from hostsim.expect import Always, At, Band, Expectation, FigureSpec, Find, Fit, Form, Ratio, Worst
from hostsim.metrics import CATALOGUE
from hostsim.record import Scalar
from hostsim.scenario.axis import Axis
from hostsim.scenario.document import ExpectPart, FigurePart, LinePart, RatioPart
from hostsim.scenario.published import claims
from hostsim.scenario.scenario import Precision
from hostsim.scenario.tree import Tree
from hostsim.scenario.yaml import KeyPath
from hostsim.spec.quantity import read_quantity

__all__ = ["Reader", "needed"]

_KINDS = {"%": ("percent", 1.0), "pps": ("rate", 1.0), "/s": ("rate", 1.0), "us": ("duration", 1e6)}
"""First word of a metric's unit -> kind of quantity that a bound may be written as, and its factor from the base unit."""


class Reader:
    """Turns the expectations and figures of one scenario into their forms; gathers what is wrong with them."""

    def __init__(self, tree: Tree, axes: Mapping[str, Axis]) -> None:
        self._tree = tree
        self._axes = axes
        self.faults: list[Fault] = []

    def figure(self, name: str, part: FigurePart) -> FigureSpec:
        """One figure."""
        path: KeyPath = ("figures", name)
        self._metric(part.y, (*path, "y"))
        drawn = (part.x, *part.series)
        self._axis(part.x, (*path, "x"))
        for axis in part.series:
            self._axis(axis, (*path, "series"))
        if len(set(drawn)) < len(drawn):
            self._fault((*path, "series"), "names an axis twice", "each axis once, x apart")
        return FigureSpec(name, part.x, part.y, part.series, self._point(part.at, (*path, "at"), without=drawn))

    def expectation(self, index: int, part: ExpectPart) -> Expectation | None:
        """One expectation; None when it cannot be asked."""
        path: KeyPath = ("expect", index)
        before = len(self.faults)
        form, unit = self._form(part, path)
        if part.claim is not None:
            claim = claims().get(part.claim)
            if claim is None:
                nearest = nearest_name(part.claim, list(claims()))
                self._fault((*path, "claim"), "unknown claim", "an id of claims.csv", nearest)
                return None
            made = Expectation(claim.id, form, claim.band, claim.unit, claim.published, is_claim=True)
        else:
            low, high = (self._bound(end, unit, (*path, "between")) for end in part.between or (None, None))
            if low is not None and high is not None and low > high:
                self._fault((*path, "between"), "has its ends the wrong way round", "[low, high]")
            made = Expectation(str(part.name), form, Band(low, high), unit, _in_words(part.between), is_claim=False)
        return made if len(self.faults) == before else None

    def precision(self, name: str, text: str) -> Precision | None:
        """How well a metric is to be known; None when that cannot be asked."""
        path: KeyPath = ("run", "precision", name)
        unit = self._metric(name, path)
        written = text.strip()
        absolute = written.removesuffix(" abs")
        relative = absolute == written
        value = self._bound(absolute, "%" if relative else unit, path)
        if value is None or not unit:
            return None
        if not 0 < value < math.inf:
            self._fault(path, "is no half-width", "a number above 0 with its unit", given=repr(text))
            return None
        return Precision(name, value / 100 if relative else value, relative)

    def names(self, parts: Mapping[int, ExpectPart]) -> None:
        """Checks what expectations say of each other: names that stand twice, ratios of names that nobody has."""
        seen: dict[str, int] = {}
        asked = {part.claim or str(part.name) for part in parts.values()}
        for index, part in parts.items():
            name = part.claim or str(part.name)
            path: KeyPath = ("expect", index)
            if name in seen:
                self._fault((*path, "claim" if part.claim else "name"), "stands twice", "each expectation once")
            seen.setdefault(name, index)
            for side, other in (("of", part.ratio.of), ("to", part.ratio.to)) if part.ratio else ():
                if isinstance(other, str) and (other not in asked or other == name):
                    known = [entry for entry in asked if entry != name]
                    allowed = "the name of another expectation of this scenario"
                    self._fault(
                        (*path, "ratio", side), "unknown expectation", allowed, nearest_name(other, sorted(known))
                    )
                elif isinstance(other, str) and self._is_ratio(other, parts):
                    self._fault(
                        (*path, "ratio", side), "is a ratio itself", "an expectation that is no ratio of others"
                    )

    def _is_ratio(self, name: str, parts: Mapping[int, ExpectPart]) -> bool:
        return any(
            part.ratio is not None and isinstance(part.ratio.of, str)
            for part in parts.values()
            if name in (part.claim, part.name)
        )

    def _form(self, part: ExpectPart, path: KeyPath) -> tuple[Form, str]:
        """The question and the unit of its answer."""
        if part.find is not None:
            return self._find(part, (*path, "find"))
        if part.ratio is not None:
            return self._ratio(part.ratio, (*path, "ratio")), "ratio"
        if part.worst is not None:
            return self._line(part.worst, (*path, "worst"), best=False)
        if part.best is not None:
            return self._line(part.best, (*path, "best"), best=True)
        if (fit := part.r2) is not None:
            path = (*path, "r2")
            self._metric(fit.metric, (*path, "metric"))
            values = self._values(fit.against, fit.values, path, "against")
            return Fit(fit.metric, fit.against, values, self._point(fit.at, (*path, "at"), (fit.against,))), "R2"
        if (always := part.always) is not None:
            path = (*path, "always")
            self._metric(always.metric, (*path, "metric"))
            values = self._values(always.along, always.values, path, "along")
            at = self._point(always.at, (*path, "at"), (always.along,))
            return Always(always.metric, always.along, values, always.direction == "rising", at), "boolean"
        unit = self._metric(str(part.metric), (*path, "metric"))
        return At(str(part.metric), self._point(part.at or {}, (*path, "at"))), unit

    def _find(self, part: ExpectPart, path: KeyPath) -> tuple[Form, str]:
        find = part.find
        assert find is not None
        side = "largest" if find.largest is not None else "smallest"
        axis = str(find.largest or find.smallest)
        self._axis(axis, (*path, side))
        unit = self._metric(find.where.metric, (*path, "where", "metric"))
        below = self._bound(find.where.below, unit, (*path, "where", "below"))
        at = self._point(find.at, (*path, "at"), (axis,))
        form = Find(side == "largest", axis, find.start, find.stop, find.where.metric, below or 0.0, at)
        return form, axis

    def _ratio(self, ratio: RatioPart, path: KeyPath) -> Ratio:
        if isinstance(ratio.of, str) or isinstance(ratio.to, str):
            return Ratio(None, ratio.of, ratio.to, {})
        self._metric(str(ratio.metric), (*path, "metric"))
        of = self._written(ratio.of, (*path, "of"))
        to = self._written(ratio.to, (*path, "to"))
        return Ratio(ratio.metric, of, to, self._point(ratio.at, (*path, "at")))

    def _line(self, line: LinePart, path: KeyPath, *, best: bool) -> tuple[Form, str]:
        unit = self._metric(line.metric, (*path, "metric"))
        values = self._values(line.over, line.values, path, "over")
        at = self._point(line.at, (*path, "at"), (line.over,))
        return Worst(line.metric, at, line.over, values, best=best), unit

    def _point(self, given: Mapping[str, Scalar], path: KeyPath, without: Iterable[str] = ()) -> dict[str, Scalar]:
        """A value for every axis but some: the given one, or else the first of the sweep."""
        written = self._written(given, path)
        left_out = set(without)
        for axis in left_out & written.keys():
            self._fault((*path, axis), "is an axis that this runs along", "the other axes")
        return {name: written.get(name, axis.values[0]) for name, axis in self._axes.items() if name not in left_out}

    def _written(self, given: Mapping[str, Scalar], path: KeyPath) -> dict[str, Scalar]:
        for name in given:
            self._axis(name, (*path, name))
        return {name: self._known(name, value) for name, value in given.items()}

    def _values(self, axis: str, values: Sequence[Scalar], path: KeyPath, key: str) -> tuple[Scalar, ...]:
        self._axis(axis, (*path, key))
        known = tuple(self._known(axis, value) for value in values)
        if len(set(known)) < len(known):
            self._fault((*path, "values"), "has a value twice", "each value once")
        return known

    def _known(self, axis: str, value: Scalar) -> Scalar:
        return self._axes[axis].known(value) if axis in self._axes else value

    def _axis(self, name: str, path: KeyPath) -> None:
        if name not in self._axes:
            known = list(self._axes)
            allowed = "one of " + ", ".join(known) if known else "nothing: the scenario sweeps nothing"
            self._fault(path, "unknown axis", allowed, nearest_name(name, known), given=repr(name))

    def _metric(self, name: str, path: KeyPath) -> str:
        """The unit of a metric."""
        if name in CATALOGUE:
            return CATALOGUE[name].unit
        self._fault(path, "unknown metric", "one of " + ", ".join(CATALOGUE), nearest_name(name, list(CATALOGUE)))
        return ""

    def _bound(self, written: Any, unit: str, path: KeyPath) -> float | None:
        """A number in the metric's unit; nothing of a metric that is not known."""
        if written is None or isinstance(written, int | float) or not unit:
            return None if isinstance(written, str) else written
        kind, factor = _KINDS.get(unit.partition(" ")[0], ("", 1.0))
        if not kind:
            self._fault(
                path, "has a unit where there is none", "a number, or nothing for an open end", given=repr(written)
            )
            return None
        try:
            return read_quantity(written, kind) * factor
        except ValueError as error:
            message, _, allowed = str(error).partition("|")
            self._fault(path, message, f"{allowed}; or a number in {unit}", given=repr(written))
            return None

    def _fault(self, path: KeyPath, message: str, allowed: str, nearest: str = "", given: str | None = None) -> None:
        self.faults.append(self._tree.fault(path, message, allowed, nearest, given))


def _in_words(between: tuple[Any, Any] | None) -> str:
    low, high = between or (None, None)
    if low is None:
        return f"at most {high}" if high is not None else "any"
    return f"{low} to {high}" if high is not None else f"at least {low}"


def needed(form: Form) -> list[dict[str, Scalar]]:
    """The fixed points that an expectation is judged by, as values of axes; of a search, the ends of its bracket."""
    match form:
        case At():
            return [dict(form.at)]
        case Worst():
            return [{**form.at, form.over: value} for value in form.values]
        case Fit():
            return [{**form.at, form.against: value} for value in form.values]
        case Always():
            return [{**form.at, form.along: value} for value in form.values]
        case Find():
            return [{**form.at, form.axis: value} for value in (form.start, form.stop)]
        case Ratio():
            sides = (form.of, form.to)
            return [{**form.at, **side} for side in sides if not isinstance(side, str)]
