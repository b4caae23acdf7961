"""Teams and port groups: active uplinks, refusals, and equal hosts for equal uplinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.config.nic import VSwitchSpec
from hostsim.errors import InputError
from hostsim.scenario.check.network import in_use
from hostsim.scenario.plan import point_at
from tests.scenario.small_receiver import load_text

SWITCHES = "  vSwitch0: {uplinks: [vmnic0], mtu: 9000}\n  vSwitch1: {uplinks: vmnic1, vxlan: true}\n"
BIG, SMALL = "networks: [vSwitch0, vSwitch1]", "networks: vSwitch1, rx_ring"
FILES = "  files: {kind: http, to: big, vnic: 1, method"


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults name files relative to the working folder."""
    monkeypatch.chdir(tmp_path)


def network(*lines: str) -> tuple[tuple[str, str], ...]:
    """One switch, ``prod``, with port groups instead of the two switches: changes of the scenario."""
    text = "".join(f"  {line}\n" for line in lines)
    return (
        (SWITCHES, text),
        (BIG, "networks: [prod, web]"),
        (SMALL, "networks: web, rx_ring"),
        (FILES, FILES.replace("vnic: 1", "vnic: 0")),
    )


@pytest.mark.parametrize(
    ("teaming", "down", "used"),
    [
        ("port_id", (), "ab"),
        ("port_id", "b", "ac"),
        ("port_id", "ab", "cd"),
        ("port_id", "abc", "d"),
        ("explicit_failover", (), "a"),
        ("explicit_failover", "a", "b"),
        ("explicit_failover", "ab", "c"),
        ("explicit_failover", "abc", "d"),
    ],
)
def test_standby_adapters_take_the_place_of_those_that_are_down(teaming: str, down: str, used: str) -> None:
    """Of two active and two standby adapters."""
    switch = VSwitchSpec.model_validate(
        {"uplinks": tuple("ab"), "standby": tuple("cd"), "teaming": teaming, "link_down": tuple(down)}
    )
    assert in_use(switch) == tuple(used)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{uplinks: [vmnic0, vmnic1], teaming: explicit_failover}", "{uplinks: [vmnic0]}"),
        ("{uplinks: [vmnic0, vmnic1], link_down: [vmnic0]}", "{uplinks: [vmnic1]}"),
        ("{uplinks: [vmnic0], standby: vmnic1, link_down: vmnic0}", "{uplinks: [vmnic1]}"),
        ("{uplinks: [vmnic0], standby: vmnic1}", "{uplinks: [vmnic0]}"),
    ],
)
def test_a_host_is_known_by_the_uplinks_that_it_uses(one: str, other: str, tmp_path: Path) -> None:
    """Their runs are shared."""
    hosts = [
        point_at(
            load_text(
                tmp_path,
                *network(f"prod: {switch}", "web: {uplinks: vmnic9, port_group_of: prod}".replace("vmnic9", nic)),
            ),
            {},
        ).spec
        for switch, nic in (
            (one, "vmnic0" if "vmnic0" in other else "vmnic1"),
            (other, "vmnic0" if "vmnic0" in other else "vmnic1"),
        )
    ]
    assert hosts[0].digest() == hosts[1].digest()


def test_ip_hash_over_one_link_is_that_link(tmp_path: Path) -> None:
    """Over two links it is another host than with ports in turn."""
    hosts = []
    for teaming in ("", ", teaming: ip_hash"):
        for down in ("", ", link_down: vmnic1"):
            prod = f"prod: {{uplinks: [vmnic0, vmnic1]{teaming}{down}}}"
            web = f"web: {{uplinks: [vmnic0, vmnic1], port_group_of: prod{teaming}}}"
            hosts.append(point_at(load_text(tmp_path, *network(prod, web)), {}).spec.digest())
    assert hosts[1] == hosts[3]
    assert hosts[0] != hosts[2]


def test_a_port_group_has_what_its_switch_has(tmp_path: Path) -> None:
    """MTU, VXLAN, Network I/O Control and links are the switch's; policies and VLAN are its own."""
    text = network(
        "prod: {uplinks: [vmnic0, vmnic1], mtu: 9000, vlan: 10, nioc: {}, link_down: vmnic0}",
        "web: {uplinks: vmnic0, standby: vmnic1, port_group_of: prod, vlan: 20}",
    )
    prod, web = point_at(load_text(tmp_path, *text), {}).spec.vswitches.values()
    assert (prod.vlan, web.vlan, web.mtu, web.nioc) == (10, 20, 9000, prod.nioc)
    assert prod.uplinks == web.uplinks == ("vmnic1",)


