"""Settings without effect: each is reported with place and reason, and really changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from hostsim.campaign.simulate import simulate
from hostsim.engine.record import RunRecord
from hostsim.scenario.check.effect import ADVANCED, KERNEL
from hostsim.scenario.component import Parts
from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario
from hostsim.units import MS
from tests.scenario.small_scenario import load_text

TEXT = """\
scenario: small
question: What is sent?
platform: esxi-6.0
hardware: HARDWARE
network:
  vSwitch0: {uplinks: [vmnic0]}
  vSwitch1: {uplinks: [vmnic1]}
vms:
  web:
    count: 1
    guest: rhel6
    networks: [vSwitch0]
    vmx: {ethernet0.ctxPerDev: 2}
  idle: {count: 0, guest: rhel6, networks: [vSwitch0]}
traffic:
  stream: {kind: tcp_stream, to: web, direction: send, window: 64 KiB}
run: {length: 10 ms, replications: 1, quick: {length: 5 ms, replications: 1}}
"""
ONE_NODE = """\
hardware: box
cpu: {model: x, family: nehalem, sockets: 1, cores: 4, clock: 2 GHz}
nics:
  vmnic0: {model: x, line_rate: 1 Gbit/s, node: 0, rx_ring: 512, driver: ixgbe, interrupt_interval: 50 us, rss: true, rx_queues: 4}
  vmnic1: {model: x, line_rate: 1 Gbit/s, node: 0, rx_ring: 512, driver: ixgbe, interrupt_interval: 50 us}
