"""Local packet delivery: packets from a VM to another VM of the same host, which the virtual switch forwards without a wire.

The sender's transmit context forwards a packet to the receiver's port. Then either it copies the packet into the receiver's memory itself
(``Net.NetRxCopyInTx``), or it puts the packet on the receive list of that port, and the transmit context of the receiver's VM copies it, as the one
context that does device emulation for that VM (facts 1.1). A mapped packet keeps its descriptor at the sender until it is copied.

Nothing is cut into frames where the receiver has LRO: a packet for TSO comes in two halves, or whole. A packet that finds no descriptor on the
receiver's ring is dropped before it is copied, since a descriptor says where to copy it to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.packet_train import Train
from hostsim.engine.ring import Ring
from hostsim.model.contract import GuestStream
from hostsim.model.cost_table import CostTable
from hostsim.model.traffic.flow import Sender

if TYPE_CHECKING:
    from hostsim.model.cpu.pcpu import Node, Pcpu
    from hostsim.model.receive.vnic import Vnic
    from hostsim.model.transmit.networld import NetWorld, TxQueue

__all__ = ["LocalDelivery", "LocalPort", "LocalRoute"]


class LocalPort:
    """The local side of a virtual port: delivery from other VMs of the host into one receive queue of a vNIC, and its receive list.

    Attributes:
        name: for tables.
        vnic: the receive queue.
        context: transmit context of the receiver's VM, which serves the receive list.
        ring: the receive list.
        in_tx: the sender's context copies; the list stays empty.
        came: packets that senders' contexts have forwarded to it.
        delivered: of these, put on the ring of the vNIC, or dropped there.
        lost: frames that found the receive list full.
    """

    def __init__(
        self, vnic: Vnic, context: NetWorld, costs: CostTable, *, capacity: int, in_tx: bool, lro: bool, halved: bool
    ) -> None:
        """Make the local side of a port.

        Args:
            vnic: the receive queue.
            context: transmit context of the receiver's VM.
            costs: cost table of the host.
            capacity: packets of the receive list.
            in_tx: the sender's context copies.
            lro: the guest takes packets that are larger than a frame.
            halved: such packets come as two halves.
        """
        self.name, self.vnic, self.context, self.in_tx = vnic.name, vnic, context, in_tx
        self._costs, self._lro, self._halved = costs, lro, halved
        self.ring: Ring[Sender] = Ring(capacity)
        self.ring.on_drop = self._dropped
        self.came = self.delivered = self.lost = 0

    def put(self, train: Train[Sender], start: int, packet_ps: int, where: Node) -> int:
        """Copy packets into the receiver's memory from ``start`` on, with ``packet_ps`` for each besides; returns the end.

        The context that copies runs on the node ``where``. A packet of its list that it drops costs it as much as one that is put there.
        """
        vnic = self.vnic
        self.delivered += train.count
        vnic.local_frames += train.count * train.frames
        node, source = vnic.vcpu.node, route_of(train).source.poster.node
        vnic.wait_ps = 0.0 if where is node else node.memory.far_ps
        cuts = 1
        if train.frames > 1 and not self._lro:
            cuts = train.frames
        elif train.frames > 1 and self._halved:
            cuts = 2
        room = vnic.room() // cuts
        if train.count > room:
            copied = train.split(room) if room else None
            vnic.refuse(train.restamped(start, 0))
            start += train.count * (packet_ps or self._costs.split_enqueue)
            if copied is None:
                return start
            train = copied
        # what the sender has just written is in a cache of its node
        wait = where.write_wait(node) + (0.0 if where is source else source.memory.far_ps)
        node.memory.octets += train.count * train.frames * train.flow.size
        return self._copy(train, start, packet_ps, cuts, wait, far=where is not node or where is not source)

    def _copy(self, train: Train[Sender], start: int, packet_ps: int, cuts: int, wait_ps: float, *, far: bool) -> int:
        """Copy packets that find descriptors, each in so many parts; returns the end."""
        costs, vnic, sender, count = self._costs, self.vnic, train.flow, train.count
        vnic.unicast += count * cuts
        if cuts == 1:
            step = packet_ps + costs.deliver(sender.size * train.frames, wait_ps, far=far)
            vnic.receive(train.restamped(start + step, step))
            return start + count * step
        frames, more = divmod(train.frames, cuts)
        cut_ps = 0 if self._lro else costs.segment_software
        first, last = (
            costs.deliver(sender.size * part, wait_ps, far=far) + cut_ps for part in (frames + (more > 0), frames)
        )
        step = packet_ps + more * first + (cuts - more) * last
        at = start + packet_ps
        for place in range(cuts):
            at += first if place < more else last
            part = train.restamped(at, step)
            part.frames = frames + (place < more)
            vnic.receive(part)
        return start + count * step

    def take(self, start: int, budget: int, where: Node) -> int:
        """Copy the packets of the receive list, up to a budget; returns the end."""
        end, looked = start, -1
        while budget and looked < end:
            looked = end
            while budget and (train := self.ring.take_next(budget, looked)) is not None:
                count, began = train.count, end
                self.vnic.listed -= count * train.frames
                self._release(train)
                end = self.put(train, end, 0, where)
                if end > began:  # what costs nothing may not end a batch before its work
                    budget -= count
        return end

    def waits(self, now: int) -> bool:
        """True when there is something on the receive list."""
        ring = self.ring
        if ring.pushed == ring.taken + ring.dropped:
            return False
        ring.settle(now)
        return ring.held > 0

    def _dropped(self, train: Train[Sender]) -> None:
        """Drop packets that find the receive list full."""
        self._release(train)
        self.lost += train.count * train.frames
        train.flow.dropped(train.count * train.frames)

    def _release(self, train: Train[Sender]) -> None:
        """Give the sender its descriptors back, where packets are mapped."""
        route = route_of(train)
        if not route.copies(train.flow.size * train.frames) and self.context.local is not None:
            self.context.local.owe(route.source, train.count)


class LocalRoute:
    """The route of a stream of packets from a VM to another one of the host.

    Attributes:
        inbound: what the packets are at the receiver.
        source: transmit queue that they come by.
        port: local side of the port that they go to.
    """

    def __init__(self, inbound: Sender, source: TxQueue, port: LocalPort) -> None:
        self.inbound, self.source, self.port = inbound, source, port
        inbound.route = self
        inbound.vnic = port.vnic

    def copies(self, octets: int) -> bool:
        """True where packets of so many bytes are copied out of the sender's memory, and completed at once."""
        return octets <= self.source.completions.rule.copied


