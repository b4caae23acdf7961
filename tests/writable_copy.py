"""Copies of parts of the checkout that a test may change, as the checkout may be read-only."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path


def copy_tree(source: Path, target: Path, *ignored: str) -> None:
    """Copy a folder without byte code and names of these patterns, into one that may exist; or a file."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", *ignored), dirs_exist_ok=True)
    else:
        shutil.copy(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
