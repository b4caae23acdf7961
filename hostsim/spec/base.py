"""The base class of every spec: a frozen pydantic model without unknown keys, with prose under each field."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["UNHASHED", "Spec"]


class Spec(BaseModel):
    """Base of specs: a frozen value read from YAML; the prose of its fields is the reference of the file format."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, strict=True)


UNHASHED: Any = Field(exclude=True)
"""Mark of a field that is for readers: no run depends on it, so that it does not count in the hash of a point."""
