"""Set-up of physical NICs: a port with its wire, and its receive queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.jitter import Jitter
from hostsim.model.contract import Wire
from hostsim.model.cpu.node import Node
from hostsim.model.net.closed_loop_wire import ClosedLoopWire
from hostsim.model.net.lro_table import LroTable
from hostsim.model.net.open_loop_wire import OpenLoopWire
from hostsim.model.net.pnic import Pnic
from hostsim.model.net.rx_queue import RxQueue
from hostsim.policy.aggregation import Aggregation
from hostsim.policy.catalogue import MODERATION_RULES
from hostsim.policy.coalescing import CoalescedCompletions, Moderation
from hostsim.spec.nic import NicOptions

if TYPE_CHECKING:
    from hostsim.engine.random_stream import Streams
    from hostsim.model.host import Host

__all__ = ["add_nic", "add_rx_queue"]


def add_nic(host: Host, name: str, streams: Streams) -> Pnic:
    """Add a port of a physical NIC to a host, without receive queues."""
    nic = host.spec.hardware.nics[name]
    port = host.nics[name] = Pnic(name, host.scheduler.nodes[nic.node], _wire(host, streams), nic.tx_queue)
    return port


def _wire(host: Host, streams: Streams) -> Wire:
    """Return the wire in front of the host's next port: where some traffic is closed-loop, a peer waits for the host's answers."""
    if any(traffic.closed_loop for traffic in host.spec.traffic.values()):
        return ClosedLoopWire(streams.stream("nic", len(host.nics)))
    return OpenLoopWire()


def add_rx_queue(host: Host, port: Pnic, memory: Node, lro_bytes: int) -> RxQueue:
    """Add a receive queue to a port, with its ring on the NUMA node ``memory`` and moderated as the driver's options say; it has no poller yet.

    LRO of the NIC, if it has any, makes packets of ``lro_bytes`` at most; 0 where it is off.
    """
    nic, options = host.spec.hardware.nics[port.name], host.spec.nics.get(port.name, NicOptions())
    interval = nic.interrupt_interval if options.interrupt_interval is None else options.interrupt_interval
    moderation = Moderation(interval) if interval is not None else MODERATION_RULES[str(nic.moderation)](nic.line_rate)
    number = len(port.queues)
    delay = nic.tx_interrupt_delay
    completions = moderation.for_completions() if delay is None else CoalescedCompletions(delay)
    jitter = Jitter(nic.interrupt_step, host.streams.stream("nic", list(host.nics).index(port.name), "rx", number))
    name = f"{port.name}-rx{number}"
    table = LroTable(Aggregation(lro_bytes, nic.lro_sessions), moderation) if nic.lro and lro_bytes else None
    queue = RxQueue(host.clock, name, nic.rx_ring, moderation, jitter, port, memory, completions, table)
    port.queues.append(queue)
    if port.vector is None:
        port.vector = queue
    return queue
