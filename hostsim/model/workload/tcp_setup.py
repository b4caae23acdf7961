"""TCP connection set-up: addresses, ports, RSS hashes, queues and processes of the connections of a host."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final, TypeAlias

import numpy as np

from hostsim.engine.jitter import Jitter
from hostsim.engine.random_stream import Streams
from hostsim.model.host import Host, VirtualMachine
from hostsim.model.net.closed_loop_wire import ClosedLoopWire
from hostsim.model.workload.address import PEER
from hostsim.model.workload.arrival_source import make_arrivals
from hostsim.model.workload.congestion import Congestion
from hostsim.model.workload.flow import Flow, Sender
from hostsim.model.workload.latency_stage import STAGES, RoundTrip
from hostsim.model.workload.tcp import ENDLESS, Application, Endpoints, Think, no_think_time
from hostsim.model.workload.tcp_receiver import TcpReceiver
from hostsim.model.workload.tcp_sender import TcpSender
from hostsim.model.workload.transaction import User
from hostsim.model.workload.web import Page, PageFetch, WebClients
from hostsim.policy.placement import remote_share
from hostsim.policy.steering import DEFAULT_KEY, rss_input, toeplitz_hash
from hostsim.spec.host import links
from hostsim.spec.network import TCP_HEADERS, VSwitchSpec, packet_on_wire, segment_size
from hostsim.spec.traffic import Connected
from hostsim.spec.workload import ExchangeSpec, TcpSpec, WebSpec
from hostsim.units import MS, transmission_ps

__all__ = ["attach_exchanges", "attach_tcp", "attach_web_clients", "cycle_rate"]

Opened: TypeAlias = tuple[TcpReceiver | TcpSender | User, list[Sender]]
"""A connection, and the senders of its peer."""
TUNNEL_ENDS: Final = ("10.2.0.1", "10.2.0.2")
"""Addresses of the two ends of a VXLAN tunnel."""
VXLAN_PORT, FIRST_TUNNEL_PORT, TUNNEL_PORTS = 8472, 49152, 16384
"""Port of VXLAN's receivers at the time, and the range of the sender's, chosen by the hash of the inner flow (RFC 7348)."""
PORTS_A_VCPU: Final = 16
"""Ports of web clients for each vCPU of a server: enough for an even spread, few enough to keep connections for them."""
START_WITHIN: Final = 1 * MS
"""Connections of a VM begin within this, at random."""


def attach_tcp(host: Host, name: str, traffic: TcpSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Open the TCP connections of streams and files between every VM of some groups and the peer."""

    def connect(flow: Flow, vm: VirtualMachine, place: int, think: Think, late: Jitter) -> Opened:
        return _connect_tcp(host, flow, vm, traffic, place, think, late)

    _open_connections(host, name, traffic, members, streams, connect)


