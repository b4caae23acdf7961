"""The switch inside a NIC: frames between virtual functions of a port, and between a function and the virtual switch."""

from __future__ import annotations

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import TCP_HEADERS, UDP_HEADERS, NicSpec, PcieSpec, frame_size
from hostsim.config.traffic import Traffic
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, SECOND, transmission_ps
from tests.model.small_point import CALM, datagrams, group, guest, nic, point, run, to_vm, vm_stream, work

SLOT, SLOW = PcieSpec(generation=3, lanes=8), PcieSpec(generation=1, lanes=1)
"""Slots of 58 and 1.8 Gbit/s in each direction."""
FRAME = frame_size(1000 + UDP_HEADERS)
"""Bytes of a datagram's frame on the slot."""
SEGMENT, ACK = frame_size(1448 + TCP_HEADERS), frame_size(TCP_HEADERS)
STREAM = 2 * 1448 / (2 * SEGMENT + ACK)
"""Bytes of a stream's frame; and the data share per direction, since acknowledgements of two segments also cross the slot."""


def port(**changes: object) -> NicSpec:
    return nic(**{"pcie": SLOT.model_dump(), "tx_interrupt_delay": "50 us"} | changes)


def ends(kind: str, **changes: object) -> PointSpec:
    """VMs ``a`` and ``b``; ``kind`` has a letter for each: f for a function of the uplink, v for a vNIC."""
    vms = [
        group(name, networks=(), functions=("vmnic0",), reserved=1.0) if how == "f" else group(name)
        for name, how in zip("ab", kind, strict=True)
    ]
    traffic: dict[str, Traffic] = {"t": to_vm(rate="100 pps")}
    values = {"traffic": traffic, "nics": {"vmnic0": port()}, "cost": CALM}
    return point(*vms, **values | changes)  # type: ignore[arg-type]


def used(host: Host) -> dict[str, int]:
    return {world.name: world.used for world in host.worlds() if world.used}


