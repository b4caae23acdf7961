"""Predicates of expectations, read from the file: `hostsim.expect.Always` and `hostsim.expect.Switches`."""

from __future__ import annotations

from hostsim.expect import Always, Compared, Limit, Monotone, Predicate, Switches, Within, is_same_unit
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.expect.schema import PredicatePart, SwitchesPart
from hostsim.scenario.yaml.reader import KeyPath

__all__ = ["read_always", "read_switches"]


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
