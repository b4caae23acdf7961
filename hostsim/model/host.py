"""The host: the one file that wires parts together, names them and lets them be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hostsim.engine.arrivals import Arrivals, ConstantArrivals, DrawnArrivals, RecordedArrivals
from hostsim.engine.clock import Clock
from hostsim.engine.probe import Probe
from hostsim.engine.streams import Streams
from hostsim.errors import WiringError
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.cpu.world import World
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.net.pnic import NetPoll, RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.net.vswitch import Port, SplitRx, VSwitch
from hostsim.model.net.wire import Wire
from hostsim.model.timing import Timing
from hostsim.model.traffic.flow import Flow
from hostsim.policy.scheduling import home_node
from hostsim.spec.host import PointSpec, VmGroupSpec
from hostsim.spec.workload import MulticastSpec
from hostsim.units import SECOND

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
    members = _build_vms(spec, host, timing, streams)
    for position, (name, traffic) in enumerate(spec.traffic.items()):
        _build_stream(spec, host, switches, wires, members, name, traffic, streams, position)
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


def _build_vms(
    spec: PointSpec, host: Host, timing: Timing, streams: Streams
) -> dict[str, list[tuple[VmGroupSpec, Port]]]:
    """All VMs, homes dealt round robin over the nodes in order of power-on; returns the ports of each group."""
    scheduler, clock = host.scheduler, host.clock
    hertz = spec.costs.cycle_rate(spec.hardware.cpu.family, spec.hardware.cpu.clock)
    members: dict[str, list[tuple[VmGroupSpec, Port]]] = {}
    for place, group in enumerate(spec.vms):
        guest, settings = group.guest, group.settings
        read_ps = guest.applications.udp_sink.ps(hertz)
        ports = members.setdefault(group.name, [])
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
            phase = streams.stream("vm", place, number).integers(0, guest.timer_period)
            vcpu.boot(int(phase))
            scheduler.adopt([vcpu] if split is None else [vcpu, split])
            host.vcpus.append(vcpu)
            host.ports.append(port)
            ports.append((group, port))
    return members


def _build_stream(
    spec: PointSpec,
    host: Host,
    switches: dict[str, VSwitch],
    wires: dict[str, Wire],
    members: dict[str, list[tuple[VmGroupSpec, Port]]],
    name: str,
    traffic: MulticastSpec,
    streams: Streams,
    position: int,
) -> None:
    receivers = [member for group in traffic.to for member in members[group]]
    networks = sorted({group.network for group in spec.vms if group.name in traffic.to})
    if len(networks) != 1:
        raise WiringError(f"the receivers of {name!r} are on {len(networks)} virtual switches; a stream enters by one")
    network = networks[0]
    flow = Flow(name, traffic.packet_size, _arrivals(traffic, streams.stream("traffic", position)), len(receivers))
    host.flows.append(flow)
    wires[network].carry(flow)
    for _, port in receivers:
        switches[network].join(flow, port)


def _arrivals(traffic: MulticastSpec, random: np.random.Generator) -> Arrivals:
    """Instants at which a sender puts its frames on the wire; a steady sender starts at a random point of its interval."""
    spec = traffic.arrivals
    if spec.timestamps_ps is not None:
        return RecordedArrivals(list(spec.timestamps_ps))
    assert traffic.rate is not None
    mean = SECOND / traffic.rate
    if spec.process == "constant":
        return ConstantArrivals(traffic.rate, int(random.uniform(0, mean)))
    draw: Callable[[int], NDArray[np.float64]]
    if spec.process == "poisson":
        draw = lambda count: random.exponential(mean, count)  # noqa: E731  the other case needs its own shape
    else:
        shape = 1 / (spec.cv or 1.0) ** 2
        draw = lambda count: random.gamma(shape, mean / shape, count)  # noqa: E731
    return DrawnArrivals(draw, 0)


def _watch(host: Host) -> None:
    """Tell the probe what to sample."""
    probe, scheduler = host.probe, host.scheduler
    pcpus = scheduler.pcpus

    def bring_up_to_date(now: int) -> None:
        for pcpu in pcpus:
            pcpu.charge(now)
        for queue in host.queues:
            queue.settle(now)

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
                [w.waiting(now) for w in worlds],
                [w.dispatches for w in worlds],
            ),  # type: ignore[misc]
        )
    watch("guest", "interrupts", (vcpu.name for vcpu in vcpus), lambda _: ([v.interrupts for v in vcpus],))
    watch(
        "queue",
        "arrived dropped taken interrupts",
        (queue.name for queue in queues),
        lambda _: (
            [q.ring.pushed for q in queues],
            [q.ring.dropped for q in queues],
            [q.ring.taken for q in queues],
            [q.interrupts for q in queues],
        ),
    )
    watch(
        "port",
        "copies split_dropped split_taken ring_dropped received socket_dropped read",
        (port.vnic.name for port in ports),
        lambda _: (
            [(p.split or p.vnic).ring.pushed for p in ports],
            [p.split.ring.dropped if p.split else 0 for p in ports],
            [p.split.ring.taken if p.split else 0 for p in ports],
            [p.vnic.ring.dropped for p in ports],
            [v.received for v in vcpus],
            [v.socket_dropped for v in vcpus],
            [v.read for v in vcpus],
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
