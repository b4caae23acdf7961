"""DirectPath I/O: incompatible features and impossible devices are refused by name; valid cases are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.scenario.scenario import Scenario
from tests.scenario.changed_text import load_changed

TEXT = """\
scenario: direct
question: What goes together?
platform: esxi-4.1
hardware: xeon-e5520
network: {vSwitch0: {uplinks: vmnic1}}
vms:
  direct: {count: 1, guest: sles11, networks: [], vmx: {pciPassthru0.present: "TRUE", pciPassthru0.id: vmnic0, memSize: 2048, sched.mem.min: 2048}}
  other: {count: 1, guest: sles11, networks: vSwitch0}
traffic:
  stream: {kind: udp_stream, to: direct, direction: receive, packet_size: 200 B, rate: 5 kpps}
"""


pytestmark = pytest.mark.usefixtures("inside")


def load_text(folder: Path, *changes: tuple[str, str]) -> Scenario:
    return load_changed(folder / "direct.yaml", TEXT, *changes)


OTHER = "other: {count: 1, guest: sles11, networks: vSwitch0"
SHARING = "DirectPath I/O is incompatible with NIC sharing"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "uplinks: vmnic1", "uplinks: [vmnic0, vmnic1]",
            f"direct.yaml:7: vms.direct.vmx.pciPassthru0.id: is an uplink of vSwitch0; {SHARING}; given 'vmnic0'; "
            "allowed: a NIC that nothing else uses",
            id="NIC of a switch",
        ),
        pytest.param(
            "direct: {count: 1", "direct: {count: 2",
            f"direct.yaml:7: vms.direct.count: VMs would have vmnic0; {SHARING}; given 2; allowed: an integer 0..1",
            id="NIC of two VMs of a group",
        ),
        pytest.param(
            OTHER, OTHER + ', vmx: {pciPassthru1.present: "TRUE", pciPassthru1.id: vmnic0, sched.mem.min: 1024}',
            f"direct.yaml:8: vms.other.vmx.pciPassthru1.id: is already passed through to direct; {SHARING}; given 'vmnic0'; "
            "allowed: a NIC that is not in use",
            id="NIC of two groups",
        ),
        pytest.param(
            "sched.mem.min: 2048", "sched.mem.min: 1024",
            "direct.yaml:7: vms.direct.vmx.sched.mem.min: leaves memory of the VM unreserved; "
            "DirectPath I/O is incompatible with memory overcommit; given 1024; allowed: as much as memSize",
            id="memory overcommit",
        ),
        pytest.param(
            "networks: []", "networks: [], uses: [vMotion]",
            "direct.yaml:7: vms.direct.uses: asks for vMotion; DirectPath I/O is incompatible with vMotion; given ['vMotion']; "
            "allowed: no value, for a VM with a passed-through NIC",
            id="vMotion",
        ),
        pytest.param(
            "networks: []", "networks: [], uses: [Network I/O Control]",
            "direct.yaml:7: vms.direct.uses: asks for Network I/O Control; DirectPath I/O is incompatible with Network I/O Control; "
            "given ['Network I/O Control']; allowed: no value, for a VM with a passed-through NIC",
            id="Network I/O Control",
        ),
        pytest.param(
            "id: vmnic0", "id: vmnic2",
            "direct.yaml:7: vms.direct.vmx.pciPassthru0.id: unknown physical NIC; given 'vmnic2'; allowed: one of vmnic0, vmnic1; "
            "did you mean 'vmnic1'?",
            id="NIC that is not there",
        ),
        pytest.param(
            "pciPassthru0.id: vmnic0, ", "",
            "direct.yaml:7: vms.direct.vmx.pciPassthru0.id: names no NIC to pass through; given nothing; allowed: the name of a physical NIC",
            id="no NIC",
        ),
        pytest.param(
            "sched.mem.min: 2048", "sched.mem.min: 4096",
            "direct.yaml:7: vms.direct.vmx.sched.mem.min: is more than the memory of the VM; given 4096; allowed: an integer 0..2048 MB",
            id="more memory than there is",
        ),
        pytest.param(
            "rate: 5 kpps", "rate: 5 kpps, vnic: 1",
            "direct.yaml:10: traffic.stream.vnic: is not a vNIC of direct; given 1; allowed: 0",
            id="traffic through a NIC that is not there",
        ),
        pytest.param(
            "rate: 5 kpps", "rate: 5 kpps, interval: 1 ms",
            "direct.yaml:10: traffic.stream: needs exactly one pace; allowed: one of rate, interval",
            id="two paces",
        ),
        pytest.param(
            "packet_size: 200 B", "packet_size: 2000 B",
            "direct.yaml:10: traffic.stream.packet_size: does not fit in a frame; given '2000 B'; "
            "allowed: at most 1472 B: one frame at an MTU of 1500",
            id="datagram longer than a frame",
        ),
        pytest.param(
            "rate: 5 kpps", "interval: 1 us, burst: 6",
            "direct.yaml:10: traffic.stream.interval: is more than the wire carries; given '1 us'; "
            "allowed: below 4699248 pps, the rate that vmnic0 has left for frames of 266 B",
            id="more than the wire carries",
        ),
    ],
)  # fmt: skip
def test_nonsense_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """File, line, path, given value, allowed values, and nothing else."""
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, (old, new))
    assert str(caught.value).splitlines() == [expected]


def test_what_goes_is_accepted(tmp_path: Path) -> None:
    """The unchanged scenario; and features of another VM, whose warnings say that they are not simulated."""
    assert load_text(tmp_path).warnings == ()
    told = load_text(tmp_path, (OTHER, OTHER + ", uses: [vMotion]")).warnings
    assert told == ("vms.other: vMotion is not modelled",)


def test_a_group_without_vms_asks_for_nothing(tmp_path: Path) -> None:
    """A sweep may thus introduce the group."""
    changes = (("direct: {count: 1", "direct: {count: 0"), ("uplinks: vmnic1", "uplinks: [vmnic0, vmnic1]"))
    load_text(tmp_path, *changes)


def test_a_stream_of_multicast_needs_a_vnic(tmp_path: Path) -> None:
    """A group whose VMs have none cannot receive it."""
    stream = "traffic:\n  many: {kind: multicast, to: direct, packet_size: 200 B, rate: 5 kpps}"
    with pytest.raises(InputError, match="has no vNIC"):
        load_text(tmp_path, ("traffic:", stream))
