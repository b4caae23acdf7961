"""Port groups of one switch: they share its uplinks, and VLAN frames are four bytes longer on the wire in both directions."""

from __future__ import annotations

import pytest

from hostsim.config.nic import VSwitchSpec
from hostsim.config.traffic import Traffic
from hostsim.config.vmkernel import VmkernelStreamSpec
from hostsim.units import MS
from tests.model.small_point import CALM, datagrams, echoes, group, nic, point, run, stream

TAG_PS = 4 * 800
"""Four bytes at 10 Gbit/s."""


@pytest.mark.parametrize(
    "traffic", [datagrams("send"), datagrams("receive"), echoes(2), stream("send")], ids=["out", "in", "echoes", "tcp"]
)
def test_a_tag_is_four_bytes_of_each_frame_on_the_wire(traffic: Traffic) -> None:
    """Only these bytes are added, to received and sent frames, also to those segmented by the NIC."""
    host = run(point(traffic={"t": traffic}, switches={"vSwitch0": VSwitchSpec(uplinks="vmnic0", vlan=7)}, cost=CALM))
    plain = run(point(traffic={"t": traffic}, cost=CALM))
    for tagged, port in ((host, host.nics["vmnic0"]), (plain, plain.nics["vmnic0"])):
        port.depart(tagged.clock.now)
    tagged, untagged = host.nics["vmnic0"], plain.nics["vmnic0"]
    assert untagged.tx_frames + plain.flows[0].sent > 10
    each = untagged.tx_wire_ps / untagged.tx_frames if untagged.tx_frames else 0
    assert tagged.tx_wire_ps == pytest.approx(tagged.tx_frames * (each + TAG_PS), rel=1e-3)
    if isinstance(traffic, type(datagrams("send"))):
        assert tagged.tx_wire_ps - untagged.tx_wire_ps == tagged.tx_frames * TAG_PS
        assert tagged.rx_wire_ps - untagged.rx_wire_ps == host.flows[0].sent * TAG_PS


def test_ports_of_all_port_groups_take_the_uplinks_in_turn() -> None:
    """Four VMs on two port groups and the switch itself; one port group has its own adapter order."""
    switches = {
        "prod": VSwitchSpec(uplinks=("vmnic0", "vmnic1")),
        "web": VSwitchSpec(uplinks=("vmnic0", "vmnic1"), port_group_of="prod", vlan=7),
        "db": VSwitchSpec(uplinks=("vmnic1",), port_group_of="prod"),
    }
    groups = [group(name, networks=(name,)) for name in ("prod", "web", "db")] + [group("last", networks=("web",))]
    traffic = {name: datagrams("send", to=name) for name in ("prod", "web", "db", "last")}
    host = run(point(*groups, traffic=traffic, nics={"vmnic0": nic(), "vmnic1": nic()}, switches=switches), 5 * MS)
    assert [device.nic.name for vm in host.vms for device in vm.devices] == ["vmnic0", "vmnic1", "vmnic1", "vmnic1"]
    assert host.switches["web"] is host.switches["db"] is host.switches["prod"]
    assert [flow.out > 0 for flow in host.flows] == [True] * 4


@pytest.mark.parametrize("vxlan", [False, True])
def test_ip_hash_selects_the_uplink_of_the_last_octets(*, vxlan: bool) -> None:
    """10.0.0.1 to 10.0.0.5 with the peer 10.1.0.1, over three uplinks: 0, 3, 2, 5 and 4 modulo 3; both directions use the same link.

    In a tunnel all packets have the addresses of its endpoints, 1 and 2: 3 modulo 3.
    """
    nics = {f"vmnic{number}": nic() for number in range(3)}
    switches = {"vSwitch0": VSwitchSpec(uplinks=tuple(nics), teaming="ip_hash", vxlan=vxlan)}
    traffic = {"out": datagrams("send"), "in": datagrams("receive")}
    host = run(point(group(count=5), traffic=traffic, nics=nics, switches=switches, cores=12), 5 * MS)
    expected = ["vmnic0"] * 5 if vxlan else ["vmnic0", "vmnic0", "vmnic2", "vmnic2", "vmnic1"]
    assert [device.nic.name for vm in host.vms for device in vm.devices] == expected
    for name, port in host.nics.items():
        port.depart(host.clock.now)
        assert (port.tx_frames > 0) == (port.rx_wire_ps > 0) == (name in expected)


def test_a_vmkernel_port_has_an_address_of_its_own() -> None:
    """10.3.0.1 and 10.3.0.2 with the peer 10.1.0.1: 0 and 3, modulo two uplinks."""
    nics = {"vmnic0": nic(), "vmnic1": nic()}
    switches = {"vSwitch0": VSwitchSpec(uplinks=tuple(nics), teaming="ip_hash")}
    stored = VmkernelStreamSpec.model_validate(
        {"kind": "vmkernel_stream", "network": "vSwitch0", "system": "vsan", "window": "1 MiB", "delay": "20 us"}
    )
    host = run(point(group(count=1), traffic={"a": stored, "b": stored}, nics=nics, switches=switches, cores=8), 5 * MS)
    for port in host.nics.values():
        port.depart(host.clock.now)
    assert [port.tx_octets for port in host.nics.values()] == [pytest.approx(flow.octets) for flow in host.flows]