@pytest.mark.parametrize(
    ("prod", "web", "expected"),
    [
        pytest.param(
            "uplinks: vmnic0, standby: vmnic0", "uplinks: vmnic0, port_group_of: prod",
            "small.yaml:8: network.prod.standby: is also an active uplink; given 'vmnic0'; allowed: NICs that are not among the uplinks",
            id="active and standby",
        ),
        pytest.param(
            "uplinks: vmnic0, link_down: vmnic1", "uplinks: vmnic0, port_group_of: prod",
            "small.yaml:8: network.prod.link_down: is not an adapter of the switch; given 'vmnic1'; allowed: one of vmnic0",
            id="a link of another switch",
        ),
        pytest.param(
            "uplinks: vmnic0, link_down: vmnic0", "uplinks: vmnic0, port_group_of: prod",
            "small.yaml:8: network.prod.uplinks: all have no link; given 'vmnic0'; allowed: at least one active or standby uplink that is not in link_down",
            id="no link",
        ),
        pytest.param(
            "uplinks: vmnic0", "uplinks: vmnic1, port_group_of: prod",
            "small.yaml:9: network.web.uplinks: is not an adapter of prod; given 'vmnic1'; allowed: one of vmnic0",
            id="an adapter of its own",
        ),
        pytest.param(
            "uplinks: vmnic0", "uplinks: vmnic0, port_group_of: prot",
            "small.yaml:9: network.web.port_group_of: is not a virtual switch; given 'prot'; allowed: one of prod; did you mean 'prod'?",
            id="unknown switch",
        ),
        pytest.param(
            "uplinks: vmnic0", "uplinks: vmnic0, port_group_of: prod, mtu: 9000",
            "small.yaml:9: network.web.mtu: belongs to the switch: a port group uses that of prod; given 9000; allowed: network.prod.mtu",
            id="an MTU of its own",
        ),
        pytest.param(
            "uplinks: vmnic0, vlan: 4095", "uplinks: vmnic0, port_group_of: prod",
            "small.yaml:8: network.prod.vlan: is too large; given 4095; allowed: an integer 1..4094",
            id="VLAN 4095",
        ),
        pytest.param(
            "uplinks: vmnic0, teaming: lacp", "uplinks: vmnic0, port_group_of: prod",
            "small.yaml:8: network.prod.teaming: is not one of the choices; given 'lacp'; allowed: one of port_id, explicit_failover, "
            "ip_hash",
            id="LACP",
        ),
        pytest.param(
            "uplinks: vmnic0, standby: vmnic1, teaming: ip_hash", "uplinks: vmnic0, port_group_of: prod, teaming: ip_hash",
            "small.yaml:8: network.prod.standby: is used with IP hash, whose uplinks are all active links of a port channel; given 'vmnic1'; "
            "allowed: nothing; or teaming: explicit_failover or port_id",
            id="IP hash with a standby adapter",
        ),
        pytest.param(
            "uplinks: [vmnic0, vmnic1], teaming: ip_hash", "uplinks: [vmnic0, vmnic1], port_group_of: prod",
            "small.yaml:9: network.web.teaming: differs from the teaming of prod; all ports of a port channel use IP hash; "
            "allowed: ip_hash",
            id="IP hash of the switch alone",
        ),
        pytest.param(
            "uplinks: [vmnic0, vmnic1], teaming: ip_hash", "uplinks: vmnic0, port_group_of: prod, teaming: ip_hash",
            "small.yaml:9: network.web.uplinks: differ from those of prod; all ports of a port channel use all its links; given 'vmnic0'; "
            "allowed: vmnic0, vmnic1",
            id="IP hash over some links",
        ),
    ],
)  # fmt: skip
def test_what_no_team_can_be_is_refused(prod: str, web: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, *network(f"prod: {{{prod}}}", f"web: {{{web}}}"))
    assert expected in str(caught.value).splitlines()


def test_vms_of_two_port_groups_do_not_reach_each_other(tmp_path: Path) -> None:
    """Networks are separate: only an external router would join them."""
    text = network("prod: {uplinks: vmnic0}", "web: {uplinks: vmnic0, port_group_of: prod, vlan: 20}")
    local = (
        FILES.replace("vnic: 1", "vnic: 0"),
        "  local: {kind: vm_tcp_stream, sender: small, to: big, window: 64 KiB}\n"
        + FILES.replace("vnic: 1", "vnic: 0"),
    )
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, *text, local)
    (fault,) = str(caught.value).splitlines()
    assert fault.startswith(
        "small.yaml:15: traffic.local.to: is on another virtual switch, prod, with this vNIC; given 'big'"
    )


def test_an_allocation_of_traffic_that_nothing_sends_warns(tmp_path: Path) -> None:
    text = network(
        "prod: {uplinks: vmnic0, nioc: {system: {nfs: {shares: 10}}}}", "web: {uplinks: vmnic0, port_group_of: prod}"
    )
    (told,) = [warning for warning in load_text(tmp_path, *text).warnings if "nioc" in warning]
    assert told == "small.yaml:8: network.prod.nioc.system.nfs has no effect: nothing sends nfs traffic"


def test_a_standby_adapter_without_a_link_that_is_down_warns(tmp_path: Path) -> None:
    text = network("prod: {uplinks: vmnic0, standby: vmnic1}", "web: {uplinks: vmnic0, port_group_of: prod}")
    told = load_text(tmp_path, *text).warnings
    assert "small.yaml:8: network.prod.standby = 'vmnic1' has no effect: no link is down" in told