"""
E1000 = {"vms.web.vmx.ethernet0.virtualDev": "e1000"}
RECEIVE = {"traffic.stream.direction": "receive"}
RSS = {"host.nics.vmnic0.rss_rings": "2", "vms.web.vmx.ethernet0.pnicFeatures": "4"}
DENSE = {"host.advanced.Net.NetTuneHostMode": "dense"}
HIGH = {"vms.web.vmx.sched.cpu.latencySensitivity": "high"}
WIDE = {"hardware.cpu.sockets": "2", "hardware.cpu.threads": "2"}
Options = Mapping[str, str]

VAIN: list[tuple[str, str, Options, str]] = [
    ("host.advanced.Net.NetSplitRxMode", "0", {}, "no multicast reaches a vmxnet3 that leaves ethernetX.emuRxMode to the host"),
    ("host.advanced.Cpu.CreditAgePeriod", "1000", {}, "it is not modelled"),
    ("vms.web.vmx.sched.cpu.max", "2000", {}, "the vCPUs can use 2000 MHz at most"),
    ("vms.web.vmx.sched.cpu.min", "2000", HIGH, "sched.cpu.latencySensitivity = high reserves a core for each vCPU"),
    ("vms.web.vmx.sched.cpu.shares", "low", HIGH, "sched.cpu.latencySensitivity = high reserves a core for each vCPU"),
    ("vms.web.vmx.sched.cpu.affinity", "0-3", {}, "it names all 4 PCPUs of the server"),
    ("vms.web.vmx.sched.cpu.affinity", "1", HIGH, "sched.cpu.latencySensitivity = high reserves a core for each vCPU"),
    ("host.advanced.Cpu.CoschedPollUsec", "500", {}, "no VM has several vCPUs that share PCPUs with others"),
    ("host.advanced.Cpu.CoschedPollUsec", "500", {**HIGH, "vms.web.vcpus": "2"}, "no VM has several vCPUs that share PCPUs with others"),
    ("host.advanced.Cpu.HTRebalancePeriod", "0", {"hardware.cpu.threads": "1"}, "the server has no hyperthreads"),
    ("host.advanced.Power.CpuPolicy", "High Performance", {"hardware.cpu.family": "opteron-k10"}, "the only known core state of the processor is C1"),
    ("host.advanced.Power.CStateMaxLatency", "1", {}, "Power.CpuPolicy is not Custom"),
    ("host.advanced.Numa.RebalancePeriod", "500", {}, "the server has one NUMA node"),
    ("host.advanced.Net.NetNetqNumaIOCpuPinThreshold", "50", {}, "the server has one NUMA node"),
    ("host.advanced.Numa.PreferHT", "1", {}, "the server has no hyperthreads"),
    ("host.advanced.Numa.PreferHT", "1", WIDE | {"vms.web.vcpus": "4"}, "the VM is on as many NUMA nodes without it"),
    ("vms.web.vmx.numa.vcpu.preferHT", "TRUE", {}, "the server has no hyperthreads"),
    ("vms.web.vmx.numa.vcpu.maxPerVirtualNode", "2", {"vms.web.vcpus": "4"}, "the VM has fewer than 9 vCPUs, and no virtual NUMA topology"),
    ("vms.web.vmx.numa.vcpu.maxPerVirtualNode", "5", WIDE | {"vms.web.vcpus": "10"}, "the VM is on as many NUMA nodes without it"),
    ("host.advanced.Net.CoalesceScheme", "disabled", E1000, "no VM has a vmxnet3"),
    ("host.advanced.Net.CoalesceScheme", "disabled", {"vms.web.vmx.ethernet0.coalescingScheme": "static"}, "each vmxnet3 sets its own scheme"),
    ("host.advanced.Net.CoalesceRBCRate", "2000", E1000, "no VM has a vmxnet3"),
    ("host.advanced.Net.E1000IntrCoalesce", "0", {}, "no VM has an e1000"),
    ("host.advanced.Net.E1000TxCopySize", "100", {}, "no VM has an e1000"),
    ("host.advanced.Net.MaxPortRxQueueLen", "200", {}, 'no vNIC has its own receive context (ethernetX.emuRxMode = "1")'),
    ("host.advanced.Net.NetVMTxType", "3", {}, "no VM that follows it has several transmit queues"),
    ("host.advanced.Net.NetNetqRxDynamicLB", "0", {"host.kernel.netNetqueueEnabled": "FALSE"}, "netNetqueueEnabled is FALSE"),
    ("host.advanced.Net.NetNetqRxDynamicLB", "0", {"host.nics.vmnic0.drss": "4"}, "no uplink of the VMs has receive queues besides its default one"),
    ("host.advanced.Net.NetTuneHostMode", "dense", {}, "its first check comes after the run: at a tenth of Net.NetTuneInterval"),
    ("host.advanced.Net.NetTuneInterval", "1", {}, "Net.NetTuneHostMode is not dense"),
    ("host.advanced.Net.NetTuneThreshold", "0n 0n 0", {}, "Net.NetTuneHostMode is not dense"),
    ("host.advanced.Net.Vmxnet3SwLRO", "0", {}, "no VM receives TCP data"),
    ("host.advanced.Net.VmxnetLROThreshold", "10", {**RECEIVE, "host.advanced.Net.Vmxnet3SwLRO": "0"}, "Net.Vmxnet3SwLRO is 0"),
    ("host.advanced.Net.VmxnetLROMaxLength", "9000", {**RECEIVE, "host.advanced.Net.Vmxnet3SwLRO": "0", "host.advanced.Net.Vmxnet3HwLRO": "0"}, "both kinds of LRO are off"),
    ("host.advanced.Net.Vmxnet3HwLRO", "0", RECEIVE, "no uplink does LRO"),
    ("host.advanced.Net.UseHwTSO", "0", {"hardware.nics.vmnic0.tso": "false"}, "no uplink does TSO"),
    ("host.kernel.netNetqueueEnabled", "FALSE", {"host.nics.vmnic0.drss": "4"}, "no uplink of the VMs has receive queues besides its default one"),
    ("vms.web.vmx.ethernet0.ctxPerDev", "3", {}, "the VM has one transmit queue"),
    ("vms.web.vmx.ethernet0.coalescingScheme", "static", HIGH, "sched.cpu.latencySensitivity = high turns coalescing off"),
    ("vms.web.vmx.numa.nodeAffinity", "0", {}, "it names all NUMA nodes of the server: 1"),
    ("vms.web.vmx.sched.cpu.latencySensitivity", "low", {}, "of its values only high is modelled"),
    ("vms.web.vmx.pciPassthru0.id", "vmnic1", {}, "pciPassthru0.present is not TRUE"),
    ("host.nics.vmnic0.rss_rings", "3", {}, "no vNIC with uplink vmnic0 requests RSS (ethernetX.pnicFeatures) on a platform that supports it"),
    ("host.nics.vmnic1.interrupt_interval", "1 ms", {}, "no VM uses vmnic1"),
    ("host.nics.vmnic0.rss_rings", "2", {"vms.web.vmx.ethernet0.pnicFeatures": "4"}, "each VM that requests RSS has one vCPU, and so its vNIC has one queue"),
    ("host.nics.vmnic0.mtu", "9000", {}, "vmnic0 is an uplink, and has the MTU of its switch"),
    ("network.vSwitch1.mtu", "9000", {}, "no VM is connected to vSwitch1"),
    ("traffic.stream.burst", "8", {}, "the peer sends no data; the VMs do"),
    ("traffic.stream.peer_acks_every", "8", RECEIVE, "the peer sends data and does not acknowledge any"),
]  # fmt: skip
"""A setting, its value, other settings, and the reason that it has no effect."""

TUNNEL: Options = {"network.vSwitch0.vxlan": "true"}

FELT: list[tuple[str, str, Options]] = [
    ("host.advanced.Cpu.CoschedPollUsec", "500", {"vms.web.vcpus": "2"}),
    ("host.advanced.Net.CoalesceScheme", "disabled", {}),
    ("host.advanced.Net.E1000IntrCoalesce", "0", E1000),
    ("host.advanced.Net.MaxPortRxQueueLen", "200", {"vms.web.vmx.ethernet0.emuRxMode": "1"}),
    ("host.advanced.Net.NetTuneHostMode", "dense", {"run.length": "7 s"}),
    ("host.advanced.Net.NetTuneInterval", "1", {**DENSE, "run.length": "7 s"}),
    ("host.advanced.Net.Vmxnet3SwLRO", "0", RECEIVE),
    ("host.advanced.Net.NetNetqRxDynamicLB", "0", {}),
    ("vms.web.vmx.ethernet0.ctxPerDev", "3", {**RSS, "vms.web.vcpus": "2"}),
    ("vms.web.vmx.ethernet0.ctxPerDev", "3", {**DENSE, "run.length": "7 s"}),
    ("vms.web.vmx.ethernet0.coalescingScheme", "static", {}),
    ("host.nics.vmnic0.rss_rings", "2", {"vms.web.vmx.ethernet0.pnicFeatures": "4", "vms.web.vcpus": "2"}),
    ("vms.web.vmx.sched.cpu.max", "1999", {}),
    ("vms.web.vmx.sched.cpu.min", "1000", {}),
    ("vms.web.vmx.sched.cpu.affinity", "1", {}),
    ("vms.web.vmx.sched.cpu.shares", "low", {}),
    ("host.advanced.Numa.PreferHT", "1", WIDE | {"vms.web.vcpus": "8"}),
    ("vms.web.vmx.numa.vcpu.preferHT", "TRUE", WIDE | {"vms.web.vcpus": "8"}),
    ("vms.web.vmx.numa.vcpu.maxPerVirtualNode", "5", WIDE | {"vms.web.vcpus": "10", "hardware.cpu.cores": "12"}),
    ("host.nics.vmnic0.rss_rings", "2", TUNNEL),
    ("host.kernel.netNetqueueEnabled", "FALSE", {**TUNNEL, "host.nics.vmnic0.rss_rings": "2"}),
    ("host.nics.vmnic0.interrupt_interval", "1 ms", {}),
    ("traffic.stream.burst", "8", RECEIVE),
    ("traffic.stream.peer_acks_every", "8", {}),
]
"""A setting, its value, and other settings with which it has an effect."""

ALWAYS = {
    *("Cpu.Quantum", "Cpu.BoundLagQuanta", "Cpu.L3RebalancePeriod", "netMaxPktsToProcess"),
    *("Cpu.WakeupMigrateIdlePcpus", "Cpu.PcpuMigrateIdlePcpus", "Cpu.UseMwait"),
    *("ethernetX.virtualDev", "ethernetX.present", "ethernetX.emuRxMode", "ethernetX.pnicFeatures"),
    *("sched.mem.min", "memSize", "pciPassthruX.present"),
}
"""Modelled settings without a rule: they have an effect on any VM, or describe it."""
BY_VM = {
    *("ethernetX.coalescingScheme", "ethernetX.coalescingParams", "ethernetX.ctxPerDev", "numa.nodeAffinity"),
    *("pciPassthruX.id", "pciPassthruX.pfId", "sched.cpu.latencySensitivity", "ethernetX.udpRSS"),
    *(
        "sched.cpu.min",
        "sched.cpu.max",
        "sched.cpu.shares",
        "sched.cpu.affinity",
        "numa.vcpu.preferHT",
        "numa.vcpu.maxPerVirtualNode",
    ),
}
"""Keys of a ``.vmx`` file with a rule."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The scenario on a server with one NUMA node."""
    (tmp_path / "box.yaml").write_text(ONE_NODE)
    (tmp_path / "small.yaml").write_text(TEXT.replace("HARDWARE", "./box.yaml"))
    return tmp_path / "small.yaml"


