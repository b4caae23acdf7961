"""Quantities as text (``40 kpps``, ``800 B``, ``2 s``) and as numbers in the base unit of their kind.

Text is read only as *number, space, unit*: no expressions. The units are few and their factors exact, so that they stand here and no
library of units is loaded, which took longer than reading a scenario.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["NUMBER", "UNITS", "allowed_quantity", "common_unit", "number_in", "read_quantity"]

UNITS: dict[str, dict[str, float]] = {
    "duration": {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "rate": {"pps": 1.0, "kpps": 1e3, "Mpps": 1e6, "/s": 1.0},
    "size": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "bandwidth": {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    "frequency": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "percent": {"%": 1.0},
}
"""Units accepted for each kind of quantity, and how many of the base unit each is: s, 1/s, B, bit/s, Hz, %."""

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LEADING = re.compile(NUMBER)
_SHOWN = 40
"""Characters of a wrong unit that a message repeats."""


def read_quantity(text: Any, kind: str) -> float:
    """The value of a quantity in the base unit of its kind: s, 1/s, B, bit/s, Hz or %.

    Args:
        text: what stands in the file, for example ``"40 kpps"``.
        kind: a key of `UNITS`.

    Raises:
        ValueError: no number, no unit, a unit of another kind, or not finite; the text says what is allowed.
    """
    allowed = allowed_quantity(kind)
    if isinstance(text, int | float) and not isinstance(text, bool):
        raise ValueError(f"has no unit|{allowed}")
    # one pass: a pattern for the whole text would try each way to share out its blanks
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
    """What may stand where a quantity of a kind is needed, in words."""
    return f"a number and a unit of {kind}, one of {', '.join(UNITS[kind])}"


def common_unit(values: Iterable[Any]) -> str:
    """The base unit of quantities that are all of one kind: ``pps`` of ``40 kpps``, ``/s`` where nothing else is written; empty where they are not.

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
    """The number of a value in a base unit, rounded to the digits that texts are compared by; None where it is no such quantity.

    Args:
        unit: a base unit: s, pps, /s, B, bit/s, Hz or %.
        value: text with its unit, or a number, which is in the base unit already.
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


def _is(text: str, kind: str) -> bool:
    try:
        read_quantity(text, kind)
    except ValueError:
        return False
    return True
