"""Tables and links in MyST Markdown, for generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["anchor", "code", "linked", "prose", "row", "table"]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars and line ends inside cells are escaped."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(map(row, lines)) + "\n"


def row(cells: Sequence[str]) -> str:
    """A row of a table, without its line end."""
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def code(text: object) -> str:
    """Text as code; empty for an empty text."""
    return f"`{text}`" if str(text) else ""


def prose(text: str) -> str:
    """A docstring as Markdown; its code is between double backticks."""
    return re.sub(r"``(.+?)``", r"`\1`", text)


def anchor(*words: str) -> str:
    """The target of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


_SUBJECT = re.compile(r"""(?<![\w`"<-])(facts(?:-modern)?|formats) (\d(?:\.\d)?)(?![\w`"]|\.\d)""")


def linked(page: str) -> str:
    """A page with links on subjects of the bibliography, such as "facts 2.1"; code and headings are unchanged."""
    parts = re.split(r"^( *(?:```|~~~).*?^ *(?:```|~~~)|#+ .*?$)", page, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if place % 2 else _SUBJECT.sub(_link, part) for place, part in enumerate(parts))


def _link(match: re.Match[str]) -> str:
    return f"{{ref}}`{match[0]} <{anchor('source', match[0])}>`"