def told(scenario: Scenario, path: str) -> list[str]:
    """The warnings about a setting."""
    return [warning for warning in scenario.warnings if f" {path} = " in warning]


def ran(scenario: Scenario) -> RunRecord:
    """One run of 10 ms, with all settings as written."""
    return simulate(scenario.spec({}, 10 * MS)[0], point_id="x", axes={}, seed=1, replication=0)


def simulated(scenario: Scenario) -> str:
    """Hash of the simulation of a run of 10 ms."""
    return scenario.simulated({}, 10 * MS)[0].digest()


@pytest.mark.parametrize(("path", "value", "others", "reason"), VAIN, ids=[f"{path} {why}" for path, _, _, why in VAIN])
def test_a_setting_without_effect_is_told_and_changes_nothing(
    file: Path, path: str, value: str, others: Options, reason: str
) -> None:
    """The warning has place, value and reason; a run with the setting has the same counters as one without."""
    scenario = load(file, {**others, path: value})
    assert told(scenario, path) == [
        f"--set: {path} = {repr(value) if ' ' in value or not value.isdigit() else value} has no effect: {reason}"
    ]
    with_it, without = ran(scenario), ran(load(file, others))
    assert with_it.series.keys() == without.series.keys()
    for name, series in with_it.series.items():
        np.testing.assert_array_equal(series.values, without.series[name].values, err_msg=name)


