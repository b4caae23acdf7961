"""Observations of a calibration: published claims or measurements of your own host, in half-widths of their bands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from hostsim.results.expect import Expectation

__all__ = ["Observation", "observations_of"]

STRAIGHT = 10.0
"""Distance, in half-widths, up to which it is linear; beyond, it is logarithmic, so that distant claims do not
dominate.
"""
EDGE = 0.05
"""Half-width that a band with only one end is given, as a share of that end."""


@dataclass(frozen=True)
class Observation:
    """An observation of one quantity: a published value with its band, or a band of equally good values."""

    name: str
    experiment: str
    centre: float
    """The published value, the middle of the band, or its only end; in the quantity's unit."""
    half: float
    """Half of the band, in the quantity's unit."""
    is_aimed: bool
    """True if values nearer to the centre are better, as for a published number."""
    low: float = -STRAIGHT * math.asinh(1 / STRAIGHT)
    """Distance of the end of the band from the centre; infinite for an open end."""
    high: float = STRAIGHT * math.asinh(1 / STRAIGHT)

    def distance(self, value: float) -> float:
        """Distance of a value from the centre, in half-widths of the band; beyond `STRAIGHT` logarithmic."""
        return STRAIGHT * math.asinh((value - self.centre) / self.half / STRAIGHT)

    def residual(self, value: float) -> float:
        """Residual of a value: its distance from the published value in half-widths, or, for a band of equally good values, the excess over the nearest end, divided by `EDGE` of that end."""
        if self.is_aimed:
            return (value - self.centre) / self.half
        low, high = self.ends
        if value < low:
            return (value - low) / (EDGE * abs(low) or self.half)
        return (value - high) / (EDGE * abs(high) or self.half) if value > high else value * 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the band, in the quantity's unit; infinite if open."""
        low, high = (end if math.isinf(end) else self.value(end) for end in (self.low, self.high))
        return low, high

    def holds(self, value: float) -> bool:
        """True for a value in the band."""
        low, high = self.ends
        return low <= value <= high

    def value(self, distance: float) -> float:
        """The value at a given distance from the centre, in the quantity's unit."""
        return self.centre + self.half * STRAIGHT * math.sinh(distance / STRAIGHT)


def observations_of(expectations: Iterable[tuple[str, Expectation]]) -> list[Observation]:
    """Converts expectations to observations; conditions are left out, as they have no width.

    Args:
        expectations: each with the name of its experiment.
    """
    observations = (_observation(experiment, entry) for experiment, entry in expectations)
    return [observation for observation in observations if observation is not None]


def _observation(experiment: str, entry: Expectation) -> Observation | None:
    low, high = entry.band.low, entry.band.high
    # a share or ratio that may be 0 has only an upper bound
    low = None if entry.kind == "direction" and low == 0 else low
    if low is not None and high is not None:
        if high <= low:
            return None
        half, centre = (high - low) / 2, (low + high) / 2
        is_aimed = entry.kind != "direction"
        if is_aimed:
            with suppress(ValueError):
                published = float(entry.published)
                centre = centre if published in (low, high) else published
        return Observation(entry.name, experiment, centre, half, is_aimed)
    if low is None and high is None:
        return None
    end = high if low is None else low
    assert end is not None
    half = EDGE * abs(end)
    if half == 0:
        return None
    if low is None:
        return Observation(entry.name, experiment, end, half, False, -math.inf, 0.0)
    return Observation(entry.name, experiment, end, half, False, 0.0, math.inf)
