"""SR-IOV: number of functions, other uses of their port, and incompatible features."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.config.platform import FunctionSettings
from hostsim.errors import InputError
from hostsim.scenario.scenario import Scenario
from hostsim.units import SECOND
from tests.scenario.changed_text import load_changed

TEXT = """\
scenario: functions
question: What goes together?
platform: esxi-7.0
hardware:
  hardware: own
  cpu: {model: x, family: skylake-sp, sockets: 1, cores: 16, clock: 2 GHz, memory: {latency: 90 ns, hop: 50 ns, channels: 6, transfers: 2.6e9 /s}}
  nics:
    vmnic0: {model: X710}
    vmnic1: {model: ConnectX-5}
host: {nics: {vmnic0: {max_vfs: 4}}}
network: {vSwitch0: {uplinks: vmnic0}}
vms:
  part: {count: 2, vcpus: 2, guest: rhel8, networks: [], vmx: {pciPassthru0.present: "TRUE", pciPassthru0.pfId: vmnic0, memSize: 2048, sched.mem.min: 2048}}
  other: {count: 1, guest: rhel8, networks: vSwitch0}
traffic:
  stream: {kind: udp_stream, to: part, direction: receive, packet_size: 200 B, rate: 5 kpps}
"""


pytestmark = pytest.mark.usefixtures("inside")


def load_text(folder: Path, *changes: tuple[str, str]) -> Scenario:
    return load_changed(folder / "functions.yaml", TEXT, *changes)


def test_each_vm_of_a_group_has_a_function_with_the_queues_of_its_model(tmp_path: Path) -> None:
    """On a port that is also an uplink, without any warning."""
    scenario = load_text(tmp_path)
    assert scenario.warnings == ()
    spec, _ = scenario.spec({}, SECOND)
    assert spec.vms[0].settings.passthrough == (FunctionSettings(nic="vmnic0", queues=4),)


HERE = "functions.yaml:13: vms.part.vmx.pciPassthru0.pfId: "


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "count: 2", "count: 5",
            HERE + "has 4 virtual functions, and VMs ask for 5; given 'vmnic0'; allowed: host.nics.vmnic0.max_vfs: an integer 5..32",
            id="more VMs than functions",
        ),
        pytest.param(
            "{nics: {vmnic0: {max_vfs: 4}}}", "{}",
            HERE + "has 0 virtual functions, and VMs ask for 2; given 'vmnic0'; allowed: host.nics.vmnic0.max_vfs: an integer 2..32",
            id="SR-IOV is off",
        ),
        pytest.param(
            "max_vfs: 4", "max_vfs: 33",
            "functions.yaml:10: host.nics.vmnic0.max_vfs: is more virtual functions than its model has; given 33; allowed: an integer 0..32",
            id="more than the model has",
        ),
        pytest.param(
            "pfId: vmnic0", "pfId: vmnic1",
            HERE + "has 0 virtual functions, and VMs ask for 2; given 'vmnic1'; allowed: a NIC whose model has functions; "
            "the number of vmnic1 is unknown",
            id="model without a number",
        ),
        pytest.param(
            "pfId: vmnic0", "pfId: vmnic2",
            HERE + "unknown physical NIC; given 'vmnic2'; allowed: one of vmnic0, vmnic1; did you mean 'vmnic1'?",
            id="NIC that is not there",
        ),
        pytest.param(
            "pfId: vmnic0", "pfId: vmnic0, pciPassthru0.id: vmnic1",
            "functions.yaml:13: vms.part.vmx.pciPassthru0.id: names a whole NIC beside pciPassthru0.pfId, which makes this a function "
            "of a NIC; given 'vmnic1'; allowed: nothing, or no pciPassthru0.pfId",
            id="whole and part",
        ),
        pytest.param(
            "sched.mem.min: 2048", "sched.mem.min: 1024",
            "functions.yaml:13: vms.part.vmx.sched.mem.min: leaves memory of the VM unreserved; SR-IOV is incompatible with memory overcommit; "
            "given 1024; allowed: as much as memSize",
            id="memory overcommit",
        ),
        pytest.param(
            "networks: []", "networks: [], uses: [Fault Tolerance]",
            "functions.yaml:13: vms.part.uses: asks for Fault Tolerance; SR-IOV is incompatible with Fault Tolerance; given ['Fault Tolerance']; "
            "allowed: no value, for a VM with a passed-through NIC",
            id="Fault Tolerance",
        ),
        pytest.param(
            "max_vfs: 4", "max_vfs: 4, mtu: 9000",
            "functions.yaml:10: host.nics.vmnic0.mtu: is more than that of the port, which is an uplink of vSwitch0; given 9000; allowed: at most 1500",
            id="frames longer than those of the port",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """File, line, path, given value, allowed values, and nothing else."""
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, (old, new))
    assert str(caught.value).splitlines() == [expected]


OLD = (
    ("    vmnic0: {model: X710}", "    vmnic0: {model: 82599}"),
    ("    vmnic1: {model: ConnectX-5}", "    vmnic1: {model: X550}"),
)
GUEST = (
    ("guest: rhel8, networks: []", "guest: rhel6, networks: []"),
    ("guest: rhel8, networks: vSwitch0", "guest: rhel6, networks: vSwitch0"),
)


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("esxi-5.0", "asks for SR-IOV, which esxi-5.0 does not have"),
        ("esxi-5.1", "is an uplink of vSwitch0; on esxi-5.1 a port with functions is hidden from switches"),
        ("esxi-5.5", ""),
    ],
)
def test_a_release_has_the_rules_of_its_documentation(tmp_path: Path, platform: str, expected: str) -> None:
    """New in 5.1, where a port with functions is a hidden uplink; from 5.5 on it may be an uplink."""
    changes = [("esxi-7.0", platform), *OLD, *GUEST]
    if platform == "esxi-5.0":
        changes.append(("{nics: {vmnic0: {max_vfs: 4}}}", "{}"))
    if not expected:
        assert load_text(tmp_path, *changes).warnings == ()
        return
    with pytest.raises(InputError, match=expected):
        load_text(tmp_path, *changes)


def test_a_host_of_the_time_has_vectors_for_43_functions(tmp_path: Path) -> None:
    """128 interrupt vectors, three for each, on 5.5; 6.0 and later have more."""
    many = [("max_vfs: 4", "max_vfs: 63"), ("count: 2", "count: 44"), ("vcpus: 2", "vcpus: 1"), *OLD, *GUEST]
    with pytest.raises(InputError, match="virtual function 44 of the host, which has interrupt vectors for 43"):
        load_text(tmp_path, ("esxi-7.0", "esxi-5.5"), *many)
    load_text(tmp_path, ("esxi-7.0", "esxi-6.0"), *many)


def test_functions_that_no_vm_has_are_told(tmp_path: Path) -> None:
    """The option has an effect through the VMs that name the port."""
    (told,) = load_text(
        tmp_path,
        ("max_vfs: 4", "max_vfs: 4}, vmnic1: {mtu: 1500"),
        ("pfId: vmnic0, ", "pfId: vmnic0, "),
        ("count: 2", "count: 0"),
        ("to: part", "to: other"),
    ).warnings
    assert told.endswith(
        "host.nics.vmnic0.max_vfs = 4 has no effect: no VM uses a virtual function of vmnic0 (pciPassthruX.pfId)"
    )


SWITCHED = (
    ("part: {count: 2,", "part: {count: 1,"),
    ("  other: {", '  peer: {count: 1, vcpus: 2, guest: rhel8, networks: [], vmx: {pciPassthru0.present: "TRUE", pciPassthru0.pfId: vmnic0, memSize: 2048, sched.mem.min: 2048}}\n  other: {'),
    ("traffic:\n", "traffic:\n  local: {kind: vm_tcp_stream, sender: part, to: peer, window: 64 KiB}\n"),
)  # fmt: skip
"""A stream between two functions of one port."""
TO_VNIC = ("to: peer", "to: other")


def test_the_switch_of_a_nic_reaches_functions_of_its_port_and_vnics_behind_it(tmp_path: Path) -> None:
    """Between two functions, and from a function to a vNIC."""
    assert load_text(tmp_path, *SWITCHED).warnings == ()
    assert load_text(tmp_path, *SWITCHED, TO_VNIC).warnings == ()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("window", "vnic: 1, window")], "vnic: is not a vNIC or a virtual function of part; given 1; allowed: 0"),
        ([("pfId: vmnic0, memSize: 2048, sched.mem.min: 2048}}\n  other", "id: vmnic1, memSize: 2048, sched.mem.min: 2048}}\n  other")],
         "to_vnic: is a whole NIC that is passed through to peer: no switch on the host forwards its frames; given 0; allowed: a vNIC, or a virtual function"),
        ([("to: peer", "to: other, to_vnic: 1")], "to_vnic: is not a vNIC of other; given 1; allowed: 0"),
        ([TO_VNIC, ("uplinks: vmnic0", "uplinks: vmnic0, vlan: 7")], "to_vnic: is on vSwitch0 with this vNIC, in VLAN 7; virtual functions are not in one; given 0 of other"),
        ([TO_VNIC, ("uplinks: vmnic0", "uplinks: [vmnic0, vmnic1]")], "to_vnic: is on vSwitch0 with this vNIC, and not all ports of the network use vmnic0; given 0 of other"),
        ([TO_VNIC, ("uplinks: vmnic0", "uplinks: vmnic0, mtu: 9000")], "to: has an MTU of 1500 at one end and of 9000 at the other"),
        ([("max_vfs: 4", "max_vfs: 4, mtu: 9000"), ("uplinks: vmnic0", "uplinks: vmnic0, mtu: 9000"), ("window: 64 KiB", "window: 4 KiB")], "window: is smaller than a segment; given '4 KiB'; allowed: at least 8948 B"),
        ([("vm_tcp_stream, sender: part", "vm_datagrams, packet_size: 1 kB, sent_by: poll, sender: part"), (", window: 64 KiB", "")],
         "sent_by: is modelled between vNICs only, and one end is a virtual function"),
        ([("model: X710}", "model: X710, pcie: null}")], "kind: goes through vmnic0, whose slot limits the rate and is unknown"),
    ],
)  # fmt: skip
def test_what_the_switch_of_a_nic_does_not_do_is_refused(
    tmp_path: Path, changes: list[tuple[str, str]], expected: str
) -> None:
    """The error lists what it does."""
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, *SWITCHED, *changes)
    assert expected in str(caught.value)
