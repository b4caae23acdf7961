"""Fixture of the tests of checks: the working folder."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults name files relative to the working folder."""
    monkeypatch.chdir(tmp_path)
