"""The command line does what its help says: output, files, exit statuses."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from typer.testing import CliRunner

import hostsim
from hostsim.cli.app import app
from hostsim.cli.check import print_verdicts
from hostsim.results.expect import VerdictState
from hostsim.results.integrity import json_digest
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.shipped_data import shipped
from tests.conftest import HANGS_S
from tests.corpus import HARDWARE
from tests.sample_results import VERDICTS, verdict
from tests.writable_copy import copy_tree

PACKAGE = Path(hostsim.__file__).parent
FIELDS = [
    *(
        "claim",
        "scenario",
        "kind",
        "unit",
        "published",
        "value",
        "bound",
        "ci_low",
        "ci_high",
        "low",
        "high",
        "verdict",
        "outcome",
        "known",
        "awaiting",
    ),
    *("reason", "notes", "deterministic", "cases"),
]
OF_ONE_CONSTANT = ("--metric", "loss", "--only", "rhel6.socket_buffer")


def test_help_answers_at_once_and_names_every_command(cli):
    """Help is fast: no slow library is imported. A command is built only when it is used."""
    command = [sys.executable, "-X", "importtime", "-m", "hostsim", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "hostsim.cli.app" in imported
    assert imported & {"numpy", "pandas", "pydantic", "matplotlib", "scipy", "pyarrow", "simpy", "yaml"} == set()
    commands = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    for command in (
        "new",
        "list",
        "show",
        "run",
        "check",
        "reproduce",
        "plot",
        "report",
        "explore",
        "metrics",
        "schema",
        "cite",
        "sensitivity",
        "what-if",
        "trace",
        "verify",
    ):
        assert command in commands
        assert cli(command, "--help").exit_code == 0


def test_list_names_the_shipped_scenarios_with_their_questions(cli):
    """A user finds a scenario to start from."""
    done = cli("list")
    for table, headings in zip(
        done.stdout.split("\n\n"), ("scenario expectations", "prediction measurements"), strict=True
    ):
        lines, (what, counted) = table.splitlines(), headings.split()
        assert lines[0].split() == [what, "points", counted, "question"]
        assert len(lines) > 1
        assert all(line.endswith("?") for line in lines[1:])


def test_show_tells_points_and_settings_with_their_origin(cli, tiny):
    """Effective settings, with their origins."""
    done = cli("show", tiny, "--set", "traffic.stream.packet_size=300 B", "--axis", "receivers=1..5:2")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["traffic.stream.packet_size", "300", "B", "--set"] in rows
    assert ["run.length", "100", "ms", "tiny.yaml:9"] in rows
    assert any(row[:1] == ["host.advanced.Cpu.Quantum"] and row[-1] == "default" for row in rows)
    assert ["cpu", "Host", "CPU", "utilisation", "against", "receivers"] in rows
    assert "points: 6, 12 runs of 0.1 s" in done.stdout
    assert "points: 4, 8 runs of 0.06 or 0.1 s" in cli("show", tiny, "--set", "run.swept.length=60 ms").stdout


def test_show_and_a_dry_run_tell_how_many_runs_precision_may_ask_for(cli, tiny):
    """The scenario's number at first, and at most 30 per point; a given number adds no more."""
    options = ("--set", "run.precision.loss=1 % abs")
    done = cli("show", tiny, *options)
    assert "points: 4, 8 to 120 runs of 0.1 s" in done.stdout
    assert any(line.split()[:2] == ["run.precision.loss", "1"] for line in done.stdout.splitlines())
    assert "points: 4, 12 runs of" in cli("show", tiny, *options, "--replications", "3").stdout
    row = cli("run", tiny, *options, "--dry-run").stdout.splitlines()[1]
    assert "up to 112" in row
    nearest = cli("show", tiny, "--set", "run.precision.los=1 %")
    assert nearest.exit_code == 2
    assert "did you mean 'loss'" in nearest.stderr


def test_show_copy_puts_the_file_here_once(cli, tmp_path, monkeypatch):
    """A copy is for editing, so an existing file is never overwritten."""
    monkeypatch.chdir(tmp_path)
    name = next(iter(shipped()))
    assert cli("show", name, "--copy").stdout.split() == [f"{name}.yaml", "hostsim-scenario.schema.json"]
    text = (tmp_path / f"{name}.yaml").read_text()
    assert text.count(f"scenario: {name}") == 1
    assert text.startswith("# yaml-language-server: $schema=hostsim-scenario.schema.json\n")
    assert json.loads((tmp_path / "hostsim-scenario.schema.json").read_text()) == json.loads(cli("schema").stdout)
    again = cli("show", name, "--copy")
    assert again.exit_code == 2
    assert "not overwritten" in again.stderr


