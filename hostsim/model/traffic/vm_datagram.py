"""Datagrams between VMs of a host: routes, senders in guests, and receive paths of guests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from hostsim.config.guest import PacketPaths
from hostsim.config.workload import VmDatagramsSpec, VmTraffic
from hostsim.engine.arrivals import Jitter
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.errors import WiringError
from hostsim.model.contract import Flow, GuestStream, InboundStream, PacketSink, Sender
from hostsim.model.guest.device import GuestDevice, SharedTxQueue, VirtualMachine
from hostsim.model.guest.poll_mode import PollingReceiver, PollingSender
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.host import Host
from hostsim.model.policy.steering import rss_input
from hostsim.model.receive.context import Port
from hostsim.model.traffic.address import UDP_PORT, nic_hash
from hostsim.model.traffic.service import read_by
from hostsim.model.traffic.tcp_setup import cycle_rate
from hostsim.model.traffic.udp import Datagram, UdpSource
from hostsim.model.transmit.networld import LocalDelivery, LocalPort, LocalRoute, NetWorld, TxQueue
from hostsim.model.transmit.nic_switch import NicRoute, SwitchingPnic
from hostsim.units import SECOND, US

__all__ = [
    "attach_vm_datagrams",
    "goes_inside",
    "local_port",
    "pairs",
    "queue_of",
    "send_inside",
    "steered_port",
]


def pairs(
    host: Host, traffic: VmTraffic, members: list[VirtualMachine]
) -> Iterator[tuple[int, VirtualMachine, VirtualMachine]]:
    """Iterate over the sending VMs: number, VM, and its receiver."""
    senders = [vm for group in traffic.sender for vm in host.vms if vm.group.name == group]
    if members:
        for member, vm in enumerate(senders):
            yield member, vm, members[member % len(members)]


def queue_of(host: Host, sink: PacketSink[GuestStream]) -> TxQueue:
    """Return the transmit queue of a vCPU's sink, whose context can forward packets to other VMs.

    Raises:
        WiringError: no VMkernel context serves the queue.
    """
    queue = sink.queue if isinstance(sink, SharedTxQueue) else sink
    if not isinstance(queue, TxQueue):
        raise WiringError("a passed-through NIC has no path to other VMs of the host")
    _delivery(host, queue.context)
    return queue


def local_port(host: Host, device: GuestDevice, port: Port) -> LocalPort:
    """Return the local side of a port of a device.

    The context of the transmit queue with the same number serves its receive list.
    """
    port_of_vnic = next((local for local in host.local_ports if local.vnic is port.vnic), None)
    if port_of_vnic is not None:
        return port_of_vnic
    settings = host.spec.settings
    context = queue_of(host, port.vnic.transmits[device.ports.index(port)]).context
    local = LocalPort(
        port.vnic,
        context,
        host.costs,
        capacity=settings.rx_list,
        in_tx=settings.rx_copy_in_tx,
        lro=device.lro,
        halved=settings.tso_split,
    )
    host.local_ports.append(local)
    _delivery(host, context).ports.append(local)
    return local


def goes_inside(sends: GuestDevice, takes: GuestDevice) -> bool:
    """True if the switch inside a NIC forwards packets between two devices.

    One or both of them are virtual functions.

    Raises:
        WiringError: the NIC does not reach the other device.
    """
    if sends.switch and takes.switch:
        return False
    if sends.nic is not takes.nic or not isinstance(sends.nic, SwitchingPnic):
        raise WiringError(f"the switch inside {sends.nic.name} reaches only functions of this port and its uplink")
    return True


def steered_port(host: Host, device: GuestDevice, packet: bytes) -> Port:
    """Return the receive queue of a device for a flow, as steered by its NIC."""
    probe = Sender(Flow("", 0, 1), 0, 0, 1)
    _steer(host, device, probe, packet)
    device.filter.senders.pop()
    return next(port for port in device.ports if port.vnic is probe.vnic)


def send_inside(host: Host, stream: GuestStream, inbound: Sender, device: GuestDevice, packet: bytes) -> None:
    """Route a stream of packets through the switch inside a NIC to a device."""
    inbound.joins = inbound.joins and device.lro
    _steer(host, device, inbound, packet)
    stream.route = NicRoute(inbound)


def _steer(host: Host, device: GuestDevice, sender: Sender, packet: bytes) -> None:
    host.netqueues[device.nic.name].add(device.filter, sender, nic_hash(packet, vxlan=False), packet)


def _delivery(host: Host, context: NetWorld) -> LocalDelivery:
    """Return the part of a transmit context in traffic between VMs of the host."""
    if context.local is None:
        context.local = LocalDelivery(host.costs, host.spec.settings.poll_budget)
    return context.local


class Inbound(Sender):
    """Datagrams from another VM for the guest's kernel or a polling process.

    They are counted at the end of its part.

    Args:
        totals: flow with their counters.
        size: bytes of data in each.
        vcpu: vCPU that takes them from the ring.
        step: additional time of each, in picoseconds.
    """

    def __init__(self, totals: Flow, size: int, vcpu: Vcpu, step: int = 0) -> None:
        super().__init__(totals, size, 0, 1)
        self.in_softirq = True
        self.vcpu, self._step = vcpu, step

    def handle(self, train: Train[InboundStream], start: int) -> int:
        """Process packets one after the other from ``start`` on; returns the end."""
        totals, step, count, vcpu = self.totals, self._step, train.count, self.vcpu
        assert isinstance(vcpu, Vcpu)
        totals.latency.add(start + step - train.arrived, step - train.gap, count)
        totals.delivered += count
        totals.octets += count * self.size
        vcpu.read += count
        return start + count * step


class Returned(Inbound):
    """Datagrams that an XDP program sends back through the same vNIC."""

    def __init__(self, totals: Flow, size: int, vcpu: Vcpu, step: int, queue: PacketSink[GuestStream]) -> None:
        super().__init__(totals, size, vcpu, step)
        self.sink, self.back = queue, Datagram(totals, size)

    def handle(self, train: Train[InboundStream], start: int) -> int:
        """Send packets back one after the other from ``start`` on; returns the end."""
        end = super().handle(train, start)
        step, vcpu = self._step, self.vcpu
        assert isinstance(vcpu, Vcpu)
        vcpu.post_to(self.sink, Train(self.back, train.count, start + step, step, train.arrived, train.gap))
        return end


def attach_vm_datagrams(
    host: Host, name: str, traffic: VmDatagramsSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Attach datagrams from VM to VM."""
    position = len(host.flows)
    flow = Flow(name, traffic.packet_size, 1)
    back = Flow(f"{name} back", traffic.packet_size, 1)
    flow.is_local = back.is_local = True
    back.groups = (*traffic.to, *traffic.sender)
    host.flows.append(flow)
    if traffic.taken_by in ("xdp_tx", "xdp_skb_tx"):
        host.flows.append(back)
    for (member, vm, target), stream in product(pairs(host, traffic, members), range(traffic.streams)):
        random = streams.stream("traffic", position, member, *([stream] if stream else []))
        device = target.devices[traffic.to_vnic]
        inside = goes_inside(vm.devices[traffic.vnic], device)
        numbers = (1 + (traffic.port + stream - 1) % 65535, UDP_PORT) if device.udp_rss else ()
        packet = rss_input(vm.address, target.address, *numbers)
        port = steered_port(host, device, packet) if inside else device.port(packet)
        inbound = _inbound(host, flow, traffic, target, port)
        read_by(host, inbound, traffic, ("service", position, member, stream))
        data = Datagram(flow, flow.size)
        sink = _sender(host, name, traffic, vm, stream, data, packet, random)
        if inside:
            send_inside(host, data, inbound, device, packet)
            continue
        data.route = LocalRoute(inbound, queue_of(host, sink), local_port(host, device, port))
        if isinstance(inbound, Returned):
            home = vm.devices[traffic.vnic]
            there = home.port(rss_input(target.address, vm.address, *numbers[::-1]))
            inbound.back.route = LocalRoute(
                Inbound(back, flow.size, _vcpu(there)), queue_of(host, inbound.sink), local_port(host, home, there)
            )
        if traffic.taken_by == "poll" and port.vnic.poller is None:
            _take_over(device)
            PollingReceiver(host.clock, _vcpu(port), port.vnic).begin(0)


