"""The command that runs the sweep of earlier results again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["rerun_command"]

_LONGEST = 200
"""Characters of a text of a file that the command repeats."""


def rerun_command(kept: Mapping[str, Any], folder: Path | None = None) -> str:
    """The command that makes results anew, from what is known of them in any format.

    Args:
        kept: ``scenario``, ``quick`` and ``provenance`` of the results; what is not there counts as usual.
        folder: where they are, if the command is to write them there again.
    """
    provenance = kept.get("provenance")
    told: Mapping[str, Any] = provenance if isinstance(provenance, Mapping) else {}
    words = ["hostsim", "run", _text(told.get("file") or kept.get("scenario"))]
    words += ["--quick"] if kept.get("quick") is True else []
    if _text(told.get("seed", "1")) != "1":
        words += ["--seed", _text(told["seed"])]
    for change in filter(None, _text(told.get("set", "")).split("; ")):
        value = change.partition("=")[2]
        words += ["--axis" if "," in value and not value.startswith("[") else "--set", change]
    for plugin in filter(None, _text(told.get("plugins", "")).split("; ")):
        words += ["--plugin", plugin.partition(" ")[0]]
    if told.get("ensemble"):
        words += [f"--ensemble={_text(told['ensemble']).rpartition(' ')[0]}"]
    if folder is not None and folder.name != kept.get("scenario"):
        words += ["--output", str(folder)]
    return shlex.join(words)


def _text(value: object) -> str:
    """Text of a file that may come from somebody else: without control characters, and not too long."""
    return "".join(letter for letter in str(value) if letter.isprintable())[:_LONGEST]
