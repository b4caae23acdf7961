"""Attaches workloads to a host: senders to wires, connections to guests, CPU work to vCPUs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import isgeneratorfunction
from itertools import product
from typing import Any, Final, TypeAlias

from hostsim.config.host import links
from hostsim.config.nic import datagram_on_wire, packet_on_wire
from hostsim.config.workload import BridgedSpec, MulticastSpec, UdpStreamSpec, WorkSpec
from hostsim.engine.arrivals import Arrivals, Jitter
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.contract import Flow, Sender
from hostsim.model.guest.device import GuestDevice, VirtualMachine
from hostsim.model.guest.poll_mode import PollingForwarder, TxDescriptors
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.host import Host, datagram_sender
from hostsim.model.policy.moderation import CoalescingDepth
from hostsim.model.policy.steering import rss_input
from hostsim.model.traffic.address import PEER, UDP_PORT, nic_hash
from hostsim.model.traffic.arrival_source import CoalescedArrivals, make_arrivals, make_bursts, make_lengths
from hostsim.model.traffic.cpu_work import CpuWork
from hostsim.model.traffic.forwarded import Bridged, PolledFrames, forwarding
from hostsim.model.traffic.peer import Peer
from hostsim.model.traffic.service import constant_ps, make_service, read_by
from hostsim.model.traffic.tcp_setup import (
    attach_exchanges,
    attach_forwarded,
    attach_tcp,
    attach_web_clients,
    cycle_rate,
)
from hostsim.model.traffic.tiers_setup import attach_tiers
from hostsim.model.traffic.udp import Datagram, UdpSource
from hostsim.model.traffic.vm_datagram import attach_vm_datagrams
from hostsim.model.traffic.vm_tcp import attach_vm_streams
from hostsim.model.traffic.vmkernel import attach_vmkernel
from hostsim.model.transmit.networld import TxQueue
from hostsim.plugin.module import registry_of
from hostsim.units import SECOND, transmission_ps

__all__ = ["attach_control_loops", "attach_workloads"]


Attach: TypeAlias = Callable[[Host, str, Any, list[VirtualMachine], Streams], None]
"""Attaches traffic to a host: host, name, spec, VMs of the groups in ``to``, random streams."""


def attach_workloads(host: Host, streams: Streams) -> None:
    """Attach all traffic of a host's spec to it.

    Raises:
        WiringError: the traffic cannot be attached.
    """
    kinds = registry_of(host.spec.plugins).of("traffic")
    for name, traffic in host.spec.traffic.items():
        members = [vm for group in traffic.to for vm in host.vms if vm.group.name == group]
        attach = kinds[traffic.kind].factory or ATTACH[traffic.kind]
        if isgeneratorfunction(attach):
            host.clock.start(attach(host.clock, host, Peer(host, name, traffic, members, streams)))
        else:
            attach(host, name, traffic, members, streams)


def attach_control_loops(host: Host) -> None:
    """Start the control loops of plug-ins, as SimPy processes."""
    loops = registry_of(host.spec.plugins).of("control_loop")
    for choice in host.spec.control_loops.values():
        loop = loops[choice.name].factory
        assert loop is not None  # all control loops of this role are plug-ins
        host.clock.start(loop(host.clock, host, *choice.own))


def _from_peer(host: Host, posted: Arrivals) -> Arrivals:
    """Return the arrivals of a peer's packets at its NIC: coalesced if the peer is a VM."""
    coalescing = host.spec.peer.tx_coalescing
    if coalescing is None:
        return posted
    timeout = coalescing.timeout
    law = CoalescingDepth(round(coalescing.rate), coalescing.depth_cap, coalescing.low_packets, timeout)
    return CoalescedArrivals(posted, law, timeout)


