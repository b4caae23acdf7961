"""Names in a file: one may stand without a list."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

__all__ = ["Names", "SwitchNames", "UplinkNames"]


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
