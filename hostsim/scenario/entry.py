"""Entries that several parts of a scenario file have: names, lists of names, values of settings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

__all__ = ["Bound", "Name", "Names", "OneName", "Point", "Value"]

Name = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*$", json_schema_extra={"x-allowed": "letters, digits, _ and -"}),
]
"""A name that the user chooses; it may stand in a dotted path."""
Value = str | int | float | bool
"""A setting or a value of an axis."""
Point = dict[str, Value]
"""Values of axes, as written in the sweep; the first value of an axis that is not named."""
Bound = int | float | str | None
"""An end of a band: a number in the metric's unit or a number with its unit; nothing where the band is open."""


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _one_or_more(most: int | None) -> WithJsonSchema:
    listed: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    if most is not None:
        listed["maxItems"] = most
    return WithJsonSchema({"anyOf": [{"type": "string"}, listed]})


Names = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1), _one_or_more(None)]
"""One name, or a list of names."""
OneName = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1, max_length=1), _one_or_more(1)]
"""One name, in a list or not."""
