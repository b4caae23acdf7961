"""Frames that a guest forwards from one of its vNICs to another: software interrupts only, no process takes part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.train import Train
from hostsim.model.net.networld import Outgoing
from hostsim.model.traffic.flow import Flow, Sender
from hostsim.spec.network import UDP_HEADERS

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu
    from hostsim.model.net.networld import TxQueue

__all__ = ["Bridged"]


class Bridged(Sender):
    """What comes at a bridging guest from outside.

    A frame is delivered, as far as the flow's counters go, when the guest has put it on the transmit queue; what is dropped after that is
    counted as lost on its way out.

    Args:
        totals: where its frames are counted.
        size: bytes of data in a frame.
        frame_ps: time of a frame on the wire that it comes by.
        vcpu: the vCPU that forwards.
        queue: transmit queue of the vNIC that frames leave by.
        step: what forwarding a frame takes, in picoseconds, besides receiving it.
    """

    __slots__ = ("_leaving", "_queue", "_step")

    def __init__(self, totals: Flow, size: int, frame_ps: int, vcpu: Vcpu, queue: TxQueue, step: int) -> None:
        super().__init__(totals, size, frame_ps, 1)
        self.vcpu, self._queue, self._step = vcpu, queue, step
        self._leaving = _Leaving(totals, size)

    def handle(self, train: Train, start: int) -> int:
        """Forward frames one after the other from ``start`` on; returns when it is done."""
        totals, step, count = self.totals, self._step, train.count
        births = train.births
        if births is None:
            totals.latency.add(start + step - train.born, step - train.gap, count)
        else:
            totals.latency.add_each([start + step * place - born for place, born in enumerate(births, 1)])
        vcpu = self.vcpu
        assert vcpu is not None
        totals.delivered += count
        vcpu.read += count
        vcpu.post(self._queue, Train(self._leaving, count, start + step, step, train.born, train.gap, births))
        return start + count * step


class _Leaving(Outgoing):
    """The same frames behind the bridge."""

    __slots__ = ()
    headers = UDP_HEADERS

    def __init__(self, totals: Flow, size: int) -> None:
        self.totals, self.size = totals, size

    def sent(self, train: Train, first: int, step: int, frame_ps: int) -> None:
        """Frames are through the wire: nobody answers."""

    def dropped(self, frames: int) -> None:
        """Frames found no room."""
        self.totals.lost_out += frames
