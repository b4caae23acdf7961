"""Telemetry of a host: the counters that its probe samples, by kind and entity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TypeVar

from hostsim.model.contract import STAGES, Flow
from hostsim.model.cpu.pcpu import World, costop_times, limited_times, ready_times
from hostsim.model.host import Host
from hostsim.model.transmit.networld import NetWorld
from hostsim.model.transmit.nic_switch import SwitchingPnic

__all__ = ["VMKERNEL", "WORLD_KINDS", "register_probes"]

T = TypeVar("T")
MOST_GROUPS = 62
"""Largest number of VM groups, as a counter has 63 bits."""

WORLD_KINDS = ("vcpu", "netpoll", "splitrx", "networld", "firmware")
"""Kinds of worlds that every host has."""
VMKERNEL = "vmkernel"
"""Kind of threads of VMkernel ports, on hosts with such ports."""


def register_probes(host: Host) -> None:
    """Register all counters of a host with its probe."""
    probe, scheduler = host.probe, host.scheduler
    vcpus, queues, flows, nics = host.vcpus, host.queues, host.flows, list(host.nics.values())
    workers = [(vcpu, vcpu.work) for vcpu in vcpus if vcpu.work is not None]
    kinds = (*WORLD_KINDS, VMKERNEL) if host.vmkernel else WORLD_KINDS
    of_kind = {kind: [world for world in host.worlds() if world.kind == kind] for kind in kinds}
    number: dict[object, int] = {world: place for worlds in of_kind.values() for place, world in enumerate(worlds)}
    sends = {queue: world for world in of_kind["networld"] if isinstance(world, NetWorld) for queue in world.queues}

    def bring_up_to_date(now: int) -> None:
        for pcpu in scheduler.pcpus:
            pcpu.charge(now)
        for queue in queues:
            queue.settle(now)
        for nic in nics:
            nic.depart(now)
        for _, work in workers:
            work.settle(now)

    probe.on_sample.append(bring_up_to_date)

    def add(
        kind: str,
        counters: str,
        entities: Sequence[T],
        read: Callable[[T, int], tuple[int, ...]],
        name: Callable[[T], str] = attrgetter("name"),
    ) -> None:
        names = counters.split()

        def sample(now: int) -> list[int]:
            values: list[int] = []
            for entity in entities:
                values.extend(read(entity, now))
            return values

        probe.watch_each(kind, names, tuple(map(name, entities)), sample)

    def add_fixed(kind: str, counters: str, entities: Sequence[str], rows: Sequence[list[int]]) -> None:
        # looked up once, as a host has thousands of entities
        probe.watch(kind, counters.split(), entities, lambda _: rows)

    add(
        "pcpu",
        "busy_ps used_ps dispatches switches preemptions node",
        scheduler.pcpus,
        lambda p, now: (p.busy(now), p.used(now), p.dispatches, p.switches, p.preemptions, p.node.index),
        lambda p: f"pcpu{p.index}",
    )
    add(
        "node",
        "waiting_ps memory_ps",
        scheduler.nodes,
        lambda n, now: (n.waiting.integral(now), n.memory.busy),
        lambda n: f"node{n.index}",
    )
    add("numa_io", "in_force_ps", [host.numa_io], lambda loop, now: (loop.state.integral(now),), lambda _: "host")
    add("tuning", "dense_ps", [host.dense_mode], lambda loop, now: (loop.state.integral(now),), lambda _: "host")
    for kind, worlds in of_kind.items():
        counters = ("used_ps", "ready_ps", "costop_ps", "dispatches", "node")
        probe.watch(kind, counters, tuple(world.name for world in worlds), partial(_world_counters, worlds))
    if any(vcpu.limit is not None for vcpu in vcpus):
        names = tuple(vcpu.name for vcpu in vcpus)
        probe.watch("vcpu", ("limited_ps",), names, lambda now: (limited_times(vcpus, now),))
    add(
        "guest",
        "interrupts came socket_dropped read unread",
        vcpus,
        lambda v, now: (
            v.interrupts,
            v.came - v.coming(now),
            v.socket_dropped,
            v.read,
            v.in_socket() - v.coming(now),
        ),
    )
    add(
        "queue",
        "arrived dropped taken interrupts inside inside_copies capacity context",
        queues,
        lambda q, _: (
            q.ring.pushed,
            q.ring.dropped,
            q.ring.taken,
            q.interrupts,
            q.ring.count_inside(),
            q.copies_inside(),
            q.ring.capacity,
            number.get(q.poll, -1),  # with DirectPath I/O no world polls
        ),
    )
    add(
        "port",
        "copies frames split_dropped split_taken ring_dropped ring_lost received split_inside ring_inside"
        " split_capacity ring_capacity",
        host.ports,
        lambda p, _: (
            # unicast bypasses the split-receive context
            p.split.ring.pushed + p.vnic.unicast if p.split else p.vnic.ring.pushed,
            # a multicast packet is one frame
            p.vnic.frames + p.vnic.listed + (p.split.ring.pushed - p.split.ring.taken if p.split else 0),
            p.split.ring.dropped if p.split else 0,
            p.split.ring.taken if p.split else 0,
            p.vnic.ring.dropped,
            p.vnic.lost,
            p.vnic.ring.taken,
            p.split.ring.count_inside() if p.split else 0,
            p.vnic.ring.count_inside(),
            p.split.ring.capacity if p.split else 0,
            p.vnic.size,
        ),
        lambda p: p.vnic.name,
    )
    add_fixed(
        "port",
        "context vcpu nic",
        [p.vnic.name for p in host.ports],
        (
            [number[p.split] if p.split else -1 for p in host.ports],
            [number[p.vnic.vcpu] for p in host.ports],
            [nics.index(device.nic) for vm in host.vms for device in vm.devices for _ in device.ports],
        ),
    )
    add(
        "tx",
        "posted dropped taken inside completed in_flight forced opportunistic halted timed capacity",
        host.transmits,
        lambda q, now: (
            q.ring.pushed - q.coming(now),
            q.ring.dropped,
            q.ring.taken,
            q.ring.count_inside() - q.coming(now),
            q.completions.completed,
            q.completions.in_flight,
            q.wakes[0],
            q.wakes[1],
            q.wakes[2],
            q.wakes[3],
            q.size,
        ),
    )
    add_fixed("tx", "context", [q.name for q in host.transmits], ([number[sends[q]] for q in host.transmits],))
    add(
        "nic",
        "rx_frames rx_octets rx_dropped tx_packets tx_data tx_frames tx_octets tx_dropped rx_wire_ps tx_wire_ps",
        nics,
        lambda nic, _: (
            sum(queue.ring.taken for queue in nic.queues),
            nic.rx_octets,
            sum(queue.ring.dropped for queue in nic.queues),
            nic.tx_packets,
            nic.tx_data,
            nic.tx_frames,
            nic.tx_octets,
            nic.tx_dropped,
            nic.rx_wire_ps,
            nic.tx_wire_ps,
        ),
    )
    if switching := [nic for nic in nics if isinstance(nic, SwitchingPnic)]:
        add(
            "slot",
            "frames out_ps in_ps",
            switching,
            lambda nic, _: (nic.switched, nic.slot_out.taken, nic.slot_in.taken),
        )
    add(
        "work",
        "come dropped started inside in_service",
        workers,
        lambda worker, _: (
            worker[1].ring.pushed,
            worker[1].ring.dropped,
            worker[1].ring.taken,
            worker[1].ring.count_inside(),
            worker[1].unfinished(),
        ),
        lambda worker: worker[0].name,
    )
    add(
        "flow",
        "sent intended dropped_nic dropped_split dropped_ring dropped_list dropped_socket dropped_out out to_forward forwarded delivered octets users asked answered",
        flows,
        lambda f, _: (
            f.sent,
            f.sent * f.receivers,
            f.lost_nic * f.receivers,
            f.lost_split,
            f.lost_ring,
            f.lost_list,
            f.lost_socket,
            f.lost_out,
            f.out,
            f.to_forward,
            f.forwarded,
            f.delivered,
            f.octets,
            f.users,
            f.asked,
            f.answered,
        ),
    )
    add_fixed(
        "flow",
        "receivers groups",
        [f.name for f in flows],
        ([0 if f.is_local else f.receivers for f in flows], [_groups(host, f) for f in flows]),
    )
    if local := host.local_ports:
        add(
            "local",
            "came delivered dropped lost inside",
            local,
            lambda p, _: (p.came, p.delivered, p.ring.dropped, p.lost, p.ring.count_inside()),
        )
        add("switched", "packets", host.transmits, lambda q, _: (q.switched,))
    if migrations := host.migrations:
        add(
            "migration",
            "rounds stopped_ps done",
            list(migrations.items()),
            lambda entry, _: (entry[1].rounds, entry[1].stopped, 1) if entry[1].stopped else (0, 0, 0),
            lambda entry: entry[0],
        )
    if trips := [flow for flow in flows if flow.stages]:
        stages = " ".join(f"{stage}_ps" for stage in STAGES)
        add("trip", f"count {stages}", trips, lambda f, _: (f.answered, *f.stages))
    if windowed := [flow for flow in flows if flow.windows]:
        add("tcp", "connections window allowed in_flight", windowed, lambda f, _: _windows(f))
    works = {work.flow for _, work in workers}
    for flow in flows:
        if flow in works:
            probe.watch_latency("work.time", flow.name, flow.work_time)
        else:
            probe.watch_latency("flow.latency", flow.name, flow.latency)
    if any(traffic.has_answers for traffic in host.spec.traffic.values()):
        for flow in flows:
            probe.watch_latency("flow.response", flow.name, flow.response)


def _windows(flow: Flow) -> tuple[int, int, int, int]:
    """Connections of a flow; bytes of data of their windows, of their congestion windows, and in flight."""
    window = allowed = in_flight = 0
    for each, size in flow.windows:
        window += each.window * size
        allowed += each.allowed * size
        in_flight += each.in_flight * size
    return len(flow.windows), window, allowed, in_flight


def _groups(host: Host, flow: Flow) -> int:
    """VM groups of a traffic entry as bits, in the order of the groups with VMs; 0 if unknown."""
    spec = host.spec.traffic.get(flow.name)  # a flow of a process may have any name
    groups = list(dict.fromkeys(vm.group.name for vm in host.vms))
    if (spec is None and not flow.groups) or len(groups) > MOST_GROUPS:
        return 0
    names = {*flow.groups} if spec is None else {*spec.to, *getattr(spec, "sender", ())}
    return sum(1 << place for place, group in enumerate(groups) if group in names)


def _world_counters(worlds: Sequence[World], now: int) -> Sequence[Sequence[int]]:
    return (
        [world.used for world in worlds],
        ready_times(worlds, now),
        costop_times(worlds, now),
        [world.dispatches for world in worlds],
        [world.node.index for world in worlds],
    )
