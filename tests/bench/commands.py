"""The long commands in a new clone of this checkout, timed: what is committed, set up and run from nothing."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

COMMANDS: dict[str, tuple[str, ...]] = {
    "setup": ("make", "setup"),
    "reproduce": ("make", "reproduce"),
    "reproduce_full": ("make", "reproduce", "FULL=1", "RESULTS=build/full"),
    "ci": (".ci/run",),
}
"""Each with nothing stored, and but for `ci` in the clone of those before it."""


def run(commands: dict[str, tuple[str, ...]] = COMMANDS, source: Path = Path()) -> dict[str, float]:
    """Wall times of the commands, in seconds; one that fails is not timed, and what it said goes to stderr."""
    figures = {}
    with TemporaryDirectory() as folder:
        for name, command in commands.items():
            clone = Path(folder, "ci" if name == "ci" else "clone")
            if not clone.exists():
                subprocess.run(["git", "clone", "--quiet", str(source.resolve()), str(clone)], check=True)
            started = time.perf_counter()
            done = subprocess.run(command, cwd=clone, stdout=subprocess.DEVNULL, check=False)
            if not done.returncode:
                figures[f"{name}_wall_s"] = time.perf_counter() - started
    return figures
