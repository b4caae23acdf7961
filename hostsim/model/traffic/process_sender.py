"""Senders that a SimPy process drives: traffic of a user's own, put on the wire frame by frame or in bursts (`Host.sender`)."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from hostsim.config.host import links
from hostsim.config.nic import datagram_on_wire
from hostsim.engine.clock import Clock
from hostsim.errors import WiringError
from hostsim.model.policy.steering import rss_input
from hostsim.model.receive.closed_loop_wire import ClosedLoopWire
from hostsim.model.receive.open_loop_wire import OpenLoopWire
from hostsim.model.traffic.address import FIRST_PORT, PEER, UDP_PORT, nic_hash
from hostsim.model.traffic.flow import Flow, Sender
from hostsim.units import transmission_ps

if TYPE_CHECKING:
    from hostsim.model.host import Host, VirtualMachine

__all__ = ["ProcessSender", "add_sender", "datagram_sender"]


def datagram_sender(
    host: Host, flow: Flow, vm: VirtualMachine, device: int, size: int, burst: int, port: int = FIRST_PORT
) -> Sender:
    """Return a new sender of datagrams of ``size`` bytes of data to a device of a VM, steered by its receive filter.

    NICs and vNICs hash their addresses alone: fragments have no ports. With ``ethernetX.udpRSS`` the peer's ``port`` counts, too.
    """
    target = vm.devices[device]
    vxlan = links(vm.group, host.spec.vswitches, host.spec.nics)[device].vxlan
    octets = datagram_on_wire(size, vxlan=vxlan)
    sender = Sender(flow, size, transmission_ps(octets, host.spec.hardware.nics[target.nic.name].rate), burst)
    ports = (port, UDP_PORT) if target.udp_rss else ()
    packet = rss_input(PEER, vm.address, *ports)
    host.netqueues[target.nic.name].add(target.filter, sender, nic_hash(packet, vxlan=vxlan), packet)
    return sender


class ProcessSender:
    """A sender of datagrams that sends when a process says so; they end in a datagram socket of the VM.

    Attributes:
        totals: flow with its counters: ``sent`` came off the wire, ``lost_nic`` were dropped at the physical NIC, ``delivered``
            were read by the application.
    """

    def __init__(self, clock: Clock, wire: ClosedLoopWire, sender: Sender) -> None:
        self.totals = sender.totals
        self._clock, self._wire, self._sender = clock, wire, sender

    def send(self, frames: int) -> None:
        """Send frames now: they go on the wire as soon as it is free, in turns with those of other senders.

        Raises:
            TypeError: the number is not an integer.
            ValueError: it is negative.
        """
        count = index(frames)
        if count < 0:
            raise ValueError(f"send({frames}): the number of frames is negative")
        self._wire.release(self._sender, self._clock.now, 0, 1, count)


def add_sender(host: Host, vm: VirtualMachine, *, name: str, size: int, device: int, burst: int) -> ProcessSender:
    """Add a sender to a host whose time has not started; `Host.sender` documents it.

    Raises:
        WiringError: the host is wired already, or it has no such device.
    """
    if host.is_wired:
        raise WiringError(f"the sender {name!r} comes too late: a process makes its senders before its first yield")
    if not 0 <= device < len(vm.devices):
        raise WiringError(f"{vm.name} has no device {device} for the sender {name!r}")
    nic = vm.devices[device].nic
    wire = nic.wire
    if isinstance(wire, OpenLoopWire):  # works frames out ahead, so that none can be put before them
        number = list(host.nics).index(nic.name)
        nic.wire = wire = ClosedLoopWire(host.streams.stream("nic", number), wire.flows())
    assert isinstance(wire, ClosedLoopWire)
    flow = next((flow for flow in host.flows if flow.name == name and flow.receivers == 1), None)
    if flow is None:
        flow = Flow(name, size, 1)
        host.flows.append(flow)
    return ProcessSender(host.clock, wire, datagram_sender(host, flow, vm, device, size, burst))
