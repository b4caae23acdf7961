"""Strict YAML parser with the line of every value, its syntax errors, and the writer of YAML."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hostsim.config.files import read_text
from hostsim.errors import Fault, InputError, raise_faults

__all__ = [
    "MAX_DEPTH",
    "MAX_KEYS",
    "MAX_TEXT",
    "MAX_VALUES",
    "KeyPath",
    "Text",
    "parse",
    "parse_value",
    "read",
    "syntax_fault",
    "unprintable",
    "write_yaml",
]


_PLAIN = "text in quotes if it begins with a sign such as @ ` % or contains a colon and a space"


def syntax_fault(error: yaml.MarkedYAMLError, text: str, file: str) -> Fault:
    """The fault of a text that is not valid YAML.

    Args:
        error: of the parser.
        text: its input.
        file: its name in the fault.
    """
    mark = error.problem_mark or error.context_mark
    end = min(mark.index, len(text)) if mark else 0
    if text[end : end + 1] in ("", "\n"):
        end = max(len(text[:end].rstrip()) - 1, 0)  # at the end of the text, the parser reports the line after the last
    start = text.rfind("\n", 0, end) + 1
    line_number, here = text.count("\n", 0, start) + 1, _line_at(text, start)
    opened = error.context_mark.line + 1 if error.context_mark else line_number
    if "mapping values are not allowed" in (error.problem or "") and start:
        before = text.rfind("\n", 0, start - 1) + 1
        if _has_no_colon(_line_at(text, before)):  # this line was parsed as part of the same text
            given = repr(_line_at(text, before).strip()[:60])
            message = "is not a key: the colon, or the space after it, is missing"
            return Fault(message, given=given, allowed="key: value", file=file, line=line_number - 1)
    message, allowed = _words(error.problem or "", error.context or "", here, opened)
    if not message:
        message = "is not YAML: " + ", ".join(part for part in (error.context, error.problem) if part)
    return Fault(
        message, given=repr(here.strip()[:60]) if here.strip() else "", allowed=allowed, file=file, line=line_number
    )


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)]


def _has_no_colon(line: str) -> bool:
    text = line.strip()
    return bool(text) and ": " not in text and not text.endswith(":") and not text.startswith(("#", "- ", "["))


def _words(problem: str, context: str, here: str, opened: int) -> tuple[str, str]:
    """The problem and the allowed text; empty if unknown."""
    if "\t" in here[: len(here) - len(here.lstrip())]:
        return "is indented with a tab", "spaces"
    if "flow sequence" in context:
        return f"does not continue the list that opens on line {opened}", "a comma or ]"
    if "flow mapping" in context:
        return f"does not continue the mapping that opens on line {opened}", "a comma or }"
    if "flow node" in context:
        return "lacks a value", "a value, or the bracket that closes"
    if "quoted scalar" in context and "end of" in problem:
        return f"ends inside the quotes that open on line {opened}", "a closing quote"
    if "escape" in problem:
        return (
            "has a backslash before a character that cannot be escaped",
            r"text in single quotes, or \\ for a backslash",
        )
    if "cannot start any token" in problem:
        return "begins a value with a sign that YAML reserves", _PLAIN
    if "mapping values are not allowed" in problem:
        return "has a misplaced colon", "one key: value on each line, indented like its neighbours"
    if "could not find expected ':'" in problem:
        return "is not a key: the colon is missing", "key: value"
    if "block mapping" in context or "block collection" in context:
        return (
            "is not indented like its neighbours",
            f"keys, or entries with -, of the block that begins on line {opened}",
        )
    return "", ""


MAX_DEPTH = 40
"""Limit of the nesting."""
MAX_VALUES = 20_000
"""Largest number of keys and list entries in a file."""
MAX_KEYS = 1_000
"""Largest number of keys of a mapping."""
MAX_TEXT = 10_000
"""Largest number of characters of a text."""
_MOST_FAULTS = 100
"""Number of faults after which reading stops."""

KeyPath = tuple[str | int, ...]
"""Path of a value in a tree: keys of mappings, and positions in lists."""


@dataclass(frozen=True)
class Text:
    """A parsed text: its tree, and the line of every value."""

    tree: Any
    """Mappings as dict, lists as tuple, and text, numbers, booleans or None."""
    lines: Mapping[KeyPath, int]
    """Line of every key and every list entry, from 1."""


# the parser in C, if available: twenty times as fast
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # mypy cannot follow the choice
    """PyYAML with the scalars of YAML 1.2, without infinity, octal numbers, and booleans other than lower case."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  as in PyYAML


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
    """A `_Loader`; PyYAML's methods are untyped."""
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
            self.fault("contains more than one document", (), self.loader.peek_event(), allowed="one document")
        return tree

    def node(self, path: KeyPath) -> Any:
        event = self.loader.get_event()
        if len(path) > MAX_DEPTH:
            self.fault("is nested too deeply", path[:3], event, allowed=f"at most {MAX_DEPTH} levels")
            raise InputError(self.faults)
        if len(self.lines) > MAX_VALUES:
            self.fault(
                "is more than the allowed number of values",
                path[:3],
                event,
                allowed=f"at most {MAX_VALUES} keys and entries in a file",
            )
            raise InputError(self.faults)
        if isinstance(event, yaml.AliasEvent):
            self.fault("aliases are not allowed", path, event, f"*{event.anchor}", "the value itself")
            return None
        if event.anchor is not None:
            self.fault("anchors are not allowed", path, event, f"&{event.anchor}", "the value itself")
        if event.tag is not None:
            self.fault("tags are not allowed", path, event, event.tag, "a value without a tag")
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        return self.scalar(path, event)

    def sequence(self, path: KeyPath) -> tuple[Any, ...]:
        entries: list[Any] = []
        while not self.loader.check_event(yaml.SequenceEndEvent):
            inner = (*path, len(entries))
            self.lines[inner] = _line(self.loader.peek_event())
            entries.append(self.node(inner))
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
            inner = (*path, key)
            if key in entries:
                first = self.lines[inner]
                self.fault(f"duplicate key, already on line {first}", inner, event, allowed="each key once")
                self.node(inner)
                self.lines[inner] = first
                continue
            if len(entries) == MAX_KEYS:
                self.fault(
                    "is more than the allowed number of keys",
                    inner[:3],
                    event,
                    allowed=f"at most {MAX_KEYS} keys of a mapping",
                )
                raise InputError(self.faults)
            self.lines[inner] = _line(event)
            entries[key] = self.node(inner)
        self.loader.get_event()
        return entries

    def scalar(self, path: KeyPath, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if len(text) > MAX_TEXT:
            self.fault("is too long", path, event, f"{len(text)} characters", f"at most {MAX_TEXT} characters")
            return ""
        if (odd := unprintable(text)) is not None:
            allowed = "text of letters, digits and signs, with line feeds and tabs"
            self.fault(f"contains the non-printable character {odd!a}", path, event, allowed=allowed)
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
            self.fault("has too many digits", path, event, text[:40], "a number of at most 40 characters")
            return 0
        if kind == "int":
            return int(text)
        # 1e5 counts as an integer, like 100000; 2.0 does not
        return int(value) if "." not in text and value.is_integer() and abs(value) < 2**53 else value


def unprintable(text: str) -> str | None:
    """The first invisible character with an effect on a terminal: controls, and changes of the writing direction."""
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
        file: its name in faults.

    Raises:
        InputError: errors of syntax, and all content that this reader refuses.
    """
    faults: list[Fault] = []
    try:
        reader = _Reader(_Loader(text), file, faults)
        tree = reader.document()
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        letter = error.character if isinstance(error.character, str) else chr(error.character)
        message = f"contains the character {letter!a}, which YAML does not allow"
        raise InputError([*faults, Fault(message, file=file, line=text.count("\n", 0, position) + 1)]) from None
    except UnicodeEncodeError as error:  # a surrogate, from an argument that is not UTF-8
        message = f"contains the character {text[error.start]!a}, which YAML does not allow"
        raise InputError(Fault(message, file=file, line=text.count("\n", 0, error.start) + 1)) from None
    except yaml.MarkedYAMLError as error:
        raise InputError([*faults, syntax_fault(error, text, file)]) from None
    raise_faults(reader.faults)
    return Text(tree, reader.lines)


def parse_value(text: str, origin: str) -> Any:
    """Parse a value of the command line: a number, a text, or a list in brackets. Faults name ``origin``."""
    return parse(text, origin).tree if text.strip() else ""


def read(file: Path, name: str | None = None) -> Text:
    """The tree of a file.

    Args:
        file: the file.
        name: in faults; its path by default.

    Raises:
        InputError: missing, unreadable, too long, not UTF-8, or refused by `parse`.
    """
    name = name or str(file)
    return parse(read_text(file, name), name)


def write_yaml(tree: Any) -> str:
    """The text of a tree of mappings, lists and scalars, with keys in order."""
    return yaml.safe_dump(_plain(tree), sort_keys=False, allow_unicode=True, width=160, default_flow_style=None)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value
