"""The host: the one file that wires parts together, names them and lets them be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hostsim.engine.clock import Clock
from hostsim.engine.probe import Probe
from hostsim.engine.streams import Streams
from hostsim.errors import WiringError
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.cpu.world import World, ready_times
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.net.pnic import NetPoll, RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.net.vswitch import Port, SplitRx, VSwitch
from hostsim.model.net.wire import Wire
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow
from hostsim.model.traffic.source import make_arrivals, make_lengths
from hostsim.model.traffic.work import Work
from hostsim.policy.scheduling import home_node
from hostsim.spec.host import PointSpec
from hostsim.spec.workload import MulticastSpec, WorkSpec

__all__ = ["Host", "build_host"]

SLICES_AT_FIRST = 128


class Host:
    """A wired host, ready to run.

    Attributes:
        clock: its time.
        scheduler: its PCPUs.
        queues: receive queues of its physical NICs.
        polls: their NetPoll worlds.
        ports: virtual ports, one a VM, in order of power-on.
        vcpus: vCPUs, one a VM, in the same order.
        flows: what comes at it, in the order of the scenario.
        probe: its counters in time slices.
    """

    def __init__(self, clock: Clock, scheduler: Scheduler, probe: Probe) -> None:
        self.clock, self.scheduler, self.probe = clock, scheduler, probe
        self.queues: list[RxQueue] = []
        self.polls: list[NetPoll] = []
        self.ports: list[Port] = []
        self.vcpus: list[Vcpu] = []
        self.flows: list[Flow] = []

    def worlds(self) -> list[World]:
        """All worlds."""
        splits = [port.split for port in self.ports if port.split is not None]
        return [*self.polls, *splits, *self.vcpus]


Members = dict[str, list[tuple[Port, Vcpu]]]
"""The VMs of each group: port and vCPU."""


def build_host(spec: PointSpec, streams: Streams) -> Host:
    """Wire a host as its spec says; time has not started.

    Raises:
        WiringError: a part lacks its other end.
    """
    clock = Clock()
    cpu = spec.hardware.cpu
    timing = Timing(spec.costs, cpu)
    scheduler = Scheduler(clock, cpu.sockets, cpu.cores, timing, spec.settings)
    host = Host(clock, scheduler, Probe(clock, max(1, spec.length // SLICES_AT_FIRST)))
    switches = {name: VSwitch(scheduler, timing) for name in spec.vswitches}
    wires = _build_uplinks(spec, host, switches, timing)
    members = _build_vms(spec, host, timing)
    for name, traffic in spec.traffic.items():
        if isinstance(traffic, MulticastSpec):
            _build_stream(spec, host, switches, wires, members, name, streams)
        else:
            _build_work(host, members, name, traffic, streams)
    _boot(spec, members, streams)
    for poll in host.polls:
        poll.rest(clock.now)
    _watch(host)
    return host


def _build_uplinks(spec: PointSpec, host: Host, switches: dict[str, VSwitch], timing: Timing) -> dict[str, Wire]:
    """One receive queue and its NetPoll for the uplink of each switch; returns the wire in front of each switch."""
    wires = {}
    for name, vswitch in spec.vswitches.items():
        uplink = vswitch.uplinks[0]
        nic = spec.hardware.nics.get(uplink)
        if nic is None:
            raise WiringError(f"the uplink {uplink!r} of {name!r} is not a NIC of the host")
        node = host.scheduler.nodes[nic.node]
        wire = Wire(nic.line_rate)
        queue = RxQueue(host.clock, f"{uplink}-rx0", nic.rx_ring, nic.interrupt_interval, wire)
        start = node.pcpus[len(host.polls) % len(node.pcpus)]
        budget = spec.settings.poll_budget
        poll = NetPoll(
            f"{uplink}-pollWorld-0", node, start, host.scheduler, queue, switches[name], timing, nic.driver, budget
        )
        host.queues.append(queue)
        host.polls.append(poll)
        wires[name] = wire
    return wires


def _build_vms(spec: PointSpec, host: Host, timing: Timing) -> Members:
    """All VMs, homes dealt round robin over the nodes in order of power-on."""
    scheduler, clock = host.scheduler, host.clock
    hertz = spec.costs.cycle_rate(spec.hardware.cpu.family, spec.hardware.cpu.clock)
    members: Members = {}
    for group in spec.vms:
        guest, settings = group.guest, group.settings
        read_ps = guest.applications.udp_sink.ps(hertz)
        members[group.name] = []
        for number in range(group.count):
            vm = len(host.vcpus)
            name = f"{group.name}[{number}]"
            node = scheduler.nodes[home_node(vm, len(scheduler.nodes))]
            start = node.pcpus[vm // len(scheduler.nodes) % len(node.pcpus)]
            vcpu = Vcpu(clock, f"{name}.vcpu0", node, start, scheduler, timing, guest, read_ps, settings.shares)
            vcpu.vnic = Vnic(clock, f"{name}.eth0", settings.rx_ring, settings.coalescing, vcpu)
            split = None
            if settings.split_rx:
                capacity, budget = spec.settings.port_rx_queue, spec.settings.poll_budget
                split = SplitRx(f"{name}.splitRx", node, start, vcpu.vnic, timing, capacity, budget)
            port = Port(vcpu.vnic, split)
            scheduler.adopt([vcpu] if split is None else [vcpu, split])
            host.vcpus.append(vcpu)
            host.ports.append(port)
            members[group.name].append((port, vcpu))
    return members


def _build_stream(
    spec: PointSpec,
    host: Host,
    switches: dict[str, VSwitch],
    wires: dict[str, Wire],
    members: Members,
    name: str,
    streams: Streams,
) -> None:
    """A multicast stream: over the wire of the switch that its receivers are on, to their ports."""
    traffic = spec.traffic[name]
    networks = sorted({group.network for group in spec.vms if group.name in traffic.to})
    if len(networks) != 1:
        raise WiringError(f"the receivers of {name!r} are on {len(networks)} virtual switches; a stream enters by one")
    assert isinstance(traffic, MulticastSpec)
    receivers = [port for group in traffic.to for port, _ in members[group]]
    flow = Flow(name, traffic.packet_size, len(receivers))
    position = len(host.flows)
    host.flows.append(flow)
    wires[networks[0]].carry(flow, make_arrivals(traffic.arrivals, traffic.rate, streams.stream("traffic", position)))
    for port in receivers:
        switches[networks[0]].join(flow, port)


def _build_work(host: Host, members: Members, name: str, traffic: WorkSpec, streams: Streams) -> None:
    """Work for every VM of some groups, each VM with arrivals and lengths of its own."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    host.flows.append(flow)
    for number, vcpu in enumerate(vcpu for group in traffic.to for _, vcpu in members[group]):
        if vcpu.work is not None:
            raise WiringError(
                f"{vcpu.name} has work from {vcpu.work.flow.name!r} already; {name!r} would be a second source"
            )
        vcpu.work = Work(
            flow,
            make_arrivals(traffic.arrivals, traffic.rate, streams.stream("traffic", position, number, "arrivals")),
            make_lengths(traffic.service, streams.stream("traffic", position, number, "lengths")),
            batch=traffic.batch,
            together=traffic.together,
            waiting=traffic.waiting,
        )


