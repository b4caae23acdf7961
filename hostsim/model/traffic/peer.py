"""A peer outside the host that sends datagrams to VMs, for the SimPy process of a plug-in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hostsim.config.host import links
from hostsim.config.nic import UDP_HEADERS
from hostsim.config.traffic import Traffic
from hostsim.engine.random_stream import Streams
from hostsim.model.contract import Flow
from hostsim.model.guest.device import VirtualMachine
from hostsim.model.host import Host, ProcessSender, datagram_sender
from hostsim.model.receive.wire import ClosedLoopWire

__all__ = ["Peer"]


class Peer:
    """The peer of a traffic source, which sends when the source's process calls `send`.

    Attributes:
        spec: spec of the traffic in the scenario.
        vms: VMs of the receiving groups.
        random: random stream of the source.
    """

    def __init__(
        self, host: Host, name: str, spec: Traffic, members: Sequence[VirtualMachine], streams: Streams
    ) -> None:
        position = len(host.flows)
        self.spec: Any = spec  # the class is the plug-in's
        self.vms = tuple(members)
        self.random = streams.stream("traffic", position)
        self._host, self._flow = host, Flow(name, 0, 1)
        self._senders: dict[tuple[VirtualMachine, int, int], ProcessSender] = {}
        host.flows.append(self._flow)

    def send(self, vm: VirtualMachine, size: int, count: int = 1, *, device: int = 0) -> None:
        """Send datagrams now; they go on the wire as soon as it is free.

        Args:
            vm: the receiver.
            size: bytes of data in each datagram.
            count: number of datagrams.
            device: number of the VM's NIC.

        Raises:
            ValueError: an unknown NIC, or a datagram without data or too large for a frame.
        """
        networks = links(vm.group, self._host.spec.vswitches, self._host.spec.nics)
        if not 0 <= device < len(networks):
            raise ValueError(f"{vm.name} has no NIC {device}: it has {len(networks)}")
        most = networks[device].mtu - UDP_HEADERS
        if not 1 <= size <= most:
            raise ValueError(f"a datagram of {size} bytes: 1 to {most} fit in a frame")
        key = (vm, device, size)
        if key not in self._senders:
            wire = vm.devices[device].nic.wire
            assert isinstance(wire, ClosedLoopWire)  # hosts with such traffic have this wire
            sender = datagram_sender(self._host, self._flow, vm, device, size, 1)
            self._senders[key] = ProcessSender(self._host.clock, wire, sender)
        self._senders[key].send(count)
