"""Plain-text tables with aligned columns, for terminals, pipes and logs alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

import typer

__all__ = ["columns", "duration", "verdict_table"]

_COLOURS = {
    "pass": "green",
    "pass?": "yellow",
    "known": "magenta",
    "fail": "red",
    "open": "yellow",
    "missing": "bright_black",
}
"""Colours of verdicts by their first word."""


def columns(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format rows as a text table with aligned columns, the last one ragged."""
    cells = [[str(cell) for cell in row] for row in [headings, *rows]]
    widths = [max(len(row[place]) for row in cells) for place in range(len(headings))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(lines)


def verdict_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a text table whose last column is a verdict, in colour where stdout is a terminal."""
    lines = columns(headings, rows).splitlines()
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return "\n".join(lines)
    coloured = lines[:1]
    for line, row in zip(lines[1:], rows, strict=True):
        start = len(line) - len(row[-1])
        coloured.append(line[:start] + typer.style(row[-1], fg=_COLOURS.get(row[-1].split(" ", 1)[0])))
    return "\n".join(coloured)


def duration(seconds: float) -> str:
    """Format a wall-clock duration: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 1:
        return "less than a second"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
