"""Entries that several parts of a scenario file have: names, lists of names, values of settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

__all__ = ["Bound", "Name", "Point", "Value"]

Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$",
        json_schema_extra={"x-allowed": "letters, digits, _ and -, at most 100"},
    ),
]
"""A name that the user chooses; it may stand in a dotted path."""
Value = str | int | float | bool
"""A setting or a value of an axis."""
Point = dict[str, Value]
"""Values of axes, as written in the sweep; the first value of an axis that is not named."""
Bound = int | float | str | None
"""An end of a band: a number in the metric's unit or a number with its unit; nothing where the band is open."""
