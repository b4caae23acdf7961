"""The command line asks which verdicts hang on assumptions."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from hostsim.cli.app import app
from tests.tiny_scenario import TINY

RATE = "packet_size: 200 B, rate: 5 kpps"
ASSUMED = "packet_size: 200 B, rate: {value: 5 kpps, assumed: so, range: [2 kpps, 10 kpps]}"
FIXED = TINY[: TINY.index("  - name: room\n")].replace(RATE, ASSUMED)


def test_a_dry_run_says_how_many_ends_and_runs_there_are_and_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(FIXED, encoding="utf-8")
    given = ["assumptions", str(file), "--quick", "--dry-run", "--results", str(tmp_path / "results")]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    subject, ends, runs, missing = done.stdout.splitlines()[1].split()[:4]
    assert subject == str(file)
    assert int(ends) > 2
    assert int(runs) == int(missing) > 1
    assert not list((tmp_path / "results").rglob("*.json"))


def test_an_unknown_experiment_is_bad_input(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["assumptions", "numa-ioo", "--quick", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "numa-io" in done.stderr


def test_a_pattern_that_matches_nothing_is_bad_input(tmp_path: Path) -> None:
    """With the nearest name; nothing is run."""
    file = tmp_path / "tiny.yaml"
    file.write_text(FIXED, encoding="utf-8")
    given = [
        "assumptions",
        str(file),
        "--quick",
        "--only",
        "tiny.traffic.stream.rat",
        "--results",
        str(tmp_path / "runs"),
    ]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 2
    assert "--only: matches no assumption; given 'tiny.traffic.stream.rat'" in done.stderr
    assert "did you mean 'tiny.traffic" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_study_is_written_as_the_page_reads_it(tmp_path: Path) -> None:
    """One file for each subject, named after it, of the assumptions that were asked for."""
    file = tmp_path / "tiny.yaml"
    file.write_text(FIXED, encoding="utf-8")
    given = [
        "assumptions",
        str(file),
        "--quick",
        "--jobs",
        "1",
        "--results",
        str(tmp_path / "results"),
        "-o",
        str(tmp_path),
        "--only",
        "tiny.*",
    ]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    written = json.loads((tmp_path / "tiny.json").read_text(encoding="utf-8"))
    assert written["assumptions"]["tiny.traffic.stream.rate"]["ends"] == "2 kpps, 10 kpps"
    assert [row["end"] for row in written["moves"]] == ["2 kpps", "10 kpps"]
    assert "1 assumptions, of which 1 reach a claim and 0 flip a verdict" in done.stdout
