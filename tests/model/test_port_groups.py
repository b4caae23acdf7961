"""Port groups of one switch: they share its uplinks, and VLAN frames are four bytes longer on the wire in both directions."""

from __future__ import annotations

import pytest

from hostsim.config.nic import VSwitchSpec
from hostsim.config.traffic import Traffic
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