SETTINGS = [
    (path, value, others)
    for path, value, others, _ in VAIN
    if path.startswith(("host.advanced.", "host.kernel.", "vms.web.vmx.")) and not path.endswith(".NetTuneHostMode")
]


@pytest.mark.parametrize(("path", "value", "others"), SETTINGS)
def test_hosts_that_differ_in_a_setting_without_effect_are_simulated_as_one(
    file: Path, path: str, value: str, others: Options
) -> None:
    """So that they share their runs. A VM with its own ``ctxPerDev``, even the default, is not in dense mode: the file has none here."""
    file.write_text(file.read_text().replace("    vmx: {ethernet0.ctxPerDev: 2}\n", ""))
    assert simulated(load(file, {**others, path: value})) == simulated(load(file, others))


def test_a_setting_that_has_an_effect_in_longer_runs_is_simulated_as_it_is_written(file: Path) -> None:
    """A point may be resolved for a short run, and its spec copied for a long one; or a run may be extended."""
    scenario, plain = load(file, DENSE), load(file)
    for length in (10 * MS, 7000 * MS):
        with_it, without = (one.simulated({}, length)[0] for one in (scenario, plain))
        assert with_it.settings.tune_dense
        assert with_it.digest() != without.digest()


@pytest.mark.parametrize(("path", "value", "others"), FELT)
def test_a_setting_with_an_effect_is_not_told(file: Path, path: str, value: str, others: Options) -> None:
    """It has an effect if its subject exists and is simulated."""
    scenario = load(file, {**others, path: value})
    assert told(scenario, path) == []
    assert simulated(scenario) != simulated(load(file, others))


def test_datagrams_from_a_vm_of_the_host_are_hashed_too(tmp_path: Path) -> None:
    """Unicast comes not only from outside."""
    text = (
        TEXT.replace("HARDWARE", "xeon-8160")
        .replace("esxi-6.0", "esxi-7.0")
        .replace("idle: {count: 0", "idle: {count: 1")
    )
    text = text.replace("    guest: rhel6\n", "    guest: linux5\n    vcpus: 4\n")
    stream = "{kind: tcp_stream, to: web, direction: send, window: 64 KiB}"
    assert stream in text
    local = "{kind: vm_datagrams, sender: idle, to: web, packet_size: 200 B, rate: 1 kpps}"
    (tmp_path / "local.yaml").write_text(text.replace(stream, local), encoding="utf-8")
    path = "vms.web.vmx.ethernet0.udpRSS"
    plain, hashed = (load(tmp_path / "local.yaml", {path: value}) for value in ("2", "1"))
    assert told(hashed, path) == []
    assert simulated(hashed) != simulated(plain)


