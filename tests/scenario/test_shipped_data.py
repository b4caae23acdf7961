"""Shipped data: found by name, complete, and with one message for each name that is not modelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.config.platform import PlatformSpec
from hostsim.errors import InputError
from hostsim.results.claim import CLAIM_KINDS
from hostsim.results.expect import Band
from hostsim.scenario import component, shipped_data
from hostsim.scenario.component import Parts
from hostsim.scenario.json_schema import COMPONENTS
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from hostsim.scenario.shipped_data import (
    claims,
    data_root,
    find_scenario,
    known_names,
    known_red,
    measurements,
    predictions,
    shipped,
    shipped_parts,
)
from hostsim.scenario.yaml.reader import read
from tests.loaded import loaded
from tests.writable_copy import copy_tree

KINDS = {kind if kind == "hardware" else f"{kind}s": model for kind, model in COMPONENTS.items()}
"""Models of shipped parts by folder."""
SHARED = Path(__file__).parents[2].parent / "shared"


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in shipped_parts(kind)])
def test_shipped_parts_hold_their_ranges(kind: str, name: str) -> None:
    """Loading omits this check, which validates the part for each end of a range."""
    file = shipped_parts(kind)[name]
    shipped = component._Shipped.of(kind, file)
    assert shipped is not None
    part = component._checked(KINDS[kind], component._shipped(shipped), (), ())
    assert (part.faults, part.spec is None) == ((), False)


@pytest.mark.parametrize("table", ["claims.csv", "published-2.csv"])
def test_what_is_published_is_a_copy_of_the_tables_that_were_given(table: str) -> None:
    """Byte for byte: bands must not move."""
    if not (SHARED / table).is_file():
        pytest.skip(f"the table that {table} is a copy of is not here")
    assert (data_root() / table).read_bytes() == (SHARED / table).read_bytes()


def test_measurements_have_a_kind_and_no_claim_is_among_them() -> None:
    """Predictions are not on a scoreboard; a quotient has the side of 1 on which it was found."""
    rows = measurements()
    assert not rows.keys() & claims().keys()
    assert {row.kind for row in rows.values()} == {"scale", "ratio", "direction"}
    assert {row.id for row in rows.values() if row.number is None} == {"esx40-noqueue.8vm-per-4vm"}
    found = {name: (rows[name].kind, rows[name].side) for name in ("esx40-noqueue.8vm-per-4vm", "esxi55-40g.1vcpu")}
    assert found == {"esx40-noqueue.8vm-per-4vm": ("direction", -1), "esxi55-40g.1vcpu": ("scale", 0)}
    assert rows["xen-server7-aggregate.more-dom0"].side == -1
    assert rows["kvm-osv.lso-64"].side == 1


def test_a_damaged_row_of_measurements_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By file and line, also if only its value is invalid."""
    lines = (data_root() / "published-2.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    lines[2] = lines[2].replace(",6.5,", ",about 6.5,")
    (tmp_path / "published-2.csv").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr(shipped_data, "data_root", lambda: tmp_path)
    measurements.cache_clear()
    try:
        with pytest.raises(InputError, match=r"published-2\.csv:3: bhyve-netmap\.netmap: is not a row of measurements"):
            measurements()
    finally:
        measurements.cache_clear()


def test_claims_carry_bands_that_may_be_open() -> None:
    """An empty cell is an open end."""
    assert claims()["splitrx.default.40k"].band == Band(19.0, 21.0)
    assert any(claim.band.high is None for claim in claims().values())


def test_every_claim_is_of_a_known_kind_and_expectations_carry_it() -> None:
    """The scoreboard distinguishes by it."""
    assert {claim.kind for claim in claims().values()} == set(CLAIM_KINDS)
    expected = {e.name: e.kind for e in load("dense-high").expectations if e.is_claim}
    assert expected == {name: claims()[name].kind for name in expected}


def test_a_claim_of_an_unknown_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By file, line and the nearest kind."""
    lines = (data_root() / "claims.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    lines[2] = lines[2].replace(",scale,", ",scales,")
    (tmp_path / "claims.csv").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr(shipped_data, "data_root", lambda: tmp_path)
    claims.cache_clear()
    try:
        with pytest.raises(InputError) as raised:
            claims()
    finally:
        claims.cache_clear()
    (fault,) = raised.value.faults
    assert (fault.line, fault.given, fault.nearest) == (3, "scales", "scale")
    assert fault.path.endswith(".kind")


def test_known_red_claims_are_published_ones() -> None:
    """The list contains only existing claims."""
    assert known_red().keys() <= claims().keys()


def test_known_red_claims_have_ranges_outside_which_they_are_not_accepted() -> None:
    """Both ends are numbers, and there is a reason."""
    for known in known_red().values():
        assert known.range.low is not None
        assert known.range.high is not None
        assert known.range.low <= known.range.high
        assert known.reason.strip()


@pytest.mark.parametrize(
    ("entry", "path", "message"),
    [
        (">-\n  a reason and no range", "", "is not a mapping"),
        ("{reason: because}", ".range", "is missing"),
        ("{range: [2, 1], reason: because}", "", "has a range with its ends in the wrong order"),
        ("{range: [1], reason: because}", ".range[1]", "is missing"),
        ("{range: [1, high], reason: because}", ".range[1]", "is not a number"),
        ("{range: [1, 2]}", ".reason", "is missing"),
        ("{range: [1, 2], reason: ' '}", "", "has no reason"),
        ("{range: [1, 2], reason: because, until: 2027}", ".until", "unknown key"),
        ("{range: [1, 2], other_runs: [2, 1], reason: because}", "", "has a range with its ends in the wrong order"),
    ],
)
def test_a_known_red_needs_a_range_and_a_reason(
    entry: str, path: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault has file, line and allowed values; that of an unknown claim has the nearest."""
    (tmp_path / "claims.csv").write_bytes((data_root() / "claims.csv").read_bytes())
    text = f"# red\nvxlan.cpu: {entry}\nvxlan.cp: {{range: [1, 2], reason: because}}\n"
    (tmp_path / "known_red.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(shipped_data, "data_root", lambda: tmp_path)
    with pytest.raises(InputError) as caught:
        known_red()
    wrong, unknown = caught.value.faults
    assert (wrong.message, wrong.path, wrong.line) == (message, f"vxlan.cpu{path}", 2)
    assert wrong.file.endswith("known_red.yaml")
    assert wrong.allowed
    assert (unknown.message, unknown.nearest) == ("unknown claim", "vxlan.cpu")


def test_a_known_red_has_a_range_for_other_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the interval of the value; the same range unless another was measured."""
    (tmp_path / "claims.csv").write_bytes((data_root() / "claims.csv").read_bytes())
    text = (
        "vxlan.cpu: {range: [1, 2], other_runs: [0, 3], reason: because}\nnuma.10g.cpu: {range: [4, 5], reason: so}\n"
    )
    (tmp_path / "known_red.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(shipped_data, "data_root", lambda: tmp_path)
    assert [(red.range, red.by_interval) for red in known_red().values()] == [(Band(1, 2), False), (Band(4, 5), False)]
    assert [(red.range, red.by_interval) for red in known_red(other_runs=True).values()] == [
        (Band(0, 3), True),
        (Band(4, 5), True),
    ]


def test_a_known_red_awaits_the_calibration_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything else is refused with its line and the nearest word; range and reason are still required."""
    (tmp_path / "claims.csv").write_bytes((data_root() / "claims.csv").read_bytes())
    file = tmp_path / "known_red.yaml"
    monkeypatch.setattr(shipped_data, "data_root", lambda: tmp_path)
    entry = "vxlan.cpu:\n  range: [1, 2]\n  reason: the mechanism\n  awaiting: "
    file.write_text(entry + "calibration\nsplitrx.default.40k: {range: [1, 2], reason: because}\n", encoding="utf-8")
    assert [known.awaiting for known in known_red().values()] == ["calibration", ""]
    file.write_text(entry + "calibrations\nsplitrx.default.40k: {awaiting: calibration}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        known_red()
    wrong, *without = caught.value.faults
    assert (wrong.path, wrong.line, wrong.given) == ("vxlan.cpu.awaiting", 4, "'calibrations'")
    assert (wrong.allowed, wrong.nearest) == ("calibration", "calibration")
    assert [fault.path for fault in without] == ["splitrx.default.40k.range", "splitrx.default.40k.reason"]


WARNED = {
    "small-udp": (
        "small-udp.yaml:90: host.advanced.Net.vmxnetThroughputWeight = 128 has no effect: no VM has a vmxnet3",
    ),
    "epyc-numa": (
        "costs are extrapolated to zen3, on which no packet path was measured; work takes 0.74, 0.54 to 1.1 times the cycles of a Westmere",
    ),
    "one-or-eight": (
        "costs are extrapolated to ice-lake-sp, on which no packet path was measured; work takes 0.74, 0.54 to 1 times the cycles of a Westmere",
    ),
}
"""Warnings of shipped scenarios: one sets a value without effect, as its source did; two run on processors without measured costs."""


@pytest.mark.parametrize("name", [*shipped(), *predictions()])
def test_shipped_scenarios_load_and_plan(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any folder, by name, with only the warnings that belong to the experiment."""
    monkeypatch.chdir(tmp_path)
    scenario = load(name)
    assert scenario.name == name
    assert scenario.question.endswith("?")
    assert tuple(text.removeprefix(f"{data_root()}/") for text in scenario.warnings) == WARNED.get(name, ())
    assert make_plan(scenario, Fidelity(quick=True)).tasks


def test_shipped_scenarios_answer_every_claim_of_their_experiments() -> None:
    """Every row of the table has a scenario."""
    expected = {entry.name for name in shipped() for entry in loaded(name).expectations if entry.is_claim}
    assert expected == set(claims())


def test_predictions_name_measurements_and_nothing_else_names_them() -> None:
    """Each row at most once; `check` and `reproduce`, which use shipped scenarios, never include them."""
    assert not shipped().keys() & predictions().keys()
    named = [entry.name for name in predictions() for entry in loaded(name).expectations]
    assert len(set(named)) == len(named)
    assert set(named) <= measurements().keys()
    assert "esxi55-40g.1vcpu" in named
    assert not {entry.name for name in shipped() for entry in loaded(name).expectations} & measurements().keys()


EXITS = ("interrupt", "vcpu_wake", "virtual_interrupt")
"""A hypervisor's work for each interrupt."""


def test_costs_stand_in_the_root_platform_only() -> None:
    """A platform that extends another sets features and defaults; the one without costs says so of every cost, and a native one of its exits."""
    for name, file in shipped_parts("platforms").items():
        tree = read(file).tree
        if name == "ideal":
            work = {cost["cycles"] for cost in tree["costs"].values() if "cycles" in cost}
            assert work == {0}
        elif not tree.get("hypervisor", True):
            assert tree["costs"].keys() == {*EXITS, "guest_ipi", "guest_timer_tick"}
            assert {tree["costs"][name]["cycles"] for name in EXITS} == {0}
        else:
            assert ("costs" in tree) != ("extends" in tree), file.name


TIMES = {"xeon-8160": ("esxi-7.0",), "epyc-9334": ("esxi-7.0", "esxi-8.0"), "xeon-6448y": ("esxi-7.0", "esxi-8.0")}
"""Versions and servers: older versions have no drivers for some NICs."""


@pytest.mark.parametrize("name", [name for name in shipped_parts("hardware") if name != "ideal"])
def test_shipped_servers_run_on_every_version_of_their_time(name: str) -> None:
    """Their processors and drivers are known, their nodes exist, and no bus limits a port."""
    parts = Parts(data_root())
    server = parts.hardware(name, ("hardware",)).spec
    assert server is not None
    for version in TIMES.get(name, ("esxi-4.0", "esxi-4.1", "esxi-5.0", "esxi-5.1", "esxi-5.5", "esxi-6.0")):
        platform = parts.platform(version, ("platform",)).spec
        assert platform is not None
        assert server.cpu.family in platform.costs.generations
        assert {nic.driver for nic in server.nics.values()} <= platform.drivers.keys()
    assert all(nic.node < server.cpu.sockets and nic.rate == nic.line_rate for nic in server.nics.values())


def test_a_shipped_part_is_read_once_and_anew_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is also read again if the changed file is a platform that it extends."""
    copy_tree(data_root(), tmp_path / "scenarios")
    monkeypatch.setattr(shipped_data, "data_root", lambda: tmp_path / "scenarios")

    def platform() -> PlatformSpec:
        spec = Parts(tmp_path).platform("esxi-5.0", ("platform",)).spec
        assert spec is not None
        return spec

    first = platform()
    assert platform() is first
    root = tmp_path / "scenarios" / "platforms" / "esxi.yaml"
    root.write_text(root.read_text(encoding="utf-8").replace("value: 70 %", "value: 65 %"), encoding="utf-8")
    assert (first.netqueue.pack_below, platform().netqueue.pack_below) == (70, 65)


TEXT = """\
scenario: small
question: What happens?
platform: esxi-7.0
hardware:
  cpu: {model: x, family: skylake-sp, sockets: 2, cores: 8, clock: 2 GHz}
  nics: {vmnic0: {model: X710, driver: i40en}}
host: {advanced: {Net.UseHwTSO: 1}}
network: {lan: {uplinks: [vmnic0], mtu: 1500}}
vms: {web: {guest: rhel8, networks: [lan], vmx: {ethernet0.virtualDev: vmxnet3}}}
traffic: {batch: {kind: work, to: web, rate: 1 /s, service: 1 ms}}
"""


def faults(old: str, new: str) -> str:
    assert old in TEXT
    with pytest.raises(InputError) as error:
        load(TEXT.replace(old, new))
    return str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "name", "nearest"),
    [
        ("esxi-7.0", "esxi-9.0", "esxi-9.0", "esxi-8.0"),
        ("rhel8", "windows2019", "windows2019", "rhel8"),
        ("vmxnet3", "pvrdma", "pvrdma", "vmxnet3"),
        ("i40en", "i40en_ens", "i40en_ens", "the driver without -ens"),
        ("skylake-sp", "zen5", "zen5", "zen4"),
        ("model: X710, driver: i40en", "model: ConnectX-6 Dx", "ConnectX-6 Dx", "ConnectX-6"),
        ("mtu: 1500", "lldp: true", "lldp", "leave it out"),
        ("kind: work", "kind: iscsi", "iscsi", "vmkernel_stream"),
        ("mtu: 1500", "lacp: true", "lacp", "explicit_failover"),
        ("Net.UseHwTSO: 1", "Net.TcpipHeapMax: 1024", "Net.TcpipHeapMax", "leave it out"),
        ("ethernet0.virtualDev: vmxnet3", 'ethernet0.noPromisc: "TRUE"', "ethernetX.noPromisc", "networks of the group"),
        ("ethernet0.virtualDev: vmxnet3", 'numa.autosize.once: "FALSE"', "numa.autosize.once", "numa.nodeAffinity"),
    ],
)  # fmt: skip
def test_a_real_name_is_not_taken_for_a_typing_error(old: str, new: str, name: str, nearest: str) -> None:
    """Releases, guests, devices, drivers, processors, traffic, keys and settings."""
    message = faults(old, new)
    assert f"{name} is known and not modelled; difference: " in message
    assert nearest in message.partition("allowed: ")[2]
    assert "did you mean" not in message


@pytest.mark.parametrize(("old", "new"), [("esxi-7.0", "esxi-7.1"), ("esxi-7.0", "esxi-6.3")])
def test_nothing_is_suggested_that_only_looks_alike(old: str, new: str) -> None:
    """A release for another release."""
    assert "did you mean" not in faults(old, new)


def test_a_typing_error_still_has_its_suggestion() -> None:
    """For a name in no table, and for a processor key by its meaning."""
    assert "did you mean 'rhel8'?" in faults("rhel8", "rhel88")
    assert "did you mean 'nodes_per_socket'?" in faults("cores: 8", "cores: 8, nps: 4")


def test_no_name_of_the_table_works() -> None:
    """An accepted setting, part or kind of traffic is no longer in the table; each row has a source."""
    table = known_names()
    settings = set()
    for name in shipped_parts("platforms"):
        spec = Parts(Path()).platform(name, ("platform",)).spec
        assert spec is not None
        settings |= {key.casefold() for part in (spec.advanced, spec.kernel, spec.vmx) for key in part}
        assert not spec.costs.generations.keys() & table["processors"].keys()
    assert not settings & table["settings"].keys()
    assert not {name.casefold() for name in shipped_parts("nics")} & table["nics"].keys()
    for section, kind in (("releases", "platforms"), ("guests", "guests"), ("traffic", "traffic")):
        assert not shipped_parts(kind).keys() & table[section].keys()
    assert all(row.source and row.changes and row.nearest for rows in table.values() for row in rows.values())


@pytest.mark.parametrize(
    ("old", "new", "nearest"),
    [
        ("model: X710, driver: i40en", "model: X520", "82599"),
        ("mtu: 1500", "jumbo: true", "mtu: 9000 of the network"),
        ("kind: work", "kind: tcp_crr", "keep_alive: false"),
        ("host: {", "host: {sriov: true, ", "max_vfs"),
        ("{guest: rhel8", "{latency_sensitivity: high, guest: rhel8", "sched.cpu.latencySensitivity: high"),
    ],
)
def test_another_name_of_what_is_there_leads_to_it(old: str, new: str, nearest: str) -> None:
    """An engineer's word for a part, a key or a load."""
    message = faults(old, new)
    assert "is known by another name" in message
    assert "difference: nothing;" not in message
    assert nearest in message.partition("allowed: ")[2]


@pytest.mark.parametrize(("given", "nearest"), [("tyers.yaml", "tiers.yaml"), ("nofile.yaml", "")])
def test_a_missing_file_has_a_similar_name_by_its_stem(tmp_path, monkeypatch, given, nearest):
    """Files with the same suffix only are not similar."""
    monkeypatch.chdir(tmp_path)
    Path("tiers.yaml").touch()
    with pytest.raises(InputError, match="file not found") as caught:
        find_scenario(given)
    assert caught.value.faults[0].nearest == nearest
