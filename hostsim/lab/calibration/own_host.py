"""Calibration of your own host: from a scenario and measurements to an ensemble, predictions and the next measurement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hostsim.campaign.pipeline import ExecutionOptions
from hostsim.engine.record import AxisValues, FloatArray
from hostsim.errors import Fault, InputError
from hostsim.lab.calibration.fixed_point import FixedPoints
from hostsim.lab.calibration.joint import Joint, Waves, claim_values
from hostsim.lab.calibration.measured import expected_at
from hostsim.lab.calibration.observation import observations_of
from hostsim.lab.calibration.prior import Design, Evaluated, priors_of
from hostsim.lab.calibration.summary import QUANTILES
from hostsim.results.expect import At, Expectation
from hostsim.scenario.scenario import Scenario

__all__ = ["LEAST", "Next", "OwnHost", "Predicted", "calibrate_host", "explained", "hosts_within", "prepare"]

SHARES = (0.6, 0.2, 0.2)
"""Shares of the budget for the design over the priors, and for two waves drawn with emulators."""
LEAST = 40
"""Smallest number of hosts that emulators are trained on."""
MOST = 400
LEAST_OF_WAVE = 8


@dataclass(frozen=True)
class Predicted:
    """A quantity that was not measured, on the calibrated hosts: quantiles of 5, 50 and 95 %, in the metric's unit."""

    name: str
    metric: str
    at: AxisValues
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Next:
    """A possible next measurement, and its benefit for the prediction."""

    name: str
    narrows: float
    """Share of the standard deviation of the prediction that the measurement would remove."""


@dataclass(frozen=True)
class OwnHost:
    """A host to be calibrated to its measurements."""

    joint: Joint
    scenario: Scenario
    question: Expectation | None
    """The measure to predict."""
    candidates: tuple[Expectation, ...]
    """Points of the sweep without a measurement, for the measured metrics; none without a prediction."""

    def prediction(self) -> Predicted | None:
        """Prediction of the ensemble for the requested measure; None without one."""
        return None if self.question is None else _predicted(self.question, self.joint.last_wave())

    def predictions(self) -> list[Predicted]:
        """Predictions of the ensemble for points without a measurement."""
        expectations = (*((self.question,) if self.question else ()), *self.candidates)
        wave = self.joint.last_wave()
        return [_predicted(expectation, wave) for expectation in expectations]

    def next_measurements(self) -> list[Next]:
        """Possible next measurements; the one that narrows the prediction most is first.

        Members that agree with all measurements still differ in the prediction. A further measurement removes the part
        of this variance that a linear regression on it explains, less the effect of the measurement's noise, which is
        assumed to be the same share of the value as in earlier measurements. The predicted quantity itself is also a
        candidate.
        """
        if self.question is None:
            return []
        wave = self.joint.last_wave()
        aim = claim_values(wave, self.question.name)
        halves = [observation.half / max(abs(observation.centre), 1e-12) for observation in self.joint.observations]
        noise = float(np.median(halves)) / 2
        expectations = (self.question, *self.candidates)
        shares = [explained(claim_values(wave, expectation.name), aim, noise) for expectation in expectations]
        ranked = [
            Next(expectation.name, 1 - math.sqrt(1 - share))
            for expectation, share in zip(expectations, shares, strict=True)
        ]
        return sorted(ranked, key=lambda entry: -entry.narrows)


def _predicted(expectation: Expectation, wave: Mapping[int, Evaluated]) -> Predicted:
    assert isinstance(expectation.form, At)
    outputs = claim_values(wave, expectation.name)
    low, median, high = (
        np.quantile(outputs[~np.isnan(outputs)], QUANTILES, method="weibull")
        if not np.isnan(outputs).all()
        else (math.nan,) * 3
    )
    return Predicted(
        expectation.name, expectation.form.metric, expectation.form.at, float(low), float(median), float(high)
    )


def explained(outputs: FloatArray, aim: FloatArray, noise: float) -> float:
    """Share of a quantity's variance among hosts that a noisy measurement of another quantity explains.

    Args:
        outputs: values of the quantity to be measured, one for each host.
        aim: values of the other quantity.
        noise: standard deviation of the measurement, as a share of the mean.
    """
    finite = np.isfinite(outputs) & np.isfinite(aim)
    outputs, aim = outputs[finite], aim[finite]
    if len(outputs) < 3 or np.std(outputs) == 0 or np.std(aim) == 0:
        return 0.0
    variance = float(np.var(outputs))
    correlation = float(np.corrcoef(outputs, aim)[0, 1])
    return correlation**2 * variance / (variance + (noise * float(np.mean(outputs))) ** 2)


