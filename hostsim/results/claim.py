"""Published claims, the rows of ``claims.csv``, with their kinds; and published measurements for predictions, the rows of ``published-2.csv``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hostsim.config.quantity import UNITS
from hostsim.results.expect import Band

__all__ = ["CLAIM_KINDS", "Claim", "Measurement", "side_of"]

CLAIM_KINDS = {
    "scale": "An absolute figure, which depends on costs.",
    "ratio": "A published quotient or equality.",
    "direction": "Only larger, smaller or similar is published.",
    "arithmetic": "Follows from wire and sizes, whatever the costs.",
    "rule": "The exact effect of a documented setting.",
}
"""The kinds of claims with their meanings, from the most to the least informative about the cost model."""


@dataclass(frozen=True)
class Claim:
    """A published claim: one row of ``claims.csv``."""

    id: str
    experiment: str
    kind: str
    """One of `CLAIM_KINDS`."""
    label: str
    """Short label for figures: the topic, a comma, and the difference to other claims on it."""
    condition: str
    metric: str
    published: str
    unit: str
    band: Band
    basis: str
    source: str

    @property
    def topic(self) -> str:
        """The topic, which is the first part of the label."""
        return self.label.partition(",")[0]


@dataclass(frozen=True)
class Measurement:
    """A published measurement for predictions, to which nothing is fitted: one row of ``published-2.csv``."""

    id: str
    """The source, a dot, and the quantity in short."""
    quantity: str
    value: str
    """As published: a number, or ``<1`` for a direction."""
    unit: str
    band: Band
    setup: str
    source: str
    confidence: str
    needs: str
    """Requirements of its scenario when the table was made."""

    @property
    def kind(self) -> str:
        """One of `CLAIM_KINDS`, by value and unit."""
        if self.number is None or self.unit == "sign":
            return "direction"
        return "ratio" if self.unit == "ratio" else "scale"

    @property
    def number(self) -> float | None:
        """The published number; None for a direction."""
        return None if self.value[:1] in ("<", ">") else float(self.value)

    def counted_in(self, unit: str) -> Measurement:
        """Convert the measurement to the unit of a metric: 2.4 Mpps are 2400 kpps; unchanged if the units are not convertible."""
        own, other = self.unit.removeprefix("1"), unit.partition(" ")[0]
        units = next((units for units in UNITS.values() if own in units and other in units), None)
        if units is None or self.number is None:
            return self
        factor = units[own] / units[other]
        low, high = (None if end is None else _rounded(end * factor) for end in (self.band.low, self.band.high))
        return replace(self, value=f"{self.number * factor:.12g}", unit=other, band=Band(low, high))

    @property
    def publication(self) -> str:
        """The part of the id that is common to a source."""
        return self.id.partition(".")[0]

    @property
    def side(self) -> int:
        """See `side_of`."""
        return side_of(self.unit, self.band)


def side_of(unit: str, band: Band) -> int:
    """For a ratio or a sign, 1 if its whole band is above the neutral value (1, or 0 for a sign), -1 if below; else 0."""
    if unit not in ("ratio", "sign"):
        return 0
    neutral = 1 if unit == "ratio" else 0
    if band.low is not None and band.low > neutral:
        return 1
    return -1 if band.high is not None and band.high < neutral else 0


def _rounded(number: float) -> float:
    """A number without the rounding error of a unit conversion."""
    return float(f"{number:.12g}")
