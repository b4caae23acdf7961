"""Capacity: each impossible value is refused with line, value and allowed values; requests without effect give warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from tests.scenario.changed_text import faults_of
from tests.scenario.small_receiver import TEXT, load_text

pytestmark = pytest.mark.usefixtures("inside")


def faults(tmp_path: Path, *changes: tuple[str, str]) -> list[str]:
    return faults_of(tmp_path / "small.yaml", TEXT, *changes).splitlines()


OPTIONS = "{vmnic0: {rss_rings: 4, drss: 2}}"
WINDOW = "direction: receive, window: 256 KiB"
STREAM = "  stream: {kind: multicast, to: small, packet_size: 800 B, rate: 40 kpps}"


STREAM_OF_FILES = (
    "  files: {kind: http, to: big, vnic: 1, method: post, size: 1 MB, connections: 10, window: 32 KiB, port: 40000}"
)
ROUTED = "  files: {kind: forwarded_stream, to: big, window: 32 KiB, port: 40000"
BRIDGE = "  frames: {kind: bridged, to: big, frame_size: 64 B, rate: 10 kpps"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            OPTIONS, "{vmnic2: {drss: 2}}",
            "small.yaml:6: host.nics.vmnic2: unknown physical NIC; given 'vmnic2'; allowed: one of vmnic0, vmnic1; "
            "did you mean 'vmnic1'?",
            id="options of a NIC that is not there",
        ),
        pytest.param(
            OPTIONS, "{vmnic0: {rss_ring: 2}}",
            "small.yaml:6: host.nics.vmnic0.rss_ring: unknown key; given 2; "
            "allowed: one of rss_rings, drss, tx_queues, interrupt_interval, mtu, max_vfs; did you mean 'rss_rings'?",
            id="unknown option",
        ),
        pytest.param(
            OPTIONS, "{vmnic0: {rss_rings: 32}}",
            "small.yaml:6: host.nics.vmnic0.rss_rings: is too large; given 32; allowed: an integer 1..16",
            id="more rings than any NIC has",
        ),
        pytest.param(
            OPTIONS, "{vmnic0: {rss_rings: 16}}",
            "small.yaml:6: host.nics.vmnic0.rss_rings: needs 17 receive queues, those of rss_rings and of drss together; "
            "given 16; allowed: at most the 16 that vmnic0 has",
            id="more rings than this NIC has, with the default queue",
        ),
        pytest.param(
            OPTIONS, "{vmnic1: {drss: 16}}",
            "small.yaml:6: host.nics.vmnic1.drss: needs 16 receive queues, those of rss_rings and of drss together; "
            "given 16; allowed: at most the 8 that vmnic1 has",
            id="more rings of the default queue than this NIC has",
        ),
        pytest.param(
            "platform: esxi-6.0", "platform: esxi-5.0",
            "small.yaml:9: network.vSwitch1.vxlan: is not known to this platform; given true; allowed: false",
            id="VXLAN before it came",
        ),
        pytest.param(
            "vcpus: 4", "vcpus: 25",
            "small.yaml:11: vms.big.vcpus: is more than the host has PCPUs; given 25; allowed: an integer 1..24",
            id="more vCPUs than PCPUs",
        ),
        pytest.param(
            "networks: vSwitch1,", "networks: vSwitch1, vcpus: 8, vmx: {sched.cpu.latencySensitivity: high},",
            "small.yaml:12: vms.small.vmx.sched.cpu.latencySensitivity: needs 16 exclusive cores, one for each vCPU with this setting; given 'high'; allowed: at most 10 such vCPUs: each NUMA node keeps a core for other worlds",
            id="more vCPUs than PCPUs that can be spared",
        ),
        pytest.param(
            '"4"', '"4", numa.nodeAffinity: "0,2"',
            "small.yaml:11: vms.big.vmx.numa.nodeAffinity: names a NUMA node that the host does not have; given '0,2'; "
            "allowed: NUMA nodes 0..1: one for each socket",
            id="node that is not there",
        ),
        pytest.param(
            '"4"', '"4", ethernet0.emuRxMode: "1"',
            "small.yaml:11: vms.big.vmx.ethernet0.emuRxMode: requires a single receive queue, and ethernet0.pnicFeatures gets "
            "several; given '1'; allowed: \"0\", or no RSS",
            id="splitRx of several queues",
        ),
        pytest.param(
            '"4"', '"4", ethernet2.emuRxMode: "1"',
            "small.yaml:11: vms.big.vmx.ethernet2.emuRxMode: unknown setting; given '1'; "
            "allowed: a setting of the platform; did you mean 'ethernet1.emuRxMode'?",
            id="key of a vNIC that is not there",
        ),
        pytest.param(
            "rx_ring: 1024", "rx_ring: 1000",
            "small.yaml:12: vms.small.rx_ring: is not a ring of a vmxnet3; given 1000; allowed: a multiple of 32, 32..4096",
            id="ring that the driver cannot have",
        ),
        pytest.param(
            "rx_ring: 1024", "rx_ring: 8192",
            "small.yaml:12: vms.small.rx_ring: is too large; given 8192; allowed: an integer 32..4096",
            id="ring that no driver has",
        ),
        pytest.param(
            "rx_ring: 1024, tx_ring: 2048", "tx_ring: 72, vmx: {ethernet0.virtualDev: e1000}",
            "small.yaml:12: vms.small.tx_ring: is not a ring of an e1000; given 72; allowed: a multiple of 8, 80..4096",
            id="ring that an e1000 cannot have",
        ),
        pytest.param(
            "rx_ring: 1024", 'vmx: {ethernet0.virtualDev: e1000, ethernet0.pnicFeatures: "4"}, rx_ring: 1024',
            "small.yaml:12: vms.small.vmx.ethernet0.pnicFeatures: is not for an e1000, which has one queue, no LRO, no RSS, "
            "and its driver's coalescing; given '4'; allowed: with ethernet0.virtualDev: vmxnet3",
            id="RSS on an e1000",
        ),
        pytest.param(
            STREAM_OF_FILES, ROUTED + ", leaves: 0}",
            "small.yaml:15: traffic.files.leaves: is also the vNIC that receives the data; given 0; allowed: 1",
            id="a router that sends back where data came from",
        ),
        pytest.param(
            STREAM_OF_FILES, ROUTED + ", leaves: 2}",
            "small.yaml:15: traffic.files.leaves: is not a vNIC of all its groups; given 2; allowed: 1",
            id="a router without the vNIC that data leave by",
        ),
        pytest.param(
            STREAM_OF_FILES, BRIDGE + ", leaves: 0}",
            "small.yaml:15: traffic.frames.leaves: is also the vNIC that receives the frames; given 0; "
            "allowed: a vNIC that is not on vSwitch0",
            id="bridge between a vNIC and itself",
        ),
        pytest.param(
            STREAM_OF_FILES, BRIDGE + ", leaves: 2}",
            "small.yaml:15: traffic.frames.leaves: is not a vNIC of big; given 2; allowed: an integer 0..1",
            id="bridge to a vNIC that is not there",
        ),
        pytest.param(
            STREAM_OF_FILES, BRIDGE.replace("64 B", "1600 B") + "}",
            "small.yaml:15: traffic.frames.frame_size: does not fit in a frame; given '1600 B'; "
            "allowed: at most 1518 B: a frame at an MTU of 1500",
            id="bridged frames larger than a switch takes",
        ),
        pytest.param(
            STREAM_OF_FILES, BRIDGE.replace("64 B", "60 B") + "}",
            "small.yaml:15: traffic.frames.frame_size: is too small; given '60 B'; "
            "allowed: a number and a unit of size, one of B, kB, MB, GB, KiB, MiB, GiB; from 64",
            id="frames that Ethernet has not",
        ),
        pytest.param(
            "vnic: 1", "vnic: 2",
            "small.yaml:15: traffic.files.vnic: is not a vNIC of big; given 2; allowed: an integer 0..1",
            id="traffic through a vNIC that is not there",
        ),
        pytest.param(
            WINDOW, WINDOW + ", vnic: 1",
            "small.yaml:14: traffic.netperf.vnic: is not a vNIC of small; given 1; allowed: 0",
            id="traffic through a vNIC that one of two groups has",
        ),
        pytest.param(
            WINDOW, "direction: receive, window: 8 kB",
            "small.yaml:14: traffic.netperf.window: is smaller than a segment; given '8 kB'; allowed: at least 8948 B",
            id="window smaller than a segment",
        ),
        pytest.param(
            WINDOW, WINDOW + ", message_size: 0 B",
            "small.yaml:14: traffic.netperf.message_size: is too small; given '0 B'; "
            "allowed: a number and a unit of size, one of B, kB, MB, GB, KiB, MiB, GiB; from 1",
            id="messages of nothing",
        ),
        pytest.param(
            "port: 40000", "port: 65530",
            "small.yaml:15: traffic.files.port: leaves too few ports; given 65530; "
            "allowed: at most 65526: 10 connections have a port each",
            id="more connections than ports",
        ),
        pytest.param(
            "to: [big, small]", "to: [big, big]",
            "small.yaml:14: traffic.netperf.to: names a group twice; given ['big', 'big']; allowed: each group once",
            id="group named twice",
        ),
        pytest.param(
            "uplinks: vmnic1", "uplinks: [vmnic1, vmnic1]",
            "small.yaml:9: network.vSwitch1.uplinks: names a NIC twice; given ['vmnic1', 'vmnic1']; allowed: each NIC once",
            id="uplink named twice",
        ),
        pytest.param(
            "uplinks: vmnic1", "uplinks: [vmnic1, vmnic0]",
            "small.yaml:9: network.vSwitch1.uplinks: is already the uplink of vSwitch0; given ['vmnic1', 'vmnic0']; "
            "allowed: a NIC that is not in use",
            id="uplink shared by two switches",
        ),
        pytest.param(
            "networks: vSwitch1", "networks: [" + ", ".join(["vSwitch1"] * 11) + "]",
            "small.yaml:12: vms.small.networks: has too many entries; given [" + ", ".join(["'vSwitch1'"] * 11) + "]; "
            "allowed: names in a list, or []; 10 at most",
            id="more vNICs than a VM may have",
        ),
        pytest.param(
            "mtu: 9000", "mtu: 9001",
            "small.yaml:8: network.vSwitch0.mtu: is too large; given 9001; allowed: an integer 1280..9000",
            id="MTU that no frame has",
        ),
        pytest.param(
            "kind: http", "kind: htttp",
            "small.yaml:15: traffic.files.kind: unknown kind of traffic; given 'htttp'; "
            "allowed: one of bridged, forwarded_stream, http, multicast, request_response, tcp_stream, tiers, transactions, udp_stream, vm_datagrams, vm_tcp_stream, vmkernel_stream, vmotion, web, work; "
            "no plug-in is loaded; did you mean 'http'?",
            id="unknown kind of traffic",
        ),
        pytest.param(
            "traffic:", "traffic:\n" + STREAM.replace("800 B", "1473 B"),
            "small.yaml:14: traffic.stream.packet_size: does not fit in a frame; given '1473 B'; "
            "allowed: at most 1472 B: one frame at an MTU of 1500",
            id="packet longer than the MTU of its switch",
        ),
        pytest.param(
            "traffic:", "traffic:\n" + STREAM.replace("40 kpps", "1.4 Mpps"),
            "small.yaml:14: traffic.stream.rate: is more than the wire carries; given '1.4 Mpps'; "
            "allowed: below 1364629 pps, the rate that vmnic1 has left for frames of 916 B",
            id="stream that VXLAN makes too much for the wire",
        ),
    ],
)  # fmt: skip
def test_nonsense_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """File, line, path, given value, allowed values, and nothing else."""
    assert faults(tmp_path, (old, new)) == [expected]


def test_connections_for_single_files_need_their_cost(tmp_path: Path) -> None:
    """An ideal guest has none; one of rhel6 has."""
    closes = ("connections: 10", "connections: 10, keep_alive: false")
    load_text(tmp_path, closes)
    expected = (
        "small.yaml:15: traffic.files.keep_alive: opens connections for single files, whose cost the guest of big does not have; "
        "given false; allowed: true, or a guest with connection"
    )
    assert expected in faults(tmp_path, closes, ("vcpus: 4, guest: rhel6", "vcpus: 4, guest: ideal"))


def test_a_nic_without_rss_has_one_ring(tmp_path: Path) -> None:
    """Each option that requests more is reported."""
    assert faults(
        tmp_path,
        ("esxi-6.0", "esxi-5.0"),
        ("dell-r720", "dell-r810"),
        ("\n  vSwitch1: {uplinks: vmnic1, vxlan: true}", ""),
        (", vSwitch1]", "]"),
        ("networks: vSwitch1", "networks: vSwitch0"),
        ("vnic: 1, ", ""),
    ) == [
        "small.yaml:6: host.nics.vmnic0.rss_rings: is more than the one ring of vmnic0, which has no RSS; given 4; allowed: 1",
        "small.yaml:6: host.nics.vmnic0.drss: is more than the one ring of vmnic0, which has no RSS; given 2; allowed: 1",
    ]


def test_frames_may_be_jumbo(tmp_path: Path) -> None:
    """The MTU is the switch's; a stream arrives at the first uplink, whose rate counts."""
    stream = "  stream: {kind: multicast, to: big, packet_size: 8972 B, rate: 500 kpps}"
    load_text(tmp_path, ("traffic:", "traffic:\n" + stream))
    told = faults(tmp_path, ("traffic:", "traffic:\n" + stream.replace("500", "600")))
    assert told == [
        (
            "small.yaml:14: traffic.stream.rate: is more than the wire carries; given '600 kpps'; "
            "allowed: below 553220 pps, the rate that vmnic0 has left for frames of 9038 B"
        )
    ]


