"""Reader of a real host's advanced settings: output of ``esxcli system settings advanced list`` or PowerCLI.

Only settings of ``/Net``, ``/Cpu`` and ``/Numa`` are kept; the others concern disks, memory and users. A list consists
of blocks of lines or, with ``--formatter``, of CSV, JSON or XML; PowerCLI's ``Get-AdvancedSetting`` with ``Export-Csv``
writes names with dots.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from hostsim.errors import Fault
from hostsim.scenario.yaml.foreign_text import format_of, has_controls, lines_of
from hostsim.scenario.yaml.machine import FileSetting, FileSettings

__all__ = ["read_advanced"]

_LINE = re.compile(r"\s*(?P<key>[A-Z][A-Za-z ]*):(?:\s(?P<value>.*))?")
_PATH = re.compile(r"/(?P<name>[\w-]+(?:/[\w.-]+)+)")
_PROMPT = re.compile(r"\s*(?:\[[\w.-]+@[^\]]*\]|(?:[\w.-]+@\S+|~|PS [A-Z]:[^>]*)\s?[#$>]).*")
"""A shell line that was copied with the output of a command."""
_KEPT = ("net.", "cpu.", "numa.")
_ALLOWED = "output of `esxcli system settings advanced list`, blocks of Path, Type, Int Value and so on"
_TEXTS = ("Description", "String Value", "Default String Value", "Valid Characters")
"""Keys whose values may have several lines."""
_KEYS = (*_TEXTS, "Type", "Int Value", "Default Int Value", "Min Value", "Max Value", "Host Specific", "Impact")
"""Keys of a block other than its path."""
_DOCUMENT = re.compile(r"\s*(?:<\?xml|<output|\[\s*(?:\{|\]|$)|\{)")
"""Beginnings of XML and JSON documents."""
_COLUMN = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Positions of blanks that turn a column name into a key of a block: ``IntValue`` is ``Int Value``."""


@dataclass
class _Block:
    """A listed setting, by the keys of a block of lines."""

    line: int
    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def read_advanced(text: str, file: str) -> FileSettings:
    """Read the settings of such a list; returns them and its faults.

    Args:
        text: of the file.
        file: its name in faults.
    """
    faults: list[Fault] = []
    settings: dict[str, FileSetting] = {}
    for block in _blocks_of(text, file, faults):
        entry = _entry(block, file, faults)
        if entry is None:
            continue
        if entry.name in settings:
            message = f"is given twice, already on line {settings[entry.name].line}"
            faults.append(Fault(message, entry.name, "", "each setting once", file=file, line=entry.line))
        else:
            settings[entry.name] = entry
    return tuple(settings.values()), tuple(faults)


def _blocks_of(text: str, file: str, faults: list[Fault]) -> Iterable[_Block]:
    lines = lines_of(text)
    if any(re.match(r"\s*Path: ?", line) for line in lines):
        return _blocks(lines, file, faults)
    plain = ["" if _PROMPT.fullmatch(line) else line for line in lines]
    if not any(map(str.strip, plain)):
        return ()
    first = next((index for index, line in enumerate(plain) if _DOCUMENT.match(line)), 0)
    document = "\n".join(["", *plain[first:]])
    try:
        if "<list" in document:
            return _xml(document.lstrip(), first + 1)
        if _DOCUMENT.match(plain[first]):
            return list(_json(document, first))
        table = _table("\n".join(plain))
        if table is not None:
            return table
    except (ValueError, RecursionError, csv.Error, expat.ExpatError):
        pass  # the text is not in the format that its beginning suggests
    line = next(line_number for line_number, line in enumerate(lines, 1) if line.strip())
    other_format = format_of(text)
    message = (
        f"is {other_format}, not a list of advanced settings" if other_format else "is not a list of advanced settings"
    )
    faults.append(Fault(message, "", ascii(lines[line - 1].strip()[:60]), _ALLOWED, file=file, line=line))
    return ()


# --- forms of a list


def _blocks(lines: Iterable[str], file: str, faults: list[Fault]) -> Iterator[_Block]:
    """Blocks of lines; text before the first one, such as a prompt or a banner, is skipped."""
    block: _Block | None = None
    last = ""
    for line_number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        key = match["key"].strip() if match is not None else ""
        if block is None and key != "Path":
            if key in _KEYS:
                given = repr((match["value"] or "").strip()) if match is not None else ""
                faults.append(Fault("is above the first Path", key, given, _ALLOWED, file=file, line=line_number))
            continue
        if match is None or has_controls(line):
            if not has_controls(line) and (last in _TEXTS or _PROMPT.fullmatch(line)):
                continue  # continuation line of a text
            given = ascii(line.strip()[:60])
            faults.append(
                Fault("is not a line of a list of settings", "", given, "Key: value", file=file, line=line_number)
            )
            continue
        if key == "Path":
            if block is not None:
                yield block
            block = _Block(line_number)
        assert block is not None
        block.values.setdefault(key, (match["value"] or "").strip())
        block.lines.setdefault(key, line_number)
        last = key
    if block is not None:
        yield block


