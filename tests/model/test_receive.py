"""The receive path on whole hosts: the cost of each stage, hand-over times, and places of loss."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from hostsim.config.arrival import ArrivalSpec
from hostsim.config.host import PointSpec, VmGroupSpec
from hostsim.config.platform import VnicSettings
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.memory import node_memory
from hostsim.model.host import Host
from hostsim.model.invariants import check_invariants
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import MS, SECOND, US, transmission_ps


def spec(receivers: int = 1, *, split: bool = False, rate: float = 40_000.0, **changes: str) -> PointSpec:
    """A point of the multicast experiment with evenly spaced packets; ``changes`` are overrides, with double underscores for dots."""
    overrides = {"peer": "linux"} | {name.replace("__", "."): text for name, text in changes.items()}
    axes = {"receivers": receivers, "split": "1" if split else "0", "rate": f"{rate} pps"}
    return point_at(load("splitrx", overrides), axes).spec


def quiet(point: PointSpec) -> PointSpec:
    """The same point with guests that are otherwise idle during the run."""
    idle = {"timer_period": 10**18, "housekeeping_period": None}
    groups = tuple(group.model_copy(update={"guest": group.guest.model_copy(update=idle)}) for group in point.vms)
    return point.model_copy(update={"vms": groups})


def replay(point: PointSpec, *instants: int) -> PointSpec:
    """The same point with a stream of packets sent at given instants."""
    stream = point.traffic["stream"].model_copy(
        update={"rate": None, "arrivals": ArrivalSpec(process="replay", timestamps_ps=instants)}
    )
    return point.model_copy(update={"traffic": {"stream": stream}})


def with_vnics(group: VmGroupSpec, other: Callable[[VnicSettings], VnicSettings]) -> VmGroupSpec:
    """The same VMs with other settings of their vNICs."""
    vnics = tuple(other(vnic) for vnic in group.settings.vnics)
    return group.model_copy(update={"settings": group.settings.model_copy(update={"vnics": vnics})})


def coalescing(point: PointSpec, **changes: object) -> PointSpec:
    """The same point with other coalescing."""

    def other(vnic: VnicSettings) -> VnicSettings:
        return vnic.model_copy(update={"coalescing": vnic.coalescing.model_copy(update=changes)})

    return point.model_copy(update={"vms": tuple(with_vnics(group, other) for group in point.vms)})


def run(point: PointSpec, until: int = SECOND) -> Host:
    host = build_host(point, Streams(1, 0))
    host.probe.start()
    host.clock.advance(until)
    host.probe.sample()
    check_invariants(host)
    return host


def interrupts(host: Host) -> tuple[int, int]:
    return sum(queue.interrupts for queue in host.queues), sum(vcpu.interrupts for vcpu in host.vcpus)


@pytest.mark.parametrize("far", [False, True])
def test_one_packet_pays_every_stage_once(far: bool):
    """Wire, interrupt, NetPoll's wake-up, driver and switch, copy; the guest's wake-up, stack, its process' wake-up and
    read: to the picosecond. Copies to another node, and reads there, cost more.
    """
    point = replay(quiet(spec(vms__receiver__vmx__numa__nodeAffinity="1") if far else spec()), 10 * US)
    # the NetPoll stays with its NIC
    point = point.model_copy(update={"settings": point.settings.model_copy(update={"package_rebalance_period": 0})})
    host = run(point)
    cost = CostTable(point.costs, point.hardware.cpu)
    turn = cost.halt_exit + cost.context_switch + cost.cache_refill_same
    memory = node_memory(point.costs, point.hardware.cpu)
    assert memory.dma_ps < memory.far_ps  # without DDIO the NIC has written it to memory
    copy = cost.port_copy(800, memory.dma_ps + far * memory.far_ps, far=far)
    netpoll = turn + cost.interrupt + cost.poll_entry + cost.rx_packet["vmklinux"] + copy
    hertz = point.costs.cycle_rate("westmere-ex", 2.67e9)
    read = point.vms[0].guest.applications.udp_sink.ps(hertz) + cost.copied(800, far * memory.far_ps)
    # PCPU 0 belongs to the NetPoll: a guest of its node runs next to it, with cold private caches
    cold = max(cost.cache_refill_migrated, cost.cache_refill_same + cost.guest_cache_refill)
    second_turn = turn if far else turn - cost.cache_refill_same + cold
    guest = second_turn + cost.vcpu_wake + cost.guest_interrupt + cost.guest_rx_packet + cost.guest_process_wake + read
    assert host.flows[0].latency.total == netpoll + guest
    assert (host.polls[0].used, host.vcpus[0].used) == (netpoll, guest)
    assert interrupts(host) == (1, 1)


def test_a_frame_comes_when_its_last_bit_does():
    """800 bytes of data are 866 bytes on the wire."""
    host = build_host(replay(quiet(spec()), 10 * US), Streams(1, 0))
    [queue] = host.queues
    assert host.nics["vmnic0"].upcoming(queue) == 10 * US + transmission_ps(866, 10e9)


def test_copies_reach_receivers_one_after_another():
    """Each receiver's copy is stamped when its own work is done: the last of three waits for two more copies than the
    first. VMs alternate between the two nodes, so the second is on the other one. The first copy fetches the packet for
    all.
    """
    point = replay(quiet(spec(3)), 10 * US)
    host = build_host(point, Streams(1, 0))
    host.clock.advance(12 * US)  # the poll has begun, but nothing is copied yet
    cost = CostTable(point.costs, point.hardware.cpu)
    first = [port.vnic.ring.first() for port in host.ports]
    away = node_memory(point.costs, point.hardware.cpu).far_ps
    assert [b - a for a, b in pairwise(first)] == [cost.port_copy(800, away, far=True), cost.port_copy(800)]
    assert [port.vnic.ring.take(9, host.clock.now) for port in host.ports] == [[], [], []]


BUSY = SECOND / (24 * US + 2 * US / 2)
"""Interrupts per second of a busy queue: moderation delays each by 24 us, and the NIC's clock steps of 2 us add half a step on average."""


