"""Strict YAML parser: text becomes a plain tree, and every place in the tree knows its line.

Stricter than PyYAML where a slip would pass unseen: a key may stand once only, keys are text, booleans are ``true`` and ``false`` and
nothing else (``on`` and ``no`` stay text, as does ``TRUE``, which is a word of ``.vmx`` files), ``1e5`` is a number, and
tags, anchors, aliases, several documents, control characters, and more of anything than a scenario can need are refused: a hostile
file ends in a fault before it costs time or memory. What the keys mean is not known here.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hostsim.errors import Fault, InputError
from hostsim.files import read_text
from hostsim.scenario.yaml.syntax_error import syntax_fault

__all__ = ["MAX_DEPTH", "MAX_KEYS", "MAX_TEXT", "MAX_VALUES", "KeyPath", "Text", "parse", "parse_value", "read"]

MAX_DEPTH = 40
"""Deepest nesting that is read."""
MAX_VALUES = 20_000
"""Most keys and list entries of a file."""
MAX_KEYS = 1_000
"""Most keys of a mapping."""
MAX_TEXT = 10_000
"""Most characters of a text."""
_MOST_FAULTS = 100
"""Faults after which a file is given up."""

KeyPath = tuple[str | int, ...]
"""Where a value stands in a tree: keys of mappings, positions in lists."""


@dataclass(frozen=True)
class Text:
    """A parsed text: its tree and the line of every place."""

    tree: Any
    """Mappings as dict, lists as tuple, and text, numbers, booleans or None."""
    lines: Mapping[KeyPath, int]
    """Line of every key and every list entry, from 1."""


# the parser in C where PyYAML was built with it: twenty times as fast
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # mypy cannot follow the choice
    """PyYAML with the scalars of YAML 1.2, less its spellings of infinity, of booleans other than lower case, and octal."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  PyYAML's own way to declare them


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)


