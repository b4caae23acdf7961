"""A native host: a scenario of one VM becomes native by its platform; hypervisor features are refused with the allowed values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.scenario.plan import point_at
from hostsim.scenario.scenario import Scenario
from tests.scenario.changed_text import load_changed

TEXT = """\
scenario: alone
question: What does a hypervisor cost?
platform: esxi-6.0
hardware: dell-r810
network:
  net: {uplinks: vmnic0, mtu: 9000}
vms:
  server: {count: 1, vcpus: 4, guest: rhel6, networks: net}
traffic:
  stream: {kind: tcp_stream, to: server, direction: receive, window: 64 KiB}
sweep:
  platform: {set: platform, values: [esxi-6.0, native]}
"""
EEVDF = Path(__file__).parents[3] / "docs" / "examples" / "eevdf.py"
NOTHING = "allowed: no value: the platform has no hypervisor"
SERVER = "server: {count: 1, vcpus: 4, guest: rhel6, networks: net"


pytestmark = pytest.mark.usefixtures("inside")


def load_text(*changes: tuple[str, str], plugins: Sequence[Path] = ()) -> Scenario:
    return load_changed(Path("alone.yaml"), TEXT, *changes, plugins=plugins)


@pytest.mark.parametrize("name", ["kernel", "vmx", "advanced"])
def test_a_group_that_is_called_like_a_section_of_settings_can_be_swept(name: str) -> None:
    """Its keys are a group's."""
    scenario = load_text(
        ("server: {", f"{name}: {{"),
        ("to: server", f"to: {name}"),
        ("set: platform, values: [esxi-6.0, native]", f"set: vms.{name}.vcpus, values: [1, 2]"),
    )
    assert point_at(scenario, {"platform": 2}).spec.vms[0].vcpus == 2


def test_the_platform_alone_takes_the_hypervisor_away() -> None:
    """The same hardware, guest and traffic: the VM's network is the kernel's NIC with its MTU, and there are no vNICs."""
    scenario = load_text()
    esxi, native = (point_at(scenario, {"platform": name}).spec for name in ("esxi-6.0", "native"))
    assert (esxi.hypervisor, native.hypervisor) == (True, False)
    assert (esxi.hardware, esxi.traffic, esxi.vms[0].guest) == (native.hardware, native.traffic, native.vms[0].guest)
    settings = native.vms[0].settings
    assert [(entry.nic, entry.mtu) for entry in settings.passthrough] == [("vmnic0", 9000)]
    assert (settings.vnics, native.vms[0].networks, native.vswitches) == ((), (), {})
    assert scenario.warnings == ()


