"""Question and result of a sensitivity analysis: the constants to vary, and the sensitivity to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hostsim.analysis.constant import Constant
from hostsim.analysis.cost_model import constants_at
from hostsim.analysis.sampling import ElementaryEffect, SobolIndices
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.record import AxisValues
from hostsim.scenario.scenario import Scenario

__all__ = ["FactorSensitivity", "SensitivityResult", "variable_constants"]


@dataclass(frozen=True)
class FactorSensitivity:
    """Sensitivity of the metric to one constant."""

    constant: Constant
    effect: ElementaryEffect
    share: SobolIndices | None = None
    """None where the screening found the constant not influential."""
    at_ends: tuple[float, float] | None = None
    """The metric with this constant alone at its low and its high end."""


@dataclass(frozen=True)
class SensitivityResult:
    """Result of a sensitivity analysis, the most influential constant first."""

    metric: str
    at: AxisValues
    base: float
    """The metric with every constant at its value."""
    factors: tuple[FactorSensitivity, ...]

    @property
    def influential(self) -> list[FactorSensitivity]:
        """The influential constants: those with Sobol indices."""
        return [factor for factor in self.factors if factor.share is not None]


def variable_constants(scenario: Scenario, at: AxisValues, only: Sequence[str] = ()) -> tuple[Constant, ...]:
    """The constants behind a point that can vary, choices of words apart: all, or those whose names match a pattern.

    Raises:
        InputError: there is none, or a pattern matches none.
    """
    known = {c.name: c for c in constants_at(scenario, at) if c.ends[0] < c.ends[1] and not c.words}
    if not known:
        raise InputError(Fault("has no constant that could be varied", given=scenario.name))
    if not only:
        return tuple(known.values())
    faults = [
        Fault(
            "matches no constant",
            "--only",
            repr(pattern),
            "names or patterns of " + ", ".join(known),
            nearest_name(pattern, list(known)),
        )
        for pattern in only
        if not any(fnmatchcase(name, pattern) for name in known)
    ]
    if faults:
        raise InputError(faults)
    return tuple(c for name, c in known.items() if any(fnmatchcase(name, pattern) for pattern in only))
