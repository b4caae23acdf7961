"""Telemetry of a host: the counters that its probe samples, by kind and entity."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hostsim.engine.probe import Column, Probe
from hostsim.model.contract import STAGES, Flow, TcpWindow
from hostsim.model.cpu.pcpu import World, costop_times, limited_times, ready_times
from hostsim.model.host import Host
from hostsim.model.receive.context import Port
from hostsim.model.transmit.networld import NetWorld
from hostsim.model.transmit.nic_switch import SwitchingPnic

if TYPE_CHECKING:
    from mypy_extensions import i64

__all__ = ["VMKERNEL", "WORLD_KINDS", "register_probes"]

MOST_GROUPS = 62
"""Largest number of VM groups, as a counter has 63 bits."""

WORLD_KINDS = ("vcpu", "netpoll", "splitrx", "networld", "firmware")
"""Kinds of worlds that every host has."""
VMKERNEL = "vmkernel"
"""Kind of threads of VMkernel ports, on hosts with such ports."""


def register_probes(host: Host) -> None:
    """Register all counters of a host with its probe."""
    probe, pcpus, nodes = host.probe, host.scheduler.pcpus, host.scheduler.nodes
    vcpus, queues, flows, nics = host.vcpus, host.queues, host.flows, list(host.nics.values())
    works = [vcpu.work for vcpu in vcpus if vcpu.work is not None]
    kinds = (*WORLD_KINDS, VMKERNEL) if host.vmkernel else WORLD_KINDS
    of_kind = {kind: [world for world in host.worlds() if world.kind == kind] for kind in kinds}
    index_of: dict[object, int] = {world: index for worlds in of_kind.values() for index, world in enumerate(worlds)}

    def bring_up_to_date(now: int) -> None:
        for pcpu in pcpus:
            pcpu.charge(now)
        for queue in queues:
            queue.settle(now)
        for nic in nics:
            nic.depart(now)
        for work in works:
            work.settle(now)

    probe.on_sample.append(bring_up_to_date)
    probe.watch(
        "pcpu",
        [f"pcpu{p.index}" for p in pcpus],
        {
            "busy_ps": lambda now: [p.busy(now) for p in pcpus],
            "used_ps": lambda now: [p.used(now) for p in pcpus],
            "dispatches": lambda _: [p.dispatches for p in pcpus],
            "switches": lambda _: [p.switches for p in pcpus],
            "preemptions": lambda _: [p.preemptions for p in pcpus],
            "node": [p.node.index for p in pcpus],
        },
    )
    probe.watch(
        "node",
        [f"node{n.index}" for n in nodes],
        {
            "waiting_ps": lambda now: [n.waiting.integral(now) for n in nodes],
            "memory_ps": lambda _: [n.memory.busy for n in nodes],
        },
    )
    probe.watch("numa_io", ["host"], {"in_force_ps": lambda now: [host.numa_io.state.integral(now)]})
    probe.watch("tuning", ["host"], {"dense_ps": lambda now: [host.dense_mode.state.integral(now)]})
    for kind, worlds in of_kind.items():
        _watch_worlds(probe, kind, worlds)
    if any(vcpu.limit is not None for vcpu in vcpus):
        limited: list[World] = [*vcpus]
        probe.watch("vcpu", [v.name for v in vcpus], {"limited_ps": lambda now: limited_times(limited, now)})
    probe.watch(
        "guest",
        [v.name for v in vcpus],
        {
            "interrupts": lambda _: [v.interrupts for v in vcpus],
            "came": lambda now: [v.came - v.coming(now) for v in vcpus],
            "socket_dropped": lambda _: [v.socket_dropped for v in vcpus],
            "read": lambda _: [v.read for v in vcpus],
            "unread": lambda now: [v.in_socket() - v.coming(now) for v in vcpus],
        },
    )
    probe.watch(
        "queue",
        [q.name for q in queues],
        {
            "arrived": lambda _: [q.ring.pushed for q in queues],
            "dropped": lambda _: [q.ring.dropped for q in queues],
            "taken": lambda _: [q.ring.taken for q in queues],
            "interrupts": lambda _: [q.interrupts for q in queues],
            "inside": lambda _: [q.ring.count_inside() for q in queues],
            "inside_copies": lambda _: [q.copies_inside() for q in queues],
            "capacity": [q.ring.capacity for q in queues],
            "context": [index_of.get(q.poll, -1) for q in queues],  # with DirectPath I/O no world polls
        },
    )
    _watch_ports(host, index_of)
    _watch_transmits(host, of_kind["networld"])
    specs = [host.spec.hardware.nics[nic.name] for nic in nics]
    in_slot = [int(spec.rate < spec.line_rate) for spec in specs]
    probe.watch(
        "nic",
        [nic.name for nic in nics],
        ({"in_slot": in_slot} if any(in_slot) else {})
        | {
            "rx_frames": lambda _: [sum(queue.ring.taken for queue in nic.queues) for nic in nics],
            "rx_octets": lambda _: [nic.rx_octets for nic in nics],
            "rx_dropped": lambda _: [sum(queue.ring.dropped for queue in nic.queues) for nic in nics],
            "tx_packets": lambda _: [nic.tx_packets for nic in nics],
            "tx_data": lambda _: [nic.tx_data for nic in nics],
            "tx_frames": lambda _: [nic.tx_frames for nic in nics],
            "tx_octets": lambda _: [nic.tx_octets for nic in nics],
            "tx_dropped": lambda _: [nic.tx_dropped for nic in nics],
            "rx_wire_ps": lambda _: [nic.rx_wire_ps for nic in nics],
            "tx_wire_ps": lambda _: [nic.tx_wire_ps for nic in nics],
        },
    )
    if switching := [nic for nic in nics if isinstance(nic, SwitchingPnic)]:
        probe.watch(
            "slot",
            [nic.name for nic in switching],
            {
                "frames": lambda _: [nic.switched for nic in switching],
                "out_ps": lambda _: [nic.slot_out.taken for nic in switching],
                "in_ps": lambda _: [nic.slot_in.taken for nic in switching],
            },
        )
    probe.watch(
        "work",
        [v.name for v in vcpus if v.work is not None],
        {
            "come": lambda _: [work.ring.pushed for work in works],
            "dropped": lambda _: [work.ring.dropped for work in works],
            "started": lambda _: [work.ring.taken for work in works],
            "inside": lambda _: [work.ring.count_inside() for work in works],
            "in_service": lambda _: [work.unfinished() for work in works],
        },
    )
    _watch_flows(host)
    if local := host.local_ports:
        transmits = host.transmits
        probe.watch(
            "local",
            [p.name for p in local],
            {
                "came": lambda _: [p.came for p in local],
                "delivered": lambda _: [p.delivered for p in local],
                "dropped": lambda _: [p.ring.dropped for p in local],
                "lost": lambda _: [p.lost for p in local],
                "inside": lambda _: [p.ring.count_inside() for p in local],
            },
        )
        probe.watch("switched", [q.name for q in transmits], {"packets": lambda _: [q.switched for q in transmits]})
    if host.migrations:
        migrations = list(host.migrations.values())
        probe.watch(
            "migration",
            list(host.migrations),
            {
                "rounds": lambda _: [migration.rounds if migration.stopped else 0 for migration in migrations],
                "took_ps": lambda _: [migration.took for migration in migrations],
                "stopped_ps": lambda _: [migration.stopped for migration in migrations],
                "done": lambda _: [1 if migration.stopped else 0 for migration in migrations],
            },
        )
    if trips := [flow for flow in flows if flow.stages]:
        _watch_trips(probe, trips)
    if windowed := [flow for flow in flows if flow.windows]:
        connections = [_by_size(f.windows) for f in windowed]
        probe.watch(
            "tcp",
            [f.name for f in windowed],
            {
                "connections": [len(f.windows) for f in windowed],
                "window": [sum(tcp.window * size for tcp, size in f.windows) for f in windowed],
                "allowed": lambda _: [_octets(tcp, in_flight=False) for tcp in connections],
                "in_flight": lambda _: [_octets(tcp, in_flight=True) for tcp in connections],
            },
        )
    flows_of_work = {work.flow for work in works}
    for flow in flows:
        if flow in flows_of_work:
            probe.watch_latency("work.time", flow.name, flow.work_time)
        else:
            probe.watch_latency("flow.latency", flow.name, flow.latency)
    if any(traffic.has_answers for traffic in host.spec.traffic.values()):
        for flow in flows:
            probe.watch_latency("flow.response", flow.name, flow.response)


def _watch_worlds(probe: Probe, kind: str, worlds: list[World]) -> None:
    has_siblings = any(world.skew is not None for world in worlds)  # no other world is ever co-stopped
    probe.watch(
        kind,
        [world.name for world in worlds],
        {
            "used_ps": lambda _: [world.used for world in worlds],
            "ready_ps": lambda now: ready_times(worlds, now),
            "costop_ps": (lambda now: costop_times(worlds, now)) if has_siblings else [0] * len(worlds),
            "dispatches": lambda _: [world.dispatches for world in worlds],
            "node": lambda _: [world.node.index for world in worlds],
        },
    )


def _watch_ports(host: Host, index_of: dict[object, int]) -> None:
    ports, nics = host.ports, list(host.nics.values())
    splits = [p.split for p in ports if p.split is not None]
    none = [0] * len(ports)
    host.probe.watch(
        "port",
        [p.vnic.name for p in ports],
        {
            "copies": lambda _: [_copies(p) for p in ports],
            "frames": lambda _: [_frames(p) for p in ports],
            "split_dropped": (lambda _: [p.split.ring.dropped if p.split else 0 for p in ports]) if splits else none,
            "split_taken": (lambda _: [p.split.ring.taken if p.split else 0 for p in ports]) if splits else none,
            "ring_dropped": lambda _: [p.vnic.ring.dropped for p in ports],
            "ring_lost": lambda _: [p.vnic.lost for p in ports],
            "received": lambda _: [p.vnic.ring.taken for p in ports],
            "split_inside": (lambda _: [p.split.ring.count_inside() if p.split else 0 for p in ports])
            if splits
            else none,
            "ring_inside": lambda _: [p.vnic.ring.count_inside() for p in ports],
            "split_capacity": [p.split.ring.capacity if p.split else 0 for p in ports],
            "ring_capacity": [p.vnic.size for p in ports],
            "context": [index_of[p.split] if p.split else -1 for p in ports],
            "vcpu": [index_of[p.vnic.vcpu] for p in ports],
            "nic": [nics.index(device.nic) for vm in host.vms for device in vm.devices for _ in device.ports],
        },
    )


def _copies(port: Port) -> int:
    """Packets for a port; unicast bypasses the split-receive context."""
    return port.vnic.ring.pushed if port.split is None else port.split.ring.pushed + port.vnic.unicast


def _frames(port: Port) -> int:
    """Frames of these packets; a multicast packet is one frame."""
    frames = port.vnic.frames + port.vnic.listed
    return frames if port.split is None else frames + port.split.ring.pushed - port.split.ring.taken


def _watch_transmits(host: Host, worlds: list[World]) -> None:
    queues = host.transmits
    context_of = {queue: i for i, world in enumerate(worlds) if isinstance(world, NetWorld) for queue in world.queues}
    host.probe.watch(
        "tx",
        [q.name for q in queues],
        {
            "posted": lambda now: [q.ring.pushed - q.coming(now) for q in queues],
            "dropped": lambda _: [q.ring.dropped for q in queues],
            "taken": lambda _: [q.ring.taken for q in queues],
            "inside": lambda now: [q.ring.count_inside() - q.coming(now) for q in queues],
            "completed": lambda _: [q.completions.completed for q in queues],
            "in_flight": lambda _: [q.completions.in_flight for q in queues],
            "forced": lambda _: [q.wakes[0] for q in queues],
            "opportunistic": lambda _: [q.wakes[1] for q in queues],
            "halted": lambda _: [q.wakes[2] for q in queues],
            "timed": lambda _: [q.wakes[3] for q in queues],
            "capacity": [q.size for q in queues],
            "context": [context_of[q] for q in queues],
        },
    )


def _watch_flows(host: Host) -> None:
    flows = host.flows
    host.probe.watch(
        "flow",
        [f.name for f in flows],
        {
            "sent": lambda _: [f.sent for f in flows],
            "intended": lambda _: [f.sent * f.receivers for f in flows],
            "dropped_nic": lambda _: [f.lost_nic * f.receivers for f in flows],
            "dropped_split": lambda _: [f.lost_split for f in flows],
            "dropped_ring": lambda _: [f.lost_ring for f in flows],
            "dropped_list": lambda _: [f.lost_list for f in flows],
            "dropped_socket": lambda _: [f.lost_socket for f in flows],
            "dropped_out": lambda _: [f.lost_out for f in flows],
            "out": lambda _: [f.out for f in flows],
            "to_forward": lambda _: [f.to_forward for f in flows],
            "forwarded": lambda _: [f.forwarded for f in flows],
            "delivered": lambda _: [f.delivered for f in flows],
            "octets": lambda _: [f.octets for f in flows],
            "users": lambda _: [f.users for f in flows],
            "asked": lambda _: [f.asked for f in flows],
            "answered": lambda _: [f.answered for f in flows],
            "receivers": [0 if f.is_local else f.receivers for f in flows],
            "groups": [_groups(host, f) for f in flows],
        },
    )


def _watch_trips(probe: Probe, flows: list[Flow]) -> None:
    columns: dict[str, Column] = {"count": lambda _: [f.answered for f in flows]}
    columns |= {f"{stage}_ps": partial(_times_in, flows, index) for index, stage in enumerate(STAGES)}
    probe.watch("trip", [f.name for f in flows], columns)


def _times_in(flows: list[Flow], stage: int, _now: int) -> list[int]:
    """Return the times of round trips of each flow in a stage."""
    return [f.stages[stage] for f in flows]


def _by_size(windows: list[tuple[TcpWindow, int]]) -> list[tuple[int, list[TcpWindow]]]:
    """Return the windows of connections with equal segments, as usually all of a flow, by bytes of data in a segment."""
    sizes = dict.fromkeys(size for _, size in windows)
    return [(size, [window for window, each in windows if each == size]) for size in sizes]


def _octets(connections: list[tuple[int, list[TcpWindow]]], *, in_flight: bool) -> int:
    """Return bytes of data that congestion windows allow, or that are in flight."""
    octets = 0
    for size, windows in connections:
        segments: i64 = 0
        for window in windows:
            segments += window.in_flight if in_flight else window.allowed
        octets += size * segments
    return octets


def _groups(host: Host, flow: Flow) -> int:
    """VM groups of a traffic entry as bits, in the order of the groups with VMs; 0 if unknown."""
    spec = host.spec.traffic.get(flow.name)  # a flow of a process may have any name
    groups = list(dict.fromkeys(vm.group.name for vm in host.vms))
    if (spec is None and not flow.groups) or len(groups) > MOST_GROUPS:
        return 0
    names = {*flow.groups} if spec is None else {*spec.to, *getattr(spec, "sender", ())}
    return sum(1 << index for index, group in enumerate(groups) if group in names)
