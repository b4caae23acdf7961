"""Traffic laid on a wired host: senders on wires, connections to guests, work for vCPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hostsim.engine.streams import Streams
from hostsim.errors import WiringError
from hostsim.model.net.link import Link
from hostsim.model.traffic.congestion import Congestion
from hostsim.model.traffic.connection import ENDLESS, Application, Ends, Think
from hostsim.model.traffic.flow import Flow, Sender
from hostsim.model.traffic.receiving import Receiving
from hostsim.model.traffic.sending import Sending
from hostsim.model.traffic.source import make_arrivals, make_bursts, make_lengths
from hostsim.model.traffic.transaction import User
from hostsim.model.traffic.udp import UdpSource
from hostsim.model.traffic.work import Work
from hostsim.policy.placement import away
from hostsim.policy.steering import DEFAULT_KEY, rss_input, toeplitz_hash
from hostsim.spec.host import links
from hostsim.spec.network import TCP_HEADERS, UDP_HEADERS, VSwitchSpec, datagram_on_wire, packet_on_wire, segment_size
from hostsim.spec.workload import HttpSpec, MulticastSpec, TcpStreamSpec, TransactionsSpec, UdpStreamSpec, WorkSpec
from hostsim.units import MS, SECOND, transmission_ps

if TYPE_CHECKING:
    from hostsim.model.host import Host, VirtualMachine

__all__ = ["connect"]

PEER, TUNNEL_ENDS = "10.1.0.1", ("10.2.0.1", "10.2.0.2")
"""Addresses outside the host: of the peer, and of the two ends of a VXLAN tunnel."""
VXLAN_PORT, FIRST_TUNNEL_PORT, TUNNEL_PORTS = 8472, 49152, 16384
"""Port of VXLAN's receivers at the time, and the range of the sender's, chosen by the hash of the inner flow (RFC 7348)."""
STREAM_PORT, HTTP_PORT, DATABASE_PORT = 5001, 80, 50000
START_WITHIN = 1 * MS
"""Connections of a VM begin within this, at random."""


def connect(host: Host, streams: Streams) -> None:
    """Lay all traffic of a host's spec on it.

    Raises:
        WiringError: it leads nowhere.
    """
    for name, traffic in host.spec.traffic.items():
        members = [vm for group in traffic.to for vm in host.vms if vm.group.name == group]
        if isinstance(traffic, MulticastSpec):
            _stream(host, name, traffic, members, streams)
        elif isinstance(traffic, UdpStreamSpec):
            _datagrams(host, name, traffic, members, streams)
        elif isinstance(traffic, WorkSpec):
            _work(host, name, traffic, members, streams)
        else:
            _connections(host, name, traffic, members, streams)


def _stream(host: Host, name: str, traffic: MulticastSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """A multicast stream: over the wire of the first uplink of the switch that its receivers are on, to their ports."""
    networks = sorted({group.networks[0] for group in host.spec.vms if group.name in traffic.to})
    if len(networks) != 1:
        raise WiringError(f"the receivers of {name!r} are on {len(networks)} virtual switches; a stream enters by one")
    flow = Flow(name, traffic.packet_size, len(members))
    position = len(host.flows)
    host.flows.append(flow)
    uplink = host.spec.vswitches[networks[0]].uplinks[0]
    nic = host.nics[uplink]
    rate = host.spec.hardware.nics[uplink].rate
    sender = Sender(flow, traffic.packet_size, transmission_ps(datagram_on_wire(traffic.packet_size), rate), 1)
    group = f"239.0.{position // 250}.{position % 250 + 1}"
    host.netqueues[uplink].flood(sender, toeplitz_hash(DEFAULT_KEY, rss_input(PEER, group)))
    nic.wire.carry(sender, make_arrivals(traffic.arrivals, traffic.rate, streams.stream("traffic", position)))
    for vm in members:
        host.switches[networks[0]].join(sender, vm.vnics[0].ports[0])


def _datagrams(host: Host, name: str, traffic: UdpStreamSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """A stream of datagrams to or from every VM of some groups."""
    position = len(host.flows)
    flow = Flow(name, traffic.packet_size, 1)
    host.flows.append(flow)
    for number, vm in enumerate(members):
        device = vm.devices[traffic.vnic]
        random = streams.stream("traffic", position, number)
        if traffic.direction == "receive":
            switch = links(vm.group, host.spec.vswitches)[traffic.vnic]
            octets = packet_on_wire(traffic.packet_size + UDP_HEADERS, vxlan=switch.vxlan)
            rate = host.spec.hardware.nics[device.nic.name].rate
            sender = Sender(flow, traffic.packet_size, transmission_ps(octets, rate), traffic.burst)
            value = toeplitz_hash(DEFAULT_KEY, rss_input(PEER, _address(host, vm)))
            host.netqueues[device.nic.name].add(device.filter, sender, value)
            device.nic.wire.carry(sender, make_bursts(traffic.bursts, traffic.burst, random))
        else:
            interval = round(SECOND / traffic.bursts)
            hertz = host.spec.costs.cycle_rate(host.spec.hardware.cpu.family, host.spec.hardware.cpu.clock)
            write_ps = vm.group.guest.applications.udp_source.ps(hertz)
            queue = device.transmits[0]
            source = UdpSource(host.clock, flow, vm.vcpus[0], queue, interval, traffic.burst, write_ps)
            source.begin(int(random.integers(0, interval)))


def _work(host: Host, name: str, traffic: WorkSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Work for the first vCPU of every VM of some groups, each with arrivals and lengths of its own."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    host.flows.append(flow)
    for number, vm in enumerate(members):
        vcpu = vm.vcpus[0]
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


def _connections(
    host: Host,
    name: str,
    traffic: TcpStreamSpec | HttpSpec | TransactionsSpec,
    members: list[VirtualMachine],
    streams: Streams,
) -> None:
    """TCP connections between every VM of some groups and the peer."""
    think_time = 0 if isinstance(traffic, TcpStreamSpec) else traffic.think_time
    position = len(host.flows)
    message = traffic.message_size if isinstance(traffic, TcpStreamSpec) else None
    flow = Flow(name, 0, 1)
    if not isinstance(traffic, TcpStreamSpec):
        flow.users = traffic.connections * len(members)
    host.flows.append(flow)
    hertz = host.spec.costs.cycle_rate(host.spec.hardware.cpu.family, host.spec.hardware.cpu.clock)
    for number, vm in enumerate(members):
        vnic = vm.devices[traffic.vnic]
        guest = vm.group.guest
        costs = guest.applications
        application = Application(
            per_packet=costs.tcp_sink.ps(hertz),
            per_write=costs.tcp_source.ps(hertz),
            per_request=_per_request(host, vm, traffic, hertz),
            write_copies=isinstance(traffic, TcpStreamSpec),
            ack_every=guest.ack_every,
            tso_divisor=guest.tso_divisor,
        )
        switch = links(vm.group, host.spec.vswitches)[traffic.vnic]
        rate = host.spec.hardware.nics[vnic.nic.name].rate
        most = segment_size(switch.mtu)
        size = most if message is None else min(message, most)
        full = message is None or message >= most
        frame_ps = transmission_ps(packet_on_wire(size + TCP_HEADERS, vxlan=switch.vxlan), rate)
        small_ps = transmission_ps(packet_on_wire(TCP_HEADERS, vxlan=switch.vxlan), rate)
        link = vnic.nic.wire
        assert isinstance(link, Link)
        starts = streams.stream("traffic", position, number).integers(0, START_WITHIN, traffic.connections)
        for place in range(traffic.connections):
            value = _hash(host, vm, switch, traffic, place)
            queues = vnic.transmits
            which = place % len(vm.vcpus)
            if len(queues) > 1:  # a process goes where its packets come in
                probe = Sender(flow, 0, 0, 1)
                host.netqueues[vnic.nic.name].add(vnic.filter, probe, value)
                vnic.filter.senders.pop()
                assert probe.vnic is not None
                which = vm.vcpus.index(probe.vnic.vcpu)  # type: ignore[arg-type]  # a vNIC interrupts a vCPU
            ends = Ends(
                host.clock,
                flow,
                link,
                queues[which % len(queues)],
                vm.vcpus[which],
                application,
                traffic.delay,
            )
            # each user thinks by numbers of his own, whenever the others are served
            think = _thinking(think_time, streams.stream("traffic", position, number, place)) if think_time else None
            connection: Receiving | Sending | User
            request_size = 0 if isinstance(traffic, TcpStreamSpec) else traffic.request_size
            request_ps = transmission_ps(packet_on_wire(request_size + TCP_HEADERS, vxlan=switch.vxlan), rate)
            senders: list[Sender]
            if isinstance(traffic, TransactionsSpec):
                frames = -(-traffic.reply_size // most)
                connection = User(
                    ends,
                    request_size=request_size,
                    request_ps=request_ps,
                    reply_frames=frames,
                    reply_size=-(-traffic.reply_size // frames),
                    think=think,
                )
                senders = [connection.requests]
            else:
                # a small packet is charged to the socket's buffer with its overhead
                segments = max(1, traffic.window // (size if full else size + guest.socket_overhead))
                congestion = Congestion(segments, guest.initial_window)
                file = ENDLESS if isinstance(traffic, TcpStreamSpec) else -(-traffic.size // size)
                if _receives(traffic):
                    connection = Receiving(
                        ends,
                        congestion,
                        file,
                        size=size,
                        frame_ps=frame_ps,
                        burst=traffic.burst,
                        full=full,
                        think=think,
                    )
                    senders = [connection.data]
                else:
                    connection = Sending(
                        ends,
                        congestion,
                        file,
                        size=size,
                        small_ps=small_ps,
                        full=full and (traffic.vnic < len(vm.vnics) or host.spec.hardware.nics[vnic.nic.name].tso),
                        acks_every=traffic.peer_acks_every,
                        request=(request_size, request_ps),
                        think=think,
                    )
                    senders = [connection.acks, connection.requests]
            for sender in senders:
                host.netqueues[vnic.nic.name].add(vnic.filter, sender, value)
            connection.begin(int(starts[place]) + (think() if think is not None else 0))


def _receives(traffic: TcpStreamSpec | HttpSpec) -> bool:
    return traffic.direction == "receive" if isinstance(traffic, TcpStreamSpec) else traffic.method == "post"


def _thinking(mean: int, random: np.random.Generator) -> Think:
    return lambda: int(random.exponential(mean))


def _per_request(
    host: Host, vm: VirtualMachine, traffic: TcpStreamSpec | HttpSpec | TransactionsSpec, hertz: float
) -> int:
    """What the guest's application takes for a request, in picoseconds; of a transaction more, the more memory is away from the VM's home."""
    costs = vm.group.guest.applications
    if isinstance(traffic, HttpSpec):
        return costs.http_server.ps(hertz)
    if isinstance(traffic, TcpStreamSpec):
        return 0
    far = away(vm.group.settings.reserved, len(host.scheduler.nodes))
    dearer = costs.transaction_memory.value * far * (host.spec.costs.remote_memory.value - 1)
    return round(costs.transaction.ps(hertz) * (1 + dearer))


def _address(host: Host, vm: VirtualMachine) -> str:
    """The address of a VM."""
    number = host.vms.index(vm)
    return f"10.0.{number // 250}.{number % 250 + 1}"


def _hash(
    host: Host,
    vm: VirtualMachine,
    switch: VSwitchSpec,
    traffic: TcpStreamSpec | HttpSpec | TransactionsSpec,
    place: int,
) -> int:
    """What the NIC's hash makes of a connection: of its own addresses and ports, or of the tunnel's."""
    server = {"tcp_stream": STREAM_PORT, "http": HTTP_PORT, "transactions": DATABASE_PORT}[traffic.kind]
    port = 1 + (traffic.port + place - 1) % 65535
    inner = toeplitz_hash(DEFAULT_KEY, rss_input(PEER, _address(host, vm), port, server))
    if not switch.vxlan:
        return inner
    outer = rss_input(*TUNNEL_ENDS, FIRST_TUNNEL_PORT + inner % TUNNEL_PORTS, VXLAN_PORT)
    return toeplitz_hash(DEFAULT_KEY, outer)