def test_all_streams_of_all_vms_count_on_a_wire(tmp_path: Path) -> None:
    """The rate is that of each stream; `given` and `allowed` are about one of them."""
    stream = "  stream: {kind: udp_stream, to: big, direction: receive, packet_size: 972 B, streams: 10, rate: RATE}"
    most = 40e9 / (8 * 1038) / 10

    def found(rate: float) -> list[str]:
        return faults(tmp_path, ("traffic:", "traffic:\n" + stream.replace("RATE", f"{rate:.0f} pps")))

    load_text(tmp_path, ("traffic:", "traffic:\n" + stream.replace("RATE", f"{most - 1:.0f} pps")))
    (fault,) = found(most + 1)
    assert fault.endswith(
        f"allowed: below {most:.0f} pps for each stream, the rate that vmnic0 has left for frames of 1038 B"
    )


def test_streams_of_a_group_without_vms_are_not_too_fast(tmp_path: Path) -> None:
    """On a wire that other traffic already fills: only that traffic is a fault."""
    stream = "{kind: udp_stream, to: GROUP, direction: receive, packet_size: 972 B, rate: 5 Mpps}"
    traffic = "".join(f"  {name}: {stream.replace('GROUP', name)}\n" for name in ("big", "none"))
    none = "vms:\n  none: {count: 0, guest: rhel6, networks: vSwitch0}"
    (fault,) = faults(tmp_path, ("vms:", none), ("traffic:\n", "traffic:\n" + traffic))
    assert "traffic.big.rate: is more than the wire carries" in fault


