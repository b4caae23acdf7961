"""Best fit: the maximum a posteriori host of the published claims, by Gauss-Newton steps over real runs.

Every number is transformed to a standard normal variable by its prior, as for the chains of `hostsim.lab.calibration.posterior`. The fit minimises
the sum of the squared residuals of the claims and of the squared variables: with linear claims, the maximum of the posterior. Derivatives are
differences between runs; those within the noise of a run count as zero. Derivatives need short runs at fixed points only; the hosts of
steps are also measured by the searches of long runs (`FixedPoints.plan`). Between two measured steps, a rank-one update
corrects the derivatives (Schubert, "Modification of a quasi-Newton method for nonlinear equations with a sparse
Jacobian", Math. Comp. 24, 1970).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.optimize import least_squares

from hostsim.campaign.ensemble import own_values
from hostsim.campaign.pipeline import ExecutionOptions, execute_all
from hostsim.campaign.store import Store, code_digest
from hostsim.engine.record import FloatArray
from hostsim.errors import InputError
from hostsim.lab.calibration.fixed_point import FixedPoints
from hostsim.lab.calibration.observation import Observation
from hostsim.lab.calibration.prior import Prior, points_of
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.cost_model import constants_at, with_constants
from hostsim.scenario.plan import Fidelity, Plan, Task
from hostsim.scenario.scenario import Scenario

__all__ = ["NOISE", "BestFit", "Choice", "Fitted", "Runs", "Step", "covariance", "linear_fit", "updated"]

STEP = 0.7
"""Step of a variable for a derivative, in standard deviations of its prior."""
WORST = 10.0
"""Largest residual in half-widths; also the residual of a claim without a value."""
NOISE = 2.0
"""Smallest significant difference, in standard deviations of the noise of a run."""
SHORT = 12
"""Length of the runs that test whether a number has an effect, as a share of a full run."""
MOST_EFFORT = 250 * 10**12
"""This test uses the cheapest points of a scenario up to this total effort, and at least two points."""
LEAST_NOISE = 0.05
"""Smallest noise that is assumed, in half-widths, as a few seeds may agree by chance."""
TINY = 0.01
"""Smallest relative change that counts as an effect."""
_SEEN = ("host_cpu", "guest_cpu", "throughput", "loss")
"""Counters whose change shows an effect."""
WIDTH = 0.3
"""Largest step of a variable, in standard deviations of its prior: claims are linear over about this distance."""
SHRINK = 0.4
"""Factor of the width after a refused step."""
LEAST_WIDTH = 0.1
"""Smallest width of a step."""
LEAST_GAIN = 0.5
"""Decrease of the objective below which the fit ends."""
FAR = 4.0
"""Largest difference for a derivative, in half-widths; above it, the derivative is repeated with a smaller step that
should move the claim by half of this.
"""
Measurement = Literal["trial", "fixed", "searched"]
"""How a host is measured: by shorter runs at the cheapest points, which test whether two hosts differ; at the fixed points; or at these and by
searches for the thresholds that have their own run length.
"""
AT_ONCE = 24
"""Number of hosts of a scenario that run concurrently."""
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
SEEDS_EFFORT = 80 * 10**12
"""Total effort of the runs of a scenario that judge a step. It sets the number of root seeds; derivatives use half of
the seeds.
"""
LEAST_SEEDS, MOST_SEEDS = 2, 16
NOISE_SEEDS = 3
"""Smallest number of root seeds for an estimate of the noise."""


@dataclass(frozen=True)
class Step:
    """A step of the fit: a host with its claims."""

    variables: FloatArray
    """Standard normal variables, one for each prior."""
    values: FloatArray
    """Values of the claims in their units; NaN without a value."""
    residuals: FloatArray
    """Residuals of the claims, in half-widths."""
    objective: float
    """Sum of the squared residuals and the squared variables, without choices among words, as their values are equally
    likely.
    """


@dataclass(frozen=True)
class Choice:
    """A value of a choice among words, with the objective of the best fit that has it."""

    name: str
    word: str
    objective: float
    is_kept: bool


@dataclass(frozen=True)
class Fitted:
    """A best fit with the derivatives at it."""

    steps: tuple[Step, ...]
    """Accepted steps; the last is the best."""
    jacobian: FloatArray
    """Derivatives of the claims with respect to the variables, in units of the claims: one row for each claim, one
    column for each prior.
    """
    noise: FloatArray
    """Standard deviation of the claims from run to run, in their units."""
    choices: tuple[Choice, ...]
    processor_s: float

    @property
    def best(self) -> Step:
        """The step with the least objective."""
        return self.steps[-1]


class Runs:
    """Measures the claims of hosts at fixed points; each host of a scenario is run once and logged.

    Attributes:
        hosts: the scenarios with their claims.
        seeds: number of root seeds that judge a step, of each scenario.
        processor_s: processor time of all runs of the log.
    """

    def __init__(
        self, hosts: Sequence[FixedPoints], priors: Sequence[Prior], log: Path, execution: ExecutionOptions
    ) -> None:
        self.hosts = tuple(hosts)
        self._priors = tuple(priors)
        self._log = log
        self._execution = execution
        self._behind = [_behind(host) for host in self.hosts]
        self.seeds = tuple(map(_seeds, self.hosts))
        self._measures: dict[str, dict[str, float]] = {}
        self.processor_s = 0.0
        if log.exists():
            for line in log.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._measures[entry["key"]] = entry["claims"]
                self.processor_s += entry["processor_s"]

    def values(self, variables: FloatArray) -> dict[str, float]:
        """Values of constants and inputs, by name."""
        values: dict[str, float] = {}
        for prior, variable in zip(self._priors, variables, strict=True):
            values |= dict.fromkeys(prior.members, prior.at(variable))
        return values

    def is_behind(self, index: int, host: int) -> bool:
        """True if a number belongs to a scenario."""
        return any(name in self._behind[host] for name in self._priors[index].members)

    def evaluate(
        self, simulations: Sequence[tuple[FloatArray, int, int]], measurement: Measurement = "fixed"
    ) -> list[dict[str, float]]:
        """The claims of hosts.

        Args:
            simulations: variables, root seed and index of the scenario in `hosts`, for each host.
            measurement: how each host is measured.

        Returns:
            The claims of each host, by id.
        """
        keys = [self._key(variables, seed, host, measurement) for variables, seed, host in simulations]
        missing = {
            key: simulation for key, simulation in zip(keys, simulations, strict=True) if key not in self._measures
        }
        entries = list(missing.items())
        for start in range(0, len(entries), AT_ONCE):
            self._run(entries[start : start + AT_ONCE], measurement)
        return [self._measures[key] for key in keys]

    def _run(self, entries: Sequence[tuple[str, tuple[FloatArray, int, int]]], measurement: Measurement) -> None:
        is_trial, plans = measurement == "trial", []
        for key, (variables, seed, host_index) in entries:
            host, fidelity = self.hosts[host_index], Fidelity(quick=True, seed=seed)
            try:
                scenario = with_constants(host.scenario, own_values(host.scenario, self.values(variables)))
                if is_trial:
                    run = scenario.run
                    size = replace(run.quick, length_ps=run.quick.length_ps // SHORT)
                    scenario = replace(scenario, run=replace(run, quick=size))
                plan = host.plan(scenario, fidelity, is_searched=measurement == "searched")
                plans.append((key, host, scenario, fidelity, _cheapest(plan) if is_trial else plan))
            except InputError:
                self._keep(key, dict.fromkeys(host.names, float("nan")), 0.0)
        with tempfile.TemporaryDirectory(prefix="hostsim-fit-") as folder:
            outcomes = execute_all([plan[-1] for plan in plans], replace(self._execution, store=Store(Path(folder))))
            for (key, host, scenario, fidelity, _), outcome in zip(plans, outcomes, strict=True):
                records = outcome.records
                if is_trial:
                    measures = {
                        f"{name}.{index}": CATALOGUE[name].evaluate(record)
                        for index, record in enumerate(records.values())
                        for name in _SEEN
                        if record.error is None
                    }
                else:
                    measures = host.values(scenario, fidelity, outcome)
                spent = sum(float(record.facts.get("wall_processor_s", 0.0)) for record in records.values())
                self._keep(key, measures, spent)

    def _keep(self, key: str, claims: Mapping[str, float], spent: float) -> None:
        self._measures[key] = dict(claims)
        self.processor_s += spent
        line = json.dumps({"key": key, "claims": dict(claims), "processor_s": round(spent, 3)})
        with self._log.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _key(self, variables: FloatArray, seed: int, host: int, measurement: Measurement) -> str:
        values = self.values(variables)
        own = {name: f"{value:.9g}" for name, value in values.items() if name in self._behind[host]}
        if measurement == "searched" and not self.hosts[host].searched:
            measurement = "fixed"  # the same runs
        text = json.dumps([code_digest(), self.hosts[host].scenario.name, seed, measurement, own], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass
class BestFit:
    """Best fit of all numbers to all observations."""

    runs: Runs
    priors: tuple[Prior, ...]
    observations: tuple[Observation, ...]
    report: Callable[[str], None] = print
    seed: int = 1
    """The first root seed."""
    fixed: frozenset[str] = frozenset()
    """Names of numbers that are never fitted."""

    @property
    def is_free(self) -> BoolArray:
        """False for a choice, which has no derivative, and for numbers that are never fitted."""
        return np.array([not prior.is_choice and prior.name not in self.fixed for prior in self.priors])

    @property
    def _is_moved(self) -> BoolArray:
        """True if the fit may change the number. Integers keep their values, as their steps are not small."""
        return np.asarray(self.is_free & np.array([not prior.is_whole for prior in self.priors]))

    def fit(self, start: FloatArray, *, steps: int = 8) -> Fitted:
        """Fit by Gauss-Newton steps; a step is accepted if it decreases the objective.

        Args:
            start: initial variables.
            steps: largest number of steps.
        """
        noise = self._noise(start)
        at = self._step(start)
        self._report_step(at)
        jacobian = self._derivatives(at.variables, self._effects(start), noise)
        accepted, width = [at], WIDTH
        for _ in range(steps):
            step = self._step(at.variables + self._move(jacobian, at, width))
            self._report_step(step)
            jacobian = updated(jacobian, at, step)
            gained = at.objective - step.objective
            if gained > 0:
                at = step
                accepted.append(at)
            else:
                width *= SHRINK
            if 0 < gained < LEAST_GAIN or width < LEAST_WIDTH:
                break
        choices = tuple(self._choices(at))
        return Fitted(tuple(accepted), jacobian, noise, choices, self.runs.processor_s)

    def _choices(self, at: Step) -> Iterator[Choice]:
        """The objective with each other value of a choice among words: that of the best fit, changed by as much as at fixed points."""
        base = self._step(at.variables, "fixed").objective
        for index, prior in enumerate(self.priors):
            if not prior.is_choice:
                continue
            name = prior.members[0]
            for option in range(round(prior.low), round(prior.high) + 1):
                word = prior.words[option] if prior.words else str(option)
                variables = at.variables.copy()
                variables[index] = prior.variable(option)
                same = self.runs.values(variables)[name] == self.runs.values(at.variables)[name]
                changed = 0.0 if same else self._step(variables, "fixed").objective - base
                yield Choice(prior.name, word, at.objective + changed, is_kept=same)

    def residuals(self, values: FloatArray) -> FloatArray:
        """Residuals of the observations, in half-widths, at most `WORST`."""
        residuals = [observation.residual(value) for observation, value in zip(self.observations, values, strict=True)]
        return np.clip(np.nan_to_num(residuals, nan=WORST), -WORST, WORST)

    def values(self, variables: FloatArray, names: Collection[str]) -> FloatArray:
        """Claims of a host from one run of the scenarios of the requested claims; others are NaN."""
        hosts = [index for index, host in enumerate(self.runs.hosts) if set(host.names) & set(names)]
        return self._values(self.runs.evaluate([(variables, self.seed, host) for host in hosts], "searched"))

    def _scales(self) -> FloatArray:
        return np.array([observation.half for observation in self.observations])

    def _move(self, jacobian: FloatArray, at: Step, width: float) -> FloatArray:
        """The step to the minimum of the linear model, with a limit on the change of each variable."""
        places = np.flatnonzero(np.any(jacobian != 0, axis=0) & self._is_moved)
        slopes = jacobian[:, places]

        def model(move: FloatArray) -> FloatArray:
            return np.concatenate([self.residuals(at.values + slopes @ move), at.variables[places] + move])

        is_one_sided = np.array([self.priors[index].is_one_sided for index in places])
        lowest = np.where(is_one_sided, np.maximum(-width, -at.variables[places] - 1e-9), -width)
        solved = least_squares(model, np.zeros(len(places)), bounds=(lowest, width))
        changes = np.zeros(len(self.priors))
        changes[places] = solved.x
        return changes

    def _values(self, answers: Iterable[Mapping[str, float]]) -> FloatArray:
        claims = {name: value for answer in answers for name, value in answer.items()}
        return np.array([claims.get(observation.name, np.nan) for observation in self.observations])

    def _samples(
        self, variables: FloatArray, counts: Sequence[int], measurement: Measurement = "fixed"
    ) -> list[FloatArray]:
        """Values of each claim, one for each root seed of its scenario."""
        simulations = [
            (variables, self.seed + index, host) for host, count in enumerate(counts) for index in range(count)
        ]
        samples: dict[str, list[float]] = {}
        for answer in self.runs.evaluate(simulations, measurement):
            for name, value in answer.items():
                samples.setdefault(name, []).append(value)
        return [np.array(samples.get(observation.name, [np.nan])) for observation in self.observations]

    def _step(self, variables: FloatArray, measurement: Measurement = "searched") -> Step:
        values = np.array([float(np.mean(sample)) for sample in self._samples(variables, self.runs.seeds, measurement)])
        residuals, free = self.residuals(values), variables[self.is_free]
        return Step(variables, values, residuals, float(residuals @ residuals + free @ free))

    def _noise(self, variables: FloatArray) -> FloatArray:
        """Standard deviation of the claims over seeds."""
        counts = [max(count, NOISE_SEEDS) for count in self.runs.seeds]
        measured = np.array([np.std(sample, ddof=1) for sample in self._samples(variables, counts)])
        return np.asarray(np.maximum(measured, LEAST_NOISE * self._scales()))

    def _effects(self, variables: FloatArray) -> BoolArray:
        """Whether a number has any effect on a scenario: one row for each prior, one column for each scenario."""
        hosts = range(len(self.runs.hosts))
        pairs = [
            (index, host)
            for index, prior in enumerate(self.priors)
            for host in hosts
            if self.is_free[index] and self.runs.is_behind(index, host)
        ]
        base = self.runs.evaluate([(variables, self.seed, host) for host in hosts], "trial")
        answers = self.runs.evaluate(
            [(self._moved(variables, prior_index), self.seed, host) for prior_index, host in pairs], "trial"
        )
        effects = np.zeros((len(self.priors), len(hosts)), dtype=bool)
        for (prior_index, host), answer in zip(pairs, answers, strict=True):
            effects[prior_index, host] = _shows(answer, base[host])
        self.report(
            f"{np.count_nonzero(effects.any(axis=1))} of {len(self.priors)} numbers have an effect, {np.count_nonzero(effects)} of {len(pairs)} pairs of a number and a scenario"
        )
        return effects

    def _moved(self, variables: FloatArray, index: int) -> FloatArray:
        """The variables with one moved towards its median by enough to change the number."""
        moved = variables.copy()
        sign = -1.0 if variables[index] > 0 else 1.0
        name = self.priors[index].members[0]
        for width in (STEP, 2 * STEP, 3 * STEP):
            moved[index] = variables[index] + sign * width
            if self.runs.values(moved)[name] != self.runs.values(variables)[name]:
                break
        return moved

    def _derivatives(self, variables: FloatArray, effect: BoolArray, noise: FloatArray) -> FloatArray:
        """Derivatives of the claims by differences of runs; zero within noise."""
        rows = [
            [row for row, observation in enumerate(self.observations) if observation.name in host.names]
            for host in self.runs.hosts
        ]
        pairs = [(index, int(host)) for index, row in enumerate(effect) for host in np.flatnonzero(row)]
        counts = [count // 2 for count in self.runs.seeds]
        base = np.array([float(np.mean(sample)) for sample in self._samples(variables, counts)])
        derivatives, scales = np.zeros((len(self.observations), len(self.priors))), self._scales()

        def measure(simulations: Sequence[tuple[int, int, FloatArray]]) -> Iterator[tuple[int, int, FloatArray, float]]:
            runs = [(moved, self.seed + seed, host) for _, host, moved in simulations for seed in range(counts[host])]
            answers = iter(self.runs.evaluate(runs))
            for prior_index, host, moved in simulations:
                values = np.mean([self._values([next(answers)]) for _ in range(counts[host])], axis=0)
                difference = values - base
                is_beyond_noise = np.abs(difference) > NOISE * noise / math.sqrt(counts[host])
                derivatives[rows[host], prior_index] = np.where(
                    is_beyond_noise, difference / (moved[prior_index] - variables[prior_index]), 0.0
                )[rows[host]]
                yield prior_index, host, moved, float(np.nanmax(np.abs(difference / scales)[rows[host]], initial=0.0))

        again = []
        for prior_index, host, moved, far in measure([(p, h, self._moved(variables, p)) for p, h in pairs]):
            if far > FAR and not self.priors[prior_index].is_whole:
                nearer = variables + (moved - variables) * FAR / 2 / far
                again.append((prior_index, host, nearer))
        for _ in measure(again):
            pass
        self.report(
            f"derivatives by {len({prior_index for prior_index, _ in pairs})} numbers, {np.count_nonzero(derivatives)} beyond noise; {self.runs.processor_s / 3600:.2f} h"
        )
        return derivatives

    def _report_step(self, step: Step) -> None:
        inside = sum(
            observation.holds(value) for observation, value in zip(self.observations, step.values, strict=True)
        )
        worst = [row for row in np.argsort(-np.abs(step.residuals))[:12] if abs(step.residuals[row]) > 0.5]
        names = ", ".join(f"{self.observations[row].name} {step.residuals[row]:+.1f}" for row in worst)
        self.report(
            f"objective {step.objective:.2f} of {float(step.variables @ step.variables):.2f} by priors, {inside} of {len(self.observations)} in band, "
            f"{self.runs.processor_s / 3600:.2f} h: {names}"
        )


def updated(jacobian: FloatArray, at: Step, step: Step) -> FloatArray:
    """Derivatives after the update by a further step (Schubert's sparse update); zeros remain zero."""
    move, revised = step.variables - at.variables, jacobian.copy()
    for row in range(len(revised)):
        pattern = revised[row] != 0
        length = float(move[pattern] @ move[pattern])
        missed = step.values[row] - at.values[row] - float(revised[row] @ move)
        if length > 1e-6 and np.isfinite(missed):
            revised[row, pattern] += missed * move[pattern] / length
    return revised


def covariance(jacobian: FloatArray, scales: FloatArray) -> FloatArray:
    """Covariance of the variables at the best fit according to the linear model: Laplace's approximation of the
    posterior.

    Args:
        jacobian: derivatives of the claims with respect to the variables.
        scales: standard deviation of each claim about its published value, in the claim's unit.
    """
    weighted = jacobian / scales[:, None]
    return np.asarray(np.linalg.inv(weighted.T @ weighted + np.eye(jacobian.shape[1])))


def linear_fit(fit: BestFit, jacobian: FloatArray, best: Step, kept: BoolArray) -> FloatArray:
    """The variables that best fit some of the claims, by the linear model around a host; starts at the priors'
    medians.
    """

    def model(variables: FloatArray) -> FloatArray:
        values = best.values + jacobian @ (variables - best.variables)  # choices have no derivatives
        return np.concatenate([fit.residuals(values)[kept], variables])

    solution = np.asarray(least_squares(model, np.zeros(len(best.variables))).x)
    return np.where(fit.is_free, solution, best.variables)


def _seeds(host: FixedPoints) -> int:
    """Number of root seeds of a scenario, which is even; scenarios with less effort have more seeds."""
    plan = host.plan(host.scenario, Fidelity(quick=True))
    effort = sum(task.point.effort for task in plan.tasks)
    return min(max(SEEDS_EFFORT // effort // 2 * 2, LEAST_SEEDS), MOST_SEEDS)


def _cheapest(plan: Plan) -> Plan:
    """The part of a plan that tests whether numbers have effects."""
    tasks, spent = sorted(plan.tasks, key=lambda task: task.point.effort), 0
    kept: list[Task] = []
    for task in tasks:
        spent += task.point.effort * SHORT
        if len(kept) >= 2 and spent > MOST_EFFORT:
            break
        kept.append(task)
    return replace(plan, tasks=tuple(kept))


def _shows(answer: Mapping[str, float], base: Mapping[str, float]) -> bool:
    """True if at least a quarter of the points change noticeably, as a single short run may differ by chance."""
    changes: dict[str, float] = {}
    for name, value in base.items():
        _, _, point = name.partition(".")
        then = answer.get(name, np.nan)
        change = abs(then / value - 1) if value else float(then != 0)
        if np.isfinite(change):
            changes[point] = max(changes.get(point, 0.0), change)
    return bool(changes) and float(np.quantile(list(changes.values()), 0.75, method="higher")) > TINY


def _behind(host: FixedPoints) -> frozenset[str]:
    """The names of all numbers used at the points of a scenario's claims."""
    scenario: Scenario = host.scenario
    return frozenset(
        constant.name if constant.file else f"{scenario.name}.{constant.name}"
        for axes in points_of(scenario, host.names)
        for constant in constants_at(scenario, axes)
    )
