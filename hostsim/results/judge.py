"""Holds expectations against runs: a value with its interval, and what that says of the band.

Each form of expectation becomes a `Finding`: one interval, the cases behind it. The verdict follows from the interval and
the band alone, by one rule for all forms (`state_of`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hostsim.estimate import Interval, r_squared, student
from hostsim.expect import (
    Always,
    At,
    Band,
    Difference,
    Expectation,
    Find,
    Fit,
    Form,
    Ratio,
    Refused,
    SearchAnswer,
    Switches,
    Verdict,
    VerdictState,
    Worst,
    measured,
)
from hostsim.record import RunRecord, Scalar
from hostsim.results.condition import always, switches
from hostsim.results.finding import Case, Finding, MissingError, Runs, case_of, cases_of, difference, notes_of, ratio

__all__ = ["judge", "state_of"]


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
    runs = Runs(records, {metric for expectation in expectations for metric in measured(expectation.form)}, level)
    bench = _Bench(runs, answers, {expectation.name: expectation for expectation in expectations}, level)
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
    except MissingError as missing:
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


@dataclass(frozen=True, slots=True)
class _Bench:
    """The runs and answers of a scenario, and how each form of expectation is read from them."""

    runs: Runs
    answers: Mapping[str, SearchAnswer]
    expectations: Mapping[str, Expectation]
    level: float

    def find(self, expectation: Expectation) -> Finding:
        """What an expectation comes to.

        Raises:
            MissingError: runs are missing, have failed, or could not take the measure.
        """
        form: Form = expectation.form
        match form:
            case At():
                return self.runs.at(form.metric, form.at)
            case Difference():
                of, less = (self.runs.at(form.metric, at) for at in (form.at, form.less))
                return difference(of, less, self.level)
            case Worst():
                return self._worst(form, expectation.band)
            case Find():
                return self._found(expectation.name)
            case Ratio():
                return ratio(self._side(form, form.of), self._side(form, form.to), self.runs)
            case Fit():
                return self._fit(form)
            case Always():
                return always(form, self.runs)
            case Switches():
                return switches(form, self.runs)
            case Refused():
                return _refused(form)

    def _worst(self, form: Worst, band: Band) -> Finding:
        behind: list[Finding] = []
        findings: list[Finding] = []
        for point in form.points:
            if isinstance(point, At):
                behind.append(self.runs.at(point.metric, point.at))
                findings.append(behind[-1])
            else:
                of, to = self._side(point, point.of), self._side(point, point.to)
                behind += [of, to]
                findings.append(_as_case(point, of, to, ratio(of, to, self.runs)))
        choose = max if form.best else min
        chosen = choose(findings, key=lambda finding: _depth(finding.interval.mean, band))
        return replace(chosen, cases=cases_of(findings), notes=notes_of([*behind, chosen]))

    def _found(self, name: str) -> Finding:
        answer = self.answers.get(name)
        if answer is None:
            raise MissingError("the search has not ended")
        if not answer.values:
            raise MissingError("; ".join(answer.notes) or "the search found nothing")
        return Finding(student(answer.values, self.level), dict(enumerate(answer.values)), answer.points, answer.notes)

    def _side(self, form: Ratio, side: Case | str) -> Finding:
        if not isinstance(side, str):
            assert form.metric is not None  # the loader lets a ratio of points do without none
            return self.runs.at(form.metric, {**form.at, **side})
        finding = self.find(self.expectations[side])
        return replace(finding, cases=(case_of({"expectation": side}, finding.interval),))

    def _fit(self, form: Fit) -> Finding:
        findings = self.runs.line(form.metric, form.at, form.against, form.values)
        x = _positions(form.values)
        common = [r for r in findings[0].values if all(r in finding.values for finding in findings)]
        values = {r: r_squared(x, [finding.values[r] for finding in findings]) for r in common}
        if not values or any(math.isnan(value) for value in values.values()):
            raise MissingError(f"{form.metric} does not vary along {form.against}")
        return Finding(self.runs.interval(values, most=1.0), values, cases_of(findings), notes_of(findings))


def _refused(form: Refused) -> Finding:
    """Whether all cases were refused, or accepted, as they should be."""
    holds = float(all(case.holds for case in form.cases))
    cases: tuple[Case, ...] = tuple(
        {"tried": case.tried or "as it stands", "refusal": case.feature or "none", "value": float(case.holds)}
        for case in form.cases
    )
    notes = tuple(
        f"{case.tried or 'as it stands'}: {'; '.join(case.said) or 'accepted'}" for case in form.cases if not case.holds
    )
    return Finding(Interval(holds, holds, holds, len(cases)), {}, cases, notes)


def _as_case(point: Ratio, of: Finding, to: Finding, paired: Finding) -> Finding:
    """A ratio of points as one case: the axes that both share, the metric on both sides, what came out."""
    apart = {*point.of, *point.to}
    shared = {axis: value for axis, value in point.at.items() if axis not in apart}
    sides = {f"{point.metric} of": of.interval.mean, f"{point.metric} to": to.interval.mean}
    return replace(paired, cases=(case_of({**shared, **sides}, paired.interval),))


def _depth(value: float, band: Band) -> float:
    """How deep inside the band a value lies; negative outside."""
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
