"""Resolved files: the whole point, with joined parts and effective settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import NicOptions, VSwitchSpec
from hostsim.config.workload import HttpSpec, TcpStreamSpec
from hostsim.errors import InputError
from hostsim.units import SECOND, US
from tests.scenario.small_receiver import changed, load_text


def spec_of(tmp_path: Path, *changes: tuple[str, str], **options: dict[str, str]) -> PointSpec:
    scenario = load_text(tmp_path, *changes, **options)
    return scenario.spec(scenario.first(), SECOND)[0]


def test_groups_have_their_vcpus_vnics_and_rings(tmp_path: Path) -> None:
    """A single name is a list of one; each vNIC has its settings."""
    big, small = spec_of(tmp_path).vms
    assert (big.vcpus, big.networks, [vnic.rss for vnic in big.settings.vnics]) == (
        4,
        ("vSwitch0", "vSwitch1"),
        [True, False],
    )
    assert (small.vcpus, small.networks) == (1, ("vSwitch1",))
    assert [(vnic.rx_ring, vnic.tx_ring) for vnic in (*big.settings.vnics, *small.settings.vnics)] == [
        (256, 512),
        (256, 512),
        (1024, 2048),
    ]


def test_switches_are_as_written(tmp_path: Path) -> None:
    """Uplinks, MTU and VXLAN, with defaults for missing keys."""
    assert spec_of(tmp_path).vswitches == {
        "vSwitch0": VSwitchSpec(uplinks=("vmnic0",), mtu=9000),
        "vSwitch1": VSwitchSpec(uplinks=("vmnic1",), vxlan=True),
    }


def test_every_nic_has_options(tmp_path: Path) -> None:
    """Parts that nothing else loads have the defaults."""
    assert spec_of(tmp_path, ("drss: 2", "interrupt_interval: 20 us")).nics == {
        "vmnic0": NicOptions(rss_rings=4, interrupt_interval="20 us"),
        "vmnic1": NicOptions(),
    }


def test_the_platform_brings_drivers_and_the_balancer(tmp_path: Path) -> None:
    """They are those of its version."""
    new, old = spec_of(tmp_path), spec_of(tmp_path, ("esxi-6.0", "esxi-5.5"))
    assert (new.drivers["mlx4"], old.drivers["mlx4"]) == ("native", "vmklinux")
    assert (new.settings.netqueue_dynamic, old.settings.netqueue_dynamic) == (True, False)
    assert new.netqueue == old.netqueue


def test_tcp_traffic_is_as_written(tmp_path: Path) -> None:
    """Missing keys have their defaults."""
    traffic = spec_of(tmp_path).traffic
    assert traffic == {
        "netperf": TcpStreamSpec(kind="tcp_stream", to=("big", "small"), direction="receive", window="256 KiB"),
        "files": HttpSpec(
            kind="http", to=("big",), vnic=1, method="post", size="1 MB", connections=10, window="32 KiB", port=40_000
        ),
    }


def test_inputs_of_traffic_and_nics_may_be_assumptions(tmp_path: Path) -> None:
    """Each is listed under its path, and both ends are valid."""
    window = "window: {value: 256 KiB, assumed: nobody said, range: [64 KiB, 1 MiB]}"
    interval = "interrupt_interval: {value: 20 us, assumed: nobody said, range: [10 us, 30 us]}"
    scenario = load_text(tmp_path, ("window: 256 KiB", window), ("drss: 2", interval))
    spec, _ = scenario.spec(scenario.first(), SECOND)
    assert (spec.traffic["netperf"].window, spec.nics["vmnic0"].interrupt_interval) == (262_144, 20 * US)
    own = [assumption.path for assumption in scenario.assumptions if str(assumption.place).startswith(str(tmp_path))]
    assert own == ["host.nics.vmnic0.interrupt_interval", "traffic.netperf.window"]
    with pytest.raises(InputError, match=r"traffic\.netperf\.window: has the unit 'us'"):
        load_text(tmp_path, ("window: 256 KiB", window.replace("1 MiB", "1 us")))


@pytest.mark.parametrize(
    ("path", "value", "read"),
    [
        ("network.vSwitch0.uplinks", "vmnic0", lambda spec: spec.vswitches["vSwitch0"].uplinks == ("vmnic0",)),
        ("network.vSwitch1.vxlan", "false", lambda spec: not spec.vswitches["vSwitch1"].vxlan),
        ("network.vSwitch0.mtu", "1500", lambda spec: spec.vswitches["vSwitch0"].mtu == 1500),
        ("host.nics.vmnic0.drss", "4", lambda spec: spec.nics["vmnic0"].drss == 4),
        ("host.nics.vmnic1.drss", "4", lambda spec: spec.nics["vmnic1"].drss == 4),
        ("traffic.netperf.message_size", "64 B", lambda spec: spec.traffic["netperf"].message_size == 64),
        ("traffic.files.method", "get", lambda spec: spec.traffic["files"].method == "get"),
        ("vms.big.vmx.ethernet1.emuRxMode", "1", lambda spec: spec.vms[0].settings.vnics[1].split_rx),
        ("vms.small.networks", "vSwitch0", lambda spec: spec.vms[1].networks == ("vSwitch0",)),
        ("hardware.nics.vmnic0.rx_queues", "8", lambda spec: spec.hardware.nics["vmnic0"].rx_queues == 8),
    ],
)
def test_the_receive_side_can_be_set_and_varied(tmp_path: Path, path: str, value: str, read) -> None:
    """By `--set` and `--axis`; options of a NIC also if the file has none."""
    assert not read(spec_of(tmp_path)) or path.endswith("uplinks")
    assert read(spec_of(tmp_path, overrides={path: value}))
    assert read(spec_of(tmp_path, axes={path: value}))


def test_a_vnic_that_is_not_there_cannot_be_varied(tmp_path: Path) -> None:
    """The group has two."""
    with pytest.raises(InputError, match=r"ethernet2\.emuRxMode'\]: unknown setting.*'ethernet1\.emuRxMode'"):
        load_text(tmp_path, axes={"vms.big.vmx.ethernet2.emuRxMode": "0,1"})


def test_settings_in_force_are_told_for_each_vnic(tmp_path: Path) -> None:
    """Two of the big group, one of the small one."""
    names = {row.name for row in load_text(tmp_path).settings}
    told = [f"vms.{group}.vmx.ethernet{n}.emuRxMode" in names for group in ("big", "small") for n in range(3)]
    assert told == [True, True, False, True, False, False]


@pytest.mark.parametrize("written", ["1", "-1", "1.5", "null", "true", "''", "word", "[]", "[[1], {}]", "{}", "{a: 1}"])
def test_whatever_is_written_anywhere_ends_in_a_scenario_or_in_faults(tmp_path: Path, written: str) -> None:
    """Each value of the file is replaced by something else: no other error occurs, and every fault has a place."""
    text = changed()
    for match in re.finditer(r"(?<=: )[^\s{\[][^,\n}\]]*|\[[^\]]*\]|\{[^{}\n]*\}", text):
        try:
            load_text(tmp_path, (text, text[: match.start()] + written + text[match.end() :]))
        except InputError as error:
            told = error.faults
        else:
            told = ()
        assert all(fault.file for fault in told)
