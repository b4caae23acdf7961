"""Runs of an ensemble of hosts on the command line: both intervals for every number, and errors with file and line."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from hostsim.cli import study
from hostsim.results.folder import read

COST = "esxi.costs.context_switch"
OPTIONS = ("--quick", "--jobs", "1")
FIVE = (*OPTIONS, "--replications", "5")


@pytest.fixture
def members(tiny):
    """Three hosts that differ in one cost."""
    file = tiny.parent / "own.csv"
    file.write_text(f"# by hand\nmember,{COST}\n7,1000\n3,3000\n5,8000\n")
    return file


def test_a_sweep_tells_both_intervals_in_tables_figures_and_verdicts(cli, tiny, members):
    """Wider if members differ more than runs of one member; the file is that of the option, and the points differ from those without it."""
    plain = cli("run", tiny, *FIVE)
    found = cli("run", tiny, *FIVE, "--ensemble", members, "-o", "of-ensemble")
    assert found.exit_code == 0, found.stderr
    tables = [pd.read_csv(tiny.parent / place / "table.csv") for place in ("results/tiny", "of-ensemble")]
    assert "member" not in tables[0]
    assert tables[1]["member"].to_list()[:5] == [7, 3, 5, 7, 3]
    assert len(tables[0]) == len(tables[1])
    assert set(tables[0]["point"]).isdisjoint(tables[1]["point"])
    texts = [(tiny.parent / place / "figures" / "cpu.svg").read_text() for place in ("results/tiny", "of-ensemble")]
    for name in ("95 % interval of the runs", "90 % prediction interval"):
        assert [name in text for text in texts] == [False, True]
    assert ["90 % prediction" in done.stdout for done in (plain, found)] == [False, True]
    pages = []
    for place in ("results/tiny", "of-ensemble"):
        assert cli("report", place).exit_code == 0
        pages.append((tiny.parent / place / "report.html").read_text())
    assert ['<th scope="col">90 % prediction</th>' in page for page in pages] == [False, True]
    curve = read(tiny.parent / "of-ensemble").curve(x="receivers", y="host_cpu", by="rate")
    assert (curve["prediction_high"] - curve["prediction_low"] > 3 * (curve["high"] - curve["low"])).all()


@pytest.mark.usefixtures("undrawn")
def test_a_number_that_was_set_is_so_on_every_host(cli, tiny, members):
    """The shipped number, set by the user, is another host than the shipped one, for which every member has its own number."""
    members.write_text(f"member,{COST},esxi.costs.driver_rx\n0,1000,420\n1,3000,420\n2,8000,420\n")
    shipped, put = (
        cli("run", tiny, *FIVE, "--ensemble", members, *changes, "-o", name)
        for name, *changes in (["shipped"], ["put", "--set", "platform.costs.context_switch.cycles=1900"])
    )
    assert (shipped.exit_code, put.exit_code) == (0, 0), put.stderr
    first, other = (pd.read_csv(tiny.parent / name / "table.csv") for name in ("shipped", "put"))
    assert set(first["point"]).isdisjoint(other["point"])
    spreads = [table.groupby("point")["host_used"].std().max() for table in (first, other)]
    assert spreads[0] > 2 * spreads[1]


@pytest.mark.usefixtures("undrawn")
def test_verdicts_tell_both_intervals(cli, tiny, members):
    """They are in the table and in JSON; a search has one for its threshold, and results folders are read as they were written."""
    done = cli("check", tiny, *FIVE, "--ensemble", members)
    assert done.stdout.splitlines()[0].split("band")[1].split() == ["90", "%", "prediction", "verdict"]
    first, room, _ = json.loads(cli("check", tiny, *FIVE, "--ensemble", members, "--json").stdout)
    assert first["prediction_verdict"] == "pass"
    assert room["prediction_members"] == 3
    assert cli("run", tiny, *FIVE, "--ensemble", members).exit_code == 0
    told = read(tiny.parent / "results" / "tiny").verdicts
    assert [verdict.prediction.members for verdict in told] == [3, 3, 3]
    assert "prediction_low" in told.frame()


def test_a_comparison_pairs_the_members(cli, tiny, members):
    """Both sides of a difference are the same host except for the change, so its prediction is narrower than that of either side."""
    change = ("--set", "hardware.cpu.clock=2 GHz", "--axis", "receivers=1", "--axis", "rate=5 kpps", "--json")
    done = cli("what-if", tiny, *FIVE, *change, "--ensemble", members, "--metric", "host_cpu")
    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)
    # a cost in cycles takes 2.666 / 2 as long: the difference is proportional to it and to common factors
    costs = (
        1000,
        3000,
        8000,
    )
    assert row["prediction_low"] < row["low"] < row["difference"] < row["high"] < row["prediction_high"]
    relative = (row["prediction_high"] - row["prediction_low"]) / row["difference"]
    assert relative < max(costs) / min(costs)


def test_what_if_has_the_shipped_ensemble_where_it_takes_no_time(cli, tiny, monkeypatch):
    """The command reports the ensemble; if it would take longer, it prints the additional time and omits it."""
    change = (
        "what-if",
        tiny,
        *OPTIONS,
        "--axis",
        "receivers=1",
        "--axis",
        "rate=5 kpps",
        "--set",
        "hardware.cpu.clock=2 GHz",
    )
    done = cli(*change)
    assert "means over these hosts; --no-ensemble compares the shipped host" in done.stderr
    assert "\n\nbefore and after: means over 3 hosts of the ensemble\n" in done.stdout
    assert "90 % prediction" in done.stdout
    plain = cli(*change, "--no-ensemble")
    assert "ensemble" not in plain.stderr
    assert "90 % prediction" not in plain.stdout
    assert "means over" not in plain.stdout
    monkeypatch.setattr(study, "LONGEST_S", 0.0)
    longer = cli(*change[:-1], "hardware.cpu.clock=3 GHz", "--dry-run")
    assert "note: --ensemble gives prediction intervals, which show how certain the model is, and adds" in longer.stderr
    assert longer.stdout.splitlines()[1].split()[:3] == ["tiny", "1", "3"]
    assert cli(*change, "--no-ensemble", "--ensemble").exit_code == 2


def test_the_option_by_itself_is_the_shipped_ensemble(cli, tiny):
    """In any position; a dry run gives the number of hosts."""
    for arguments in ((tiny, "--ensemble"), ("--ensemble", tiny)):
        done = cli("run", *arguments, "--dry-run", "--replications", "10")
        assert done.exit_code == 0, done.stderr
        assert "10 replications of a point are runs of 6 hosts of the ensemble shipped" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"member,{COST}\n0,1\n", "own.csv:2: has too few members; given 1 for 5 replications"),
        (
            "member,esxi.costs.context_swich\n0,1\n1,2\n2,3\n",
            f"own.csv:1: esxi.costs.context_swich: unknown constant; allowed: a constant of the cost model, or an input of a scenario; did you mean '{COST}'",
        ),
        ("member,rhel6.interrupt_coalescing\n0,1\n1,2\n2,3\n", "unknown constant"),
        (f"# x\nmember,{COST}\n0,1\n1,nan\n2,3\n", "own.csv:4: is not a row of numbers"),
        (f"member,{COST}\n0,1\n0.5,2\n2,3\n", "own.csv:3: is not a row of numbers; allowed: the number of a member"),
        (f"member,{COST}\n0,1\n2,2\n2,3\n", "own.csv:4: member: is a member twice; given 2; allowed: each number"),
        (
            f"# x\nmember,{COST}\n0,1\n1,-5\n2,3\n",
            f"{COST}: is too small, on the host of member 1 of own.csv:4; given -5 cycles; allowed: a number from 0 on",
        ),
        ("a,b\n1,2\n", "own.csv: is not an ensemble"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(cli, tiny, text, said):
    """The error has the line, and nothing is run."""
    (tiny.parent / "own.csv").write_text(text)
    done = cli("run", tiny, *FIVE, "--ensemble", "own.csv")
    assert done.exit_code == 2
    assert said in done.stderr


def test_an_ensemble_of_another_platform_is_refused(cli, tiny):
    """It has constants, but none of this host's platform."""
    (tiny.parent / "own.csv").write_text("member,dell-r810.cpu.memory.latency\n0,1\n1,2\n2,3\n")
    done = cli("run", tiny, *FIVE, "--ensemble", "own.csv")
    assert done.exit_code == 2
    assert (
        "own.csv:1: tiny: belongs to another platform than the scenario; allowed: an ensemble with constants"
        in done.stderr
    )


def test_a_host_that_cannot_be_names_its_member(cli, tmp_path, monkeypatch):
    """In addition to the fault and its place."""
    monkeypatch.chdir(tmp_path)
    window = "esxi55-40g.traffic.netperf.window"
    (tmp_path / "own.csv").write_text(f"member,{COST},{window}\n0,1,1\n1,1,0\n")
    done = cli("predict", "esxi55-40g", "--replications", "2", "--ensemble", "own.csv", "--dry-run")
    assert done.exit_code == 2
    assert "window: is too small, on the host of member 1 of own.csv:3; given '0 MiB'" in done.stderr


def test_a_first_prediction_is_none_of_an_ensemble(cli):
    """The ledger keeps one interval."""
    done = cli("predict", "--ensemble", "--record-first", "--dry-run")
    assert done.exit_code == 2
    assert "--record-first: cannot be combined with --ensemble" in done.stderr
