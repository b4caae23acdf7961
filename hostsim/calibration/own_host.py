"""Calibration to one's own host: from a scenario and measurements to a platform file, an ensemble, residuals and the next measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hostsim.calibration.design import Design, Evaluated
from hostsim.calibration.fixed_point import FixedPoints
from hostsim.calibration.joint import WAVE, Joint, Waves
from hostsim.calibration.measured import expected_at
from hostsim.calibration.observation import observations_of
from hostsim.calibration.prior import priors_of
from hostsim.errors import Fault, InputError
from hostsim.expect import At, Expectation
from hostsim.pipeline import ExecutionOptions
from hostsim.record import AxisValues, FloatArray
from hostsim.scenario.scenario import Scenario

__all__ = ["Next", "OwnHost", "Residual", "calibrate_host", "prepare"]

SHARES = (0.6, 0.2, 0.2)
"""Of the budget: the design over the priors, and two waves by the emulators."""
LEAST = 40
"""Hosts at least: fewer teach the emulators nothing."""
MOST = 400
LEVEL = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Residual:
    """A measurement beside the calibrated hosts: 5, 50 and 95 % of the ensemble, in the metric's unit."""

    name: str
    measured: float
    interval: float
    """Half-width of its 95 % interval."""
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Next:
    """A point that may be measured next, and what it would do for the prediction."""

    name: str
    narrows: float
    """Share of the standard deviation of the prediction that the measurement would take away."""


@dataclass(frozen=True)
class OwnHost:
    """A host that is calibrated to its own measurements."""

    joint: Joint
    scenario: Scenario
    measured: tuple[Expectation, ...]
    predicted: Expectation | None
    candidates: tuple[Expectation, ...]
    """Points of the sweep that were not measured, by the metrics that were."""

    def ensemble(self) -> dict[int, dict[str, float]]:
        """The hosts of the last wave by the number of the member: values of constants and inputs by name."""
        shares, design = self.joint.shares(), self.joint.design
        return {number: design.values(shares[number]) for number in self._last()}

    def residuals(self) -> list[Residual]:
        """The measurements beside the ensemble."""
        found = []
        for one in self.measured:
            low, median, high = np.quantile(self._outputs(one.name), LEVEL)
            assert one.band.low is not None
            assert one.band.high is not None
            middle, half = (one.band.low + one.band.high) / 2, (one.band.high - one.band.low) / 2
            found.append(Residual(one.name, middle, half, float(low), float(median), float(high)))
        return found

    def prediction(self) -> tuple[float, float, float] | None:
        """5, 50 and 95 % of what the ensemble predicts; None where nothing is asked for."""
        if self.predicted is None:
            return None
        low, median, high = np.quantile(self._outputs(self.predicted.name), LEVEL)
        return float(low), float(median), float(high)

    def next_measurements(self) -> list[Next]:
        """The points that may be measured next, the one that would narrow the prediction most first.

        Members that agree on everything measured so far still differ in the prediction. A measurement that goes with it among them takes
        away the part of its variance that a straight line explains, less what the measurement's own noise leaves: as large a share of the
        value as that of the measurements so far.
        """
        if self.predicted is None:
            return []
        aim = self._outputs(self.predicted.name)
        halves = [one.half / max(abs(one.centre), 1e-12) for one in self.joint.observations]
        noise = float(np.median(halves)) / 2
        found = []
        for one in self.candidates:
            outputs = self._outputs(one.name)
            explained = _explained(outputs, aim, noise * abs(float(np.mean(outputs))))
            found.append(Next(one.name, 1 - math.sqrt(1 - explained)))
        return sorted(found, key=lambda one: -one.narrows)

    def _last(self) -> list[int]:
        numbers = [number for number, one in self.joint.evaluated().items() if not one.error]
        wave = max(number // WAVE for number in numbers)
        return [number for number in numbers if number // WAVE == wave]

    def _outputs(self, name: str) -> FloatArray:
        members = self.joint.evaluated()
        return np.array([members[number].claims[name] for number in self._last()])


def _explained(outputs: FloatArray, aim: FloatArray, noise: float) -> float:
    """Share of the variance of one number among hosts that a noisy measurement of another one explains."""
    known = np.isfinite(outputs) & np.isfinite(aim)
    if np.count_nonzero(known) < 3 or np.std(outputs[known]) == 0 or np.std(aim[known]) == 0:
        return 0.0
    variance = float(np.var(outputs[known]))
    correlation = float(np.corrcoef(outputs[known], aim[known])[0, 1])
    return correlation**2 * variance / (variance + noise**2)


def prepare(
    scenario: Scenario,
    measured: Sequence[Expectation],
    folder: Path,
    *,
    predicted: tuple[str, AxisValues] | None = None,
    seed: int = 1,
) -> OwnHost:
    """Prepare a calibration to one's own host: nothing is run.

    Args:
        scenario: the host as far as it is known.
        measured: what was measured on it (`hostsim.calibration.measured.read_measured`), or the scenario's own expectations.
        folder: for everything that is run and found.
        predicted: a metric and the values of axes at which it is to be predicted.
        seed: root seed.

    Raises:
        InputError: nothing that was measured has a width.
    """
    wanted = None if predicted is None else expected_at(*predicted)
    metrics = dict.fromkeys(one.form.metric for one in measured if isinstance(one.form, At))
    taken = {one.name for one in measured} | {wanted.name if wanted else ""}
    points = _sweep(scenario)
    others = [expected_at(metric, point) for metric in metrics for point in points]
    candidates = tuple(one for one in others if one.name not in taken) if wanted else ()
    every = (*measured, *candidates, *((wanted,) if wanted and wanted.name not in {m.name for m in measured} else ()))
    asked = replace(scenario, expectations=every, searched=())
    observations = observations_of((scenario.name, one) for one in measured)
    if not observations:
        raise InputError(
            Fault("has nothing to calibrate to", scenario.name, allowed="--to FILE, or expectations with a band")
        )
    names = [one.name for one in every]
    joint = Joint(Design(priors_of([(asked, names)]), seed), (FixedPoints(asked, names),), tuple(observations), folder)
    return OwnHost(joint, scenario, tuple(measured), wanted, candidates)


def calibrate_host(
    host: OwnHost,
    execution: ExecutionOptions,
    budget_s: float,
    tell: Callable[[Evaluated], None] | None = None,
) -> bool:
    """Calibrate a host within a budget of processor time: as many hosts as the first one says that there is time for.

    Args:
        host: that was prepared.
        execution: what runs are made with.
        budget_s: processor time of all runs.
        tell: called with each host that was run.

    Returns:
        True when all waves are there.

    Raises:
        InputError: there is no time for enough hosts.
        KeyboardInterrupt: Ctrl-C; what was run is kept.
    """
    host.joint.run(Waves(1, ()), execution, tell=tell)
    one_s = max(host.joint.evaluated()[0].processor_s, 1e-3)
    count = min(int(budget_s / one_s), MOST)
    if count < LEAST:
        raise InputError(
            Fault(
                "is too little for this scenario",
                "--budget",
                f"{budget_s:.0f} s",
                f"at least {math.ceil(LEAST * one_s)} s: {LEAST} hosts of {one_s:.1f} s each",
            )
        )
    first, *others = (max(int(count * share), 8) for share in SHARES)
    return host.joint.run(Waves(first, tuple(others)), execution, budget_s=2 * budget_s, tell=tell)


def _sweep(scenario: Scenario) -> list[AxisValues]:
    import itertools

    values = itertools.product(*(axis.values for axis in scenario.axes.values()))
    return [dict(zip(scenario.axes, point, strict=True)) for point in values]
