"""Holds expectations against runs: a value with its interval, and what that says of the band.

Each form of expectation becomes a `_Finding`: one interval, the cases behind it. The verdict follows from the interval and
the band alone, by one rule for all forms (`state_of`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hostsim.estimate import Interval, r_squared, student, variance_ratio
from hostsim.expect import (
    NOT_ESTIMABLE,
    Always,
    At,
    Band,
    Expectation,
    Find,
    Fit,
    Form,
    Ratio,
    SearchAnswer,
    Verdict,
    VerdictState,
    Worst,
)
from hostsim.metrics import CATALOGUE
from hostsim.record import RunRecord, Scalar
from hostsim.results.within import within

__all__ = ["judge", "state_of"]

Case = Mapping[str, Scalar]
"""A point by its axes; with what came out at it under ``value``, ``low`` and ``high``."""


def judge(
    expectations: Iterable[Expectation],
    scenario: str,
    records: Iterable[RunRecord],
    answers: Mapping[str, SearchAnswer],
    known: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> list[Verdict]:
    """The verdict on each expectation of a scenario, in their order.

    Args:
        expectations: of one scenario; a ratio may name others of them.
        scenario: name of the scenario, for the verdicts.
        records: runs, in any order; those of no expectation do not matter. Where a point has one replication, its interval is
            that of batch means within the run.
        answers: what the searches found, by name of the expectation.
        known: reasons of the claims that are known not to come out, by claim id.
        level: of the intervals.
    """
    expectations = list(expectations)
    bench = _Bench(records, answers, {expectation.name: expectation for expectation in expectations}, level)
    reasons = known or {}
    verdicts = []
    for expectation in expectations:
        verdict = _verdict(expectation, scenario, bench)
        if expectation.is_claim and expectation.name in reasons:
            verdict = replace(verdict, known=True, reason=verdict.reason or reasons[expectation.name])
        verdicts.append(verdict)
    return verdicts


def state_of(interval: Interval, band: Band) -> VerdictState:
    """What an interval says of a band.

    It passes when it lies in the band and is at most half as wide, fails when it lies outside, and is open else. A band
    with an open end sets no width; an interval without width passes or fails.
    """
    if (band.low is not None and interval.high < band.low) or (band.high is not None and interval.low > band.high):
        return VerdictState.FAIL
    if not (band.holds(interval.low) and band.holds(interval.high)):
        return VerdictState.OPEN
    widest = math.inf if band.low is None or band.high is None else (band.high - band.low) / 2
    return VerdictState.PASS if interval.high - interval.low <= widest else VerdictState.OPEN


def _verdict(expectation: Expectation, scenario: str, bench: _Bench) -> Verdict:
    try:
        finding = bench.find(expectation)
    except _MissingError as missing:
        return Verdict(expectation, scenario, None, None, None, VerdictState.MISSING, reason=str(missing))
    interval = finding.interval
    return Verdict(
        expectation,
        scenario,
        value=interval.mean,
        ci_low=interval.low if math.isfinite(interval.low) else None,
        ci_high=interval.high if math.isfinite(interval.high) else None,
        state=state_of(interval, expectation.band),
        points=finding.cases,
        notes=finding.notes,
    )


class _MissingError(Exception):
    """An expectation that cannot be judged, and why."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """What an expectation comes to."""

    interval: Interval
    values: Mapping[int, float]
    """By replication, where the form has a value for each."""
    cases: tuple[Case, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """All that is kept of a record: there may be more of them than memory holds."""

    values: Mapping[str, float]
    """By metric; empty when it failed."""
    flags: tuple[str, ...]
    error: str | None
    alone: Mapping[str, tuple[Interval, str]] = field(default_factory=dict)
    """Of the only run of its point: by metric, its interval and what that rests on."""


def _run(record: RunRecord, metrics: Iterable[str]) -> _Run:
    values = {} if record.error else {metric: CATALOGUE[metric].evaluate(record) for metric in metrics}
    return _Run(values, record.flags, record.error)


def _metric(form: Form) -> str | None:
    return None if isinstance(form, Find) else form.metric


class _Bench:
    """The runs and answers of a scenario, and how each form of expectation is read from them."""

    def __init__(
        self,
        records: Iterable[RunRecord],
        answers: Mapping[str, SearchAnswer],
        expectations: Mapping[str, Expectation],
        level: float,
    ) -> None:
        self._answers = answers
        self._expectations = expectations
        self._level = level
        metrics = {metric for expectation in expectations.values() if (metric := _metric(expectation.form))}
        self._runs: dict[frozenset[tuple[str, Scalar]], dict[int, _Run]] = {}
        records = list(records) if isinstance(records, Iterator) else records
        for record in records:
            self._runs.setdefault(frozenset(record.axes.items()), {})[record.replication] = _run(record, metrics)
        alone = {at for at, runs in self._runs.items() if len(runs) == 1}
        # a second look, since a record is not kept and only now is it known which are alone
        for record in records if alone else ():
            at = frozenset(record.axes.items())
            if at in alone and record.error is None:
                run = self._runs[at][record.replication]
                spreads = {metric: within(record, metric, level) for metric in metrics}
                self._runs[at][record.replication] = replace(run, alone=spreads)

    def find(self, expectation: Expectation) -> _Finding:
        """What an expectation comes to.

        Raises:
            _MissingError: runs are missing, have failed, or could not take the measure.
        """
        form: Form = expectation.form
        match form:
            case At():
                return self._at(form.metric, form.at)
            case Worst():
                return self._worst(form, expectation.band)
            case Find():
                return self._found(expectation.name)
            case Ratio():
                return self._ratio(form)
            case Fit():
                return self._fit(form)
            case Always():
                return self._always(form)

    def _at(self, metric: str, at: Case) -> _Finding:
        runs = self._finished(at)
        values = {replication: run.values[metric] for replication, run in runs.items()}
        if any(math.isnan(value) for value in values.values()):
            least = CATALOGUE[metric].least
            if least > 1:
                raise _MissingError(
                    f"{NOT_ESTIMABLE}: {metric} needs {least} observations in every run at {_words(at)}"
                )
            raise _MissingError(f"{metric} has nothing to be measured on at {_words(at)}")
        interval, notes = self._interval(values), _flags(runs.values())
        if len(runs) == 1:
            spread, words = next(iter(runs.values())).alone[metric]
            if math.isfinite(spread.half):
                interval, notes = _possible(spread), (*notes, f"one replication: the interval is that of {words}")
        return _Finding(interval, values, (_case(at, interval),), notes)

    def _finished(self, at: Case) -> dict[int, _Run]:
        runs = self._runs.get(frozenset(at.items()))
        if not runs:
            raise _MissingError(f"no run at {_words(at)}")
        for replication, run in sorted(runs.items()):
            if run.error:
                raise _MissingError(f"replication {replication} failed at {_words(at)}: {run.error.splitlines()[-1]}")
        return dict(sorted(runs.items()))

    def _interval(self, values: Mapping[int, float], most: float = math.inf) -> Interval:
        """Student's interval, cut to what the measure can be."""
        interval = student(list(values.values()), self._level)
        return interval if interval.count == 1 else _possible(interval, most)

    def _worst(self, form: Worst, band: Band) -> _Finding:
        findings = [self._at(form.metric, {**form.at, form.over: value}) for value in form.values]
        choose = max if form.best else min
        chosen = choose(findings, key=lambda finding: _depth(finding.interval.mean, band))
        return replace(chosen, cases=_cases(findings), notes=_notes(findings))

    def _found(self, name: str) -> _Finding:
        answer = self._answers.get(name)
        if answer is None:
            raise _MissingError("the search has not ended")
        if not answer.values:
            raise _MissingError("; ".join(answer.notes) or "the search found nothing")
        return _Finding(
            student(answer.values, self._level), dict(enumerate(answer.values)), answer.points, answer.notes
        )

    def _ratio(self, form: Ratio) -> _Finding:
        sides = [self._side(form, side) for side in (form.of, form.to)]
        of, to = (side.values for side in sides)
        paired = [replication for replication in of if replication in to]
        if not paired:
            raise _MissingError("no replication has both sides of the ratio")
        if not all(to[replication] for replication in paired):
            raise _MissingError("the denominator of the ratio is 0")
        values = {replication: of[replication] / to[replication] for replication in paired}
        notes = (*_notes(sides), *_pairing([of[r] for r in paired], [to[r] for r in paired]))
        return _Finding(self._interval(values), values, _cases(sides), notes)

    def _side(self, form: Ratio, side: Case | str) -> _Finding:
        if not isinstance(side, str):
            assert form.metric is not None  # the loader lets a ratio of points do without none
            return self._at(form.metric, {**form.at, **side})
        finding = self.find(self._expectations[side])
        return replace(finding, cases=(_case({"expectation": side}, finding.interval),))

    def _fit(self, form: Fit) -> _Finding:
        findings = [self._at(form.metric, {**form.at, form.against: value}) for value in form.values]
        x = _positions(form.values)
        common = [r for r in findings[0].values if all(r in finding.values for finding in findings)]
        values = {r: r_squared(x, [finding.values[r] for finding in findings]) for r in common}
        if not values or any(math.isnan(value) for value in values.values()):
            raise _MissingError(f"{form.metric} does not vary along {form.against}")
        return _Finding(self._interval(values, most=1.0), values, _cases(findings), _notes(findings))

    def _always(self, form: Always) -> _Finding:
        findings = [self._at(form.metric, {**form.at, form.along: value}) for value in form.values]
        means = [finding.interval.mean for finding in findings]
        holds = float(all((after > before) if form.rising else (after < before) for before, after in pairwise(means)))
        return _Finding(Interval(holds, holds, holds, len(means)), {}, _cases(findings), _notes(findings))


