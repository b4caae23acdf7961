"""Large receive offload of a NIC: the table of sessions of a receive queue, in which frames of connections are joined before the host sees them.

A session begins with a frame of a connection that has none. It ends when its packet is as long as can be, with the next interrupt of its queue, and when
the moderation interval since its first frame is over, so that a host that polls with the interrupt masked gets its packets, too (receive side
coalescing of the 82599, of which no page is at hand: its driver for Linux turns it off where the interval is below 6 us, ``IXGBE_MIN_RSC_ITR``). Without
moderation nothing is joined.
"""

from __future__ import annotations

from hostsim.engine.packet_train import Train
from hostsim.engine.ring import Ring
from hostsim.model.workload.flow import Sender
from hostsim.policy.aggregation import Aggregation
from hostsim.policy.coalescing import Moderation

__all__ = ["LroTable"]

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
