"""Commits of files, asked of git: whether a file is committed, and in which commit a text came into it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hostsim.errors import Fault, InputError
from hostsim.files import display_name, is_below

__all__ = ["commit_of", "first_commit_with"]


def commit_of(file: Path, others: Sequence[Path], why: str) -> str:
    """The last commit that touched one of some files, all of which are committed as they are.

    Args:
        file: its repository is meant.
        others: further files; those that lie outside the repository do not count.
        why: what they are committed before, for the fault.

    Raises:
        InputError: a file differs from what is committed, or git does not know it; a fault for each.
    """
    allowed = f"a file that is committed {why}"
    top = _git(file.parent, "rev-parse", "--show-toplevel")
    files = [file, *(other for other in others if top is not None and is_below(other, Path(top)))]
    faults = []
    for file in files:
        known = _git(file.parent, "ls-files", "--error-unmatch", "--", file.name)
        if known is None:
            faults.append(Fault("is not committed", allowed=allowed, file=display_name(file)))
        elif _git(file.parent, "status", "--porcelain", "--", file.name):
            faults.append(Fault("differs from what is committed", allowed=allowed, file=display_name(file)))
    if faults:
        raise InputError(faults)
    paths = [str(file.resolve()) for file in files]
    return _git(files[0].parent, "log", "-1", "--format=%H", "--", *paths) or ""


def first_commit_with(file: Path, text: str) -> str | None:
    """The first commit in which a file had a text; None where none has, or there is no git or no repository."""
    found = _git(file.parent, "log", "--reverse", "--format=%H", f"-S{text}", "--", file.name)
    return found.splitlines()[0] if found else None


def _git(folder: Path, *arguments: str) -> str | None:
    """What a command of git prints, without the last line end; None where it fails."""
    program = shutil.which("git")
    if program is None:
        return None
    command = [program, "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # no shell, our own words
    return done.stdout.strip() if done.returncode == 0 else None
