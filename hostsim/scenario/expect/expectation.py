"""Expectations and figures, read from the file: they become the forms of `hostsim.results.expect`, names looked up, axes filled in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hostsim.engine.record import AxisValues, Scalar
from hostsim.errors import nearest_name
from hostsim.results.claim import Claim, Measurement
from hostsim.results.expect import (
    Always,
    At,
    Band,
    Compared,
    Difference,
    Expectation,
    Find,
    Form,
    Limit,
    Mean,
    Monotone,
    PointForm,
    Predicate,
    Ratio,
    Refusal,
    Refused,
    RSquared,
    Switches,
    Within,
    Worst,
    is_same_unit,
)
from hostsim.results.figure import Figure
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.axis import Axis
from hostsim.scenario.expect.figure import FigurePart, read_figure
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.expect.schema import (
    Changes,
    ExpectPart,
    PointsPart,
    PredicatePart,
    RatioPart,
    RefusedPart,
    SwitchesPart,
)
from hostsim.scenario.resolve import Resolver
from hostsim.scenario.scenario import Precision
from hostsim.scenario.shipped_data import claims, measurements
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Place, Tree, keys, show_value
from hostsim.units import SECOND

__all__ = [
    "LoadTrial",
    "Reader",
    "read_always",
    "read_switches",
    "required_points",
]


def read_always(parts: tuple[PredicatePart, ...], look: Lookup, path: KeyPath, *, listed: bool) -> Always:
    """Read the predicates of an ``always`` expectation.

    Args:
        parts: as written.
        look: looks up names and gathers faults.
        path: where they stand.
        listed: they stand in a list.
    """
    return Always(tuple(_predicate(part, look, (*path, i) if listed else path) for i, part in enumerate(parts)))


def _predicate(part: PredicatePart, look: Lookup, path: KeyPath) -> Predicate:
    unit = look.metric(part.metric, (*path, "metric"))
    values = () if part.along is None else look.values(part.along, part.values or (), path, "along")
    at = look.point(part.at, (*path, "at"), () if part.along is None else (part.along,))
    if part.direction is not None:
        return Monotone(part.metric, part.direction, str(part.along), values, at)
    unit = unit if part.of is None else "ratio"
    below, above = (look.bound(getattr(part, end), unit, (*path, end)) for end in ("below", "above"))
    limit = Limit(below, above)
    if part.of is None or part.to is None:
        return Within(part.metric, limit, at, part.along, values)
    of, to = look.written(part.of, (*path, "of")), look.written(part.to, (*path, "to"))
    if {**at, **of} == {**at, **to}:
        look.fault((*path, "to"), "is the point that of is", "another point")
    return Compared(part.metric, of, to, limit, at)


def read_switches(part: SwitchesPart, look: Lookup, path: KeyPath) -> Switches:
    """Read a ``switches`` expectation: a state against a threshold.

    Args:
        part: as written.
        look: looks up names and gathers faults.
        path: where it stands.
    """
    unit = look.metric(part.state, (*path, "state"))
    if unit and not is_same_unit(unit, "%"):
        look.fault((*path, "state"), f"is in {unit}", "a metric in %: the state is in force above 50")
    unit = look.metric(part.when, (*path, "when"))
    cases = tuple(look.point(case, (*path, "cases", i)) for i, case in enumerate(part.cases))
    below = (look.threshold(part.below, unit, case, (*path, "below")) for case in cases)
    return Switches(part.state, part.when, cases, tuple(0.0 if number is None else float(number) for number in below))


_NO_COUNT = ("ratio", "boolean", "R2", "%")
"""Units of claims that no place on an axis answers."""


class Reader(Lookup):
    """Reads the expectations and figures of one scenario into their forms; gathers their faults."""

    def __init__(self, tree: Tree, axes: Mapping[str, Axis], trial: LoadTrial) -> None:
        super().__init__(tree, axes)
        self._trial = trial
        written = tree.get(("expect",))
        entries = [entry for entry in written if isinstance(entry, dict)] if isinstance(written, tuple) else []
        # those that are wrong themselves are told where they stand
        self._named = [str(entry.get("claim", entry.get("measurement", entry.get("name")))) for entry in entries]
        tables = {"claim": claims().keys(), "measurement": measurements().keys()}
        self._misspelt = {
            str(entry[key])
            for key, known in tables.items()
            for entry in entries
            if key in entry and entry[key] not in known
        }

    def figures(
        self, parts: Iterable[tuple[str | int, FigurePart]], asked: Iterable[Expectation | None]
    ) -> tuple[Figure, ...]:
        """Read all figures.

        Args:
            parts: what stands in the file, by name.
            asked: the expectations, as far as they can be asked.
        """
        known = {entry.name: entry for entry in asked if entry is not None}
        return tuple(
            read_figure(name, part, self, known, self._require) for name, part in parts if isinstance(name, str)
        )

    def _require(self, answer: str, path: KeyPath) -> None:
        """Gather a fault where no expectation of the file has this name."""
        if answer not in self._named:
            is_asked = "names of expectations of this scenario"
            allowed = is_asked if self._named else "nothing: the scenario expects nothing"
            self._unknown(answer, path, allowed, self._named)

    def expectation(self, index: int, part: ExpectPart) -> Expectation | None:
        """Read one expectation; None when it has faults."""
        path: KeyPath = ("expect", index)
        before = len(self.faults)
        form, unit = self._form(part, path)
        if part.claim is not None:
            claim = claims().get(part.claim)
            if claim is None:
                nearest = nearest_name(part.claim, list(claims()))
                self.fault((*path, "claim"), "unknown claim", "an id of claims.csv", nearest)
                return None
            self._check_unit(claim, form, unit, (*path, "claim"))
            made = Expectation(claim.id, form, claim.band, claim.unit, claim.published, is_claim=True, kind=claim.kind)
        elif part.measurement is not None:
            row = measurements().get(part.measurement)
            if row is None:
                nearest = nearest_name(part.measurement, list(measurements()))
                self.fault((*path, "measurement"), "unknown measurement", "an id of published-2.csv", nearest)
                return None
            row = row.counted_in(unit)
            self._check_unit(row, form, unit, (*path, "measurement"))
            made = Expectation(row.id, form, row.band, row.unit, row.value, is_claim=True, kind=row.kind)
        else:
            low, high = (self.bound(end, unit, (*path, "between")) for end in part.between or (None, None))
            if low is not None and high is not None and low > high:
                self.fault((*path, "between"), "has its ends the wrong way round", "[low, high]")
            made = Expectation(str(part.name), form, Band(low, high), unit, _in_words(part.between), is_claim=False)
        return made if len(self.faults) == before else None

    def _check_unit(self, claim: Claim | Measurement, form: Form, unit: str, path: KeyPath) -> None:
        """Checks that the answer of a form is in the unit of a claim; a place on an axis is a count of whatever the axis counts."""
        if isinstance(form, Find):
            if claim.unit.partition(" ")[0] in _NO_COUNT:
                self.fault(path, f"is in {claim.unit}, its answer a value of {form.axis}", "a question in its unit")
        elif unit and not is_same_unit(claim.unit, unit):
            fitting = [metric.name for metric in CATALOGUE.values() if is_same_unit(metric.unit, claim.unit)]
            allowed = f"a question in its unit{'; metrics: ' if fitting else ''}{', '.join(fitting)}"
            self.fault(path, f"is in {claim.unit}, its answer in {unit}", allowed)

    def precision(self, name: str, text: str) -> Precision | None:
        """Read the target precision of a metric; None when it has faults."""
        path: KeyPath = ("run", "precision", name)
        unit = self.metric(name, path)
        written = text.strip()
        absolute = written.removesuffix(" abs")
        relative = absolute == written
        value = self.bound(absolute, "%" if relative else unit, path)
        if value is None or not unit:
            return None
        if not 0 < value < math.inf:
            self.fault(path, "is no half-width", "a number above 0 with its unit", given=repr(text))
            return None
        return Precision(name, value / 100 if relative else value, relative)

    def names(self, parts: Mapping[int, ExpectPart]) -> None:
        """Check the names of expectations: none twice, and ratios of known ones."""
        seen: dict[str, int] = {}
        for index, part in parts.items():
            name = part.label
            path: KeyPath = ("expect", index)
            if name in seen:
                self.fault((*path, part.named_by), "stands twice", "each expectation once")
            seen.setdefault(name, index)
            for side, other in (("of", part.ratio.of), ("to", part.ratio.to)) if part.ratio else ():
                if isinstance(other, str) and (other not in self._named or other == name):
                    known = [entry for entry in self._named if entry != name]
                    allowed = "the name of another expectation of this scenario"
                    self._unknown(other, (*path, "ratio", side), allowed, sorted(known))
                elif isinstance(other, str) and any(_sides(below, parts) for below in _sides(other, parts)):
                    # a gain over a gain, and no deeper: so that no ratio is computed from itself either
                    self.fault(
                        (*path, "ratio", side),
                        "is a ratio of ratios itself",
                        "an expectation that is no ratio of ratios",
                    )

    def _unknown(self, name: str, path: KeyPath, allowed: str, known: Sequence[str]) -> None:
        """Tells of a name that no expectation has, unless it is meant for a claim that is misspelt where it stands."""
        nearest = nearest_name(name, known)
        if nearest not in self._misspelt:
            self.fault(path, "unknown expectation", allowed, nearest, given=repr(name))

    def _form(self, part: ExpectPart, path: KeyPath) -> tuple[Form, str]:
        """The question and the unit of its answer."""
        if part.find is not None:
            return self._find(part, (*path, "find"))
        if part.ratio is not None:
            return self._ratio(part.ratio, (*path, "ratio")), "ratio"
        if part.worst is not None:
            points, unit = self._points(part.worst, (*path, "worst"))
            return Worst(points), unit
        if part.best is not None:
            points, unit = self._points(part.best, (*path, "best"))
            return Worst(points, best=True), unit
        if part.mean is not None:
            points, unit = self._points(part.mean, (*path, "mean"))
            return Mean(points), unit
        if (fit := part.r2) is not None:
            path = (*path, "r2")
            self.metric(fit.metric, (*path, "metric"))
            values = self.values(fit.against, fit.values, path, "against")
            return RSquared(fit.metric, fit.against, values, self.point(fit.at, (*path, "at"), (fit.against,))), "R2"
        if part.always is not None:
            path = (*path, "always")
            listed = isinstance(self._tree.get(path), tuple)
            return read_always(part.always, self, path, listed=listed), "boolean"
        if part.switches is not None:
            return read_switches(part.switches, self, (*path, "switches")), "boolean"
        if part.refused is not None:
            at = self.point(part.refused.at, (*path, "refused", "at"))
            return self._trial.refused(part.refused, at, self._tree.place((*path, "refused"))), "boolean"
        unit = self.metric(str(part.metric), (*path, "metric"))
        point = self.point(part.at or {}, (*path, "at"))
        if part.less is None:
            return At(str(part.metric), point), unit
        less = {**point, **self.written(part.less, (*path, "less"))}
        if less == point:
            self.fault((*path, "less"), "is the point that it is taken off", "another point")
        return Difference(str(part.metric), point, less), unit

    def _find(self, part: ExpectPart, path: KeyPath) -> tuple[Form, str]:
        find = part.find
        assert find is not None
        side = "largest" if find.largest is not None else "smallest"
        axis = str(find.largest or find.smallest)
        self.axis(axis, (*path, side))
        unit = self.metric(find.where.metric, (*path, "where", "metric"))
        below = self.bound(find.where.below, unit, (*path, "where", "below"))
        at = self.point(find.at, (*path, "at"), (axis,))
        form = Find(side == "largest", axis, find.least, find.most, find.where.metric, below or 0.0, at, find.unit)
        return form, find.unit or axis

    def _ratio(self, ratio: RatioPart, path: KeyPath) -> Ratio:
        if isinstance(ratio.of, str) or isinstance(ratio.to, str):
            return Ratio(None, ratio.of, ratio.to, {})
        self.metric(str(ratio.metric), (*path, "metric"))
        of = self.written(ratio.of, (*path, "of"))
        to = self.written(ratio.to, (*path, "to"))
        return Ratio(ratio.metric, of, to, self.point(ratio.at, (*path, "at")))

    def _points(self, part: PointsPart, path: KeyPath) -> tuple[tuple[PointForm, ...], str]:
        """The points of a form over several, and the unit of its answer."""
        unit = self.metric(part.metric, (*path, "metric"))
        if part.over is not None:
            values = self.values(part.over, part.values or (), path, "over")
            cases = [{part.over: value} for value in values]
        else:
            cases = [self.written(case, (*path, "cases", i)) for i, case in enumerate(part.cases or ())]
        varied = {axis for case in cases for axis in case}
        shared = self.point(part.at, (*path, "at"), varied)
        points = [{**self.first(varied), **case, **shared} for case in cases]
        if part.over is None and any(point in points[:i] for i, point in enumerate(points)):
            self.fault((*path, "cases"), "has a case twice", "each case once")
        if part.less is not None:
            taken_off = self.written(part.less, (*path, "less"), varied)
            if taken_off.items() <= shared.items():
                self.fault((*path, "less"), "is the point that it is taken off", "another point")
            return tuple(Difference(part.metric, point, {**point, **taken_off}) for point in points), unit
        if part.of is None or part.to is None:
            return tuple(At(part.metric, point) for point in points), unit
        of, to = (self.written(side, (*path, key), varied) for key, side in (("of", part.of), ("to", part.to)))
        if {**shared, **of} == {**shared, **to}:
            self.fault((*path, "to"), "is the point that of is", "another point")
        return tuple(Ratio(part.metric, of, to, point) for point in points), "ratio"


class LoadTrial:
    """A trial of loading: a scenario at a point of its axes with some values changed, which must be refused or accepted."""

    def __init__(self, resolver: Resolver, axes: Mapping[str, Axis]) -> None:
        self._resolver, self._axes = resolver, axes

    def refused(self, part: RefusedPart, at: AxisValues, place: Place) -> Refused:
        """Try each case.

        Args:
            part: the cases.
            at: values of the axes; one that no axis can have is told elsewhere.
            place: where the cases stand.
        """
        cases = [self._try(case.set, case.names, at, place) for case in part.cases]
        return Refused((*cases, *(self._try(changes, "", at, place) for changes in part.accepted)))

    def _try(self, tried: Changes, feature: str, at: AxisValues, place: Place) -> Refusal:
        changes = [
            change
            for name, axis in self._axes.items()
            if axis.fault(name, at[name], place) is None
            for change in axis.changes(at[name], place)
        ]
        changes += [(keys(path), value, place) for path, value in tried.items()]
        faults = self._resolver.resolve(changes, SECOND).faults
        words = ", ".join(f"{path}={show_value(value)}" for path, value in tried.items())
        return Refusal(words, feature, tuple(fault.message for fault in faults))


def _sides(name: str, parts: Mapping[int, ExpectPart]) -> list[str]:
    """The expectations that an expectation is the ratio of, by name; none of one that is no ratio of others."""
    ratios = [part.ratio for part in parts.values() if name == part.label and part.ratio is not None]
    return [side for ratio in ratios for side in (ratio.of, ratio.to) if isinstance(side, str)]


def _in_words(between: tuple[Any, Any] | None) -> str:
    low, high = between or (None, None)
    if low is None:
        return f"at most {high}" if high is not None else "any"
    return f"{low} to {high}" if high is not None else f"at least {low}"


def required_points(form: Form) -> list[dict[str, Scalar]]:
    """The fixed points that an expectation is judged by, as values of axes; of a search, the ends of its bracket."""
    match form:
        case At():
            return [dict(form.at)]
        case Worst() | Mean():
            return [point for part in form.points for point in required_points(part)]
        case RSquared():
            return [{**form.at, form.against: value} for value in form.values]
        case Always():
            return [point for condition in form.conditions for point in _points_of(condition)]
        case Switches():
            return [dict(case) for case in form.cases]
        case Find():
            return [{**form.at, form.axis: form.written(value)} for value in (form.start, form.stop)]
        case Difference():
            return [dict(form.at), dict(form.less)]
        case Refused():
            return []
        case Ratio():
            sides = (form.of, form.to)
            return [{**form.at, **side} for side in sides if not isinstance(side, str)]


def _points_of(condition: Predicate) -> list[dict[str, Scalar]]:
    match condition:
        case Compared():
            return [{**condition.at, **condition.of}, {**condition.at, **condition.to}]
        case Within(along=None):
            return [dict(condition.at)]
        case Monotone(along=along) | Within(along=along):
            return [{**condition.at, str(along): value} for value in condition.values]
