"""``hostsim import``: files of a host to a draft and measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

INPUTS = Path(__file__).parents[1] / "host_files" / "inputs"


def test_files_become_a_draft(cli, tiny, tmp_path):
    """Measures and required keys on stdout, then the files; notes on stderr."""
    done = cli("import", INPUTS / "commands-7.txt", INPUTS / "esxtop.csv", "-o", "mine")
    assert done.exit_code == 0
    assert done.stdout.startswith("mine: ")
    assert "guest_cpu        31.5   2.1       4 " in done.stdout
    assert "unknown and required: hardware.yaml: nics.vmnic0.node, " in done.stdout
    assert done.stdout.endswith("mine/hardware.yaml\nmine/scenario.yaml\nmine/found.csv\nmine/measured.csv\n")
    assert "note: " in done.stderr
    assert "hardware: mine\n" in (tmp_path / "mine" / "hardware.yaml").read_text()


@pytest.mark.parametrize(("folder", "name"), [("g é 6", "g-6"), ("é", "my-host")])
def test_a_folder_without_a_valid_name_names_the_host(cli, tiny, tmp_path, folder, name):
    """Other characters than letters, digits, _ and - are replaced."""
    done = cli("import", INPUTS / "nicinfo.txt", "-o", folder)
    assert done.exit_code == 0, done.stderr
    assert f"hardware: {name}\n" in (tmp_path / folder / "hardware.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.csv",), "absent.csv: file not found"),
        (("tiny.yaml",), "tiny.yaml:1: is YAML, which is not imported; allowed: esxtop -b, net-stats -A"),
        ((INPUTS / "nicinfo.txt", "--name", "a b"), "--name: is not a name; given 'a b'"),
    ],
)
def test_what_cannot_be_imported_is_said(cli, tiny, tmp_path, arguments, message):
    """Exit status 2, and no folder."""
    done = cli("import", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "my-host").exists()
