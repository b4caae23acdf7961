"""Physical NICs: a port, its receive queues (rings with a moderated interrupt and hardware LRO), and its transmit side.

Frames arrive lazily: the port asks the wire what has come whenever somebody looks.
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
"""An instant that no run reaches."""


class LroTable:
    """The LRO sessions of a receive queue.

    It is evaluated lazily, like the wire and the ring on either side of it: the times at which somebody looks do not affect the packets.

    Args:
        lro: the longest packet, and the number of sessions.
        moderation: of the queue's interrupt.
    """

    def __init__(self, lro: Aggregation, moderation: Moderation) -> None:
        self._lro, self._moderation = lro, moderation
        self._coming: list[Train[Sender]] = []
        self._open: dict[Sender, Train[Sender]] = {}
        """Packets that grow; ``step`` of each is the time at which its session ends."""
        self._soonest = FAR_OFF
        """No session ends by itself before this."""

    def push(self, train: Train[Sender]) -> None:
        """Accept frames of a connection off the wire; the last of them may still lie ahead."""
        self._coming.append(train)

    def settle(self, now: int, ring: Ring[Sender]) -> None:
        """Join the frames that arrived by ``now``, and hand what is complete to the ring."""
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
        """End all sessions: the queue interrupts."""
        for packet in self._open.values():
            _close(packet, now, ring)
        self._open.clear()
        self._soonest = FAR_OFF

    def first(self, ready: int | None) -> int | None:
        """Return the time of the first frame that the host has not seen, past or future; ``ready`` is that of the first packet in the ring."""
        for packet in self._open.values():
            if ready is None or packet.ready < ready:
                ready = packet.ready
        if self._coming and (ready is None or self._coming[0].ready < ready):
            ready = self._coming[0].ready
        return ready

    def count_inside(self) -> int:
        """Count the frames that are in sessions, or on their way to them."""
        count = 0
        for train in self._coming:
            count += train.count
        for packet in self._open.values():
            count += packet.frames
        return count

    def _end(self, now: int, ring: Ring[Sender]) -> None:
        """End the sessions whose time is over by ``now``."""
        over: list[Train[Sender]] = []
        self._soonest = FAR_OFF
        for packet in self._open.values():
            if packet.step <= now:
                over.append(packet)
            elif packet.step < self._soonest:
                self._soonest = packet.step
        for packet in over:
            del self._open[packet.flow]
            _close(packet, packet.step, ring)

    def _join(self, train: Train[Sender], ring: Ring[Sender]) -> None:
        """Let the packet of a connection grow by frames, as many packets as it takes."""
        sender, lro, growing = train.flow, self._lro, self._open
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
    """Hand a packet to the ring at an instant."""
    packet.ready, packet.step = at, 0
    ring.push(packet)


class RxQueue(NicQueue):
    """A receive queue of a physical NIC: a ring of descriptors with a moderated interrupt, which the completions of a transmit queue share.

    Attributes:
        name: for tables: ``vmnic0-rx0``.
        ring: descriptors; a frame that finds none is dropped at no cost to the host.
        interrupts: physical interrupts so far.
        lro: sessions of hardware LRO; None where it is off.
        poll: its poller.
        sent: descriptors of packets that the NIC has sent and its driver has not freed.
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
        """Make a queue.

        Args:
            clock: the host's.
            name: for tables.
            capacity: descriptors.
            moderation: of its interrupt.
            jitter: lateness of an interrupt that moderation holds back.
            nic: its port.
            memory: NUMA node whose memory the frames are written to.
            completions: moderation of transmit completions where they have their own.
            lro: sessions of hardware LRO; None where it is off.
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
        if self.lro is not None and train.flow.joins:
            self.lro.push(train)
        else:
            self.ring.push(train)

    def settle(self, now: int) -> None:
        """Admit the frames that arrived by ``now``, and drop those that found no descriptor."""
        self.admit(now)
        self.ring.settle(now)

    def admit(self, now: int) -> None:
        """Let the ring have what arrived by ``now``, LRO done."""
        self._nic.settle(now)
        if self.lro is not None:
            self.lro.settle(now, self.ring)

    def waiting(self, now: int) -> int:
        """Return the number of frames that wait in the ring. Looking changes nothing that happens."""
        self.settle(now)
        return self.ring.held

    def copies_inside(self) -> int:
        """Return the number of copies that the waiting frames will be replicated to."""
        copies = 0 if self.lro is None else self.lro.count_inside()
        for train in self.ring.trains():
            sender = train.flow
            copies += train.count * train.frames * sender.receivers
        return copies

    def take(self, limit: int, now: int) -> list[Train[Sender]]:
        """Dequeue at most ``limit`` frames that arrived by ``now``, and report earlier drops to senders.

        Not sooner: a look at the queue in between must not affect the run, and duplicate acknowledgements are caused by frames
        that are taken.
        """
        self.admit(now)
        taken: list[Train[Sender]] = []
        while limit > 0 and (train := self.take_next(limit, now)) is not None:
            limit -= train.count
            taken.append(train)
        self.report_drops()
        return taken

    def take_next(self, limit: int, now: int) -> Train[Sender] | None:
        """Dequeue the oldest frames of one train, at most ``limit`` (at least 1), that were admitted by ``now``; None when there are none."""
        train = self.ring.take_next(limit, now)
        if train is not None:
            frames = train.count * train.frames
            octets = frames * train.flow.octets
            self._nic.rx_octets += octets
            if self.adapts:
                self._received += frames
                self._rx_octets += octets
        return train

    def report_drops(self) -> None:
        """Report to senders what was dropped before the frames that were just taken."""
        if self._losses:
            losses, self._losses = self._losses, []
            for train in losses:
                train.flow.dropped(train.count * train.frames)

    def unmask(self, now: int) -> None:
        """Unmask the interrupt, because the poller goes to sleep: interrupt for the next frame, no sooner than moderation allows."""
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
        """Free the descriptors of what is sent by now; returns their number."""
        self._nic.depart(self._clock.now)
        sent, self.sent = self.sent, 0
        return sent

    def mapped(self) -> dict[TransmitQueue, int]:
        """Return the transmit queues that wait for completions, with the packets freed of each; each is returned once."""
        mapped = self._mapped
        if mapped:
            self._mapped = {}
        return mapped

    def first_frame(self, now: int) -> int | None:
        """Return the time of the first frame for a driver that polls: of one in the ring, or a lower bound of that of one to come; None when none is known."""
        self.admit(now)
        first = self.ring.first()
        return self._nic.upcoming(self) if first is None else first

    def never_interrupt(self) -> None:
        """Serve a driver that polls: a frame is there for it at once, completions are found by polling, and nothing counts as an interrupt."""
        self._moderation, self._completions = Moderation(0), CoalescedCompletions(FAR_OFF)
        self._jitter, self._late, self._counted, self.adapts = None, 0, 0, False

    def _first_sent(self) -> int | None:
        """Return the time at which the first packet of those not freed is sent, past or future."""
        return self._sent_since if self.sent else self._nic.first_departure(self)

    def expect(self, at: int) -> None:
        if self._masked:
            return
        self._timer.arm_by(self._due(self._moderation, at))

    def _due(self, moderation: Moderation, first: int) -> int:
        """Return the time of the interrupt for what is ready at ``first``; one that moderation holds back is as late as the NIC's clock has it.

        It never falls as ``first`` rises: a timer that is set by a lower bound of a frame's arrival is not later than the interrupt for it.
        """
        late = self._late
        return moderation.due(first - late, self.interrupted) + late

    def _interrupt(self, now: int) -> None:
        self._masked = True  # before looking: what is on the wire behind this frame is found by polling
        self.settle(now)
        if self.lro is not None:
            self.lro.close(now, self.ring)
            self.ring.settle(now)
        if not self.ring.held:
            sent = self._first_sent()
            if sent is None or self._due(self._completions, sent) > now:
                self.unmask(now)  # the frame came later than it could have
                return
        self.interrupted = now
        self.interrupts += self._counted
        if self.adapts:
            self._nic.depart(now)  # all that has gone by now, whenever somebody looked last
            self._moderation.interrupted(now, self._received, self._rx_octets, self._went, self._tx_octets)
            self._received = self._rx_octets = self._went = self._tx_octets = 0
        if self._jitter is not None:
            self._late = self._jitter.draw()
        self.poll.interrupt(now)

    def _lose(self, train: Train[Sender]) -> None:
        """Count a train that found no descriptor; `report_drops` reports it to its sender."""
        sender = train.flow
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
            sender.queue.arrive(train)

    def upcoming(self, queue: NicQueue) -> int | None:
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
        vector: NicQueue | None = None,
        *,
        cut: bool = False,
        bounded: bool = True,
    ) -> tuple[int, int]:
        """Transmit packets that were admitted at their instants, behind those handed over before.

        Trains of contexts that send at the same time share the wire: what one leaves free between its packets is there for
        the next, whose first packet waits for the work that was handed over before it (docs/design/transmit.md).

        Args:
            train: packets of ``frames`` frames each, at instants that may lie ahead.
            frame_ps: time of a frame on the wire.
            queue: transmit queue that waits for their completion; None for copied packets.
            vector: the queue whose interrupt announces it, where it is not that of the port.
            cut: the packets come as frames already.
            bounded: they take room in the transmit queue of the VMkernel.

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
        if bounded:
            self._room.use(count, train.frames if cut else descriptors(train.frames * train.flow.size), first, step)
        self._leaving.append(Departure(train, first, step, packet_ps, queue, vector, cut=cut))
        if vector is not None:
            vector.transmits(first)
        return first, step

    def first_departure(self, vector: RxQueue) -> int | None:
        """Return the time at which the first packet that is counted as waiting for the wire has left it, of those that a queue announces."""
        return self._leaving.soonest(vector)

    def depart(self, now: int) -> None:
        """Count the packets that have left the wire by ``now``."""
        self._leave(self._leaving, now, by_wire=True)

    def _leave(self, leaving: Departures, now: int, *, by_wire: bool) -> None:
        """Complete the packets that have left by ``now``, and count those of the wire."""
        before: Departure | None = None  # the last of those that stay, so far
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
            else:
                leaving.remove(departure, before)
            frames = count * train.frames
            packets = frames if departure.cut else count
            vector, stream = departure.vector, train.flow
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
