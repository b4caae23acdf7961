"""Units of simulated time: integer picoseconds, and all conversions to them; limits of seeds and replications.

Text with units ("40 kpps") is read by `hostsim.config.quantity`; this module only handles numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

__all__ = [
    "END",
    "LONGEST",
    "MOST_REPLICATIONS",
    "MOST_SEED",
    "MS",
    "NS",
    "SECOND",
    "US",
    "cycles_to_ps",
    "ps_to_seconds",
    "rounded",
    "scaled",
    "scaled_up",
    "seconds_to_ps",
    "transmission_ps",
]

MOST_REPLICATIONS: Final = 1000
"""Largest number of runs of a point."""
MOST_SEED: Final = 2**64 - 1
"""Largest root seed, the limit of an integer column."""
NS: Final = 1_000
"""Picoseconds in a nanosecond."""
US: Final = 1_000_000
"""Picoseconds in a microsecond."""
MS: Final = 1_000_000_000
"""Picoseconds in a millisecond."""
SECOND: Final = 1_000_000_000_000
"""Picoseconds in a second."""

LONGEST: Final = 997_200 * SECOND
"""Longest time that input files may contain, in picoseconds: 277 hours. Sums of four are below `END`, sums of nine below 2^63."""
END: Final = 1 << 62
"""An instant that no run reaches, in picoseconds: 53 days. Twice this time still fits a machine integer."""


_SMALL: Final = 1 << 31
"""Bound of two factors whose product is below 2^62."""
_LONG: Final = 1 << 44
_FEW: Final = 1 << 18
"""Bounds of one factor each, with a product below 2^62: 17 seconds, and a number of packets."""


def rounded(value: float) -> int:
    """Return ``round(x)`` of a number from 0 and below 2^53; compiled, without a call through Python."""
    whole = int(value)
    rest = value - whole  # exact
    return whole + 1 if rest > 0.5 or (rest == 0.5 and whole % 2) else whole


def scaled(amount: int, factor: int, divisor: int) -> int:
    """Return ``amount * factor // divisor``, with positive factor and divisor; avoids big integers if the product is small."""
    if (0 <= amount < _SMALL and factor < _SMALL) or (0 <= amount < _LONG and factor < _FEW):
        product: i64 = amount
        by: i64 = factor
        product *= by  # below 2^62
        return product // divisor
    return amount // divisor if factor == 1 else amount * factor // divisor


def scaled_up(amount: int, factor: int, divisor: int) -> int:
    """Return ``amount * factor / divisor``, rounded up; see `scaled`."""
    if 0 <= amount < _SMALL and factor < _SMALL and divisor < _SMALL:
        product: i64 = amount
        by: i64 = factor
        product = product * by + (divisor - 1)  # below 2^62 + 2^31
        return product // divisor
    return -(-amount // divisor) if factor == 1 else -(-amount * factor // divisor)


def seconds_to_ps(seconds: float) -> int:
    """Seconds as picoseconds, rounded to the nearest."""
    return round(seconds * SECOND)


def ps_to_seconds(ps: int) -> float:
    """Picoseconds as seconds."""
    return ps / SECOND


def cycles_to_ps(cycles: float, hertz: float) -> int:
    """Time that ``cycles`` of a processor running at ``hertz`` take, in picoseconds."""
    return round(cycles * SECOND / hertz)


def transmission_ps(octets: int, bits_per_second: float) -> int:
    """Time on the wire of ``octets`` bytes, in picoseconds."""
    return round(octets * 8 * SECOND / bits_per_second)
