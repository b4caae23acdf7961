"""Parts by name on the command line, and scenarios that `new` writes."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from hostsim.cli import new as new_module
from hostsim.cli.app import app
from hostsim.cli.inspection import COMPONENTS, LISTED
from hostsim.config.traffic import kind_of
from hostsim.config.workload import TRAFFIC
from hostsim.scenario.component import Parts
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import shipped_parts

KINDS = [kind_of(spec) for spec in TRAFFIC]


@pytest.mark.parametrize("kind", LISTED)
def test_list_names_every_part_of_a_kind(cli, kind):
    """In a table, each with its description."""
    lines = cli("list", kind).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(shipped_parts(kind))
    assert all(len(line.split()) > 2 for line in lines[1:])


def test_every_kind_of_traffic_has_an_entry_to_copy():
    """The table of kinds agrees with the files."""
    assert sorted(KINDS) == sorted(shipped_parts("traffic"))


def test_list_of_an_unknown_kind_names_the_nearest(cli):
    """The error also lists all kinds."""
    done = cli("list", "nic")
    assert done.exit_code == 2
    assert "unknown kind of part; given 'nic'" in done.stderr
    assert "did you mean 'nics'" in done.stderr


def test_show_prints_a_parts_values_with_their_places(cli):
    """It also prints values that the part inherits from another one."""
    rows = [line.split() for line in cli("show", "XXV710").stdout.splitlines()]
    places = {row[0]: row[-1] for row in rows if len(row) > 2}
    assert places["line_rate"].endswith("XXV710.yaml:4")
    assert "X710.yaml:" in places["rx_ring"]
    assert "XXV710" not in places["rx_ring"]


@pytest.mark.parametrize("name", ["X550", "xeon-8160", "rhel8", "esxi-7.0", "linux", "http"])
def test_show_copy_puts_a_part_here_once(cli, tmp_path, monkeypatch, name):
    """A copy is read like its original, and an existing file is never overwritten."""
    monkeypatch.chdir(tmp_path)
    done = cli("show", name, "--copy")
    assert done.exit_code == 0
    assert done.stdout.split()[0] == f"{name}.yaml"
    assert "use it as" in done.stderr
    for kind, singular in COMPONENTS.items():
        if name in shipped_parts(kind):
            read = getattr(Parts(tmp_path), singular)
            arguments = () if kind == "nics" else ((),)
            assert read(f"./{name}.yaml", *arguments).spec == read(name, *arguments).spec
    again = cli("show", name, "--copy")
    assert (again.exit_code, "not overwritten" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ideal",), "show: is the name of several parts; given 'ideal'; allowed: one of hardware/ideal, guests/ideal"),
        (("x710",), "did you mean 'X710'"),
        (("X710", "--set", "rx_ring=1"), "--set: requires a scenario; given with the part X710"),
        (("splitrxx",), "did you mean 'splitrx'"),
    ],
)
def test_show_refuses_what_names_no_single_part(cli, arguments, message):
    """The error states how to name a single part."""
    done = cli("show", *arguments)
    assert (done.exit_code, message in done.stderr) == (2, True)


def test_a_name_of_several_parts_is_found_with_its_kind(cli):
    """The guest, and not the server of the same name."""
    assert "napi_budget" in cli("show", "guests/ideal").stdout


@pytest.mark.parametrize("kind", KINDS)
def test_new_writes_a_scenario_that_loads(cli, tmp_path, monkeypatch, kind):
    """For each kind of traffic, without a warning; its groups have the requested size."""
    monkeypatch.chdir(tmp_path)
    done = cli("new", "mine", "--traffic", kind, "--vms", "3", "--vcpus", "2")
    assert done.exit_code == 0, done.stderr
    scenario = load(tmp_path / "mine.yaml")
    assert scenario.warnings == ()
    spec, _ = scenario.spec(scenario.first(), scenario.run.full.length_ps)
    assert [flow.kind for flow in spec.traffic.values()] == [kind]
    assert {(group.count, group.vcpus) for group in spec.vms} == {(3, 2)}


def test_new_puts_all_kinds_of_traffic_together(cli, tmp_path, monkeypatch):
    """No two kinds use the same ports of a VM."""
    monkeypatch.chdir(tmp_path)
    assert cli("new", "mine", *(option for kind in KINDS for option in ("--traffic", kind))).exit_code == 0
    spec, _ = load("mine.yaml").spec(load("mine.yaml").first(), 10**12)
    assert list(spec.traffic) == list(KINDS)


def test_new_writes_a_scenario_that_runs(cli, tmp_path, monkeypatch):
    """At once, with parts and traffic by the options, and a server's file for NICs by model."""
    monkeypatch.chdir(tmp_path)
    options = ("--nic", "E810", "--hardware", "dell-r720", "--guest", "linux5")
    assert cli("new", "mine", *options, "--traffic", "request_response", "--traffic", "work").exit_code == 0
    spec, _ = load("mine.yaml").spec(load("mine.yaml").first(), 10**12)
    assert spec.hardware.nics["vmnic0"].driver == "icen"
    assert [group.guest.guest for group in spec.vms] == ["linux5", "linux5"]
    done = cli("run", "mine.yaml", "--quick", "--set", "run.length=20 ms", "--replications", "1", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "response_time_p95" in done.stdout


def test_new_writes_a_native_host_that_runs(cli, tmp_path, monkeypatch):
    """On a server with drivers of Linux; its one kernel has a sweep of its processors."""
    monkeypatch.chdir(tmp_path)
    done = cli("new", "mine", "--platform", "native")
    assert done.exit_code == 0, done.stderr
    scenario = load("mine.yaml")
    assert [axis.paths for axis in scenario.axes.values()] == [("vms.db.vcpus",)]
    done = cli("run", "mine.yaml", "--quick", "--set", "run.length=20 ms", "--replications", "1", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert cli("new", "two", "--platform", "native", "--vms", "2").exit_code == 2


def test_new_refuses_parts_that_do_not_go_together_and_writes_nothing(cli, tmp_path, monkeypatch):
    """All unknown names at once; a NIC without a driver on the platform by the file that would have been written."""
    monkeypatch.chdir(tmp_path)
    done = cli("new", "--traffic", "htp", "--guest", "rhel9", "--nic", "x710")
    assert done.exit_code == 2
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["--guest", "--traffic", "--nic"]
    done = cli("new", "mine", "--nic", "E810", "--platform", "esxi-6.0")
    assert done.exit_code == 2
    assert done.stderr.startswith("mine-server.yaml:")
    assert list(tmp_path.iterdir()) == []


def test_new_overwrites_nothing(cli, tmp_path, monkeypatch):
    """`show --copy` does not overwrite files either."""
    monkeypatch.chdir(tmp_path)
    assert cli("new", "mine").exit_code == 0
    done = cli("new", "mine")
    assert (done.exit_code, "not overwritten" in done.stderr) == (2, True)


def test_new_asks_on_a_terminal_for_what_no_option_says(tmp_path, monkeypatch):
    """An empty answer takes the default in the question."""
    monkeypatch.chdir(tmp_path)
    answers = iter(["esxi-6.0", "dell-r720", "", "rhel6", 2, 1])
    asked = []

    def prompt(question, default, err):
        asked.append(question)
        return next(answers) if len(asked) > 1 else "multicast, work"

    monkeypatch.setattr(typer, "prompt", prompt)
    monkeypatch.setattr(new_module, "is_asking", lambda: True)
    assert CliRunner().invoke(app, ["new", "mine"]).exit_code == 0
    assert len(asked) == 7
    spec, _ = load("mine.yaml").spec(load("mine.yaml").first(), 10**12)
    assert [(group.name, group.count, group.vcpus) for group in spec.vms] == [("feed", 2, 1), ("batch", 2, 1)]
