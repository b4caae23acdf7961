"""TCP connection set-up: addresses, ports, RSS hashes, queues and processes of connections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Final, TypeAlias

import numpy as np

from hostsim.config.host import VmGroupSpec, links
from hostsim.config.nic import TCP_HEADERS, VSwitchSpec, packet_on_wire, segment_size
from hostsim.config.traffic import Connected
from hostsim.config.workload import ExchangeSpec, ForwardedStreamSpec, HttpSpec, RoutedTcpSpec, TcpSpec, WebSpec
from hostsim.engine.arrivals import Jitter
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.contract import STAGES, Flow, GuestStream, PacketSink, RoundTrip, Sender
from hostsim.model.guest.device import GuestDevice, VirtualMachine
from hostsim.model.host import Host
from hostsim.model.policy.steering import rss_input
from hostsim.model.receive.wire import ClosedLoopWire
from hostsim.model.traffic.address import PEER, nic_hash
from hostsim.model.traffic.arrival_source import make_arrivals
from hostsim.model.traffic.forwarded import ForwardedStream, forwarding
from hostsim.model.traffic.handshake import ClosingReceiver, ClosingSender
from hostsim.model.traffic.service import constant_ps, make_service
from hostsim.model.traffic.tcp import (
    ENDLESS,
    Application,
    Congestion,
    Cubic,
    Endpoints,
    PathLoss,
    Think,
    no_think_time,
)
from hostsim.model.traffic.tcp_receiver import TcpReceiver
from hostsim.model.traffic.tcp_sender import MOST_TSO, TcpSender
from hostsim.model.traffic.transaction import User
from hostsim.model.traffic.web import PageFetch, WebClients, WebObject
from hostsim.units import MS, rounded, transmission_ps

__all__ = [
    "attach_exchanges",
    "attach_forwarded",
    "attach_tcp",
    "attach_web_clients",
    "cycle_rate",
    "endpoints_of",
    "filter_frames",
    "segmented",
    "switch_of",
    "thinking",
    "wire_ps",
]

Opened: TypeAlias = tuple[TcpReceiver | TcpSender | ForwardedStream | User, list[Sender]]
"""A connection, with the senders of its peer."""
PORTS_A_VCPU: Final = 16
"""Number of ports of web clients for each vCPU of a server: enough for an even distribution, few enough for persistent
connections.
"""
ACKS_EVERY: Final = 2
"""Number of segments for each acknowledgement of a receiver without receive offload (RFC 1122)."""
START_WITHIN: Final = 1 * MS
"""Connections of a VM begin within this time, at random, in picoseconds."""


def attach_tcp(host: Host, name: str, traffic: TcpSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Open the TCP connections of streams and files between every VM of some groups and the peer."""

    def connect(flow: Flow, vm: VirtualMachine, connection: int, think: Think, late: Jitter) -> Opened:
        return _connect_tcp(host, flow, vm, traffic, connection, think, late)

    _open_connections(host, name, traffic, members, streams, connect)


