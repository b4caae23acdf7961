"""YAML writer: plain trees as text that the strict parser reads back."""

from __future__ import annotations

from typing import Any

import yaml

__all__ = ["write_yaml"]


def write_yaml(tree: Any) -> str:
    """The text of a tree of mappings, lists and scalars, keys in their order."""
    return yaml.safe_dump(_plain(tree), sort_keys=False, allow_unicode=True, width=160, default_flow_style=None)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value
