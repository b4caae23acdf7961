"""The shipped calibration: the best fit to all independent published claims, and the resulting constants."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from hostsim.campaign.ensemble import Ensemble
from hostsim.campaign.interim_analysis import plan_with_looks
from hostsim.campaign.pipeline import ExecutionOptions
from hostsim.config.files import display_name, write_whole
from hostsim.engine.record import FloatArray
from hostsim.errors import InputError
from hostsim.lab.calibration.best_fit import BestFit, Choice, Fitted, Runs, covariance, linear_fit
from hostsim.lab.calibration.fixed_point import FixedPoints
from hostsim.lab.calibration.observation import Observation, observations_of
from hostsim.lab.calibration.posterior import BAND_SD
from hostsim.lab.calibration.prior import Design, Subjects, priors_of
from hostsim.lab.calibration.summary import QUANTILES
from hostsim.scenario.cost_model import scenario_inputs, shipped_constants
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import select
from hostsim.scenario.shipped_data import claims, data_root, shipped
from hostsim.scenario.yaml.source_tree import Tree

__all__ = [
    "LEAST_MOVED",
    "FittedClaim",
    "FittedNumber",
    "LeftOut",
    "ShippedFit",
    "can_be",
    "draw_from_priors",
    "draw_hosts",
    "factor_spreads",
    "prepare_shipped",
    "shipped_fit",
]


LEAST_MOVED = 0.1
"""Smallest change by which a number counts as moved by the fit, in standard deviations of its prior."""


def read_fixed() -> frozenset[str]:
    """Names of the numbers that the fit leaves alone; the file has the reasons."""
    file = data_root() / "calibration" / "fitted-inputs.yaml"
    return frozenset(Tree.of(file, display_name(file)).data["fixed"])


def draw_from_priors(subjects: Subjects, count: int, seed: int = 1) -> list[dict[str, float]]:
    """Draw independent hosts from the priors; an impossible host is drawn again.

    Args:
        subjects: scenarios with the names of their expectations.
        count: of the hosts.
        seed: of the draws.
    """
    design, random = Design(priors_of(subjects)), np.random.default_rng(seed)
    hosts: list[dict[str, float]] = []
    while len(hosts) < count:
        values = design.values(random.random(len(design.priors)))
        if can_be([scenario for scenario, _ in subjects], Ensemble((values,))):
            hosts.append(values)
    return hosts


def can_be(scenarios: Sequence[Scenario], ensemble: Ensemble) -> bool:
    """True if the first member is a possible host at every point of some scenarios."""
    try:
        for scenario in scenarios:
            plan_with_looks(scenario, Fidelity(replications=1, ensemble=ensemble))
    except InputError:
        return False
    return True


Z90 = 1.6449
"""Half-width of a 90 % interval, in standard deviations."""
FACTORS = ".costs.generations."
"""Part of the names of processor factors, which are never fitted: claims cannot separate a processor from its software."""
COST_UNIT = "cycles"
"""Unit of the constants that have the common factor: costs of software."""
NEAR = 0.05
"""Relative change of a cost by which its slope is measured."""
GRID = 61
"""Number of grid points for the standard deviation of the common factor."""
DRAWS = 1000
"""Number of hosts drawn for a quantile; they are not run."""


@dataclass(frozen=True)
class FittedNumber:
    """A constant or input at the best fit."""

    name: str
    is_free: bool
    """False for a choice, and for a number that is left out of the fit."""
    members: tuple[str, ...]
    """All its names (`hostsim.lab.calibration.prior.Prior.members`)."""
    unit: str
    stated: float
    """Value according to its source."""
    prior: tuple[float, float, float]
    """Quantiles of 5, 50 and 95 %."""
    value: float
    """Value at the best fit."""
    posterior: tuple[float, float, float]
    moved: float
    """Distance from the stated value, in standard deviations of the prior."""
    kept: float
    """Standard deviation of the posterior relative to that of the prior; 1 if no claim depends on the number."""
    held_by: tuple[str, ...]
    """The claims that depend most on the number, with the change in half-widths."""


@dataclass(frozen=True)
class FittedClaim:
    """A claim at the best fit, in its unit."""

    name: str
    experiment: str
    published: float
    half: float
    value: float
    residual: float
    interval: tuple[float, float]
    """90 % interval from the uncertainty of constants and the noise of a run."""
    noise: float
    """Standard deviation of a run."""


@dataclass(frozen=True)
class LeftOut:
    """Prediction of an observation from the posterior of all other experiments."""

    name: str
    experiment: str
    centre: float
    half: float
    low: float
    """The interval, in the observation's unit."""
    median: float
    high: float
    hosts: tuple[float, float]
    """The interval from hosts and noise only, without the discrepancy, as for an ensemble."""
    prior: tuple[float, float]
    """The interval by hosts of the prior."""


