"""Judging of expectations: a point estimate or predicate from runs, and the verdict of its interval and band."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hostsim.engine.record import RunRecord, Scalar
from hostsim.results.curve import deterministic_note
from hostsim.results.estimate import Interval, paired_difference, r_squared
from hostsim.results.expect import (
    Always,
    At,
    Band,
    Compared,
    Difference,
    Expectation,
    Find,
    Form,
    KnownRed,
    Limit,
    Mean,
    Monotone,
    PointForm,
    Predicate,
    PredictionInterval,
    Ratio,
    Refused,
    RSquared,
    Switches,
    Verdict,
    VerdictState,
    Within,
    Worst,
    is_signed,
    required_metrics,
)
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.point_estimate import (
    Case,
    MissingError,
    PointEstimate,
    Runs,
    RunSource,
    case_of,
    cases_of,
    difference,
    equal_in_all,
    notes_of,
    opened,
    point_text,
    ratio,
)
from hostsim.results.prediction_interval import noise_share, prediction_interval, span
from hostsim.results.search_answer import Bound, Look, SearchAnswer, look_name

__all__ = [
    "judge",
    "judge_always",
    "judge_switches",
    "state_of",
]


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


def judge(
    expectations: Iterable[Expectation],
    scenario: str,
    records: Iterable[RunRecord | RunSource],
    answers: Mapping[str, SearchAnswer],
    known: Mapping[str, KnownRed] | None = None,
    level: float = 0.95,
    *,
    is_ensemble: bool = False,
) -> list[Verdict]:
    """Judge the expectations of a scenario, in their order.

    Args:
        expectations: of one scenario; a ratio may name others of them.
        scenario: name of the scenario, for the verdicts.
        records: runs, or sources of them, in any order; those of no expectation do not matter and are not read. Where a point
            has one replication, its interval is that of batch means within the run.
        answers: results of the searches, by name of the expectation; those of interim analyses say by how many replications, and at
            which level, an expectation is judged.
        known: the known reds, by claim id.
        level: of the intervals.
        is_ensemble: the replications are runs of several hosts (`hostsim.results.prediction_interval`): verdicts have prediction intervals.
    """
    expectations = list(expectations)
    sources = (entry if isinstance(entry, RunSource) else RunSource.of(entry) for entry in records)
    metrics = {metric for expectation in expectations for metric in required_metrics(expectation.form)}
    runs = Runs(sources, metrics, level, is_ensemble=is_ensemble)
    estimator = _Estimator(runs, answers, {expectation.name: expectation for expectation in expectations})
    verdicts = []
    for expectation in expectations:
        answer = answers.get(look_name(expectation.name))
        look = None if answer is None else answer.look
        verdict = _verdict(expectation, scenario, estimator if look is None else estimator.at(look))
        if look is not None and look.reason and verdict.state is VerdictState.OPEN:
            verdict = replace(verdict, notes=(*verdict.notes, look.reason))
        verdict = replace(verdict, wall_s=runs.take_wall_s(_searched_lines(expectation.form, estimator.expectations)))
        entry = (known or {}).get(expectation.name) if expectation.is_claim else None
        if entry is not None:
            verdict = replace(verdict, known=entry, reason=verdict.reason or entry.reason)
        verdicts.append(verdict)
    return verdicts


def state_of(interval: Interval, band: Band, bound: Bound | None = None) -> VerdictState:
    """Verdict state of an interval and a band.

    It passes when it lies in the band and is at most half as wide, fails when it lies outside, and is open else. A band
    with an open end sets no width; an interval without width passes or fails. The upper end of what is less than a bound
    does not belong to the interval.
    """
    lies = _lies(interval, band, bound)
    if lies is not VerdictState.PASS:
        return lies
    widest = math.inf if band.low is None or band.high is None else (band.high - band.low) / 2
    return VerdictState.PASS if interval.high - interval.low <= widest else VerdictState.OPEN


def _lies(interval: Interval, band: Band, bound: Bound | None) -> VerdictState:
    """Whether an interval lies in a band, however wide it is."""
    if bound is Bound.LESS_THAN and band.low is not None and interval.high <= band.low:
        return VerdictState.FAIL
    if (band.low is not None and interval.high < band.low) or (band.high is not None and interval.low > band.high):
        return VerdictState.FAIL
    return VerdictState.PASS if band.holds(interval.low) and band.holds(interval.high) else VerdictState.OPEN


def _verdict(expectation: Expectation, scenario: str, estimator: _Estimator) -> Verdict:
    try:
        estimate = estimator.estimate(expectation)
        prediction = estimator.prediction(expectation, estimate) if estimator.runs.is_ensemble else None
    except MissingError as missing:
        return Verdict(expectation, scenario, None, None, None, VerdictState.MISSING, reason=str(missing))
    interval = estimate.interval
    return Verdict(
        expectation,
        scenario,
        value=None if math.isnan(interval.mean) else interval.mean,
        ci_low=interval.low if math.isfinite(interval.low) else None,
        ci_high=interval.high if math.isfinite(interval.high) else None,
        state=state_of(interval, expectation.band, estimate.bound),
        points=estimate.cases,
        notes=(*_with_determinism(estimate), *(_noise_notes(estimate) if prediction else ())),
        bound=estimate.bound,
        equal_replications=estimate.equal_replications,
        prediction=prediction,
    )


def _searched_lines(form: Form, others: Mapping[str, Expectation]) -> list[Case]:
    """The axis values that the searches behind a form hold fixed: its own, or those of the expectations it is a ratio of."""
    match form:
        case Find():
            return [form.at]
        case Ratio():
            sides = [others[side].form for side in (form.of, form.to) if isinstance(side, str)]
            return [line for side in sides for line in _searched_lines(side, others)]
    return []


def _with_determinism(estimate: PointEstimate) -> tuple[str, ...]:
    """The notes of an estimate, after one on what its interval means where it is deterministic."""
    equal = estimate.equal_replications
    return (deterministic_note(equal), *estimate.notes) if equal else estimate.notes


def _noise_notes(estimate: PointEstimate) -> tuple[str, ...]:
    """A note on what the prediction interval of an estimate is made of."""
    share = noise_share(estimate.values) if estimate.values else math.nan
    told = f"about {share:.0%} of the variance behind the prediction interval is the noise of the runs"
    return () if math.isnan(share) else (f"{told}, the rest is between hosts",)


@dataclass(frozen=True)
class _Estimator:
    """Estimator of expectations: the runs and search answers of a scenario, and the estimate of each form of expectation from them."""

    runs: Runs
    answers: Mapping[str, SearchAnswer]
    expectations: Mapping[str, Expectation]

    def at(self, look: Look) -> _Estimator:
        """The estimator of a look of an interim analysis."""
        runs = self.runs.first(look.replications, look.level)
        return replace(self, runs=runs, answers={**self.answers, **look.searches})

    def prediction(self, expectation: Expectation, estimate: PointEstimate) -> PredictionInterval | None:
        """The prediction interval of an expectation, of which runs of an ensemble have given an estimate; None of what takes no runs.

        A statement holds on some members or on all or none; all other values differ by more than yes and no.

        Raises:
            MissingError: a statement cannot be judged on one of the members.
        """
        form = expectation.form
        if isinstance(form, Refused):
            return None
        if isinstance(form, Always | Switches):
            by_member = {
                replication: replace(self, runs=self.runs.only(replication)).estimate(expectation).interval.mean
                for replication in self.runs.replications()
            }
            found = span(by_member)
        else:
            least = -math.inf if is_signed(form) else 0.0
            most = 1.0 if isinstance(form, RSquared) else math.inf
            found = opened(prediction_interval(estimate.values, least, most), estimate.bounds)
        low, high = (end if math.isfinite(end) else None for end in (found.low, found.high))
        return PredictionInterval(low, high, found.count, _lies(found, expectation.band, estimate.bound))

    def estimate(self, expectation: Expectation) -> PointEstimate:
        """Estimate the value of an expectation.

        Raises:
            MissingError: runs are missing, have failed, or could not take the measure.
        """
        form: Form = expectation.form
        match form:
            case At():
                return self.runs.at(form.metric, form.at)
            case Difference():
                of, less = (self.runs.at(form.metric, at) for at in (form.at, form.less))
                return difference(of, less, self.runs)
            case Worst():
                return self._worst(form, expectation.band)
            case Mean():
                return self._mean(form, expectation.band)
            case Find():
                return self._searched(expectation.name)
            case Ratio():
                return ratio(self._side(form, form.of), self._side(form, form.to), self.runs)
            case RSquared():
                return self._r_squared(form)
            case Always():
                return judge_always(form, self.runs)
            case Switches():
                return judge_switches(form, self.runs)
            case Refused():
                return _refused(form)

    def _worst(self, form: Worst, band: Band) -> PointEstimate:
        estimates, behind = self._points(form.points)
        choose = max if form.best else min
        chosen = choose(estimates, key=lambda estimate: _depth(estimate.interval.mean, band))
        return replace(chosen, cases=cases_of(estimates), notes=notes_of([*behind, chosen]))

    def _mean(self, form: Mean, band: Band) -> PointEstimate:
        estimates, behind = self._points(form.points)
        common = set.intersection(*(set(estimate.values) for estimate in estimates))
        if not common:
            raise MissingError("no replication has all points of the mean")
        values = {
            replication: math.fsum(estimate.values[replication] for estimate in estimates) / len(estimates)
            for replication in sorted(common)
        }
        interval = self.runs.signed_interval(values) if is_signed(form) else self.runs.interval(values)
        notes = (_extremes(form, estimates, band), *notes_of(behind))
        return PointEstimate(interval, values, cases_of(estimates), notes, equal_in_all(estimates))

    def _points(self, points: Iterable[PointForm]) -> tuple[list[PointEstimate], list[PointEstimate]]:
        """An estimate for each of several points, and the estimates behind them."""
        behind: list[PointEstimate] = []
        estimates: list[PointEstimate] = []
        for point in points:
            match point:
                case At():
                    behind.append(self.runs.at(point.metric, point.at))
                    estimates.append(behind[-1])
                case Ratio():
                    of, to = self._side(point, point.of), self._side(point, point.to)
                    behind += [of, to]
                    estimates.append(_as_case(point, of, to, ratio(of, to, self.runs)))
                case Difference():
                    of, less = (self.runs.at(point.metric, at) for at in (point.at, point.less))
                    behind += [of, less]
                    estimates.append(_as_case(point, of, less, difference(of, less, self.runs)))
        return estimates, behind

    def _searched(self, name: str) -> PointEstimate:
        answer = self.answers.get(name)
        if answer is None:
            raise MissingError("the search has not ended")
        if not answer.values:
            raise MissingError("; ".join(answer.notes) or "the search found nothing")
        values = dict(enumerate(answer.values))
        interval = opened(self.runs.signed_interval(values), answer.bounds)
        return PointEstimate(interval, values, answer.points, answer.notes, bounds=answer.bounds)

    def _side(self, form: Ratio, side: Case | str) -> PointEstimate:
        if not isinstance(side, str):
            assert form.metric is not None  # the loader lets a ratio of points do without none
            return self.runs.at(form.metric, {**form.at, **side})
        estimate = self.estimate(self.expectations[side])
        return replace(estimate, cases=(case_of({"expectation": side}, estimate.interval),))

    def _r_squared(self, form: RSquared) -> PointEstimate:
        estimates = self.runs.line(form.metric, form.at, form.against, form.values)
        x = _positions(form.values)
        common = [r for r in estimates[0].values if all(r in estimate.values for estimate in estimates)]
        values = {r: r_squared(x, [estimate.values[r] for estimate in estimates]) for r in common}
        if not values or any(math.isnan(value) for value in values.values()):
            raise MissingError(f"{form.metric} does not vary along {form.against}")
        interval, equal = self.runs.interval(values, most=1.0), equal_in_all(estimates)
        return PointEstimate(interval, values, cases_of(estimates), notes_of(estimates), equal)


def _refused(form: Refused) -> PointEstimate:
    """Whether all cases were refused, or accepted, as they should be."""
    holds = float(all(case.holds for case in form.cases))
    cases: tuple[Case, ...] = tuple(
        {"tried": case.tried or "as it stands", "refusal": case.feature or "none", "value": float(case.holds)}
        for case in form.cases
    )
    notes = tuple(
        f"{case.tried or 'as it stands'}: {'; '.join(case.said) or 'accepted'}" for case in form.cases if not case.holds
    )
    return PointEstimate(Interval(holds, holds, holds, len(cases)), {}, cases, notes)


def _as_case(point: Ratio | Difference, of: PointEstimate, to: PointEstimate, paired: PointEstimate) -> PointEstimate:
    """A ratio or a difference of points as one case: the axes that both share, the metric on both sides, the estimate."""
    second = "to" if isinstance(point, Ratio) else "less"
    sides = {f"{point.metric} of": of.interval.mean, f"{point.metric} {second}": to.interval.mean}
    return replace(paired, cases=(case_of({**_shared(point), **sides}, paired.interval),))


def _shared(point: PointForm) -> Case:
    """The values of the axes that all sides of a point share."""
    match point:
        case At():
            return point.at
        case Ratio():
            return {axis: value for axis, value in point.at.items() if axis not in {*point.of, *point.to}}
        case Difference():
            return {axis: value for axis, value in point.at.items() if point.less[axis] == value}


def _extremes(form: Mean, estimates: Sequence[PointEstimate], band: Band) -> str:
    """The least and the greatest case of a mean, in words; one of them is the worst, as the distance to the nearer end has one peak."""
    cases = [_shared(point) for point in form.points]
    varied = [axis for axis in cases[0] if len({str(case[axis]) for case in cases}) > 1]
    means = [estimate.interval.mean for estimate in estimates]
    worst = min(range(len(means)), key=lambda place: _depth(means[place], band))

    def words(place: int) -> str:
        where = point_text({axis: cases[place][axis] for axis in varied})
        return f"{means[place]:.4g} at {where}{' (the worst)' if place == worst else ''}"

    least, greatest = (choose(range(len(means)), key=means.__getitem__) for choose in (min, max))
    return f"the mean of {len(means)} cases, from {words(least)} to {words(greatest)}"


def _depth(value: float, band: Band) -> float:
    """Distance of a value to the nearer end of the band; negative outside."""
    below = math.inf if band.low is None else value - band.low
    above = math.inf if band.high is None else band.high - value
    return min(below, above)


def _positions(values: Sequence[Scalar]) -> list[float]:
    """Values of an axis as numbers: quantities of one unit by their number, since R squared knows no scale."""
    parts = [value.split(None, 1) if isinstance(value, str) else [str(value)] for value in values]
    if len({tuple(part[1:]) for part in parts}) > 1:
        raise MissingError(f"a line needs values of one unit, not {', '.join(str(value) for value in values)}")
    try:
        return [float(part[0]) for part in parts]
    except (ValueError, IndexError):
        raise MissingError(f"a line needs numbers, not {', '.join(str(value) for value in values)}") from None