def _boot(spec: PointSpec, members: Members, streams: Streams) -> None:
    """Start every guest's timer at a random point of its period."""
    for place, group in enumerate(spec.vms):
        for number, (_, vcpu) in enumerate(members[group.name]):
            vcpu.boot(int(streams.stream("vm", place, number).integers(0, group.guest.timer_period)))


def _watch(host: Host) -> None:
    """Tell the probe what to sample."""
    probe, scheduler = host.probe, host.scheduler
    pcpus = scheduler.pcpus
    workers = [(vcpu, vcpu.work) for vcpu in host.vcpus if vcpu.work is not None]

    def bring_up_to_date(now: int) -> None:
        for pcpu in pcpus:
            pcpu.charge(now)
        for queue in host.queues:
            queue.settle(now)
        for _, work in workers:
            work.settle(now)

    probe.on_sample.append(bring_up_to_date)

    def watch(kind: str, counters: str, names: Iterable[str], read: Callable[[int], Sequence[Sequence[int]]]) -> None:
        probe.watch(kind, counters.split(), tuple(names), read)

    ports, vcpus, queues, flows, nodes = host.ports, host.vcpus, host.queues, host.flows, scheduler.nodes
    watch(
        "pcpu",
        "busy_ps dispatches switches preemptions",
        (f"pcpu{pcpu.index}" for pcpu in pcpus),
        lambda now: (
            [p.busy(now) for p in pcpus],
            [p.dispatches for p in pcpus],
            [p.switches for p in pcpus],
            [p.preemptions for p in pcpus],
        ),
    )
    watch(
        "node",
        "waiting_ps",
        (f"node{node.index}" for node in nodes),
        lambda now: ([n.waiting.integral(now) for n in nodes],),
    )
    for kind in ("vcpu", "netpoll", "splitrx"):
        worlds = [world for world in host.worlds() if world.kind == kind]
        watch(
            kind,
            "used_ps ready_ps dispatches",
            (world.name for world in worlds),
            lambda now, worlds=worlds: (
                [w.used for w in worlds],
                ready_times(worlds, now),
                [w.dispatches for w in worlds],
            ),  # type: ignore[misc]
        )
    watch("guest", "interrupts", (vcpu.name for vcpu in vcpus), lambda _: ([v.interrupts for v in vcpus],))
    watch(
        "queue",
        "arrived dropped taken interrupts inside inside_copies",
        (queue.name for queue in queues),
        lambda _: (
            [q.ring.pushed for q in queues],
            [q.ring.dropped for q in queues],
            [q.ring.taken for q in queues],
            [q.interrupts for q in queues],
            [q.ring.count_inside() for q in queues],
            [q.copies_inside() for q in queues],
        ),
    )
    watch(
        "port",
        "copies split_dropped split_taken ring_dropped received socket_dropped read split_inside ring_inside unread",
        (port.vnic.name for port in ports),
        lambda _: (
            [(p.split or p.vnic).ring.pushed for p in ports],
            [p.split.ring.dropped if p.split else 0 for p in ports],
            [p.split.ring.taken if p.split else 0 for p in ports],
            [p.vnic.ring.dropped for p in ports],
            [v.received for v in vcpus],
            [v.socket_dropped for v in vcpus],
            [v.read for v in vcpus],
            [p.split.ring.count_inside() if p.split else 0 for p in ports],
            [p.vnic.ring.count_inside() for p in ports],
            [v.in_socket() for v in vcpus],
        ),
    )
    watch(
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
    watch(
        "flow",
        "sent intended dropped_nic delivered",
        (flow.name for flow in flows),
        lambda _: (
            [f.sent for f in flows],
            [f.sent * f.receivers for f in flows],
            [f.lost_nic * f.receivers for f in flows],
            [f.delivered for f in flows],
        ),
    )
    for flow in host.flows:
        probe.watch_latency("flow.latency", flow.name, flow.latency)
