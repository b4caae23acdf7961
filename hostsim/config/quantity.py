"""Quantities (``40 kpps``, ``800 B``, ``2 s``): their parser, and the pydantic types that read them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from hostsim.units import LONGEST as LONGEST_PS
from hostsim.units import SECOND

__all__ = [
    "LONGEST",
    "NUMBER",
    "UNITS",
    "AnyRate",
    "Bandwidth",
    "CpuAmount",
    "CpuLimit",
    "Cycles",
    "Duration",
    "Frequency",
    "Percent",
    "PositiveDuration",
    "Rate",
    "ReservedBandwidth",
    "Size",
    "allowed_quantity",
    "common_unit",
    "number_in",
    "quantity_text",
    "read_quantity",
]


UNITS: dict[str, dict[str, float]] = {
    "duration": {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "rate": {"pps": 1.0, "kpps": 1e3, "Mpps": 1e6, "/s": 1.0},
    "size": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "bandwidth": {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    "frequency": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "percent": {"%": 1.0},
}
"""Accepted units for each kind of quantity, as multiples of the base unit: s, 1/s, B, bit/s, Hz, %."""

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LEADING = re.compile(NUMBER)
_SHOWN = 40
"""Number of characters of a wrong unit in a message."""


def read_quantity(text: Any, kind: str) -> float:
    """Return the value of a quantity in the base unit of its kind: s, 1/s, B, bit/s, Hz or %.

    Args:
        text: text in the file, for example ``"40 kpps"``.
        kind: a key of `UNITS`.

    Raises:
        ValueError: no number, no unit, a unit of another kind, or not finite; the message lists the allowed values.
    """
    allowed = allowed_quantity(kind)
    if isinstance(text, int | float) and not isinstance(text, bool):
        raise ValueError(f"has no unit|{allowed}")
    # one pass: a pattern for the whole text would try each way to divide its blanks
    bare = text.strip() if isinstance(text, str) else ""
    number = _LEADING.match(bare)
    unit = bare[number.end() :].lstrip() if number is not None else ""
    if number is None or unit[:1].isdecimal() or "\n" in unit:
        raise ValueError(f"is not a {kind}|{allowed}")
    if not unit:
        raise ValueError(f"has no unit|{allowed}")
    if unit not in UNITS[kind]:
        raise ValueError(f"has the unit {unit[:_SHOWN]!r}, which is not one of {kind}|{allowed}")
    value = float(number[0]) * UNITS[kind][unit]
    if not math.isfinite(value):
        raise ValueError(f"is not finite|{allowed}")
    return value


def allowed_quantity(kind: str) -> str:
    """Return the allowed form of a quantity of a kind, in words."""
    return f"a number and a unit of {kind}, one of {', '.join(UNITS[kind])}"


def common_unit(values: Iterable[Any]) -> str:
    """Return the base unit of quantities of one kind; empty if they are not of one kind.

    Examples: ``pps`` for ``40 kpps``, ``/s`` if all rates are written with it.

    Args:
        values: of an axis, as written.
    """
    texts = [value if isinstance(value, str) else "" for value in values]
    for kind, units in UNITS.items():
        if texts and all(_is(text, kind) for text in texts):
            if kind == "rate" and all(text.rstrip().endswith("/s") for text in texts):
                return "/s"
            return next(unit for unit, factor in units.items() if factor == 1.0)
    return ""


def number_in(unit: str, value: Any) -> float | None:
    """Return a value in a base unit, rounded to 12 digits; None if it is not such a quantity.

    Args:
        unit: a base unit: s, pps, /s, B, bit/s, Hz or %.
        value: text with its unit, or a number in the base unit.
    """
    if isinstance(value, bool):
        return None
    kinds = [kind for kind, units in UNITS.items() if units.get(unit) == 1.0]
    if not kinds:
        return None
    try:
        return float(f"{read_quantity(value, kinds[0]) if isinstance(value, str) else float(value):.12g}")
    except ValueError:
        return None
    except TypeError:
        return None


def quantity_text(value: Any, unit: str) -> Any:
    """Return a number, or the text of one, as a quantity of a unit; other values are unchanged, as without a unit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if unit and (is_number or (isinstance(value, str) and re.fullmatch(NUMBER, value.strip()))):
        return f"{float(value):.12g} {unit}"
    return value


def _is(text: str, kind: str) -> bool:
    try:
        read_quantity(text, kind)
    except ValueError:
        return False
    return True