def _sender(
    host: Host,
    name: str,
    traffic: VmDatagramsSpec,
    vm: VirtualMachine,
    stream: int,
    data: Datagram,
    packet: bytes,
    random: np.random.Generator,
) -> PacketSink[GuestStream]:
    """Create the sender of a stream; returns the transmit queue of its packets."""
    device, hertz = vm.devices[traffic.vnic], cycle_rate(host)
    vcpu_index = traffic.vcpu + stream
    if traffic.sent_by == "process":
        vcpu_index %= len(vm.vcpus)
        sink = device.transmit(vm, vcpu_index, packet)
        interval = round(SECOND / traffic.bursts)
        write_ps = vm.group.guest.applications.udp_source.ps(hertz)
        late = Jitter(min(vm.group.guest.timer_jitter, interval // 2), random)
        start = int(random.integers(0, interval))
        UdpSource(
            host.clock,
            data,
            vm.vcpus[vcpu_index],
            sink,
            interval=interval,
            burst=traffic.burst,
            write_ps=write_ps,
            jitter=late,
            sum_ps=device.sum_ps,
        ).begin(start)
        return sink
    if vcpu_index >= len(vm.vcpus) or vm.vcpus[vcpu_index].work is not None:
        raise WiringError(f"{vm.name} has no vCPU number {vcpu_index} that is free to poll for {name!r}")
    if stream >= len(device.transmits):
        raise WiringError(f"{vm.name} has {len(device.transmits)} transmit queues for the streams of {name!r}")
    vcpu, sink = vm.vcpus[vcpu_index], device.posted(vm, vcpu_index, stream)
    queue = queue_of(host, sink)
    if not stream:
        _take_over(device)
    packet_ps, descriptors = _paths(vm).poll_tx.ps(hertz), queue.completions.rule.descriptors
    vnic = device.ports[stream].vnic
    PollingSender(host.clock, vcpu, vnic, sink, data, packet_ps, descriptors).begin(int(random.integers(0, US)))
    return sink


def _take_over(device: GuestDevice) -> None:
    """Assign a device to a driver in a process, which needs no interrupts of any of its queues."""
    for port in device.ports:
        port.vnic.poll_by(None)


def _inbound(host: Host, flow: Flow, traffic: VmDatagramsSpec, target: VirtualMachine, port: Port) -> Sender:
    """Return the packets of a stream at their receiver, with the costs of their path."""
    path, hertz, size = traffic.taken_by, cycle_rate(host), flow.size
    if path == "socket":
        return Sender(flow, size, 0, 1)
    if path == "stack":
        return Inbound(flow, size, _vcpu(port))
    paths, inbound = _paths(target), Inbound(flow, size, _vcpu(port))
    if path == "poll":
        return Inbound(flow, size, _vcpu(port), paths.poll_rx.ps(hertz))
    if path in ("xdp_tx", "xdp_skb_tx"):
        device = target.devices[traffic.to_vnic]
        vcpu_index = next(index for index, vcpu in enumerate(target.vcpus) if vcpu is port.vnic.vcpu)
        sink = device.posted(target, vcpu_index, device.ports.index(port))
        step = paths.xdp_tx if path == "xdp_tx" else paths.xdp_skb_tx
        inbound = Returned(flow, size, _vcpu(port), step.ps(hertz), sink)
    taken = {
        "packet_socket": paths.packet_socket,
        "xdp_drop": paths.xdp_drop,
        "xdp_tx": paths.xdp_drop,
        "xdp_skb_drop": paths.xdp_skb_drop,
        "xdp_skb_tx": paths.xdp_skb_drop,
    }
    inbound.path_ps = taken[path].ps(hertz)
    return inbound


def _paths(vm: VirtualMachine) -> PacketPaths:
    """Return the costs of a guest's packets outside sockets."""
    paths = vm.group.guest.paths
    if paths is None:
        raise WiringError(f"the guest of {vm.name} has no costs of packets outside its sockets")
    return paths


def _vcpu(port: Port) -> Vcpu:
    """Return the vCPU that takes the interrupts of a port's queue."""
    vcpu = port.vnic.vcpu
    assert isinstance(vcpu, Vcpu)
    return vcpu