def _record(record: Iterable[tuple[Any, Any]], line: int) -> _Block | None:
    """The block of a record; None if the record is not a setting."""
    values = {_COLUMN.sub(" ", str(key)): _plain(value) for key, value in record if key and value is not None}
    if "Path" not in values and "Name" in values and "Value" in values:  # PowerCLI
        values["Path"] = "/" + values["Name"].replace(".", "/")
        written = values["Value"]
        values |= (
            {"Int Value": written, "Type": "integer"}
            if _is_integer(written)
            else {"String Value": written, "Type": "string"}
        )
    if "Path" not in values:
        return None
    if "Type" not in values:
        values["Type"] = "integer" if values.get("Int Value") else "string"
    return _Block(line, values, dict.fromkeys(values, line))


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _table(text: str) -> list[_Block] | None:
    """The rows of CSV; None if no line has the columns of a list of settings."""
    lines = io.StringIO(text, newline="")
    skipped, header = 0, ""
    for header in lines:
        skipped += 1
        names = {name.strip().strip('"') for name in re.split("[,;\t]", header)}
        if "Path" in names or {"Name", "Value"} <= names:
            break
    else:
        return None
    delimiter = max(",;\t", key=header.count)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    columns = next(csv.reader([header], delimiter=delimiter))
    blocks = []
    line = skipped + 1
    for row in rows:
        block = _record(zip((column.strip() for column in columns), row, strict=False), line)
        if block is not None and block.values["Path"]:
            blocks.append(block)
        line = skipped + rows.line_num + 1
    return blocks


def _json(text: str, line: int) -> Iterator[_Block]:
    """The records of JSON: a list of settings, or one.

    Args:
        text: the document.
        line: number of its first line.

    Raises:
        ValueError: the text is not JSON, or not a list of settings.
    """
    records = json.loads(text)
    start = 0
    for record in records if isinstance(records, list) else [records]:
        block = _record(record.items(), 1) if isinstance(record, dict) else None
        if block is None:
            raise ValueError("is not a list of settings")
        name = str(record.get("Path", record.get("Name")))
        at = max(text.find(json.dumps(name), start), start)  # the parser does not keep line numbers
        line, start = line + text.count("\n", start, at), at
        yield _Block(line, block.values, dict.fromkeys(block.values, line))


def _xml(text: str, first: int) -> list[_Block]:
    """The structures of XML.

    Args:
        text: the document.
        first: number of its first line.

    Raises:
        ExpatError: the text is not XML. ValueError: it is not a list of settings, or has a document type, which could
            declare endless entities.
    """
    blocks: list[_Block] = []
    record: dict[str, str] = {}
    key, line, others = "", first, 0
    parser = expat.ParserCreate()

    def refuse(*_: Any) -> None:
        raise ValueError("has a document type")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal key, line
        if name == "structure":
            record.clear()
            line = first - 1 + parser.CurrentLineNumber
        elif name == "field":
            key = attributes.get("name", "")
            record[key] = ""

    def end(name: str) -> None:
        nonlocal key, others
        if name == "field":
            key = ""
        elif name == "structure" and (block := _record(record.items(), line)) is not None:
            blocks.append(block)
        elif name == "structure":
            others += 1

    def characters(data: str) -> None:
        if key:
            record[key] += data

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    parser.buffer_text = True
    parser.Parse(text, True)
    if others:
        raise ValueError("is a list of another kind")
    return blocks


# --- settings


def _is_integer(text: str) -> bool:
    return re.fullmatch(r"-?\d{1,20}", text) is not None


def _entry(block: _Block, file: str, faults: list[Fault]) -> FileSetting | None:
    """The setting of a block; None if it is irrelevant or faulty."""
    path = block.values["Path"]
    if re.match(r"/[^/]+/.", path) and not path.replace("/", ".")[1:].casefold().startswith(_KEPT):
        return None
    match = _PATH.fullmatch(path)
    if match is None:
        allowed = "a path such as /Net/MaxPortRxQueueLen"
        faults.append(Fault("is not the path of a setting", "Path", repr(path), allowed, file=file, line=block.line))
        return None
    name = match["name"].replace("/", ".")
    kind = block.values.get("Type")
    if kind is None or kind.casefold() not in ("integer", "string"):
        given = "" if kind is None else repr(kind)
        message = "has no type: the list is cut short" if kind is None else "is not a type of settings"
        line = block.lines.get("Type", block.line)
        faults.append(Fault(message, f"{name}: Type", given, "integer or string", file=file, line=line))
        return None
    key = "Int Value" if kind.casefold() == "integer" else "String Value"
    if key not in block.values:
        message = "is missing: the list is cut short"
        faults.append(Fault(message, f"{name}: {key}", "", f"{key}: ...", file=file, line=block.line))
        return None
    written, line = block.values[key], block.lines[key]
    is_default = written == block.values.get(f"Default {key}")
    if key == "String Value":
        return FileSetting(name, written, line, is_default)
    if not _is_integer(written):
        faults.append(Fault("is not an integer", f"{name}: {key}", repr(written), "an integer", file=file, line=line))
        return None
    return FileSetting(name, int(written), line, is_default)
