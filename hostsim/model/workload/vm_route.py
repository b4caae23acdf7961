"""Routes between VMs of a host: pairs of VMs, their queues, and the local sides of virtual ports."""

from __future__ import annotations

from collections.abc import Iterator

from hostsim.errors import WiringError
from hostsim.model.contract import GuestStream, PacketSink
from hostsim.model.guest.shared_tx import SharedTxQueue
from hostsim.model.host import Host, VirtualMachine
from hostsim.model.net.device import GuestDevice
from hostsim.model.net.local_delivery import LocalDelivery, LocalPort
from hostsim.model.net.networld import NetWorld, TxQueue
from hostsim.model.net.vswitch import Port
from hostsim.spec.vm_traffic import VmTraffic

__all__ = ["local_port", "pairs", "queue_of"]


def pairs(
    host: Host, traffic: VmTraffic, members: list[VirtualMachine]
) -> Iterator[tuple[int, VirtualMachine, VirtualMachine]]:
    """Iterate over the VMs that send: number, VM, and the one of the receivers that it sends to."""
    senders = [vm for group in traffic.sender for vm in host.vms if vm.group.name == group]
    if members:
        for number, vm in enumerate(senders):
            yield number, vm, members[number % len(members)]


def queue_of(host: Host, sink: PacketSink[GuestStream]) -> TxQueue:
    """Return the transmit queue behind what a vCPU posts to, whose context is to forward packets to other VMs.

    Raises:
        WiringError: no context of the VMkernel serves it.
    """
    queue = sink.queue if isinstance(sink, SharedTxQueue) else sink
    if not isinstance(queue, TxQueue):
        raise WiringError("a NIC that is passed through has no way to other VMs of the host")
    _delivery(host, queue.context)
    return queue


def local_port(host: Host, device: GuestDevice, port: Port) -> LocalPort:
    """Return the local side of one of a device's ports; the transmit context of the queue of the same number serves its receive list."""
    known = next((local for local in host.local_ports if local.vnic is port.vnic), None)
    if known is not None:
        return known
    settings = host.spec.settings
    context = port.vnic.transmits[device.ports.index(port)].context
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


def _delivery(host: Host, context: NetWorld) -> LocalDelivery:
    """Return the part of a transmit context in traffic between VMs of the host."""
    if context.local is None:
        context.local = LocalDelivery(host.costs, host.spec.settings.poll_budget)
    return context.local