LONGEST = LONGEST_PS // SECOND
"""Longest time, in seconds; sums of several fit 64 bits of picoseconds."""
LEAST_BANDWIDTH, MOST_BANDWIDTH = 1e3, 1e18
"""Bounds of a bandwidth, in bit/s: a frame takes less than 1000 s."""
LEAST_FREQUENCY, MOST_FREQUENCY = 1e6, 1e15
"""Bounds of a clock, in Hz."""
MOST_CPU = 1e15
"""Bound of an amount of CPU, in Hz."""


_ROUNDING = 1e-12
"""Relative tolerance within which the product of a number and its unit is a whole number, slightly above rounding
errors.
"""


def _reader(kind: str, convert: Callable[[float], int | float]) -> BeforeValidator:
    def read(text: Any) -> int | float:
        return convert(read_quantity(text, kind))

    return BeforeValidator(read)


def _schema(kind: str, word: str = "") -> WithJsonSchema:
    """The schema of a quantity, or of a word in its place."""
    units = "|".join(re.escape(unit) for unit in UNITS[kind])
    pattern, allowed = rf"^\s*{NUMBER}\s*({units})\s*$", allowed_quantity(kind)
    if word:
        pattern, allowed = f"{pattern}|^{word}$", f"{allowed}; or {word}"
    return WithJsonSchema({"type": "string", "pattern": pattern, "x-allowed": allowed})


def _picoseconds(seconds: float) -> int:
    if seconds > LONGEST:
        raise ValueError(f"is longer than any run|at most {LONGEST // 3600} h")
    return round(seconds * SECOND)


def _whole_bytes(value: float) -> int:
    number = round(value)
    if abs(value - number) > _ROUNDING * max(value, 1.0):
        raise ValueError("is not a whole number of bytes|a number and a unit that make whole bytes, 64 B or 1.5 kB")
    return number


def _megahertz(value: float) -> int:
    if value > MOST_CPU:
        raise ValueError(f"is more than any host has|at most {MOST_CPU / 1e6:g} MHz")
    return round(value / 1e6)


def _cpu_limit(text: Any) -> int | None:
    if text is None or text == "unlimited":
        return None
    amount = _megahertz(read_quantity(text, "frequency"))
    if amount < 1:
        raise ValueError("is a CPU limit below 1 MHz|at least 1 MHz, or unlimited")
    return amount


def _bounded(least: float, most: float, unit: str) -> Callable[[float], float]:
    def check(value: float) -> float:
        if 0 < value < least or value > most:
            raise ValueError(f"cannot be simulated|{least:g} to {most:g} {unit}")
        return value

    return check


Duration = Annotated[int, _reader("duration", _picoseconds), Field(ge=0), _schema("duration")]
"""A time; becomes integer picoseconds."""
PositiveDuration = Annotated[Duration, Field(gt=0)]
"""A time above 0; becomes integer picoseconds."""
Rate = Annotated[float, _reader("rate", float), Field(gt=0), _schema("rate")]
"""Packets or events/s; becomes 1/s."""
AnyRate = Annotated[float, _reader("rate", float), Field(ge=0), _schema("rate")]
"""Packets or events/s, or 0; becomes 1/s."""
Size = Annotated[int, _reader("size", _whole_bytes), Field(ge=0), _schema("size")]
"""A number of bytes; becomes B."""
Bandwidth = Annotated[
    float, _reader("bandwidth", _bounded(LEAST_BANDWIDTH, MOST_BANDWIDTH, "bit/s")), Field(gt=0), _schema("bandwidth")
]
"""A bandwidth; becomes bit/s."""
ReservedBandwidth = Annotated[
    float, _reader("bandwidth", _bounded(LEAST_BANDWIDTH, MOST_BANDWIDTH, "bit/s")), Field(ge=0), _schema("bandwidth")
]
"""A bandwidth, or 0; becomes bit/s."""
Frequency = Annotated[
    float, _reader("frequency", _bounded(LEAST_FREQUENCY, MOST_FREQUENCY, "Hz")), Field(gt=0), _schema("frequency")
]
"""A clock frequency; becomes Hz."""
CpuAmount = Annotated[int, _reader("frequency", _megahertz), Field(ge=0), _schema("frequency")]
"""An amount of CPU for reservations and limits; becomes MHz."""
CpuLimit = Annotated[int | None, BeforeValidator(_cpu_limit), _schema("frequency", "unlimited")]
"""An amount of CPU in MHz; None for ``unlimited``."""
Percent = Annotated[float, _reader("percent", float), _schema("percent")]
"""Percent; stays in percent."""
Cycles = Annotated[float, Field(ge=0)]
"""Westmere-equivalent processor cycles; a number without unit."""
