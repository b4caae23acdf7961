"""A NIC that is passed through to a VM: charges, transmission times, and omitted work."""

from __future__ import annotations

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import TCP_HEADERS, UDP_HEADERS, NicOptions, packet_on_wire
from hostsim.config.platform import VnicSettings
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.cpu.pcpu import WorldState
from hostsim.model.host import Host
from hostsim.model.traffic.udp import Datagram
from hostsim.units import MS, US, transmission_ps
from tests.model.small_point import CALM, datagrams, group, nic, point, run, stream

NS = 1000
FRAME = transmission_ps(packet_on_wire(1000 + UDP_HEADERS), 10e9)
TWO = {"vmnic0": nic(), "vmnic1": nic()}
READ = 250 + 900 + 250 + 1000
"""A received datagram in the guest: stack, wake-up of the sleeping process, copy, read."""
WRITE = 350 + 250 + 2000
"""A sent datagram: stack, copy, process."""
WAKE = 800 + 220 + 300
"""A physical interrupt is injected and wakes a halted guest."""


def passed(direction: str, *, directly: bool = True, **changes: object) -> PointSpec:
    """A VM with a vNIC and a passed-through NIC, and a stream through one of them."""
    vnics: dict[str, tuple[VnicSettings, ...]] = {}
    vm = group(passthrough=("vmnic1",), reserved=1.0, **vnics)
    flow = datagrams(direction, vnic=int(directly), **changes)
    return point(vm, traffic={"stream": flow}, nics=TWO, cost=CALM)


def used(host: Host) -> list[int]:
    """Time charged to the vCPU and to all other worlds, in nanoseconds."""
    (vcpu,) = host.vcpus
    return [vcpu.used // NS, sum(world.used for world in host.worlds()) // NS - vcpu.used // NS]


def test_each_frame_costs_an_interrupt_a_wake_up_and_the_guests_own_work() -> None:
    """Ten datagrams a millisecond apart: no VMkernel context, no switch, and only the guest's copy."""
    host = run(passed("receive"), 10 * MS)
    assert host.flows[0].delivered == 10
    assert used(host) == [10 * (WAKE + READ), 0]


def test_through_the_vnic_the_vmkernel_works_as_well() -> None:
    """The same datagrams through a vNIC: a NetPoll, not the guest, pays for the physical interrupt, and delivers the frame."""
    host = run(passed("receive", directly=False), 10 * MS)
    poll = 300 + 400 + 70 + 30 + 150 + 40 + 250
    assert used(host) == [10 * (800 + 220 + READ), 10 * poll]


def test_the_guests_driver_moderates_the_nic() -> None:
    """At 100,000 per second and one interrupt in 200 us, twenty datagrams come together."""
    spec = passed("receive", rate="100 kpps").model_copy(
        update={"nics": {"vmnic1": NicOptions.model_validate({"interrupt_interval": "200 us"})}}
    )
    host = run(spec, 10 * MS)
    (queue,) = host.nics["vmnic1"].queues
    assert queue.interrupts == pytest.approx(50, abs=2)
    assert host.vcpus[0].interrupts == queue.interrupts


@pytest.mark.parametrize("mtu", [1500, 9000])
def test_a_passed_through_nic_has_the_mtu_that_its_guest_sets(mtu: int) -> None:
    """Segments fill the NIC's frames, for any MTU of the switches."""
    vm = group(passthrough=("vmnic1",), reserved=1.0)
    options = {"vmnic1": NicOptions(mtu=mtu)}
    host = run(point(vm, traffic={"stream": stream("receive", vnic=1)}, nics=TWO, options=options))
    flow = host.flows[0]
    assert flow.octets == flow.delivered * (mtu - TCP_HEADERS) > 0


def test_a_frame_that_finds_no_descriptor_is_dropped_at_the_nic() -> None:
    """The drop has no cost, unlike at the host's NICs."""
    few = TWO | {"vmnic1": nic(rx_ring=1)}
    spec = passed("receive", rate="1 kpps", burst=20).model_copy(update={"nics": {}})
    spec = spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"nics": few})})
    host = run(spec, 100 * MS)
    assert host.flows[0].lost_nic > 0
    assert host.flows[0].delivered + host.flows[0].lost_nic == host.flows[0].sent


