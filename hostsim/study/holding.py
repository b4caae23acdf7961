"""What holds each fitted constant: the claims of all experiments that would notice if it were another."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hostsim.scenario.published import claims, data_root
from hostsim.scenario.selection import asked_claims
from hostsim.study.calibrate import HELD, STEP, shipped_fits
from hostsim.study.constants import shipped_constants
from hostsim.study.residual import Bench

__all__ = ["Holding", "fitted", "holding", "shipped_holders", "shipped_holdings"]


@dataclass(frozen=True, slots=True)
class Holding:
    """Which claims of an experiment notice when a fitted constant is a tenth larger and all others stay."""

    experiment: str
    """As the table of claims names it."""
    constants: Mapping[str, float]
    """Those that were moved, by name, with the values from which."""
    moves: Mapping[str, Mapping[str, float]]
    """By constant and claim, in half-widths of its band: where that is a tenth or more, and more than noise."""


def fitted() -> dict[str, float]:
    """The fitted constants by name, as shipped."""
    return {constant.name: constant.value for constant in shipped_constants() if constant.is_fitted}


def holding(bench: Bench, experiment: str) -> Holding:
    """Move each fitted constant by a tenth, and see which claims of an experiment move: those that have a band with two ends.

    Args:
        bench: evaluates claims.
        experiment: as the table of claims names it.

    Raises:
        KeyboardInterrupt: Ctrl-C; everything finished is kept.
    """
    constants = fitted()
    halves = {
        claim.id: (claim.band.high - claim.band.low) / 2
        for claim in (claims()[name] for name in asked_claims())
        if claim.experiment == experiment
        if claim.band.low is not None and claim.band.high is not None and claim.band.high > claim.band.low
    }
    moves: dict[str, dict[str, float]] = {name: {} for name in constants}
    if halves:
        shipped, *moved = bench.judge(
            list(halves), [{}, *({name: value * (1 + STEP)} for name, value in constants.items())]
        )
        for name, host in zip(constants, moved, strict=True):
            for claim, half in halves.items():
                before, after = shipped[claim], host[claim]
                move = after.smooth - before.smooth
                if abs(move) >= HELD * half and abs(move) > math.hypot(before.doubt, after.doubt):
                    moves[name][claim] = round(move / half, 3)
    return Holding(experiment, constants, moves)


def shipped_holdings() -> tuple[Holding, ...]:
    """What `hostsim calibrate --held-by` wrote of the shipped constants, in the order of the experiments' names."""
    files = sorted((data_root() / "calibration" / "held-by").glob("*.json"))
    return tuple(Holding(**json.loads(file.read_text(encoding="utf-8"))) for file in files)


def shipped_holders() -> dict[str, Sequence[str]]:
    """By fitted constant, the claims that hold it: of experiments that were asked, those that notice; of others, what the fit of its group says."""
    asked = shipped_holdings()
    experiments = {found.experiment for found in asked}
    holders: dict[str, list[str]] = {
        name: [claim for found in asked for claim in found.moves.get(name, {})] for name in fitted()
    }
    for fit in shipped_fits():
        holders[fit.name] += [claim for claim in fit.held_by if claims()[claim].experiment not in experiments]
    return dict(holders)
