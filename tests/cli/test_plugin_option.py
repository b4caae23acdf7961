"""``--plugin``: a user's traffic, control loops and policies, checked, stored and reported like shipped ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import hostsim
from hostsim.errors import InputError
from tests.writable_copy import copy_tree

TICKING = Path(__file__).parents[1] / "plugins" / "ticking.py"
SCENARIO = """
scenario: ticking
question: Does it tick?
platform: esxi-5.0
hardware: dell-r810
network: {vSwitch0: {uplinks: [vmnic0]}}
vms: {receiver: {count: 1, guest: rhel6, networks: [vSwitch0]}}
traffic: {stream: {kind: ticks, to: receiver, every: 100 us}}
control_loops: {look: {name: watch, every: 1 ms}}
run: {length: 20 ms, replications: 2}
sweep:
  every: {set: traffic.stream.every, values: [100 us, 200 us]}
expect:
  - {name: nothing lost, metric: loss, at: {every: 100 us}, between: [0, 0]}
"""


@pytest.fixture
def ticking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario that names registrations of a plug-in, and the plug-in, in the working directory."""
    monkeypatch.chdir(tmp_path)
    copy_tree(TICKING, tmp_path / TICKING.name)
    file = tmp_path / "ticking.yaml"
    file.write_text(SCENARIO)
    return file


def test_a_plug_in_runs_and_its_digest_is_kept(ticking, cli):
    """Its source sends what its spec says; a changed text makes other runs, the same text none."""
    ticking.write_text(ticking.read_text().replace("20 ms", "40 ms"))  # the last packet of a run is in flight
    done = cli("run", ticking, "--plugin", "ticking.py", "--jobs", 1)
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv("results/ticking/table.csv")
    # the last of 50 is in flight
    assert table["throughput"].tolist() == pytest.approx([0.04] * 2 + [0.02] * 2, rel=0.03)
    digest = hostsim.load(ticking, plugins=["ticking.py"]).plugins[0].digest
    provenance = json.loads(Path("results/ticking/results.json").read_text())["provenance"]
    assert provenance["plugins"] == f"ticking {digest}"
    again = cli("run", ticking, "--plugin", "ticking.py", "--jobs", 1)
    assert "4 reused" in again.stderr or "4 of 4" in again.stderr.splitlines()[0]
    Path("ticking.py").write_text(TICKING.read_text() + "\n# changed\n")
    assert cli("run", ticking, "--plugin", "ticking.py", "--jobs", 1).exit_code == 0
    assert set(pd.read_csv("results/ticking/table.csv")["point"]).isdisjoint(table["point"])


def test_workers_run_the_text_that_was_read(ticking):
    """The file may change, or disappear, after the scenario is loaded."""
    loaded = hostsim.load(ticking, plugins=["ticking.py"])
    Path("ticking.py").unlink()
    there, here = (hostsim.run(loaded, jobs=jobs, results=str(jobs)).table for jobs in (2, 1))
    assert not there["error"].any()
    assert there["latency_p95"].equals(here["latency_p95"])


