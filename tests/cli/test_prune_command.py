"""``prune`` on the command line, and a query over stored runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import Cli

import hostsim

OTHER = "0123456789abcdef"


@pytest.fixture
def stored(tiny_run: Path) -> Path:
    """The runs of a saved sweep, and a copy of them as if made by another version."""
    [version] = (tiny_run.parent / "results/runs").iterdir()
    shutil.copytree(version, version.with_name(OTHER))
    return version


def files(folder: str) -> int:
    return len(list(Path("results/runs", folder).glob("*/*.parquet")))


def test_nothing_is_removed_unless_it_is_asked_for(stored: Path, cli: Cli) -> None:
    """Nothing is removed without a criterion or in a dry run; totals count the stored runs."""
    found = cli("prune")
    assert found.exit_code == 0, found.output
    assert "nothing is removed without --unusable" in found.stderr
    assert found.stdout.splitlines()[-1].split()[2:3] == ["8"]
    tried = cli("prune", "--unusable", "--dry-run")
    assert tried.stdout.splitlines()[-1].split()[-3:-2] == ["4"]
    assert files(OTHER) == files(stored.name) == 4


def test_what_no_command_can_reuse_is_removed(stored: Path, cli: Cli) -> None:
    """Runs of the installed version stay, and with --usable those that saved results need."""
    assert cli("prune", "--unusable").exit_code == 0
    assert not Path("results/runs", OTHER).exists()
    assert cli("prune", "--usable", "--older-than", "0").exit_code == 0
    assert files(stored.name) == 4
    assert cli("prune", "--usable", "--saved", "--scenario", "tiny").exit_code == 0
    assert not stored.exists()


@pytest.mark.parametrize("size", ["2", "-1 GB"])
def test_a_size_has_a_unit_and_no_sign(stored: Path, cli: Cli, size: str) -> None:
    """Before anything is removed."""
    found = cli("prune", "--usable", "--saved", "--keep", size)
    assert found.exit_code == 2
    assert "--keep: " in found.stderr
    assert files(stored.name) == 4


def test_stored_runs_are_found_by_parameters(stored: Path) -> None:
    """By path or axis, as text or number; columns are the differing parameters with units, and the measures of the record."""
    found = hostsim.stored_runs({"traffic.stream.rate": 5000}, metrics=["host_cpu"])
    assert list(found.columns[8:]) == ["traffic.stream.rate", "vms.receiver.count", "host_cpu"]
    assert sorted(found["vms.receiver.count"]) == [1, 2]
    assert found.attrs["units"]["traffic.stream.rate"] == "pps"
    assert found.attrs["parameters"]["hardware"] == "dell-r810"
    table = hostsim.open_results("results/tiny").table.query("rate == 5000")
    assert np.sort(found["host_cpu"]) == pytest.approx(np.sort(table["host_cpu"]))
    assert len(hostsim.stored_runs({"receivers": [2, 3]}, scenario="t*", metrics=[])) == 2
    assert len(hostsim.stored_runs(metrics=[], all_versions=True)) == 8
    assert hostsim.stored_runs(scenario="other").empty


def test_an_unknown_folder_or_scenario_is_refused(stored: Path, cli: Cli) -> None:
    """A table without rows would look like a folder without runs."""
    for arguments, words in (
        (("--results", "nowhere", "--usable", "--keep", "1 kB"), "--results: is not a folder; given 'nowhere'"),
        (("--scenario", "tyni"), "--scenario: requested no stored run first; given 'tyni'"),
    ):
        found = cli("prune", *arguments)
        assert (found.exit_code, found.stdout) == (2, "")
        assert words in found.stderr
    with pytest.raises(hostsim.InputError, match="results: is not a folder"):
        hostsim.stored_runs(results="nowhere")


def test_runs_that_keep_cannot_remove_are_explained(stored: Path, cli: Cli) -> None:
    """Without --usable and --saved the installed version and saved results are larger than --keep."""
    found = cli("prune", "--keep", "1 kB")
    assert found.exit_code == 0
    assert "more than 1 kB remains; runs that stay: of the installed version without --usable" in found.stderr
    assert "remains" not in cli("prune", "--keep", "1 kB", "--usable", "--saved").stderr


def test_an_unknown_parameter_or_measure_is_refused_with_the_nearest(stored: Path) -> None:
    """A frame without rows would look like a sweep without runs."""
    with pytest.raises(hostsim.InputError, match=r"where: no stored run has this parameter.*did you mean 'hardware'"):
        hostsim.stored_runs({"hardwar": "dell-r810"})
    with pytest.raises(hostsim.InputError, match=r"metrics: unknown metric.*did you mean 'loss'"):
        hostsim.stored_runs(metrics=["los"])
