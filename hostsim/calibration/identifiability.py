"""Identifiability of the fitted constants: the claims of all experiments that are sensitive to each of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hostsim.analysis.cost_model import shipped_constants
from hostsim.calibration.fit import SENSITIVE, STEP, shipped_fits
from hostsim.calibration.objective import ClaimEvaluator
from hostsim.scenario.selection import expected_claims
from hostsim.scenario.shipped_data import claims, data_root

__all__ = [
    "Identifiability",
    "experiments_of",
    "fitted_constants",
    "identifying_claims",
    "measure_identifiability",
    "shipped_identifiability",
]


@dataclass(frozen=True)
class Identifiability:
    """Identifiability by an experiment: the shift of its claims when one fitted constant is a tenth larger and all others stay."""

    experiment: str
    """As the table of claims names it."""
    constants: Mapping[str, float]
    """Those that were moved, by name, with the values from which."""
    moves: Mapping[str, Mapping[str, float]]
    """Shifts by constant and claim, in half-widths of its band: those of a tenth or more that exceed noise."""


def fitted_constants() -> dict[str, float]:
    """The fitted constants by name, as shipped."""
    return {constant.name: constant.value for constant in shipped_constants() if constant.is_fitted}


def measure_identifiability(evaluator: ClaimEvaluator, experiment: str) -> Identifiability:
    """Measure the identifiability of the fitted constants by an experiment: raise each by a tenth and take the shifts of claims whose band has two ends.

    Args:
        evaluator: evaluates claims.
        experiment: as the table of claims names it.

    Raises:
        KeyboardInterrupt: Ctrl-C; everything finished is kept.
    """
    constants = fitted_constants()
    halves = {
        claim.id: (claim.band.high - claim.band.low) / 2
        for claim in (claims()[name] for name in expected_claims())
        if claim.experiment == experiment
        if claim.band.low is not None and claim.band.high is not None and claim.band.high > claim.band.low
    }
    moves: dict[str, dict[str, float]] = {name: {} for name in constants}
    if halves:
        shipped, *moved = evaluator.evaluate(
            list(halves), [{}, *({name: value * (1 + STEP)} for name, value in constants.items())]
        )
        for name, host in zip(constants, moved, strict=True):
            for claim, half in halves.items():
                before, after = shipped[claim], host[claim]
                shift = after.smooth - before.smooth
                if abs(shift) >= SENSITIVE * half and abs(shift) > math.hypot(before.noise, after.noise):
                    moves[name][claim] = round(shift / half, 3)
    return Identifiability(experiment, constants, moves)


def shipped_identifiability() -> tuple[Identifiability, ...]:
    """The shipped identifiability results that `hostsim calibrate --held-by` wrote, in the order of the experiments' names."""
    files = sorted((data_root() / "calibration" / "held-by").glob("*.json"))
    return tuple(Identifiability(**json.loads(file.read_text(encoding="utf-8"))) for file in files)


def identifying_claims() -> dict[str, Sequence[str]]:
    """The claims that identify each fitted constant: from the shipped identifiability results, and from the fit of its group for experiments that have none."""
    asked = shipped_identifiability()
    experiments = {found.experiment for found in asked}
    sensitive: dict[str, list[str]] = {
        name: [claim for found in asked for claim in found.moves.get(name, {})] for name in fitted_constants()
    }
    for fit in shipped_fits():
        sensitive[fit.name] += [claim for claim in fit.held_by if claims()[claim].experiment not in experiments]
    return dict(sensitive)


def experiments_of(claim_ids: Iterable[str]) -> tuple[str, ...]:
    """The experiments of claims, each once."""
    known = claims()
    return tuple(dict.fromkeys(known[name].experiment for name in claim_ids))
