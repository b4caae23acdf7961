"""Prior distributions of constants and inputs, from sources and ranges, before any claim is used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hostsim.engine.record import AxisValues, FloatArray
from hostsim.errors import Fault, InputError
from hostsim.scenario.cost_model import Constant, constants_at, scenario_inputs
from hostsim.scenario.scenario import Scenario

__all__ = ["Prior", "points_of", "priors_of"]

WIDE = 4.0
"""Ratio of the ends of a range above which its prior is log-uniform."""
FARTHEST = 2.5
"""Largest distance of a number from its median, in standard deviations."""


@dataclass(frozen=True)
class Prior:
    """Prior distribution of one number: half of its probability lies below its median and half above, each half uniform up to its end of the range.

    A range over magnitudes is log-uniform. A choice among words is uniform. A median at an end of its range has all of the probability on
    the other side.
    """

    name: str
    """File and path of a constant; for an input that several scenarios share, the path in the first of them."""
    members: tuple[str, ...]
    """All names of the number: that of the constant, or those of the input in all scenarios that share it."""
    value: float
    """The stated value: the ``prior`` beside the number, or else the number."""
    low: float
    high: float
    unit: str
    is_whole: bool = False
    words: tuple[str, ...] = ()
    """Values of a choice; its value is an index into them."""

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high or self.low == self.high:
            raise InputError(
                Fault(
                    "has no prior",
                    self.name,
                    given=f"{self.value:g} in [{self.low:g}, {self.high:g}]",
                    allowed="a value within a range of two different ends",
                )
            )

    @property
    def is_logarithmic(self) -> bool:
        """True for a log-uniform prior."""
        return not self.words and self.low > 0 and self.high / self.low > WIDE

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Quantiles of the prior at shares of its probability.

        Args:
            shares: from 0 to 1.

        Returns:
            Numbers in the constant's unit; integers and choices are rounded.
        """
        if self.words:
            return np.asarray(np.minimum(np.floor(shares * len(self.words)), len(self.words) - 1))
        ends = np.array([self.low, self.value, self.high])
        knots = np.array([0.0, 0.5, 1.0])
        if self.value in (self.low, self.high):
            ends, knots = ends[[0, 2]], knots[[0, 2]]
        if self.is_logarithmic:
            found = np.exp(np.interp(shares, knots, np.log(ends)))
        else:
            found = np.interp(shares, knots, ends)
        return np.asarray(np.rint(found) if self.is_whole else found, dtype=float)

    @property
    def is_choice(self) -> bool:
        """True for a choice among words, or between two integers."""
        return bool(self.words) or (self.is_whole and self.high - self.low == 1)

    @property
    def is_one_sided(self) -> bool:
        """True if the stated value is an end of the range."""
        return not self.words and self.value in (self.low, self.high)

    def at(self, variable: float) -> float:
        """The number at a standard normal variable; at 0 the stated value, which is the median or an end of the range."""
        from scipy.special import ndtr

        share = float(ndtr(variable))
        if self.is_one_sided:
            share = float(2 * ndtr(abs(variable)) - 1)
            share = share if self.value == self.low else 1 - share
        return float(self.quantiles(np.array([share]))[0])

    def variable(self, value: float) -> float:
        """The variable of a number, at most `FARTHEST` from 0; for a choice, the middle of its word's share."""
        from scipy.special import ndtri

        if self.words:
            return float(ndtri((value + 0.5) / len(self.words)))
        ends, knots = [self.low, self.value, self.high], [0.0, 0.5, 1.0]
        if self.is_one_sided:
            ends, knots = [self.low, self.high], [0.0, 1.0]
        if self.is_logarithmic:
            share = float(np.interp(np.log(max(value, self.low)), np.log(ends), knots))
        else:
            share = float(np.interp(value, ends, knots))
        if self.is_one_sided:
            share = 0.5 + (share if self.value == self.low else 1 - share) / 2
        return float(np.clip(ndtri(share), -FARTHEST, FARTHEST))


def priors_of(subjects: Iterable[tuple[Scenario, Collection[str]]]) -> tuple[Prior, ...]:
    """The priors of all constants and inputs behind the points of some expectations.

    An input with the same key, value and range in several scenarios is one number. A constant without a range is known, and has no prior.

    Args:
        subjects: scenarios, each with the names of its expectations.

    Raises:
        InputError: a number with equal ends of its range.
    """
    parts: dict[str, Prior] = {}
    inputs: dict[tuple[object, ...], list[tuple[str, Constant]]] = {}
    for scenario, names in subjects:
        for path, constant in scenario_inputs(scenario).items():
            key = (
                path.rpartition(".")[2],
                constant.written(constant.value),
                constant.ends,
                constant.words,
                constant.prior,
            )
            inputs.setdefault(key, []).append((f"{scenario.name}.{path}", constant))
        for axes in points_of(scenario, names):
            for constant in constants_at(scenario, axes):
                if constant.file and constant.range is not None and constant.name not in parts:
                    parts[constant.name] = _prior([(constant.name, constant)])
    return (*map(_prior, inputs.values()), *parts.values())


def points_of(scenario: Scenario, names: Collection[str]) -> Iterator[AxisValues]:
    """The points of some expectations of a scenario."""
    for expectation in scenario.expectations:
        if expectation.name in names:
            for point in expectation.form.required_points():
                yield {**scenario.first(), **point}


def _prior(group: Sequence[tuple[str, Constant]]) -> Prior:
    name, constant = group[0]
    low, high = constant.ends
    return Prior(
        name,
        tuple(member for member, _ in group),
        constant.value if constant.prior is None else constant.prior,
        low,
        high,
        constant.unit,
        constant.is_whole,
        constant.words,
    )
