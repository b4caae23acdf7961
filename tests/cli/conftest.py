"""A small scenario, and the command line to run it with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hostsim.cli.app import app
from tests.tiny_scenario import TINY

Cli = Callable[..., Result]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scenario's file, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture
def cli() -> Cli:
    """The command line in this process; stdout and stderr apart."""
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])
