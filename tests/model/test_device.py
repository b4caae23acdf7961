"""Guest devices: each kind's behaviour behind the interface that the host uses for all kinds."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from hostsim.config.platform import VNICS, FunctionSettings, PassthroughSettings
from hostsim.engine.random_stream import Streams
from hostsim.model.build import DEVICES, build_host
from hostsim.model.host import Host
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import shipped_parts
from hostsim.units import MS
from tests.model.small_point import ROUND, datagrams, group, nic, point, run, vnic

NS = 1000
COSTS = ROUND | {"e1000_interrupt": 640, "e1000_doorbell": 320}
PAIR = (vnic(tx_context="queue"), vnic(device="e1000", tx_context="vm"))


def host_with_all() -> Host:
    """A VM with a vmxnet3, an e1000, a passed-through NIC without TSO on the second node, and a virtual function of the uplink."""
    vm = group(vcpus=2, networks=("vSwitch0",) * 2, vnics=PAIR, passthrough=("vmnic1",), functions=("vmnic0",))
    nics = {"vmnic0": nic(), "vmnic1": nic(node=1, tso=False)}
    return build_host(point(vm, traffic={"s": datagrams("receive")}, nics=nics, sockets=2, cost=COSTS), Streams(1, 0))


def test_each_kind_that_the_spec_names_can_be_built() -> None:
    """No other kind can be built, and a platform has no other emulated device."""
    parts = (PassthroughSettings, FunctionSettings)
    named = [kind for part in parts for kind in get_args(part.model_fields["device"].annotation)]
    assert list(DEVICES) == [*VNICS, *named]
    for name in shipped_parts("platforms"):
        platform = Parts(Path()).platform(name, ("platform",)).spec
        assert platform is not None
        if platform.hypervisor:
            assert platform.vmx["ethernetX.virtualDev"].choices == tuple(VNICS)


def test_each_kind_answers_for_itself() -> None:
    """Devices are in the order of their numbers; passed-through devices are on no switch, and a function's port has other users."""
    (vm,) = host_with_all().vms
    assert [type(device) for device in vm.devices] == list(DEVICES.values())
    assert [device.switch for device in vm.devices] == ["vSwitch0", "vSwitch0", "", ""]
    assert vm.devices[3].nic is vm.devices[0].nic
    assert [device.lro for device in vm.devices] == [True, False, True, True]
    assert [device.tso for device in vm.devices] == [True, True, False, True]
    assert [len(device.rings) for device in vm.devices] == [0, 0, 1, 1]


def test_accesses_to_registers_are_charged_by_device() -> None:
    """An e1000's queue belongs to the guest, a passed-through NIC's interrupt to its PCPU; a vmxnet3 has none."""
    (vm,) = host_with_all().vms
    queues = [(device.ports[0].vnic, device.transmits[0]) for device in vm.devices]
    assert [receive.interrupt_ps // NS for receive, _ in queues] == [0, 640, 300, 300]
    assert [(receive.doorbell_ps // NS, send.doorbell_ps // NS) for receive, send in queues] == [
        (0, 0),
        (320, 320),
        (0, 0),
        (0, 0),
    ]


def test_only_vnics_have_transmit_contexts() -> None:
    """The VM's own context comes first, for every vNIC."""
    (vm,) = host_with_all().vms
    assert [world.name for world in vm.worlds] == ["vm[0].NetWorld", "vm[0].NetWorld-eth0-0"]


def test_dense_mode_leaves_a_passed_through_nic_alone() -> None:
    """Contexts of vNICs become patient, and impatient again."""
    host = host_with_all()
    usual = [queue._coalescing.timeout for queue in host.transmits]
    patient = [8 * MS] * len(host.vms[0].group.networks)
    assert usual != patient
    for dense, timeouts in ((True, patient), (False, usual)):
        for device in host.vms[0].devices:
            device.follow_dense_mode(0, dense=dense, tx_timeout=8 * MS)
        assert [queue._coalescing.timeout for queue in host.transmits] == timeouts


@pytest.mark.parametrize("number", [0, 1])
def test_numa_io_goes_by_vnics(number: int) -> None:
    """Ten frames through the vNIC attract the VM to its uplink's node; through a passed-through NIC they do not count."""
    vm = group(passthrough=("vmnic1",))
    nics = {"vmnic0": nic(), "vmnic1": nic(node=1)}
    host = run(point(vm, traffic={"s": datagrams("receive", vnic=number)}, nics=nics, sockets=2), 10 * MS)
    (made,) = host.vms
    assert host.flows[0].delivered == 10
    assert made.frames() == 10 * (number == 0)
    assert [made.near(place) for place in host.scheduler.nodes] == [True, False]
