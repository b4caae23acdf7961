"""Base class of specs, and field types that several parts of scenario files use."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from hostsim.config.field_docs import describe

__all__ = [
    "UNHASHED",
    "AxisValues",
    "BandEnd",
    "Count",
    "Descriptors",
    "Name",
    "Names",
    "Positive",
    "SmallCount",
    "Spec",
    "StandbyNames",
    "SwitchNames",
    "UplinkNames",
    "Value",
    "VcpuCount",
    "later",
]


class Spec(BaseModel):
    """Base of specs: a frozen value from YAML; docstrings of its fields are the reference of the format."""

    # pydantic would read them when the class is created, which takes 0.1 s in every command
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=describe, strict=True)


UNHASHED: Any = Field(exclude=True)
"""Mark of a descriptive field without effect on runs, which is excluded from the hash of a point."""


def later(default: Any, **options: Any) -> Any:
    """A field that is newer than stored runs: excluded from the hash of a point at its default.

    Args:
        default: the default.
        options: further options of the field, as of `pydantic.Field`.
    """
    return Field(default, exclude_if=lambda value: value == default, **options)


Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$",
        json_schema_extra={"x-allowed": "letters, digits, _ and -, at most 100"},
    ),
]
"""A name that the user chooses; may be part of a dotted path."""
Positive = Annotated[int, Field(ge=1)]
"""An integer, at least 1."""
SmallCount = Annotated[int, Field(ge=1, le=64)]
"""An integer from 1 to 64."""
VcpuCount = Annotated[int, Field(ge=1, le=768)]
"""Number of vCPUs of a VM; 768 is the largest of any release."""
Count = Annotated[int, Field(ge=1, le=4096)]
"""An integer from 1 to 4096."""
Descriptors = Annotated[int, Field(ge=32, le=4096)]
"""Number of descriptors of a vNIC's ring."""
Value = str | int | float | bool
"""A value of a setting or of an axis."""
AxisValues = dict[str, Value]
"""A point: values of axes, as written in the sweep; the default of an axis is its first value."""
BandEnd = int | float | str | None
"""An end of a band: a number in the metric's unit, or a number with its unit; None for an open end."""


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _schema(most: int | None = None, least: int = 1) -> WithJsonSchema:
    listed: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": least}
    if most is not None:
        listed["maxItems"] = most
    few = "one or more names, in a list" if least else "names in a list, or []"
    allowed = few if most is None else f"{few}; {most} at most"
    return WithJsonSchema({"anyOf": [{"type": "string"}, listed], "x-allowed": allowed})


Names = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1), _schema()]
"""One name, or a list of names."""
SwitchNames = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(max_length=10), _schema(10, 0)]
"""The virtual switch of each vNIC of a VM, at most ten."""
UplinkNames = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1, max_length=32), _schema(32)]
"""The physical NICs of a virtual switch, at most 32."""
StandbyNames = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(max_length=32), _schema(32, 0)]
"""Standby NICs of a virtual switch; may be empty."""
