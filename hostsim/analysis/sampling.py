"""Samples and estimators of global sensitivity analysis: Morris screening of many constants, Sobol indices of few.

SALib does both (Herman and Usher, "SALib: an open-source Python library for sensitivity analysis", 2017). Every constant is uniform over its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hostsim.record import FloatArray

__all__ = [
    "ElementaryEffect",
    "Ends",
    "SobolIndices",
    "elementary_effects",
    "morris_sample",
    "sobol_indices",
    "sobol_sample",
]

Ends = Sequence[tuple[float, float]]
"""Low and high end of every constant."""
_LEVELS = 4


@dataclass(frozen=True)
class ElementaryEffect:
    """Elementary effect of one constant over its whole interval (Morris), in the metric's unit."""

    mean: float
    """Mean of the absolute effects (mu star)."""
    half: float
    """Half-width of its 95 % interval."""
    spread: float
    """Standard deviation of the effects (sigma): as large as the mean where the effect is bent or depends on other constants."""


@dataclass(frozen=True)
class SobolIndices:
    """Sobol indices of one constant: its share of the metric's variance, with half-widths of 95 % intervals."""

    first: float
    """First-order index: by itself."""
    first_half: float
    total: float
    """Total index: with its interactions."""
    total_half: float


def morris_sample(ends: Ends, trajectories: int, seed: int) -> FloatArray:
    """Sample for Morris' method, a row for each run: every constant changes once on each trajectory."""
    from SALib.sample.morris import sample

    return np.asarray(sample(_problem(ends), trajectories, num_levels=_LEVELS, seed=seed), dtype=np.float64)


def elementary_effects(ends: Ends, rows: FloatArray, outcomes: Sequence[float], seed: int) -> list[ElementaryEffect]:
    """The elementary effect of each constant (Morris), from the outcomes of the rows that `morris_sample` made."""
    from SALib.analyze.morris import analyze

    found = analyze(_problem(ends), rows, np.asarray(outcomes), num_levels=_LEVELS, seed=seed)
    columns = (np.asarray(found[name], dtype=np.float64) for name in ("mu_star", "mu_star_conf", "sigma"))
    return [ElementaryEffect(*map(float, row)) for row in zip(*columns, strict=True)]


def sobol_sample(ends: Ends, samples: int, seed: int) -> FloatArray:
    """Sample for Sobol's method, a row for each run: samples times the number of constants and two more.

    Args:
        ends: of every constant.
        samples: a power of 2.
        seed: of the sequence's scrambling.
    """
    from SALib.sample.sobol import sample

    return np.asarray(sample(_problem(ends), samples, calc_second_order=False, seed=seed), dtype=np.float64)


def sobol_indices(ends: Ends, outcomes: Sequence[float], seed: int) -> list[SobolIndices]:
    """The Sobol indices of each constant, from the outcomes of the rows that `sobol_sample` made."""
    from SALib.analyze.sobol import analyze

    found = analyze(_problem(ends), np.asarray(outcomes), calc_second_order=False, seed=seed)
    columns = (found[name] for name in ("S1", "S1_conf", "ST", "ST_conf"))
    return [SobolIndices(*map(float, row)) for row in zip(*columns, strict=True)]


def _problem(ends: Ends) -> dict[str, Any]:
    return {
        "num_vars": len(ends),
        "names": [str(number) for number in range(len(ends))],
        "bounds": [list(pair) for pair in ends],
    }