@pytest.mark.parametrize(
    ("rate", "physical", "virtual"),
    [(1_000.0, 1_000, 1_000), (18_000.0, 18_000, 18_000 / 5), (58_000.0, BUSY, 58_000 / 15)],
)
def test_interrupts_are_bounded_by_moderation_and_by_rate_based_coalescing(rate: float, physical: float, virtual: int):
    """One per packet while packets are rare; then just below 41,667 per second from the NIC, because of its clock steps, and for the guest one per batch at 4,000 per second."""
    host = run(quiet(spec(rate=rate)))
    assert interrupts(host) == pytest.approx((physical, virtual), rel=0.05)


def test_disabled_coalescing_interrupts_for_every_packet_a_guest_can_take():
    """A guest that sleeps between packets is woken for each."""
    host = run(coalescing(quiet(spec(rate=5_000.0)), scheme="disabled"))
    assert interrupts(host)[1] == pytest.approx(5_000, rel=0.005)


def test_static_coalescing_does_not_keep_an_idle_guest_waiting():
    """A halted guest gets its packet at once."""
    host = run(coalescing(replay(quiet(spec()), 10 * US), scheme="static"))
    assert host.flows[0].latency.total < 40 * US


def test_a_full_nic_ring_drops_at_no_cost():
    """Twice the load that the context can copy: it is always busy, excess packets cost nothing, and all receivers lose equally."""
    host = run(spec(36, rate=40_000.0))
    ring = host.queues[0].ring
    assert ring.dropped > 10_000
    assert host.polls[0].used > 0.999 * SECOND
    assert len({port.vnic.ring.pushed for port in host.ports}) == 1
    assert sum(port.vnic.ring.dropped for port in host.ports) == 0


def test_a_split_queue_overflows_at_its_length():
    """Net.MaxPortRxQueueLen limits the queue of a split-receive context: a burst of 200 into 5 places."""
    short = {"host__advanced__Net.MaxPortRxQueueLen": "5"}
    point = replay(quiet(spec(split=True, **short)), *[10 * US + i for i in range(200)])
    host = run(point)
    split = host.ports[0].split
    assert split is not None
    assert split.ring.dropped > 0
    assert split.ring.taken + split.ring.dropped == 200
    assert host.flows[0].delivered == split.ring.taken


def test_a_short_guest_ring_overflows():
    """32 descriptors and a burst of 500, which the guest's slow stack cannot empty in time."""
    slow = {"vms__receiver__rx_ring": "32", "platform__costs__guest_rx_packet__cycles": "20000"}
    host = run(replay(quiet(spec(**slow)), *[10 * US + i * 100_000 for i in range(500)]))
    assert host.ports[0].vnic.ring.dropped > 0
    lost = host.ports[0].vnic.ring.dropped + host.queues[0].ring.dropped + host.vcpus[0].socket_dropped
    assert host.flows[0].delivered == 500 - lost


def test_a_small_socket_buffer_overflows_after_the_stack_has_done_its_work():
    """A poll brings more than the buffer holds: excess packets are dropped after costing the stack as much as the others."""
    point = quiet(spec(rate=40_000.0))
    groups = tuple(
        g.model_copy(
            update={"guest": g.guest.model_copy(update={"socket_buffer": 4 * (800 + g.guest.socket_overhead)})}
        )
        for g in point.vms
    )
    host = run(point.model_copy(update={"vms": groups}))
    vcpu = host.vcpus[0]
    assert vcpu.socket_dropped > 0
    assert vcpu.came == vcpu.read + vcpu.socket_dropped + vcpu.in_socket()
    assert vcpu.read == pytest.approx(4 * vcpu.interrupts, rel=0.05)  # fewer until the rate is known


