"""Traffic laid on a wired host: senders on wires, connections to guests, work for vCPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.streams import Streams
from hostsim.errors import WiringError
from hostsim.model.dial import PEER, address_of, connections, cycle_rate, web_clients
from hostsim.model.traffic.bridged import Bridged
from hostsim.model.traffic.flow import Flow, Sender
from hostsim.model.traffic.source import make_arrivals, make_bursts, make_lengths
from hostsim.model.traffic.udp import UdpSource
from hostsim.model.traffic.work import Work
from hostsim.policy.steering import DEFAULT_KEY, rss_input, toeplitz_hash
from hostsim.spec.host import links
from hostsim.spec.network import UDP_HEADERS, datagram_on_wire, packet_on_wire
from hostsim.spec.workload import BridgedSpec, MulticastSpec, UdpStreamSpec, WebSpec, WorkSpec
from hostsim.units import SECOND, transmission_ps

if TYPE_CHECKING:
    from hostsim.model.host import Host, VirtualMachine

__all__ = ["connect"]


def connect(host: Host, streams: Streams) -> None:
    """Lay all traffic of a host's spec on it.

    Raises:
        WiringError: it leads nowhere.
    """
    for name, traffic in host.spec.traffic.items():
        members = [vm for group in traffic.to for vm in host.vms if vm.group.name == group]
        match traffic:
            case MulticastSpec():
                _stream(host, name, traffic, members, streams)
            case BridgedSpec():
                _bridged(host, name, traffic, members, streams)
            case UdpStreamSpec():
                _datagrams(host, name, traffic, members, streams)
            case WorkSpec():
                _work(host, name, traffic, members, streams)
            case WebSpec():
                web_clients(host, name, traffic, members, streams)
            case _:
                connections(host, name, traffic, members, streams)


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


def _bridged(host: Host, name: str, traffic: BridgedSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Frames for each VM's bridge. No filter knows the addresses behind it, so that they come by the default queue of its uplink."""
    position = len(host.flows)
    flow = Flow(name, traffic.data, 1)
    host.flows.append(flow)
    for number, vm in enumerate(members):
        enters, leaves = vm.vnics[traffic.enters], vm.vnics[traffic.leaves]
        nic = enters.nic
        vxlan = host.spec.vswitches[enters.switch].vxlan
        frame_ps = transmission_ps(packet_on_wire(traffic.packet, vxlan=vxlan), host.spec.hardware.nics[nic.name].rate)
        step = vm.group.guest.applications.bridge.ps(cycle_rate(host)) + host.timing.guest_tx_packet
        sender = Bridged(flow, traffic.data, frame_ps, vm.vcpus[0], leaves.transmits[0], step)
        behind = f"10.3.{number // 250}.{number % 250 + 1}"
        host.netqueues[nic.name].flood(sender, toeplitz_hash(DEFAULT_KEY, rss_input(PEER, behind)))
        sender.vnic = enters.ports[0].vnic
        nic.wire.carry(
            sender, make_arrivals(traffic.arrivals, traffic.rate, streams.stream("traffic", position, number))
        )


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
            value = toeplitz_hash(DEFAULT_KEY, rss_input(PEER, address_of(host, vm)))
            host.netqueues[device.nic.name].add(device.filter, sender, value)
            device.nic.wire.carry(sender, make_bursts(traffic.bursts, traffic.burst, random))
        else:
            interval = round(SECOND / traffic.bursts)
            write_ps = vm.group.guest.applications.udp_source.ps(cycle_rate(host))
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
