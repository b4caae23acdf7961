"""The benchmark works on a tiny budget: its figures have the keys of its bars."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from hostsim.scenario.shipped_data import shipped
from tests.bench.bar import BARS, Bar
from tests.bench.busy import BUSY
from tests.bench.campaign import CAMPAIGNS
from tests.bench.campaign import run as run_campaign
from tests.bench.cases import CASES
from tests.bench.chart import draw, line, power_law, shared
from tests.bench.commands import COMMANDS
from tests.bench.commands import run as run_commands
from tests.bench.scale import HOSTS
from tests.bench.scale import run as run_scale
from tests.bench.sweep import run as run_sweep
from tests.bench.workers import SWEEPS, TINY, WORKERS, run_tiny
from tests.bench.workers import run as run_workers


def test_a_bar_says_whether_it_is_met() -> None:
    """A ratio or a figure, from above or below; without one of the two there is no output."""
    most, least = Bar("ratio", "a", "b", 0.5, at_least=False), Bar("figure", "a", None, 2, at_least=True)
    assert most.line({"a": 1.0, "b": 2.0}).endswith("0.500   at most 0.5: met")
    assert most.line({"a": 2.0, "b": 2.0}).endswith("1.000   at most 0.5: not met")
    assert least.line({"a": 2.0}).endswith("2.000   at least 2: met")
    assert least.line({"a": 1.0}).endswith("1.000   at least 2: not met")
    assert most.line({"a": 1.0, "b": None}).endswith("not measured   at most 0.5")


def test_every_bar_asks_for_a_figure_that_is_measured(tmp_path: Path) -> None:
    """Two VMs, three points: the programs print the keys of their bars."""
    figures = {"hostsim_dispatch_us", "floor_dispatch_us", *(f"{name}.dispatch_us" for name in BUSY)}
    figures |= {f"{name}.{kind}deliveries_per_s" for name in CASES for kind in ("", "ns3_")}
    figures |= {f"scale_{name}.{key}" for name in HOSTS for key in run_scale(2, 1, "20 ms")}
    sweeps = {name: run_sweep(tmp_path, 3) for name in ("sweep", "sweep_again")}
    figures |= {f"{name}.{key}" for name, sweep in sweeps.items() for key in sweep}
    figures |= {f"{name}.{key}" for name in WORKERS for key in run_workers(1, ())}
    figures |= {f"{name}.{jobs}.{key}" for name in TINY for jobs in WORKERS for key in run_tiny(1, name, 2)}
    figures |= {f"{name}.{key}" for name in CAMPAIGNS for key in run_campaign("tiny", 4)}
    figures |= {f"{name}_wall_s" for name in COMMANDS}
    assert {key for bar in BARS for key in (bar.of, bar.to) if key} <= figures
    assert len(list((tmp_path / "results").rglob("*"))) > 3


def test_the_chart_fits_each_law_to_figures_that_follow_it(tmp_path: Path) -> None:
    """A power, a start with a cost for each, and Amdahl's law; with a figure that was not measured."""
    x = np.array([1.0, 2.0, 8.0])
    for law, y, text in (
        (power_law, 3 * x**1.5, "proportional to the power 1.50"),
        (line, 2 + 5 * x, "2 s + 5e+03 ms for each"),
        (shared, 2 + 5 / x, "2 s + 5 s / workers"),
    ):
        fitted, found = law(x, y)
        assert found == text
        assert fitted == pytest.approx(y)
    draw({"sweep.beside_s": 20.0, "sweep_100.beside_s": 0.3, "sweep_1000.beside_s": None}, tmp_path / "bench.svg")
    assert "for each" in (tmp_path / "bench.svg").read_text(encoding="utf-8")


def test_the_sweeps_of_the_workers_are_among_those_of_reproduce() -> None:
    """By their names."""
    assert set(SWEEPS) <= set(shipped())


def test_a_command_is_timed_in_a_clone_and_only_where_it_succeeds(tmp_path: Path) -> None:
    """A clone has only the committed files; the commands share it."""
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "c"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "uncommitted").touch()
    commands = {"first": ("mkdir", "made"), "second": ("rmdir", "made"), "third": ("ls", "uncommitted")}
    assert set(run_commands(commands, tmp_path)) == {"first_wall_s", "second_wall_s"}
