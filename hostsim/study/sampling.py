"""Which values constants are given, and what the outcomes say of each: Morris to screen many, Sobol to share the variance out among few.

SALib does both (Herman and Usher, "SALib: an open-source Python library for sensitivity analysis", 2017). Every constant is uniform over its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Effect", "Ends", "Share", "effects", "screening", "shares", "variation"]

Ends = Sequence[tuple[float, float]]
"""Low and high end of every constant."""
_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Effect:
    """What moving one constant over its whole interval does, the others being anywhere (Morris' elementary effects), in the metric's unit."""

    mean: float
    """Mean of the absolute effects (mu star)."""
    half: float
    """Half-width of its 95 % interval."""
    spread: float
    """Standard deviation of the effects (sigma): as large as the mean where the effect is bent or depends on other constants."""


@dataclass(frozen=True, slots=True)
class Share:
    """Share of the metric's variance that one constant has (Sobol's indices), with half-widths of 95 % intervals."""

    first: float
    """By itself."""
    first_half: float
    total: float
    """Together with others as well."""
    total_half: float


def screening(ends: Ends, trajectories: int, seed: int) -> NDArray[np.float64]:
    """Values for Morris' method, a row for each run: on each trajectory every constant moves once."""
    from SALib.sample.morris import sample

    return np.asarray(sample(_problem(ends), trajectories, num_levels=_LEVELS, seed=seed), dtype=np.float64)


def effects(ends: Ends, rows: NDArray[np.float64], outcomes: Sequence[float], seed: int) -> list[Effect]:
    """The effect of each constant, from the outcomes of the rows that `screening` made."""
    from SALib.analyze.morris import analyze

    found = analyze(_problem(ends), rows, np.asarray(outcomes), num_levels=_LEVELS, seed=seed)
    columns = (np.asarray(found[name], dtype=np.float64) for name in ("mu_star", "mu_star_conf", "sigma"))
    return [Effect(*map(float, row)) for row in zip(*columns, strict=True)]


def variation(ends: Ends, samples: int, seed: int) -> NDArray[np.float64]:
    """Values for Sobol's method, a row for each run: samples times the number of constants and two more.

    Args:
        ends: of every constant.
        samples: a power of 2.
        seed: of the sequence's scrambling.
    """
    from SALib.sample.sobol import sample

    return np.asarray(sample(_problem(ends), samples, calc_second_order=False, seed=seed), dtype=np.float64)


def shares(ends: Ends, outcomes: Sequence[float], seed: int) -> list[Share]:
    """The share of each constant, from the outcomes of the rows that `variation` made."""
    from SALib.analyze.sobol import analyze

    found = analyze(_problem(ends), np.asarray(outcomes), calc_second_order=False, seed=seed)
    columns = (found[name] for name in ("S1", "S1_conf", "ST", "ST_conf"))
    return [Share(*map(float, row)) for row in zip(*columns, strict=True)]


def _problem(ends: Ends) -> dict[str, Any]:
    return {
        "num_vars": len(ends),
        "names": [str(number) for number in range(len(ends))],
        "bounds": [list(pair) for pair in ends],
    }
