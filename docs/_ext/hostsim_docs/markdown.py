"""Tables and links in MyST Markdown, for pages that are generated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["anchor", "code", "prose", "row", "table"]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars and line ends inside cells do no harm."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(map(row, lines)) + "\n"


def row(cells: Sequence[str]) -> str:
    """A row of a table, without its line end."""
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def code(text: object) -> str:
    """Text as it is typed; nothing where there is none."""
    return f"`{text}`" if str(text) else ""


def prose(text: str) -> str:
    """A docstring's prose, whose code stands between two backticks, as Markdown."""
    return re.sub(r"``(.+?)``", r"`\1`", text)


def anchor(*words: str) -> str:
    """The target of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")