@dataclass(frozen=True)
class ShippedFit:
    """The best fit to the published claims in numbers."""

    processor_h: float
    objectives: tuple[float, ...]
    """Objective after each step; the first is that of the initial host."""
    effective: float
    """Effective number of parameters."""
    numbers: tuple[FittedNumber, ...]
    claims: tuple[FittedClaim, ...]
    left_out: tuple[LeftOut, ...]
    choices: tuple[Choice, ...]
    discrepancies: Mapping[str, float]
    """Relative error of the model by kind of claim, from predictions of left-out experiments."""
    factor: tuple[float, float, float]
    """Standard deviation of the common factor of all costs: quantiles of 5, 50 and 95 % (`factor_spreads`)."""

    def write(self, folder: Path) -> Path:
        """Write the fit to ``fit.json``."""
        text = json.dumps(asdict(self), indent=1, allow_nan=False)
        return write_whole(folder / "fit.json", (text + "\n").encode())


def prepare_shipped(
    folder: Path,
    execution: ExecutionOptions,
    *,
    experiments: Collection[str] = (),
    seed: int = 1,
    report: Callable[[str], None] = print,
) -> tuple[BestFit, FloatArray]:
    """Prepare the best fit to the published claims: nothing is run.

    Args:
        folder: for the log of all runs.
        execution: workers and limits.
        experiments: names of experiments with the claims to fit; all by default.
        seed: first root seed.
        report: gets a line on each step.

    Returns:
        The fit, and the initial variables of the shipped host.
    """
    forms = {entry.name: entry for name in shipped() for entry in load(name).expectations if entry.is_claim}
    # rules are true by construction, and ratios of two claims follow from claims that are themselves fitted
    names = [name for name, entry in forms.items() if entry.kind != "rule" and not entry.form.others()]
    entries = [
        (claims()[entry.name].experiment, entry)
        for scenario, own in select(*names)
        for entry in scenario.expectations
        if entry.name in own and (not experiments or claims()[entry.name].experiment in experiments)
    ]
    observations = observations_of(entries)
    observed = {observation.name for observation in observations}
    subjects = [(scenario, own & observed) for scenario, own in select(*names) if own & observed]
    priors = priors_of(subjects)
    constants = {constant.name: constant for constant in shipped_constants()} | {
        f"{scenario.name}.{path}": constant
        for scenario, _ in subjects
        for path, constant in scenario_inputs(scenario).items()
    }
    hosts = [FixedPoints(scenario, own) for scenario, own in subjects]
    folder.mkdir(parents=True, exist_ok=True)
    runs = Runs(hosts, priors, folder / "log.jsonl", execution)
    start = np.array([prior.variable(constants[prior.name].value) for prior in priors])
    fixed = frozenset(prior.name for prior in priors if FACTORS in prior.name) | read_fixed()
    return BestFit(runs, priors, tuple(observations), report, seed, fixed), start


def shipped_fit(fit: BestFit, fitted: Fitted) -> ShippedFit:
    """Results of a best fit for numbers and claims; each left-out experiment is predicted from the others with one
    run.
    """
    best, jacobian = fitted.best, fitted.jacobian
    scales = np.array([observation.half for observation in fit.observations])
    spread = covariance(jacobian, scales)
    left = _left_out(fit, fitted)
    sizes, chances = factor_spreads(fit, fitted, [entry for entry, _, _ in left])
    return ShippedFit(
        fitted.processor_s / 3600,
        tuple(step.objective for step in fitted.steps),
        float(len(spread) - np.trace(spread)),
        tuple(_numbers(fit, best.variables, spread, jacobian / scales[:, None])),
        tuple(_claims(fit, fitted, spread)),
        tuple(entry for entry, _, _ in left),
        fitted.choices,
        {
            kind: _discrepancy([row for row in left if claims()[row[0].name].kind == kind])
            for kind in ("scale", "ratio")
        },
        _three(np.interp(QUANTILES, np.cumsum(chances), sizes)),
    )