def test_a_bus_that_is_slower_than_the_wire_is_what_a_stream_must_fit_on(tmp_path: Path) -> None:
    """Pause frames throttle the sender: data beyond the bus rate never arrive."""
    stream = "  stream: {kind: multicast, to: big, packet_size: 8972 B, rate: 300 kpps}"
    changes = (("traffic:", "traffic:\n" + stream),)
    load_text(tmp_path, *changes)
    with pytest.raises(InputError, match=r"is more than the wire carries.* below 202"):
        load_text(tmp_path, *changes, overrides={"hardware.nics.vmnic0.pcie.lanes": "4",
                                                 "hardware.nics.vmnic0.pcie.generation": "2"})  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "esxi-6.0", "esxi-5.1",
            "vms.big: ethernet0.pnicFeatures asks for RSS, but this platform gives a vNIC one receive queue",
            id="platform without",
        ),
        pytest.param(
            "rss_rings: 4, ", "",
            "vms.big: ethernet0.pnicFeatures asks for RSS, but no uplink of vSwitch0 has rss_rings above 1",
            id="NIC without",
        ),
        pytest.param(
            "host:\n", "host:\n  kernel: {netNetqueueEnabled: \"FALSE\"}\n",
            "vms.big: ethernet0.pnicFeatures asks for RSS, but netNetqueueEnabled is FALSE, so that each NIC has only its default queue",
            id="NetQueue off",
        ),
        pytest.param(
            'pnicFeatures: "4"', 'pnicFeatures: "1"',
            "vms.big: ethernet0.pnicFeatures requests LRO of the vNIC, which is not modelled: only Net.Vmxnet3HwLRO has an effect",
            id="LRO by vNIC",
        ),
    ],
)  # fmt: skip
def test_what_is_asked_in_vain_warns(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """Results carry it; as it stands the scenario has nothing to warn of."""
    assert load_text(tmp_path).warnings == ()
    warnings = load_text(tmp_path, (old, new)).warnings
    assert [warning for warning in warnings if "rss_rings = 4 has no effect" not in warning] == [expected]


def test_one_uplink_with_rings_is_enough(tmp_path: Path) -> None:
    """A port's uplink depends on the order of ports, so nothing is reported if one of several has them."""
    changes = (
        ("\n  vSwitch1: {uplinks: vmnic1, vxlan: true}", ""),
        ("[vmnic0]", "[vmnic1, vmnic0]"),
        (", vSwitch1]", "]"),
        ("networks: vSwitch1", "networks: vSwitch0"),
        ("vnic: 1, ", ""),
    )
    assert load_text(tmp_path, *changes).warnings == ()


def test_pcpus_of_ones_own_are_whole_cores(tmp_path: Path) -> None:
    """Twice as many PCPUs per core do not fit more of them."""
    changes = (("networks: vSwitch1,", "networks: vSwitch1, vcpus: 8, vmx: {sched.cpu.latencySensitivity: high},"),)
    with pytest.raises(InputError, match=r"needs 16 exclusive cores.* at most 10 such vCPUs"):
        load_text(tmp_path, *changes, overrides={"hardware.cpu.threads": "2"})
    load_text(tmp_path, *changes, overrides={"hardware.cpu.threads": "2", "vms.small.vcpus": "5"})
