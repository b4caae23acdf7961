"""A peer outside the host that sends datagrams to VMs: of a traffic source of one's own, which is a SimPy process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hostsim.engine.random_stream import Streams
from hostsim.model.host import Host, VirtualMachine
from hostsim.model.net.closed_loop_wire import ClosedLoopWire
from hostsim.model.workload.flow import Flow, Sender
from hostsim.model.workload.tcp_setup import PEER, address_of
from hostsim.policy.steering import DEFAULT_KEY, rss_input, toeplitz_hash
from hostsim.spec.host import links
from hostsim.spec.network import UDP_HEADERS, packet_on_wire
from hostsim.spec.traffic import Traffic
from hostsim.units import transmission_ps

__all__ = ["Peer", "datagram_sender"]


def datagram_sender(host: Host, flow: Flow, vm: VirtualMachine, vnic: int, size: int, burst: int) -> Sender:
    """Return a new sender of datagrams of ``size`` bytes of data to a NIC of a VM, steered by its receive filter."""
    device = vm.devices[vnic]
    switch = links(vm.group, host.spec.vswitches)[vnic]
    octets = packet_on_wire(size + UDP_HEADERS, vxlan=switch.vxlan)
    rate = host.spec.hardware.nics[device.nic.name].rate
    sender = Sender(flow, size, transmission_ps(octets, rate), burst)
    value = toeplitz_hash(DEFAULT_KEY, rss_input(PEER, address_of(host, vm)))
    host.netqueues[device.nic.name].add(device.filter, sender, value)
    return sender


class Peer:
    """The peer of a traffic source: it sends when the source's process says so.

    Attributes:
        spec: what the scenario says of the traffic.
        vms: VMs of the groups that it goes to.
        random: a stream of random numbers that nobody else draws from.
    """

    def __init__(
        self, host: Host, name: str, spec: Traffic, members: Sequence[VirtualMachine], streams: Streams
    ) -> None:
        position = len(host.flows)
        self.spec: Any = spec  # of a class of the source's own
        self.vms = tuple(members)
        self.random = streams.stream("traffic", position)
        self._host, self._flow = host, Flow(name, 0, 1)
        self._senders: dict[tuple[VirtualMachine, int, int], Sender] = {}
        host.flows.append(self._flow)

    def send(self, vm: VirtualMachine, size: int, count: int = 1, *, vnic: int = 0) -> None:
        """Send datagrams now, as soon as the wire is free.

        Args:
            vm: the receiver.
            size: bytes of data in each.
            count: number of datagrams.
            vnic: number of the VM's NIC.

        Raises:
            ValueError: there is no such NIC, or a datagram has no data or does not fit in a frame.
        """
        networks = links(vm.group, self._host.spec.vswitches)
        if not 0 <= vnic < len(networks):
            raise ValueError(f"{vm.name} has no NIC {vnic}: it has {len(networks)}")
        most = networks[vnic].mtu - UDP_HEADERS
        if not 1 <= size <= most:
            raise ValueError(f"a datagram of {size} bytes: 1 to {most} fit in a frame")
        key = (vm, vnic, size)
        if key not in self._senders:
            self._senders[key] = datagram_sender(self._host, self._flow, vm, vnic, size, 1)
        wire = vm.devices[vnic].nic.wire
        assert isinstance(wire, ClosedLoopWire)  # of a host with such traffic
        wire.release(self._senders[key], self._host.clock.now, 0, 1, count)