def test_show_copy_takes_the_arrivals_along(cli, tmp_path, monkeypatch):
    """A copied scenario with replayed arrivals loads in its new folder."""
    monkeypatch.chdir(tmp_path)
    yaml, *arrivals, _schema = cli("show", "dense-trigger", "--copy").stdout.splitlines()
    assert len(arrivals) == 1
    assert cli("show", yaml).exit_code == 0
    (tmp_path / arrivals[0]).unlink()
    assert cli("show", yaml).exit_code == 2


def test_metrics_prints_the_whole_catalogue_as_text_and_as_json(cli):
    """Every measure has a unit and a meaning."""
    rows = json.loads(cli("metrics", "--json").stdout)
    assert [row["metric"] for row in rows] == list(CATALOGUE)
    assert all(row["unit"] and row["meaning"] for row in rows)
    assert [line.split()[0] for line in cli("metrics").stdout.splitlines()[1:]] == list(CATALOGUE)


def test_components_have_schemas_of_their_own(cli):
    """An unknown kind names the nearest one."""
    assert "cpu" in json.loads(cli("schema", "hardware").stdout)["properties"]
    wrong = cli("schema", "hardwear")
    assert wrong.exit_code == 2
    assert "did you mean 'hardware'" in wrong.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_names_of_scenarios(shell):
    """They also complete names of claims, if `check` accepts them."""

    def completed(line):
        words = {
            "COMP_WORDS": line,
            "COMP_CWORD": "2",
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
        return (
            CliRunner().invoke(app, env={**words, "_HOSTSIM_COMPLETE": f"complete_{shell}"}, prog_name="hostsim").stdout
        )

    assert "dense-medium" in completed("hostsim run dense-m")
    assert "splitrx.split.40k" in completed("hostsim check splitrx.split.4")


def test_schema_is_json_for_editors(cli):
    """It describes the possible keys of a scenario."""
    schema = json.loads(cli("schema").stdout)
    assert {"scenario", "sweep", "expect"} <= schema["properties"].keys()


def test_run_writes_table_figures_and_says_which_files(cli, tiny):
    """Data to stdout, progress to stderr; a second run adds nothing and reuses stored runs."""
    done = cli("run", tiny, "--jobs", "1", "--quick")
    assert done.exit_code == 0, done.output
    files = [Path(line) for line in done.stdout.split("\n\n")[-1].splitlines()]
    assert [file.name for file in files] == [
        *("table.parquet", "table.csv", "contexts.parquet", "cpu.parquet", "runs.parquet"),
        *("bottlenecks.parquet", "results.json", "cpu.svg", "cpu.png"),
    ]
    assert all(file.parts[:2] == ("results", "tiny") for file in files)
    table = pd.read_parquet(files[0])
    assert list(zip(table["receivers"], table["rate"], strict=True)) == [
        (1, 2000.0),
        (1, 5000.0),
        (2, 2000.0),
        (2, 5000.0),
    ]
    with files[1].open(newline="") as file:
        assert [float(row["host_cpu"]) for row in csv.DictReader(file)] == list(table["host_cpu"])
    before = {file: file.read_bytes() for file in files}
    again = cli("run", tiny, "--jobs", "1", "--quick")
    assert "4 from the results folder" in again.stderr
    assert {file: file.read_bytes() for file in files} == before


@pytest.mark.usefixtures("undrawn")
def test_run_takes_overrides_axes_and_another_folder(cli, tiny):
    """A sweep is changed without editing its file."""
    options = ("--set", "traffic.stream.packet_size=300 B", "--axis", "receivers=1", "--axis", "rate=1 kpps,3 kpps")
    done = cli("run", tiny, "--quick", "--jobs", "1", "-o", "here", *options)
    assert done.exit_code == 0, done.output
    assert list(pd.read_parquet("here/table.parquet")["rate"]) == [1000.0, 3000.0]
    assert not Path("results/tiny").exists()


@pytest.mark.usefixtures("undrawn")
def test_run_with_replications_and_seed(cli, tiny):
    """The common options reach the runs."""
    assert cli("run", tiny, "--quick", "--jobs", "1", "--replications", "2", "--seed", "7").exit_code == 0
    table = pd.read_parquet("results/tiny/table.parquet")
    assert (list(table["replication"]), set(table["seed"])) == ([0, 1] * 4, {7})


@pytest.mark.parametrize("command", [("run", "--dry-run"), ("check", "--dry-run"), ("check",), ("run",), ("show",)])
@pytest.mark.usefixtures("undrawn")
def test_every_command_warns_of_settings_without_effect(cli, tiny, command):
    """Before anything is run, and afterwards."""
    tiny.write_text(tiny.read_text().replace("vms:", "host: {advanced: {Net.NetSchedCoalesceTxUsecs: 30}}\nvms:"))
    warning = "warning: tiny.yaml:7: host.advanced.Net.NetSchedCoalesceTxUsecs = 30 has no effect: it is not modelled"
    name, *options = command
    if name != "show":
        options += ["--jobs", "1", "--quick"]
    assert cli(name, "tiny.yaml", *options).stderr.splitlines().count(warning) == 1


@pytest.mark.usefixtures("undrawn")
def test_a_dry_run_says_what_is_missing_and_runs_nothing(cli, tiny):
    """The estimate comes from stored runs, or from a few short trial runs that are not stored."""
    header, row = cli("run", tiny, "--quick", "--dry-run").stdout.splitlines()
    assert header.split()[:5] == ["scenario", "points", "runs", "stored", "missing"]
    assert row.split()[:5] == ["tiny", "4", "4", "0", "4"]
    assert not Path("results").exists()
    cli("run", tiny, "--quick", "--jobs", "1")
    assert cli("run", tiny, "--quick", "--dry-run").stdout.splitlines()[1].split()[:6] == [
        "tiny",
        "4",
        "4",
        "4",
        "0",
        "none",
    ]
    assert "up to" in cli("check", tiny, "--dry-run").stdout


@pytest.mark.usefixtures("undrawn")
def test_a_dry_run_of_a_calibration_counts_runs_that_the_shipped_host_has(cli, tiny, monkeypatch):
    """Runs of one host are not used for another."""
    Path("measured.csv").write_text("receivers,rate,metric,value,interval\n1,5 kpps,guest_cpu,6.9,0.3\n")
    arguments = ("calibrate", "tiny.yaml", "--to", "measured.csv", "--dry-run")
    assert cli("run", tiny, "--quick", "--jobs", "1").exit_code == 0
    monkeypatch.setattr("hostsim.cli.forecast._seconds", lambda task: 1.0)
    assert "processor time  at most about 6 min 40 s, about 1 s each" in cli(*arguments).stdout


@pytest.mark.parametrize("command", ["run", "calibrate"])
def test_a_dry_run_counts_processors_on_every_system(cli, tiny, monkeypatch, command):
    """Windows and macOS do not report which processors a process may use."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    done = cli(command, "tiny.yaml", "--dry-run")
    assert done.exit_code == 0, done.exception


def test_a_failed_point_is_a_row_and_the_exit_status_says_so(cli, tiny, monkeypatch):
    """A sweep continues past a failing point, and ends with status 3."""
    import hostsim.campaign.simulate as module

    genuine = module.simulate

    def broken(spec, *, axes, **rest):
        if axes == {"receivers": 2, "rate": "5 kpps"}:
            raise RuntimeError("a law was broken")
        return genuine(spec, axes=axes, **rest)

    monkeypatch.setattr(module, "simulate", broken)
    done = cli("run", tiny, "--quick", "--jobs", "1")
    assert done.exit_code == 3
    assert "failed: RuntimeError: a law was broken" in done.stderr
    table = pd.read_parquet("results/tiny/table.parquet")
    assert [bool(error) for error in table["error"]] == [False, False, False, True]
    assert "tiny (partial): 1 of 4 runs failed" in done.stderr
    assert "Host CPU utilisation (%) (partial)" in Path("results/tiny/figures/cpu.svg").read_text()
    report = cli("report", "tiny")
    assert (report.exit_code, report.stderr) == (3, "tiny (partial): 1 of 4 runs failed\n")
    page = Path(report.stdout.strip()).read_text()
    assert "1 of 4 runs failed" in page
    assert "<h1>tiny (partial)</h1>" in page
    assert cli("plot", "tiny").exit_code == 3
    contexts = cli("report", "tiny", "--contexts")
    assert contexts.stdout.startswith("tiny (partial) at ")
    assert contexts.exit_code == 3
    judged = cli("check", tiny, "--quick", "--jobs", "1")
    assert judged.exit_code == 1
    assert "nothing lost: (partial) replication 0 failed at" in judged.stderr
    monkeypatch.undo()


def test_check_prints_value_interval_band_and_verdict(cli, tiny):
    """A single requested name includes its operands, and only itself is shown."""
    done = cli("check", tiny, "--jobs", "1")
    assert done.exit_code == 0, done.output
    table, _, tally = done.stdout.partition("\n\n")
    header, *rows = table.splitlines()
    assert [line.split() for line in tally.splitlines()] == [
        ["kind", "expectations", "in", "band", "undecided", "known", "red", "red", "missing"],
        ["own", "3", "3", "0", "0", "0", "0"],
    ]
    assert header.split() == ["claim", "published", "value", "interval", "band", "verdict"]
    assert [row.split("  ")[0] for row in rows] == ["nothing lost", "room", "room ratio"]
    assert [row.split()[-1] for row in rows] == ["pass", "pass", "pass"]


def test_check_json_is_strict_and_complete(cli, tiny):
    """Programs read it; the fields are documented."""
    rows = json.loads(cli("check", tiny, "--jobs", "1", "--quick", "--json").stdout, parse_constant=pytest.fail)
    assert [list(row) for row in rows] == [FIELDS] * 3
    assert [(row["claim"], row["verdict"], row["ci_low"]) for row in rows] == [
        ("nothing lost", "pass", 0.0),  # one replication: batch means of a run without loss
        ("room", "pass?", None),
        ("room ratio", "pass?", None),
    ]


def test_a_threshold_beyond_its_bracket_is_a_bound_everywhere(cli, tiny):
    """In the table, in JSON with the note and in JUnit; it is not a pass if an end of the band is beyond the bracket."""
    tiny.write_text(tiny.read_text().replace("below: 0.7 %", "below: 90 %").replace("[2, 2]", "[2, 30]"))
    done = cli("check", tiny, "--jobs", "1", "--junit", "junit.xml")
    assert done.exit_code == 1
    room, ratio = ([cell for cell in row.split("  ") if cell] for row in done.stdout.split("\n\n")[0].splitlines()[2:])
    assert [cell.strip() for cell in room] == ["room", "–", "at least 3", "at least 3", "2 to 30 receivers", "open"]
    assert [cell.strip() for cell in ratio][2:] == ["–", "–", "1", "open"]
    assert "open: at least 3 receivers" in Path("junit.xml").read_text()
    assert "at all other values that were tried" in Path("junit.xml").read_text()
    for quick in ((), ("--quick",)):
        _, room, ratio = json.loads(cli("check", tiny, "--jobs", "1", "--json", *quick).stdout)
        assert (room["value"], room["bound"], room["ci_high"], room["verdict"]) == (3, "at least", None, "open")
        assert "holds at receivers = 3, and at all other values that were tried from 1 to 3" in room["notes"][0]
        assert (ratio["value"], ratio["bound"], ratio["verdict"]) == (None, None, "open")
        assert ratio["notes"][-1].startswith("the ratio is unknown")


def test_a_search_that_comes_to_a_run_without_the_measure_is_missing(cli, tiny):
    """The reason has the remedy, on stderr and in JSON; too few observations do not give 0."""
    tiny.write_text(tiny.read_text().replace("metric: host_cpu, below: 0.7 %", "metric: latency_p9999, below: 1 s"))
    done = cli("check", tiny, "--jobs", "1", "--quick", "--json")
    assert done.exit_code == 1
    _, room, ratio = json.loads(done.stdout)
    reason = "replication 0: not estimable: latency_p9999 needs 36887 observations at receivers = 2; lengthen the runs (run.length), or leave that receivers out of the bracket"
    assert [(row["verdict"], row["value"], row["reason"]) for row in (room, ratio)] == [("missing", None, reason)] * 2


def test_check_fails_when_an_expectation_does(cli, tiny):
    """CI gets the exit status and JUnit."""
    tiny.write_text(tiny.read_text().replace("between: [2, 2]", "between: [0, 1]"))
    done = cli("check", tiny, "--jobs", "1", "--junit", "junit.xml")
    assert done.exit_code == 1
    suite = ET.parse("junit.xml").getroot().find("testsuite")  # noqa: S314  our own text
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert all(float(case.get("time")) > 0 for case in suite.iter("testcase"))


@pytest.mark.usefixtures("undrawn")
def test_check_against_writes_junit(cli, tiny):
    """A point with moved curves is a failure, one without a counterpart an error; the runs behind them took some time."""
    cli("run", tiny, "--jobs", "1", "--axis", "receivers=1", "-o", "trusted")
    tiny.write_text(tiny.read_text().replace("packet_size: 200 B", "packet_size: 1400 B"))
    done = cli("check", tiny, "--jobs", "1", "--against", "trusted", "--tolerance", "0.1 %", "--junit", "moves.xml")
    assert done.exit_code == 1, done.output
    (suite,) = ET.parse("moves.xml").getroot()  # noqa: S314  our own text
    assert [suite.get(name) for name in ("name", "tests", "failures", "errors")] == ["tiny", "4", "2", "2"]
    assert "guest_cpu at receivers=1, rate=2 kpps" in suite.find(".//failure").get("message")
    assert float(suite.get("time")) > 0


def test_a_crash_behind_a_verdict_is_an_error_in_junit(cli, tiny):
    """The test case has the time of the runs."""
    done = cli("check", tiny, "--jobs", "1", "--quick", "--max-time", "1 ms", "--junit", "junit.xml")
    assert done.exit_code == 1
    (suite,) = ET.parse("junit.xml").getroot()  # noqa: S314  our own text
    assert (suite.get("failures"), suite.get("errors")) == ("0", "3")


@pytest.mark.usefixtures("undrawn")
def test_check_against_an_earlier_run(cli, tiny):
    """The same code moves nothing; another host moves curves, which are named."""
    assert cli("run", tiny, "--jobs", "1").exit_code == 0
    same = cli("check", tiny, "--jobs", "1", "--against", "results")
    assert (same.exit_code, same.stdout) == (0, "no curve moved by more than 2 % at the 4 of 4 points compared\n")
    tiny.write_text(tiny.read_text().replace("packet_size: 200 B", "packet_size: 1400 B"))
    moved = cli("check", tiny, "--jobs", "1", "--against", "results", "--tolerance", "0.1 %")
    assert moved.exit_code == 1
    assert "guest_cpu at receivers=1, rate=2 kpps" in moved.stdout
    rows = json.loads(
        cli("check", tiny, "--jobs", "1", "--against", "results", "--json").stdout, parse_constant=pytest.fail
    )
    assert {"scenario", "metric", "unit", "at", "before", "after", "low", "high"} == set(rows[0])
    tiny.write_text(tiny.read_text().partition("expect:")[0])
    bare = cli("check", tiny, "--jobs", "1", "--against", "results", "--tolerance", "0.1 %")
    assert (bare.exit_code, bare.stdout) == (1, moved.stdout), "a scenario that expects nothing has curves too"
    other = cli("check", tiny, "--jobs", "1", "--quick", "--against", "results")
    assert other.exit_code == 2
    assert "another fidelity" in other.stderr


@pytest.mark.slow
def test_check_against_results_that_cannot_be_compared_is_not_green(cli, tiny):
    """One replication has no interval, and a point that was never run no counterpart."""
    against = ("check", tiny, "--jobs", "1", "--quick", "--against", "trusted")
    cli("run", tiny, "--jobs", "1", "--quick", "--set", "traffic.stream.packet_size=1400 B", "-o", "trusted")
    single = cli(*against)
    assert single.exit_code == 1
    assert single.stdout == "no curve could be compared: 0 of 4 points have an interval on both sides\n"
    assert "tiny at receivers=1, rate=2 kpps: has one replication in common" in single.stderr
    assert json.loads(cli(*against, "--json").stdout) == []
    cli("run", tiny, "--jobs", "1", "--quick", "--replications", "2", "--axis", "receivers=2", "-o", "trusted")
    fewer = cli(*against, "--replications", "2")
    assert fewer.exit_code == 1
    assert fewer.stdout == "no curve moved by more than 2 % at the 2 of 4 points compared\n"
    assert "tiny at receivers=1, rate=2 kpps: has no finished run in common" in fewer.stderr
    assert cli(*against, "--replications", "2", "--max-time", "1 ms", "--results", "other").exit_code == 3


@pytest.mark.usefixtures("undrawn")
def test_results_of_several_hosts_are_no_reference_for_one(cli, tiny):
    """Noticed before anything runs."""
    axis = (
        "--axis",
        "traffic.stream.packet_size=200 B,400 B",
        "--axis",
        "receivers=1",
        "--axis",
        "rate=2 kpps",
    )
    assert cli("run", tiny, "--jobs", "1", "--quick", *axis, "-o", "trusted").exit_code == 0
    done = cli("check", tiny, "--jobs", "1", "--quick", "--against", "trusted", "--results", "other")
    assert done.exit_code == 2
    assert "several hosts where the other has one" in done.stderr
    assert not Path("other").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "tiny.yaml", "--against", "tpyo"), "tpyo: contains no results"),
        (("check", "tiny.yaml", "--against", "tpyo.csv"), "tpyo.csv: file not found"),
        (("check", "tiny.yaml", "--against", "trusted", "--quick", "--seed", "2"), "another seed"),
        (("check", "tiny.yaml", "--against", "trusted"), "another fidelity"),
        (("check", "tiny.yaml", "--junit", "tiny.yaml/junit.xml"), "cannot be written"),
        (("check", "tiny.yaml", "--junit", "trusted"), "is a folder"),
        (
            ("check", "tiny.yaml", "--junit", "bulid/junit.xml"),
            "there is no folder bulid; make it, or correct the path",
        ),
        (("run", "tiny.yaml", "-o", "tiny.yaml"), "cannot be written"),
        (("run", "tiny.yaml", "-o", "tiny.yaml/below/it"), "cannot be written"),
        (("sensitivity", "tiny.yaml", *OF_ONE_CONSTANT, "-o", "tiny.yaml"), "cannot be written"),
        (("calibrate", "tiny.yaml", "-o", "tiny.yaml/fits"), "cannot be written"),
        (("reproduce",), "report.html: cannot be written: is a folder"),
    ],
)
def test_where_results_go_and_what_they_are_held_against_is_known_before_anything_runs(cli, tiny_run, arguments, words):
    """A sweep may take hours."""
    Path("results/tiny").rename("trusted")
    Path("other/report.html").mkdir(parents=True)
    done = cli(*arguments, "--jobs", "1", "--results", "other")
    assert done.exit_code == 2, done.stderr
    assert words in done.stderr
    assert [file.name for file in Path("other").iterdir()] == ["report.html"]


def test_pages_and_figures_of_a_folder_are_written_through_no_link_that_leads_out(cli, tiny_run):
    """If the user names the page, a link is followed."""
    mine = Path("mine")
    mine.write_text("untouched")
    for name, command in (("report.html", ("report",)), ("figures/warm-up.png", ("plot", "--warm-up"))):
        Path("results/tiny", name).symlink_to(mine.resolve())
        refused = cli(*command, "tiny")
        assert (refused.exit_code, mine.read_text()) == (2, "untouched")
        assert f"results/tiny/{name}: leads out of results/tiny" in refused.stderr
    assert cli("report", "tiny", "-o", "results/tiny/report.html").exit_code == 0
    assert mine.read_text().startswith("<!doctype html>")


def test_plot_and_report_draw_from_a_folder_without_running(cli, tiny_run):
    """Existing runs suffice."""
    tiny_run.unlink()
    drawn = cli("plot", "results/tiny", "--pdf")
    assert [Path(line).name for line in drawn.stdout.splitlines()] == ["cpu.svg", "cpu.png", "cpu.pdf"]
    report = cli("report", "tiny", "-o", "page.html")
    assert report.stdout.strip() == "page.html"
    assert "Does it run?" in Path("page.html").read_text()
    assert cli("report", "results").stdout.strip() == "results/report.html"


def test_an_explicit_results_folder_goes_before_a_folder_of_the_scenarios_name(cli, tiny):
    """The explicit folder may contain other results; without the option the folder here is used."""
    point = ("--jobs", "1", "--quick", "--axis", "receivers=1")
    assert cli("run", tiny, *point, "--axis", "rate=2 kpps", "-o", "tiny").exit_code == 0
    assert cli("run", tiny, *point, "--axis", "rate=5 kpps", "--results", "there").exit_code == 0
    assert "rate=5 kpps" in cli("report", "--contexts", "tiny", "--results", "there").stdout
    assert "rate=2 kpps" in cli("report", "--contexts", "tiny").stdout
    assert cli("plot", "tiny", "--results", "there").stdout.startswith("there/tiny/")
    assert cli("plot", "tiny").stdout.startswith("tiny/")


@pytest.mark.usefixtures("undrawn")
def test_a_changed_host_is_marked_wherever_claims_of_it_are_shown(cli, tiny):
    """Published values are not about it. An axis with one value, or a longer run, is not another host."""
    page, run = Path("results/tiny/report.html"), ("run", tiny, "--jobs", "1", "--quick", "--axis", "receivers=1")
    assert cli(*run, "--set", "traffic.stream.rate=2 kpps", "--set", "run.length=60 ms").exit_code == 0
    cli("report", "tiny")
    assert "changed" not in page.read_text()
    assert "run.length=60 ms" in page.read_text()
    assert cli(*run, "--set", "traffic.stream.packet_size=1000 B").exit_code == 0
    cli("report", "tiny")
    assert "<h1>tiny (changed)</h1>" in page.read_text()
    assert ">Verdicts, of a changed host</h3>" in page.read_text()
    assert page.read_text().count("of a changed host: traffic.stream.packet_size=1000 B") == 3
    assert "<dt>set</dt><dd>traffic.stream.packet_size=1000 B</dd>" in page.read_text()
    assert page.read_text().count("<dt>fidelity</dt>") == 1
    assert "tiny (changed) at" in cli("report", "tiny", "--contexts").stdout
    assert cli(*run, "--axis", "hardware.cpu.clock=2 GHz").exit_code == 0
    cli("report", "tiny")
    assert "of a changed host: hardware.cpu.clock=2 GHz" in page.read_text()


def test_the_table_of_verdicts_ends_with_what_awaits_calibration(capsys):
    """Below the counts, by name; without any there is no such line."""
    print_verdicts(VERDICTS, quick=False)
    assert "calibration" not in capsys.readouterr().out
    awaits = verdict("moved", state=VerdictState.FAIL, known=True, awaiting="calibration")
    print_verdicts([awaits, awaits], quick=False)
    text = capsys.readouterr().out
    assert text.endswith("2 of them await calibration, counted as red: moved, moved\n")
    assert "fail (known, awaits calibration)" in text


def test_reproduce_runs_all_that_is_shipped_and_writes_one_report(tiny, tmp_path):
    """On a package whose only scenario is the small one."""
    installed = tmp_path / "site" / "hostsim"
    copy_tree(PACKAGE, installed)
    copy_tree(PACKAGE.parent / "scenarios", installed / "shipped", "examples")
    for file in shipped().values():
        (installed / "shipped" / file.name).unlink(missing_ok=True)
    (installed / "shipped" / "known_red.yaml").write_text("{}")
    tiny.rename(installed / "shipped" / "tiny.yaml")
    command = [sys.executable, "-m", "hostsim", "reproduce", "tiny", "--quick", "--jobs", "1"]
    environment = os.environ | {"PYTHONPATH": str(installed.parent)}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    claims, tally, costs, report = done.stdout.strip().split("\n\n")
    assert tally.splitlines()[1].split() == [
        "own",
        "3",
        "1",
        "2",
        "0",
        "0",
        "0",
    ]  # in band, undecided, known red, red, missing
    assert [line.split()[-1] for line in claims.splitlines()[1:]] == ["pass", "pass?", "pass?"]
    assert costs.split()[:3] == ["scenario", "runs", "simulated"]
    assert costs.splitlines()[1].split()[:2] == ["tiny", "5"]
    assert "undecided" in (tmp_path / report).read_text()
    assert (tmp_path / "results" / "tiny" / "table.parquet").is_file()


def test_ctrl_c_ends_with_130_and_keeps_what_is_finished(tiny):
    """The same command resumes."""
    command = [
        sys.executable,
        "-m",
        "hostsim",
        "run",
        str(tiny),
        "--jobs",
        "1",
        "--replications",
        "1000",
        "--axis",
        "rate=5 kpps",
    ]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a program started in the background ignores Ctrl-C, and so do its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    runs = Path("results/runs")
    while process.poll() is None and not list(runs.rglob("*.parquet")):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, words = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130, words
    assert "Traceback" not in words
    assert list(runs.rglob("*.parquet"))


@pytest.mark.usefixtures("undrawn")
def test_plot_warm_up_draws_the_run_that_lost_the_most_to_it(cli, tiny, tmp_path):
    """From the runs in the results folder; without them it prints the remedy."""
    assert cli("run", tiny, "--jobs", "1").exit_code == 0
    done = cli("plot", "tiny", "--warm-up")
    assert [Path(line).name for line in done.stdout.splitlines()] == ["warm-up.svg", "warm-up.png"]
    table = pd.read_parquet("results/tiny/table.parquet")
    row = table.loc[(table["cut_s"] / table["length_s"]).idxmax()]
    drawn = Path("results/tiny/figures/warm-up.svg").read_text()
    assert (
        f"receivers = {row['receivers']}, rate = {row['rate'] / 1000:g} kpps, replication {row['replication']}" in drawn
    )
    [runs] = Path("results/runs").iterdir()
    earlier = "0123456789abcdef"
    file = Path("results/tiny/results.json")
    content = json.loads(file.read_text().replace(runs.name, earlier))
    del content["digest"]
    file.write_text(json.dumps(content | {"digest": json_digest(content)}))
    runs.rename(runs.with_name(earlier))
    assert cli("plot", "tiny", "--warm-up").stdout == done.stdout, "another version of the code made them"
    assert Path("results/tiny/figures/warm-up.svg").read_text() == drawn
    shutil.rmtree("results/runs")
    gone = cli("plot", "tiny", "--warm-up")
    assert gone.exit_code == 2
    assert "`hostsim run tiny.yaml` runs it again" in gone.stderr


def test_report_contexts_prints_who_serves_which_queue(cli, tiny_run):
    """At the last point of each series, or at given points; unprintable ones are bad input."""
    done = cli("report", "tiny", "--contexts")
    titles = [line for line in done.stdout.splitlines() if line.startswith("tiny at ")]
    assert [title.partition(";")[0] for title in titles] == [
        "tiny at receivers=2, rate=2 kpps",
        "tiny at receivers=2, rate=5 kpps",
    ]
    assert any(line.split()[:3] == ["netpoll", "vmnic0-pollWorld-0", "vmnic0-rx0"] for line in done.stdout.splitlines())
    assert not Path("results/tiny/report.html").exists()
    one = cli("report", "tiny", "--contexts", "--at", "receivers=1", "--at", "rate=5000")
    assert one.stdout.count("tiny at ") == 1
    assert "receiver[0].vcpu0" in one.stdout
    for options, told in (
        (("--contexts", "--at", "rte=1"), "did you mean 'rate'"),
        (("--at", "rate=5 kpps"), "needs --contexts"),
        (("--contexts", "-o", "page.html"), "not to --contexts"),
    ):
        bad = cli("report", "tiny", *options)
        assert bad.exit_code == 2
        assert told in bad.stderr


@pytest.mark.parametrize("command", [["report", "tiny"], ["trace", "tiny.yaml", "--length", "1 ms"]])
def test_an_output_that_is_stdout_is_nothing_but_it(cli, tiny_run, tmp_path, command):
    """The page and the trace are written to a pipe unchanged, without a file name after them."""
    assert cli(*command, "-o", "file").exit_code == 0
    piped = subprocess.run(
        [sys.executable, "-m", "hostsim", *command, "-o", "/dev/stdout"], capture_output=True, check=True
    )
    assert piped.stdout == (tmp_path / "file").read_bytes()


ROOTED = {
    "show": (),
    "run": ("--jobs", "1"),
    "check": ("--jobs", "1", "--dry-run"),
    "check --against": ("--jobs", "1", "--dry-run", "--against", "results/tiny"),
    "what-if": ("--set", "vms.receiver.vcpus=2", "--dry-run"),
    "trace": ("--from", "1 ms", "--length", "1 ms"),
    "sensitivity": (*OF_ONE_CONSTANT, "--dry-run"),
}


@pytest.mark.parametrize("command", ROOTED)
@pytest.mark.usefixtures("undrawn")
def test_every_command_that_loads_a_scenario_takes_a_root(cli, tiny, command):
    """Without a root, files outside the scenario's folder are refused."""
    for name, text in (("hardware/box.yaml", HARDWARE), ("sweeps/tiny.yaml", tiny.read_text())):
        Path(name).parent.mkdir()
        Path(name).write_text(text.replace("dell-r810", "../hardware/box.yaml"))
    name, *_ = command.split()
    if "--against" in command:
        assert cli("run", "sweeps/tiny.yaml", "--root", ".", "--jobs", "1").exit_code == 0
    options = (name, "sweeps/tiny.yaml", *ROOTED[command])
    refused, done = cli(*options), cli(*options, "--root", ".")
    assert (refused.exit_code, done.exit_code) == (2, 0), (refused.output, done.output, done.exception)
    assert "leads out of the scenario's root" in refused.stderr
