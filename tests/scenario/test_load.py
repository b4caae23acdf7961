"""Loading: the scenario from a file, and every fault in words for its reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.results.expect import BESIDE_A_FORM, Always, At, Band, ExpectPart, Find, Monotone, Ratio, Worst
from hostsim.results.figure import AnswersSpec, AxisNames, FigureSpec, TableSpec
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from hostsim.scenario.shipped_data import data_root, predictions, shipped
from hostsim.units import MS, SECOND
from tests.scenario.small_scenario import changed, load_text


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults name files relative to the working folder."""
    monkeypatch.chdir(tmp_path)


def faults(tmp_path: Path, *changes: tuple[str, str], **options: dict[str, str]) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, *changes, **options)
    return [fault.on_command_line() for fault in caught.value.faults]


COUNT = "count: 2"
SWEPT = "vms.receiver.count, v"
RATE = "rate: 40 kpps"
FORMS = ", ".join(key for key in ExpectPart.model_fields if key not in (*BESIDE_A_FORM, "metric"))


@pytest.mark.parametrize(
    "name", ["bottleneck", "run_dispatches", "member", "what_if", "metric", "unit", "mean", "runs", "value", "raw"]
)
def test_an_axis_has_a_name_that_no_column_has(tmp_path: Path, name: str) -> None:
    """Before anything is run: otherwise there would be no table, or one with two columns of this name."""
    assert faults(tmp_path, ("  receivers: {set", f"  {name}: {{set"))[0] == (
        f"small.yaml:17: sweep.{name}: is the name of a column of tables; allowed: another name"
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "guest: rhel6",
            "guest: rhel6\n    cuont: 2",
            "small.yaml:11: vms.receiver.cuont: unknown key; given 2; allowed: one of count, guest, networks, vcpus, vmx, resource_pool, uses, rx_ring, tx_ring, offloads, queues; "
            "did you mean 'count'?",
            id="unknown key",
        ),
        pytest.param(
            "platform:",
            "plattform: x\nplatform:",
            "small.yaml:3: plattform: unknown key; given 'x'; allowed: one of platform, hardware, peer, host, network, vms, resource_pools, traffic, policies, control_loops, "
            "scenario, question, run, sweep, figures, expect; did you mean 'platform'?",
            id="unknown key at the top",
        ),
        pytest.param(
            "guest: rhel6",
            "guest: rhel6\n    cores: 2",
            "small.yaml:11: vms.receiver.cores: unknown key; given 2; allowed: one of count, guest, networks, vcpus, vmx, resource_pool, uses, rx_ring, tx_ring, offloads, queues; "
            "did you mean 'vcpus'?",
            id="unknown key that means another",
        ),
        pytest.param(
            "40 kpps",
            "40 kbps",
            "small.yaml:14: traffic.stream.rate: has the unit 'kbps', which is not one of rate; given '40 kbps'; "
            "allowed: a number and a unit of rate, one of pps, kpps, Mpps, /s",
            id="wrong unit",
        ),
        pytest.param(
            "40 kpps",
            "40",
            "small.yaml:14: traffic.stream.rate: has no unit; given 40; "
            "allowed: a number and a unit of rate, one of pps, kpps, Mpps, /s",
            id="no unit",
        ),
        pytest.param(
            "40 kpps",
            "-40 kpps",
            "small.yaml:14: traffic.stream.rate: is too small; given '-40 kpps'; "
            "allowed: a number and a unit of rate, one of pps, kpps, Mpps, /s; above 0",
            id="negative rate",
        ),
        pytest.param(
            COUNT,
            "count: -2",
            "small.yaml:9: vms.receiver.count: is too small; given -2; allowed: an integer 0..4096",
            id="negative count",
        ),
        pytest.param(
            COUNT,
            "count: 2.5",
            "small.yaml:9: vms.receiver.count: is not an integer; given 2.5; allowed: an integer 0..4096",
            id="fraction",
        ),
        pytest.param(
            COUNT,
            "count: many",
            "small.yaml:9: vms.receiver.count: is not an integer; given 'many'; allowed: an integer 0..4096",
            id="text for a number",
        ),
        pytest.param(
            COUNT, "count:", "small.yaml:9: vms.receiver.count: has no value; allowed: an integer 0..4096", id="nothing"
        ),
        pytest.param(
            "question: What happens?\n", "", "small.yaml: question: is missing; allowed: text", id="missing key"
        ),
        pytest.param(
            "    count: 2\n",
            "    count: 2\n    count: 3\n",
            "small.yaml:10: vms.receiver.count: duplicate key, already on line 9; allowed: each key once",
            id="duplicate key",
        ),
        pytest.param(
            "guest: rhel6",
            "guest: ./rhel7.yaml",
            "small.yaml:10: vms.receiver.guest: file not found; given './rhel7.yaml'; allowed: a file below .",
            id="missing file",
        ),
        pytest.param(
            "hardware: dell-r810",
            "hardware: del-r810",
            "small.yaml:4: hardware: unknown name; given 'del-r810'; "
            "allowed: one of dell-r720, dell-r810, dell-r820, epyc-9334, generic-2010, hp-dl580-g7, ideal, opteron-2389, unlisted-2009, xeon-6448y, xeon-8160, xeon-e5520, xeon-x7550, or a path with a slash; did you mean 'dell-r810'?",
            id="unknown hardware",
        ),
        pytest.param(
            SWEPT,
            "vms.reciever.count, v",
            "small.yaml:17: vms.reciever.count: there is no such path; allowed: one of receiver; did you mean 'receiver'?",
            id="sweep over a group that is not there",
        ),
        pytest.param(
            SWEPT,
            "vms.receiver.cont, v",
            "small.yaml:17: vms.receiver.cont: there is no such path; "
            "allowed: one of count, guest, networks, vcpus, vmx, resource_pool, uses, rx_ring, tx_ring, offloads, queues; did you mean 'count'?",
            id="sweep over a key that is not there",
        ),
        pytest.param(
            SWEPT,
            "host.advanced.Cpu.Quantm, v",
            "small.yaml:17: host.advanced.Cpu.Quantm: unknown setting; allowed: a setting of the platform; "
            "did you mean 'Cpu.Quantum'?",
            id="sweep over a setting that is not there",
        ),
        pytest.param(
            SWEPT,
            "hardware.nics.vmnic1.rx_ring, v",
            "small.yaml:17: hardware.nics.vmnic1.rx_ring: there is no such path; allowed: one of vmnic0; did you mean 'vmnic0'?",
            id="sweep over a NIC that is not there",
        ),
        pytest.param(
            SWEPT,
            "run.length, v",
            "small.yaml:17: run.length: cannot be varied; "
            "allowed: a path below platform, hardware, peer, host, network, vms, resource_pools, traffic, policies, control_loops",
            id="sweep over what cannot be varied",
        ),
        pytest.param(
            SWEPT,
            "platform.costs.context_switch.cycles, v",
            "small.yaml:17: platform.costs.context_switch.cycles: is a cost; "
            "allowed: no cost, as a constant has the same value in all experiments",
            id="sweep over a cost",
        ),
        pytest.param(
            "[1, 2]",
            "[1, -2]",
            "small.yaml:17: vms.receiver.count: is too small; given -2; allowed: an integer 0..4096",
            id="value of an axis",
        ),
        pytest.param(
            "[1, 2]", "[2, 2]", "small.yaml:17: sweep.receivers.values: is given twice; given 2; allowed: each value once",
            id="value twice",
        ),
        pytest.param(
            "[1, 2]",
            "[[1, 1], 2]",
            "small.yaml:17: sweep.receivers.values: does not fit the paths of the axis; given [1, 1]; "
            "allowed: one value, not a list",
            id="list for one path",
        ),
        pytest.param(
            "[1, 2]", "[]", "small.yaml:17: sweep.receivers.values: has too few entries; given []; allowed: a list of values",
            id="no values",
        ),
        pytest.param(
            'emuRxMode: "0"',
            'emuRxMode: "2"',
            "small.yaml:12: vms.receiver.vmx.ethernet0.emuRxMode: is not one of the choices; given '2'; "
            'allowed: one of "0", "1"',
            id="vmx value",
        ),
        pytest.param(
            'emuRxMode: "0"',
            'emuRxMode: "0", ethernet0.coalescingParams: 50',
            "small.yaml:12: vms.receiver.vmx.ethernet0.coalescingParams: is out of range; given 50; "
            "allowed: with rbc: an integer 100..100000",
            id="vmx value out of range",
        ),
        pytest.param(
            'emuRxMode: "0"',
            'emuRxMode: "0", ethernet0.emuRxMod: "0"',
            "small.yaml:12: vms.receiver.vmx.ethernet0.emuRxMod: unknown setting; given '0'; "
            "allowed: a setting of the platform; did you mean 'ethernet0.emuRxMode'?",
            id="unknown vmx key",
        ),
        pytest.param(
            "networks: [vSwitch0]",
            "networks: [vSwitch0]\n    vcpus: 769",
            "small.yaml:12: vms.receiver.vcpus: is too large; given 769; allowed: an integer 1..768",
            id="more vCPUs than a VM may have",
        ),
        pytest.param(
            "networks: [vSwitch0]",
            "networks: [vSwitch1]",
            "small.yaml:11: vms.receiver.networks: unknown virtual switch; given 'vSwitch1'; allowed: one of vSwitch0; "
            "did you mean 'vSwitch0'?",
            id="unknown switch",
        ),
        pytest.param(
            "[vmnic0]",
            "[vmnic1]",
            "small.yaml:6: network.vSwitch0.uplinks: unknown physical NIC; given 'vmnic1'; allowed: one of vmnic0; "
            "did you mean 'vmnic0'?",
            id="unknown uplink",
        ),
        pytest.param(
            "{uplinks: [vmnic0]}",
            "{uplinks: [vmnic0]}\n  vSwitch1: {uplinks: [vmnic0]}",
            "small.yaml:7: network.vSwitch1.uplinks: is already the uplink of vSwitch0; given ['vmnic0']; "
            "allowed: a NIC that is not in use",
            id="uplink of two switches",
        ),
        pytest.param(
            "to: receiver",
            "to: [receiver, sender]",
            "small.yaml:14: traffic.stream.to: unknown group of VMs; given 'sender'; allowed: one of receiver",
            id="unknown receiver",
        ),
        pytest.param(
            "40 kpps",
            "1.5 Mpps",
            "small.yaml:14: traffic.stream.rate: is more than the wire carries; given '1.5 Mpps'; "
            "allowed: below 1443418 pps, the rate that vmnic0 has left for frames of 866 B",
            id="more than the wire carries",
        ),
        pytest.param(
            "800 B",
            "1473 B",
            "small.yaml:14: traffic.stream.packet_size: does not fit in a frame; given '1473 B'; "
            "allowed: at most 1472 B: one frame at an MTU of 1500",
            id="longer than a frame",
        ),
        pytest.param(
            RATE,
            f"{RATE}, arrivals: {{process: gamma}}",
            "small.yaml:14: traffic.stream.arrivals: cv and process: gamma need each other; "
            "allowed: process: gamma, cv: a number above 0",
            id="gamma without cv",
        ),
        pytest.param(
            RATE,
            "arrivals: {process: replay, file: none.txt}",
            "small.yaml:14: traffic.stream.arrivals.file: file not found; given 'none.txt'; allowed: a file below .",
            id="missing file of arrivals",
        ),
        pytest.param(
            "y: loss",
            "y: los",
            "small.yaml:20: figures.loss.y: unknown metric; given 'los'; allowed: a name that `hostsim metrics` lists; did you mean 'loss'?",
            id="unknown metric",
        ),
        pytest.param(
            "{x: receivers, y: loss, series: split}",
            "{x: receivers, y: loss, kind: bar, stack: [loss_nic, rx_rate]}",
            "small.yaml:20: figures.loss.stack: stacks rx_rate, in kpps, on loss; given ['loss_nic', 'rx_rate']; allowed: metrics in %",
            id="stack of two units",
        ),
        pytest.param(
            "{x: receivers, y: loss, series: split}",
            "{x: receivers, y: loss, kind: bar, stack: [loss_nic, loss]}",
            "small.yaml:20: figures.loss.stack: names a metric twice; given ['loss_nic', 'loss']; allowed: each metric once, and not y",
            id="stack of the same",
        ),
        pytest.param(
            "series: split}",
            "series: split, stack: loss_nic}",
            "small.yaml:20: figures.loss: has stack without a single bar to add to; "
            "allowed: kind: bar, without series and right",
            id="stack of lines",
        ),
        pytest.param(
            "{x: receivers, y: loss, series: split}",
            "{answers: [mine, mien]}",
            "small.yaml:20: figures.loss.answers: unknown expectation; given 'mien'; "
            "allowed: names of expectations of this scenario; did you mean 'mine'?",
            id="answer of an unknown expectation",
        ),
        pytest.param(
            "{x: receivers, y: loss, series: split}",
            "{answers: [mine, mine]}",
            "small.yaml:20: figures.loss.answers: names an expectation twice; given ['mine', 'mine']; allowed: each expectation once",
            id="answer twice",
        ),
        pytest.param(
            "{x: receivers, y: loss, series: split}",
            "{answers: mine, x: receivers}",
            "small.yaml:20: figures.loss: combines answers with other keys; allowed: answers with label, title and size only; or x and y",
            id="answers against an axis",
        ),
        pytest.param(
            "y: loss, series: split",
            "series: split",
            "small.yaml:20: figures.loss: has nothing to draw; allowed: x: AXIS and y: METRIC; or answers: [NAME, ...]",
            id="figure of nothing",
        ),
        pytest.param(
            "x: receivers",
            "x: recievers",
            "small.yaml:20: figures.loss.x: unknown axis; given 'recievers'; allowed: one of receivers, split; "
            "did you mean 'receivers'?",
            id="unknown axis",
        ),
        pytest.param(
            "name: mine\n    metric: loss\n    at: {receivers: 2}\n    between: [0, 1 %]",
            "claim: splitrx.defalt.40k\n    metric: loss\n    at: {receivers: 2}",
            "small.yaml:22: expect[0].claim: unknown claim; given 'splitrx.defalt.40k'; allowed: an id of claims.csv; "
            "did you mean 'splitrx.default.40k'?",
            id="unknown claim",
        ),
        pytest.param(
            "[0, 1 %]",
            "[0, 1 s]",
            "small.yaml:25: expect[0].between: has the unit 's', which is not one of percent; given '1 s'; "
            "allowed: a number and a unit of percent, one of %; or a number in %",
            id="bound in another unit",
        ),
        pytest.param(
            "at: {receivers: 2}",
            "at: {receivers: 5000}",
            "small.yaml:22: vms.receiver.count: is too large; given 5000; allowed: an integer 0..4096",
            id="point of an expectation",
        ),
        pytest.param(
            "metric: loss\n    at: {receivers: 2}\n    between: [0, 1 %]",
            "ratio: {of: mine, to: yours}\n    between: [0, 1]",
            "small.yaml:23: expect[0].ratio.of: unknown expectation; given 'mine'; "
            "allowed: the name of another expectation of this scenario\n"
            "small.yaml:23: expect[0].ratio.to: unknown expectation; given 'yours'; "
            "allowed: the name of another expectation of this scenario",
            id="ratio of unknown expectations",
        ),
        pytest.param(
            "metric: loss\n",
            "metric: loss\n    r2: {metric: loss, against: receivers, values: [1, 2, 3]}\n",
            f"small.yaml:22: expect[0]: needs exactly one form; allowed: one of metric (with at), {FORMS}; has metric and r2",
            id="two questions",
        ),
        pytest.param(
            "    metric: loss\n    at: {receivers: 2}\n",
            "",
            f"small.yaml:22: expect[0]: needs exactly one form; allowed: one of metric (with at), {FORMS}",
            id="no question",
        ),
        pytest.param(
            "  split: {set: vms.receiver.vmx.ethernet0.emuRxMode, values: [\"0\", \"1\"]}",
            "  split: {set: vms.receiver.count, values: [3, 4]}",
            "small.yaml:18: vms.receiver.count: is already varied by receivers; allowed: each path once",
            id="path varied twice",
        ),
        pytest.param(
            COUNT,
            "count: {value: 2, assumed: no reason, range: [3, 4]}",
            "small.yaml:9: vms.receiver.count: is outside its range; given 2; "
            "allowed: low not above the value, high not below it",
            id="assumption outside its range",
        ),
        pytest.param(
            COUNT,
            "count: {value: 2, prior: 5, assumed: no reason, range: [1, 4]}",
            "small.yaml:9: vms.receiver.count.prior: is outside its range; given 5; "
            "allowed: low not above the prior, high not below it",
            id="prior outside its range",
        ),
        pytest.param(
            COUNT,
            "count: {value: 2, assumed: no reason}",
            "small.yaml:9: vms.receiver.count: is not a complete assumption; given a mapping; "
            "allowed: value, assumed: reason, range: [low, high]",
            id="assumption without range",
        ),
        pytest.param(
            COUNT,
            "count: {value: 2, assumed: no reason, range: [1, 2, 3]}",
            "small.yaml:9: vms.receiver.count: has a range of more than two ends; given 2; allowed: [low, high]",
            id="assumption with three ends",
        ),
    ],
)  # fmt: skip
def test_bad_input_says_what_is_wrong(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """File, line, path, given value, allowed values, nearest known name, and nothing else."""
    assert faults(tmp_path, (old, new)) == expected.splitlines()


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    """Faults of different kinds and sections are reported together, in the order of the file."""
    told = faults(
        tmp_path,
        ("question: What happens?\n", ""),
        (COUNT, "cuont: -2"),
        ('emuRxMode: "0"', 'emuRxMode: "7"'),
        ("to: receiver", "to: reciever"),
        ("40 kpps", "40"),
        ("[1, 2]", "[1, 5000]"),
        ("y: loss", "y: los"),
        ("at: {receivers: 2}", "at: {recievers: 2}"),
    )
    assert [line.split(": ")[:2] for line in told] == [
        ["small.yaml", "question"],
        ["small.yaml:8", "vms.receiver.cuont"],
        ["small.yaml:11", "vms.receiver.vmx.ethernet0.emuRxMode"],
        ["small.yaml:13", "traffic.stream.rate"],
        ["small.yaml:13", "traffic.stream.to"],
        ["small.yaml:16", "vms.receiver.count"],
        ["small.yaml:19", "figures.loss.y"],
        ["small.yaml:23", "expect[0].at.recievers"],
    ]


SEARCH = """\
  - name: room
    find: {largest: rate, from: 1 kpps, to: 9 kpps, where: {metric: loss, below: 1 %}}
    between: [2000 pps, 9 kpps]
"""
ANSWERS = ("{x: receivers, y: loss, series: split}", "{answers: [mine, room]}")
SWEEP = ("figures:", "  rate: {set: traffic.stream.rate, values: [40 kpps]}\nfigures:")


def test_a_figure_shows_answers_that_stand_on_one_scale(tmp_path: Path) -> None:
    """A share and a rate cannot; a search counts in the unit of its steps."""
    asked = ("expect:\n", f"expect:\n{SEARCH}")
    (told,) = faults(tmp_path, asked, SWEEP, ANSWERS)
    assert told == (
        "small.yaml:21: figures.loss.answers: has an answer in kpps next to one in %; given 'room'; "
        "allowed: expectations whose answers are in one unit"
    )
    scenario = load_text(tmp_path, asked, SWEEP, (ANSWERS[0], "{answers: room}"))
    assert scenario.figures == (AnswersSpec("loss", ("room",)),)
    room = scenario.expectations[0]
    assert (room.band, room.unit) == (Band(2.0, 9.0), "kpps")


def test_an_expectation_that_is_wrong_itself_is_told_once(tmp_path: Path) -> None:
    """The figure with its answer does not report it again."""
    (told,) = faults(tmp_path, (ANSWERS[0], "{answers: mine}"), ("metric: loss", "metric: los"))
    assert told.startswith("small.yaml:23: expect[0].metric: unknown metric")
    (told,) = faults(tmp_path, (ANSWERS[0], "{answers: mine}"), ("metric: loss", "metrik: loss\n    metric: loss"))
    assert "unknown key" in told
    ratio = "  - {name: gain, ratio: {of: mine, to: other}, between: [1, 2]}\n"
    other = "  - {name: other, metric: loss, at: {receivers: 1}, between: [0, 1 %]}\n"
    (told,) = faults(
        tmp_path, ("metric: loss", "metrik: loss\n    metric: loss"), ("expect:\n", "expect:\n" + ratio + other)
    )
    assert "unknown key" in told


def test_a_file_that_is_not_there_has_a_nearest_one(tmp_path: Path) -> None:
    """By the text before the dot, in the intended folder."""
    (tmp_path / "parts").mkdir()
    for name in ("rhel.yaml", "rhel.txt", "other.yaml"):
        (tmp_path / "parts" / name).write_text("")
    (told,) = faults(tmp_path, ("rhel6", "parts/rehl.yaml"))
    assert told.endswith(
        "file not found; given 'parts/rehl.yaml'; allowed: a file below .; did you mean 'parts/rhel.yaml'?"
    )
    (told,) = faults(tmp_path, ("rhel6", "parts/x.yaml"))
    assert "did you mean" not in told


def test_faults_of_a_part_name_its_file(tmp_path: Path) -> None:
    """A bad hardware file is reported with its own lines, and rules between its keys are checked."""
    hardware = tmp_path / "box.yaml"
    hardware.write_text(
        "hardware: box\n"
        "cpu: {model: x, family: westmere, sockets: 1, cores: 4, clock: 2 GHz}\n"
        "nics:\n"
        "  vmnic0: {model: x, line_rate: 10 Gbit/s, node: 1, rx_ring: 512, driver: ixgb, interrupt_interval: 50 us}\n",
        encoding="utf-8",
    )
    told = faults(tmp_path, ("dell-r810", "./box.yaml"))
    assert told[0].startswith("box.yaml:2: cpu.family: unknown processor family; given 'westmere'; allowed: one of ")
    assert told[0].endswith("did you mean 'westmere-ex'?")
    assert told[1:] == [
        "box.yaml:4: nics.vmnic0.node: is not a node of this server; given 1; allowed: a NUMA node 0..0: one for each socket",
        (
            "box.yaml:4: nics.vmnic0.driver: unknown to esxi-5.0; given 'ixgb'; allowed: one of bnx2x, igb, ixgbe, tg3, mlx4, "
            "or another model or platform; did you mean 'ixgbe'?"
        ),
    ]


def test_a_platform_that_extends_itself_is_refused(tmp_path: Path) -> None:
    """A chain of platforms ends."""
    (tmp_path / "a.yaml").write_text("platform: a\nextends: ./b.yaml\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("platform: b\nextends: ./a.yaml\n", encoding="utf-8")
    assert faults(tmp_path, ("esxi-5.0", "./a.yaml")) == [
        "b.yaml:2: extends: extends itself; given './a.yaml'; allowed: a platform that does not extend this one"
    ]


def test_a_platform_is_laid_over_its_parent_key_by_key(tmp_path: Path) -> None:
    """A delta changes one default and keeps range, meaning and everything else."""
    (tmp_path / "own.yaml").write_text(
        "platform: own\nextends: esxi-5.0\nadvanced: {Net.MaxPortRxQueueLen: {default: 40}}\n", encoding="utf-8"
    )
    scenario = load_text(tmp_path, ("platform: esxi-5.0", "platform: ./own.yaml"))
    spec, _ = scenario.spec(scenario.first(), SECOND)
    assert spec.settings.port_rx_queue == 40
    (row,) = [row for row in scenario.settings if row.name == "host.advanced.Net.MaxPortRxQueueLen"]
    assert (row.value, row.origin) == ("40", "own default")
    told = faults(
        tmp_path,
        ("platform: esxi-5.0", "platform: ./own.yaml"),
        ("network:", "host: {advanced: {Net.MaxPortRxQueueLen: 501}}\nnetwork:"),
    )
    assert told[0].startswith(
        "small.yaml:5: host.advanced.Net.MaxPortRxQueueLen: is out of range; given 501; allowed: "
    )


def test_a_guest_is_laid_over_its_parent_and_a_constant_goes_with_its_origin(tmp_path: Path) -> None:
    """Missing keys come from its parent; a sourced cost replaces an assumed one, including its range."""
    own = "guest: own\nextends: rhel6\napplications: {http_server: {cycles: 1000, source: a paper}}\n"
    (tmp_path / "own.yaml").write_text(own, encoding="utf-8")
    (tmp_path / "loop.yaml").write_text("guest: loop\nextends: ./loop.yaml\n", encoding="utf-8")
    guests = []
    for name in ("rhel6", "./own.yaml"):
        scenario = load_text(tmp_path, ("guest: rhel6", f"guest: {name}"))
        guests.append(scenario.spec(scenario.first(), SECOND)[0].vms[0].guest)
    parent, child = guests
    server = child.applications.http_server
    assert (server.source, server.assumed, server.range) == ("a paper", None, None)
    kept = {"guest": "rhel6", "applications": parent.applications}
    assert child.model_copy(update=kept) == parent
    assert faults(tmp_path, ("guest: rhel6", "guest: ./loop.yaml")) == [
        "loop.yaml:2: extends: extends itself; given './loop.yaml'; allowed: a guest that does not extend this one"
    ]


def test_a_missing_scenario_names_the_nearest(tmp_path: Path) -> None:
    """By name among the shipped ones, by path among the files beside it."""
    (tmp_path / "mine.yaml").write_text(changed(), encoding="utf-8")
    known = "a path, or one of " + ", ".join([*shipped(), *predictions()])
    for given, expected in (
        ("splitrxx", f"unknown scenario; given 'splitrxx'; allowed: {known}; did you mean 'splitrx'?"),
        ("min.yaml", f"file not found; given min.yaml; allowed: {known}; did you mean 'mine.yaml'?"),
    ):
        with pytest.raises(InputError) as caught:
            load(given)
        assert str(caught.value) == expected


def test_overrides_win_and_keep_their_origin(tmp_path: Path) -> None:
    """`--set` reaches keys, settings and the inside of parts, and is listed in the settings."""
    overrides = {
        "traffic.stream.rate": "50 kpps",
        "host.advanced.Net.MaxPortRxQueueLen": "100",
        "hardware.nics.vmnic0.rx_ring": "1024",
        "vms.receiver.guest.napi_budget": "32",
    }
    scenario = load_text(tmp_path, overrides=overrides)
    spec, _ = scenario.spec(scenario.first(), SECOND)
    assert spec.traffic["stream"].rate == 50_000
    assert spec.settings.port_rx_queue == 100
    assert spec.hardware.nics["vmnic0"].rx_ring == 1024
    assert spec.vms[0].guest.napi_budget == 32
    origins = {row.name: (row.value, row.origin) for row in scenario.settings}
    assert {name: origins[name] for name in overrides} == {name: (text, "--set") for name, text in overrides.items()}
    assert origins["host.advanced.Cpu.Quantum"] == ("50", "esxi-5.0 default")
    assert origins["vms.receiver.count"] == ("1, 2", "axis receivers")
    assert origins["traffic.stream.packet_size"] == ("800 B", "small.yaml:14")
    assert "hardware.nics.vmnic0.rx_ring" not in {assumption.path for assumption in scenario.assumptions}


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            {"vms.receiver.cont": "5"},
            (
                "--set: vms.receiver.cont: there is no such path; "
                "allowed: one of count, guest, networks, vcpus, vmx, resource_pool, uses, rx_ring, tx_ring, offloads, queues; did you mean 'count'?"
            ),
        ),
        (
            {"hardware.nics.vmnic0.rx_ring": "0"},
            "--set: hardware.nics.vmnic0.rx_ring: is too small; given 0; allowed: an integer 1..65536",
        ),
        (
            {"vms.receiver.vmx.ethernet0.emuRxMode": "3"},
            '--set: vms.receiver.vmx.ethernet0.emuRxMode: is not one of the choices; given 3; allowed: one of "0", "1"',
        ),
        (
            {"traffic.stream.rate": "&x 1"},
            "--set: traffic.stream.rate: anchors are not allowed; given '&x 1'; allowed: the value itself",
        ),
    ],
)
def test_bad_overrides_are_told_like_bad_keys(tmp_path: Path, overrides: dict[str, str], expected: str) -> None:
    """The option is listed in place of file and line."""
    assert faults(tmp_path, overrides=overrides) == [expected]


