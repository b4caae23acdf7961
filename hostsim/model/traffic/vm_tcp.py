"""TCP streams between two VMs of a host, with processes of two guests at the ends."""

from __future__ import annotations

from functools import partial
from itertools import product

from hostsim.config.arrival import ServiceSpec
from hostsim.config.workload import VmTcpStreamSpec
from hostsim.engine.arrivals import Jitter
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, GuestStream, InboundStream
from hostsim.model.guest.device import GuestDevice, VirtualMachine
from hostsim.model.host import Host
from hostsim.model.policy.steering import rss_input
from hostsim.model.receive.context import Port
from hostsim.model.traffic.service import constant_ps, make_service
from hostsim.model.traffic.tcp import ENDLESS, Application, Congestion, Endpoints, GuestPackets, PeerFrames
from hostsim.model.traffic.tcp_sender import TcpSender
from hostsim.model.traffic.tcp_setup import cycle_rate, segmented
from hostsim.model.traffic.vm_datagram import goes_inside, local_port, pairs, queue_of, send_inside, steered_port
from hostsim.model.transmit.networld import LocalRoute
from hostsim.units import MS

__all__ = ["VmStream", "attach_vm_streams"]

SERVER_PORT = 5001
"""Port of the receiver (netperf's and iperf's data)."""


class VmStream(TcpSender):
    """A TCP connection on which a VM sends and another VM of the host receives.

    Attributes:
        segments: data at the receiver.
        returned: acknowledgements as the receiver sends them.
    """

    def __init__(
        self, endpoints: Endpoints, receiver: Endpoints, congestion: Congestion, *, size: int, full: bool
    ) -> None:
        """Create an idle connection.

        Args:
            endpoints: the sender's end.
            receiver: the receiver's end.
            congestion: congestion window of the sender.
            size: bytes of data in a segment.
            full: True if segments are as large as the path allows, so that TSO packets may carry several.
        """
        super().__init__(endpoints, congestion, ENDLESS, size=size, small_ps=0, full=full, acks_every=1)
        self._receiver, self._since_ack = receiver, 0
        self.segments = PeerFrames(receiver, size, 0, self, self._lose)
        self.returned = GuestPackets(endpoints.totals, 0, self, self._acks_dropped)

    @property
    def data(self) -> GuestPackets:
        """Packets of data as the sender sends them."""
        return self._data

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        return (
            self._read(train, start, wait_ps)
            if frames is self.segments
            else super().take(frames, train, start, wait_ps)
        )

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        if packets is self.returned:
            raise AssertionError("a packet between two VMs left over a wire")
        super().gone(packets, train, first, step)

    def _read(self, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        """Read and acknowledge data in the receiver's process; returns the end."""
        receiver = self._receiver
        application, vcpu = receiver.application, receiver.vcpu
        packets = train.count
        frames = packets * train.frames
        octets = frames * self.segments.size
        end = start + application.packets_ps(packets) + vcpu.costs.copied(octets, wait_ps)
        if vcpu.wakes(self):
            end += vcpu.costs.guest_process_wake
        vcpu.count_read(train, start, end)
        receiver.totals.octets += octets
        self._carry += frames
        self._since_ack += packets
        acks = self._since_ack // application.ack_every
        self._since_ack %= application.ack_every
        kept = min(self._carry, self._since_ack * train.frames)
        if not acks and not self._acks_coming and self._carry + self._lost >= self._congestion.in_flight:
            acks, kept, self._since_ack = 1, 0, 0  # the sender's window is used up, and its last segment has PSH set
        if acks:
            self._acks_coming += acks
            self._acked += self._carry - kept
            self._carry = kept
            ack_ps = vcpu.costs.guest_ack
            step = (end - start) // acks + ack_ps
            end += acks * ack_ps
            first = end - (acks - 1) * step
            vcpu.post_to(receiver.queue, Train(self.returned, acks, first, step, first, step))
        return end


def attach_vm_streams(
    host: Host, name: str, traffic: VmTcpStreamSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Open TCP connections from VM to VM."""
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    flow.is_local = True
    host.flows.append(flow)
    for (member, vm, target), connection in product(pairs(host, traffic, members), range(traffic.streams)):
        ports = (1 + (traffic.port + connection - 1) % 65535, SERVER_PORT)
        forth = rss_input(vm.address, target.address, *ports)
        back = rss_input(target.address, vm.address, *ports[::-1])
        sends, takes = vm.devices[traffic.vnic], target.devices[traffic.to_vnic]
        late = Jitter(0, streams.stream("traffic", position, member, connection))
        inside = goes_inside(sends, takes)
        home, there = (
            steered_port(host, device, packet) if inside else device.port(packet)
            for device, packet in ((sends, back), (takes, forth))
        )
        nodelay = traffic.nodelay and not vm.group.guest.autocorking
        size, full, written = segmented(host, vm.group, traffic.vnic, traffic.message_size, nodelay=nodelay)
        sender = _end(host, flow, vm, sends, home, connection, forth, late, written)
        receiver = _end(host, flow, target, takes, there, connection, back, late, 0, traffic.service)
        charged = size if full else size + target.group.guest.socket_overhead
        congestion = Congestion(max(1, traffic.window // charged), vm.group.guest.initial_window)
        flow.windows.append((congestion, size))
        start = int(streams.stream("traffic", position, member, connection, "start").integers(0, MS))
        stream = VmStream(sender, receiver, congestion, size=size, full=full and sends.tso)
        if inside:
            stream.segments.joins = stream.segments.is_full = full
            send_inside(host, stream.data, stream.segments, takes, forth)
            send_inside(host, stream.returned, stream.acks, sends, back)
            stream.begin(start)
            continue
        stream.data.route = LocalRoute(stream.segments, queue_of(host, sender.queue), local_port(host, takes, there))
        stream.returned.route = LocalRoute(stream.acks, queue_of(host, receiver.queue), local_port(host, sends, home))
        stream.begin(start)


def _end(
    host: Host,
    flow: Flow,
    vm: VirtualMachine,
    device: GuestDevice,
    port: Port,
    connection: int,
    packet: bytes,
    late: Jitter,
    written: int,
    service: ServiceSpec | None = None,
) -> Endpoints:
    """Return a VM's end of connection number ``connection``.

    Its process moves to the vCPU where its packets arrive.
    """
    guest, hertz = vm.group.guest, cycle_rate(host)
    scope = ("service", host.flows.index(flow), host.vms.index(vm), connection) if service is not None else ()
    application = Application(
        per_packet=constant_ps(service, hertz, guest.applications.tcp_sink.ps(hertz)),
        packets=make_service(service, hertz, partial(host.streams.stream, *scope)),
        per_write=guest.applications.tcp_source.ps(hertz),
        per_request=0,
        write_copies=True,
        ack_every=guest.ack_every,
        tso_divisor=guest.tso_divisor,
        write_size=written,
        sum_ps=device.sum_ps,
    )
    vcpu_index = connection % len(vm.vcpus)
    if len(device.ports) >= len(vm.vcpus) > 1:
        vcpu_index = next(index for index, vcpu in enumerate(vm.vcpus) if vcpu is port.vnic.vcpu)
    queue = device.transmit(vm, vcpu_index, packet)
    return Endpoints(host.clock, flow, None, queue, vm.vcpus[vcpu_index], application, delay=0, jitter=late)