def draw_hosts(
    fit: BestFit, fitted: Fitted, left_out: Sequence[LeftOut], count: int, seed: int = 1
) -> dict[int, dict[str, float]]:
    """Draw an ensemble around the best fit: values of constants and inputs by name, for each member.

    A choice among words is drawn with weights from the objective of each value. An impossible host is drawn again. All
    costs of a member are multiplied by a common factor, which represents the error of the model: results that costs
    limit vary with it, and those that a wire or a timer limits do not.

    Args:
        fit: the fit.
        fitted: its result.
        left_out: predictions of left-out experiments, which constrain the standard deviation of the factor
            (`factor_spreads`).
        count: of the hosts.
        seed: of the draws.
    """
    random = np.random.default_rng(seed)
    scales = np.array([observation.half for observation in fit.observations])
    root = np.linalg.cholesky(covariance(fitted.jacobian, scales))
    costs = [name for prior in fit.priors if prior.unit == COST_UNIT for name in prior.members]
    sizes, chances = factor_spreads(fit, fitted, left_out)
    hosts: dict[int, dict[str, float]] = {}
    while len(hosts) < count:
        variables = fitted.best.variables + root @ random.standard_normal(len(root))
        for index, prior in enumerate(fit.priors):
            if own := [choice for choice in fitted.choices if choice.name == prior.name]:
                weights = np.exp(-0.5 * np.array([step.objective - fitted.best.objective for step in own]))
                word = round(prior.low) + int(random.choice(len(own), p=weights / weights.sum()))
                variables[index] = prior.variable(word)
        factor = math.exp(random.choice(sizes, p=chances) * random.standard_normal())
        values = fit.runs.values(variables)
        values |= {name: factor * values[name] for name in costs}
        if can_be([host.scenario for host in fit.runs.hosts], Ensemble((values,))):
            hosts[len(hosts)] = values
    return hosts


def factor_spreads(fit: BestFit, fitted: Fitted, left_out: Sequence[LeftOut]) -> tuple[FloatArray, FloatArray]:
    """Posterior of the standard deviation of the common factor of all costs, on a grid, as logarithms.

    The prior is half-normal, with the median spread of the priors of costs as its scale. The likelihood is that of the errors of left-out
    claims, each of which depends on the factor through its elasticity: a value that a wire or a timer limits has no
    information about costs. The single most likely value would be too certain, as a dozen claims hardly constrain it.

    Args:
        fit: the fit.
        fitted: its result.
        left_out: predictions of left-out experiments.

    Returns:
        The standard deviations, and the probability of each.
    """
    best, own = fitted.best, [index for index, prior in enumerate(fit.priors) if prior.unit == COST_UNIT]
    slopes, spreads = np.zeros(len(fit.priors)), []
    for index in own:
        prior, value = fit.priors[index], fit.priors[index].at(best.variables[index])
        ends = [prior.variable(value * math.exp(step)) for step in (-NEAR, NEAR)]
        slopes[index] = (ends[1] - ends[0]) / (2 * NEAR)
        low, high = prior.quantiles(np.array([QUANTILES[0], QUANTILES[-1]]))
        spreads.append(math.log(high / low) / (2 * Z90))
    scales = np.linspace(0.0, 3.0, GRID)
    sizes, unlikely = scales * float(np.median(spreads)), scales**2
    by_name = {entry.name: entry for entry in left_out}
    for row, observation in enumerate(fit.observations):
        entry = by_name.get(observation.name)
        if entry is None or not best.values[row] or not entry.median:
            continue
        elasticity = fitted.jacobian[row] @ slopes / best.values[row]
        published = observation.half / BAND_SD / abs(entry.median)
        width = (entry.hosts[1] - entry.hosts[0]) / (2 * Z90 * abs(entry.median))
        total = min(width, 2.0) ** 2 + published**2 + (elasticity * sizes) ** 2
        unlikely += np.log(total) + np.clip(_error(observation, entry.median), -2.0, 2.0) ** 2 / total
    chances = np.exp(-0.5 * (unlikely - unlikely.min()))
    return sizes, chances / chances.sum()


def _numbers(fit: BestFit, at: FloatArray, spread: FloatArray, weighted: FloatArray) -> list[FittedNumber]:
    random, numbers = np.random.default_rng(1), []
    for index, prior in enumerate(fit.priors):
        sd = math.sqrt(spread[index, index])
        before = prior.quantiles(np.array(QUANTILES))
        drawn = [prior.at(variable) for variable in at[index] + sd * random.standard_normal(DRAWS)]
        after = np.quantile(drawn, QUANTILES)
        order = [row for row in np.argsort(-np.abs(weighted[:, index]))[:3] if abs(weighted[row, index]) > 0.1]
        names = tuple(fit.observations[row].name for row in order)
        numbers.append(
            FittedNumber(
                prior.name,
                bool(fit.is_free[index]),
                prior.members,
                prior.unit,
                prior.value,
                _three(before),
                prior.at(at[index]),
                _three(after),
                float(at[index]) if fit.is_free[index] else 0.0,
                sd,
                names,
            )
        )
    return numbers