def test_setting_what_an_axis_varies_pins_the_axis(tmp_path: Path) -> None:
    """The set value is the only value of the axis."""
    scenario = load_text(tmp_path, overrides={"vms.receiver.count": "7"})
    assert {name: axis.values for name, axis in scenario.axes.items()} == {"receivers": (7,), "split": ("0", "1")}


def test_axes_can_be_given_anew_or_added(tmp_path: Path) -> None:
    """By name for axes of the file, by path for others; text stays text if the file has text."""
    scenario = load_text(
        tmp_path, axes={"receivers": "1..9:4,20", "split": "1,0", "traffic.stream.rate": "10..30:10 kpps"}
    )
    assert {name: axis.values for name, axis in scenario.axes.items()} == {
        "receivers": (1, 5, 9, 20),
        "split": ("1", "0"),
        "traffic.stream.rate": ("10 kpps", "20 kpps", "30 kpps"),
    }


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        (
            {"recievers": "1,2"},
            ("--axis: recievers: unknown axis; allowed: an axis of the scenario or a dotted path; axes: receivers, split; "
            "did you mean 'receivers'?"),
        ),
        ({"vms.receiver.count": "1,2"}, "--axis: vms.receiver.count: is already varied; allowed: values for the axis receivers"),
        ({"receivers": "0..5000:2500"}, "--axis: vms.receiver.count: is too large; given 5000; allowed: an integer 0..4096"),
        (
            {"receivers": "3..1"},
            ("--axis: receivers: is not a range; given '3..1'; "
            "allowed: start..stop:step with start not above stop, a step above 0, at most 100000 values, and the unit once, at the end: 5..20:5 kpps"),
        ),
        (
            {"receivers": "1,2.."},
            ("--axis: receivers: is not a range; given '2..'; "
            "allowed: start..stop:step with start not above stop, a step above 0, at most 100000 values, and the unit once, at the end: 5..20:5 kpps"),
        ),
        (
            {"receivers": "1,,2"},
            ("--axis: receivers: is not a list of values; given '1,,2'; "
            "allowed: values separated by commas, or start..stop:step"),
        ),
    ],
)  # fmt: skip
def test_bad_axes_are_told_like_bad_keys(tmp_path: Path, axes: dict[str, str], expected: str) -> None:
    """Unknown names, paths that are already varied, invalid values, invalid ranges."""
    assert faults(tmp_path, ("- name: mine", "- name: other"), axes=axes)[:1] == [expected]


