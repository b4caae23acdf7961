"""``predict`` on the command line: a first value is written once, for committed inputs, and never changed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.lab.prediction import first_commits
from hostsim.scenario.load import load
from tests.tiny_scenario import TINY

EXPECT = """\
expect:
  - {measurement: esx5-latency.most, metric: latency_mean, at: {receivers: 1, rate: 2 kpps}}
  - {measurement: esx5-latency.overcommitted, metric: latency_mean, at: {receivers: 2, rate: 5 kpps}}
  - measurement: esx40-noqueue.8vm-per-4vm
    ratio: {metric: latency_mean, of: {receivers: 2}, to: {receivers: 1}, at: {rate: 5 kpps}}
"""
QUICK = ("--quick", "--jobs", "1")


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *who, *arguments), cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "add", "-A", "*.yaml")
    git(folder, "commit", "-q", "-m", "as it is")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def committed(tiny: Path) -> str:
    """The commit of the small scenario with measurements as expectations, in the working directory."""
    tiny.write_text(TINY.split("expect:")[0] + EXPECT)
    git(tiny.parent, "init", "-q")
    return commit(tiny.parent)


def test_a_first_value_is_recorded_once_and_never_overwritten(cli, tiny, committed):
    """It has its origin; a second recording is refused with the entry's line, and the ledger keeps its bytes."""
    ledger = tiny.parent / "first.yaml"
    done = cli("predict", tiny, *QUICK, "--record-first", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["predictions"]
    assert [entry["measurement"] for entry in found] == [
        "esx5-latency.most",
        "esx5-latency.overcommitted",
        "esx40-noqueue.8vm-per-4vm",
    ]
    first, today = found[0]["first"], found[0]["today"]
    assert (first["inputs"], first["fidelity"], first["seed"]) == (committed, "quick", 1)
    assert (first["value"], first["digest"], first["error"]) == (today["value"], today["digest"], today["error"])
    written = ledger.read_bytes()
    again = cli("predict", tiny, *QUICK, "--seed", "2", "--record-first")
    assert again.exit_code == 2
    assert len(again.stderr.splitlines()) == 3
    assert "first.yaml:3: esx5-latency.most: already has its first prediction, which never changes" in again.stderr
    assert ledger.read_bytes() == written
    other = json.loads(cli("predict", tiny, *QUICK, "--seed", "2", "--json").stdout)["predictions"][0]
    assert {key: other["first"][key] for key in ("value", "seed")} == {"value": first["value"], "seed": 1}


def test_a_measurement_without_a_value_ends_with_status_1(cli, tiny, committed):
    """The others are predicted, and the reason is printed."""
    tiny.write_text(
        tiny.read_text().replace("metric: latency_mean, at: {receivers: 2", "metric: latency_p9999, at: {receivers: 2")
    )
    done = cli("predict", tiny, *QUICK, "--json")
    found = json.loads(done.stdout)["predictions"]
    assert [entry["today"]["value"] is None for entry in found] == [False, True, False]
    assert done.exit_code == 1
    assert "latency_p9999 needs 36887 observations" in done.stderr + str(found[1]["today"]["reason"])


def test_nothing_is_recorded_of_inputs_that_are_not_committed(cli, tiny, committed):
    """A file outside git and a file edited since its commit are refused; nothing is run."""
    tiny.write_text(tiny.read_text().replace("packet_size: 200 B", "packet_size: 300 B"))
    done = cli("predict", tiny, *QUICK, "--record-first")
    assert done.exit_code == 2
    assert "tiny.yaml: differs from its committed version; allowed: a file that is committed before" in done.stderr
    new = tiny.rename(tiny.with_name("new.yaml"))
    done = cli("predict", new, *QUICK, "--record-first")
    assert (done.exit_code, "new.yaml: is not committed" in done.stderr) == (2, True)
    assert not (tiny.parent / "results").exists()
    assert not (tiny.parent / "first.yaml").exists()


def test_other_inputs_are_never_taken_for_those_of_the_first_value(cli, tiny, committed):
    """They are reported as changed and scored separately; a comment or another measurement changes nothing."""
    text = tiny.read_text()
    tiny.write_text(text.replace(EXPECT, "".join(EXPECT.splitlines(keepends=True)[:2])))
    commit(tiny.parent)
    assert cli("predict", tiny, *QUICK, "--record-first").exit_code == 0
    tiny.write_text("# a comment\n" + text)
    found = json.loads(cli("predict", tiny, *QUICK, "--json").stdout)["predictions"]
    assert [(entry["apart"], entry["first"] is None) for entry in found] == [("", False), ("", True), ("", True)]
    tiny.write_text(text.replace("packet_size: 200 B", "packet_size: 300 B"))
    moved = json.loads(cli("predict", tiny, *QUICK, "--json").stdout)["predictions"][0]
    assert moved["first"] == found[0]["first"]
    assert moved["today"]["value"] != found[0]["today"]["value"]
    done = cli("predict", tiny, *QUICK)
    assert done.exit_code == 0
    values, scores = (table.splitlines()[1:] for table in done.stdout.strip().split("\n\n"))
    assert [line.endswith("inputs changed") for line in values] == [False, True, False, False, False, False]
    assert [line.split()[0] for line in scores if line.endswith("inputs changed")] == ["scale", "scale"]
    commit(tiny.parent)
    chosen = [(load(tiny), frozenset(["esx5-latency.overcommitted"]))]
    with pytest.raises(InputError, match=r"esx5-latency\.most: has different inputs than at its first prediction"):
        first_commits(chosen)


def test_what_predicts_nothing_is_refused(cli, tiny):
    """A scenario with its own expectations, and a name without a prediction."""
    done = cli("predict", tiny, *QUICK)
    assert done.exit_code == 2
    assert (
        "tiny.yaml: nothing lost: is not a published measurement; allowed: a scenario whose expectations" in done.stderr
    )
    done = cli("predict", "esxi55-40g.1vcp")
    assert (done.exit_code, "did you mean" in done.stderr) == (2, True)


def test_predictions_are_listed_apart(cli):
    """Below the scenarios of claims, which `check` and `reproduce` run."""
    claims, predicted = cli("list").stdout.strip().split("\n\n")
    assert "esxi55-40g" in predicted
    assert "esxi55-40g" not in claims
