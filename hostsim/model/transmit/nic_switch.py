"""The switch inside a NIC in SR-IOV mode (a Virtual Ethernet Bridge).

It forwards frames between functions of a port, and between a function and the port's virtual switch, without the wire.
The NIC reads them from memory and writes them to memory, so that each uses the bandwidth of the slot in both
directions. Frames of the wire have priority: the switch has the rest of the slot (docs/design/transmit.md).
"""

from __future__ import annotations

from collections import deque

from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import GuestStream, NicQueue, Route, Sender, TransmitQueue, Wire
from hostsim.model.cpu.pcpu import Node
from hostsim.model.receive.nic import Pnic, RxQueue
from hostsim.model.transmit.nic_transmit import Departure, Departures, TxRoom, descriptors
from hostsim.units import transmission_ps

__all__ = ["NicRoute", "SwitchingPnic"]


class NicRoute(Route):
    """The route of a stream of packets through the switch inside a NIC.

    Attributes:
        inbound: sender of the packets as seen by the receiver.
    """

    def __init__(self, inbound: Sender) -> None:
        self.inbound = inbound


class SlotDirection:
    """One direction of a slot as used by the NIC's switch.

    Attributes:
        until: time at which it would be free if trains had no gaps.
        taken: time of all frames passed to it, including waiting ones, in picoseconds.
    """

    def __init__(self) -> None:
        self.until = self.taken = 0

    def take(self, ready: int, step: int, count: int, each: int) -> tuple[int, int]:
        """Carry packets; returns the end of the first, and picoseconds between ends."""
        start = self.until
        if ready >= start:
            start = ready
        first, last = start + each, start + count * each
        self.until = last
        self.taken += count * each
        posted = ready + (count - 1) * step + each
        if posted > last:  # they arrive more slowly than the slot carries them
            return first, (posted - first) // (count - 1)
        return first, each


class SwitchingPnic(Pnic):
    """A port of a physical NIC that switches frames between its functions and its uplink.

    Attributes:
        switched: number of frames that its switch has forwarded.
        slot_out, slot_in: directions of its slot, from memory and to memory.
    """

    def __init__(self, name: str, node: Node, wire: Wire, tx_limit: int, clock: Clock, slot: float) -> None:
        """Create a port without queues, see `Pnic`; ``slot`` is the slot's bandwidth in bits/s, each way."""
        super().__init__(name, node, wire, tx_limit)
        self.switched = 0
        self._clock, self._slot = clock, slot
        self.slot_out, self.slot_in = SlotDirection(), SlotDirection()
        self._inside = Departures()
        self._inside_room = TxRoom(tx_limit)
        self._coming: deque[Train[Sender]] = deque()
        """Frames on their way to receive queues, in the order of their times."""

    def settle(self, now: int) -> None:
        """Steer the frames that arrived by ``now``, from wire or switch, to the receive queues."""
        self._steered = max(self._steered, now)
        for train in self.wire.collect(now):
            sender = train.stream
            sender.totals.sent += train.count
            self.rx_wire_ps += train.count * sender.frame_ps
            self.slot_in.take(train.ready, train.step, train.count, transmission_ps(sender.octets, self._slot))
            sender.queue.arrive(train)
        coming = self._coming
        while coming and coming[0].ready <= now:
            train = coming.popleft()
            sender = train.stream
            sender.totals.sent += train.count
            self.switched += train.count
            sender.queue.arrive(train)

    def upcoming(self, queue: NicQueue) -> int | None:
        """Return a lower bound of the arrival of the next frame for a queue; None if none is known."""
        soonest = self.wire.upcoming(queue)
        for train in self._coming:
            if train.stream.queue is queue:
                return train.ready if soonest is None or train.ready < soonest else soonest
        return soonest

    def resteer(self) -> int:
        """Move senders to other receive queues.

        Returns the time until which frames used the old ones, in picoseconds.
        """
        for train in self._coming:
            train.stream.queue.expect(train.ready)
        return super().resteer()

    def admit(self, train: Train[GuestStream], frame_ps: int, *, cut: bool = False) -> int:
        """Return the number of packets of a train that fit into the transmit queue, see `Pnic.admit`."""
        if not isinstance(train.stream.route, NicRoute):
            return super().admit(train, frame_ps, cut=cut)
        count = train.count
        per_packet = train.frames if cut else descriptors(train.frames * train.stream.size)
        fits = self._inside_room.fits(count, per_packet, train.ready)
        self.tx_dropped += count - fits
        return fits

    def transmit(
        self,
        train: Train[GuestStream],
        frame_ps: int,
        queue: TransmitQueue | None = None,
        vector: NicQueue | None = None,
        *,
        cut: bool = False,
        bounded: bool = True,
    ) -> tuple[int, int]:
        """Transmit packets over the wire or the switch, see `Pnic.transmit`."""
        stream, count, frames = train.stream, train.count, train.frames
        route, frame = stream.route, transmission_ps(stream.octets, self._slot)
        if not isinstance(route, NicRoute):
            self.slot_out.take(train.ready, train.step, count, frames * frame)
            return super().transmit(train, frame_ps, queue, vector, cut=cut, bounded=bounded)
        self.settle(self._clock.now)  # frames of the wire use the slot first
        packet_ps = frames * frame
        first, step = self.slot_out.take(train.ready, train.step, count, packet_ps)
        if vector is None:
            vector = self.vector
        if bounded:
            self._inside_room.use(count, frames if cut else descriptors(frames * stream.size), first, step)
        begin = first - packet_ps + frame
        if frames == 1:
            self._deliver(train, route.inbound, begin, step)
        elif step == packet_ps:
            frames_of = Train(stream, count * frames, begin, frame, train.arrived, 0)
            self._deliver(frames_of, route.inbound, begin, frame)
        else:
            for index, arrived in enumerate(train.arrival_times()):
                self._deliver(
                    Train(stream, frames, begin, frame, arrived, 0), route.inbound, begin + index * step, frame
                )
        self._inside.append(Departure(train, first, step, packet_ps, queue, vector, cut=cut))
        if vector is not None:
            vector.transmits(first)
        return first, step

    def _deliver(self, train: Train[GuestStream], inbound: Sender, ready: int, step: int) -> None:
        """Write frames to the memory of their receiver, the first ready at ``ready``."""
        first, step = self.slot_in.take(ready, step, train.count, transmission_ps(inbound.octets, self._slot))
        timestamps = None if train.timestamps is None else [*train.timestamps]
        self._coming.append(Train(inbound, train.count, first, step, train.arrived, train.gap, timestamps))
        inbound.queue.expect(first)

    def first_departure(self, vector: RxQueue) -> int | None:
        """Return the departure time of the first packet on wire or slot that a queue announces, or None."""
        by_wire, inside = super().first_departure(vector), self._inside.soonest(vector)
        if by_wire is None or inside is None:
            return inside if by_wire is None else by_wire
        return min(by_wire, inside)

    def depart(self, now: int) -> None:
        """Count the packets that have left by ``now``; those of the switch do not use the wire."""
        super().depart(now)
        self._leave(self._inside, now, by_wire=False)
