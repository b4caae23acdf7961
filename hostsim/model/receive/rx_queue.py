"""Receive queues of a physical NIC: a ring with a moderated interrupt, hardware LRO, and transmit completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.clock import Clock, OneShot
from hostsim.engine.event_queue import Heap
from hostsim.engine.jitter import Jitter
from hostsim.engine.packet_train import Train
from hostsim.engine.ring import Ring
from hostsim.model.contract import RxPoller, TransmitQueue
from hostsim.model.cpu.pcpu import Node
from hostsim.model.policy.aggregation import Aggregation
from hostsim.model.policy.moderation import Moderation
from hostsim.model.traffic.flow import Sender

if TYPE_CHECKING:
    from hostsim.model.receive.pnic import Pnic

__all__ = [
    "LroTable",
    "RxQueue",
]


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


class RxQueue:
    """A receive queue of a physical NIC: a ring of descriptors with a moderated interrupt, which the completions of a transmit queue share.

    Attributes:
        name: for tables: ``vmnic0-rx0``.
        ring: descriptors; a frame that finds none is dropped at no cost to the host.
        interrupts: physical interrupts so far.
        multicast: packets of it that the switch has replicated.
        interrupted: instant of the last; None before the first.
        memory: NUMA node whose memory the frames are written to.
        lro: sessions of hardware LRO; None where it is off.
        poll: its poller.
        releases: of frames for it that are not on the wire yet.
        backlogged: senders that frames have been released for and that wait for the wire, or have it and want it again.
        sent: descriptors of packets that the NIC has sent and its driver has not freed.
        adapts: its moderation counts frames and bytes.
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
        self.name = name
        self.ring: Ring[Sender] = Ring(capacity)
        self.ring.on_drop = self._lose
        self._losses: list[Train[Sender]] = []
        self.memory, self.lro = memory, lro
        self.releases = Heap()
        self.backlogged = 0
        self.interrupts = self.multicast = 0
        self._nic = nic
        self._moderation = moderation
        self._completions = moderation if completions is None else completions
        self.adapts = moderation.adapts
        self._received = self._rx_octets = self._went = self._tx_octets = 0
        self.sent = self._sent_since = 0
        self._mapped: dict[TransmitQueue, int] = {}
        self._clock = clock
        self._jitter = jitter
        self._late = jitter.draw()
        self.interrupted: int | None = None
        self._masked = True
        self._timer = _InterruptTimer(clock, self)

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
        """Expect a packet to be sent at ``at``, later than those before it: its completion interrupts."""
        if not self._masked:
            self._timer.arm_by(self._due(self._completions, at))

    def departed(self, at: int, descriptors: int, queue: TransmitQueue | None, packets: int) -> None:
        """Record that the NIC has sent packets, the first at ``at``; ``queue`` waits for the completion of its packets, if any."""
        if not self.sent or at < self._sent_since:
            self._sent_since = at
        self.sent += descriptors
        if queue is not None:
            self._mapped[queue] = self._mapped.get(queue, 0) + packets

    def went(self, frames: int, octets: int) -> None:
        """Count frames that the NIC has sent, with their bytes, for its moderation."""
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

    def _first_sent(self) -> int | None:
        """Return the time at which the first packet of those not freed is sent, past or future."""
        return self._sent_since if self.sent else self._nic.first_departure(self)

    def expect(self, at: int) -> None:
        """Expect a frame at ``at``, earlier than `Wire.upcoming` has said."""
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
        self.interrupts += 1
        if self.adapts:
            self._nic.depart(now)  # all that has gone by now, whenever somebody looked last
            self._moderation.interrupted(now, self._received, self._rx_octets, self._went, self._tx_octets)
            self._received = self._rx_octets = self._went = self._tx_octets = 0
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

    def fire(self, now: int) -> None:
        self._queue._interrupt(now)
