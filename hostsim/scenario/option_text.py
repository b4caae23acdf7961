"""Option text: values from Python as they are written after ``--set`` and ``--axis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["option_texts"]


def option_texts(values: Mapping[str, Any] | None, several: str = "[{}]") -> dict[str, str]:
    """The option text of values by name, as after ``--set``; with another pattern for lists, as after ``--axis``."""
    return {str(name): _text(value, several) for name, value in (values or {}).items()}


def _text(value: Any, several: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return several.format(", ".join(_text(entry, several) for entry in value))
    return str(value)