@pytest.mark.parametrize(
    ("threads", "family", "within_vms", "reason"),
    [
        (2, "nehalem", "TRUE", ""),
        (1, "nehalem", "TRUE", "the server has no hyperthreads"),
        (2, "ice-lake-sp", "TRUE", "processors of the family ice-lake-sp do not have the L1 terminal fault"),
        (2, "nehalem", "FALSE", "version 2 of the scheduler (hyperthreadingMitigationIntraVM = FALSE) is not modelled"),
    ],
)
def test_side_channel_aware_scheduling_takes_hyperthreads_away_or_says_why_not(
    file: Path, threads: int, family: str, within_vms: str, reason: str
) -> None:
    """Version 1 leaves one PCPU per core of an affected processor."""
    kernel = f'{{hyperthreadingMitigation: "TRUE", hyperthreadingMitigationIntraVM: "{within_vms}"}}'
    text = file.read_text().replace("esxi-6.0", "esxi-7.0").replace("vms:\n", f"host: {{kernel: {kernel}}}\nvms:\n", 1)
    file.write_text(text)
    box = file.parent / "box.yaml"
    box.write_text(ONE_NODE.replace("ixgbe,", "ixgben,").replace("nehalem", family))
    scenario = load(file, {"hardware.cpu.threads": str(threads)})
    warnings = [one.partition("effect: ")[2] for one in scenario.warnings if "hyperthreadingMitigation = " in one]
    assert warnings == ([reason] if reason else [])
    assert scenario.spec({}, 10 * MS)[0].hardware.cpu.threads == (1 if not reason else threads)


def test_a_peer_that_coalesces_is_told_where_nothing_comes_from_it_in_an_open_loop(file: Path) -> None:
    """TCP is not delayed; received datagrams are, and sent ones are the VM's own."""
    reason = "no open-loop traffic comes from the peer"
    held = "\n  more: {kind: udp_stream, to: web, direction: WAY, packet_size: 100 B, rate: 1 kpps}"
    text = file.read_text()
    for more, told_of in (
        ("", [reason]),
        (held.replace("WAY", "receive"), []),
        (held.replace("WAY", "send"), [reason]),
    ):
        file.write_text(text.replace("traffic:", f"peer: esxi-vm\ntraffic:{more}"))
        warnings = [warning for warning in load(file).warnings if "peer.tx_coalescing has no effect: " in warning]
        assert [warning.partition("effect: ")[2] for warning in warnings] == told_of


def test_every_modelled_setting_has_a_rule_or_none_for_a_reason() -> None:
    """A newly modelled setting must be put on one of the lists."""
    platforms = [Parts(Path()).platform(name, ("platform",)).spec for name in ("esxi", "esxi-8.0")]
    modelled = {
        section: {
            name
            for platform in platforms
            if platform is not None
            for name, setting in getattr(platform, section).items()
            if setting.modelled
        }
        for section in ("advanced", "kernel", "vmx")
    }
    assert modelled["advanced"] - ALWAYS == ADVANCED.keys()
    assert modelled["kernel"] - ALWAYS == KERNEL.keys()
    assert modelled["vmx"] - ALWAYS == BY_VM


def test_the_line_of_a_setting_without_effect_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the scenario, or in the settings file that it names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.vmx").write_text(
        'ethernet0.virtualDev = "vmxnet3"\nethernet0.ctxPerDev = "3"\nsched.mem.pin = "TRUE"\n'
    )
    scenario = load_text(
        tmp_path,
        ('{ethernet0.emuRxMode: "0"}', "{file: web.vmx}"),
        ("vms:\n", "host: {advanced: {Net.E1000TxCopySize: 100}}\nvms:\n"),
        ("sweep:", "peer: linux\nsweep:"),
    )
    assert scenario.warnings == (
        "small.yaml:7: host.advanced.Net.E1000TxCopySize = 100 has no effect: no VM has an e1000",
        "web.vmx:2: vms.receiver.vmx.ethernet0.ctxPerDev = '3' has no effect: the VM has one transmit queue",
        "web.vmx: 1 setting has no effect, as it is not modelled: sched.mem.pin (line 3)",
    )


def test_a_setting_that_has_an_effect_at_one_point_of_a_sweep_is_not_told(tmp_path: Path) -> None:
    """An experiment may combine values with an effect and values without."""
    changes = [
        ("vms:\n", "host: {advanced: {Net.MaxPortRxQueueLen: 160}}\nvms:\n"),
        ("sweep:", "peer: linux\nsweep:"),
    ]
    assert load_text(tmp_path, *changes).warnings == ()
    assert len(load_text(tmp_path, *changes, axes={"split": "0"}).warnings) == 1


def test_defaults_that_are_written_are_not_told(file: Path) -> None:
    """They change nothing, and say nothing beyond their absence."""
    assert load(file, {"host.advanced.Net.E1000TxCopySize": "2048", "host.nics.vmnic1.rss_rings": "1"}).warnings == ()
