"""HTML fragments for notebooks: every text is escaped, and style is inline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

__all__ = ["chip", "details", "heading", "note", "paragraph", "table"]

_COLOURS = {
    "pass": "#1a7f4b",
    "pass?": "#96650a",
    "known red": "#7b4bb7",
    "fail": "#c2372c",
    "open": "#96650a",
    "missing": "#6a737d",
}


def heading(text: str, subtitle: str = "") -> Markup:
    """A heading with a faint subtitle."""
    return Markup('<p><b style="font-size:1.15em">{}</b> <span style="opacity:.7">{}</span></p>').format(text, subtitle)


def paragraph(text: str) -> Markup:
    """A paragraph."""
    return Markup("<p>{}</p>").format(text)


def note(text: str) -> Markup:
    """A note: a caveat of the numbers."""
    return Markup('<p style="border-left:3px solid #c98a00;padding-left:.7em">{}</p>').format(text)


def chip(label: str) -> Markup:
    """A chip: a verdict in its colour."""
    return Markup('<b style="color:{}">{}</b>').format(_COLOURS.get(label.partition(" (")[0], "inherit"), label)


def details(summary: str, inside: str) -> Markup:
    """A disclosure that opens on a click."""
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, inside)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[str] = ()) -> Markup:
    """An HTML table.

    Args:
        headings: of the columns.
        rows: cells as text; markup of this module stays markup.
        right: headings of the columns that are set to the right.
    """
    right_aligned = set(right)
    styles = ['style="text-align:right"' if name in right_aligned else 'style="text-align:left"' for name in headings]
    head = "".join(f"<th {style}>{escape(name)}</th>" for name, style in zip(headings, styles, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {style}>{escape(cell)}</td>" for cell, style in zip(row, styles, strict=True)) + "</tr>"
        for row in rows
    )
    return Markup(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")  # noqa: S704  cells are escaped above
