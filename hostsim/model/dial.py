"""TCP connections of a wired host: who speaks with whom, by which queue, with what at both ends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from hostsim.engine.streams import Streams
from hostsim.model.guest.posting import Posts
from hostsim.model.net.link import Link
from hostsim.model.traffic.congestion import Congestion
from hostsim.model.traffic.connection import ENDLESS, Application, Ends, Think
from hostsim.model.traffic.flow import Flow, Sender
from hostsim.model.traffic.receiving import Receiving
from hostsim.model.traffic.sending import Sending
from hostsim.model.traffic.source import make_arrivals
from hostsim.model.traffic.transaction import User
from hostsim.model.traffic.trip import STAGES, Trip
from hostsim.model.traffic.web import Page, Visit, Visitors
from hostsim.policy.placement import away
from hostsim.policy.steering import DEFAULT_KEY, rss_input, toeplitz_hash
from hostsim.spec.host import links
from hostsim.spec.network import TCP_HEADERS, VSwitchSpec, packet_on_wire, segment_size
from hostsim.spec.workload import Connected, HttpSpec, RequestResponseSpec, TcpStreamSpec, TransactionsSpec, WebSpec
from hostsim.units import MS, transmission_ps

if TYPE_CHECKING:
    from hostsim.model.host import Host, VirtualMachine

__all__ = ["PEER", "address_of", "connections", "cycle_rate", "web_clients"]

Closed = TcpStreamSpec | HttpSpec | TransactionsSpec | RequestResponseSpec
PEER: Final = "10.1.0.1"
"""Address of the peer."""
TUNNEL_ENDS: Final = ("10.2.0.1", "10.2.0.2")
"""Addresses of the two ends of a VXLAN tunnel."""
VXLAN_PORT, FIRST_TUNNEL_PORT, TUNNEL_PORTS = 8472, 49152, 16384
"""Port of VXLAN's receivers at the time, and the range of the sender's, chosen by the hash of the inner flow (RFC 7348)."""
SERVER_PORT: Final = {"tcp_stream": 5001, "http": 80, "web": 80, "transactions": 50000, "request_response": 12865}
START_WITHIN: Final = 1 * MS
"""Connections of a VM begin within this, at random."""


def connections(
    host: Host,
    name: str,
    traffic: Closed,
    members: list[VirtualMachine],
    streams: Streams,
) -> None:
    """TCP connections between every VM of some groups and the peer."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    if not isinstance(traffic, TcpStreamSpec):
        flow.users = traffic.connections * len(members)
    if isinstance(traffic, RequestResponseSpec):
        flow.stages = [0] * len(STAGES)
    host.flows.append(flow)
    for number, vm in enumerate(members):
        starts = streams.stream("traffic", position, number).integers(0, START_WITHIN, traffic.connections)
        for place in range(traffic.connections):
            think = None
            if isinstance(traffic, HttpSpec | TransactionsSpec) and traffic.think_time:
                # each user thinks by numbers of his own, whenever the others are served
                think = _thinking(traffic.think_time, streams.stream("traffic", position, number, place))
            connection, senders = _connection(host, flow, vm, traffic, place, think)
            _catch(host, vm, traffic, place, senders)
            connection.begin(int(starts[place]) + (think() if think is not None else 0))