def test_split_receive_contexts_take_the_copies_off_the_netpoll():
    """The same copies in other worlds: the NetPoll's time falls by the time that the contexts now use."""
    default, split = run(quiet(spec(8))), run(quiet(spec(8, split=True)))
    cost = CostTable(spec().costs, spec().hardware.cpu)
    memory = node_memory(spec().costs, spec().hardware.cpu)
    near, away = cost.port_copy(800, memory.dma_ps / 4), cost.port_copy(800, memory.far_ps / 4, far=True)
    copies = 4 * 40_000 * (near + away)
    contexts = sum(port.split.used for port in split.ports if port.split)
    assert contexts > 0.99 * copies
    assert default.polls[0].used - split.polls[0].used > 0.8 * copies - 8 * 40_000 * cost.split_enqueue


def test_a_tickless_guest_keeps_house_whether_or_not_packets_come():
    """A wake-up per period, at its cost, and no tick while idle."""
    point = spec(rate=1.0)
    host = run(point)
    cost = CostTable(point.costs, point.hardware.cpu)
    turn = cost.halt_exit + cost.context_switch + cost.cache_refill_same + cost.vcpu_wake
    times = SECOND // point.vms[0].guest.housekeeping_period
    assert host.vcpus[0].used == pytest.approx(times * (cost.guest_housekeeping + turn), rel=0.02)


def test_a_periodic_guest_ticks_while_it_idles_too():
    """In addition a thousand ticks per second, each of which wakes it."""
    point = spec(rate=1.0, vms__receiver__guest__tickless="false", vms__receiver__guest__housekeeping_period="10 ms")
    host = run(point)
    cost = CostTable(point.costs, point.hardware.cpu)
    turn = cost.halt_exit + cost.context_switch + cost.cache_refill_same + cost.vcpu_wake
    due = 100 * cost.guest_housekeeping + 1000 * cost.guest_timer_tick
    assert due + 1000 * turn < host.vcpus[0].used < due + 1100 * turn


@pytest.mark.parametrize("split", [False, True])
def test_events_grow_with_interrupts_and_not_with_packets(split: bool):
    """Eight times the packets at the same interrupt rate: no additional event per packet, and at most one more per
    interrupt. As packets and interrupts are not in phase, a poll may find another packet at its end, and an interrupt
    may arrive during a longer burst of the guest.
    """
    slow = {"hardware__nics__vmnic0__interrupt_interval": "125 us"}
    few, many = run(spec(rate=9_000.0, split=split, **slow)), run(spec(rate=72_000.0, split=split, **slow))
    packets = many.flows[0].sent - few.flows[0].sent
    assert packets == pytest.approx(63_000, rel=0.001)
    assert many.clock.scheduled() - few.clock.scheduled() < sum(interrupts(many)) < 0.2 * packets


def test_poisson_streams_share_the_wire_and_lose_nothing():
    """Two senders on one wire: frames queue behind each other, and every frame is accounted for."""
    point = spec(2)
    stream = point.traffic["stream"].model_copy(update={"rate": 15_000.0, "arrivals": ArrivalSpec(process="poisson")})
    host = run(point.model_copy(update={"traffic": {"one": stream, "other": stream}}))
    for flow in host.flows:
        assert flow.sent == pytest.approx(15_000, rel=0.05)
        assert flow.delivered == pytest.approx(2 * flow.sent, rel=0.01)


def test_the_same_seed_gives_the_same_run_and_another_does_not():
    """Every counter at every boundary."""
    point = spec(3)
    runs = []
    for seed in (1, 1, 2):
        host = build_host(point, Streams(seed, 0))
        host.probe.start()
        host.clock.advance(SECOND // 5)
        host.probe.sample()
        _, series, _ = host.probe.collect()
        runs.append({name: values.values.tobytes() for name, values in series.items()})
    assert runs[0] == runs[1] != runs[2]


def test_a_mixed_host_serves_both_kinds_of_ports():
    """Some vNICs with their own contexts, some without, on one stream."""
    point = spec(4)
    [group] = point.vms
    other = with_vnics(group, lambda vnic: vnic.model_copy(update={"split_rx": True}))
    other = other.model_copy(update={"name": "other"})
    stream = point.traffic["stream"].model_copy(update={"to": ("receiver", "other")})
    host = run(point.model_copy(update={"vms": (group, other), "traffic": {"stream": stream}}), 200 * MS)
    received = [port.vnic.ring.taken for port in host.ports]
    assert [port.split is not None for port in host.ports] == [False] * 4 + [True] * 4
    assert min(received) == pytest.approx(max(received), rel=0.01)
    assert host.flows[0].delivered == pytest.approx(8 * host.flows[0].sent, rel=0.01)
