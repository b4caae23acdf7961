"""Inboxes of a vCPU: packets that other vCPUs post for its processes, turns to send that its own post to themselves, datagrams for a reader that has moved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hostsim.engine.packet_train import Train
from hostsim.engine.ring import Ring
from hostsim.model.contract import UNBOUNDED, InboundStream, PacketSink
from hostsim.model.guest.socket import DatagramSocket
from hostsim.model.workload.flow import Sender

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu

__all__ = ["DatagramInbox", "Inbox"]


class Inbox(PacketSink[InboundStream]):
    """The inbox of a vCPU.

    Attributes:
        ring: what waits in it, or is on its way.
    """

    def __init__(self, vcpu: Vcpu) -> None:
        self._vcpu = vcpu
        self.ring: Ring[InboundStream] = Ring(UNBOUNDED)  # the windows of TCP bound it

    def post(self, train: Train[InboundStream]) -> None:
        """Post packets, or a turn to send, at instants that may lie ahead."""
        self._vcpu.came += train.count * train.frames
        self.ring.push(train)
        self._vcpu.posted()

    def cancel(self, trains: Iterable[Train[InboundStream]], now: int) -> list[Train[InboundStream]]:
        """Take back those of the packets that have not reached the inbox by ``now``."""
        back = self.ring.recall(trains, now)
        for train in back:
            self._vcpu.came -= train.count * train.frames
        return back

    def waits(self, now: int) -> bool:
        """True when there is something for a process."""
        ring = self.ring
        if ring.pushed != ring.taken:
            ring.settle(now)
        return ring.held > 0

    def frames(self) -> int:
        """Return the number of frames that wait or are on their way."""
        frames, ring = 0, self.ring
        if ring.pushed != ring.taken:
            for train in ring.trains():
                frames += train.count * train.frames
        return frames

    def coming(self, now: int) -> int:
        """Return the number of frames whose instants lie ahead; a preempted poster takes them back."""
        frames, ring = 0, self.ring
        if ring.pushed != ring.taken:
            for train, count in ring.coming(now):
                frames += count * train.frames
        return frames


class DatagramInbox(PacketSink[Sender]):
    """The buffers of datagram sockets whose reader runs on this vCPU, and which the softirqs of another one fill.

    Room is as for the largest datagram that has come. A datagram leaves its room when the reader takes it in hand: with others, up to its budget.

    Attributes:
        ring: what waits in the buffers, or is on its way.
    """

    def __init__(self, vcpu: Vcpu, socket: DatagramSocket, budget: int) -> None:
        """Make the one of a vCPU, whose own ``socket`` counts what is read; ``budget`` datagrams are read in a burst at most."""
        self._vcpu, self._socket, self._budget = vcpu, socket, budget
        self.ring: Ring[Sender] = Ring(UNBOUNDED)
        self.ring.on_drop = self._dropped
        self._read_ps, self._sleeps = 0, True

    def expect(self, flow: Sender, read: int) -> None:
        """Expect datagrams of a flow, each read in ``read`` picoseconds."""
        self._read_ps = read
        room = self._socket.room(flow)
        if room < self.ring.capacity:
            self.ring.capacity = room

    def post(self, train: Train[Sender]) -> None:
        """Post datagrams, at instants that may lie ahead."""
        self._vcpu.came += train.count
        self.ring.push(train)
        self._vcpu.posted()

    def cancel(self, trains: Iterable[Train[Sender]], now: int) -> list[Train[Sender]]:
        """Take back those of the datagrams that have not reached their socket by ``now``."""
        back = self.ring.recall(trains, now)
        for train in back:
            self._vcpu.came -= train.count
        return back

    def waits(self, now: int) -> bool:
        """True when there is something to read."""
        ring = self.ring
        if ring.pushed != ring.taken + ring.dropped:
            ring.settle(now)
        return ring.held > 0

    def read(self, start: int) -> int:
        """Read from ``start`` on, up to the budget; returns the end. A reader that has found nothing sleeps."""
        ring, budget, end, looked = self.ring, self._budget, start, -1
        each = self._read_ps
        while budget and looked < end:
            looked = end
            while budget and (train := ring.take_next(budget, looked)) is not None:
                if self._sleeps:
                    self._sleeps = False
                    end += self._socket.wake_ps
                budget -= train.count
                self._socket.count(train, end, each)
                self._vcpu.read += train.count
                end += train.count * each
        if budget:
            self._sleeps = True
        return end

    def _dropped(self, train: Train[Sender]) -> None:
        self._vcpu.socket_dropped += train.count
