"""Strict YAML: text becomes a plain tree, and every place in the tree knows its line.

Stricter than PyYAML where a slip would pass unseen: a key may stand once only, keys are text, booleans are ``true`` and ``false`` and
nothing else (``on`` and ``no`` stay text, as does ``TRUE``, which is a word of ``.vmx`` files), ``1e5`` is a number, and
tags, anchors, aliases, several documents and files of more than 4 MiB are refused. What the keys mean is not known here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hostsim.errors import Fault, InputError

__all__ = ["MAX_BYTES", "KeyPath", "Text", "parse", "parse_value", "read"]

MAX_BYTES = 4 * 1024 * 1024
"""Longest file that is read."""
MAX_DEPTH = 40
"""Deepest nesting that is read."""

KeyPath = tuple[str | int, ...]
"""Where a value stands in a tree: keys of mappings, positions in lists."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a file says."""

    tree: Any
    """Mappings as dict, lists as tuple, and text, numbers, booleans or None."""
    lines: Mapping[KeyPath, int]
    """Line of every key and every list entry, from 1."""


class _Loader(yaml.SafeLoader):
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

    def document(self) -> Any:
        """The tree of the only document."""
        self.loader.get_event()
        if self.loader.check_event(yaml.StreamEndEvent):
            self.faults.append(Fault("is empty", file=self.file))
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
            self.lines[place] = _line(event)
            entries[key] = self.node(place)
        self.loader.get_event()
        return entries

    def scalar(self, path: KeyPath, event: yaml.ScalarEvent) -> Any:
        text = event.value
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


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def parse(text: str, file: str) -> Text:
    """The tree of a document.

    Args:
        text: the document.
        file: what faults call it.

    Raises:
        InputError: syntax, and everything that this reader refuses; as many faults as can be told apart.
    """
    try:
        reader = _Reader(_Loader(text), file)
    except yaml.reader.ReaderError as error:
        message = f"holds the character {error.character!r}, which YAML does not allow"
        raise InputError(Fault(message, file=file, line=text.count("\n", 0, error.position) + 1)) from None
    try:
        tree = reader.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ", ".join(part for part in (error.context, error.problem) if part)
        fault = Fault(f"is not YAML: {message}", file=file, line=mark.line + 1 if mark else None)
        raise InputError([*reader.faults, fault]) from None
    if reader.faults:
        raise InputError(reader.faults)
    return Text(tree, reader.lines)


def parse_value(text: str, origin: str) -> Any:
    """A value that stands on a command line: a number, text, or a list in brackets; faults name ``origin``."""
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
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(Fault("file not found", file=name)) from None
    except OSError as error:
        raise InputError(Fault(f"cannot be read: {error.strerror}", file=name)) from None
    if len(data) > MAX_BYTES:
        raise InputError(Fault("is too long", file=name, allowed=f"at most {MAX_BYTES // 2**20} MiB"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(Fault("is not UTF-8", file=name, line=line, given=f"byte 0x{data[error.start]:02x}")) from None
    return parse(text, name)
