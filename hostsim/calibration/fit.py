"""Calibration by least squares: fits the constants of the cost model to published claims, group by group."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hostsim.calibration.objective import ClaimEvaluator, residual
from hostsim.calibration.target import Calibration, Group
from hostsim.record import FloatArray
from hostsim.scenario.selection import expected_claims
from hostsim.scenario.shipped_data import claims, data_root

__all__ = [
    "ClaimFit",
    "ConstantFit",
    "Evaluation",
    "Fit",
    "Prediction",
    "as_json",
    "calibrate",
    "most_evaluations",
    "predict",
    "refitted_groups",
    "shipped_fits",
    "shipped_predictions",
    "without_experiment",
]

STEP = 0.1
"""Finite-difference step of a constant, as a share of its value."""
SENSITIVE = 0.1
"""Least shift of a claim that identifies a constant, in half-widths of its band for a step of `STEP`."""
FARTHEST = 4.0
"""A constant goes no farther than this many times its start, or this part of it."""
ROUNDS = 4
"""Steps of a group at most."""
DIGITS = 4
"""Significant digits of a constant that is tried."""

Tell = Callable[["Evaluation"], None]


@dataclass(frozen=True)
class Evaluation:
    """Evaluation of the objective: one host with its constants, claims and sum of squares."""

    group: str
    constants: Mapping[str, float]
    values: Mapping[str, float]
    """By claim, in its unit."""
    cost: float
    """Sum of the squares of the residuals, the prior's included."""


@dataclass(frozen=True)
class ConstantFit:
    """Fit of one constant: start, value, interval, and the claims that identify it."""

    name: str
    group: str
    start: float
    value: float
    low: float
    high: float | None
    """From ``low`` to ``high`` no claim of the group moves by more than half of the width of its band; None where none moves at all."""
    held_by: tuple[str, ...]
    """Claims that move by a tenth of that or more when the constant moves by 10 %."""


@dataclass(frozen=True)
class ClaimFit:
    """A claim after the fit: its value and residual."""

    claim: str
    group: str
    value: float
    """In the claim's unit."""
    residual: float
    """In half-widths of the band, from the published value."""


@dataclass(frozen=True)
class Prediction:
    """Leave-one-out prediction of an experiment by a fit to all others."""

    experiment: str
    constants: Mapping[str, float]
    """Those that were fitted without the experiment, by name; all others are as shipped."""
    values: Mapping[str, float | None]
    """By claim of the experiment, in its unit, as a check would say it; None where it has no value."""

    def holds(self, claim: str) -> bool:
        """True when the prediction of a claim lies in its band."""
        value = self.values[claim]
        return value is not None and claims()[claim].band.holds(value)


@dataclass(frozen=True)
class Fit:
    """Result of a calibration: fitted constants, claims and the log of evaluations."""

    constants: tuple[ConstantFit, ...]
    claims: tuple[ClaimFit, ...]
    log: tuple[Evaluation, ...]

    @property
    def values(self) -> dict[str, float]:
        """The constants by name."""
        return {constant.name: constant.value for constant in self.constants}


def calibrate(
    calibration: Calibration,
    evaluator: ClaimEvaluator,
    groups: tuple[str, ...] = (),
    tell: Tell | None = None,
) -> Fit:
    """Calibrate: fit the groups in their order, each with the constants of those before it fixed, and every other constant as shipped.

    Args:
        calibration: what to fit to what.
        evaluator: evaluates claims.
        groups: those to fit; all where none is named.
        tell: called with every evaluation.
    """
    fit = Fit((), (), ())
    for name, group in calibration.groups.items():
        if not groups or name in groups:
            found = _fit_group(name, group, calibration.prior, fit.values, evaluator, tell)
            fit = Fit(fit.constants + found.constants, fit.claims + found.claims, fit.log + found.log)
    return fit


def predict(
    calibration: Calibration, experiment: str, evaluator: ClaimEvaluator, tell: Tell | None = None
) -> Prediction:
    """Leave-one-out prediction: fit without an experiment and predict it. The search begins at the starts: the shipped constants know of the experiment.

    Groups that have no claim of the experiment keep the shipped constants; the experiment is none of their business.

    Args:
        calibration: the whole one.
        experiment: as the table of claims names it.
        evaluator: evaluates claims.
        tell: called with every evaluation of the fit.
    """
    fit = calibrate(refitted_groups(calibration, experiment), evaluator, tell=tell)
    asked = [claim for claim in expected_claims() if claims()[claim].experiment == experiment]
    return Prediction(experiment, fit.values, evaluator.answers(asked, fit.values))


def refitted_groups(calibration: Calibration, experiment: str) -> Calibration:
    """The groups to refit without an experiment: those that have claims of it, without these.

    Args:
        calibration: the whole one.
        experiment: as the table of claims names it.
    """
    groups = without_experiment(calibration, experiment).groups
    touched = {name: group for name, group in groups.items() if group != calibration.groups[name]}
    return calibration.model_copy(update={"groups": touched})