def test_linked_paths_move_together(tmp_path: Path) -> None:
    """An axis with two paths takes lists, and is named by their values."""
    scenario = load_text(
        tmp_path,
        (
            "{set: vms.receiver.count, values: [1, 2]}",
            "{set: [vms.receiver.count, traffic.stream.rate], values: [[1, 10 kpps], [2, 20 kpps]]}",
        ),
        ("at: {receivers: 2}", "at: {receivers: '2, 20 kpps'}"),
    )
    specs = [
        scenario.spec({**scenario.first(), "receivers": value}, SECOND)[0]
        for value in scenario.axes["receivers"].values
    ]
    assert [(spec.vms[0].count, spec.traffic["stream"].rate) for spec in specs] == [(1, 10_000), (2, 20_000)]


def test_platform_hardware_and_guests_are_axes_like_any_other(tmp_path: Path) -> None:
    """A part is varied by its name."""
    (tmp_path / "slow.yaml").write_text(
        (data_root() / "guests" / "rhel6.yaml")
        .read_text(encoding="utf-8")
        .replace("napi_budget: 64", "napi_budget: 8"),
        encoding="utf-8",
    )
    scenario = load_text(tmp_path, axes={"vms.receiver.guest": "rhel6, ./slow.yaml"})
    at = scenario.first()
    budgets = [
        scenario.spec({**at, "vms.receiver.guest": name}, SECOND)[0].vms[0].guest.napi_budget
        for name in ("rhel6", "./slow.yaml")
    ]
    assert budgets == [64, 8]


