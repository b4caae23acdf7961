"""Plug-ins: read by path or entry point, executed from their text on any machine, refused with file and line."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from hostsim.campaign.simulate import simulate
from hostsim.campaign.task import Parcel
from hostsim.config.plugin import ChoiceSpec, PluginSpec
from hostsim.errors import InputError, WiringError
from hostsim.model.policy_maker import policy_maker
from hostsim.plugin.module import module_of, registry_of
from hostsim.plugin.source import read_plugins
from hostsim.scenario.plan import Point, Task
from tests.model.small_point import group, multicast, point
from tests.model.small_runs import run

TICKING = Path(__file__).parents[1] / "plugins" / "ticking.py"
USES = """
import pickle, sys
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
spec = pickle.loads(sys.stdin.buffer.read())
host = build_host(spec, Streams(1, 0))
host.clock.advance(10**10)
print(spec.digest(), type(spec.traffic["ticks"]).__name__)
"""


def loaded(*named: str | Path) -> tuple[PluginSpec, ...]:
    plugins = read_plugins(named)
    registry_of(plugins)
    return plugins


def ticking_point():
    """A host with the traffic of the plug-in, and its policy."""
    plugins = loaded(TICKING)
    registry = registry_of(plugins)
    ticks = registry.of("traffic")["ticks"].settings.model_validate({"kind": "ticks", "to": "vm", "every": "1 ms"})
    lottery = ChoiceSpec(name="lottery", settings=registry.of("scheduler")["lottery"].settings(tickets=7))
    spec = point(group(), traffic={"ticks": ticks})
    return spec.model_copy(update={"plugins": plugins, "policies": {"scheduler": lottery}})


def test_a_point_carries_its_plug_ins_to_another_process(tmp_path):
    """The plug-ins are text: the other process has no such file, and builds the same from it."""
    spec = ticking_point()
    done = subprocess.run(
        [sys.executable, "-c", USES], input=pickle.dumps(spec), capture_output=True, check=True, cwd=tmp_path
    )
    assert done.stdout.decode().split() == [spec.digest(), "TicksSpec"]


def test_a_plug_in_that_fails_on_a_worker_fails_its_run(tmp_path, monkeypatch):
    """It did not where it was read: the record has file and line anyway."""
    file = tmp_path / "flaky.py"
    file.write_text(TICKING.read_text() + "\nimport os\nos.environ['HOME']\n")
    plugins = loaded(file)
    spec = ticking_point().model_copy(update={"plugins": plugins})
    parcel = Parcel.of(Task(Point("point", {}, spec, ()), 0, 1))
    monkeypatch.delitem(sys.modules, module_of(plugins[0]).__name__)
    monkeypatch.delenv("HOME")
    record = parcel.run(simulate)
    lines = len(file.read_text().splitlines())
    assert (record.point_id, record.replication) == ("point", 0)
    assert record.error.endswith(f"{file}:{lines}: fails: KeyError: 'HOME' (plug-in, {file}:{lines})\n")


def test_the_hash_of_a_point_counts_plug_ins_and_policies_only_where_there_are_any():
    """Runs stored before plug-ins existed are still found."""
    plain = point(traffic={"stream": multicast(1)})
    assert plain.digest() == "a992b1698877f3a4f15abe7529faa9f0"
    spec = ticking_point()
    (plugin,) = spec.plugins
    changed = [
        spec.model_copy(update={"plugins": (plugin.model_copy(update={"digest": "0" * 64}),)}),
        spec.model_copy(update={"plugins": (plugin.model_copy(update={"version": "2"}),)}),
        spec.model_copy(update={"policies": {}}),
    ]
    assert len({spec.digest(), *(other.digest() for other in changed)}) == 4
    moved = spec.model_copy(update={"plugins": (plugin.model_copy(update={"file": "elsewhere.py"}),)})
    assert moved.digest() == spec.digest()


def test_a_policy_is_made_of_what_the_shipped_one_is_and_its_settings():
    """An object of another class than the role's is refused when the host is built."""
    spec, shipped = ticking_point(), object
    lottery = registry_of(spec.plugins).of("scheduler")["lottery"].factory
    assert policy_maker(spec, "scheduler", lottery, shipped)(spec.settings, 1).tickets == 7
    assert policy_maker(spec, "steering", object, shipped) is shipped
    with pytest.raises(WiringError, match=r"'lottery' returns .* which is not of class int"):
        policy_maker(spec, "scheduler", int, shipped)(spec.settings, 1)