def _attach_multicast(
    host: Host, name: str, traffic: MulticastSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Attach a multicast stream from a wire to the virtual ports of its receivers.

    The wire is that of the first uplink of their switch; frames for a native host go to the ring of its NIC.
    """
    entries = {
        links(group, host.spec.vswitches, host.spec.nics)[0].uplinks[0]: group.networks[:1]
        for group in host.spec.vms
        if group.name in traffic.to
    }
    if len(entries) != 1:
        raise WiringError(f"the receivers of {name!r} are on {len(entries)} virtual switches; a stream enters by one")
    flow = Flow(name, traffic.packet_size, len(members))
    position = len(host.flows)
    host.flows.append(flow)
    uplink, networks = next(iter(entries.items()))
    if uplink not in host.nics:  # a native host that does not exist
        return
    nic = host.nics[uplink]
    vxlan = any(host.spec.vswitches[network].vxlan for network in networks)  # a native host has no networks
    tag = sum(host.spec.vswitches[network].tag for network in networks)
    rate = host.spec.hardware.nics[uplink].rate
    frame_ps = transmission_ps(datagram_on_wire(traffic.packet_size, vxlan=vxlan, tag=tag), rate)
    sender = Sender(flow, traffic.packet_size, frame_ps, 1)
    read_by(host, sender, traffic, ("service", position))
    packet = rss_input(PEER, f"239.0.{position // 250}.{position % 250 + 1}")
    host.netqueues[uplink].flood(sender, nic_hash(packet, vxlan=vxlan))
    late = host.spec.peer.timer_jitter
    arrivals = make_arrivals(traffic.arrivals, traffic.rate, streams.stream("traffic", position), late)
    nic.wire.carry(sender, _from_peer(host, arrivals))
    for vm in members:
        port = vm.devices[0].port(packet)
        if networks:
            host.switches[networks[0]].join(sender, port)
        else:
            sender.vnic = port.vnic


def _attach_bridged(
    host: Host, name: str, traffic: BridgedSpec, members: list[VirtualMachine], streams: Streams
) -> None:
    """Attach frames for each VM's bridge or router.

    No filter has the addresses behind a bridge, so that they use the default queue of its uplink, or the rings of a
    passed-through NIC.
    """
    position = len(host.flows)
    flow = Flow(name, traffic.data, 1)
    host.flows.append(flow)
    for member, vm in enumerate(members):
        enters, leaves = vm.devices[traffic.enters], vm.devices[traffic.leaves]
        nic = enters.nic
        switch = links(vm.group, host.spec.vswitches, host.spec.nics)[traffic.enters]
        vxlan, rate = switch.vxlan, host.spec.hardware.nics[nic.name].rate
        frame_ps = transmission_ps(packet_on_wire(traffic.packet, vxlan=vxlan, tag=switch.tag), rate)
        taken, step = forwarding(vm.group.guest, host.costs, cycle_rate(host), polls=traffic.forwarded_by == "poll")
        packet = rss_input(PEER, f"10.{3 + position % 250}.{member // 250}.{member % 250 + 1}")
        value = nic_hash(packet, vxlan=vxlan)
        polls = traffic.forwarded_by == "poll"
        if traffic.routed or (enters.rings and host.spec.hypervisor):
            probe = Sender(flow, 0, 0, 1)
            host.netqueues[nic.name].add(enters.filter, probe, value, packet)
            enters.filter.senders.pop()
            port = next(port for port in enters.ports if port.vnic is probe.vnic)
        else:
            port = enters.port(packet)
        vcpu_index = next(
            ordinal for ordinal, vcpu in enumerate(vm.vcpus) if vcpu is port.vnic.vcpu
        )  # a softirq forwards on the vCPU that took the interrupt
        if polls:
            vcpu_index = traffic.vcpu
        index = enters.ports.index(port)
        queue = leaves.posted(vm, vcpu_index, index)  # the kernel selects the queue with the same number
        sender = (PolledFrames if polls else Bridged)(flow, traffic.data, frame_ps, vm.vcpus[vcpu_index], queue, step)
        sender.path_ps = taken
        if polls:
            _poll(host, vm, sender, enters, leaves, index)
        if traffic.routed or (enters.rings and host.spec.hypervisor):
            host.netqueues[nic.name].add(enters.filter, sender, value, packet)
        else:
            host.netqueues[nic.name].flood(sender, value)
            sender.vnic = port.vnic
        random, late = streams.stream("traffic", position, member), host.spec.peer.timer_jitter
        nic.wire.carry(sender, _from_peer(host, make_arrivals(traffic.arrivals, traffic.rate, random, late)))


def _poll(host: Host, vm: VirtualMachine, frames: Sender, enters: GuestDevice, leaves: GuestDevice, index: int) -> None:
    """Create a process that polls queue ``index`` of the receiving NIC and sends through the other NIC."""
    assert isinstance(frames, PolledFrames)
    assert isinstance(frames.vcpu, Vcpu)
    for device in (enters, leaves):
        for port in device.ports:
            if port.vnic.poller is None:
                port.vnic.poll_by(None)
    queue_index = index % len(leaves.transmits)
    transmit = leaves.transmits[queue_index]
    rules = transmit.completions.rule.descriptors if isinstance(transmit, TxQueue) else None
    size = host.spec.hardware.nics[leaves.nic.name].tx_queue if rules is None else rules
    frames.descriptors = TxDescriptors(size)
    vnic, out = enters.ports[index].vnic, leaves.ports[queue_index].vnic
    PollingForwarder(host.clock, frames.vcpu, vnic, out, frames.descriptors).begin(0)


def _attach_udp(host: Host, name: str, traffic: UdpStreamSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Attach UDP streams to or from every VM of some groups."""
    position = len(host.flows)
    flow = Flow(name, traffic.packet_size, 1)
    host.flows.append(flow)
    for (member, vm), stream in product(enumerate(members), range(traffic.streams)):
        device = vm.devices[traffic.vnic]
        random = streams.stream("traffic", position, member, *([stream] if stream else []))
        port = 1 + (traffic.port + stream - 1) % 65535
        if traffic.direction == "receive":
            sender = datagram_sender(host, flow, vm, traffic.vnic, traffic.packet_size, traffic.burst, port)
            read_by(host, sender, traffic, ("service", position, member, stream))
            bursts = make_bursts(traffic.bursts, traffic.burst, random, host.spec.peer.timer_jitter)
            device.nic.wire.carry(sender, _from_peer(host, bursts))
        else:
            interval = round(SECOND / traffic.bursts)
            hertz = cycle_rate(host)
            write_ps = constant_ps(traffic.service, hertz, vm.group.guest.applications.udp_source.ps(hertz))
            scope = ("service", position, member, stream)
            writes = make_service(traffic.service, hertz, partial(streams.stream, *scope))
            vcpu_index = stream % len(vm.vcpus)
            packet = rss_input(vm.address, PEER, UDP_PORT, port)
            queue = device.transmit(vm, vcpu_index, packet)
            start = int(random.integers(0, interval))
            late = Jitter(min(vm.group.guest.timer_jitter, interval // 2), random)
            data, vcpu = Datagram(flow, flow.size), vm.vcpus[vcpu_index]
            UdpSource(
                host.clock,
                data,
                vcpu,
                queue,
                interval=interval,
                burst=traffic.burst,
                write_ps=write_ps,
                jitter=late,
                writes=writes,
                sum_ps=device.sum_ps,
            ).begin(start)


def _attach_work(host: Host, name: str, traffic: WorkSpec, members: list[VirtualMachine], streams: Streams) -> None:
    """Attach CPU work to every VM of some groups, on its first vCPUs without work.

    Each vCPU has its own random streams.
    """
    position = len(host.flows)
    flow = Flow(name, 0, 1)
    host.flows.append(flow)
    for member, vm in enumerate(members):
        free = [vcpu for vcpu in vm.vcpus if vcpu.work is None]
        processes = len(free) or 1 if traffic.vcpus == "all" else traffic.vcpus
        if processes > len(free):
            raise WiringError(f"{vm.name} has {len(free)} vCPUs without work; {name!r} needs {processes}")
        for process, vcpu in enumerate(free[:processes]):
            scope = [position, member, process] if process else [position, member]
            vcpu.work = CpuWork(
                flow,
                make_arrivals(traffic.arrivals, traffic.rate, streams.stream("traffic", *scope, "arrivals")),
                make_lengths(traffic.service, cycle_rate(host), streams.stream("traffic", *scope, "lengths")),
                batch=traffic.batch,
                together=traffic.together,
                waiting=traffic.waiting,
            )


ATTACH: Final[dict[str, Attach]] = {
    "multicast": _attach_multicast,
    "bridged": _attach_bridged,
    "udp_stream": _attach_udp,
    "work": _attach_work,
    "web": attach_web_clients,
    "tcp_stream": attach_tcp,
    "forwarded_stream": attach_forwarded,
    "http": attach_tcp,
    "transactions": attach_exchanges,
    "request_response": attach_exchanges,
    "vmkernel_stream": attach_vmkernel,
    "vmotion": attach_vmkernel,
    "tiers": attach_tiers,
    "vm_datagrams": attach_vm_datagrams,
    "vm_tcp_stream": attach_vm_streams,
}
"""Factories of the shipped kinds of traffic in `hostsim.config.workload.TRAFFIC`."""