def as_json(fit: Fit) -> dict[str, dict[str, Any]]:
    """A fit and its log by group, as plain values."""
    return {
        group: {
            name: [asdict(entry) for entry in entries if entry.group == group]
            for name, entries in (("constants", fit.constants), ("claims", fit.claims), ("log", fit.log))
        }
        for group in dict.fromkeys(constant.group for constant in fit.constants)
    }


def shipped_fits() -> tuple[ConstantFit, ...]:
    """The fitted constants of the shipped fits, in the order of their files' names."""
    rows = [
        row
        for file in sorted((data_root() / "calibration").glob("*.json"))
        for row in json.loads(file.read_text(encoding="utf-8"))["constants"]
    ]
    return tuple(ConstantFit(**{**row, "held_by": tuple(row["held_by"])}) for row in rows)


def shipped_predictions() -> tuple[Prediction, ...]:
    """The shipped leave-one-out predictions that `hostsim calibrate --leave-out` wrote, in the order of their names."""
    files = sorted((data_root() / "calibration" / "left-out").glob("*.json"))
    return tuple(Prediction(**json.loads(file.read_text(encoding="utf-8"))) for file in files)


def without_experiment(calibration: Calibration, experiment: str) -> Calibration:
    """The calibration without the claims of one experiment; a group that loses all of them is left to its prior.

    Args:
        calibration: the whole one.
        experiment: as the table of claims names it.
    """
    groups = {
        name: group.model_copy(
            update={"claims": tuple(claim for claim in group.claims if claims()[claim].experiment != experiment)}
        )
        for name, group in calibration.groups.items()
    }
    return calibration.model_copy(update={"groups": groups})


def most_evaluations(group: Group) -> int:
    """Most evaluations of a group: at each step the host itself and one with each constant moved; one more where a claim stays out of its band."""
    return ROUNDS * (len(group.constants) + 1) + 1


def _robust_step(share: FloatArray, distances: FloatArray, jac: FloatArray) -> FloatArray:
    """Robust (Huber) step from ``share``: a residual beyond its band counts in proportion and not by its square.

    So claims that cannot be met do not take others out of their bands (Huber, 1964; docs/decisions/0083).
    """
    from scipy.optimize import least_squares

    def ahead(moved: FloatArray) -> FloatArray:
        return distances + jac @ (moved - share)

    found = least_squares(ahead, share, bounds=(1 / FARTHEST, FARTHEST), loss="huber")
    return np.asarray(found.x, dtype=float)


def _fit_group(
    name: str,
    group: Group,
    prior: float,
    held: Mapping[str, float],
    evaluator: ClaimEvaluator,
    tell: Tell | None,
) -> Fit:
    from scipy.optimize import least_squares

    constants = list(group.constants)
    start = np.array([entry.start for entry in group.constants.values()])
    log: list[Evaluation] = []

    def rounded(share: FloatArray) -> dict[str, float]:
        return {
            constant: float(f"{value:.{DIGITS}g}") for constant, value in zip(constants, start * share, strict=True)
        }

    def residuals(share: FloatArray) -> FloatArray:
        values = rounded(share)
        found = evaluator.values(group.claims, {**held, **values}) if group.claims else {}
        distances = [residual(value, claims()[claim]) for claim, value in found.items()]
        pulled = np.log(np.array(list(values.values())) / start) / math.log(prior)
        every = np.array([*distances, *pulled])
        log.append(Evaluation(name, values, found, float(every @ every)))
        if tell is not None:
            tell(log[-1])
        return every

    found = least_squares(
        residuals,
        np.ones(len(constants)),
        jac="2-point",
        diff_step=[STEP] * len(constants),
        bounds=(1 / FARTHEST, FARTHEST),
        max_nfev=ROUNDS,
        xtol=STEP / 10,
        ftol=STEP / 10,
    )
    jac, share = np.asarray(found.jac, dtype=float), found.x
    if np.abs(found.fun[: len(group.claims)]).max(initial=0.0) > 1:
        share = _robust_step(share, np.asarray(found.fun), jac)
        residuals(share)
    values = rounded(share)
    # how far each claim moves, in half-widths, with the logarithm of each constant
    slopes = np.abs(jac[: len(group.claims)] * share)
    fitted = []
    for place, constant in enumerate(constants):
        shifts = dict(zip(group.claims, slopes[:, place].tolist(), strict=True))
        width = 1 / max(shifts.values(), default=0.0) if max(shifts.values(), default=0.0) > 0 else math.inf
        value = values[constant]
        fitted.append(
            ConstantFit(
                constant,
                name,
                group.constants[constant].start,
                value,
                max(value * (1 - width), 0.0),
                value * (1 + width) if math.isfinite(width) else None,
                tuple(claim for claim, shift in shifts.items() if shift * STEP >= SENSITIVE),
            )
        )
    at_end = next(entry for entry in reversed(log) if entry.constants == values)
    ends = tuple(
        ClaimFit(claim, name, value, residual(value, claims()[claim])) for claim, value in at_end.values.items()
    )
    return Fit(tuple(fitted), ends, tuple(log))