def route_of(train: Train[Sender]) -> LocalRoute:
    """Return the route by which packets came from another VM."""
    sender = train.flow
    assert sender.route is not None
    return sender.route


class LocalDelivery:
    """The part of a transmit context in traffic between VMs of the host: it forwards what its guest sends, and copies what its guest receives.

    Attributes:
        ports: receive lists that it serves.
    """

    def __init__(self, costs: CostTable, budget: int) -> None:
        """Make the part of a context that copies ``budget`` packets of each list in a batch at most."""
        self._costs, self._budget = costs, budget
        self.ports: list[LocalPort] = []
        self._filled: dict[LocalPort, None] = {}
        self._owed: dict[TxQueue, int] = {}
        self._owed_ps = 0

    def forward(self, route: LocalRoute, train: Train[GuestStream], start: int, where: Node) -> int:
        """Forward packets of the guest from ``start`` on; returns the end."""
        port, source, inbound, costs = route.port, route.source, route.inbound, self._costs
        count, frames = train.count, train.frames
        octets = inbound.size * frames
        copied = route.copies(octets)
        work = costs.tx_packet
        if copied:
            work += costs.copied(octets)
        if copied or port.in_tx:
            work += source.completions.rule.packet_ps
        inbound.totals.sent += count * frames
        port.came += count
        source.switched += count
        self._filled[port] = None
        packets = Train(inbound, count, start, 0, train.arrived, train.gap, train.timestamps, frames)
        if port.in_tx:
            end = port.put(packets, start, work, where)
            source.completions.took(count, copied=True)
            return end
        step = work + costs.split_enqueue
        packets.ready, packets.step = start + step, step
        port.vnic.listed += count * frames
        port.ring.push(packets)
        source.completions.took(count, copied=copied)
        return start + count * step

    def receive(self, start: int, where: Node) -> int:
        """Copy what waits for the guest from ``start`` on; returns the end."""
        end = start + self._owed_ps
        self._owed_ps = 0
        for port in self.ports:
            end = port.take(end, self._budget, where)
        return end

    def owe(self, source: TxQueue, count: int) -> None:
        """Note that a sender may have descriptors back when the batch is over."""
        self._owed[source] = self._owed.get(source, 0) + count

    def batch_done(self, now: int, pcpu: Pcpu) -> None:
        """End a batch: wake the contexts that got something, and let senders have their descriptors back."""
        if self._filled:
            filled, self._filled = self._filled, {}
            for port in filled:
                if not port.in_tx:
                    port.context.wake(now, pcpu)
                    continue
                for queue in port.vnic.transmits:
                    queue.look(now)
        if self._owed:
            owed, self._owed = self._owed, {}
            for queue, count in owed.items():
                self._owed_ps += queue.freed(count, now)
                queue.poll_done(now)

    def waits(self, now: int) -> bool:
        """True when there is something on a receive list."""
        return any(port.waits(now) for port in self.ports)
