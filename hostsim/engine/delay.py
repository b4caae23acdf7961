"""Delays of SimPy processes in whole picoseconds: ``env.timeout(us(10))``.

Simulated time is an integer, so that sums of delays are exact and simultaneous events are exactly simultaneous. A
number may have any form with an exact value: ``us(10)``, ``us(0.1)``, ``us("12.5")``, ``ms(Fraction(1, 8))``. A float
counts as the decimal number that Python prints for it. Round computed or drawn values:
``round(random.exponential(us(10)))``.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from hostsim.units import MS, NS, SECOND, US

__all__ = ["Number", "ms", "ns", "ps", "s", "us"]

Number: TypeAlias = int | float | str | Decimal | Fraction

_UNITS: Final = {"ps": 1, "ns": NS, "us": US, "ms": MS, "s": SECOND}


def ps(picoseconds: Number) -> int:
    """Picoseconds as a delay.

    Raises:
        ValueError: the number is negative, not an integer, or invalid.
    """
    return _delay("ps", picoseconds)


def ns(nanoseconds: Number) -> int:
    """Nanoseconds as a delay in picoseconds; `ps` lists the errors of all units."""
    return _delay("ns", nanoseconds)


def us(microseconds: Number) -> int:
    """Microseconds as a delay in picoseconds."""
    return _delay("us", microseconds)


def ms(milliseconds: Number) -> int:
    """Milliseconds as a delay in picoseconds."""
    return _delay("ms", milliseconds)


def s(seconds: Number) -> int:
    """Seconds as a delay in picoseconds."""
    return _delay("s", seconds)


def _delay(unit: str, number: Number) -> int:
    try:
        exact = Fraction(str(number)) * _UNITS[unit]
    except ValueError:
        raise ValueError(f"{unit}({number!r}) is not a delay: write a number, such as {unit}(10)") from None
    if exact < 0:
        raise ValueError(f"{unit}({number!r}) is a negative delay: nothing can be scheduled for the past")
    if exact.denominator > 1:
        raise ValueError(
            f"{unit}({number!r}) is not a whole number of picoseconds: round a computed delay, ps(round(...))"
        )
    return exact.numerator
