"""Versions of the code whose runs lie in a results folder: each has a folder of runs, with a file that says what it was made of.

Runs of another version are never reused and never deleted. When one of them would have served, the difference is put in words.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hostsim.campaign.source_digest import Code
from hostsim.files import write_whole

__all__ = ["ABOUT", "describe", "difference"]

ABOUT = "about.json"
"""File beside the runs of a version: hostsim and Python, day of the first run, and the parts of the code."""
_MOST_VERSIONS, _MOST_PARTS = 3, 6
"""Longest lists in a note."""


def describe(folder: Path, code: Code) -> None:
    """Write what the code of a folder of runs is made of.

    Raises:
        StoreError: it cannot be written.
    """
    about = {
        "hostsim": importlib.metadata.version("hostsim"),
        "python": platform.python_version(),
        "first_run": datetime.now(UTC).date().isoformat(),
        "parts": dict(sorted(code.parts.items())),
    }
    write_whole(folder / ABOUT, (json.dumps(about, indent=1) + "\n").encode())


def difference(folders: Sequence[Path], code: Code) -> str:
    """The runs that other versions of the code have left, and the modules in which these differ, in words.

    Args:
        folders: one of each version, the latest first.
        code: the code in use.
    """
    lines = [_line(folder, code) for folder in folders[:_MOST_VERSIONS]]
    if more := folders[_MOST_VERSIONS:]:
        runs = sum(_runs(folder) for folder in more)
        lines.append(f"{_counted(runs, 'run')} of {_counted(len(more), 'older version')}")
    return "\n".join(f"  {line}" for line in lines)


def _line(folder: Path, code: Code) -> str:
    counted = f"{folder.name}: {_counted(_runs(folder), 'run')}"
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        differing = ", ".join(_differing(about["parts"], code.parts))
        return f"{counted} of hostsim {about['hostsim']}, the first on {about['first_run']}; differs in {differing}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no file, or not one that `describe` wrote
        return f"{counted} of an earlier version, which did not note its modules"


def _runs(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.parquet"))


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Parts that differ, came or went, as many as can be read at once."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    more = len(names) - _MOST_PARTS
    return [*names[:_MOST_PARTS], f"and {more} more"] if more > 0 else names


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
