"""Scenario texts with single changes for tests, loaded from separate files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hostsim.errors import InputError
from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario


def changed(text: str, *changes: tuple[str, str]) -> str:
    """The text with the first occurrence of each old text replaced."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def load_changed(file: Path, text: str, *changes: tuple[str, str], **options: Any) -> Scenario:
    """Load the changed text from a file."""
    file.write_text(changed(text, *changes), encoding="utf-8")
    return load(file, **options)


def faults_of(file: Path, text: str, *changes: tuple[str, str]) -> str:
    """The faults of the changed text."""
    with pytest.raises(InputError) as caught:
        load_changed(file, text, *changes)
    return str(caught.value)