def test_settings_that_are_known_but_not_modelled_warn(tmp_path: Path) -> None:
    """The scenario with the line, and its points, wherever its file is."""
    rss = ('emuRxMode: "0"', 'emuRxMode: "0", ethernet0.rssoffload: "TRUE"')
    scenario = load_text(tmp_path, rss, ("sweep:", "peer: linux\nsweep:"))
    (warning,) = scenario.warnings
    assert warning.endswith(
        "small.yaml:12: vms.receiver.vmx.ethernet0.rssoffload = 'TRUE' has no effect: it is not modelled"
    )
    flags = {task.point.warnings for task in make_plan(scenario, Fidelity()).tasks}
    assert flags == {("setting not modelled: ethernet0.rssoffload = TRUE",)}


def test_assumptions_are_listed_with_their_range(tmp_path: Path) -> None:
    """Assumptions of the scenario are first, then those of its parts, each under its path."""
    scenario = load_text(tmp_path, (RATE, "rate: {value: 40 kpps, assumed: nobody said, range: [30 kpps, 50 kpps]}"))
    first = scenario.assumptions[0]
    assert (first.path, first.value, first.reason, first.range) == (
        "traffic.stream.rate",
        "40 kpps",
        "nobody said",
        ("30 kpps", "50 kpps"),
    )
    assert str(first.place) == "small.yaml:14"
    for assumption in scenario.assumptions:
        for end in assumption.range:
            load_text(tmp_path, overrides={assumption.path: str(end)})


