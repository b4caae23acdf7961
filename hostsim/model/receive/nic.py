"""Physical NICs: a port, its receive queues with moderated interrupts and LRO, and its transmit side.

Frames arrive lazily: the port collects them from the wire whenever a queue is read.
"""

from __future__ import annotations

from hostsim.engine.arrivals import Jitter
from hostsim.engine.clock import Clock, OneShot
from hostsim.engine.ring import Ring, Train
from hostsim.model.contract import GuestStream, NicQueue, RxPoller, Sender, TransmitQueue, Wire
from hostsim.model.cpu.pcpu import Node
from hostsim.model.policy.aggregation import Aggregation
from hostsim.model.policy.moderation import CoalescedCompletions, Moderation
from hostsim.model.transmit.nic_transmit import Departure, Departures, TxRoom, descriptors

__all__ = ["LroTable", "Pnic", "RxQueue"]

FAR_OFF = 1 << 62
"""A time that no run reaches."""


class LroTable:
    """The LRO sessions of a receive queue.

    It is evaluated lazily, like the wire and the ring: packets do not depend on the times of reads.

    Args:
        lro: largest packet, and number of sessions.
        moderation: moderation of the queue's interrupt.
    """

    def __init__(self, lro: Aggregation, moderation: Moderation) -> None:
        self._lro, self._moderation = lro, moderation
        self._coming: list[Train[Sender]] = []
        self._open: dict[Sender, Train[Sender]] = {}
        """Growing packets; ``step`` of each is the time at which its session ends."""
        self._soonest = FAR_OFF
        """Lower bound of the end of all sessions."""

    def push(self, train: Train[Sender]) -> None:
        """Accept frames of a connection from the wire; the last ones may arrive in the future."""
        self._coming.append(train)

    def settle(self, now: int, ring: Ring[Sender]) -> None:
        """Join the frames that arrived by ``now``, and pass complete packets to the ring."""
        coming = self._coming
        while coming:
            train = coming[0]
            count = train.count_by(now)
            if not count:
                break
            if count < train.count:
                train = train.split(count)
            else:
                coming.pop(0)
            if train.ready > self._soonest:
                self._end(train.ready - 1, ring)
            self._join(train, ring)
        if self._soonest <= now:
            self._end(now, ring)

    def close(self, now: int, ring: Ring[Sender]) -> None:
        """End all sessions at an interrupt of the queue."""
        for packet in self._open.values():
            _close(packet, now, ring)
        self._open.clear()
        self._soonest = FAR_OFF

    def first(self, ready: int | None) -> int | None:
        """Return the time of the first frame that the host has not seen, past or future.

        ``ready`` is the time of the first packet in the ring.
        """
        for packet in self._open.values():
            if ready is None or packet.ready < ready:
                ready = packet.ready
        if self._coming and (ready is None or self._coming[0].ready < ready):
            ready = self._coming[0].ready
        return ready

    def count_inside(self) -> int:
        """Return the number of frames in sessions, or on their way to them."""
        count = 0
        for train in self._coming:
            count += train.count
        for packet in self._open.values():
            count += packet.frames
        return count

    def _end(self, now: int, ring: Ring[Sender]) -> None:
        """End the sessions that are due by ``now``."""
        over: list[Train[Sender]] = []
        self._soonest = FAR_OFF
        for packet in self._open.values():
            if packet.step <= now:
                over.append(packet)
            elif packet.step < self._soonest:
                self._soonest = packet.step
        for packet in over:
            del self._open[packet.stream]
            _close(packet, packet.step, ring)

    def _join(self, train: Train[Sender], ring: Ring[Sender]) -> None:
        """Join frames to the packets of a connection."""
        sender, lro, growing = train.stream, self._lro, self._open
        most = lro.frames(sender.size)
        at, step, count = train.ready, train.step, train.count
        packet = growing.get(sender)
        while count:
            if packet is not None and packet.step < at:
                del growing[sender]
                _close(packet, packet.step, ring)
                packet = None
            if packet is None:
                if len(growing) >= lro.sessions:
                    ring.push(Train(sender, count, at, step, at, step))
                    return
                over = self._moderation.due(at, at)
                packet = growing[sender] = Train(sender, 1, at, over, at, 0, None, 0)
                if over < self._soonest:
                    self._soonest = over
            frames = min(count, most - packet.frames)
            if step:
                frames = min(frames, (packet.step - at) // step + 1)
            packet.frames += frames
            at += frames * step
            count -= frames
            if packet.frames > 1:
                packet.gap = (at - step - packet.arrived) // (packet.frames - 1)
            if packet.frames == most:
                del growing[sender]
                _close(packet, at - step, ring)
                packet = None


def _close(packet: Train[Sender], at: int, ring: Ring[Sender]) -> None:
    """Pass a packet to the ring at a given time."""
    packet.ready, packet.step = at, 0
    ring.push(packet)


class RxQueue(NicQueue):
    """A receive queue of a physical NIC: a ring of descriptors with a moderated interrupt.

    Completions of a transmit queue share the interrupt.

    Attributes:
        name: name in tables, such as ``vmnic0-rx0``.
        ring: descriptors; a frame without a free one is dropped at no cost to the host.
        interrupts: number of physical interrupts.
        lro: sessions of hardware LRO; None if off.
        poll: poller of the queue.
        sent: number of descriptors of sent packets that its driver has not freed.
    """

    poll: RxPoller

    def __init__(
        self,
        clock: Clock,
        name: str,
        capacity: int,
        moderation: Moderation,
        jitter: Jitter,
        nic: Pnic,
        memory: Node,
        *,
        completions: Moderation | None = None,
        lro: LroTable | None = None,
    ) -> None:
        """Create a queue.

        Args:
            clock: clock of the host.
            name: name in tables.
            capacity: number of descriptors.
            moderation: moderation of its interrupt.
            jitter: lateness of a moderated interrupt.
            nic: port of the queue.
            memory: NUMA node of the memory to which frames are written.
            completions: moderation of transmit completions; default: the same as for frames.
            lro: sessions of hardware LRO; None if off.
        """
        super().__init__(memory, adapts=moderation.adapts)
        self.name = name
        self.ring: Ring[Sender] = Ring(capacity)
        self.ring.on_drop = self._lose
        self._losses: list[Train[Sender]] = []
        self.lro = lro
        self.interrupts = 0
        self._nic = nic
        self._moderation = moderation
        self._completions = moderation if completions is None else completions
        self._received = self._rx_octets = self._went = self._tx_octets = 0
        self.sent = self._sent_since = 0
        self._mapped: dict[TransmitQueue, int] = {}
        self._clock = clock
        self._jitter: Jitter | None = jitter
        self._late = jitter.draw()
        self._counted = 1
        self._masked = True
        self._timer = _InterruptTimer(clock, self)

    def arrive(self, train: Train[Sender]) -> None:
        if self.lro is not None and train.stream.joins:
            self.lro.push(train)
        else:
            self.ring.push(train)

    def settle(self, now: int) -> None:
        """Admit the frames that arrived by ``now``, and drop those without a free descriptor."""
        self.admit(now)
        self.ring.settle(now)

    def admit(self, now: int) -> None:
        """Pass the frames that arrived by ``now`` to the ring, after LRO."""
        self._nic.settle(now)
        if self.lro is not None:
            self.lro.settle(now, self.ring)

    def waiting(self, now: int) -> int:
        """Return the number of frames that wait in the ring; without effect on the run."""
        self.settle(now)
        return self.ring.held

    def copies_inside(self) -> int:
        """Return the number of copies that the switch will make of the waiting frames."""
        copies = 0 if self.lro is None else self.lro.count_inside()
        for train in self.ring.trains():
            sender = train.stream
            copies += train.count * train.frames * sender.receivers
        return copies

    def take(self, limit: int, now: int) -> list[Train[Sender]]:
        """Dequeue at most ``limit`` frames that arrived by ``now``, and report earlier drops to senders.

        Drops are not reported earlier, as a read of the queue must not affect the run, and taken frames cause the
        duplicate acknowledgements.
        """
        self.admit(now)
        taken: list[Train[Sender]] = []
        while limit > 0 and (train := self.take_next(limit, now)) is not None:
            limit -= train.count
            taken.append(train)
        self.report_drops()
        return taken

    def take_next(self, limit: int, now: int) -> Train[Sender] | None:
        """Dequeue the oldest admitted frames of one train, at most ``limit`` (at least 1), or None."""
        train = self.ring.take_next(limit, now)
        if train is not None:
            frames = train.count * train.frames
            octets = frames * train.stream.octets
            self._nic.rx_octets += octets
            if self.adapts:
                self._received += frames
                self._rx_octets += octets
        return train

    def report_drops(self) -> None:
        """Report drops before the frames just taken to their senders."""
        if self._losses:
            losses, self._losses = self._losses, []
            for train in losses:
                train.stream.dropped(train.count * train.frames)

    def unmask(self, now: int) -> None:
        """Unmask the interrupt, as the poller goes to sleep; moderation may delay the next interrupt."""
        if self.adapts:
            self._moderation.unmasked(now)
        self._await_first(now)

    def _await_first(self, now: int) -> None:
        """Arm the timer for the first frame or completion."""
        self.admit(now)
        self._masked = False
        first = self.ring.first()
        if self.lro is not None:
            first = self.lro.first(first)
        if first is None:
            first = self._nic.upcoming(self)
        if first is not None:
            self._timer.arm(max(now, self._due(self._moderation, first)))
        sent = self._first_sent()
        if sent is not None:
            self._timer.arm_by(max(now, self._due(self._completions, sent)))

    def transmits(self, at: int) -> None:
        if not self._masked:
            self._timer.arm_by(self._due(self._completions, at))

    def departed(self, at: int, descriptors: int, queue: TransmitQueue | None, packets: int) -> None:
        if not self.sent or at < self._sent_since:
            self._sent_since = at
        self.sent += descriptors
        if queue is not None:
            self._mapped[queue] = self._mapped.get(queue, 0) + packets

    def went(self, frames: int, octets: int) -> None:
        self._went += frames
        self._tx_octets += octets

    def clean(self) -> int:
        """Free the descriptors of packets sent by now; returns their number."""
        self._nic.depart(self._clock.now)
        sent, self.sent = self.sent, 0
        return sent

    def mapped(self) -> dict[TransmitQueue, int]:
        """Return the transmit queues that wait for completions, with the numbers of freed packets, once."""
        mapped = self._mapped
        if mapped:
            self._mapped = {}
        return mapped

    def first_frame(self, now: int) -> int | None:
        """Return the time of the first frame for a polling driver, or a lower bound; None if none is known."""
        self.admit(now)
        first = self.ring.first()
        return self._nic.upcoming(self) if first is None else first

    def never_interrupt(self) -> None:
        """Serve a polling driver.

        Frames are announced at once, completions are found by polling, and no interrupt is counted.
        """
        self._moderation, self._completions = Moderation(0), CoalescedCompletions(FAR_OFF)
        self._jitter, self._late, self._counted, self.adapts = None, 0, 0, False

    def _first_sent(self) -> int | None:
        """Return the time of transmission of the first packet that is not freed, past or future."""
        return self._sent_since if self.sent else self._nic.first_departure(self)

    def expect(self, at: int) -> None:
        if self._masked:
            return
        self._timer.arm_by(self._due(self._moderation, at))

    def _due(self, moderation: Moderation, first: int) -> int:
        """Return the time of the interrupt for frames or packets ready at ``first``.

        A moderated interrupt has the lateness of the NIC's clock.

        The result does not fall as ``first`` rises: a timer set by a lower bound of a frame's arrival is not later than
        the interrupt for the frame.
        """
        late = self._late
        return moderation.due(first - late, self.interrupted) + late

    def _interrupt(self, now: int) -> None:
        self._masked = True  # before settling, as the poll finds later frames on the wire
        self.settle(now)
        if self.lro is not None:
            self.lro.close(now, self.ring)
            self.ring.settle(now)
        if not self.ring.held:
            sent = self._first_sent()
            if sent is None or self._due(self._completions, sent) > now:
                self._await_first(now)  # the frame arrived later than its lower bound
                return
        self.interrupted = now
        self.interrupts += self._counted
        if self.adapts:
            self._nic.depart(now)  # all packets sent by now, independent of the last read
            self._moderation.interrupted(now, self._received, self._rx_octets, self._went, self._tx_octets)
            self._received = self._rx_octets = self._went = self._tx_octets = 0
        if self._jitter is not None:
            self._late = self._jitter.draw()
        self.poll.interrupt(now)

    def _lose(self, train: Train[Sender]) -> None:
        """Count a train without free descriptors; `report_drops` reports it to its sender."""
        sender = train.stream
        sender.totals.lost_nic += train.count * train.frames
        self._losses.append(train)


class _InterruptTimer(OneShot):
    """The timer of a moderated interrupt."""

    def __init__(self, clock: Clock, queue: RxQueue) -> None:
        super().__init__(clock)
        self._queue = queue

    def expire(self, now: int) -> None:
        self._queue._interrupt(now)


class Pnic:
    """A port of a physical NIC.

    Attributes:
        name: name as in the administrator's tools: ``vmnic0``.
        node: NUMA node of the NIC.
        wire: receive direction.
        queues: receive queues.
        vector: receive queue whose interrupt the VMkernel's transmit queue shares. The VMkernel has one transmit queue
            by default, as it packs them below 300,000 packets/s (``Net.NetNetqTxPackKpps``). None without a driver that
            frees sent packets.
        tx_packets, tx_data, tx_frames, tx_octets: number of packets sent on the wire; of these with data; of their
            frames; bytes of their data.
        tx_dropped: number of packets dropped at its full transmit queue.
        rx_octets: bytes of the frames taken from its queues, without check sequences.
        rx_wire_ps, tx_wire_ps: time of received and of sent frames on the wire, or on the slot if that is slower.
        sent_until: time at which the wire would be free if trains had no gaps.
    """

    def __init__(self, name: str, node: Node, wire: Wire, tx_limit: int) -> None:
        """Create a port without queues.

        Args:
            name: name in tables.
            node: NUMA node of the NIC.
            wire: receive direction.
            tx_limit: number of descriptors of packets that wait for the wire.
        """
        self.name, self.node, self.wire = name, node, wire
        self.queues: list[RxQueue] = []
        self.vector: RxQueue | None = None
        self._room = TxRoom(tx_limit)
        self._leaving = Departures()
        self.sent_until = self.tx_packets = self.tx_data = self.tx_frames = self.tx_octets = self.tx_dropped = 0
        self.rx_wire_ps = self.tx_wire_ps = self.rx_octets = self._steered = 0

    def settle(self, now: int) -> None:
        """Steer the frames that arrive by ``now``, which may be in the future, to the receive queues."""
        self._steered = max(self._steered, now)
        for train in self.wire.collect(now):
            sender = train.stream
            sender.totals.sent += train.count
            self.rx_wire_ps += train.count * sender.frame_ps
            sender.queue.arrive(train)

    def upcoming(self, queue: NicQueue) -> int | None:
        """Return a lower bound of the arrival of the next frame for a queue; None if none is known."""
        return self.wire.upcoming(queue)

    def resteer(self) -> int:
        """Move senders on its wire to other receive queues.

        Returns the time until which frames used the old ones, in picoseconds.
        """
        return max(self._steered, self.wire.resteer())

    def admit(self, train: Train[GuestStream], frame_ps: int, *, cut: bool = False) -> int:
        """Return the number of first packets of a train that fit into the transmit queue; drop the others.

        Packets that leave meanwhile make room.

        Args:
            train: packets at times that may be in the future.
            frame_ps: time of a frame on the wire, in picoseconds.
            cut: True if the packets are frames already.
        """
        count, stream = train.count, train.stream
        per_packet = train.frames if cut else descriptors(train.frames * stream.size)
        last = train.ready + (count - 1) * train.step
        fits = self._room.fits(count, per_packet, last)
        if fits < count and last > self.sent_until:
            fits = min(count, fits + (last - max(train.ready, self.sent_until)) // (train.frames * frame_ps))
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
        """Transmit admitted packets, after those passed on earlier.

        Trains of simultaneous contexts share the wire: one uses the gaps between packets of another, but its first
        packet waits for the work passed on earlier (docs/design/transmit.md).

        Args:
            train: packets of ``frames`` frames each, at times that may be in the future.
            frame_ps: time of a frame on the wire, in picoseconds.
            queue: transmit queue that waits for their completion; None for copied packets.
            vector: receive queue whose interrupt announces it; default: that of the port.
            cut: True if the packets are frames already.
            bounded: True if they occupy the transmit queue of the VMkernel.

        Returns:
            Time at which the last bit of the first packet is sent, and picoseconds between packets.
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
        if bounded:
            self._room.use(count, train.frames if cut else descriptors(train.frames * train.stream.size), first, step)
        self._leaving.append(Departure(train, first, step, packet_ps, queue, vector, cut=cut))
        if vector is not None:
            vector.transmits(first)
        return first, step

    def first_departure(self, vector: RxQueue) -> int | None:
        """Return the departure time of the first packet not yet counted as sent that a queue announces."""
        return self._leaving.soonest(vector)

    def depart(self, now: int) -> None:
        """Count the packets that have left the wire by ``now``."""
        self._leave(self._leaving, now, by_wire=True)

    def _leave(self, leaving: Departures, now: int, *, by_wire: bool) -> None:
        """Complete the packets that have left by ``now``, and count those on the wire."""
        before: Departure | None = None  # the last departure that stays, so far
        departure = leaving.first
        while departure is not None:
            following = departure.following
            if departure.first > now:
                if not departure.is_begun:
                    return  # and so do all later ones
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
            else:
                leaving.remove(departure, before)
            frames = count * train.frames
            packets = frames if departure.cut else count
            vector, stream = departure.vector, train.stream
            if vector is not None:
                vector.departed(at, packets, departure.queue, count)
                if vector.adapts:
                    vector.went(frames, frames * stream.octets)
            if by_wire:
                self.tx_packets += packets
                self.tx_frames += frames
                self.tx_wire_ps += count * departure.packet_ps
                size = stream.size
                if size:
                    self.tx_data += packets
                    self.tx_octets += frames * size
                    if stream.astray:
                        lost = min(stream.astray, frames)
                        stream.astray -= lost
                        frames -= lost
                    stream.totals.octets += frames * size
            departure = following
