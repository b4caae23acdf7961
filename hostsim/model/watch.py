"""What is measured of a host: every counter that the probe samples, by kind and entity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from hostsim.model.cpu.world import costop_times, ready_times
from hostsim.model.net.networld import NetWorld
from hostsim.model.traffic.trip import STAGES
from hostsim.spec.workload import ExchangeSpec, HttpSpec, WebSpec

if TYPE_CHECKING:
    from hostsim.model.host import Host

__all__ = ["WORLD_KINDS", "watch"]

WORLD_KINDS = ("vcpu", "netpoll", "splitrx", "networld", "firmware")
"""Kinds of worlds."""


def watch(host: Host) -> None:
    """Tell the probe of a host what to sample."""
    probe, scheduler = host.probe, host.scheduler
    pcpus, ports, vcpus, queues, flows, nodes = (
        scheduler.pcpus,
        host.ports,
        host.vcpus,
        host.queues,
        host.flows,
        scheduler.nodes,
    )
    transmits, nics = host.transmits, list(host.nics.values())
    workers = [(vcpu, vcpu.work) for vcpu in vcpus if vcpu.work is not None]
    of_kind = {kind: [world for world in host.worlds() if world.kind == kind] for kind in WORLD_KINDS}
    number = {world: place for worlds in of_kind.values() for place, world in enumerate(worlds)}
    sends = {queue: world for world in of_kind["networld"] if isinstance(world, NetWorld) for queue in world.queues}

    def bring_up_to_date(now: int) -> None:
        for pcpu in pcpus:
            pcpu.charge(now)
        for queue in queues:
            queue.settle(now)
        for nic in nics:
            nic.depart(now)
        for _, work in workers:
            work.settle(now)

    probe.on_sample.append(bring_up_to_date)

    def add(kind: str, counters: str, names: Iterable[str], read: Callable[[int], Sequence[Sequence[int]]]) -> None:
        probe.watch(kind, counters.split(), tuple(names), read)

    add(
        "pcpu",
        "busy_ps used_ps dispatches switches preemptions node",
        (f"pcpu{pcpu.index}" for pcpu in pcpus),
        lambda now: (
            [p.busy(now) for p in pcpus],
            [p.used(now) for p in pcpus],
            [p.dispatches for p in pcpus],
            [p.switches for p in pcpus],
            [p.preemptions for p in pcpus],
            [p.node.index for p in pcpus],
        ),
    )
    add(
        "node",
        "waiting_ps",
        (f"node{node.index}" for node in nodes),
        lambda now: ([n.waiting.integral(now) for n in nodes],),
    )
    add("numa_io", "in_force_ps", ("host",), lambda now: ([host.numa_io.state.integral(now)],))
    add("tuning", "dense_ps", ("host",), lambda now: ([host.tuning.state.integral(now)],))
    for kind, worlds in of_kind.items():
        add(
            kind,
            "used_ps ready_ps costop_ps dispatches node",
            (world.name for world in worlds),
            lambda now, worlds=worlds: (  # type: ignore[misc]
                [w.used for w in worlds],
                ready_times(worlds, now),
                costop_times(worlds, now),
                [w.dispatches for w in worlds],
                [w.node.index for w in worlds],
            ),
        )
    add(
        "guest",
        "interrupts came socket_dropped read unread",
        (vcpu.name for vcpu in vcpus),
        lambda now: (
            [v.interrupts for v in vcpus],
            [v.came - v.coming(now) for v in vcpus],
            [v.socket_dropped for v in vcpus],
            [v.read for v in vcpus],
            [v.in_socket() - v.coming(now) for v in vcpus],
        ),
    )
    add(
        "queue",
        "arrived dropped taken interrupts inside inside_copies capacity context",
        (queue.name for queue in queues),
        lambda _: (
            [q.ring.pushed for q in queues],
            [q.ring.dropped for q in queues],
            [q.ring.taken for q in queues],
            [q.interrupts for q in queues],
            [q.ring.count_inside() for q in queues],
            [q.copies_inside() for q in queues],
            [q.ring.capacity for q in queues],
            [number.get(q.poll, -1) for q in queues],  # type: ignore[call-overload]  # of a passed-through NIC it is no world,
        ),
    )
    add(
        "port",
        "copies frames split_dropped split_taken ring_dropped ring_lost received split_inside ring_inside"
        " split_capacity ring_capacity context vcpu",
        (port.vnic.name for port in ports),
        lambda _: (
            [(p.split or p.vnic).ring.pushed for p in ports],
            [p.split.ring.pushed if p.split else p.vnic.frames for p in ports],
            [p.split.ring.dropped if p.split else 0 for p in ports],
            [p.split.ring.taken if p.split else 0 for p in ports],
            [p.vnic.ring.dropped for p in ports],
            [p.vnic.lost for p in ports],
            [p.vnic.ring.taken for p in ports],
            [p.split.ring.count_inside() if p.split else 0 for p in ports],
            [p.vnic.ring.count_inside() for p in ports],
            [p.split.ring.capacity if p.split else 0 for p in ports],
            [p.vnic.size for p in ports],
            [number[p.split] if p.split else -1 for p in ports],
            [number[p.vnic.vcpu] for p in ports],  # type: ignore[index]  # a vNIC interrupts a vCPU
        ),
    )
    add(
        "tx",
        "posted dropped taken inside forced opportunistic halted timed capacity context",
        (queue.name for queue in transmits),
        lambda now: (
            [q.ring.pushed - q.coming(now) for q in transmits],
            [q.ring.dropped for q in transmits],
            [q.ring.taken for q in transmits],
            [q.ring.count_inside() - q.coming(now) for q in transmits],
            *([q.wakes[cause] for q in transmits] for cause in range(4)),
            [q.ring.capacity for q in transmits],
            [number[sends[q]] for q in transmits],
        ),
    )
    add(
        "nic",
        "rx_frames rx_octets tx_packets tx_data tx_frames tx_octets tx_dropped rx_wire_ps tx_wire_ps",
        (nic.name for nic in nics),
        lambda _: (
            [sum(queue.ring.pushed for queue in nic.queues) for nic in nics],
            [nic.rx_octets for nic in nics],
            [nic.tx_packets for nic in nics],
            [nic.tx_data for nic in nics],
            [nic.tx_frames for nic in nics],
            [nic.tx_octets for nic in nics],
            [nic.tx_dropped for nic in nics],
            [nic.rx_wire_ps for nic in nics],
            [nic.tx_wire_ps for nic in nics],
        ),
    )
    add(
        "work",
        "come dropped started inside in_service",
        (vcpu.name for vcpu, _ in workers),
        lambda _: (
            [w.ring.pushed for _, w in workers],
            [w.ring.dropped for _, w in workers],
            [w.ring.taken for _, w in workers],
            [w.ring.count_inside() for _, w in workers],
            [w.unfinished() for _, w in workers],
        ),
    )
    add(
        "flow",
        "sent intended dropped_nic dropped_out delivered octets users asked answered",
        (flow.name for flow in flows),
        lambda _: (
            [f.sent for f in flows],
            [f.sent * f.receivers for f in flows],
            [f.lost_nic * f.receivers for f in flows],
            [f.lost_out for f in flows],
            [f.delivered for f in flows],
            [f.octets for f in flows],
            [f.users for f in flows],
            [f.asked for f in flows],
            [f.answered for f in flows],
        ),
    )
    if trips := [flow for flow in flows if flow.stages]:
        add(
            "trip",
            "count " + " ".join(f"{stage}_ps" for stage in STAGES),
            (flow.name for flow in trips),
            lambda _: (
                [f.answered for f in trips],
                *([f.stages[place] for f in trips] for place in range(len(STAGES))),
            ),
        )
    for flow in flows:
        probe.watch_latency("flow.latency", flow.name, flow.latency)
    if any(isinstance(traffic, HttpSpec | WebSpec | ExchangeSpec) for traffic in host.spec.traffic.values()):
        for flow in flows:
            probe.watch_latency("flow.response", flow.name, flow.response)