def _claims(fit: BestFit, fitted: Fitted, spread: FloatArray) -> list[FittedClaim]:
    best, claims = fitted.best, []
    for row, observation in enumerate(fit.observations):
        slope = fitted.jacobian[row]
        wide = math.hypot(math.sqrt(float(slope @ spread @ slope)), fitted.noise[row])
        ends = _ends(observation, float(best.values[row]), wide)
        value, noise = float(best.values[row]), float(fitted.noise[row])
        claims.append(
            FittedClaim(
                observation.name,
                observation.experiment,
                observation.centre,
                observation.half,
                value,
                float(best.residuals[row]),
                ends,
                noise,
            )
        )
    return [claim for claim in claims if math.isfinite(claim.value)]


def _left_out(fit: BestFit, fitted: Fitted) -> list[tuple[LeftOut, float, float]]:
    """Prediction of each claim from the other experiments, with its error and its standard deviation as shares of the
    value.
    """
    best, jacobian = fitted.best, fitted.jacobian
    scales = np.array([observation.half for observation in fit.observations])
    rows: list[tuple[Observation, float, float, float]] = []
    for name in dict.fromkeys(observation.experiment for observation in fit.observations):
        others = np.array([observation.experiment != name for observation in fit.observations])
        at = linear_fit(fit, jacobian, best, others)
        spread = covariance(jacobian[others], scales[others])
        own = [row for row, observation in enumerate(fit.observations) if observation.experiment == name]
        values = fit.values(at, {fit.observations[row].name for row in own})
        for row in own:
            slope = jacobian[row]
            wide = math.hypot(math.sqrt(float(slope @ spread @ slope)), fitted.noise[row])
            before = math.hypot(float(np.linalg.norm(slope)), fitted.noise[row])
            if math.isfinite(values[row]) and math.isfinite(wide):
                rows.append((fit.observations[row], float(values[row]), wide, before))
    errors = [(observed, _error(observed, value), wide / max(abs(value), 1e-9)) for observed, value, wide, _ in rows]
    half_widths = {
        kind: _discrepancy([row for row in errors if claims()[row[0].name].kind == kind]) for kind in ("scale", "ratio")
    }
    reported = []
    for (observed, value, wide, before), (_, error, share) in zip(rows, errors, strict=True):
        more = half_widths.get(claims()[observed.name].kind, half_widths["ratio"]) * abs(value)
        low, high = _ends(observed, value, math.hypot(wide, more))
        prior = _ends(observed, value, before)
        reported.append(
            (
                LeftOut(
                    observed.name,
                    observed.experiment,
                    observed.centre,
                    observed.half,
                    low,
                    value,
                    high,
                    _ends(observed, value, wide),
                    prior,
                ),
                error,
                share,
            )
        )
    return reported


def _error(observation: Observation, value: float) -> float:
    """Relative error of a prediction: distance from the published value, or from the nearest end of the band if it is
    outside.
    """
    if observation.is_aimed:
        return (value - observation.centre) / max(abs(value), 1e-9)
    low, high = observation.ends
    return (value - min(max(value, low), high)) / max(abs(value), 1e-9)


def _discrepancy(rows: Sequence[tuple[Any, float, float]]) -> float:
    """Relative error of the model: the additional standard deviation that makes the prediction errors most likely."""
    if not rows:
        return 0.0
    errors, spreads = (np.clip([row[column] for row in rows], -2.0, 2.0) for column in (1, 2))

    def unlikely(size: float) -> float:
        total = spreads**2 + size**2
        return float(np.sum(np.log(total) + errors**2 / total))

    return float(minimize_scalar(unlikely, bounds=(1e-4, 1.0), method="bounded").x)


def _ends(observation: Observation, value: float, wide: float) -> tuple[float, float]:
    """The 90 % interval; that of a positive quantity is multiplicative, so that it stays positive."""
    if value > 0 and observation.centre > 0:
        factor = math.exp(min(Z90 * wide / value, 5.0))
        return value / factor, value * factor
    return value - Z90 * wide, value + Z90 * wide


def _three(values: FloatArray) -> tuple[float, float, float]:
    low, median, high = map(float, values)
    return low, median, high
