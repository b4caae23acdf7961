"""How far a host with given constants is from what was published, claim by claim, as a fit needs it: smooth where a verdict steps."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hostsim.errors import Fault, InputError
from hostsim.expect import Claim, Find, Ratio, Verdict
from hostsim.record import Scalar
from hostsim.scenario.points import Fidelity, points
from hostsim.scenario.selection import select
from hostsim.study.constants import moved
from hostsim.study.sweep import Means, finish, judged

__all__ = ["Bench", "crossing", "residual", "smooth"]


def residual(value: float, claim: Claim) -> float:
    """Distance of a value from the published one in half-widths of the accepted band: 1 is an end of a band around its middle.

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
    """The value of a verdict without steps: of a threshold, where between two values of the axis its metric crosses the limit.

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


def _crossing_of(verdict: Verdict, form: Find) -> float:
    sides: dict[Scalar, list[tuple[float, float]]] = {}
    for case in verdict.points:
        number = form.read(case[form.axis])
        if number is not None:
            sides.setdefault(case["replication"], []).append((number, float(case["value"])))
    found = [crossing(*sorted(pair), limit=form.below) for pair in sides.values() if len(pair) == 2]
    assert verdict.value is not None
    return sum(found) / len(found) - 0.5 if found else verdict.value


def crossing(below: tuple[float, float], above: tuple[float, float], *, limit: float) -> float:
    """Where a metric that is known at two values of an axis reaches a limit.

    A share that is nothing at the one is taken as what does not get through at the other: the rest of the other's load is what does.
    Otherwise the metric is taken to grow by a factor with each step.

    Args:
        below: the smaller value of the axis, and the metric there.
        above: the larger one, likewise.
        limit: lies between the metrics.
    """
    (first, low), (last, high) = below, above
    if low <= 0 or high <= 0:
        return min(max(last * (1 - high / 100), first), last)
    share = math.log(limit / low) / math.log(high / low) if high != low else 0.5
    return first + min(max(share, 0.0), 1.0) * (last - first)


@dataclass(frozen=True)
class Bench:
    """Evaluates claims with other constants; every run goes through the results store, so that nothing is run twice."""

    runs: Fidelity
    means: Means

    def values(self, names: Sequence[str], constants: Mapping[str, float]) -> dict[str, float]:
        """The value of each claim, smooth.

        Args:
            names: ids of claims.
            constants: by name, in their units; all others as they are shipped.

        Raises:
            InputError: an unknown constant, or a claim that has no value with these.
            KeyboardInterrupt: Ctrl-C; everything finished is kept.
        """
        found: dict[str, float] = {}
        for asked, verdicts in self._judge(names, constants):
            faults = [
                Fault("has no value", name, given=verdict.reason)
                for name, verdict in verdicts.items()
                if verdict.value is None
            ]
            if faults:
                raise InputError(faults)
            found |= {name: smooth(verdicts[name], verdicts) for name in asked}
        return {name: found[name] for name in names}

    def answers(self, names: Sequence[str], constants: Mapping[str, float]) -> dict[str, float | None]:
        """The value of each claim as a check says it, steps and all; None where it has none.

        Args:
            names: ids of claims.
            constants: by name, in their units; all others as they are shipped.

        Raises:
            InputError: an unknown constant.
            KeyboardInterrupt: Ctrl-C; everything finished is kept.
        """
        found = {name: verdicts[name].value for asked, verdicts in self._judge(names, constants) for name in asked}
        return {name: found[name] for name in names}

    def _judge(
        self, names: Sequence[str], constants: Mapping[str, float]
    ) -> Iterator[tuple[Collection[str], dict[str, Verdict]]]:
        """Scenario by scenario: which of the claims it has, and its verdicts by name."""
        for scenario, asked in select(*names):
            changed = moved(scenario, constants)
            outcome = finish(points(changed, self.runs, sweep=False, expectations=True), self.means)
            found = judged(changed, outcome.records, outcome.answers, quick=self.runs.quick)
            yield asked, {verdict.expectation.name: verdict for verdict in found}