def attach_exchanges(
    host: Host, name: str, traffic: ExchangeSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Open the TCP connections of requests and replies between every VM of some groups and the peer."""

    def connect(flow: Flow, vm: VirtualMachine, connection: int, think: Think, late: Jitter) -> Opened:
        return _connect_user(host, flow, vm, traffic, connection, think, late)

    _open_connections(host, name, traffic, members, streams, connect)


def attach_forwarded(
    host: Host, name: str, traffic: ForwardedStreamSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Open the TCP connections of two peers through every VM of some groups."""

    def connect(flow: Flow, vm: VirtualMachine, connection: int, think: Think, late: Jitter) -> Opened:
        return _connect_forwarded(host, flow, vm, traffic, connection, late)

    _open_connections(host, name, traffic, members, streams, connect)


def _open_connections(
    host: Host,
    name: str,
    traffic: Connected,
    members: list[VirtualMachine],
    streams: Streams,
    connect: Callable[[Flow, VirtualMachine, int, Think, Jitter], Opened],
) -> None:
    """Open all connections of traffic with ``connect``, which takes the connection's number in the VM."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    if traffic.has_answers:
        flow.users = traffic.connections * len(members)
    if traffic.has_stages:
        flow.stages = [0] * len(STAGES)
    host.flows.append(flow)
    for member, vm in enumerate(members):
        starts = streams.stream("traffic", position, member).integers(0, START_WITHIN, traffic.connections)
        late = _lateness(host, streams, position, member)
        for connection_index in range(traffic.connections):
            think: Think = no_think_time
            if traffic.pause:
                # a random stream for each user, so that think times do not depend on the order of service
                think = thinking(traffic.pause, streams.stream("traffic", position, member, connection_index))
            connection, senders = connect(flow, vm, connection_index, think, late)
            filter_frames(host, vm, traffic, connection_index, senders)
            connection.begin(int(starts[connection_index]) + think())


def _application(
    host: Host,
    vm: VirtualMachine,
    traffic: Connected,
    flow: Flow,
    connection: int,
    *,
    write_copies: bool,
    write_size: int = 0,
) -> Application:
    """Return the costs of the process at the VM's end of connection number ``connection``.

    Service times of the scenario replace one of them.
    """
    guest, spec = vm.group.guest, traffic.own_service
    costs, hertz = guest.applications, cycle_rate(host)
    slower = 1 + traffic.memory_stall(costs) * _far_delay(host, vm)
    sink, source = costs.tcp_sink.ps(hertz), costs.tcp_source.ps(hertz)
    application_name = "" if spec is None else traffic.application[0]
    served = spec is not None and application_name not in ("tcp_sink", "tcp_source")
    own = None
    if spec is not None:
        scope = ("service", host.flows.index(flow), host.vms.index(vm), connection)
        own = make_service(spec, hertz, partial(host.streams.stream, *scope), slower if served else 1.0)
    demand = constant_ps(spec, hertz, 0) if served else traffic.demand_ps(costs, hertz)
    return Application(
        per_packet=constant_ps(spec, hertz, sink) if application_name == "tcp_sink" else sink,
        per_write=constant_ps(spec, hertz, source) if application_name == "tcp_source" else source,
        per_request=rounded(demand * slower),
        requests=own if served else None,
        packets=own if application_name == "tcp_sink" else None,
        writes=own if application_name == "tcp_source" else None,
        write_copies=write_copies,
        ack_every=guest.ack_every,
        tso_divisor=guest.tso_divisor,
        write_size=write_size,
        sum_ps=vm.devices[traffic.vnic].sum_ps,
    )


def _far_delay(host: Host, vm: VirtualMachine) -> float:
    """Return the additional time of memory waits for reserved remote memory, as a share of these waits.

    It is 0 with a single node.
    """
    cpu = host.spec.hardware.cpu
    if cpu.nodes == 1:
        return 0.0
    return vm.group.settings.reserved * host.spec.costs.reserved_far.value * (cpu.remote_ratio - 1)


def _connect_user(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: ExchangeSpec, connection: int, think: Think, late: Jitter
) -> Opened:
    """Open the connection of a user."""
    most = segment_size(switch_of(host, vm, traffic).mtu)
    frames = -(-traffic.reply_size // most)
    user = User(
        endpoints_of(
            host,
            flow,
            vm,
            traffic,
            _application(host, vm, traffic, flow, connection, write_copies=False),
            connection,
            late,
        ),
        request_size=traffic.request,
        request_ps=wire_ps(host, vm, traffic, traffic.request),
        reply_frames=frames,
        reply_size=-(-traffic.reply_size // frames),
        think=think,
    )
    if traffic.has_stages:
        user.requests.round_trip = RoundTrip(flow)
    return user, [user.requests]


def _connect_tcp(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: TcpSpec, connection: int, think: Think, late: Jitter
) -> Opened:
    """Open the connection of a continuous stream, or of files."""
    guest, transfer = vm.group.guest, traffic.transfer
    corks = guest.autocorking and not traffic.receives
    size, full, written = segmented(
        host, vm.group, traffic.vnic, traffic.message, nodelay=traffic.is_undelayed and not corks
    )
    application = _application(host, vm, traffic, flow, connection, write_copies=transfer is None, write_size=written)
    endpoints = endpoints_of(host, flow, vm, traffic, application, connection, late)
    # a small packet is charged to the socket's buffer with its overhead
    segments = max(1, traffic.window // (size if full else size + guest.socket_overhead))
    control, share = (
        (traffic.congestion_control, traffic.loss / 100) if isinstance(traffic, RoutedTcpSpec) else ("reno", 0.0)
    )
    congestion = (
        Cubic(segments, guest.initial_window, host.clock)
        if control == "cubic"
        else Congestion(segments, guest.initial_window)
    )
    closes = isinstance(traffic, HttpSpec) and not traffic.keep_alive
    if not closes:
        flow.windows.append((congestion, size))
    path = None
    if share:
        scope = ("traffic", host.flows.index(flow), host.vms.index(vm), connection, "loss")
        path = PathLoss(share, host.streams.stream(*scope))
    file = ENDLESS if transfer is None else -(-transfer // size)
    small_ps, connection_ps = wire_ps(host, vm, traffic, 0), 0
    if closes:
        connection_ps = _connection_ps(host, vm)
    if traffic.receives:
        frame_ps, burst = wire_ps(host, vm, traffic, size), _burst(host, traffic, size, segments)
        if closes:
            posted = ClosingReceiver(
                endpoints,
                congestion,
                file,
                connection_ps=connection_ps,
                small_ps=small_ps,
                size=size,
                frame_ps=frame_ps,
                burst=burst,
                full=full,
                think=think,
            )
            posted.path_loss = path
            return posted, [posted.data, *posted.handshakes.senders]
        receiving = TcpReceiver(
            endpoints,
            congestion,
            file,
            size=size,
            frame_ps=frame_ps,
            burst=burst,
            full=full,
            think=think,
        )
        receiving.path_loss = path
        return receiving, [receiving.data]
    device = vm.devices[traffic.vnic]
    acks_every, joined = traffic.peer_acks_every or ACKS_EVERY, _joined(host, vm, traffic, size)
    request = (traffic.request, wire_ps(host, vm, traffic, traffic.request))
    if closes:
        fetched = ClosingSender(
            endpoints,
            congestion,
            file,
            connection_ps=connection_ps,
            size=size,
            small_ps=small_ps,
            full=full and device.tso,
            acks_every=acks_every,
            joined=joined,
            request=request,
            think=think,
        )
        fetched.path_loss = path
        return fetched, [fetched.acks, fetched.requests, *fetched.handshakes.senders]
    sending = TcpSender(
        endpoints,
        congestion,
        file,
        size=size,
        small_ps=small_ps,
        full=full and device.tso,
        acks_every=acks_every,
        joined=joined,
        request=request,
        think=think,
    )
    sending.path_loss = path
    return sending, [sending.acks, sending.requests]


def _connection_ps(host: Host, vm: VirtualMachine) -> int:
    """Return the guest's cost of a connection without its packets, in picoseconds.

    Raises:
        WiringError: the guest does not have this cost.
    """
    cost = vm.group.guest.connection
    if cost is None:
        raise WiringError(f"the guest of {vm.name} has no cost of a connection")
    return cost.ps(cycle_rate(host))


def _burst(host: Host, traffic: TcpSpec, size: int, segments: int) -> int:
    """Return the largest burst of the peer in frames: that of the traffic, or a TSO packet.

    Args:
        host: the host.
        traffic: spec of the traffic.
        size: bytes of data in a segment.
        segments: window of the sender, in segments.
    """
    if traffic.burst is not None:
        return traffic.burst
    return max(1, min(MOST_TSO // size, segments // host.spec.peer.tso_divisor))


def _joined(host: Host, vm: VirtualMachine, traffic: TcpSpec, size: int) -> int:
    """Return the largest number of segments that the peer's receive offload joins.

    It joins those within its time on the wire, at most 64 KiB; 1 without receive offload.
    """
    if traffic.peer_acks_every is not None:
        return 1
    return max(1, min(MOST_TSO // size, host.spec.peer.aggregation // wire_ps(host, vm, traffic, size)))


def _connect_forwarded(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: ForwardedStreamSpec, connection: int, late: Jitter
) -> Opened:
    """Open a connection through a VM, and steer both of its directions."""
    guest = vm.group.guest
    back = traffic.model_copy(update={"vnic": traffic.leaves})
    application = _application(host, vm, traffic, flow, connection, write_copies=False)
    near, far = (endpoints_of(host, flow, vm, way, application, connection, late) for way in (traffic, back))
    size = segment_size(min(switch_of(host, vm, way).mtu for way in (traffic, back)))
    segments = max(1, traffic.window // size)
    taken, step = forwarding(guest, host.costs, cycle_rate(host))
    congestion = Congestion(segments, guest.initial_window)
    flow.windows.append((congestion, size))
    stream = ForwardedStream(
        near,
        far,
        congestion,
        size=size,
        frame_ps=wire_ps(host, vm, traffic, size),
        small_ps=wire_ps(host, vm, back, 0),
        burst=_burst(host, traffic, size, segments),
        acks_every=traffic.peer_acks_every or ACKS_EVERY,
        step_ps=step,
    )
    stream.data.path_ps = stream.acks.path_ps = taken
    stream.data.joins = guest.lro_while_forwarding
    filter_frames(host, vm, traffic, connection, [stream.data])
    filter_frames(host, vm, back, connection, [stream.acks])
    enters, leaves = vm.devices[traffic.vnic], vm.devices[traffic.leaves]
    stream.route(_passed_on(vm, stream.data, enters, leaves), _passed_on(vm, stream.acks, leaves, enters))
    return stream, []


def _passed_on(vm: VirtualMachine, sender: Sender, enters: GuestDevice, leaves: GuestDevice) -> PacketSink[GuestStream]:
    """Forward frames on the vCPU that takes them from their ring; returns the transmit queue.

    The transmit queue has the same number as their receive queue.
    """
    vnic = next(index for index, port in enumerate(enters.ports) if port.vnic is sender.vnic)
    vcpu_index = next(index for index, vcpu in enumerate(vm.vcpus) if vcpu is enters.ports[vnic].vnic.vcpu)
    sender.vcpu = vm.vcpus[vcpu_index]
    return leaves.posted(vm, vcpu_index, vnic)


def segmented(
    host: Host, group: VmGroupSpec, vnic: int, message: int | None, *, nodelay: bool
) -> tuple[int, bool, int]:
    """Return the bytes of a segment through a NIC, whether it is full, and the bytes of partial writes.

    The last is 0 unless several writes form a segment.

    With Nagle's algorithm, or autocorking, a sender that always has more data fills its segments. With ``nodelay``
    small messages are separate segments.
    """
    most = segment_size(links(group, host.spec.vswitches, host.spec.nics)[vnic].mtu)
    if message is None or message >= most:
        return most, True, 0
    return (message, False, 0) if nodelay else (most, True, message)


def attach_web_clients(
    host: Host, name: str, traffic: WebSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Attach web clients to the server in every VM of some groups."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    host.flows.append(flow)
    for member, vm in enumerate(members):
        random = streams.stream("traffic", position, member, "arrivals")
        arrivals = make_arrivals(traffic.arrivals, traffic.rate, random, host.spec.peer.timer_jitter)
        ports = PORTS_A_VCPU * len(vm.vcpus) if len(vm.vcpus) > 1 else 0
        late = _lateness(host, streams, position, member)
        WebClients(host.clock, flow, arrivals, _visits(host, flow, vm, traffic, late), ports)


def _visits(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: WebSpec, late: Jitter
) -> Callable[[Callable[[PageFetch], None]], PageFetch]:
    """Return a function that opens another connection to the web server of a VM."""
    guest = vm.group.guest
    size = segment_size(switch_of(host, vm, traffic).mtu)
    small_ps = wire_ps(host, vm, traffic, 0)
    hertz = cycle_rate(host)
    object_ps = constant_ps(traffic.service, hertz, guest.applications.web_server.ps(hertz))
    scope = ("service", host.flows.index(flow), host.vms.index(vm))
    page = [WebObject.of(octets, traffic.write_size, size, object_ps) for octets in traffic.object_sizes]
    application = Application(
        per_packet=0,
        per_write=0,
        per_request=0,
        write_copies=False,
        ack_every=guest.ack_every,
        tso_divisor=guest.tso_divisor,
        sum_ps=vm.devices[traffic.vnic].sum_ps,
    )
    service = make_service(traffic.service, hertz, partial(host.streams.stream, *scope))
    joined = _joined(host, vm, traffic, size)
    places = count()

    def connect(rest: Callable[[PageFetch], None]) -> PageFetch:
        page_index = next(places)
        endpoints = endpoints_of(host, flow, vm, traffic, application, page_index, late)
        congestion = Congestion(max(1, traffic.window // size), guest.initial_window)
        visit = PageFetch(
            endpoints,
            congestion,
            page,
            rest,
            size=size,
            small_ps=small_ps,
            acks_every=traffic.peer_acks_every or ACKS_EVERY,
            joined=joined,
            full=vm.devices[traffic.vnic].tso,
            service=service,
        )
        filter_frames(host, vm, traffic, page_index, [visit.acks, visit.requests])
        return visit

    return connect


def cycle_rate(host: Host) -> float:
    """Return the clock rate of a host's processors in Westmere-equivalent cycles/s."""
    return host.spec.costs.cycle_rate(host.spec.hardware.cpu.family, host.spec.hardware.cpu.hertz)


def switch_of(host: Host, vm: VirtualMachine, traffic: Connected) -> VSwitchSpec:
    """Return the virtual switch of the NIC of traffic."""
    return links(vm.group, host.spec.vswitches, host.spec.nics)[traffic.vnic]


def wire_ps(host: Host, vm: VirtualMachine, traffic: Connected, data: int) -> int:
    """Return the transmission time of a frame with ``data`` bytes of data, in picoseconds."""
    rate = host.spec.hardware.nics[vm.devices[traffic.vnic].nic.name].rate
    switch = switch_of(host, vm, traffic)
    return transmission_ps(packet_on_wire(data + TCP_HEADERS, vxlan=switch.vxlan, tag=switch.tag), rate)


def _lateness(host: Host, streams: Streams, position: int, member: int) -> Jitter:
    """Return the lateness of the peer's answers to a VM."""
    return Jitter(host.spec.peer.answer_jitter, streams.stream("traffic", position, member, "answers"))


def thinking(mean: int, random: np.random.Generator) -> Think:
    """Return a function that draws exponential think times with a mean in picoseconds."""
    return lambda: int(random.exponential(mean))


def endpoints_of(
    host: Host,
    flow: Flow,
    vm: VirtualMachine,
    traffic: Connected,
    application: Application,
    connection: int,
    late: Jitter,
) -> Endpoints:
    """Return the endpoints of a VM's connection number ``connection``."""
    device = vm.devices[traffic.vnic]
    wire = device.nic.wire
    assert isinstance(wire, ClosedLoopWire)
    packet, value = _rss(host, vm, traffic, connection)
    vcpu_index = connection % len(vm.vcpus)
    if len(device.ports) >= len(vm.vcpus) > 1:  # a process moves to the vCPU where its packets arrive
        probe = Sender(flow, 0, 0, 1)
        host.netqueues[device.nic.name].add(device.filter, probe, value, packet)
        device.filter.senders.pop()
        assert probe.vnic is not None
        target = probe.vnic.vcpu
        vcpu_index = next(index for index, vcpu in enumerate(vm.vcpus) if vcpu is target)
    posts = device.transmit(vm, vcpu_index, packet)
    return Endpoints(host.clock, flow, wire, posts, vm.vcpus[vcpu_index], application, delay=traffic.delay, jitter=late)


def filter_frames(host: Host, vm: VirtualMachine, traffic: Connected, connection: int, senders: list[Sender]) -> None:
    """Steer the frames of a VM's connection number ``connection`` by the receive filter of its NIC."""
    device, (packet, value) = vm.devices[traffic.vnic], _rss(host, vm, traffic, connection)
    for sender in senders:
        sender.joins = sender.joins and device.lro
        host.netqueues[device.nic.name].add(device.filter, sender, value, packet)


def _rss(host: Host, vm: VirtualMachine, traffic: Connected, connection: int) -> tuple[bytes, int]:
    """Return the hash input of a vNIC for a connection, and the RSS hash of a NIC.

    The latter uses the connection's addresses and ports, or those of the VXLAN tunnel.
    """
    port = 1 + (traffic.port + connection - 1) % 65535
    packet = rss_input(PEER, vm.address, port, traffic.server_port)
    return packet, nic_hash(packet, vxlan=switch_of(host, vm, traffic).vxlan)
