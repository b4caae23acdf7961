"""The base of every spec: frozen, no unknown keys, prose under each field."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Spec"]


class Spec(BaseModel):
    """A frozen value read from YAML; its fields' prose is the reference of the file format."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, strict=True)
