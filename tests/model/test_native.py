"""A native host without a hypervisor: kernel drivers use the NICs, nothing exits, and processors keep their PCPUs."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.host import FirmwareSpec, PointSpec
from hostsim.config.traffic import Traffic
from hostsim.config.workload import BridgedSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS

from .small_point import ROUND, cpu, datagrams, group, guest, multicast, nic, point, run, stream, work

NS = 1000
EXITS = {"interrupt": 0, "vcpu_wake": 0, "virtual_interrupt": 0}
"""Costs that no native host has."""
READ = 250 + 900 + 250 + 1000
"""A received datagram in the kernel: stack, wake-up of the sleeping process, copy, read."""
WRITE = 350 + 250 + 2000
"""A sent datagram: stack, copy, process."""
WAKE = 50 + 220
"""An interrupt wakes a halted processor: halt exit and handler."""


def native(traffic: Traffic, *, sockets: int = 1, cores: int = 2, threads: int = 1, **changes: Any) -> PointSpec:
    """A native host with two NICs; the first carries the traffic."""
    nics = changes.pop("nics", {"vmnic0": nic(), "vmnic1": nic()})
    cost = changes.pop("cost", ROUND | EXITS)
    kernel = group(networks=(), passthrough=tuple(nics), **changes)
    spec = point(kernel, traffic={"traffic": traffic}, nics=nics, sockets=sockets, cores=cores, cost=cost)
    processors = cpu(sockets, cores).model_copy(update={"threads": threads})
    hardware = spec.hardware.model_copy(update={"cpu": processors})
    return spec.model_copy(update={"hypervisor": False, "vswitches": {}, "hardware": hardware})


def used(host: Host) -> list[int]:
    """Nanoseconds charged to each processor of the kernel; there are no other worlds."""
    assert host.worlds() == host.vcpus
    return [vcpu.used // NS for vcpu in host.vcpus]


def test_a_frame_costs_an_interrupt_and_the_kernels_own_work() -> None:
    """Ten datagrams a millisecond apart: a halt exit each, no VM exit, no context switch, and no other context."""
    host = run(native(datagrams("receive")), 10 * MS)
    assert host.flows[0].delivered == 10
    assert used(host) == [10 * (WAKE + READ)]


def test_what_it_writes_goes_straight_to_the_wire() -> None:
    """Bursts of three: a wake-up by the timer, a switch to the process, three writes."""
    host = run(native(datagrams("send", rate="3 kpps", burst=3)), 10 * MS)
    port = host.nics["vmnic0"]
    port.depart(host.clock.now)
    assert port.tx_packets == 30
    assert used(host) == [10 * (WAKE + 900 + 3 * WRITE)]


def test_a_hypervisor_adds_its_interrupt_its_exits_and_its_switches() -> None:
    """The overhead of DirectPath I/O is a difference: without these costs it is zero, and with them it is their sum."""
    names = ("interrupt", "vcpu_wake", "context_switch", "cache_refill_same")
    vm = group(networks=(), passthrough=("vmnic0",))
    passed = point(vm, traffic={"traffic": datagrams("receive")}).model_copy(update={"vswitches": {}})
    free = passed.model_copy(update={"costs": native(datagrams("receive"), cost=ROUND | dict.fromkeys(names, 0)).costs})
    [alone] = used(run(native(datagrams("receive")), 10 * MS))
    assert used(run(passed, 10 * MS)) == [alone + 10 * int(sum(ROUND[name] for name in names))]
    assert used(run(free, 10 * MS)) == [alone]


@pytest.mark.parametrize("threads", [1, 2])
def test_each_processor_has_a_pcpu_of_its_own_cores_first(threads: int) -> None:
    """The order is that of a kernel: one thread of each core of a node, then the others; nothing runs elsewhere."""
    host = run(native(work("1000 /s", "0.5 ms"), cores=2, threads=threads, vcpus=2 * threads))
    places = [host.scheduler.pcpus.index(vcpu.last) for vcpu in host.vcpus]
    assert places == ([0, 1] if threads == 1 else [0, 2, 1, 3])
    assert all(vcpu.last.dispatches == vcpu.dispatches for vcpu in host.vcpus)
    assert [pcpu.switches for pcpu in host.scheduler.pcpus] == [0] * len(places)


def test_a_wide_kernel_has_the_processors_of_all_nodes() -> None:
    """Two nodes of two: half of the processors on each, as for a VM with as many vCPUs; a kernel bound to a node stays there."""
    wide = build_host(native(datagrams("receive"), sockets=2, vcpus=4), Streams(1, 0))
    assert [vcpu.node.index for vcpu in wide.vcpus] == [0, 0, 1, 1]
    bound = build_host(native(datagrams("receive"), sockets=2, vcpus=2, nodes=(1,)), Streams(1, 0))
    assert [bound.scheduler.pcpus.index(vcpu.last) for vcpu in bound.vcpus] == [2, 3]


def test_rss_spreads_connections_over_the_processors() -> None:
    """There are as many queues as processors, each with its own interrupt, and processes run at the queues of their packets."""
    several = {"vmnic0": nic(rss=True, rx_queues=8)}
    host = run(native(stream("receive", streams=16), cores=4, vcpus=4, nics=several), 20 * MS)
    assert [queue.interrupts > 0 for queue in host.nics["vmnic0"].queues] == [True] * 4
    assert min(used(host)) > 0


@pytest.mark.parametrize("direction", ["receive", "send"])
def test_tcp_fills_the_wire(direction: str) -> None:
    """The costs leave headroom, and every invariant holds."""
    kernel = guest(initial_window=10)
    host = run(
        native(
            stream(direction, window="256 KiB"),
            guest=kernel,
            nics={"vmnic0": nic(lro=True, interrupt_interval="20 us")},
        ),
        50 * MS,
    )
    host.nics["vmnic0"].depart(host.clock.now)
    assert host.flows[0].octets * 8 / 0.05 == pytest.approx(10e9 * 1448 / 1538, rel=0.05)


def test_multicast_is_a_stream_to_its_socket() -> None:
    """No switch replicates: a frame costs the same as unicast."""
    instants = [place * MS for place in range(10)]
    host = run(native(multicast(*instants)), 10 * MS)
    assert host.flows[0].delivered == 10
    assert used(host) == [10 * (WAKE + READ)]


def test_it_forwards_between_its_nics_in_softirqs() -> None:
    """A frame costs the stack, the bridge and the other driver."""
    arrivals = {"process": "replay", "timestamps_ps": tuple(place * MS for place in range(10))}
    values = {"kind": "bridged", "to": "vm", "frame_size": "64 B", "arrivals": arrivals}
    host = run(native(BridgedSpec.model_validate(values)), 10 * MS)
    host.nics["vmnic1"].depart(host.clock.now)
    assert host.nics["vmnic1"].tx_packets == 10
    assert used(host) == [10 * (WAKE + 250 + 4000 + 350)]


def test_firmware_stops_it_too() -> None:
    """A stop of a millisecond during work at half load: the processor waits for its end, and resumes where it was."""
    spec = native(work("1000 /s", "0.5 ms"))
    stops = FirmwareSpec.model_validate({"stop": "1 ms", "period": "5 ms"})
    host = run(spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"firmware": stops})}), 50 * MS)
    [kernel], stopped = host.vcpus, host.firmware
    assert stopped is not None
    assert kernel.waited > 0
    assert kernel.last is host.scheduler.pcpus[0]
    assert kernel.last.busy(50 * MS) == kernel.used + stopped.worlds[0].used


def test_a_pcpu_of_a_processor_is_not_shared() -> None:
    """The nodes of a native host have no PCPUs for other worlds."""
    host = build_host(native(datagrams("receive"), sockets=2, vcpus=4), Streams(1, 0))
    assert [node.pcpus for node in host.scheduler.nodes] == [[], []]