def _possible(interval: Interval, most: float = math.inf) -> Interval:
    """An interval cut to what a measure can be: none of the catalogue is negative."""
    return replace(interval, low=max(0.0, interval.low), high=min(most, interval.high))


def _pairing(of: Sequence[float], to: Sequence[float]) -> tuple[str, ...]:
    """What common random numbers are worth to a ratio: to first order it varies as its two sides do relative to their means."""
    apart = variance_ratio(
        *([value * len(side) / math.fsum(side) if any(side) else 0.0 for value in side] for side in (of, to))
    )
    return () if math.isnan(apart) else (f"pairing by replication leaves {apart:.2g} of the variance of the ratio",)


def _depth(value: float, band: Band) -> float:
    """How deep inside the band a value lies; negative outside."""
    below = math.inf if band.low is None else value - band.low
    above = math.inf if band.high is None else band.high - value
    return min(below, above)


def _positions(values: Sequence[Scalar]) -> list[float]:
    """Values of an axis as numbers: quantities of one unit by their number, since R squared knows no scale."""
    parts = [value.split(None, 1) if isinstance(value, str) else [str(value)] for value in values]
    if len({tuple(part[1:]) for part in parts}) > 1:
        raise _MissingError(f"a line needs values of one unit, not {', '.join(str(value) for value in values)}")
    try:
        return [float(part[0]) for part in parts]
    except (ValueError, IndexError):
        raise _MissingError(f"a line needs numbers, not {', '.join(str(value) for value in values)}") from None


def _case(at: Case, interval: Interval) -> Case:
    ends = {"low": interval.low, "high": interval.high}
    return {**at, "value": interval.mean, **{name: end for name, end in ends.items() if math.isfinite(end)}}


def _cases(findings: Iterable[_Finding]) -> tuple[Case, ...]:
    return tuple(case for finding in findings for case in finding.cases)


def _notes(findings: Iterable[_Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for finding in findings for note in finding.notes))


def _flags(runs: Iterable[_Run]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag for run in runs for flag in run.flags))


def _words(at: Case) -> str:
    return ", ".join(f"{axis}={value}" for axis, value in at.items()) or "the only point"
