"""DirectPath I/O on a host: the NICs that VMs have to themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hostsim.errors import WiringError
from hostsim.model.net.directpath import DirectRing, DirectTx
from hostsim.model.net.netqueue import NetQueue, VnicFilter
from hostsim.model.net.networld import Uplink
from hostsim.model.net.pnic import Incoming, Pnic, RxQueue
from hostsim.model.net.vswitch import Port
from hostsim.spec.nic import NicOptions

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu
    from hostsim.model.host import Host

__all__ = ["PassedNic", "pass_through"]

MOST_JOINED = 65536
"""Bytes of a packet that LRO of a NIC makes at most: the length field of IPv4."""


@dataclass(eq=False)
class PassedNic:
    """A NIC that a VM has to itself."""

    nic: Pnic
    ports: list[Port] = field(default_factory=list)
    """Its receive queues as the guest's driver polls them."""
    transmits: list[DirectTx] = field(default_factory=list)
    """Its transmit queues, likewise."""
    filter: VnicFilter = field(default_factory=lambda: VnicFilter([]))


def pass_through(host: Host, name: str, vcpus: list[Vcpu], wire: Incoming) -> PassedNic:
    """Give a NIC to the VM of some vCPUs: where it does RSS, each vCPU has a queue, as far as there are some.

    Raises:
        WiringError: it is not a NIC of the host, or somebody else has it.
    """
    spec = host.spec
    nic = spec.hardware.nics.get(name)
    if nic is None or name in host.nics:
        raise WiringError(f"{name!r} cannot be passed through: it is {'in use' if nic else 'not a NIC of the host'}")
    options = spec.nics.get(name, NicOptions())
    interval = nic.interrupt_interval if options.interrupt_interval is None else options.interrupt_interval
    joins = MOST_JOINED if nic.lro else 0
    port = host.nics[name] = Pnic(name, host.scheduler.nodes[nic.node], wire, nic.tx_queue, joins=joins)
    uplink = Uplink(port, nic.rate, host.timing, spec.drivers[nic.driver], vxlan=False, tso=nic.tso)
    made = PassedNic(port)
    for place in range(min(len(vcpus), nic.rx_queues) if nic.rss else 1):
        vcpu = vcpus[place]
        queue = RxQueue(host.clock, f"{name}-rx{place}", nic.rx_ring, interval, port, vcpu.node)
        ring = DirectRing(host.clock, queue, vcpu, host.timing.interrupt)
        queue.poll = ring
        port.queues.append(queue)
        transmit = DirectTx(host.clock, uplink, vcpu)
        vcpu.vnics.append(ring)
        vcpu.direct.append(transmit)
        made.ports.append(Port(ring, None))
        made.transmits.append(transmit)
        made.filter.vnics.append(ring)
    rings = NetQueue(host.clock, [port.queues], spec.netqueue, dynamic=False, resteer=wire.resteer)
    rings.deal(made.filter, 0)
    host.netqueues[name] = rings
    return made