def test_axes_that_an_expectation_leaves_out_have_their_first_value(tmp_path: Path) -> None:
    """Values are in the sweep's notation."""
    scenario = load_text(tmp_path, ("at: {receivers: 2}", 'at: {receivers: "2"}'))
    (expectation,) = scenario.expectations
    assert expectation.form == At("loss", {"receivers": 2, "split": "0"})
    assert (expectation.band, expectation.unit, expectation.published) == (Band(0, 1.0), "%", "0 to 1 %")


def test_every_form_of_expectation_is_read(tmp_path: Path) -> None:
    """Bands without unit for ratios, thresholds in the metric's unit, axes filled in except the one along which a form runs."""
    scenario = load_text(
        tmp_path,
        (
            "expect:\n",
            (
                "expect:\n"
                "  - {name: f, between: [1, 48], find: {smallest: receivers, from: 1, to: 48,"
                " where: {metric: latency_p95, below: 1 ms}}}\n"
                "  - {name: b, between: [null, 5], best: {metric: loss, over: receivers, values: [1, 3]}}\n"
                "  - {name: a, between: [1, 1], always: {metric: loss, is: falling, along: receivers, values: [1, 3]}}\n"
                "  - {name: r, between: [0.9, null], ratio: {metric: loss, of: {split: 1}, to: {split: 0}}}\n"
                "  - {name: rr, between: [0.9, 1.1], ratio: {of: f, to: mine}}\n"
            ),
        ),
    )
    split = {"split": "0"}
    assert [expectation.form for expectation in scenario.expectations[:5]] == [
        Find(False, "receivers", 1, 48, "latency_p95", 1000.0, split),
        Worst((At("loss", {"receivers": 1} | split), At("loss", {"receivers": 3} | split)), best=True),
        Always((Monotone("loss", "falling", "receivers", (1, 3), split),)),
        Ratio("loss", {"split": "1"}, {"split": "0"}, {"receivers": 1, "split": "0"}),
        Ratio(None, "f", "mine", {}),
    ]
    assert [expectation.unit for expectation in scenario.expectations[:4]] == ["receivers", "%", "boolean", "ratio"]


