"""Base class of specs, and the field types that several parts of scenario files share."""

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
]


class Spec(BaseModel):
    """Base of specs: a frozen value read from YAML; the prose of its fields is the reference of the file format."""

    # pydantic could read the prose, when a class is made: a tenth of a second of every command
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=describe, strict=True)


UNHASHED: Any = Field(exclude=True)
"""Mark of a field that is for readers: no run depends on it, so that it does not count in the hash of a point."""


Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$",
        json_schema_extra={"x-allowed": "letters, digits, _ and -, at most 100"},
    ),
]
"""A name that the user chooses; it may stand in a dotted path."""
Positive = Annotated[int, Field(ge=1)]
"""An integer from 1 on."""
SmallCount = Annotated[int, Field(ge=1, le=64)]
"""An integer from 1 to 64."""
VcpuCount = Annotated[int, Field(ge=1, le=768)]
"""vCPUs of a VM; 768 is the most of any release."""
Count = Annotated[int, Field(ge=1, le=4096)]
"""An integer from 1 to 4096."""
Descriptors = Annotated[int, Field(ge=32, le=4096)]
"""Descriptors of a ring of a vNIC."""
Value = str | int | float | bool
"""A setting or a value of an axis."""
AxisValues = dict[str, Value]
"""A point: values of axes, as written in the sweep; the first value of an axis that is not named."""
BandEnd = int | float | str | None
"""An end of a band: a number in the metric's unit or a number with its unit; nothing where the band is open."""


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
"""The virtual switch of each vNIC of a VM, which has ten at most."""
UplinkNames = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1, max_length=32), _schema(32)]
"""The physical NICs of a virtual switch, 32 at most."""
StandbyNames = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(max_length=32), _schema(32, 0)]
"""Further physical NICs of a virtual switch, or none."""
