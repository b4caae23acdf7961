"""Values from Python as they are written after ``--set`` and ``--axis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["texts"]


def texts(values: Mapping[str, Any] | None, several: str = "[{}]") -> dict[str, str]:
    """Values as they are written after ``--set`` and, where several make no list of YAML, ``--axis``."""
    return {str(name): _text(value, several) for name, value in (values or {}).items()}


def _text(value: Any, several: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return several.format(", ".join(_text(entry, several) for entry in value))
    return str(value)
