"""Policies of virtual switches: documented refusals have line, value and allowed values; unused policies change no hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.scenario.plan import point_at
from tests.scenario.changed_text import faults_of
from tests.scenario.small_receiver import TEXT, load_text

SWITCH = "vSwitch0: {uplinks: [vmnic0], mtu: 9000"
SYSTEM = SWITCH + ", nioc: {system: "
NETPERF = "  netperf: {kind: tcp_stream, to: [big, small], direction: receive, window: 256 KiB}"
LOCAL = (
    (
        "  big: {count: 1, vcpus: 4, guest: rhel6, networks: [vSwitch0, vSwitch1]",
        "  other: {guest: rhel6, networks: vSwitch0}\n  big: {count: 1, vcpus: 4, guest: rhel6, networks: [vSwitch0, vSwitch1]",
    ),
    (NETPERF, NETPERF + "\n  local: {kind: vm_tcp_stream, sender: other, to: big, window: 64 KiB}"),
)


pytestmark = pytest.mark.usefixtures("inside")


def faults(tmp_path: Path, *changes: tuple[str, str]) -> list[str]:
    return faults_of(tmp_path / "small.yaml", TEXT, *changes).splitlines()


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(
            SWITCH + ", shaping: {average: 2 Gbit/s, peak: 1 Gbit/s, burst: 1 MB}",
            "small.yaml:8: network.vSwitch0.shaping: has a peak below its average; allowed: peak: at least average",
            id="peak below average",
        ),
        pytest.param(
            SWITCH + ", shaping: {average: 2 Gbit/s, peak: 3 Gbit/s}",
            "small.yaml:8: network.vSwitch0.shaping.burst: is missing",
            id="no burst size",
        ),
        pytest.param(
            SYSTEM + "{vsan: {reservation: 25 Gbit/s}, nfs: {reservation: 8 Gbit/s}}}",
            "small.yaml:8: network.vSwitch0.nioc.system: reserves more than 75 % of the slowest uplink; given 33 Gbit/s; "
            "allowed: at most 30 Gbit/s together",
            id="more than 75 %",
        ),
        pytest.param(
            SYSTEM + "{vsan: {reservation: 5 Gbit/s, limit: 3 Gbit/s}}}",
            "small.yaml:8: network.vSwitch0.nioc.system.vsan: has a limit below its reservation; "
            "allowed: limit: at least reservation",
            id="limit below reservation",
        ),
        pytest.param(
            SYSTEM + "{storage: {shares: 10}}}",
            "small.yaml:8: network.vSwitch0.nioc.system.storage",
            id="unknown kind of traffic",
        ),
        pytest.param(
            SYSTEM + "{vsan: {shares: 101}}}",
            "small.yaml:8: network.vSwitch0.nioc.system.vsan.shares: is too large; given 101; allowed: an integer 1..100",
            id="too many shares",
        ),
        pytest.param(
            SWITCH + ", nioc: {vms: {bog: {shares: 10}}}",
            "small.yaml:8: network.vSwitch0.nioc.vms.bog: has no vNIC on vSwitch0; given 'bog'; allowed: one of big; did you mean 'big'?",
            id="unknown group",
        ),
        pytest.param(
            SWITCH + ", nioc: {vms: {big: {reservation: 1 Gbit/s}}}",
            "small.yaml:8: network.vSwitch0.nioc.vms.big.reservation: exceeds the reservation of virtual_machine on an uplink: admission control refuses to power the VM on; given 1 Gbit/s; allowed: at most 0 Mbit/s",
            id="reservation without a quota",
        ),
    ],
)
def test_what_cannot_be_allocated_is_refused(new: str, expected: str, tmp_path: Path) -> None:
    assert [fault for fault in faults(tmp_path, (SWITCH, new)) if fault.startswith(expected)]


def test_reservations_of_vms_together_are_within_those_of_all_uplinks(tmp_path: Path) -> None:
    """Two VMs with 2 Gbit/s each, of 3 that virtual machines have on their only uplink."""
    old, new = (
        "vSwitch1: {uplinks: vmnic1, vxlan: true",
        "vSwitch1: {uplinks: vmnic1, vxlan: true, nioc: {system: {virtual_machine: {reservation: 3 Gbit/s}}, vms: ",
    )
    load_text(tmp_path, (old, new + "{small: {reservation: 1.5 Gbit/s}}}"))
    (fault,) = faults(tmp_path, (old, new + "{small: {reservation: 2 Gbit/s}}}"))
    assert fault == (
        "small.yaml:9: network.vSwitch1.nioc.vms: exceed together the reservation of virtual_machine on all uplinks: admission control refuses to power the VMs on; given 4 Gbit/s; allowed: at most 3 Gbit/s together"
    )


def test_version_3_is_unknown_before_esxi_6(tmp_path: Path) -> None:
    nioc = (SWITCH, SWITCH + ", nioc: {}")
    load_text(tmp_path, nioc)
    (fault,) = faults(tmp_path, nioc, ("esxi-6.0", "esxi-5.5"))
    assert fault == (
        "small.yaml:8: network.vSwitch0.nioc: is not known to this platform; allowed: nothing; or ESXi 6.0 or later"
    )


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (", shaping: {average: 2 Gbit/s, peak: 3 Gbit/s, burst: 1 MB}", "traffic shaping"),
        (", nioc: {vms: {other: {limit: 1 Gbit/s}}}", "the limit of Network I/O Control"),
    ],
)
def test_policies_of_a_port_do_not_reach_traffic_within_the_host(policy: str, words: str, tmp_path: Path) -> None:
    """On a real host they would be slowed, so it is refused; shares and reservations concern uplinks."""
    load_text(tmp_path, *LOCAL, (SWITCH, SWITCH + ", nioc: {vms: {other: {shares: 10}}}"))
    (fault,) = faults(tmp_path, *LOCAL, (SWITCH, SWITCH + policy))
    assert fault == (
        f"small.yaml:16: traffic.local.sender: would be limited by {words} on vSwitch0, which is modelled for traffic to uplinks only; "
        "given 'other'; allowed: groups without it; or another switch"
    )


def test_a_policy_counts_in_the_hash_and_its_absence_does_not(tmp_path: Path) -> None:
    """A switch without policies has the same hash as before policies existed: that of three keys."""
    plain = point_at(load_text(tmp_path), {}).spec
    switch = plain.vswitches["vSwitch0"]
    assert switch.model_dump().keys() == {"uplinks", "mtu", "vxlan"}
    shaped = ", shaping: {average: 2 Gbit/s, peak: 3 Gbit/s, burst: 1 MB}"
    others = [point_at(load_text(tmp_path, (SWITCH, SWITCH + more)), {}).spec for more in (shaped, ", nioc: {}")]
    assert len({plain.digest(), *(other.digest() for other in others)}) == 3