def test_arrivals_are_replayed_from_a_file_beside_the_scenario(tmp_path: Path) -> None:
    """Seconds become picoseconds; bad lines are reported with the file's own lines."""
    (tmp_path / "arrivals.txt").write_text("# seconds\n0.001\n0.0015\n\n2\n", encoding="utf-8")
    change = (RATE, "arrivals: {process: replay, file: arrivals.txt}")
    scenario = load_text(tmp_path, change)
    spec, _ = scenario.spec(scenario.first(), SECOND)
    assert spec.traffic["stream"].arrivals.timestamps_ps == (MS, 3 * MS // 2, 2 * SECOND)
    (tmp_path / "arrivals.txt").write_text("1\nx\n0.5\n-1\n", encoding="utf-8")
    assert faults(tmp_path, change) == [
        "arrivals.txt:2: is not an instant; given 'x'; allowed: seconds, 0..997200",
        "arrivals.txt:3: goes back in time; given '0.5'; allowed: ascending seconds",
        "arrivals.txt:4: is not an instant; given '-1'; allowed: seconds, 0..997200",
    ]


def test_arrivals_of_an_epoch_are_shifted_by_their_first_instant(tmp_path: Path) -> None:
    """``frame.time_epoch`` of tshark to the nanosecond, which a float cannot represent."""
    change = (RATE, "arrivals: {process: replay, file: arrivals.txt}")
    (tmp_path / "arrivals.txt").write_text("1700000000.000000007\n1700000000.000001012\n1700000001.5\n")
    scenario = load_text(tmp_path, change)
    spec, _ = scenario.spec(scenario.first(), SECOND)
    assert spec.traffic["stream"].arrivals.timestamps_ps == (0, 1_005_000, 1_499_999_993_000)
    (tmp_path / "arrivals.txt").write_text("1700000000.5\n1700000000.4\n1800000000.5\n")
    assert faults(tmp_path, change) == [
        "arrivals.txt:2: goes back in time; given '1700000000.4'; allowed: ascending seconds",
        "arrivals.txt:3: is not an instant; given '1800000000.5'; allowed: seconds, 1700000000.5..1700997200.5",
    ]
    (tmp_path / "arrivals.txt").write_text('"(PDH-CSV 4.0) (UTC)(0)","x"\n"11/26/2026 01:00:00","1.00"\n')
    assert faults(tmp_path, change) == [
        (
            """arrivals.txt:1: is the output of `esxtop -b`, not an arrival trace; given '"(PDH-CSV 4.0) (UTC)(0)","x"'; """
            "allowed: a number of seconds on each line"
        )
    ]


def test_receivers_of_a_stream_hang_on_one_switch(tmp_path: Path) -> None:
    """One NIC receives the packet, one switch replicates it."""
    hardware = tmp_path / "box.yaml"
    nic = "{model: x, line_rate: 10 Gbit/s, node: 0, rx_ring: 512, driver: ixgbe, interrupt_interval: 50 us}"
    hardware.write_text(
        "hardware: box\ncpu: {model: x, family: westmere-ex, sockets: 1, cores: 4, clock: 2 GHz}\n"
        f"nics: {{vmnic0: {nic}, vmnic1: {nic}}}\n",
        encoding="utf-8",
    )
    told = faults(
        tmp_path,
        ("dell-r810", "./box.yaml"),
        ("[vmnic0]}", "[vmnic0]}\n  vSwitch1: {uplinks: [vmnic1]}"),
        ("traffic:", "  other: {count: 1, guest: rhel6, networks: vSwitch1}\ntraffic:"),
        ("to: receiver", "to: [receiver, other]"),
    )
    assert told == [
        (
            "small.yaml:16: traffic.stream.to: has receivers on vSwitch0 and vSwitch1; given ['receiver', 'other']; "
            "allowed: groups whose first vNIC is on one virtual switch"
        )
    ]


@pytest.mark.parametrize(
    "written", ["1", "-1", "1.5", "null", "true", "''", "word", "40 kpps", "[]", "[[1], {}]", "{}", "{a: 1}"]
)
def test_whatever_is_written_anywhere_ends_in_a_scenario_or_in_faults(tmp_path: Path, written: str) -> None:
    """Each value of the file is replaced by something else: no other error occurs, and every fault has a place."""
    file = tmp_path / "small.yaml"
    for match in re.finditer(r"(?<=: )[^\s{\[][^,\n}\]]*|\[[^\]]*\]|\{[^{}\n]*\}", changed()):
        file.write_text(changed()[: match.start()] + written + changed()[match.end() :], encoding="utf-8")
        try:
            load(file)
        except InputError as error:
            told = error.faults
        else:
            told = ()
        assert all(fault.file for fault in told)


def test_what_an_option_says_of_the_run_goes_before_what_the_file_says_of_a_quick_one() -> None:
    """A requested length is used; the key of the quick run has priority over both."""
    plain = load("first-sweep").run
    longer = load("first-sweep", {"run.length": "2 s"}).run
    assert (longer.full.length_ps, longer.quick.length_ps) == (2 * 10**12, 2 * 10**12)
    assert longer.quick.replications == plain.quick.replications
    more = load("first-sweep", {"run.replications": "7"}).run
    assert (more.full.replications, more.quick.replications, more.quick.length_ps) == (7, 7, plain.quick.length_ps)
    both = load("first-sweep", {"run.length": "2 s", "run.quick.length": "1 s"}).run
    assert (both.full.length_ps, both.quick.length_ps) == (2 * 10**12, 10**12)


def test_keys_that_several_kinds_of_traffic_share_are_told_once(tmp_path: Path) -> None:
    """Another option may put any of them there."""
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, overrides={"traffic.stream.strems": "3"})
    (fault,) = caught.value.faults
    known = fault.allowed.removeprefix("one of ").split(", ")
    assert (fault.nearest, len(known)) == ("streams", len(set(known)))


