"""The long commands in a new clone of this checkout, timed: the committed state, set up and run from scratch."""

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
"""Each without stored runs, and except for `ci` in the clone of the previous ones."""


def run(commands: dict[str, tuple[str, ...]] = COMMANDS, source: Path = Path()) -> dict[str, float]:
    """Wall times of the commands in seconds; a failing one is not timed, and its output goes to stderr."""
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
