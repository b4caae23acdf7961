"""Overloaded guests: division of the vCPU, cost of a datagram, and the limits set by rings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from hostsim.config.costs import Cost
from hostsim.config.guest import GuestSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.platform import Coalescing
from hostsim.config.workload import BridgedSpec, MulticastSpec, WebSpec
from hostsim.model.host import Host
from hostsim.units import MS, NS, SECOND, US
from tests.model.small_point import (
    CALM,
    ROUND,
    SOURCE,
    datagrams,
    echoes,
    files,
    group,
    guest,
    nic,
    paths,
    point,
    run,
    stream,
    to_vm,
    users,
    vm_stream,
    vnic,
    work,
)
from tests.model.sound_measures import assert_sound
from tests.model.test_measure_laws import recorded

WAKE = (ROUND["vcpu_wake"] + ROUND["guest_interrupt"]) * NS
INTERRUPT = (ROUND["virtual_interrupt"] + ROUND["guest_interrupt"]) * NS
STACK = ROUND["guest_rx_packet"] * NS
SLOW = CALM | {"guest_rx_packet": 20_000}
"""A stack that takes 20 us per packet, which 50,000 packets per second overload."""


def reader(sink: int, **kernel: Any) -> GuestSpec:
    """A guest whose process takes the given number of cycles per datagram."""
    own = guest(**kernel)
    costs = {"udp_sink": Cost.model_validate({"cycles": float(sink), "source": SOURCE})}
    return own.model_copy(update={"applications": own.applications.model_copy(update=costs)})


def flooded(
    own: GuestSpec, rate: str = "100 kpps", until: int = 200 * MS, cost: dict[str, float] = SLOW, **more: Any
) -> Host:
    """A VM of one vCPU that receives datagrams of 18 bytes twice as fast as its stack can process them, after a given time."""
    traffic = {"stream": datagrams("receive", packet_size="18 B", rate=rate), **more}
    return run(point(group(guest=own), traffic=traffic, cost=cost), until)


def share(**kernel: Any) -> float:
    """Share of softirqs in a flooded vCPU whose guest also has CPU work and no room for datagrams."""
    own = guest(socket_buffer="1 B", napi_budget=10, softirq_restarts=2, softirq_pause="4 ms", **kernel)
    host = flooded(own, work=work("1000 /s", "5 ms"))
    return host.ports[0].vnic.ring.taken * 20 * US / host.vcpus[0].used


def test_a_thread_goes_on_for_a_softirq_that_has_used_its_budget() -> None:
    """Thread and processes alternate: slices of 2 and 4 ms give a third to the thread, of 4 and 4 ms a half; an endless budget leaves it nothing."""
    assert share(netdev_budget=50, netdev_time="1 s", softirq_slice="2 ms") == pytest.approx(1 / 3, rel=0.05)
    assert share(netdev_budget=50, netdev_time="1 s", softirq_slice="4 ms") == pytest.approx(1 / 2, rel=0.05)
    assert share(netdev_budget=60_000, netdev_time="1 ms", softirq_slice="2 ms") == pytest.approx(1 / 3, rel=0.05)
    assert share(netdev_budget=60_000, netdev_time="1 s", softirq_slice="2 ms") > 0.95


def test_a_softirq_of_a_newer_kernel_has_a_time_for_all_its_rounds() -> None:
    """Softirqs do not wait for the thread, so processes run until the next tick: softirqs get 1.4 of each 2 ms if that is their time limit, else two rounds of 5 ms."""
    kernel: dict[str, Any] = {
        "netdev_budget": 60_000,
        "netdev_time": "5 ms",
        "softirqs_wait": False,
        "timer_period": "2 ms",
    }
    assert share(softirq_time="1400 us", **kernel) == pytest.approx(0.7, rel=0.05)
    assert share(**kernel) == pytest.approx(10 / 11, rel=0.1)


def test_a_flooded_reader_has_half_of_its_vcpu_and_the_plateau_is_flat() -> None:
    """The process takes 25 us per datagram, the stack 20 us: from 100,000 per second on they alternate by 3 ms, also at three times the rate."""
    read = []
    for rate in ("100 kpps", "300 kpps"):
        host = flooded(reader(25_000, netdev_time="300 us", napi_budget=10), rate, 100 * MS)
        read.append(host.vcpus[0].read)
    assert read == pytest.approx([100 * MS / 2 / (25 * US)] * 2, rel=0.05)


def test_a_reader_of_an_older_kernel_has_one_call_between_two_softirqs() -> None:
    """Its system call enables bottom halves, and a softirq runs with its whole budget: 2 ms and more per datagram of 25 us."""
    own = reader(25_000, softirqs_wait=False, netdev_time="1 ms", softirq_restarts=2, napi_budget=10)
    assert flooded(own).vcpus[0].read == pytest.approx(200 * MS / (2 * MS + 25 * US), rel=0.15)


def test_a_poll_that_goes_on_has_no_new_budget() -> None:
    """Datagrams come every 20 us, as fast as the stack processes them, so each arrives just before the poll ends: the reader still gets half."""
    host = flooded(reader(25_000, netdev_time="300 us", napi_budget=10), "50 kpps")
    assert host.vcpus[0].read > 0.9 * 200 * MS / 2 / (25 * US)


def test_a_datagram_wakes_its_reader_only_where_it_sleeps() -> None:
    """A reader pays 9 us for the first of ten datagrams and 1 us for each further one; if they come one at a time, it pays 9 us for each."""
    own = reader(1_000)
    cost = CALM | {"copy_per_byte": 0, "guest_process_wake": 8_000}
    together = run(
        point(group(guest=own), traffic={"s": datagrams("receive", rate="1 kpps", burst=10)}, cost=cost), 20 * MS
    )
    apart = run(point(group(guest=own), traffic={"s": datagrams("receive", rate="100 /s")}, cost=cost), 20 * MS)
    stack, reading = 10 * STACK + 3 * INTERRUPT, 18 * US  # three interrupts while it reads the first
    assert (together.vcpus[0].read, together.vcpus[0].used) == (20, 2 * (WAKE + stack + reading))
    assert (apart.vcpus[0].read, apart.vcpus[0].used) == (2, 2 * (WAKE + STACK + 9 * US))


def test_a_reader_that_waits_for_its_vcpu_moves_to_an_idle_one() -> None:
    """The process takes 25 us per datagram on its own vCPU, and softirqs use the other; of 50,000 per second, its socket holds 100 and drops the rest."""
    own = reader(25_000, netdev_time="300 us", napi_budget=10, socket_buffer="1800 B")
    cost = SLOW | {"copy_per_byte": 0}
    traffic = {"stream": datagrams("receive", packet_size="18 B", rate="100 kpps")}
    host = run(point(group(guest=own, vcpus=2), traffic=traffic, cost=cost), 200 * MS)
    first, other = host.vcpus
    assert first.read < 1000
    assert other.read == pytest.approx(200 * MS / (25 * US), rel=0.05)
    assert other.in_socket() - other.coming(200 * MS) <= 100 + 1
    came = other.came - other.coming(200 * MS)
    assert came == other.read + other.socket_dropped + other.in_socket() - other.coming(200 * MS)
    assert first.came + came == pytest.approx(200 * MS / (20 * US), rel=0.05)


def test_a_reader_that_keeps_up_stays_where_its_softirqs_are() -> None:
    """Every datagram wakes it on the vCPU of the interrupts; it stays there in bursts that also overflow its socket."""
    for flow in ({"rate": "10 kpps"}, {"rate": "10 kpps", "burst": 200}):
        own = reader(1_000, socket_buffer="64 kB")
        cost = CALM | {"guest_process_wake": 8_000}
        host = run(point(group(guest=own, vcpus=2), traffic={"s": datagrams("receive", **flow)}, cost=cost), 50 * MS)
        assert host.vcpus[0].read > 100
        assert host.vcpus[1].read == 0


def test_a_passed_through_nic_sends_what_waited_when_its_driver_has_freed_descriptors() -> None:
    """Of 300 packets 64 are sent at once, and then as many as completions free; each interrupt, 1 ms apart, frees 64 for the next. Of twice 600, 1,000 wait in front of the ring, and the others are lost."""
    swift = guest()
    costs = {"udp_source": Cost.model_validate({"cycles": 1.0, "source": SOURCE})}
    swift = swift.model_copy(update={"applications": swift.applications.model_copy(update=costs)})
    own = nic(tx_queue=64, tx_interrupt_delay=None, interrupt_interval="1 ms")

    def ends(burst: int, interval: str, *instants: int) -> list[tuple[int, int, int]]:
        flow = {"packet_size": "100 B", "rate": None, "interval": interval, "burst": burst, "vnic": 1}
        spec = point(
            group(guest=swift, passthrough=("vmnic1",), reserved=1.0),
            traffic={"out": datagrams("send", **flow)},
            nics={"vmnic0": nic(), "vmnic1": own},
            cost=CALM | {"guest_tx_packet": 0, "copy_per_byte": 0},
        )
        found = []
        for at in instants:
            host = run(spec, at)
            port = host.nics["vmnic1"]
            port.depart(at)
            found.append((port.tx_packets, host.flows[0].lost_out, port.tx_dropped))
        return found

    sent, lost, _ = zip(*ends(300, "10 ms", *(step * MS for step in range(8))), strict=True)
    after = [sum(1 for one in sent if one == 0) + step for step in range(5)]
    first = sent[after[0]]
    assert 64 <= first < 80
    assert [sent[step] for step in after] == [first, first + 64, first + 128, first + 192, 300]
    assert lost == (0,) * 8
    ((first, lost_, dropped),) = ends(600, "200 us", 350 * US)
    assert 64 <= first < 80
    assert lost_ == dropped == 2 * 600 - 1000 - first


def test_a_stopped_queue_goes_on_when_its_driver_has_freed_descriptors() -> None:
    """Small packets on a ring of 32, twenty per millisecond or fifty every 10 ms: for every 33rd the driver finds no descriptor, is interrupted, and frees 32; all are sent, although the guest never halts."""
    for interval, burst in (("1 ms", 20), ("10 ms", 50)):
        flow = {"packet_size": "100 B", "rate": None, "interval": interval, "burst": burst}
        traffic = {"out": datagrams("send", **flow), "work": work("1000 /s", "5 ms")}
        ends = []
        for ring in (32, 4096):
            vm = group(vnics=(vnic(tx_ring=ring),))
            host = run(point(vm, traffic=traffic, cost=CALM, tx_completion_delay=SECOND), 59 * MS)
            host.nics["vmnic0"].depart(59 * MS)
            ends.append((host.nics["vmnic0"].tx_packets, host.vcpus[0].interrupts))
        (sent, interrupts), (posted, none) = ends
        assert posted == posted // burst * burst >= 250
        assert posted - sent < 5  # these wait for the timer of the transmit context
        assert (interrupts, none) == ((posted - 1) // 32, 0)


@pytest.mark.parametrize("bound", [{"netdev_budget": 20}, {"netdev_budget": 60_000, "netdev_time": "400 us"}])
def test_a_reader_that_sleeps_in_its_turn_preempts_the_thread_after_a_round(bound: dict[str, Any]) -> None:
    """The process takes 1 us per datagram and its socket holds 30: rounds of 20 packets or 400 us let it read everything; slices of 3 ms would bring 150 and drop 120."""
    own = reader(1_000, softirq_restarts=1, napi_budget=10, socket_buffer="540 B", **bound)
    host = flooded(own, cost=SLOW | {"copy_per_byte": 0})
    vcpu = host.vcpus[0]
    assert vcpu.socket_dropped == 0
    assert vcpu.read == pytest.approx(200 * MS / (21 * US), rel=0.05)


DELAY = 2 * MS
"""Reply time of a peer, which turns a window or a number of connections into a rate."""


def pps(rate: float) -> str:
    return f"{rate / 1000:.3f} kpps"


def window(rate: float) -> str:
    """A window that passes the given number of segments of a connection per second."""
    return f"{max(2048, round(rate * 1448 * DELAY / SECOND))} B"


def at_once(rate: float) -> int:
    """Number of concurrent requests that gives the given rate if replies take no time."""
    return max(1, round(rate * DELAY / SECOND))


def bridged(rate: float) -> BridgedSpec:
    values = {"kind": "bridged", "to": "vm", "enters": 0, "leaves": 1, "frame_size": "64 B", "rate": pps(rate)}
    return BridgedSpec.model_validate(values)


def multicast(rate: float) -> MulticastSpec:
    return MulticastSpec.model_validate({"kind": "multicast", "to": "vm", "packet_size": "64 B", "rate": pps(rate)})


def web(rate: float) -> WebSpec:
    values = {"kind": "web", "to": "vm", "window": "64 KiB", "objects": 1, "size": "1448 B", "write_size": "1448 B"}
    return WebSpec.model_validate(values | {"rate": f"{rate:.0f} /s"})


SMALL = {"packet_size": "64 B", "burst": 20}
WAITING = {"delay": "2 ms"}
ALL = ("vmxnet3", "e1000", "directpath")
SWITCHED = ("vmxnet3", "e1000")
KINDS: dict[str, tuple[float, Callable[[float], Any], tuple[str, ...]]] = {
    "receive": (270e3, lambda rate: datagrams("receive", packet_size="64 B", rate=pps(rate)), ALL),
    "send": (200e3, lambda rate: datagrams("send", rate=pps(rate), **SMALL), ALL),
    "bridged": (140e3, bridged, ALL),
    "multicast": (270e3, multicast, SWITCHED),
    "TCP receive": (170e3, lambda rate: stream("receive", window=window(rate), burst=16, **WAITING), ALL),
    "TCP send": (500e3, lambda rate: stream("send", window=window(rate), **WAITING), ALL),
    "VM to VM": (190e3, lambda rate: to_vm(rate=pps(rate), **SMALL), SWITCHED),
    "VM to VM, polled": (190e3, lambda rate: to_vm(rate=pps(rate), taken_by="poll", **SMALL), ("vmxnet3",)),
    "VM to VM, TCP": (250e3, lambda rate: vm_stream(window=window(rate)), SWITCHED),
    "requests": (65e3, lambda rate: echoes(at_once(rate), **WAITING), ALL),
    "transactions": (9e3, lambda rate: users(at_once(rate), **WAITING), ALL),
    "files sent": (14e3, lambda rate: files("get", size="20 kB", connections=at_once(rate), **WAITING), ALL),
    "files received": (9e3, lambda rate: files("post", size="20 kB", connections=at_once(rate), **WAITING), ALL),
    "web": (19e3, web, ALL),
}
"""Kinds of traffic: capacity of this vCPU in packets or requests per second; traffic that offers a given rate; and its devices."""
CAPACITY = ("receive", "send", "bridged")
"""Open-loop kinds through every device, whose plateau is flat."""
CROSSED = [(kind, device) for kind, (_, _, devices) in KINDS.items() for device in devices]


def offered(device: str, kind: str, load: float, length: int = 100 * MS) -> Host:
    """A VM of one vCPU, or two that send to each other, at a multiple of capacity; the stack takes 2.5 us per packet, as on a server of 2012, and the reader 1 us."""
    cost = CALM | {
        "guest_rx_packet": 2500,
        "guest_tx_packet": 2500,
        "guest_tx_completion": 400,
        "e1000_interrupt": 1400,
        "guest_process_wake": 2000,
    }
    kernel: dict[str, Any] = {"netdev_time": "2 ms", "softirq_time": "2 ms", "initial_window": 10}
    if kind == "VM to VM, polled":
        kernel["paths"] = paths()
    own = reader(1_000, socket_buffer="200 kB", socket_overhead="576 B", **kernel)
    moderated = {
        name: nic(rx_ring=512, interrupt_interval="125 us", tx_interrupt_delay=None) for name in ("vmnic0", "vmnic1")
    }
    uplinks = {"lan": VSwitchSpec(uplinks="vmnic0"), "wan": VSwitchSpec(uplinks="vmnic1")}
    bound = Coalescing(scheme="rbc", rate=4000, depth=64, timeout=4 * MS)
    port = {"rx_ring": 512, "tx_ring": 512, "coalescing": bound}
    if device == "directpath":
        vms = [group(guest=own, networks=(), passthrough=("vmnic0", "vmnic1"))]
        moderated["vmnic2"], uplinks = nic(), {"lan": VSwitchSpec(uplinks="vmnic2")}
    elif kind.startswith("VM to VM"):
        vms = [group(name, guest=own, networks=("lan",), vnics=(vnic(device=device, **port),)) for name in "ab"]
    else:
        vms = [group(guest=own, networks=("lan", "wan"), vnics=(vnic(device=device, **port),) * 2)]
    capacity, flow, _ = KINDS[kind]
    spec = point(*vms, traffic={"t": flow(load * capacity)}, nics=moderated, switches=uplinks, cost=cost)
    return run(spec.model_copy(update={"length": length}), length)


def taken(host: Host) -> float:
    """Packets of the first traffic that arrive per second; for requests, answered ones."""
    for port in host.nics.values():
        port.depart(host.clock.now)
    flow = host.flows[0]
    if flow.asked:
        count: float = flow.answered
    elif flow.octets and (flow.out or not flow.delivered):
        count = flow.octets / (flow.size or 1448)
    else:
        count = flow.delivered - flow.lost_out
    return count * SECOND / host.clock.now


def sweep(device: str, kind: str, loads: Iterable[float]) -> list[float]:
    """Deliveries at multiples of capacity, in packets per second, with all invariants checked in each run."""
    return [taken(offered(device, kind, load)) for load in loads]


@pytest.mark.parametrize("device", ALL)
@pytest.mark.parametrize("kind", CAPACITY)
def test_under_overload_what_is_delivered_stays_on_a_plateau(device: str, kind: str) -> None:
    """Everything at half of the capacity, and the same at two and eight times of it, no less than at half."""
    half, twice, most = sweep(device, kind, (0.5, 2, 8))
    assert half == pytest.approx(KINDS[kind][0] / 2, rel=0.02)
    assert twice > 0.95 * half
    assert most == pytest.approx(twice, rel=0.05)


@pytest.mark.parametrize(("kind", "device"), CROSSED)
def test_under_overload_no_traffic_starves_and_no_measure_leaves_its_bounds(kind: str, device: str) -> None:
    """Of each kind through each device at half, twice and eight times its capacity: no less than four fifths of the lower load's (the guest of an e1000 that never halts leaves its packets to a timer), but half of web pages, whose connections cost the kernel time in which others are not served."""
    delivered = []
    for load in (0.5, 2, 8):
        host = offered(device, kind, load, (20 if kind == "web" else 40) * MS)
        for part in (0, 2):
            assert_sound(recorded(host, part))
        delivered.append(taken(host))
    half, twice, most = delivered
    assert half > 0
    assert twice > 0.8 * half
    assert most > (0.5 if kind == "web" else 0.8) * twice


@pytest.mark.slow
@pytest.mark.parametrize("device", ALL)
@pytest.mark.parametrize("kind", CAPACITY)
def test_at_every_load_something_is_delivered(device: str, kind: str) -> None:
    """From half to eight times the capacity in 17 steps: never more than is offered, and no less than a tenth of the most.

    The least is where softirqs have nearly all of the vCPU and still empty their rings, so that none is left to ksoftirqd.
    """
    loads = [0.5 * 2 ** (step / 4) for step in range(17)]
    found = sweep(device, kind, loads)
    assert all(0 < one <= load * KINDS[kind][0] * 1.01 for one, load in zip(found, loads, strict=True))
    assert min(found) > max(found) / 10