def test_a_shorter_run_in_which_nothing_comes_is_refused_where_it_is_planned(tmp_path: Path) -> None:
    """A quick run may be too short."""
    scenario = load_text(tmp_path, ("40 kpps", "1.5 pps"))
    make_plan(scenario, Fidelity())
    with pytest.raises(InputError, match=r"small\.yaml:14: traffic\.stream\.rate: has no traffic in a run of 0\.5 s"):
        make_plan(scenario, Fidelity(quick=True))


def test_ports_of_flows_are_told_apart_by_vm_kind_and_range(tmp_path: Path) -> None:
    """Other groups, other servers, and the next free port together."""
    one = "{kind: tcp_stream, to: receiver, direction: send, streams: 8, window: 64 KiB}"
    for two in (
        "{kind: tcp_stream, to: other, direction: send, window: 64 KiB}",
        "{kind: request_response, to: receiver, request_size: 1 B, reply_size: 1 B}",
        "{kind: tcp_stream, to: receiver, direction: receive, window: 64 KiB, port: 33008}",
    ):
        load_text(
            tmp_path,
            ("vms:\n", "vms:\n  other: {count: 1, guest: rhel6, networks: [vSwitch0]}\n"),
            ("{kind: multicast, to: receiver, packet_size: 800 B, rate: 40 kpps}", f"{one}\n  two: {two}"),
        )
    web = "{kind: web, to: receiver, window: 64 KiB, rate: 10 /s, objects: 1, size: 1 B, write_size: 1 B}"
    http = "{kind: http, to: receiver, method: get, size: 1 B, connections: 1, window: 64 KiB}"
    with pytest.raises(InputError, match="has ports that connections of one already use in the same VMs, receiver"):
        load_text(
            tmp_path,
            (
                "{kind: multicast, to: receiver, packet_size: 800 B, rate: 40 kpps}",
                f"{web}\n  two: {http}",
            ),
            ("stream:", "one:"),
        )


def test_instants_after_the_run_are_refused(tmp_path: Path) -> None:
    """A trace whose clock began long ago."""
    (tmp_path / "trace.txt").write_text("1.5\n2\n")
    with pytest.raises(InputError, match=r"arrivals\.file: has no instant within a run of 1 s; .*instants below 1 s"):
        load_text(tmp_path, ("rate: 40 kpps", "arrivals: {process: replay, file: trace.txt}"))


def test_traffic_of_no_vm_may_be_slow(tmp_path: Path) -> None:
    """A sweep may begin without VMs; a group of many forms a packet together."""
    slow = (
        ("multicast", "work"),
        ("packet_size: 800 B, rate: 40 kpps", "rate: 0.01 /s, service: {mean: 1 ms}"),
        ("count: 2", "count: 100"),
        ("receivers: 2}", "receivers: 100}"),
    )
    assert load_text(tmp_path, *slow, axes={"receivers": "0,100"}).name == "small"
    with pytest.raises(InputError, match=r"has no traffic in a run of 1 s; .*at least 0\.010101 /s"):
        load_text(tmp_path, *slow, axes={"receivers": "99"})


FIGURE = "{x: receivers, y: loss, series: split}"


