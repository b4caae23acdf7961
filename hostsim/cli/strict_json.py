"""Strict JSON on stdout, for programs that read what a command prints."""

from __future__ import annotations

import json
import math

import typer

__all__ = ["json_text", "plain", "print_json"]


def print_json(value: object) -> None:
    """Print a value as JSON without NaN, which no strict reader takes."""
    typer.echo(json_text(value))


def json_text(value: object) -> str:
    """A value as JSON without NaN."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


def plain(value: object) -> object:
    """A cell of a table as JSON takes it: a number that is not finite is null."""
    cell = value.item() if hasattr(value, "item") else value
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
