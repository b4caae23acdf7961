"""Shared transmit queues: several vCPUs of a VM post to one queue when the NIC has fewer queues than the VM has vCPUs."""

from __future__ import annotations

from collections.abc import Iterable

from hostsim.engine.packet_train import Train
from hostsim.model.contract import GuestStream, PacketSink, TransmitQueue
from hostsim.model.guest.vcpu import Vcpu

__all__ = ["SharedTxQueue"]


class SharedTxQueue(PacketSink[GuestStream]):
    """A shared transmit queue as seen by one vCPU: the last poster is charged for a call, and a halt of any sends the waiting packets.

    Attributes:
        queue: the queue.
    """

    def __init__(self, queue: TransmitQueue, vcpu: Vcpu) -> None:
        self.queue, self._vcpu = queue, vcpu
        queue.attach(vcpu)

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the vCPU writes at instants that may lie ahead."""
        self.queue.poster = self._vcpu
        self.queue.post(train)

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Take back those of the packets that it has not written by ``now``."""
        self.queue.poster = self._vcpu
        return self.queue.cancel(trains, now)
