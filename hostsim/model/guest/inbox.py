"""The inbox of a vCPU: packets that other vCPUs post for its processes, and turns to send that its own post to themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hostsim.engine.packet_train import Train
from hostsim.engine.ring import Ring
from hostsim.model.contract import UNBOUNDED, InboundStream, PacketSink

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu

__all__ = ["Inbox"]


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
