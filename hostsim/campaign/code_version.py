"""Versions of the code with runs in a results folder: each has a folder of runs, with a file that describes the code.

Runs of another version are never reused, and only `hostsim.campaign.stored_run` deletes them. If only the code prevents reuse, the difference is described.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hostsim.campaign.source_digest import Code
from hostsim.config.files import write_whole
from hostsim.errors import StoreError
from hostsim.results.confinement import confined

__all__ = ["ABOUT", "describe", "difference"]

ABOUT = "about.json"
"""File beside the runs of a version: hostsim and Python, day of the first run, and the parts of the code."""
_MOST_VERSIONS, _MOST_PARTS = 3, 6
"""Longest lists in a note."""
_MOST_BYTES = 64 * 1024
"""Size limit of the file `ABOUT`; `describe` writes a tenth of it."""
_LONGEST = 80
"""Characters of a name or a version in a note."""


def describe(results: Path, folder: Path, code: Code) -> None:
    """Write the description of a version's code beside its runs, unless it exists.

    Args:
        results: the results folder.
        folder: the folder of runs, below it.
        code: the code in use.

    Raises:
        StoreError: it cannot be written, or a link leads out of the results folder.
    """
    file = confined(results, folder / ABOUT)
    if file.exists():
        return
    about = {
        "hostsim": importlib.metadata.version("hostsim"),
        "python": platform.python_version(),
        "first_run": datetime.now(UTC).date().isoformat(),
        "parts": dict(sorted(code.parts.items())),
    }
    write_whole(file, (json.dumps(about, indent=1) + "\n").encode())


def difference(results: Path, folders: Sequence[Path], code: Code) -> str:
    """Describe the runs of other versions of the code, and the modules that differ.

    The files are untrusted: no link out of the results folder is followed, and text is made printable and truncated.

    Args:
        results: the results folder.
        folders: one of each version, the latest first.
        code: the code in use.
    """
    lines = [_line(results, folder, code) for folder in folders[:_MOST_VERSIONS]]
    if more := folders[_MOST_VERSIONS:]:
        runs = sum(_runs(folder) for folder in more)
        lines.append(f"{_counted(runs, 'run')} of {_counted(len(more), 'older version')}")
    return "\n".join(f"  {line}" for line in lines)


def _line(results: Path, folder: Path, code: Code) -> str:
    counted = f"{_printable(folder.name)}: {_counted(_runs(folder), 'run')}"
    try:
        about = _read(confined(results, folder / ABOUT))
        differing = ", ".join(map(_printable, _differing(about["parts"], code.parts)))
        version, day = _printable(about["hostsim"]), _printable(about["first_run"])
        return f"{counted} of hostsim {version}, the first on {day}; differs in {differing}"
    # no file, or not one that `describe` wrote
    except (StoreError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{counted} of an earlier version, which did not note its modules"


def _read(file: Path) -> Any:
    """The content of a JSON file.

    Raises:
        ValueError: it is too large, or no JSON.
    """
    with file.open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError("too large")
    return json.loads(data)


def _printable(text: Any) -> str:
    """Text without control characters, truncated to the length of a name.

    Raises:
        TypeError: it is no text.
    """
    if not isinstance(text, str):
        raise TypeError("no text")
    return "".join(letter for letter in text if letter.isprintable())[:_LONGEST]


def _runs(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.parquet"))


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Changed, added and removed parts; long lists are shortened."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    more = len(names) - _MOST_PARTS
    return [*names[:_MOST_PARTS], f"and {more} more"] if more > 0 else names


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