REGISTER = "def register(registry):\n    "
SPEC = "from hostsim.config.field import Spec\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def register(registry:\n    pass\n", "mine.py:1: is not Python: '(' was never closed"),
        ("x = 1\n", "mine.py: has no function register; allowed: def register(registry): ..."),
        ("\nx = 1 / 0\n", "mine.py:2: fails: ZeroDivisionError: division by zero"),
        (REGISTER + "raise SystemExit(0)\n", "mine.py:2: fails: SystemExit: 0"),
        (REGISTER + "registry.scheduler('proportional_share', object)\n", "mine.py:2: registers the scheduler policy 'proportional_share' a second time: a shipped one has this name; allowed: another name"),
        (REGISTER + "registry.steering('a b', object)\n", "mine.py:2: is not a name of a steering rule; given 'a b'; allowed: letters, digits, _ and -, at most 100"),
        (REGISTER + "registry.steering('ab', object, dict)\n", "mine.py:2: has settings that nothing checks: the steering rule 'ab'; allowed: a class derived from hostsim.config.field.Spec"),
        (REGISTER + "registry.coalescing('ab', 5)\n", "mine.py:2: cannot be called: the coalescing scheme 'ab'; given 5; allowed: a function"),
        (REGISTER + "registry.control_loop('ab', print)\n", "mine.py:2: is not a SimPy process; given 'ab'; allowed: a function that yields events, such as env.timeout(ms(10))"),
        (SPEC + REGISTER + "registry.traffic(Spec, print)\n", "mine.py:3: is not a kind of traffic; given <class 'hostsim.config.field.Spec'>; allowed: a class derived from Traffic"),
        ("from hostsim.config.traffic import Traffic\n" + REGISTER + "registry.traffic(Traffic, print)\n", "mine.py:3: has no kind, or no receiver; given Traffic; allowed: kind: Literal[one name], and to: Names"),
        ("\0", "mine.py: is not Python: source code string cannot contain null bytes"),
    ],
)  # fmt: skip
def test_a_faulty_plug_in_is_told_by_file_and_line(tmp_path, monkeypatch, text, fault):
    """Before anything runs."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text)
    with pytest.raises(InputError) as caught:
        loaded("mine.py")
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    ("named", "fault"),
    [
        (["absent.py"], "plugins: file not found; given 'absent.py'; allowed: the path of a Python file"),
        (["ticken"], "plugins: unknown plug-in; given 'ticken'; allowed: the path of a Python file (my_policy.py)"),
        ([TICKING, TICKING], "plugins: is given twice; given"),
    ],
)
def test_a_plug_in_that_is_not_there_is_told(named, fault):
    """A plug-in that is named twice is reported, too."""
    with pytest.raises(InputError) as caught:
        loaded(*named)
    assert str(caught.value).startswith(fault)


def test_two_plug_ins_may_not_register_one_name(tmp_path):
    """It would be ambiguous which one a scenario means."""
    other = tmp_path / "other.py"
    other.write_text(TICKING.read_text() + "\n")
    with pytest.raises(InputError, match=r"other\.py:.*'ticks' a second time: the plug-in ticking registers it too"):
        loaded(TICKING, other)


def test_an_installed_plug_in_is_found_by_its_entry_point(tmp_path, monkeypatch):
    """It is found when it is named; the key of its runs has the version of its package."""
    about = tmp_path / "own_tick-2.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-tick\nVersion: 2.5\n")
    (about / "entry_points.txt").write_text("[hostsim.plugins]\ntick = own_tick\n")
    (tmp_path / "own_tick.py").write_text(TICKING.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    (plugin,) = loaded("tick")
    assert (plugin.name, plugin.version, plugin.source) == ("tick", "2.5", TICKING.read_text())
    with pytest.raises(InputError, match="or tick; did you mean 'tick'"):
        loaded("tikc")


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
COUNTED = """
scenario: counted
question: What do a coalescing scheme and a steering rule of a plug-in change?
platform: esxi-5.5
hardware: dell-r720
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 2, guest: rhel6, networks: [vSwitch0]}
traffic:
  in: {kind: udp_stream, to: receiver, direction: receive, packet_size: 200 B, rate: 10000 /s}
run: {length: 100 ms, replications: 1}
policies: {coalescing: {name: packets_or_time, packets: 5, timeout: 10 ms}, steering: every_other}
"""


def test_a_coalescing_scheme_and_a_steering_rule_are_those_of_a_scenario(tmp_path):
    """An interrupt for every five packets, as none waits for 10 ms; and the first VM uses the default queue, which NetQueue leaves to others."""
    record = run(COUNTED, tmp_path, plugins=read_plugins([EXAMPLES / "packets_or_time.py"]))
    found = {
        name: record.series[name].values[-1].tolist() for name in ("guest.interrupts", "queue.arrived", "port.received")
    }
    assert found == {"guest.interrupts": [200, 200], "queue.arrived": [1000, 1000, 0], "port.received": [1000, 1000]}