@pytest.mark.parametrize(
    "command",
    [
        ("check", "ticking.yaml"),
        ("what-if", "ticking.yaml", "--set", "traffic.stream.every=50 us"),
        ("trace", "ticking.yaml", "--from", "1 ms", "--length", "1 ms"),
        ("show", "ticking.yaml"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_simulates_takes_plug_ins(ticking, cli, command):
    """With the plug-in a command succeeds; without it the missing name is reported."""
    done = cli(*command, "--plugin", "ticking.py")
    assert done.exit_code == 0, done.stderr
    bare = cli(*command)
    assert bare.exit_code == 2
    assert "traffic.stream.kind: unknown kind of traffic; given 'ticks'" in bare.stderr
    assert "no plug-in is loaded" in bare.stderr


def test_an_error_of_a_plug_in_fails_its_run_with_file_and_line(ticking, cli):
    """The others go on."""
    done = cli("run", ticking, "--plugin", "ticking.py", "--jobs", 1, "--set", "traffic.stream.last=150")
    assert done.exit_code == 3
    line = TICKING.read_text().splitlines().index('    raise ArithmeticError("the clock has run down")') + 1
    assert done.stderr.count(f"ArithmeticError: the clock has run down (plug-in, ticking.py:{line})") == 2
    assert "2 of 4 runs failed" in done.stderr


@pytest.mark.parametrize("error", ["ValueError('sold out')", "SystemExit(1)"])
def test_an_error_of_a_plug_in_is_no_matter_of_a_dry_run(ticking, cli, error):
    """The run reports it as a failed row; until then the estimate counts no time for it."""
    Path("ticking.py").write_text(TICKING.read_text().replace("self.tickets = own.tickets", f"raise {error}"))
    done = cli("run", ticking, "--plugin", "ticking.py", "--set", "policies.scheduler=lottery", "--dry-run")
    assert done.exit_code == 0, done.exception
    assert done.stdout.splitlines()[1].split()[:5] == ["ticking", "2", "4", "0", "4"]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"policies.scheduler": "lotery"}, "given 'lotery'; allowed: one of lottery, proportional_share; plug-ins loaded: ticking; did you mean 'lottery'?"),
        ({"policies.scheduler.name": "lottery", "policies.scheduler.tickets": 500}, "policies.scheduler.tickets: is too large; given 500; allowed: an integer 1..100"),
        ({"policies.scheduler.ticket": 5}, "there is no such path; allowed: one of name, tickets; did you mean 'tickets'?"),
        ({"policies.coalescing": "lottery"}, "policies.coalescing: unknown coalescing scheme; given 'lottery'; allowed: one of by_setting; plug-ins loaded: ticking"),
        ({"control_loops.look.name": "watsh"}, "control_loops.look.name: unknown control loop; given 'watsh'; allowed: one of watch; plug-ins loaded: ticking; did you mean 'watch'?"),
        ({"traffic.stream.every": "-1 s"}, "traffic.stream.every: is too small; given '-1 s'"),
    ],
)  # fmt: skip
def test_what_a_scenario_says_of_a_plug_in_is_checked(ticking, settings, fault):
    """Names and settings, by the plug-in's own models, with the nearest name."""
    with pytest.raises(InputError) as caught:
        hostsim.load(ticking, settings, plugins=["ticking.py"])
    assert fault in str(caught.value).replace("overrides['", "").replace("']:", ":")


def test_the_schema_and_show_list_what_is_registered(ticking, cli):
    """For editors, and for readers."""
    schema = json.loads(cli("schema", "--plugin", "ticking.py").stdout)
    assert schema["$defs"]["TicksSpec"]["properties"]["every"]["description"] == "Time between ticks."
    assert "lottery" in json.dumps(schema["$defs"]["PoliciesPart"]["properties"]["scheduler"])
    assert "TicksSpec" not in cli("schema").stdout
    shown = cli("show", ticking, "--plugin", "ticking.py").stdout
    assert re.search(
        r"ticking +[0-9a-f]{16} +kind of traffic ticks, scheduler policy lottery, control loop watch", shown
    )
    assert re.search(r"control_loops\.look\.every +1 ms +ticking\.yaml:9", shown)


def test_a_plug_in_that_nothing_uses_changes_nothing(tiny, cli):
    """It is reported, and the points are those without it."""
    copy_tree(TICKING, tiny.parent / TICKING.name)
    plain, loaded = hostsim.load(tiny), hostsim.load(tiny, plugins=["ticking.py"])
    assert loaded.warnings == ("ticking.py: this plug-in is not used",)
    axes = plain.first()
    assert loaded.spec(axes, 10**9)[0].digest() == plain.spec(axes, 10**9)[0].digest()
