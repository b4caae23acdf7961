"""Virtual functions of a shared port (SR-IOV): their cost, shared resources, and separation."""

from __future__ import annotations

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import UDP_HEADERS, packet_on_wire
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, transmission_ps
from tests.model.small_point import CALM, datagrams, group, nic, point, run, stream

NS = 1000
FRAME = transmission_ps(packet_on_wire(1000 + UDP_HEADERS), 10e9)


def shared(direction: str, *, functions: int = 2, **changes: object) -> PointSpec:
    """A VM with a vNIC, and others with a function of the uplink each; a stream of datagrams through each."""
    vms = [
        group("vnic"),
        *(group(f"vf{place}", networks=(), functions=("vmnic0",), reserved=1.0) for place in range(functions)),
    ]
    flows = {vm.name: datagrams(direction, to=vm.name, **changes) for vm in vms}
    return point(*vms, traffic=flows, cost=CALM)


def used(host: Host) -> dict[str, int]:
    """Time charged to each world in nanoseconds."""
    return {world.name: world.used // NS for world in host.worlds()}


@pytest.mark.parametrize("direction", ["receive", "send"])
def test_a_function_costs_what_a_whole_port_costs(direction: str) -> None:
    """To the nanosecond, for frames that do not meet others on the wire."""
    two = {"vmnic0": nic(), "vmnic1": nic()}
    charged = []
    for how in ("passthrough", "functions"):
        vm = group(networks=(), reserved=1.0, **{how: ("vmnic1",)})
        host = run(point(vm, traffic={"stream": datagrams(direction, vnic=0)}, nics=two, cost=CALM), 10 * MS)
        charged.append(used(host))
    assert charged[0] == charged[1]
    assert sum(charged[0].values()) > 0


def test_frames_reach_the_function_that_they_are_addressed_to() -> None:
    """Three VMs on one port: each reads its own datagrams, and the VMkernel works only for the one with a vNIC."""
    host = run(shared("receive"), 10 * MS)
    assert [flow.delivered for flow in host.flows] == [10, 10, 10]
    names = [queue.name for queue in host.nics["vmnic0"].queues]
    assert names == ["vmnic0-vf0-rx0", "vmnic0-vf1-rx0", "vmnic0-rx2", "vmnic0-rx3"][: len(names)]
    assert [queue.ring.taken for queue in host.nics["vmnic0"].queues][:2] == [10, 10]
    times = used(host)
    assert times["vf0[0].vcpu0"] == times["vf1[0].vcpu0"] > times["vnic[0].vcpu0"] > 0
    # as on a port with exclusive use
    assert times["vf0[0].vcpu0"] == used(run(shared("receive", functions=1), 10 * MS))["vf0[0].vcpu0"]


def test_functions_and_the_uplink_share_one_wire() -> None:
    """Senders that exceed the wire together get all of it, and each gets a part."""
    host = run(shared("send", rate="1 Mpps", burst=20), 20 * MS)
    port = host.nics["vmnic0"]
    port.depart(host.clock.now)
    assert port.tx_wire_ps <= 20 * MS
    assert sum(flow.out for flow in host.flows) * FRAME >= port.tx_wire_ps
    assert all(flow.out for flow in host.flows)


def test_a_full_transmit_queue_of_the_vmkernel_does_not_hold_a_function_back() -> None:
    """The port's queue belongs to the uplink; a function has its own descriptors."""
    spec = shared("send", functions=1, rate="20 kpps", burst=200)
    few = {"vmnic0": nic(tx_queue=64, line_rate="1 Gbit/s", tx_interrupt_delay="10 us")}
    host = run(spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"nics": few})}), 20 * MS)
    vnic, function = host.flows
    assert vnic.lost_out > 0
    assert function.lost_out == 0


