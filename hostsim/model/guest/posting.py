"""Transmit queues that several vCPUs of a VM post to, because the vNIC or the passed-through NIC has fewer queues than the VM has vCPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hostsim.engine.train import Train
from hostsim.model.net.directpath import DirectTx
from hostsim.model.net.networld import TxQueue

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu

__all__ = ["Posts"]


class Posts:
    """A transmit queue as one of its vCPUs posts there: who posted last is charged for a call, and who halts sends what waits."""

    __slots__ = ("_queue", "_vcpu")

    def __init__(self, queue: TxQueue | DirectTx, vcpu: Vcpu) -> None:
        self._queue, self._vcpu = queue, vcpu
        if isinstance(queue, TxQueue):
            if queue not in vcpu.transmits:
                vcpu.transmits.append(queue)
        elif queue not in vcpu.direct:
            vcpu.direct.append(queue)

    def hand(self, train: Train) -> None:
        """Packets that the vCPU will have written at their instants."""
        self._queue.poster = self._vcpu
        self._queue.hand(train)

    def take_back(self, trains: Iterable[Train], now: int) -> list[Train]:
        """Those of the packets that it has not written by ``now``."""
        self._queue.poster = self._vcpu
        return self._queue.take_back(trains, now)