@pytest.mark.parametrize("kind", ["ff", "fv", "vf"])
def test_frames_cross_the_slot_twice_and_never_the_wire(kind: str) -> None:
    """A lone datagram spends the time of its bytes in each direction of the slot inside the NIC; half the bandwidth adds as much again."""
    latencies = []
    for slot in (SLOT, SLOT.model_copy(update={"lanes": 4})):
        host = run(ends(kind, nics={"vmnic0": port(pcie=slot.model_dump())}), 30 * MS)
        (flow,) = host.flows
        wires = host.nics["vmnic0"]
        wires.depart(host.clock.now)
        assert (flow.sent, flow.delivered, flow.out) == (3, 3, 0)
        assert (wires.tx_wire_ps, wires.rx_wire_ps, wires.tx_packets) == (0, 0, 0)
        latencies.append(flow.latency.total // 3)
    assert latencies[1] - latencies[0] == 2 * transmission_ps(FRAME, SLOT.bandwidth)


def test_no_context_of_the_vmkernel_works_between_functions() -> None:
    """For a function and a vNIC, only those of the vNIC."""
    assert set(used(run(ends("ff"), 30 * MS))) == {"a[0].vcpu0", "b[0].vcpu0"}
    assert set(used(run(ends("fv"), 30 * MS))) == {"a[0].vcpu0", "b[0].vcpu0", "vmnic0-pollWorld-1"}
    assert set(used(run(ends("vf"), 30 * MS))) == {"a[0].vcpu0", "b[0].vcpu0", "a[0].NetWorld", "vmnic0-pollWorld-1"}


def data_rate(host: Host, flow: int, until: int) -> float:
    """Data bits per second of a flow, from 20 ms after its start."""
    host.clock.advance(20 * MS)
    before = host.flows[flow].octets
    host.clock.advance(until)
    return (host.flows[flow].octets - before) * 8 * SECOND / (until - 20 * MS)


@pytest.mark.parametrize("kind", ["ff", "fv", "vf"])
def test_the_slot_bounds_what_functions_exchange_and_the_wire_does_not(kind: str) -> None:
    """A TCP stream fills a slow slot with its frames at any rate of the wire; with a fast slot it exceeds the wire."""
    flows: dict[str, Traffic] = {"t": vm_stream(window="1 MiB")}
    spec = ends(kind, traffic=flows, nics={"vmnic0": port(pcie=SLOW.model_dump(), tx_queue=256)})
    rate = data_rate(build_host(spec, Streams(1, 0)), 0, 60 * MS)
    assert rate == pytest.approx(SLOW.bandwidth * STREAM, rel=0.01)
    spec = ends(kind, traffic=flows, nics={"vmnic0": port(line_rate="1 Gbit/s")})
    assert data_rate(build_host(spec, Streams(1, 0)), 0, 60 * MS) > 2e9


@pytest.mark.parametrize("direction", ["receive", "send"])
def test_frames_of_the_wire_take_the_slot_first(direction: str) -> None:
    """In both directions: function-to-function traffic gets the bandwidth that datagrams over the wire leave."""
    vms = (
        *(group(name, networks=(), functions=("vmnic0",), reserved=1.0) for name in "ab"),
        group("c", networks=(), functions=("vmnic0",), reserved=1.0),
    )
    flows: dict[str, Traffic] = {"t": vm_stream(), "out": datagrams(direction, to="c", rate="100 kpps")}
    nics = {"vmnic0": port(pcie=SLOW.model_dump())}
    host = build_host(point(*vms, traffic=flows, nics=nics, cost=CALM, cores=6), Streams(1, 0))
    rate = data_rate(host, 0, 60 * MS)
    left = SLOW.bandwidth - 100e3 * FRAME * 8
    assert rate == pytest.approx(left * STREAM, rel=0.01)
    assert host.flows[1].lost_nic == host.flows[1].lost_out == 0


def test_functions_exchange_the_same_whenever_another_guest_polls() -> None:
    """Frames of the wire use the slot on arrival: a guest that takes them late changes no latency between two others."""
    latencies = []
    for kernel in ({}, {"napi_budget": 1, "netdev_budget": 1, "softirq_restarts": 1}):
        vms = (
            group(
                name, networks=(), functions=("vmnic0",), reserved=1.0, guest=guest(**(kernel if name == "c" else {}))
            )
            for name in "abc"
        )
        flows: dict[str, Traffic] = {
            "t": to_vm(rate="10 kpps"),
            "in": datagrams("receive", to="c", rate="64 kpps", burst=64),
            "w": work("1000 /s", "900 us", to="c"),
        }
        host = run(
            point(*vms, traffic=flows, nics={"vmnic0": port(pcie=SLOW.model_dump())}, cost=CALM, cores=6), 30 * MS
        )
        inside, by_wire, _ = host.flows
        latencies.append((inside.delivered, inside.latency.total))
        assert (by_wire.delivered < 1_500) == bool(kernel)
    assert latencies[0] == latencies[1]


def test_a_receiver_that_is_too_slow_loses_frames_at_the_nic() -> None:
    """The switch cannot throttle a sender; the guest counts reads, and the port packets without a descriptor."""
    vms = (
        group(name, count=count, networks=(), functions=("vmnic0",), reserved=1.0)
        for name, count in (("a", 2), ("b", 1))
    )
    slow = CALM | {"guest_rx_packet": 3000}
    flows: dict[str, Traffic] = {"t": to_vm(rate="380 kpps", burst=100, taken_by="stack")}
    host = run(point(*vms, traffic=flows, nics={"vmnic0": port(rx_ring=256)}, cost=slow), 60 * MS)
    (flow,) = host.flows
    assert flow.lost_nic > 0
    # read, dropped at the socket, or still on its way
    assert 0 <= flow.sent - flow.lost_nic - flow.lost_socket - flow.delivered < 2 * 256


def test_a_nic_switches_only_what_it_reaches() -> None:
    """A function of another port, a whole port, and a slot of unknown bandwidth."""
    two = {"vmnic0": port(), "vmnic1": port()}
    a = group("a", networks=(), functions=("vmnic0",), reserved=1.0)
    flows: dict[str, Traffic] = {"t": to_vm(rate="1 kpps")}
    for changes in ({"functions": ("vmnic1",)}, {"passthrough": ("vmnic1",)}):
        b = group("b", networks=(), reserved=1.0, **changes)
        with pytest.raises(WiringError, match="the switch inside vmnic0 reaches only functions of this port"):
            build_host(point(a, b, traffic=flows, nics=two), Streams(1, 0))
    with pytest.raises(WiringError, match="the slot of a round is unknown"):
        build_host(ends("ff", nics={"vmnic0": nic()}), Streams(1, 0))


def test_a_port_whose_functions_exchange_nothing_has_no_switch() -> None:
    """An unused switch thus costs nothing."""
    spec = ends("ff", traffic={"t": datagrams("receive", to=("a", "b"))})
    assert type(build_host(spec, Streams(1, 0)).nics["vmnic0"]).__name__ == "Pnic"
