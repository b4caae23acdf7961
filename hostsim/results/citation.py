"""Citations: publications behind claims, costs and assumptions, in words and as BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["KINDS", "Citation", "Publication", "bibtex"]

KINDS = ("misc", "manual", "techreport", "inproceedings")
"""Kinds of publications, by their names in BibTeX."""


@dataclass(frozen=True)
class Publication:
    """A publication: an entry of the bibliography."""

    key: str
    title: str
    kind: str = "misc"
    """One of `KINDS`."""
    author: tuple[str, ...] = ()
    organization: str = ""
    """Corporate author or publisher."""
    venue: str = ""
    """Blog, proceedings or mailing list."""
    year: int | None = None
    number: str = ""
    """The document's own number."""
    address: str = ""
    """Web address."""
    note: str = ""

    @property
    def words(self) -> str:
        """The publication in words: authors, title, venue, year, number; without the address."""
        people = self.author if len(self.author) <= 3 else (f"{self.author[0]} et al.",)
        parts = [", ".join(people) or self.organization, f"“{self.title}”", self.venue, self.number]
        return ", ".join([part for part in (*parts, str(self.year or "")) if part])

    @property
    def short(self) -> str:
        """The publication in a few words: its first author, or the organization or title, and the year."""
        people = self.author[0].split()[-1:] if self.author else [self.organization or self.title]
        who = f"{people[0]} et al." if len(self.author) > 1 else people[0]
        return f"{who} {self.year}" if self.year else who

    @property
    def link(self) -> str:
        """The web address, if it is safe to link, as results may come from another user."""
        return self.address if self.address.startswith(("https://", "http://")) else ""


@dataclass(frozen=True)
class Citation:
    """A citation: a publication, and the place in it."""

    publication: Publication
    at: str = ""
    """Figure, table, page or section."""

    @property
    def words(self) -> str:
        """The citation in words, without the address."""
        return ", ".join(part for part in (self.publication.words, self.at) if part)

    @property
    def short(self) -> str:
        """The citation in a few words."""
        return ", ".join(part for part in (self.publication.short, self.at) if part)


def bibtex(publications: Iterable[Publication]) -> str:
    """Format publications as BibTeX, each key once."""
    found = {publication.key: publication for publication in publications}
    return "\n\n".join(map(_bibtex, found.values()))


def _bibtex(publication: Publication) -> str:
    venue = {"inproceedings": "booktitle", "techreport": "series", "manual": "series"}.get(
        publication.kind, "howpublished"
    )
    corporate = "institution" if publication.kind == "techreport" else "organization"
    fields = {
        "title": f"{{{_escaped(publication.title)}}}",
        "author": " and ".join(map(_escaped, publication.author)) or f"{{{_escaped(publication.organization)}}}",
        corporate: _escaped(publication.organization),
        venue: _escaped(publication.venue),
        "year": str(publication.year or ""),
        "number": _escaped(publication.number),
        "url": publication.address,
        "note": _escaped(publication.note),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value not in ("", "{}")]
    return "\n".join([f"@{publication.kind}{{{publication.key},", *lines, "}"])


def _escaped(text: str) -> str:
    """Text with the characters that TeX reads as commands escaped."""
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", r"\textbackslash "))
