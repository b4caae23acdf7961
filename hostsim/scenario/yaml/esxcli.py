"""Reader of the output of ``esxcli system settings advanced list``: advanced settings of a real host, each with its line.

Only settings of ``/Net``, ``/Cpu`` and ``/Numa`` are kept; the rest of a host's list speaks of disks, memory and users.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hostsim.errors import Fault
from hostsim.scenario.yaml.vmx import FileSetting, FileSettings

__all__ = ["read_advanced"]

_LINE = re.compile(r"\s*(?P<key>[A-Z][A-Za-z ]*):(?:\s(?P<value>.*))?")
_PATH = re.compile(r"/(?P<name>\w+(?:/[\w.-]+)+)")
_KEPT = ("Net.", "Cpu.", "Numa.")
_ALLOWED = "output of `esxcli system settings advanced list`, blocks of Path, Type, Int Value and so on"


@dataclass
class _Block:
    """The lines of one setting."""

    line: int
    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def read_advanced(text: str, file: str) -> FileSettings:
    """Read the settings of such a list; returns them and its faults.

    Args:
        text: of the file.
        file: what faults call it.
    """
    faults: list[Fault] = []
    found: dict[str, FileSetting] = {}
    for block in _blocks(text, file, faults):
        entry = _entry(block, file, faults)
        if entry is None:
            continue
        if entry.name in found:
            message = f"stands twice, already on line {found[entry.name].line}"
            faults.append(Fault(message, entry.name, "", "each setting once", file=file, line=entry.line))
        else:
            found[entry.name] = entry
    if not found and not faults:
        faults.append(Fault("holds no settings", allowed=_ALLOWED, file=file))
    return tuple(entry for entry in found.values() if entry.name.startswith(_KEPT)), tuple(faults)


def _blocks(text: str, file: str, faults: list[Fault]) -> Iterator[_Block]:
    block: _Block | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None or not line.replace("\t", " ").isprintable():
            given = ascii(line.strip()[:60])
            faults.append(Fault("is not a line of a list of settings", "", given, "Key: value", file=file, line=number))
            continue
        key, value = match["key"].strip(), (match["value"] or "").strip()
        if key == "Path":
            if block is not None:
                yield block
            block = _Block(number)
        elif block is None:
            faults.append(Fault("stands before any Path", key, repr(value), _ALLOWED, file=file, line=number))
            continue
        block.values[key] = value
        block.lines[key] = number
    if block is not None:
        yield block


def _entry(block: _Block, file: str, faults: list[Fault]) -> FileSetting | None:
    path = block.values["Path"]
    match = _PATH.fullmatch(path)
    if match is None:
        allowed = "a path such as /Net/MaxPortRxQueueLen"
        faults.append(Fault("is not the path of a setting", "Path", repr(path), allowed, file=file, line=block.line))
        return None
    name = match["name"].replace("/", ".")
    kind = block.values.get("Type")
    if kind not in ("integer", "string"):
        given = "" if kind is None else repr(kind)
        message = "has no type: the list is cut short" if kind is None else "is not a type of settings"
        line = block.lines.get("Type", block.line)
        faults.append(Fault(message, f"{name}: Type", given, "integer or string", file=file, line=line))
        return None
    key = "Int Value" if kind == "integer" else "String Value"
    if key not in block.values:
        message = "is missing: the list is cut short"
        faults.append(Fault(message, f"{name}: {key}", "", f"{key}: ...", file=file, line=block.line))
        return None
    written, line = block.values[key], block.lines[key]
    is_default = written == block.values.get(f"Default {key}")
    if kind == "string":
        return FileSetting(name, written, line, is_default)
    if re.fullmatch(r"-?\d{1,20}", written) is None:
        faults.append(Fault("is not an integer", f"{name}: {key}", repr(written), "an integer", file=file, line=line))
        return None
    return FileSetting(name, int(written), line, is_default)