def test_a_figure_of_a_difference_has_its_reference_limits_and_names(tmp_path: Path) -> None:
    """Limits become numbers in the unit of y, names those of axes and values in the sweep."""
    named = 'values: ["0", "1"], label: Mode, value_labels: {"1": splitRxMode}}'
    written = '{x: receivers, y: loss, at: {split: "1"}, less: {split: "0"}, line: [1 %, 2], label: Loss saved}'
    scenario = load_text(tmp_path, ('values: ["0", "1"]}', named), (FIGURE, written))
    axes = {"split": AxisNames("Mode", {"1": "splitRxMode"})}
    assert scenario.figures == (
        FigureSpec(
            "loss",
            "receivers",
            "loss",
            at={"split": "1"},
            less={"split": "0"},
            lines=(1.0, 2.0),
            label="Loss saved",
            axes=axes,
        ),
    )
    assert scenario.figures[0].words == "Loss saved against receivers; splitRxMode"


def test_answers_have_a_label_and_axes_may_be_logarithmic(tmp_path: Path) -> None:
    """Labels and scales are those of the figure; by default the catalogue's label, and linear axes."""
    asked = ("expect:\n", f"expect:\n{SEARCH}")
    (answers,) = load_text(tmp_path, asked, SWEEP, (FIGURE, "{answers: room, label: Receivers}")).figures
    assert answers == AnswersSpec("loss", ("room",), label="Receivers")
    (curve,) = load_text(tmp_path, (FIGURE, "{x: receivers, y: loss, log: xy}")).figures
    assert isinstance(curve, FigureSpec)
    assert curve.log == "xy"


def test_a_table_has_metrics_or_answers_in_any_units(tmp_path: Path) -> None:
    """They need no common scale."""
    asked = ("expect:\n", f"expect:\n{SEARCH}")
    answers = load_text(tmp_path, asked, SWEEP, (FIGURE, "{kind: table, answers: [mine, room]}"))
    assert answers.figures == (TableSpec("loss", ("mine", "room")),)
    metrics = load_text(tmp_path, (FIGURE, "{kind: table, x: receivers, columns: [loss, host_cpu]}"))
    assert metrics.figures == (TableSpec("loss", (), "receivers", ("loss", "host_cpu"), {"split": "0"}),)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{x: receivers, y: loss, line: 5 ms}", "figures.loss.line"),
        ('{x: receivers, y: loss, less: {split: "0"}, to: {split: "1"}}', "is both a difference and a ratio"),
        ("{x: receivers, y: loss, per: host_cpu, right: host_cpu}", "combines a derived metric with right or stack"),
        ("{x: receivers, y: loss, columns: [loss]}", "has columns but is not a table"),
        ("{kind: table, x: receivers, y: loss}", "has keys that a table does not use"),
        ("{x: receivers, y: loss, kind: bar, stack: loss_nic, log: y}", "has stack on a logarithmic axis"),
        ("{answers: mine, log: x}", "combines answers with other keys"),
    ],
)
def test_a_figure_of_two_things_is_refused(tmp_path: Path, written: str, told: str) -> None:
    """Each with the allowed values."""
    assert told in "\n".join(faults(tmp_path, (FIGURE, written)))


def test_only_values_of_an_axis_have_labels(tmp_path: Path) -> None:
    """A misspelt one would remove the figure's name."""
    (told,) = faults(tmp_path, ('values: ["0", "1"]}', 'values: ["0", "1"], value_labels: {"2": off}}'))
    assert "sweep.split.value_labels.2: is not a value of the axis" in told


def test_labels_of_values_that_others_replace_are_left_unused() -> None:
    """Another rate by ``--set`` than those of the file, whose labels do not name it: not the user's fault."""
    scenario = load("latency", {"sweep.moderation.values": "[25 us]"})
    assert scenario.axes["moderation"].names.values == {}


def test_a_profile_is_read_from_a_file_of_rates(tmp_path: Path) -> None:
    """Instants of any epoch and rates become phases; the last line lasts as long as the one before it, and bad lines are named."""
    change = (RATE, "arrivals: {process: profile, file: day.csv, period: 500 ms}")
    (tmp_path / "day.csv").write_text(
        "# seconds, packets in a second\n1700000000,1000\n1700003600 25e3\n1700010800, 0\n"
    )
    scenario = load_text(tmp_path, change)
    spec, _ = scenario.spec(scenario.first(), SECOND)
    arrivals = spec.traffic["stream"].arrivals
    assert [(phase.rate, phase.length // SECOND) for phase in arrivals.phases] == [(1e3, 3600), (25e3, 7200), (0, 7200)]
    assert arrivals.period == 500 * MS
    assert scenario.resolver.arrival_files == ("day.csv",)
    (tmp_path / "day.csv").write_text("0,1\n1,x\n2\n0,5\n3,-1\n")
    assert faults(tmp_path, change) == [
        *(
            f"day.csv:{line}: is not a rate; given {given!r}; "
            "allowed: a time in seconds and the arrivals per second from then on, both at least 0: 3600,25000"
            for line, given in ((2, "1,x"), (3, "2"))
        ),
        "day.csv:4: is not later than the line before; given '0,5'; allowed: seconds above 0 by at most 997200",
        "day.csv:5: is not a rate; given '3,-1'; allowed: a time in seconds and the arrivals per second from then on, both at least 0: 3600,25000",
    ]
    (tmp_path / "day.csv").write_text("0,1\n")
    assert faults(tmp_path, change) == ["day.csv: has 1 lines with a rate; allowed: 2..10000"]


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        ("{process: on_off, on: 1 ms}", "arrivals: on, off and process: on_off need each other"),
        ("{process: mmpp, cv: 1}", "has a rate and phases"),
        (
            "{process: poisson, phases: [{rate: 1 pps, length: 1 s}, {rate: 0 pps, length: 1 s}]}",
            "arrivals: phases and process: mmpp or profile need each other",
        ),
        ("{process: poisson, period: 1 ms}", "arrivals: has a period without a profile"),
        ("{process: on_off, on: 1 ns, off: 1 ns}", "changes its rate a thousand times between two arrivals"),
        ("{process: mmpp, phases: [{rate: 1 pps, length: 1 s}, {rate: 0 pps, length: 1 s}]}", "has a rate and phases"),
    ],
)
def test_keys_of_arrivals_that_do_not_belong_together_are_faults(tmp_path: Path, arrivals: str, message: str) -> None:
    """Each names the missing or excess part."""
    with pytest.raises(InputError, match=re.escape(message)):
        load_text(tmp_path, (RATE, f"rate: 40 kpps, arrivals: {arrivals}"))


def test_phases_without_any_rate_are_a_fault(tmp_path: Path) -> None:
    """Nothing would ever come."""
    idle = "{process: profile, phases: [{rate: 0 pps, length: 1 s}, {rate: 0 pps, length: 1 s}]}"
    with pytest.raises(InputError, match="has no rate above 0"):
        load_text(tmp_path, (RATE, f"arrivals: {idle}"))