def test_costs_of_the_kernel_are_those_of_a_guest_but_for_exits() -> None:
    """Costs that are exits, or include exits, differ; all others are equal."""
    scenario = load_text()
    esxi, native = (point_at(scenario, {"platform": name}).spec.costs for name in ("esxi-6.0", "native"))
    others = {name for name in type(esxi).model_fields if getattr(esxi, name) != getattr(native, name)}
    assert others == {"interrupt", "vcpu_wake", "virtual_interrupt", "guest_ipi", "guest_timer_tick"}
    assert all(getattr(native, name).ps(1e9) < getattr(esxi, name).ps(1e9) for name in others)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            SERVER, SERVER.replace("count: 1", "count: 2"),
            "alone.yaml:8: vms.server.count: is more than one: a native host runs one kernel; given 2; allowed: an integer 0..1",
            id="several VMs",
        ),
        pytest.param(
            "traffic:", "  other: {count: 1, guest: rhel6, networks: []}\ntraffic:",
            "alone.yaml:9: vms.other.count: are in addition to server, which is the machine: a native host runs one kernel; given 1; allowed: 0",
            id="several groups",
        ),
        pytest.param(
            "network:", "host: {advanced: {Net.CoalesceScheme: disabled}}\nnetwork:",
            f"alone.yaml:5: host.advanced.Net.CoalesceScheme: is a setting of a hypervisor; given 'disabled'; {NOTHING}",
            id="advanced setting",
        ),
        pytest.param(
            "network:", "host: {kernel: {netNetqueueEnabled: 'FALSE'}}\nnetwork:",
            f"alone.yaml:5: host.kernel.netNetqueueEnabled: is a setting of a hypervisor; given 'FALSE'; {NOTHING}",
            id="VMkernel setting",
        ),
        pytest.param(
            SERVER, SERVER + ", vmx: {sched.cpu.latencySensitivity: high}",
            f"alone.yaml:8: vms.server.vmx.sched.cpu.latencySensitivity: is a setting of a hypervisor; given 'high'; {NOTHING}",
            id="latency sensitivity",
        ),
        pytest.param(
            SERVER, SERVER + ", vmx: {ethernet0.virtualDev: e1000}",
            f"alone.yaml:8: vms.server.vmx.ethernet0.virtualDev: is a setting of a hypervisor; given 'e1000'; {NOTHING}",
            id="vNIC",
        ),
        pytest.param(
            SERVER, SERVER + ", rx_ring: 512",
            "alone.yaml:8: vms.server.rx_ring: applies to vNICs only; given 512; allowed: no value: the hardware file defines the rings of a NIC",
            id="ring of a vNIC",
        ),
        pytest.param(
            SERVER, SERVER + ", uses: [vMotion]",
            f"alone.yaml:8: vms.server.uses: asks for vMotion, a feature of a hypervisor; given ['vMotion']; {NOTHING}",
            id="vMotion",
        ),
        pytest.param(
            SERVER, SERVER.replace("networks: net", "networks: [net, net]"),
            "alone.yaml:8: vms.server.networks: names a network twice; given ['net', 'net']; allowed: each network once, as it stands for one NIC of the kernel",
            id="one NIC twice",
        ),
        pytest.param(
            SERVER, SERVER.replace("vcpus: 4", "vcpus: 9") + ", vmx: {numa.nodeAffinity: '1'}",
            "alone.yaml:8: vms.server.vcpus: is more processors than numa.nodeAffinity leaves to the kernel; given 9; allowed: an integer 1..8",
            id="processors of a node",
        ),
        pytest.param(
            "mtu: 9000", "vxlan: true",
            "alone.yaml:6: network.net.vxlan: is not known to this platform; given true; allowed: false",
            id="tunnel",
        ),
    ],
)  # fmt: skip
def test_what_only_a_hypervisor_has_is_refused(old: str, new: str, expected: str) -> None:
    """Each by name and line if the platform is native; elsewhere it is an ordinary setting."""
    with pytest.raises(InputError) as caught:
        load_text((old, new))
    assert [str(fault) for fault in caught.value.faults] == [expected]


def test_teaming_and_rings_of_netqueue_are_refused() -> None:
    """A switch with two uplinks is more than the name of a NIC; and a kernel has one queue per processor."""
    with pytest.raises(InputError) as caught:
        load_text(
            ("uplinks: vmnic0", "uplinks: [vmnic0, vmnic1]"),
            ("dell-r810", "dell-r720\nhost: {nics: {vmnic0: {rss_rings: 2}}}"),
        )
    assert [(fault.path, fault.message) for fault in caught.value.faults] == [
        (
            "host.nics.vmnic0.rss_rings",
            "is a setting of NetQueue; a native kernel has a queue for each processor if the NIC has RSS",
        ),
        (
            "network.net.uplinks",
            "has several NICs; teaming needs a hypervisor, and bonding by a kernel is not modelled",
        ),
    ]


def test_a_policy_of_ones_own_is_refused() -> None:
    """There is no VMkernel to use it; the name of the shipped policy is only a default."""
    platform = ("platform: esxi-6.0", "platform: native")
    load_text(platform, ("network:", "policies: {scheduler: proportional_share}\nnetwork:"))
    with pytest.raises(InputError, match=r"policies\.scheduler: is a policy of a hypervisor; given 'eevdf'"):
        load_text(platform, ("network:", "policies: {scheduler: eevdf}\nnetwork:"), plugins=[EEVDF])


def test_a_setting_at_its_default_is_no_setting() -> None:
    """So a sweep over platforms may set another value for ESXi; and a kernel can be bound to nodes, as with numactl."""
    scenario = load_text(
        (SERVER, SERVER + ", vmx: {ethernet0.virtualDev: vmxnet3, numa.nodeAffinity: '1'}"),
        ("sweep:", "host: {advanced: {Net.CoalesceScheme: rbc}}\nsweep:"),
    )
    assert point_at(scenario, {"platform": "native"}).spec.vms[0].settings.nodes == (1,)


def test_it_has_no_settings_to_show() -> None:
    """Defaults of a hypervisor are not effective settings of a native host."""
    names = {setting.name for setting in load_text(("platform: esxi-6.0", "platform: native")).settings}
    assert not any(name.startswith(("host.advanced", "vms.server.vmx")) for name in names)
    assert "network.net.mtu" in names
