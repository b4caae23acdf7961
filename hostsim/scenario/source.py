"""The source of a scenario: a file, YAML text, or a Python mapping of the same keys, read into a tree."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

from hostsim.config.files import display_name
from hostsim.errors import Fault, InputError, is_integer, raise_faults
from hostsim.scenario.shipped_data import find_scenario
from hostsim.scenario.yaml.reader import MAX_DEPTH, MAX_KEYS, MAX_TEXT, MAX_VALUES, KeyPath, parse, unprintable
from hostsim.scenario.yaml.source_tree import Place, Tree, keys

__all__ = ["PYTHON", "TEXT", "Source", "is_text", "read_source"]

PYTHON = "Python"
"""File name in places of a mapping."""
TEXT = "YAML text"
"""File name in places of text."""
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,80}", re.ASCII)
_POSITION = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Source:
    """A scenario as it was written, without options."""

    file: Path
    """The file. Text and mappings have a name in the working folder that need not exist; relative paths start there."""
    tree: Tree
    name: str
    """Its name in places: the file relative to the working folder, `TEXT` or `PYTHON`."""

    def located(self, error: InputError) -> InputError:
        """The error, with a Python path for each fault in a mapping: ``scenario["vms"]["web"]["count"]``."""
        if self.name != PYTHON:
            return error
        return InputError(
            replace(fault, path=f"scenario{_subscripts(self.tree.data, fault.path)}", file="")
            if fault.file == PYTHON
            else fault
            for fault in error.faults
        )


def is_text(scenario: object) -> bool:
    """True for YAML text: several lines, or one line in braces, unlike names and paths."""
    return isinstance(scenario, str) and ("\n" in scenario or scenario.lstrip().startswith("{"))


def read_source(scenario: str | Path | Mapping[str, Any] | Source) -> Source:
    """Read a scenario.

    Args:
        scenario: name of a shipped one, path of a file, YAML text, or a mapping with the keys and values of a file.

    Raises:
        InputError: missing, unreadable, not YAML, or a mapping with values that no file can have.
    """
    if isinstance(scenario, Source):
        return scenario
    if isinstance(scenario, Mapping):
        return _without_file(_Plain().tree(scenario), PYTHON)
    if is_text(scenario):
        text = parse(str(scenario), TEXT)
        return _without_file(
            Tree(text.tree, {path: Place(TEXT, line) for path, line in text.lines.items()}, TEXT), TEXT
        )
    if not isinstance(scenario, str | Path):
        allowed = "a name, a path, YAML text, a mapping with the keys of a file, or a loaded scenario"
        raise InputError(Fault("is not a scenario", "scenario", f"{type(scenario).__name__} {scenario!r:.60}", allowed))
    file = find_scenario(scenario)
    return Source(file, Tree.of(file, display_name(file)), display_name(file))


def _without_file(tree: Tree, name: str) -> Source:
    """A source without a file."""
    written = tree.get(("scenario",))
    stem = written if isinstance(written, str) and _NAME.fullmatch(written) else "scenario"
    return Source(Path.cwd() / f"{stem}.yaml", tree, name)


def plain_number(value: Real) -> int | float:
    """A number of any library as Python's; a whole one is an integer, as in a file."""
    if is_integer(value):
        return int(value)  # type: ignore[call-overload,no-any-return]
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class _Plain:
    """The plain values of a Python mapping, as read from a file and within its limits."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._places: dict[KeyPath, Place] = {}

    def tree(self, scenario: Mapping[Any, Any]) -> Tree:
        """The tree of a mapping; places are paths instead of lines.

        Raises:
            InputError: with all keys and values that a file cannot have.
        """
        data = self._value(scenario, ())
        raise_faults(self._faults)
        return Tree(data, self._places, PYTHON)

    def _fault(self, message: str, path: KeyPath, value: object, allowed: str) -> None:
        given = f"{type(value).__name__} {value!r:.60}" if not isinstance(value, str) else repr(value[:60])
        self._faults.append(Fault(message, f"scenario{_subscripted(path)}", given, allowed))

    def _value(self, value: Any, path: KeyPath) -> Any:
        self._places[path] = Place(PYTHON, None, path)
        if len(path) > MAX_DEPTH or len(self._places) > MAX_VALUES:
            allowed = f"at most {MAX_DEPTH} levels and {MAX_VALUES} keys and entries"
            raise InputError(
                Fault("is nested too deeply or too large", f"scenario{_subscripted(path[:3])}", "", allowed)
            )
        if isinstance(value, Mapping):
            return self._mapping(value, path)
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, Path):
            return value.as_posix()
        if value is None or isinstance(value, bool):
            return value
        if hasattr(value, "tolist"):  # an array or a scalar of numpy
            value = value.tolist()
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return tuple(self._value(entry, (*path, index)) for index, entry in enumerate(value))
        if isinstance(value, Real) and math.isfinite(value):
            return plain_number(value)
        self._fault(
            "is not a value of a scenario", path, value, "text, a number, True, False, None, a list or a mapping"
        )
        return None

    def _mapping(self, value: Mapping[Any, Any], path: KeyPath) -> dict[str, Any]:
        if len(value) > MAX_KEYS:
            self._fault("has too many keys", path, f"{len(value)} keys", f"at most {MAX_KEYS} keys of a mapping")
            return {}
        plain = {}
        for key, entry in value.items():
            if isinstance(key, str):
                plain[key] = self._value(entry, (*path, key))
            else:
                self._fault("key is not text", path, key, 'a word, or a number in quotes: "1"')
        return plain

    def _text(self, value: str, path: KeyPath) -> str:
        if len(value) > MAX_TEXT:
            self._fault("is too long", path, value, f"at most {MAX_TEXT} characters")
        elif (odd := unprintable(value)) is not None:
            allowed = "text of letters, digits and signs, with line feeds and tabs"
            self._fault(f"contains the non-printable character {odd!a}", path, value, allowed)
        return value


def _subscripts(data: Any, path: str) -> str:
    """A dotted path as subscripts of a mapping; its keys may contain dots."""
    steps: list[str | int] = []
    here, rest = data, path
    while rest:
        position = _POSITION.match(rest)
        if position is not None and isinstance(here, tuple) and int(position[1]) < len(here):
            index = int(position[1])
            here, rest = here[index], rest[position.end() :].removeprefix(".")
            steps.append(index)
            continue
        keys_of_data = (
            [key for key in here if re.match(re.escape(key) + r"(?=[.\[]|$)", rest)] if isinstance(here, dict) else []
        )
        if not keys_of_data:
            steps += [step for part in keys(rest) for step in _steps(str(part))]
            break
        key = max(keys_of_data, key=len)
        here, rest = here[key], rest[len(key) :].removeprefix(".")
        steps.append(key)
    return _subscripted(tuple(steps))


def _steps(part: str) -> list[str | int]:
    """A key of a dotted path with positions: ``values[0]``."""
    name = _POSITION.sub("", part)
    return [*([name] if name else []), *(int(position) for position in _POSITION.findall(part))]


def _subscripted(path: KeyPath) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f'["{key}"]' for key in path)
