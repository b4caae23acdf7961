"""Judging of expectations: a point estimate or predicate from runs, and the verdict by interval and band."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hostsim.engine.record import RunRecord
from hostsim.results.curve import deterministic_note
from hostsim.results.estimate import Interval, noise_share, prediction_interval, span
from hostsim.results.expect import Band, Expectation, Find, Form, KnownRed, PredictionInterval, Verdict, VerdictState
from hostsim.results.point_estimate import Case, MissingError, PointEstimate, Runs, RunSource, opened
from hostsim.results.search_answer import Bound, Look, SearchAnswer, look_name

__all__ = [
    "judge",
    "state_of",
]


def judge(
    expectations: Iterable[Expectation],
    scenario: str,
    records: Iterable[RunRecord | RunSource],
    answers: Mapping[str, SearchAnswer],
    red: Mapping[str, KnownRed] | None = None,
    level: float = 0.95,
    *,
    is_ensemble: bool = False,
) -> list[Verdict]:
    """Judge the expectations of a scenario, in their order.

    Args:
        expectations: of one scenario; a ratio may name others of them.
        scenario: name of the scenario, for the verdicts.
        records: runs, or their sources, in any order; runs that no expectation needs are not read. The interval of a
            point with one replication is computed from batch means of the run.
        answers: results of the searches, by name of the expectation; those of interim analyses have the number of replications and
            the level of the verdict.
        red: the known reds, by claim id.
        level: of the intervals.
        is_ensemble: replications run several hosts (`hostsim.results.estimate`), so that verdicts have prediction intervals.
    """
    expectations = list(expectations)
    sources = (entry if isinstance(entry, RunSource) else RunSource.of(entry) for entry in records)
    metrics = {metric for expectation in expectations for metric in expectation.form.metrics}
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
        entry = (red or {}).get(expectation.name) if expectation.is_claim else None
        if entry is not None:
            verdict = replace(verdict, known=entry, reason=verdict.reason or entry.reason)
        verdicts.append(verdict)
    return verdicts


def state_of(interval: Interval, band: Band, bound: Bound | None = None) -> VerdictState:
    """Verdict state of an interval and a band.

    It passes if the interval is in the band and at most half as wide, fails if it is outside, and is open otherwise. A band
    with an open end has no limit of width; an interval of zero width passes or fails. The upper end of a value "less than" a
    bound is not part of the interval.
    """
    lies = _lies(interval, band, bound)
    if lies is not VerdictState.PASS:
        return lies
    widest = math.inf if band.low is None or band.high is None else (band.high - band.low) / 2
    return VerdictState.PASS if interval.high - interval.low <= widest else VerdictState.OPEN


def _lies(interval: Interval, band: Band, bound: Bound | None) -> VerdictState:
    """Whether an interval is in a band, independent of its width."""
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
    """Fixed axis values of the searches behind a form, or behind the expectations of its ratio."""
    if isinstance(form, Find):
        return [form.at]
    return [line for name in form.others() for line in _searched_lines(others[name].form, others)]


def _with_determinism(estimate: PointEstimate) -> tuple[str, ...]:
    """The notes of an estimate, preceded by one on a deterministic interval."""
    equal = estimate.equal_replications
    return (deterministic_note(equal), *estimate.notes) if equal else estimate.notes


def _noise_notes(estimate: PointEstimate) -> tuple[str, ...]:
    """A note on the shares of noise and hosts in a prediction interval."""
    share = noise_share(estimate.values) if estimate.values else math.nan
    text = f"about {share:.0%} of the variance behind the prediction interval is the noise of the runs"
    return () if math.isnan(share) else (f"{text}, the rest is between hosts",)


@dataclass(frozen=True)
class _Estimator:
    """Estimator of expectations from the runs and search answers of a scenario."""

    runs: Runs
    answers: Mapping[str, SearchAnswer]
    expectations: Mapping[str, Expectation]

    def at(self, look: Look) -> _Estimator:
        """The estimator for a look of an interim analysis."""
        runs = self.runs.first(look.replications, look.level)
        return replace(self, runs=runs, answers={**self.answers, **look.searches})

    def prediction(self, expectation: Expectation, estimate: PointEstimate) -> PredictionInterval | None:
        """The prediction interval of an expectation for an ensemble; None for one without runs.

        A statement is judged on each member; other values have quantiles.

        Raises:
            MissingError: a statement cannot be judged on one of the members.
        """
        form = expectation.form
        if not form.needs_runs:
            return None
        if form.is_statement:
            by_member = {
                replication: replace(self, runs=self.runs.only(replication)).estimate(expectation).interval.mean
                for replication in self.runs.replications()
            }
            interval = span(by_member)
        else:
            least = -math.inf if form.is_signed else 0.0
            interval = opened(prediction_interval(estimate.values, least, form.most), estimate.bounds)
        low, high = (end if math.isfinite(end) else None for end in (interval.low, interval.high))
        return PredictionInterval(low, high, interval.count, _lies(interval, expectation.band, estimate.bound))

    def estimate(self, expectation: Expectation) -> PointEstimate:
        """Estimate the value of an expectation.

        Raises:
            MissingError: runs are missing, have failed, or could not take the measure.
        """
        return expectation.form.estimate(self, expectation.name, expectation.band)

    def answer(self, name: str) -> SearchAnswer | None:
        """The answer of a search, by the name of its expectation."""
        return self.answers.get(name)

    def other(self, name: str) -> PointEstimate:
        """The estimate of another expectation."""
        return self.estimate(self.expectations[name])
