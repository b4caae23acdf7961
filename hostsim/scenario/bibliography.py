"""Bibliography: the publications behind claims, measurements, and the texts of costs, settings and assumptions.

``sources/bibliography.yaml`` of the shipped data holds the entries, and says which of them a claim or a text rests on.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostsim.citation import KINDS, Citation, Publication
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.files import display_name
from hostsim.scenario.shipped_data import data_root
from hostsim.scenario.yaml.reader import Text, read

__all__ = ["Bibliography", "bibliography", "read_bibliography"]


@dataclass(frozen=True)
class Bibliography:
    """A bibliography: publications by key, and what cites them."""

    entries: Mapping[str, Publication]
    claims: tuple[tuple[tuple[str, ...], Citation], ...]
    """Patterns of claim ids, each with the citation of those ids; the first that fits counts."""
    measurements: Mapping[str, Citation]
    """Citations by the first part of a measurement's id."""
    texts: Mapping[str, tuple[Citation, ...]]
    """Citations by the words that name them in a text; longer words count in place of shorter ones inside them."""

    def of_claim(self, name: str) -> tuple[Citation, ...]:
        """The citation of a claim or a measurement by its id; none of an expectation of the user's."""
        for patterns, citation in self.claims:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                return (citation,)
        found = self.measurements.get(name.partition(".")[0])
        return (found,) if found is not None else ()

    def of_text(self, text: str) -> tuple[Citation, ...]:
        """The citations that a text names, each once, in the order of the bibliography."""
        folded = " ".join(text.split())
        named = [words for words in self.texts if _names(folded, words)]
        longest = [words for words in named if not any(words in other for other in named if other != words)]
        return tuple(dict.fromkeys(citation for words in longest for citation in self.texts[words]))


@functools.cache
def bibliography() -> Bibliography:
    """The shipped bibliography.

    Raises:
        InputError: the shipped file is damaged.
    """
    return read_bibliography(data_root() / "sources" / "bibliography.yaml")


def read_bibliography(file: Path) -> Bibliography:
    """Read a bibliography.

    Raises:
        InputError: an entry has an unknown field or no title, or a citation names no entry.
    """
    reader = _Reader(read(file, display_name(file)), display_name(file))
    tree = reader.text.tree
    entries = {key: found for key, fields in tree["entries"].items() if (found := reader.entry(key, fields))}
    claims = []
    for place, rule in enumerate(tree["claims"]):
        citation = reader.citation(("claims", place), rule["entry"], entries, rule.get("at", ""))
        claims.append((tuple(rule["ids"]), citation))
    measurements = {key: Citation(entry) for key, entry in entries.items()}
    for key, rule in tree["measurements"].items():
        measurements[key] = reader.citation(("measurements", key), rule["entry"], entries, rule.get("at", ""))
    texts = {
        words: tuple(reader.citation(("texts", words), key, entries) for key in keys)
        for words, keys in tree["texts"].items()
    }
    if reader.faults:
        raise InputError(reader.faults)
    return Bibliography(entries, tuple(claims), measurements, texts)


class _Reader:
    """One pass over a bibliography, which collects its faults."""

    def __init__(self, text: Text, file: str) -> None:
        self.text, self.file = text, file
        self.faults: list[Fault] = []

    def entry(self, key: str, fields: Mapping[str, Any]) -> Publication | None:
        known = [field.name for field in dataclasses.fields(Publication)]
        place = ("entries", key)
        for name in fields.keys() - set(known):
            self._fault("unknown field", place, name, f"one of {', '.join(known)}", nearest_name(name, known))
        if not fields.get("title"):
            self._fault("has no title", place)
        if fields.get("kind", KINDS[0]) not in KINDS:
            self._fault("unknown kind", place, str(fields["kind"]), f"one of {', '.join(KINDS)}")
        if self.faults:
            return None
        return Publication(key, **fields)

    def citation(
        self, place: tuple[str | int, ...], key: str, entries: Mapping[str, Publication], at: str = ""
    ) -> Citation:
        if key not in entries:
            self._fault("names no entry", place, key, "a key of entries", nearest_name(key, list(entries)))
            return Citation(Publication(key, key))
        return Citation(entries[key], at)

    def _fault(
        self, message: str, place: tuple[str | int, ...], given: str = "", allowed: str = "", nearest: str = ""
    ) -> None:
        dotted = ".".join(map(str, place))
        self.faults.append(Fault(message, dotted, given, allowed, nearest, self.file, self.text.lines.get(place)))


@functools.cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(words)}(?![\w]|\.\d)")


def _names(text: str, words: str) -> bool:
    """True when a text names words as a whole: ``facts 2.1`` and not ``facts 2.10``."""
    return _pattern(words).search(text) is not None
