"""Quantities as users write them (``40 kpps``, ``800 B``, ``2 s``), turned into plain numbers by pydantic.

Each type below is an annotated ``int`` or ``float``; its prose says the unit it becomes. Text is read only as *number,
space, unit*: no expressions. A bare number is refused wherever a unit is needed, so that no file depends on a default unit.
The text itself is read by `hostsim.quantity`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from hostsim.quantity import NUMBER, UNITS, allowed_quantity, read_quantity
from hostsim.units import LONGEST as LONGEST_PS
from hostsim.units import SECOND

__all__ = [
    "LONGEST",
    "UNITS",
    "Bandwidth",
    "Cycles",
    "Duration",
    "Frequency",
    "Percent",
    "PositiveDuration",
    "Rate",
    "Size",
    "read_quantity",
]

LONGEST = LONGEST_PS // SECOND
"""Seconds of the longest time; sums of several fit 64 bits of picoseconds."""
LEAST_BANDWIDTH, MOST_BANDWIDTH = 1e3, 1e18
"""Bounds of a bandwidth, in bit/s: a frame takes less than a thousand seconds."""
LEAST_FREQUENCY, MOST_FREQUENCY = 1e6, 1e15
"""Bounds of a clock, in Hz."""


_ROUNDING = 1e-12
"""Share of itself by which a product of a number and its unit may miss a whole number: a little more than floating point does."""


def _reader(kind: str, convert: Callable[[float], int | float]) -> BeforeValidator:
    def read(text: Any) -> int | float:
        return convert(read_quantity(text, kind))

    return BeforeValidator(read)


def _schema(kind: str) -> WithJsonSchema:
    units = "|".join(re.escape(unit) for unit in UNITS[kind])
    return WithJsonSchema(
        {"type": "string", "pattern": rf"^\s*{NUMBER}\s*({units})\s*$", "x-allowed": allowed_quantity(kind)}
    )


def _picoseconds(seconds: float) -> int:
    if seconds > LONGEST:
        raise ValueError(f"is longer than any run|at most {LONGEST // 3600} h")
    return round(seconds * SECOND)


def _whole_bytes(value: float) -> int:
    number = round(value)
    if abs(value - number) > _ROUNDING * max(value, 1.0):
        raise ValueError("is not a whole number of bytes|a number and a unit that make whole bytes, 64 B or 1.5 kB")
    return number


def _bounded(least: float, most: float, unit: str) -> Callable[[float], float]:
    def check(value: float) -> float:
        if 0 < value < least or value > most:
            raise ValueError(f"is no value that can be simulated|{least:g} to {most:g} {unit}")
        return value

    return check


Duration = Annotated[int, _reader("duration", _picoseconds), Field(ge=0), _schema("duration")]
"""A length of time; becomes integer picoseconds."""
PositiveDuration = Annotated[Duration, Field(gt=0)]
"""A length of time above 0."""
Rate = Annotated[float, _reader("rate", float), Field(gt=0), _schema("rate")]
"""Packets or events in a second; becomes 1/s."""
Size = Annotated[int, _reader("size", _whole_bytes), Field(ge=0), _schema("size")]
"""A number of bytes; becomes B."""
Bandwidth = Annotated[
    float, _reader("bandwidth", _bounded(LEAST_BANDWIDTH, MOST_BANDWIDTH, "bit/s")), Field(gt=0), _schema("bandwidth")
]
"""Bits in a second; becomes bit/s."""
Frequency = Annotated[
    float, _reader("frequency", _bounded(LEAST_FREQUENCY, MOST_FREQUENCY, "Hz")), Field(gt=0), _schema("frequency")
]
"""A clock; becomes Hz."""
Percent = Annotated[float, _reader("percent", float), _schema("percent")]
"""Percent; stays in percent."""
Cycles = Annotated[float, Field(ge=0)]
"""Processor cycles, Westmere-equivalent; a bare number."""