def test_what_the_guest_writes_goes_straight_to_the_wire() -> None:
    """Bursts of three: a wake-up by the timer, a switch to the process, three writes; frames have the length of the datagrams."""
    host = run(passed("send", rate="3 kpps", burst=3), 10 * MS)
    port = host.nics["vmnic1"]
    port.depart(host.clock.now)
    assert (port.tx_packets, port.tx_octets, port.tx_wire_ps) == (30, 30_000, 30 * FRAME)
    assert used(host) == [10 * (800 + 220 + 900 + 3 * WRITE), 0]


def test_a_sender_that_falls_behind_skips_what_it_missed() -> None:
    """Ticks that become due while the process works merge into one, like signals of an interval timer."""
    host = run(passed("send", rate="1 Mpps", burst=1), 10 * MS)
    port = host.nics["vmnic1"]
    port.depart(host.clock.now)
    each = 900 + WRITE + 700 + 220  # the timer interrupts a guest that never halts
    assert port.tx_packets == pytest.approx(10 * MS / NS / each, rel=0.3)


def test_what_was_not_written_is_taken_back() -> None:
    """Five datagrams 10 us apart, preempted after 25 us: three are on the wire, and the others are written later."""
    host = build_host(passed("send", rate="1 /s"), Streams(1, 0))
    vcpu, port = host.vcpus[0], host.nics["vmnic1"]
    vcpu.state = WorldState.RUNNING
    (transmit,) = vcpu.burst_queues
    burst = Train(Datagram(host.flows[0], host.flows[0].size), 5, 0, 10 * US, 0, 0)
    transmit.post(burst)
    (late,) = transmit.cancel([burst], 25 * US)
    transmit.send(25 * US)
    assert (late.count, late.ready) == (2, 30 * US)
    port.depart(20 * US + FRAME - 1)
    assert port.tx_packets == 2
    port.depart(20 * US + FRAME)
    assert port.tx_packets == 3
    vcpu.state = WorldState.SLEEPING
    transmit.post(late)
    port.depart(1 * MS)
    assert port.tx_packets == 3


def test_tcp_goes_through_it_both_ways() -> None:
    """A stream of either direction makes progress, and every invariant holds."""
    for direction in ("receive", "send"):
        vm = group(passthrough=("vmnic1",), reserved=1.0)
        flow = stream(direction, vnic=1)
        host = run(point(vm, traffic={"tcp": flow}, nics=TWO | {"vmnic1": nic(lro=True)}, cost=CALM), 50 * MS)
        host.nics["vmnic1"].depart(host.clock.now)
        assert host.flows[0].octets * 8 / 0.05 > 1e9
        assert host.nics["vmnic0"].tx_packets == 0


def test_a_nic_of_its_own_is_not_a_switchs() -> None:
    """The wiring refuses it even if the loader did not check."""
    vm = group(passthrough=("vmnic0",))
    with pytest.raises(WiringError, match="'vmnic0' cannot be passed through: it is in use"):
        build_host(point(vm, traffic={"stream": datagrams("receive")}), Streams(1, 0))


def test_what_is_written_early_in_a_long_burst_goes_20_us_later() -> None:
    """Five datagrams 10 us apart: after 20 us the NIC has the first three, although the burst continues."""
    host = build_host(passed("send", rate="1 /s"), Streams(1, 0))
    (transmit,) = host.vcpus[0].burst_queues
    host.vcpus[0].state = WorldState.RUNNING
    transmit.post(Train(Datagram(host.flows[0], host.flows[0].size), 5, 0, 10 * US, 0, 0))
    transmit.send_early()
    host.clock.advance(20 * US + 1)
    port = host.nics["vmnic1"]
    port.depart(1 * MS)
    assert port.tx_packets == 3