def test_no_completion_of_the_vmkernel_interrupts_a_function() -> None:
    """The uplink's transmit queue is announced by a queue of the VMkernel."""
    host = build_host(shared("send"), Streams(1, 0))
    port = host.nics["vmnic0"]
    assert port.vector is not None
    assert port.vector.poll in host.polls
    assert port.vector.name == "vmnic0-rx2"


def test_a_port_without_an_uplink_serves_functions_alone() -> None:
    """It has no context of the VMkernel."""
    vms = [group(f"vf{place}", networks=(), functions=("vmnic1",), reserved=1.0) for place in range(3)]
    flows = {vm.name: datagrams("receive", to=vm.name) for vm in vms}
    host = run(point(*vms, traffic=flows, nics={"vmnic0": nic(), "vmnic1": nic()}, cost=CALM), 10 * MS)
    assert [flow.delivered for flow in host.flows] == [10, 10, 10]
    assert host.nics["vmnic1"].vector is None
    assert all(world.used == 0 for world in host.polls)


def test_a_port_in_sriov_mode_joins_no_frames_for_functions() -> None:
    """LRO of the NIC is off for functions, and on for a whole port."""
    joins = {"vmnic0": nic(), "vmnic1": nic(lro=True, interrupt_interval="100 us")}
    packets = []
    for how in ("passthrough", "functions"):
        vm = group(networks=(), reserved=1.0, **{how: ("vmnic1",)})
        host = run(point(vm, traffic={"tcp": stream("receive", vnic=0)}, nics=joins, cost=CALM), 20 * MS)
        (queue,) = host.nics["vmnic1"].queues
        packets.append(host.flows[0].delivered / queue.ring.taken)
    assert packets[0] > 1
    assert packets[1] == 1


def test_a_function_has_as_many_queues_as_its_nic_gives_it() -> None:
    """At most as many as the VM has vCPUs; one without RSS."""
    for rss, queues in ((True, 3), (False, 1)):
        vm = group(networks=(), functions=("vmnic0",), reserved=1.0, vcpus=3)
        host = build_host(
            point(vm, traffic={"stream": datagrams("receive")}, nics={"vmnic0": nic(rss=rss)}), Streams(1, 0)
        )
        assert len(host.vms[0].devices[0].ports) == queues


@pytest.mark.parametrize("direction", ["receive", "send"])
def test_tcp_goes_through_functions_beside_a_vnic(direction: str) -> None:
    """Streams of all three VMs make progress, and every invariant holds."""
    vms = [
        group("vnic"),
        *(group(f"vf{place}", networks=(), functions=("vmnic0",), reserved=1.0) for place in range(2)),
    ]
    flows = {vm.name: stream(direction, to=vm.name) for vm in vms}
    host = run(point(*vms, traffic=flows, nics={"vmnic0": nic(tx_interrupt_delay="100 us")}, cost=CALM), 30 * MS)
    host.nics["vmnic0"].depart(host.clock.now)
    assert all(flow.octets * 8 / 0.03 > 1e9 for flow in host.flows)


def test_a_port_is_whole_or_in_functions() -> None:
    """The wiring refuses it even if the loader did not check."""
    whole = group("whole", networks=(), passthrough=("vmnic1",))
    part = group("part", networks=(), functions=("vmnic1",))
    two = {"vmnic0": nic(), "vmnic1": nic()}
    flows = {"stream": datagrams("receive", to="part")}
    with pytest.raises(WiringError, match="no function of 'vmnic1' can be passed through: a VM has all of it"):
        build_host(point(whole, part, traffic=flows, nics=two), Streams(1, 0))
    with pytest.raises(WiringError, match="'vmnic1' cannot be passed through: it is in use"):
        build_host(point(part, whole, traffic=flows, nics=two), Streams(1, 0))
    with pytest.raises(WiringError, match="no function of 'vmnic9' can be passed through: it is not a NIC of the host"):
        build_host(
            point(group(networks=(), functions=("vmnic9",)), traffic={"stream": datagrams("receive")}), Streams(1, 0)
        )
