"""A small scenario, and the command line to run it with."""

from __future__ import annotations

import shutil
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
def undrawn(tiny: Path) -> None:
    """Takes the figures, which need half of the time of a run, out of the scenario's file."""
    text = tiny.read_text().replace("figures:\n  cpu: {x: receivers, y: host_cpu, series: rate}\n", "")
    assert "figures" not in text
    tiny.write_text(text)


@pytest.fixture(scope="session")
def results_of_tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of `hostsim run tiny.yaml --quick`, run once."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.yaml").write_text(TINY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, ["run", "tiny.yaml", "--quick", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    return folder / "results"


@pytest.fixture
def tiny_run(tiny: Path, results_of_tiny: Path) -> Path:
    """The scenario's file, in the working directory, with the results of that run."""
    shutil.copytree(results_of_tiny, tiny.parent / "results")
    return tiny


@pytest.fixture
def cli() -> Cli:
    """The command line in this process, with stdout and stderr separate."""
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])
