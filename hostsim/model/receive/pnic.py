"""Physical NICs: a port with its receive queues (`hostsim.model.receive.rx_queue`) and its transmit side.

Frames arrive lazily: the port asks the wire what has come whenever somebody looks.
"""

from __future__ import annotations

from hostsim.engine.packet_train import Train
from hostsim.model.contract import GuestStream, TransmitQueue, Wire
from hostsim.model.cpu.pcpu import Node
from hostsim.model.receive.rx_queue import RxQueue
from hostsim.model.transmit.nic_transmit import Departure, Departures, TxRoom, descriptors

__all__ = ["Pnic"]


class Pnic:
    """A port of a physical NIC.

    Attributes:
        name: as administrators see it: ``vmnic0``.
        node: NUMA node that it sits behind.
        wire: its receive direction.
        queues: its receive queues.
        vector: the one whose interrupt the transmit queue of the VMkernel shares: as a rule there is one such queue, for below 300,000
            packets a second they are packed (``Net.NetNetqTxPackKpps``). None where nobody frees what is sent.
        tx_packets, tx_data, tx_frames, tx_octets: packets handed to it that are through the wire; of these, with data; frames it cut
            them to; their bytes of data.
        tx_dropped: packets that found its transmit queue full.
        rx_octets: bytes of the frames that were taken off its queues, check sequences left out.
        rx_wire_ps, tx_wire_ps: time that its wire (or its slot, where that is slower) took for what came and for what was sent.
        sent_until: time at which the wire would be free if no train had gaps.
    """

    def __init__(self, name: str, node: Node, wire: Wire, tx_limit: int) -> None:
        """Make a port without queues.

        Args:
            name: for tables.
            node: NUMA node that it sits behind.
            wire: its receive direction.
            tx_limit: descriptors of packets that wait for the wire.
        """
        self.name, self.node, self.wire = name, node, wire
        self.queues: list[RxQueue] = []
        self.vector: RxQueue | None = None
        self._room = TxRoom(tx_limit)
        self._leaving = Departures()
        self.sent_until = self.tx_packets = self.tx_data = self.tx_frames = self.tx_octets = self.tx_dropped = 0
        self.rx_wire_ps = self.tx_wire_ps = self.rx_octets = self._steered = 0

    def settle(self, now: int) -> None:
        """Steer the frames that arrived by ``now``, which may lie ahead, to the receive queues."""
        self._steered = max(self._steered, now)
        for train in self.wire.collect(now):
            sender = train.flow
            sender.totals.sent += train.count
            self.rx_wire_ps += train.count * sender.frame_ps
            queue = sender.queue
            if queue.lro is not None and sender.joins:
                queue.lro.push(train)
            else:
                queue.ring.push(train)

    def upcoming(self, queue: RxQueue) -> int | None:
        """Return a lower bound of the arrival of the next frame for a queue; None when none is known to come."""
        return self.wire.upcoming(queue)

    def resteer(self) -> int:
        """Have its wire follow senders to other receive queues; returns the instant up to which frames went to the old ones."""
        self.wire.resteer()
        return self._steered

    def admit(self, train: Train[GuestStream], frame_ps: int, *, cut: bool = False) -> int:
        """Return how many packets of a train find room in the transmit queue, its first ones; counts the others as dropped.

        What leaves while they are handed over makes room for them.

        Args:
            train: packets, at instants that may lie ahead.
            frame_ps: time of a frame on the wire.
            cut: they come as frames already.
        """
        count, stream = train.count, train.flow
        each = train.frames if cut else descriptors(train.frames * stream.size)
        last = train.ready + (count - 1) * train.step
        fits = self._room.fits(count, each, last)
        if fits < count and last > self.sent_until:
            fits = min(count, fits + (last - max(train.ready, self.sent_until)) // (train.frames * frame_ps))
        self.tx_dropped += count - fits
        return fits

    def transmit(
        self,
        train: Train[GuestStream],
        frame_ps: int,
        queue: TransmitQueue | None = None,
        vector: RxQueue | None = None,
        *,
        cut: bool = False,
    ) -> tuple[int, int]:
        """Transmit packets that were admitted at their instants, behind those handed over before.

        Trains of contexts that send at the same time share the wire: what one leaves free between its packets is there for
        the next, whose first packet waits for the work that was handed over before it (docs/decisions/0086).

        Args:
            train: packets of ``frames`` frames each, at instants that may lie ahead.
            frame_ps: time of a frame on the wire.
            queue: transmit queue that waits for their completion; None for copied packets.
            vector: the queue whose interrupt announces it, where it is not that of the port.
            cut: the packets come as frames already.

        Returns:
            Instants at which the last bit of the first packet, and picoseconds until that of the next, is through.
        """
        count, ready = train.count, train.ready
        packet_ps = train.frames * frame_ps
        start = self.sent_until
        if ready >= start:
            start = ready
        first = start + packet_ps
        step = packet_ps
        last = self.sent_until = start + count * packet_ps
        posted = ready + (count - 1) * train.step + packet_ps
        if posted > last:  # its packets come more slowly than the wire takes them
            step = (posted - first) // (count - 1)
        if vector is None:
            vector = self.vector
        self._room.use(count, train.frames if cut else descriptors(train.frames * train.flow.size), first, step)
        self._leaving.put(Departure(train, first, step, packet_ps, queue, vector, cut=cut))
        if vector is not None:
            vector.transmits(first)
        return first, step

    def first_departure(self, vector: RxQueue) -> int | None:
        """Return the time at which the first packet that is counted as waiting for the wire has left it, of those that a queue announces."""
        return self._leaving.soonest(vector)

    def depart(self, now: int) -> None:
        """Count the packets that have left the wire by ``now``."""
        before: Departure | None = None  # the last of those that stay, so far
        leaving = self._leaving
        departure = leaving.first
        while departure is not None:
            following = departure.following
            if departure.first > now:
                if not departure.is_begun:
                    return  # and so do all behind it
                before, departure = departure, following
                continue
            train, step, at = departure.train, departure.step, departure.first
            count = train.count
            if count > 1 and step:
                count = min(count, (now - at) // step + 1)
            if count < train.count:
                departure.first += count * step
                departure.is_begun = True
                train = train.split(count)
                before = departure
            elif before is None:
                leaving.first = following
            else:
                before.following = following
            frames = count * train.frames
            packets = frames if departure.cut else count
            vector, stream = departure.vector, train.flow
            if vector is not None:
                vector.departed(at, packets, departure.queue, count)
                if vector.adapts:
                    vector.went(frames, frames * stream.octets)
            self.tx_packets += packets
            self.tx_frames += frames
            self.tx_wire_ps += count * departure.packet_ps
            size = stream.size
            if size:
                self.tx_data += packets
                self.tx_octets += frames * size
                stream.totals.octets += frames * size
            departure = following
        leaving.last = before
