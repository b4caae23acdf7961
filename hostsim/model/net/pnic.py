"""A port of a physical NIC: receive queues in front of the wire, steering between them, and the way out.

Frames arrive lazily: the port asks the wire what has come whenever somebody looks. An interrupt is scheduled only while the
NetPoll of a queue sleeps; while it runs, the queue's interrupt is masked, as with NAPI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.cpu.scheduler import Node
from hostsim.policy.coalescing import paced

if TYPE_CHECKING:
    from hostsim.engine.arrivals import Arrivals
    from hostsim.model.net.networld import Outgoing
    from hostsim.model.traffic.flow import Sender

__all__ = ["Incoming", "Pnic", "RxQueue"]


class Incoming:
    """A wire that frames come from."""

    __slots__ = ()

    def collect(self, now: int) -> list[Train]:
        """Frames that set out by ``now`` and were not collected before, in order; they may end a little later."""
        raise NotImplementedError

    def upcoming(self, queue: RxQueue) -> int | None:
        """An instant before which no further frame for a queue ends; None when none is known to come."""
        raise NotImplementedError

    def carry(self, sender: Sender, arrivals: Arrivals) -> None:
        """Let an open-loop flow come over it."""
        raise NotImplementedError

    def resteer(self) -> None:
        """Senders go by other queues from now on."""
        raise NotImplementedError


class Server(Protocol):
    """What takes frames off a queue: a NetPoll, or the driver of a guest that has the NIC to itself."""

    def interrupt(self, now: int) -> None:
        """The queue has something."""
        ...


class RxQueue:
    """A receive queue: descriptors in front of the wire.

    Attributes:
        name: for tables: ``vmnic0-rx0``.
        ring: descriptors; a frame that finds none is dropped at no cost to the host.
        interrupts: physical interrupts so far.
        interrupted: instant of the last; None before the first.
        memory: NUMA node whose memory the frames are written to.
        poll: what serves it.
        releases: a heap of the instants of what was released for it and is not on the wire.
    """

    __slots__ = (
        "_interval",
        "_losses",
        "_masked",
        "_nic",
        "_timer",
        "interrupted",
        "interrupts",
        "memory",
        "name",
        "poll",
        "releases",
        "ring",
    )

    poll: Server

    def __init__(self, clock: Clock, name: str, capacity: int, interval: int, nic: Pnic, memory: Node) -> None:
        self.name = name
        self.ring = Ring(capacity)
        self.ring.on_drop = self._lose
        self._losses: list[Train] = []
        self.memory = memory
        self.releases: list[int] = []
        self.interrupts = 0
        self._nic = nic
        self._interval = interval
        self.interrupted: int | None = None
        self._masked = True
        self._timer = Timer(clock, self._interrupt)

    def settle(self, now: int) -> None:
        """Let in what came off the wire by ``now``; drop what found no descriptor."""
        self._nic.settle(now)
        self.ring.settle(now)

    def copies_inside(self) -> int:
        """Copies that the frames waiting here will be replicated to."""
        return sum(train.count * train.frames * train.flow.receivers for train in self.ring.trains())  # type: ignore[attr-defined]  # frames belong to flows

    def take(self, limit: int, now: int) -> list[Train]:
        """Take at most ``limit`` frames that are here at ``now``; senders learn of what was dropped before.

        Not sooner: whoever looks at the queue in between must change nothing, and duplicate acknowledgements come of frames
        that are taken.
        """
        self._nic.settle(now)
        taken = self.ring.take(limit, now)
        if self._losses:
            losses, self._losses = self._losses, []
            for train in losses:
                train.flow.dropped(train.count * train.frames)  # type: ignore[attr-defined]  # frames belong to senders
        return taken

    def unmask(self, now: int) -> None:
        """The NetPoll goes to sleep: interrupt for the next frame, no sooner than moderation allows."""
        self._nic.settle(now)
        self._masked = False
        first = self.ring.first()
        if first is None:
            first = self._nic.upcoming(self)
        if first is not None:
            self._timer.arm(max(now, paced(first, self.interrupted, self._interval)))

    def expect(self, at: int) -> None:
        """A frame may come at ``at``, which nobody knew of before."""
        if self._masked:
            return
        self._timer.arm_by(paced(at, self.interrupted, self._interval))

    def _interrupt(self, now: int) -> None:
        self._masked = True  # before looking: what is on the wire behind this frame is found by polling
        self.settle(now)
        if not self.ring.held:  # it came later than it could have
            self.unmask(now)
            return
        self.interrupted = now
        self.interrupts += 1
        self.poll.interrupt(now)

    def _lose(self, train: Train) -> None:
        """A train found no descriptor."""
        train.flow.totals.lost_nic += train.count * train.frames  # type: ignore[attr-defined]  # frames belong to senders
        self._losses.append(train)


class _Departure:
    """Packets on their way through the wire: when the last bit of the first is through, picoseconds to each further one, time of each on the wire."""

    __slots__ = ("cut", "first", "packet_ps", "step", "train")

    def __init__(self, train: Train, first: int, step: int, packet_ps: int, *, cut: bool) -> None:
        self.train, self.first, self.step, self.packet_ps, self.cut = train, first, step, packet_ps, cut


class Pnic:
    """A port of a physical NIC.

    Attributes:
        name: as administrators see it: ``vmnic0``.
        node: NUMA node that it sits behind.
        wire: what comes in.
        queues: its receive queues.
        tx_packets, tx_data, tx_frames, tx_octets: packets handed to it that are through the wire; of these, with data; frames it cut
            them to; their bytes of data.
        tx_dropped: packets that found its transmit queue full.
        rx_octets: bytes of the frames that came off the wire, check sequences left out.
        rx_wire_ps, tx_wire_ps: time that its wire (or its slot, where that is slower) took for what came and for what was sent.
        sent_until: instant at which all that was handed over would be through if no train had gaps.
    """

    __slots__ = (
        "_join",
        "_leaving",
        "_tx_limit",
        "name",
        "node",
        "queues",
        "rx_octets",
        "rx_wire_ps",
        "sent_until",
        "tx_data",
        "tx_dropped",
        "tx_frames",
        "tx_octets",
        "tx_packets",
        "tx_wire_ps",
        "wire",
    )

    def __init__(self, name: str, node: Node, wire: Incoming, tx_limit: int, *, joins: int = 0) -> None:
        """A port with no queue yet.

        Args:
            name: for tables.
            node: NUMA node that it sits behind.
            wire: what comes in.
            tx_limit: packets that may wait for the wire.
            joins: bytes of data that hardware LRO joins at most; 0 where there is none.
        """
        self.name, self.node, self.wire = name, node, wire
        self.queues: list[RxQueue] = []
        self._tx_limit, self._join = tx_limit, joins
        self._leaving: list[_Departure] = []
        self.sent_until = self.tx_packets = self.tx_data = self.tx_frames = self.tx_octets = self.tx_dropped = 0
        self.rx_wire_ps = self.tx_wire_ps = self.rx_octets = 0

    def settle(self, now: int) -> None:
        """Put what came off the wire by ``now`` on its way into the queues."""
        for train in self.wire.collect(now):
            sender: Sender = train.flow  # type: ignore[assignment]  # frames belong to senders
            sender.totals.sent += train.count
            self.rx_octets += train.count * sender.octets
            self.rx_wire_ps += train.count * sender.frame_ps
            if self._join and sender.joins and train.count > 1:
                self._push_joined(train)
            else:
                sender.queue.ring.push(train)

    def _push_joined(self, train: Train) -> None:
        """Hardware LRO: frames that follow each other on the wire are one packet when the last of them is here."""
        flow = train.flow
        most = max(1, self._join // flow.size)
        while train.count > most:
            self._push_joined(train.split(most))
        last = train.ready + (train.count - 1) * train.step
        flow.queue.ring.push(Train(flow, 1, last, 0, train.born, train.gap, None, train.count))  # type: ignore[attr-defined]

    def upcoming(self, queue: RxQueue) -> int | None:
        """An instant before which nothing further comes to a queue; None when nothing is known to come."""
        return self.wire.upcoming(queue)

    def transmit(self, train: Train, frame_ps: int, *, cut: bool = False) -> tuple[int, int] | None:
        """Packets for the wire at their instants, the wire being busy with those before.

        Trains of contexts that send at the same time share the wire: what one leaves free between its packets is there for
        the next, whose first packet waits for the work that was handed over before it.

        Args:
            train: packets of ``frames`` frames each, at instants that may lie ahead.
            frame_ps: time of a frame on the wire.
            cut: the packets come as frames already.

        Returns:
            Instants at which the last bit of the first packet, and picoseconds until that of the next, is through; None when
            there was no room for them.
        """
        count, ready = train.count, train.ready
        packet_ps = train.frames * frame_ps
        start = self.sent_until
        if ready >= start:
            start = ready
        elif start - ready > self._tx_limit * (frame_ps if cut else packet_ps):
            self.tx_dropped += count
            return None
        first = start + packet_ps
        step = packet_ps
        last = self.sent_until = start + count * packet_ps
        posted = ready + (count - 1) * train.step + packet_ps
        if posted > last:  # its packets come more slowly than the wire takes them
            step = (posted - first) // (count - 1)
        self._leaving.append(_Departure(train, first, step, packet_ps, cut=cut))
        return first, step

    def depart(self, now: int) -> None:
        """Count what is through the wire by ``now``."""
        staying = []
        for departure in self._leaving:
            if departure.first > now:
                staying.append(departure)
                continue
            train, step = departure.train, departure.step
            count = train.count if step == 0 else min(train.count, (now - departure.first) // step + 1)
            if count < train.count:
                departure.first += count * step
                train = train.split(count)
                staying.append(departure)
            frames = count * train.frames
            packets = frames if departure.cut else count
            self.tx_packets += packets
            self.tx_frames += frames
            self.tx_wire_ps += count * departure.packet_ps
            outgoing: Outgoing = train.flow  # type: ignore[assignment]  # what guests send
            size = outgoing.size
            if size:
                self.tx_data += packets
                self.tx_octets += frames * size
                outgoing.totals.octets += frames * size
        self._leaving = staying