@dataclass
class _Reader:
    """One pass over the events of a document."""

    loader: Any
    """A `_Loader`; PyYAML's own methods carry no types."""
    file: str
    faults: list[Fault] = field(default_factory=list)
    lines: dict[KeyPath, int] = field(default_factory=dict)

    def fault(self, message: str, path: KeyPath, event: yaml.Event, given: str = "", allowed: str = "") -> None:
        dotted = ".".join(map(str, path))
        self.faults.append(Fault(message, dotted, given, allowed, file=self.file, line=_line(event)))
        if len(self.faults) >= _MOST_FAULTS:
            raise InputError(self.faults)

    def document(self) -> Any:
        """The tree of the only document."""
        self.loader.get_event()
        if self.loader.check_event(yaml.StreamEndEvent):
            self.faults.append(Fault("is empty", allowed="keys and values", file=self.file))
            return None
        self.loader.get_event()
        tree = self.node(())
        self.loader.get_event()
        if not self.loader.check_event(yaml.StreamEndEvent):
            self.fault("holds more than one document", (), self.loader.peek_event(), allowed="one document")
        return tree

    def node(self, path: KeyPath) -> Any:
        event = self.loader.get_event()
        if len(path) > MAX_DEPTH:
            self.fault("is nested too deeply", path[:3], event, allowed=f"at most {MAX_DEPTH} levels")
            raise InputError(self.faults)
        if len(self.lines) > MAX_VALUES:
            self.fault(
                "is one value too many", path[:3], event, allowed=f"at most {MAX_VALUES} keys and entries in a file"
            )
            raise InputError(self.faults)
        if isinstance(event, yaml.AliasEvent):
            self.fault("aliases are not read", path, event, f"*{event.anchor}", "the value itself")
            return None
        if event.anchor is not None:
            self.fault("anchors are not read", path, event, f"&{event.anchor}", "the value itself")
        if event.tag is not None:
            self.fault("tags are not read", path, event, event.tag, "a value without a tag")
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        return self.scalar(path, event)

    def sequence(self, path: KeyPath) -> tuple[Any, ...]:
        entries: list[Any] = []
        while not self.loader.check_event(yaml.SequenceEndEvent):
            place = (*path, len(entries))
            self.lines[place] = _line(self.loader.peek_event())
            entries.append(self.node(place))
        self.loader.get_event()
        return tuple(entries)

    def mapping(self, path: KeyPath) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while not self.loader.check_event(yaml.MappingEndEvent):
            event = self.loader.peek_event()
            key = self.node(path)
            if not isinstance(key, str):
                if not isinstance(event, yaml.AliasEvent):
                    self.fault("key is not text", path, event, repr(key), 'a word, or a number in quotes: "1"')
                key = repr(key)
            place = (*path, key)
            if key in entries:
                first = self.lines[place]
                self.fault(f"duplicate key, already on line {first}", place, event, allowed="each key once")
                self.node(place)
                self.lines[place] = first
                continue
            if len(entries) == MAX_KEYS:
                self.fault("is one key too many", place[:3], event, allowed=f"at most {MAX_KEYS} keys of a mapping")
                raise InputError(self.faults)
            self.lines[place] = _line(event)
            entries[key] = self.node(place)
        self.loader.get_event()
        return entries

    def scalar(self, path: KeyPath, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if len(text) > MAX_TEXT:
            self.fault("is too long a text", path, event, f"{len(text)} characters", f"at most {MAX_TEXT} characters")
            return ""
        if (odd := _unprintable(text)) is not None:
            allowed = "text of letters, digits and signs, with line feeds and tabs"
            self.fault(f"holds the character {odd!a}, which is not printed", path, event, allowed=allowed)
            return ""
        plain = event.implicit[0]
        tag = self.loader.resolve(yaml.ScalarNode, text, (plain, False)) if plain else ""
        kind = tag.rpartition(":")[2]
        if kind == "null":
            return None
        if kind == "bool":
            return text == "true"
        if kind not in ("int", "float"):
            return text
        if len(text) > 40 or not math.isfinite(value := float(text)):
            self.fault("is not a number of a usable size", path, event, text[:40], "a number of at most 40 characters")
            return 0
        if kind == "int":
            return int(text)
        # 1e5 counts things as well as 100000 does; 2.0 says that it is not a count
        return int(value) if "." not in text and value.is_integer() and abs(value) < 2**53 else value


def _unprintable(text: str) -> str | None:
    """The first character that a terminal would obey and a reader would not see: controls, and those that turn the direction of writing."""
    if text.isprintable():
        return None
    return next(
        (letter for letter in text if unicodedata.category(letter) in ("Cc", "Cf", "Cs") and letter not in "\n\t"), None
    )


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def parse(text: str, file: str) -> Text:
    """Parse a YAML document into a tree.

    Args:
        text: the document.
        file: what faults call it.

    Raises:
        InputError: syntax, and everything that this reader refuses; as many faults as can be told apart.
    """
    faults: list[Fault] = []
    try:
        reader = _Reader(_Loader(text), file, faults)
        tree = reader.document()
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        letter = error.character if isinstance(error.character, str) else chr(error.character)
        message = f"holds the character {letter!a}, which YAML does not allow"
        raise InputError([*faults, Fault(message, file=file, line=text.count("\n", 0, position) + 1)]) from None
    except UnicodeEncodeError as error:  # half of a character, as arguments have it that are not UTF-8
        message = f"holds the character {text[error.start]!a}, which YAML does not allow"
        raise InputError(Fault(message, file=file, line=text.count("\n", 0, error.start) + 1)) from None
    except yaml.MarkedYAMLError as error:
        raise InputError([*faults, syntax_fault(error, text, file)]) from None
    if reader.faults:
        raise InputError(reader.faults)
    return Text(tree, reader.lines)


def parse_value(text: str, origin: str) -> Any:
    """Parse a value of the command line: a number, text, or a list in brackets; faults name ``origin``."""
    return parse(text, origin).tree if text.strip() else ""


def read(file: Path, name: str | None = None) -> Text:
    """The tree of a file.

    Args:
        file: the file.
        name: what faults call it; its path by default.

    Raises:
        InputError: not there, not readable, too long, not UTF-8, or what `parse` refuses.
    """
    name = name or str(file)
    return parse(read_text(file, name), name)
