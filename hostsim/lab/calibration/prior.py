"""Prior distributions of the constants and inputs: what facts and ranges say of a number before any claim is asked."""

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
"""A range whose ends differ by more than this factor is one of magnitudes: its prior is even in the logarithm."""
FARTHEST = 2.5
"""Standard deviations from its median of a number at an end of its range."""


@dataclass(frozen=True)
class Prior:
    """Prior distribution of one number: half of its probability lies below its median and half above, each half even out to its end of the range.

    A range over magnitudes is even in the logarithm. A choice among words is even over all of them, and a median at an end of its range has
    all of the probability on the other side.
    """

    name: str
    """Of the constant: the file and the path in it. Of an input that several scenarios share, the path in the first of them."""
    members: tuple[str, ...]
    """Every name that this number has: that of the constant, or those of the same input in all scenarios that share it."""
    value: float
    """The median: the ``prior`` beside the number, or else the number."""
    low: float
    high: float
    unit: str
    is_whole: bool = False
    words: tuple[str, ...] = ()
    """Of a choice: all its values; its value is an index into them."""

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
        """True of a prior that is even in the logarithm."""
        return not self.words and self.low > 0 and self.high / self.low > WIDE

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Quantiles of the prior: the numbers below which these shares of its probability lie.

        Args:
            shares: from 0 to 1.

        Returns:
            As many, in the constant's unit; whole ones and choices are rounded.
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
        """True of a choice among words, or between two whole numbers."""
        return bool(self.words) or (self.is_whole and self.high - self.low == 1)

    @property
    def is_one_sided(self) -> bool:
        """True of a number whose stated value is an end of its range."""
        return not self.words and self.value in (self.low, self.high)

    def at(self, variable: float) -> float:
        """The number at a standard normal variable: at 0 the stated value, which is the median, or, of a number stated at an end of its range, that end."""
        from scipy.special import ndtr

        share = float(ndtr(variable))
        if self.is_one_sided:
            share = float(2 * ndtr(abs(variable)) - 1)
            share = share if self.value == self.low else 1 - share
        return float(self.quantiles(np.array([share]))[0])

    def variable(self, value: float) -> float:
        """The variable of a number, at most `FARTHEST` from 0; of a choice that in the middle of its word's share."""
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
    """The priors of every constant and owned input behind the points that some expectations are judged by.

    An input that several scenarios have under the same key, with the same value and range, is one number. A constant whose source leaves no
    range is known, and has no prior.

    Args:
        subjects: scenarios, each with the names of its expectations.

    Raises:
        InputError: a number with both ends of its range at one place.
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
    """The points that some expectations of a scenario are judged by."""
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
