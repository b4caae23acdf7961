"""Resource pools and CPU admission control: the documented examples, and faults of pools."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.scenario.load import load

HOST = """
scenario: admission
question: Is it powered on?
platform: {platform}
hardware:
  hardware: small
  cpu: {{model: small, family: sandy-bridge, sockets: 1, cores: 4, clock: 2 GHz}}
  nics: {{vmnic0: {{model: X550}}}}
network: {{vSwitch0: {{uplinks: [vmnic0]}}}}
{rest}
traffic: {{load: {{kind: work, to: {first}, rate: 1 /s, service: {{mean: 1 ms}}}}}}
run: {{length: 1 s, replications: 1}}
"""


def vms(**groups: str) -> str:
    lines = [f"  {name}: {{guest: linux5, networks: [], {keys}}}" for name, keys in groups.items()]
    return "vms:\n" + "\n".join(lines) + "\n"


def faults(tmp_path: Path, rest: str, first: str, platform: str = "esxi-7.0") -> list[str]:
    """What loading says."""
    file = tmp_path / "admission.yaml"
    file.write_text(HOST.format(rest=rest, first=first, platform=platform))
    try:
        load(file)
    except InputError as error:
        return [str(fault) for fault in error.faults]
    return []


MOM = """resource_pools:
  RP-MOM: {reservation: 6 GHz, expandable: false}
  RP-KID: {parent: RP-MOM, reservation: 2 GHz, expandable: %s}
"""


def reserves(ghz: int, pool: str = "Resources") -> str:
    return f"resource_pool: {pool}, vmx: {{sched.cpu.min: {ghz}000}}"


def test_an_expandable_pool_borrows_from_its_parent(tmp_path):
    """VM-M1 with 1 GHz, VM-K1 and VM-K2 with 2 GHz each are powered on (vSphere Resource Management, "Expandable Reservations Example 2")."""
    groups = vms(m1=reserves(1, "RP-MOM"), k=reserves(2, "RP-KID") + ", count: 2")
    assert faults(tmp_path, MOM % "true" + groups, "m1") == []


def test_it_is_refused_what_its_parent_has_reserved(tmp_path):
    """The same example with 3 GHz in VM-M1 and VM-M2: VM-K1 is powered on, VM-K2 is not, as RP-MOM has 1 GHz left."""
    groups = vms(m1=reserves(1, "RP-MOM"), m2=reserves(2, "RP-MOM"), k=reserves(2, "RP-KID") + ", count: 2")
    [fault] = faults(tmp_path, MOM % "true" + groups, "m1")
    assert 'k[1] is not powered on: "The available CPU resources in the parent resource pool are insufficient' in fault
    assert "requested 2000 MHz, unreserved 1000 MHz" in fault


@pytest.mark.parametrize(("outside", "is_refused"), [(3, False), (4, True)])
def test_a_pool_borrows_only_what_it_lacks(tmp_path, outside, is_refused):
    """RP-KID has 2 GHz: VMs of 1 GHz and 2 GHz need 1 GHz of RP-MOM's 4 GHz, of which others have 3 or 4."""
    kids = "count: 1, " + reserves(1, "RP-KID")
    groups = vms(k1=kids, m=reserves(outside, "RP-MOM"), k2=reserves(2, "RP-KID"))
    assert bool(faults(tmp_path, MOM % "true" + groups, "m")) == is_refused


def test_a_fixed_pool_borrows_nothing(tmp_path):
    groups = vms(k=reserves(2, "RP-KID") + ", count: 2")
    [fault] = faults(tmp_path, MOM % "false" + groups, "k")
    assert "k[1] is not powered on" in fault
    assert "unreserved 0 MHz" in fault


def test_a_host_reserves_no_more_than_its_cores(tmp_path):
    """Four cores of 2 GHz: eight VMs of 1 GHz, not nine."""
    assert faults(tmp_path, vms(a=reserves(1) + ", count: 8"), "a") == []
    [fault] = faults(tmp_path, vms(a=reserves(1) + ", count: 9"), "a")
    assert (
        'a[8] is not powered on: "The host does not have sufficient CPU resources to satisfy the reservation."' in fault
    )
    assert "vms.a.vmx.sched.cpu.min" in fault


def test_a_pool_is_not_made_beyond_its_parent(tmp_path):
    pools = "resource_pools:\n  p: {reservation: 9 GHz}\n"
    [fault] = faults(tmp_path, pools + vms(a="resource_pool: p"), "a")
    assert "is not made" in fault
    assert "requested 9000 MHz, unreserved 8000 MHz" in fault


def test_reservations_in_a_pool_stay_below_its_limit(tmp_path):
    pools = "resource_pools:\n  p: {limit: 2 GHz}\n"
    assert faults(tmp_path, pools + vms(a=reserves(2, "p")), "a") == []
    [fault] = faults(tmp_path, pools + vms(a=reserves(3, "p")), "a")
    assert "unreserved 2000 MHz" in fault


@pytest.mark.parametrize(("vcpus", "reserved", "is_refused"), [(2, 4000, False), (2, 3999, True), (1, 2000, False)])
def test_high_latency_sensitivity_demands_the_full_reservation(tmp_path, vcpus, reserved, is_refused):
    """By vSphere 8.0, "Full CPU Reservation": numVcpus x cpuFrequency."""
    keys = f"vcpus: {vcpus}, vmx: {{sched.cpu.latencySensitivity: high, sched.cpu.min: {reserved}}}"
    found = faults(tmp_path, vms(a=keys), "a")
    assert bool(found) == is_refused
    if is_refused:
        assert "the full CPU reservation" in found[0]
        assert "4000 MHz" in found[0]


def test_high_latency_sensitivity_reserves_without_a_value(tmp_path):
    """Three vCPUs have three cores; with the fourth reserved for others there is no capacity for 3 GHz of them."""
    sensitive = "vcpus: 3, vmx: {sched.cpu.latencySensitivity: high}"
    assert faults(tmp_path, vms(a=sensitive, b=reserves(2)), "a") == []
    [fault] = faults(tmp_path, vms(a=sensitive, b=reserves(3)), "a")
    assert "b[0] is not powered on" in fault


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ("p: {parent: q}", "unknown resource pool"),
        ("p: {limit: 1 GHz, reservation: 2 GHz}", "is below the reservation"),
        ("p: {parent: q}\n  q: {parent: p}", "puts the pool in itself"),
        ("p: {shares: many}", "is not a number of shares"),
        ("p: {limit: 0 MHz}", "is a CPU limit below 1 MHz"),
        ("p: {reservation: 3}", "has no unit"),
        ("p: {}\n  Resources: {}", "root resource pool"),
    ],
)
def test_faults_of_pools(tmp_path, pools, message):
    found = faults(tmp_path, f"resource_pools:\n  {pools}\n" + vms(a="resource_pool: p"), "a")
    assert found
    assert message in found[0]


def test_an_unknown_pool_of_a_group_is_told_with_the_nearest(tmp_path):
    [fault] = faults(tmp_path, "resource_pools:\n  gold: {}\n" + vms(a="resource_pool: godl"), "a")
    assert "unknown resource pool" in fault
    assert "'gold'" in fault


def test_a_native_host_has_no_pools(tmp_path):
    pools = "resource_pools:\n  p: {}\n"
    found = faults(tmp_path, pools + vms(a="resource_pool: p").replace("[]", "[vSwitch0]"), "a", platform="native")
    assert any("is a feature of a hypervisor" in fault for fault in found)
