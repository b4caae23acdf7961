"""Predicates on runs: 1 or 0, with an interval from 0 to 1 where the runs leave a statement open.

A limit leaves a statement open where the interval of a measure straddles it; a line that rises or falls goes by its means
(docs/decisions/0015).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from hostsim.estimate import Interval, paired_difference
from hostsim.expect import Always, Compared, Limit, Monotone, Predicate, Switches, Within
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.record import Scalar
from hostsim.results.point_estimate import (
    MissingError,
    PointEstimate,
    Runs,
    case_of,
    cases_of,
    notes_of,
    point_text,
    ratio,
)

__all__ = ["judge_always", "judge_switches"]

NEGLIGIBLE = 0.005
"""Share of the larger mean that a step may go the wrong way, however certainly."""
IN_FORCE = Limit(above=50.0)
"""Percent of the window from which on a state counts as in force."""


def judge_always(form: Always, runs: Runs) -> PointEstimate:
    """Judge a conjunction of conditions; every point of one of them is a case.

    Raises:
        MissingError: a point cannot be judged, or not be compared with another.
    """
    estimates = [_predicate(condition, runs) for condition in form.conditions]
    if len(form.conditions) > 1 or isinstance(form.conditions[0], Compared):
        estimates = [
            replace(estimate, cases=tuple({"condition": _words(condition), **case} for case in estimate.cases))
            for condition, estimate in zip(form.conditions, estimates, strict=True)
        ]
    return PointEstimate(_all([f.interval for f in estimates]), {}, cases_of(estimates), notes_of(estimates))


def judge_switches(form: Switches, runs: Runs) -> PointEstimate:
    """Judge a state against its thresholds; a case carries both measures, and under ``value`` whether they agree.

    Raises:
        MissingError: a point cannot be judged, or a threshold has cases on one side only.
    """
    states = [runs.at(form.state, case) for case in form.cases]
    measures = [runs.at(form.when, case) for case in form.cases]
    _check_sides(form, measures)
    found = []
    cases = []
    notes = []
    for case, below, state, measure in zip(form.cases, form.below, states, measures, strict=True):
        agrees = _agree(_satisfies(IN_FORCE, state.interval), _satisfies(Limit(below=below), measure.interval))
        found.append(agrees)
        cases.append({**case, form.state: state.interval.mean, form.when: measure.interval.mean, "value": agrees.mean})
        if not agrees.mean:
            force = "in force" if IN_FORCE.holds(state.interval.mean) else "not in force"
            side = "below" if measure.interval.mean < below else "not below"
            notes.append(f"{form.state} is {force} while {form.when} is {side} {below:g} at {point_text(case)}")
    return PointEstimate(_all(found), {}, tuple(cases), (*notes, *notes_of([*states, *measures])))


def _check_sides(form: Switches, measures: Sequence[PointEstimate]) -> None:
    """Checks that every threshold has been seen from both sides; from 0, which nothing is below, there is no other side."""
    for threshold in sorted(set(form.below)):
        seen = [m.interval.mean for m, below in zip(measures, form.below, strict=True) if below == threshold]
        if threshold > 0 and len({value < threshold for value in seen}) == 1:
            lacking = "from it on" if seen[0] < threshold else "below it"
            unit = CATALOGUE[form.when].unit
            there = ", ".join(f"{value:.4g}" for value in seen)
            raise MissingError(f"no case has {form.when} {lacking} at the threshold {threshold:g} {unit}: {there}")


def _predicate(condition: Predicate, runs: Runs) -> PointEstimate:
    match condition:
        case Monotone():
            return _monotone(condition, runs)
        case Within(along=None):
            found = [runs.at(condition.metric, condition.at)]
        case Within(along=along):
            found = runs.line(condition.metric, condition.at, str(along), condition.values)
        case Compared():
            of, to = (runs.at(condition.metric, {**condition.at, **side}) for side in (condition.of, condition.to))
            paired = ratio(of, to, runs)
            shared = {k: v for k, v in condition.at.items() if k not in (*condition.of, *condition.to)}
            shown = (*paired.cases, case_of(shared, paired.interval))
            return replace(paired, interval=_satisfies(condition.limit, paired.interval), cases=shown)
    intervals = [_satisfies(condition.limit, estimate.interval) for estimate in found]
    return PointEstimate(_all(intervals), {}, cases_of(found), notes_of(found))


def _monotone(form: Monotone, runs: Runs) -> PointEstimate:
    estimates = runs.line(form.metric, form.at, form.along, form.values)
    broken = []
    for (before, after), pair in zip(pairwise(estimates), pairwise(form.values), strict=True):
        if not _goes(form, before, after):
            broken.append(_step(form, before, after, pair))
    notes = notes_of(estimates)
    if form.direction.startswith("not") and any(len(estimate.values) == 1 for estimate in estimates):
        notes = (*notes, f"one replication: any step of more than {NEGLIGIBLE:.1%} counts")
    holds = float(not broken)
    return PointEstimate(Interval(holds, holds, holds, len(estimates)), {}, cases_of(estimates), (*broken, *notes))


def _goes(form: Monotone, before: PointEstimate, after: PointEstimate) -> bool:
    first, second = before.interval.mean, after.interval.mean
    match form.direction:
        case "rising":
            return second > first
        case "falling":
            return second < first
        case "not falling":
            return not _falls(before, after)
        case "not rising":
            return not _falls(after, before)


def _falls(before: PointEstimate, after: PointEstimate) -> bool:
    """True when the second is certainly and noticeably below the first."""
    paired = [replication for replication in before.values if replication in after.values]
    if not paired:
        raise MissingError("no replication has both ends of a step")
    fall = paired_difference([before.values[r] for r in paired], [after.values[r] for r in paired])
    larger = max(sum(side.values[r] for r in paired) / len(paired) for side in (before, after))
    return fall.mean > NEGLIGIBLE * larger and (fall.low > 0 or fall.count == 1)


def _step(form: Monotone, before: PointEstimate, after: PointEstimate, pair: tuple[Scalar, Scalar]) -> str:
    verb = {"rising": "does not rise", "falling": "does not fall", "not falling": "falls", "not rising": "rises"}
    ends = f"{before.interval.mean:.4g} to {after.interval.mean:.4g} {CATALOGUE[form.metric].unit}"
    return f"{form.metric} {verb[form.direction]} from {form.along}={pair[0]} to {pair[1]}: {ends}"


def _satisfies(limit: Limit, interval: Interval) -> Interval:
    """Whether a measure satisfies a limit: by its mean, for certain, possibly."""
    ends = [limit.holds(end) for end in (interval.low, interval.high)]
    return Interval(float(limit.holds(interval.mean)), float(all(ends)), float(any(ends)), interval.count)


def _agree(one: Interval, other: Interval) -> Interval:
    """Whether two statements are both true or both false: by their means, for certain, possibly."""
    open_ = one.low != one.high or other.low != other.high
    same = float(one.mean == other.mean)
    return Interval(same, 0.0 if open_ else same, 1.0 if open_ else same, min(one.count, other.count))


def _all(statements: Iterable[Interval]) -> Interval:
    """Whether all statements are true: by their means, for certain, possibly."""
    each = list(statements)
    return Interval(min(s.mean for s in each), min(s.low for s in each), min(s.high for s in each), len(each))


def _words(condition: Predicate) -> str:
    if isinstance(condition, Monotone):
        return f"{condition.metric} {condition.direction}"
    unit = CATALOGUE[condition.metric].unit if isinstance(condition, Within) else ""
    what = condition.metric if isinstance(condition, Within) else f"ratio of {condition.metric}"
    below, above = condition.limit.below, condition.limit.above
    bound = f"above {above:g}" if below is None else f"below {below:g}"
    return f"{what} {bound} {unit}".rstrip()
