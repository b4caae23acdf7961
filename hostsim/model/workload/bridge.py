"""Bridging guests: frames that a guest forwards from one vNIC to another in software interrupts, without a process."""

from __future__ import annotations

from hostsim.engine.packet_train import Train
from hostsim.model.contract import GuestStream, InboundStream, PacketSink
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.workload.flow import Flow, Sender
from hostsim.model.workload.udp import Datagram

__all__ = ["Bridged"]


class Bridged(Sender):
    """Frames from outside to a bridging guest.

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

    def __init__(
        self, totals: Flow, size: int, frame_ps: int, vcpu: Vcpu, queue: PacketSink[GuestStream], step: int
    ) -> None:
        super().__init__(totals, size, frame_ps, 1)
        self.in_softirq = True
        self.vcpu, self._queue, self._step = vcpu, queue, step
        self._leaving = _Leaving(totals, size)

    def handle(self, train: Train[InboundStream], start: int) -> int:
        """Forward frames one after the other from ``start`` on; returns the end."""
        totals, step, count = self.totals, self._step, train.count
        timestamps = train.timestamps
        if timestamps is None:
            totals.latency.add(start + step - train.arrived, step - train.gap, count)
        else:
            totals.latency.add_each(timestamps, start + step, step)
        vcpu = self.vcpu
        assert vcpu is not None
        totals.delivered += count
        totals.to_forward += count
        vcpu.read += count
        vcpu.post_to(self._queue, Train(self._leaving, count, start + step, step, train.arrived, train.gap, timestamps))
        return start + count * step


class _Leaving(Datagram):
    """The same frames on their way out of the bridging guest."""

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """Count frames that were handed to a physical NIC."""
        self.totals.forwarded += train.count * train.frames