def _connection(
    host: Host,
    flow: Flow,
    vm: VirtualMachine,
    traffic: Closed,
    place: int,
    think: Think | None,
) -> tuple[Receiving | Sending | User, list[Sender]]:
    """A VM's connection number ``place``, with what its peer sends on it."""
    guest = vm.group.guest
    costs, hertz = guest.applications, cycle_rate(host)
    application = Application(
        per_packet=costs.tcp_sink.ps(hertz),
        per_write=costs.tcp_source.ps(hertz),
        per_request=_per_request(host, vm, traffic),
        write_copies=isinstance(traffic, TcpStreamSpec),
        ack_every=guest.ack_every,
        tso_divisor=guest.tso_divisor,
    )
    ends = _ends(host, flow, vm, traffic, application, place)
    most = segment_size(_switch(host, vm, traffic).mtu)
    request_size = 0 if isinstance(traffic, TcpStreamSpec) else traffic.request_size
    request_ps = _wire_ps(host, vm, traffic, request_size)
    if isinstance(traffic, TransactionsSpec | RequestResponseSpec):
        frames = -(-traffic.reply_size // most)
        user = User(
            ends,
            request_size=request_size,
            request_ps=request_ps,
            reply_frames=frames,
            reply_size=-(-traffic.reply_size // frames),
            think=think,
        )
        if isinstance(traffic, RequestResponseSpec):
            user.requests.trip = Trip(flow)
        return user, [user.requests]
    message = traffic.message_size if isinstance(traffic, TcpStreamSpec) else None
    size, full = (most, True) if message is None else (min(message, most), message >= most)
    # a small packet is charged to the socket's buffer with its overhead
    segments = max(1, traffic.window // (size if full else size + guest.socket_overhead))
    congestion = Congestion(segments, guest.initial_window)
    file = ENDLESS if isinstance(traffic, TcpStreamSpec) else -(-traffic.size // size)
    if traffic.direction == "receive" if isinstance(traffic, TcpStreamSpec) else traffic.method == "post":
        frame_ps = _wire_ps(host, vm, traffic, size)
        receiving = Receiving(
            ends, congestion, file, size=size, frame_ps=frame_ps, burst=traffic.burst, full=full, think=think
        )
        return receiving, [receiving.data]
    device = vm.devices[traffic.vnic]
    sending = Sending(
        ends,
        congestion,
        file,
        size=size,
        small_ps=_wire_ps(host, vm, traffic, 0),
        full=full and (traffic.vnic < len(vm.vnics) or host.spec.hardware.nics[device.nic.name].tso),
        acks_every=traffic.peer_acks_every,
        request=(request_size, request_ps),
        think=think,
    )
    return sending, [sending.acks, sending.requests]


def web_clients(host: Host, name: str, traffic: WebSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Clients of the web server in every VM of some groups."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    host.flows.append(flow)
    for number, vm in enumerate(members):
        random = streams.stream("traffic", position, number, "arrivals")
        arrivals = make_arrivals(traffic.arrivals, traffic.rate, random)
        Visitors(host.clock, flow, arrivals, _visits(host, flow, vm, traffic))


def _visits(host: Host, flow: Flow, vm: VirtualMachine, traffic: WebSpec) -> Callable[[Callable[[Visit], None]], Visit]:
    """Makes further connections to the web server of a VM."""
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

    def connect(rest: Callable[[Visit], None]) -> Visit:
        place = next(places)
        ends = _ends(host, flow, vm, traffic, application, place)
        congestion = Congestion(max(1, traffic.window // size), guest.initial_window)
        visit = Visit(ends, congestion, page, rest, size=size, small_ps=small_ps, acks_every=traffic.peer_acks_every)
        _catch(host, vm, traffic, place, [visit.acks, visit.requests])
        return visit

    return connect


def cycle_rate(host: Host) -> float:
    """Westmere-equivalent cycles in a second of a host's processors."""
    return host.spec.costs.cycle_rate(host.spec.hardware.cpu.family, host.spec.hardware.cpu.clock)


def address_of(host: Host, vm: VirtualMachine) -> str:
    """The address of a VM."""
    number = host.vms.index(vm)
    return f"10.0.{number // 250}.{number % 250 + 1}"


def _switch(host: Host, vm: VirtualMachine, traffic: Connected) -> VSwitchSpec:
    """What the NIC that traffic goes through is on."""
    return links(vm.group, host.spec.vswitches)[traffic.vnic]


def _wire_ps(host: Host, vm: VirtualMachine, traffic: Connected, data: int) -> int:
    """Time on the wire of a frame with so many bytes of data."""
    rate = host.spec.hardware.nics[vm.devices[traffic.vnic].nic.name].rate
    return transmission_ps(packet_on_wire(data + TCP_HEADERS, vxlan=_switch(host, vm, traffic).vxlan), rate)


def _thinking(mean: int, random: np.random.Generator) -> Think:
    return lambda: int(random.exponential(mean))


def _per_request(host: Host, vm: VirtualMachine, traffic: Closed) -> int:
    """What the guest's application takes for a request, in picoseconds; of a transaction more, the more memory is away from the VM's home."""
    costs, hertz = vm.group.guest.applications, cycle_rate(host)
    if isinstance(traffic, HttpSpec):
        return costs.http_server.ps(hertz)
    if not isinstance(traffic, TransactionsSpec):
        return 0
    far = away(vm.group.settings.reserved, len(host.scheduler.nodes))
    dearer = costs.transaction_memory.value * far * (host.spec.costs.remote_memory.value - 1)
    return round(costs.transaction.ps(hertz) * (1 + dearer))


def _ends(host: Host, flow: Flow, vm: VirtualMachine, traffic: Connected, application: Application, place: int) -> Ends:
    """Where the connection number ``place`` of a VM ends."""
    device = vm.devices[traffic.vnic]
    link, queues = device.nic.wire, device.transmits
    assert isinstance(link, Link)
    which = place % len(vm.vcpus)
    if len(queues) > 1:  # a process goes where its packets come in
        probe = Sender(flow, 0, 0, 1)
        host.netqueues[device.nic.name].add(device.filter, probe, _hash(host, vm, traffic, place))
        device.filter.senders.pop()
        assert probe.vnic is not None
        which = vm.vcpus.index(probe.vnic.vcpu)  # type: ignore[arg-type]  # a vNIC interrupts a vCPU
    vcpu, queue = vm.vcpus[which], queues[which % len(queues)]
    posts = queue if len(queues) >= len(vm.vcpus) else Posts(queue, vcpu)
    return Ends(host.clock, flow, link, posts, vcpu, application, traffic.delay)


def _catch(host: Host, vm: VirtualMachine, traffic: Connected, place: int, senders: list[Sender]) -> None:
    """Let the filter of a VM's NIC catch what is sent on its connection number ``place``."""
    device, value = vm.devices[traffic.vnic], _hash(host, vm, traffic, place)
    emulated = traffic.vnic < len(vm.vnics) and vm.vnics[traffic.vnic].settings.device == "e1000"
    for sender in senders:
        sender.joins = sender.joins and not emulated  # an e1000 has no LRO
        host.netqueues[device.nic.name].add(device.filter, sender, value)


def _hash(host: Host, vm: VirtualMachine, traffic: Connected, place: int) -> int:
    """What the NIC's hash makes of a connection: of its own addresses and ports, or of the tunnel's."""
    port = 1 + (traffic.port + place - 1) % 65535
    inner = toeplitz_hash(DEFAULT_KEY, rss_input(PEER, address_of(host, vm), port, SERVER_PORT[traffic.kind]))
    if not _switch(host, vm, traffic).vxlan:
        return inner
    outer = rss_input(*TUNNEL_ENDS, FIRST_TUNNEL_PORT + inner % TUNNEL_PORTS, VXLAN_PORT)
    return toeplitz_hash(DEFAULT_KEY, outer)