def attach_exchanges(
    host: Host, name: str, traffic: ExchangeSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Open the TCP connections of requests and replies between every VM of some groups and the peer."""

    def connect(flow: Flow, vm: VirtualMachine, place: int, think: Think, late: Jitter) -> Opened:
        return _connect_user(host, flow, vm, traffic, place, think, late)

    _open_connections(host, name, traffic, members, streams, connect)


def _open_connections(
    host: Host,
    name: str,
    traffic: Connected,
    members: list[VirtualMachine],
    streams: Streams,
    connect: Callable[[Flow, VirtualMachine, int, Think, Jitter], Opened],
) -> None:
    """Open all connections of a traffic, each with ``connect``, which is given its number in the VM."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    if traffic.has_answers:
        flow.users = traffic.connections * len(members)
    if traffic.has_stages:
        flow.stages = [0] * len(STAGES)
    host.flows.append(flow)
    for number, vm in enumerate(members):
        starts = streams.stream("traffic", position, number).integers(0, START_WITHIN, traffic.connections)
        late = _lateness(host, streams, position, number)
        for place in range(traffic.connections):
            think: Think = no_think_time
            if traffic.pause:
                # a random stream for each user, so that think times do not depend on the order of service
                think = _thinking(traffic.pause, streams.stream("traffic", position, number, place))
            connection, senders = connect(flow, vm, place, think, late)
            _filter_frames(host, vm, traffic, place, senders)
            connection.begin(int(starts[place]) + think())


def _application(
    host: Host, vm: VirtualMachine, traffic: Connected, *, write_copies: bool, write_size: int = 0
) -> Application:
    """Return the costs of the process at the VM's end."""
    guest = vm.group.guest
    costs, hertz = guest.applications, cycle_rate(host)
    far = remote_share(vm.group.settings.reserved, len(host.scheduler.nodes))
    return Application(
        per_packet=costs.tcp_sink.ps(hertz),
        per_write=costs.tcp_source.ps(hertz),
        per_request=traffic.demand_ps(costs, hertz, far, host.spec.hardware.cpu.remote_ratio),
        write_copies=write_copies,
        ack_every=guest.ack_every,
        tso_divisor=guest.tso_divisor,
        write_size=write_size,
    )


def _connect_user(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: ExchangeSpec, place: int, think: Think, late: Jitter
) -> Opened:
    """Open the connection of a user."""
    most = segment_size(_switch(host, vm, traffic).mtu)
    frames = -(-traffic.reply_size // most)
    user = User(
        _endpoints(host, flow, vm, traffic, _application(host, vm, traffic, write_copies=False), place, late),
        request_size=traffic.request,
        request_ps=_wire_ps(host, vm, traffic, traffic.request),
        reply_frames=frames,
        reply_size=-(-traffic.reply_size // frames),
        think=think,
    )
    if traffic.has_stages:
        user.requests.round_trip = RoundTrip(flow)
    return user, [user.requests]


def _connect_tcp(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: TcpSpec, place: int, think: Think, late: Jitter
) -> Opened:
    """Open the connection of a stream of data, or of files."""
    guest = vm.group.guest
    transfer, message = traffic.transfer, traffic.message
    most = segment_size(_switch(host, vm, traffic).mtu)
    small = message is not None and message < most
    # nagle's algorithm or autocorking: a sender that has always more fills its segments, with several writes each
    joined = small and (not traffic.is_undelayed or (guest.autocorking and not traffic.receives))
    size, full = (message, False) if message is not None and small and not joined else (most, True)
    written = message if message is not None and joined else 0
    application = _application(host, vm, traffic, write_copies=transfer is None, write_size=written)
    endpoints = _endpoints(host, flow, vm, traffic, application, place, late)
    # a small packet is charged to the socket's buffer with its overhead
    segments = max(1, traffic.window // (size if full else size + guest.socket_overhead))
    congestion = Congestion(segments, guest.initial_window)
    file = ENDLESS if transfer is None else -(-transfer // size)
    if traffic.receives:
        frame_ps = _wire_ps(host, vm, traffic, size)
        receiving = TcpReceiver(
            endpoints, congestion, file, size=size, frame_ps=frame_ps, burst=traffic.burst, full=full, think=think
        )
        return receiving, [receiving.data]
    device = vm.devices[traffic.vnic]
    sending = TcpSender(
        endpoints,
        congestion,
        file,
        size=size,
        small_ps=_wire_ps(host, vm, traffic, 0),
        full=full and device.tso,
        acks_every=traffic.peer_acks_every,
        request=(traffic.request, _wire_ps(host, vm, traffic, traffic.request)),
        think=think,
    )
    return sending, [sending.acks, sending.requests]


def attach_web_clients(
    host: Host, name: str, traffic: WebSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Attach web clients to the server in every VM of some groups."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    host.flows.append(flow)
    for number, vm in enumerate(members):
        random = streams.stream("traffic", position, number, "arrivals")
        arrivals = make_arrivals(traffic.arrivals, traffic.rate, random, host.spec.peer.timer_jitter)
        ports = PORTS_A_VCPU * len(vm.vcpus) if len(vm.vcpus) > 1 else 0
        late = _lateness(host, streams, position, number)
        WebClients(host.clock, flow, arrivals, _visits(host, flow, vm, traffic, late), ports)


def _visits(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: WebSpec, late: Jitter
) -> Callable[[Callable[[PageFetch], None]], PageFetch]:
    """Return a function that opens a further connection to the web server of a VM."""
    guest = vm.group.guest
    size = segment_size(_switch(host, vm, traffic).mtu)
    small_ps = _wire_ps(host, vm, traffic, 0)
    object_ps = guest.applications.web_server.ps(cycle_rate(host))
    page = Page.of(traffic.objects, traffic.size, traffic.write_size, size, object_ps)
    application = Application(
        per_packet=0,
        per_write=0,
        per_request=0,
        write_copies=False,
        ack_every=guest.ack_every,
        tso_divisor=guest.tso_divisor,
    )
    places = count()

    def connect(rest: Callable[[PageFetch], None]) -> PageFetch:
        place = next(places)
        endpoints = _endpoints(host, flow, vm, traffic, application, place, late)
        congestion = Congestion(max(1, traffic.window // size), guest.initial_window)
        visit = PageFetch(
            endpoints, congestion, page, rest, size=size, small_ps=small_ps, acks_every=traffic.peer_acks_every
        )
        _filter_frames(host, vm, traffic, place, [visit.acks, visit.requests])
        return visit

    return connect


def cycle_rate(host: Host) -> float:
    """Return the clock rate of a host's processors in Westmere-equivalent cycles a second."""
    return host.spec.costs.cycle_rate(host.spec.hardware.cpu.family, host.spec.hardware.cpu.clock)


def _switch(host: Host, vm: VirtualMachine, traffic: Connected) -> VSwitchSpec:
    """Return the virtual switch of the NIC that traffic uses."""
    return links(vm.group, host.spec.vswitches)[traffic.vnic]


def _wire_ps(host: Host, vm: VirtualMachine, traffic: Connected, data: int) -> int:
    """Return the transmission time of a frame with so many bytes of data."""
    rate = host.spec.hardware.nics[vm.devices[traffic.vnic].nic.name].rate
    return transmission_ps(packet_on_wire(data + TCP_HEADERS, vxlan=_switch(host, vm, traffic).vxlan), rate)


def _lateness(host: Host, streams: Streams, position: int, number: int) -> Jitter:
    """Return the lateness of the peer's answers to one VM."""
    return Jitter(host.spec.peer.answer_jitter, streams.stream("traffic", position, number, "answers"))


def _thinking(mean: int, random: np.random.Generator) -> Think:
    return lambda: int(random.exponential(mean))


def _endpoints(
    host: Host, flow: Flow, vm: VirtualMachine, traffic: Connected, application: Application, place: int, late: Jitter
) -> Endpoints:
    """Return the endpoints of a VM's connection number ``place``."""
    device = vm.devices[traffic.vnic]
    wire = device.nic.wire
    assert isinstance(wire, ClosedLoopWire)
    packet, value = _rss(host, vm, traffic, place)
    which = place % len(vm.vcpus)
    if len(device.ports) >= len(vm.vcpus) > 1:  # a process goes where its packets come in
        probe = Sender(flow, 0, 0, 1)
        host.netqueues[device.nic.name].add(device.filter, probe, value, packet)
        device.filter.senders.pop()
        assert probe.vnic is not None
        target = probe.vnic.vcpu
        which = next(number for number, vcpu in enumerate(vm.vcpus) if vcpu is target)
    posts = device.transmit(vm, which, packet)
    return Endpoints(host.clock, flow, wire, posts, vm.vcpus[which], application, traffic.delay, late)


def _filter_frames(host: Host, vm: VirtualMachine, traffic: Connected, place: int, senders: list[Sender]) -> None:
    """Steer the frames of a VM's connection number ``place`` by the receive filter of its NIC."""
    device, (packet, value) = vm.devices[traffic.vnic], _rss(host, vm, traffic, place)
    for sender in senders:
        sender.joins = sender.joins and device.lro
        host.netqueues[device.nic.name].add(device.filter, sender, value, packet)


def _rss(host: Host, vm: VirtualMachine, traffic: Connected, place: int) -> tuple[bytes, int]:
    """Return what a vNIC hashes of a connection, and its RSS hash at the NIC: of its own addresses and ports, or of the VXLAN tunnel's."""
    port = 1 + (traffic.port + place - 1) % 65535
    packet = rss_input(PEER, vm.address, port, traffic.server_port)
    inner = toeplitz_hash(DEFAULT_KEY, packet)
    if not _switch(host, vm, traffic).vxlan:
        return packet, inner
    outer = rss_input(*TUNNEL_ENDS, FIRST_TUNNEL_PORT + inner % TUNNEL_PORTS, VXLAN_PORT)
    return packet, toeplitz_hash(DEFAULT_KEY, outer)
