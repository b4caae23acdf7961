"""Objective of the calibration: residuals of claims on a host with given constants, smooth where a verdict steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hostsim.analysis.cost_model import with_constants
from hostsim.claim import Claim
from hostsim.errors import Fault, InputError
from hostsim.expect import Find, Ratio, Verdict
from hostsim.pipeline import ExecutionOptions, execute_all, judge_expectations
from hostsim.record import Scalar
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from hostsim.scenario.selection import select

__all__ = ["ClaimEvaluator", "ClaimValue", "noise", "residual", "smooth", "threshold_crossing"]


def residual(value: float, claim: Claim) -> float:
    """Residual of a claim: distance from the published value in half-widths of the accepted band; 1 is an end of a band around its middle.

    Where what was published is an end of the band ("more than 35"), or words, the distance is from the middle.

    Raises:
        InputError: the band of the claim has an open end, or no width.
    """
    low, high = claim.band.low, claim.band.high
    if low is None or high is None or high <= low:
        raise InputError(Fault("has no band to fit to", claim.id, allowed="a claim whose band has two ends"))
    aim = (low + high) / 2
    with suppress(ValueError):
        published = float(claim.published)
        aim = aim if published in (low, high) else published
    return (value - aim) / ((high - low) / 2)


def smooth(verdict: Verdict, others: Mapping[str, Verdict]) -> float:
    """Smooth value of a verdict, without steps: for a threshold, where between two values of the axis its metric crosses the limit.

    A largest count of n stands for every crossing from n to n + 1; half of a step is taken off, so that counts and crossings agree in the mean.

    Args:
        verdict: one with a value.
        others: the verdicts of the scenario by name of the expectation, for ratios of two of them.
    """
    form = verdict.expectation.form
    if isinstance(form, Find):
        return _crossing_of(verdict, form)
    if isinstance(form, Ratio) and isinstance(form.of, str) and isinstance(form.to, str):
        return smooth(others[form.of], others) / smooth(others[form.to], others)
    assert verdict.value is not None
    return verdict.value


def noise(verdict: Verdict, others: Mapping[str, Verdict], count: int) -> float:
    """Noise of a verdict's value: two standard errors; where it has no interval, what comes of its two sides in a ratio of two verdicts, without end for a threshold of one replication, and else nothing.

    Two replications have an interval of thirteen standard errors, because nobody knows how much they vary; two hosts are compared on common random numbers.

    Args:
        verdict: one with a value.
        others: the verdicts of the scenario by name of the expectation, for ratios of two of them.
        count: replications behind it.
    """
    form = verdict.expectation.form
    if verdict.ci_low is not None and verdict.ci_high is not None:
        from scipy.special import stdtrit

        wide = float(stdtrit(count - 1, 0.975)) if count > 1 else 2.0
        return (verdict.ci_high - verdict.ci_low) / wide
    if isinstance(form, Ratio) and isinstance(form.of, str) and isinstance(form.to, str):
        return smooth(verdict, others) * math.hypot(
            *(noise(others[side], others, count) / smooth(others[side], others) for side in (form.of, form.to))
        )
    return math.inf if isinstance(form, Find) else 0.0


def _crossing_of(verdict: Verdict, form: Find) -> float:
    sides: dict[Scalar, list[tuple[float, float]]] = {}
    for case in verdict.points:
        number = form.read(case[form.axis])
        if number is not None:
            sides.setdefault(case["replication"], []).append((number, float(case["value"])))
    found = [threshold_crossing(*sorted(pair), limit=form.below) for pair in sides.values() if len(pair) == 2]
    assert verdict.value is not None
    return sum(found) / len(found) - 0.5 if found else verdict.value


def threshold_crossing(below: tuple[float, float], above: tuple[float, float], *, limit: float) -> float:
    """Threshold crossing: where a metric that is known at two values of an axis reaches a limit, by interpolation.

    A share that is nothing at the one is taken as what does not get through at the other: the rest of the other's load is what does.
    Otherwise the metric is taken to grow by a factor with each step; where it has no bound at the other, the limit lies halfway.

    Args:
        below: the smaller value of the axis, and the metric there.
        above: the larger one, likewise.
        limit: lies between the metrics.
    """
    (first, low), (last, high) = below, above
    if low <= 0 or high <= 0:
        return min(max(last * (1 - high / 100), first), last)
    is_known = low != high < math.inf
    share = math.log(limit / low) / math.log(high / low) if is_known else 0.5
    return first + min(max(share, 0.0), 1.0) * (last - first)


@dataclass(frozen=True)
class ClaimValue:
    """Value of a claim on a host, with its noise."""

    value: float | None
    """The value of a check, in the claim's unit; None where it has none."""
    smooth: float
    """Without steps (`smooth`); NaN where it has no value."""
    noise: float
    """Two standard errors of it (`noise`)."""
    reason: str = ""

    @classmethod
    def of(cls, verdict: Verdict, others: Mapping[str, Verdict], count: int) -> ClaimValue:
        """From a verdict and those of its scenario by name, with the replications behind them."""
        if verdict.value is None:
            return cls(None, math.nan, math.nan, verdict.reason)
        return cls(verdict.value, smooth(verdict, others), noise(verdict, others, count))


@dataclass(frozen=True)
class ClaimEvaluator:
    """Evaluator of claims on hosts with other constants; every run goes through the results store, so that nothing is run twice."""

    runs: Fidelity
    means: ExecutionOptions

    def values(self, names: Sequence[str], constants: Mapping[str, float]) -> dict[str, float]:
        """The smooth value of each claim.

        Args:
            names: ids of claims.
            constants: by name, in their units; all others as they are shipped.

        Raises:
            InputError: an unknown constant, or a claim that has no value with these.
            KeyboardInterrupt: Ctrl-C; everything finished is kept.
        """
        [host] = self.evaluate(names, [constants])
        faults = [
            Fault("has no value", name, given=verdict.reason) for name, verdict in host.items() if verdict.value is None
        ]
        if faults:
            raise InputError(faults)
        return {name: verdict.smooth for name, verdict in host.items()}

    def answers(self, names: Sequence[str], constants: Mapping[str, float]) -> dict[str, float | None]:
        """The value of each claim in a check, steps included; None where it has none; the arguments and errors are those of `evaluate`."""
        [host] = self.evaluate(names, [constants])
        return {name: verdict.value for name, verdict in host.items()}

    def evaluate(self, names: Sequence[str], hosts: Sequence[Mapping[str, float]]) -> list[dict[str, ClaimValue]]:
        """Evaluate claims on several hosts, whose runs are made at the same time.

        Args:
            names: ids of claims.
            hosts: constants by name, in their units; all others as they are shipped.

        Raises:
            InputError: an unknown constant.
            KeyboardInterrupt: Ctrl-C; everything finished is kept.
        """
        selected = select(*names)
        changed = [[with_constants(scenario, constants) for scenario, _ in selected] for constants in hosts]
        outcomes = iter(
            execute_all(
                [make_plan(one, self.runs, sweep=False, expectations=True) for host in changed for one in host],
                self.means,
            )
        )
        found = []
        for host in changed:
            values: dict[str, ClaimValue] = {}
            for scenario, (_, asked) in zip(host, selected, strict=True):
                outcome = next(outcomes)
                verdicts = {
                    verdict.expectation.name: verdict
                    for verdict in judge_expectations(scenario, outcome.records, outcome.answers, quick=self.runs.quick)
                }
                count = len({replication for _, replication in outcome.records})
                values |= {name: ClaimValue.of(verdicts[name], verdicts, count) for name in asked}
            found.append({name: values[name] for name in names})
        return found