def prepare(
    scenario: Scenario,
    measured: Sequence[Expectation],
    folder: Path,
    *,
    predicted: tuple[str, AxisValues] | None = None,
    seed: int = 1,
) -> OwnHost:
    """Prepare a calibration to your own host: nothing is run.

    Args:
        scenario: the host with its known values.
        measured: its measurements (`hostsim.lab.calibration.measured.read_measured`), or the scenario's expectations.
        folder: for runs and results.
        predicted: metric to predict, with a value for every axis.
        seed: root seed.

    Raises:
        InputError: no measurement has a width, or the quantity to predict was measured.
    """
    observations = observations_of((scenario.name, expectation) for expectation in measured)
    if not observations:
        allowed = "measurements with --to FILE, or expectations with a band that has a width"
        raise InputError(Fault("has no measurements to calibrate to", scenario.name, allowed=allowed))
    observed = {observation.name for observation in observations}
    question = None if predicted is None else expected_at(*predicted)
    if question is not None and question.name in observed:
        raise InputError(Fault("was measured", "--predict", repr(question.name), "a measure without a measurement"))
    metrics = dict.fromkeys(expectation.form.metric for expectation in measured if isinstance(expectation.form, At))
    taken = observed | {expectation.name for expectation in measured} | ({question.name} if question else set())
    others = [expected_at(metric, point) for metric in metrics for point in _sweep(scenario)] if question else []
    candidates = tuple(other for other in others if other.name not in taken)
    every = (*measured, *candidates, *((question,) if question else ()))
    extended = replace(scenario, expectations=every, searched=())
    names = [expectation.name for expectation in every if expectation.name in observed or expectation not in measured]
    design = Design(priors_of([(extended, names)]), seed)
    joint = Joint(design, FixedPoints(extended, names), tuple(observations), folder)
    return OwnHost(joint, scenario, question, candidates)


def hosts_within(budget_s: float, one_s: float) -> Waves:
    """Sizes of the waves that fit in a budget.

    Args:
        budget_s: processor time.
        one_s: processor time of one host.

    Raises:
        InputError: the budget allows too few hosts.
    """
    count = min(int(budget_s / one_s), MOST)
    if count < LEAST:
        allowed = f"at least {math.ceil(LEAST * one_s)} s: {LEAST} hosts of {one_s:.2g} s each"
        raise InputError(Fault("is too little for this scenario", "--budget", f"{budget_s:.3g} s", allowed))
    first, *others = (max(int(count * share), LEAST_OF_WAVE) for share in SHARES)
    return Waves(first, tuple(others))


def calibrate_host(
    host: OwnHost,
    execution: ExecutionOptions,
    budget: float | Waves,
    report: Callable[[Evaluated], None] | None = None,
) -> None:
    """Calibrate a host with as many hosts as the budget allows, or with given waves.

    Args:
        host: prepared before.
        execution: workers and limits.
        budget: processor time of all runs in seconds, or the waves.
        report: called with each finished host.

    Raises:
        InputError: the budget allows too few hosts, or the folder contains another calibration.
        KeyboardInterrupt: Ctrl-C; finished hosts are kept.
    """
    if isinstance(budget, Waves):
        host.joint.run(budget, execution, report=report)
        return
    host.joint.run(Waves(1, ()), execution, report=report)
    waves = hosts_within(budget, max(host.joint.evaluated()[0].processor_s, 1e-3))
    if not host.joint.run(waves, execution, budget_s=2 * budget, report=report):
        spent = sum(member.processor_s for member in host.joint.evaluated().values())
        allowed = f"more than {spent:.0f} s; finished runs are kept"
        raise InputError(
            Fault(
                "is exceeded by a factor of two, because run times differ between hosts",
                "--budget",
                f"{budget:.3g} s",
                allowed,
            )
        )


def _sweep(scenario: Scenario) -> list[AxisValues]:
    values = itertools.product(*(axis.values for axis in scenario.axes.values()))
    return [dict(zip(scenario.axes, point, strict=True)) for point in values]
