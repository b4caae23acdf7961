"""Forwarding guests: bridges and TCP routers, which forward in softirqs, with their costs."""

from __future__ import annotations

from typing import Final

from hostsim.config.guest import GuestSpec
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, GuestStream, InboundStream, PacketSink, Sender
from hostsim.model.cost_table import CostTable
from hostsim.model.guest.poll_mode import TxDescriptors
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.traffic.tcp import ENDLESS, Congestion, Connection, Endpoints, GuestPackets, PeerFrames
from hostsim.model.traffic.udp import Datagram

__all__ = [
    "Bridged",
    "ForwardedStream",
    "PolledFrames",
    "forwarding",
]


def forwarding(guest: GuestSpec, costs: CostTable, hertz: float, *, polls: bool = False) -> tuple[int | None, int]:
    """Return the cost of a packet before and after the decision to forward it, in picoseconds.

    The second part ends at the transmit ring. The first part is None if the packet passes the whole stack. A guest with
    a measured cost from ring to ring has all of it in the second part.

    Args:
        guest: spec of the guest.
        costs: cost table of the host.
        hertz: Westmere-equivalent cycles/s.
        polls: True if a process with polled devices forwards; the cost of building a packet then replaces that of its
            look-up.
    """
    paths = guest.paths
    if polls and paths is not None:
        return None, paths.poll_rx.ps(hertz) + paths.poll_tx.ps(hertz)
    if paths is None or paths.forward is None:
        return None, guest.applications.bridge.ps(hertz) + costs.guest_tx_packet
    return 0, paths.forward.ps(hertz)


class Bridged(Sender):
    """Frames from outside to a forwarding guest.

    The flow counts a frame as delivered when the guest has put it on the transmit queue; later drops count as lost on
    the transmit side.

    Args:
        totals: flow with counters of its frames.
        size: bytes of data in a frame.
        frame_ps: time of a frame on the incoming wire, in picoseconds.
        vcpu: vCPU that forwards.
        queue: transmit queue of the outgoing NIC.
        step: cost of forwarding a frame in addition to receiving it, in picoseconds.
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
        assert isinstance(vcpu, Vcpu)
        totals.delivered += count
        totals.to_forward += count
        vcpu.read += count
        self._leave(train, start + step)
        return start + count * step

    def _leave(self, train: Train[InboundStream], first: int) -> None:
        """Put frames on the transmit queue, the first at the time ``first``."""
        left = Train(self._leaving, train.count, first, self._step, train.arrived, train.gap, train.timestamps)
        vcpu = self.vcpu
        assert isinstance(vcpu, Vcpu)
        vcpu.post_to(self._queue, left)


class PolledFrames(Bridged):
    """Frames that a process forwards while it polls both NICs.

    Without a free transmit descriptor it drops them.
    """

    descriptors: TxDescriptors

    def _leave(self, train: Train[InboundStream], first: int) -> None:
        count, timestamps = train.count, train.timestamps
        fits = min(count, self.descriptors.left)
        self.descriptors.left -= fits
        if fits < count:
            self._leaving.dropped(count - fits)
        if fits:
            kept = timestamps if timestamps is None or fits == count else timestamps[:fits]
            out = Train(self._leaving, fits, first, self._step, train.arrived, train.gap, kept)
            vcpu = self.vcpu
            assert isinstance(vcpu, Vcpu)
            vcpu.post_to(self._queue, out)


class _Leaving(Datagram):
    """The same frames on the transmit side of the guest."""

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """Count frames that reached a physical NIC."""
        self.totals.forwarded += train.count * train.frames


MOST_ACKS: Final = 64
"""Largest number of acknowledgements in one burst of a peer, more than a packet causes."""


class ForwardedStream(Connection):
    """A TCP connection between two peers whose packets pass a guest in both directions.

    Attributes:
        data: segments of the sending peer.
        acks: acknowledgements of the receiving peer.
    """

    def __init__(
        self,
        near: Endpoints,
        far: Endpoints,
        congestion: Congestion,
        *,
        size: int,
        frame_ps: int,
        small_ps: int,
        burst: int,
        acks_every: int,
        step_ps: int,
    ) -> None:
        """Create an idle connection; its packets need routes before it begins.

        Args:
            near: the guest, and the sending peer.
            far: the guest, and the receiving peer.
            congestion: congestion window of the sender.
            size: bytes of data in a segment.
            frame_ps: time of a segment on the incoming wire, in picoseconds.
            small_ps: time of an acknowledgement on its incoming wire, in picoseconds.
            burst: number of segments in one burst of the sender.
            acks_every: number of segments for each acknowledgement of the receiver.
            step_ps: cost of forwarding a packet in addition to receiving it, in picoseconds.
        """
        super().__init__(near, congestion, ENDLESS)
        self.data = PeerFrames(near, size, frame_ps, self, self._lose, burst=burst, joins=True, in_softirq=True)
        self.acks = PeerFrames(far, 0, small_ps, self, self._acks_dropped, burst=MOST_ACKS, in_softirq=True)
        self._out = _Onward(near.totals, size, self, self._lose)
        self._back = _Onward(near.totals, 0, self, self._acks_dropped)
        self._far, self._acks_every, self._step = far, acks_every, step_ps
        self._owing = self._acks_out = self._covered = 0
        self._onward: PacketSink[GuestStream] = far.queue
        self._homeward: PacketSink[GuestStream] = near.queue

    def route(self, onward: PacketSink[GuestStream], homeward: PacketSink[GuestStream]) -> None:
        """Set the transmit queues of data and of acknowledgements."""
        self._onward, self._homeward = onward, homeward

    def begin(self, at: int) -> None:
        """Start the sender at a given time."""
        self._remaining = self._file
        self._release(at, 0, 1)

    def _release(self, at: int, step: int, turns: int) -> None:
        """Send the segments that the sender's window allows."""
        frames = self._congestion.room()
        if frames > 0:
            self._congestion.in_flight += frames
            self._endpoints.release(self.data, at, step, turns, frames)

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        return self._forward(train, start) if frames is self.data else self._return(train, start)

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        if packets is self._out:
            self._data_there(train, first, step)
        else:
            self._acks_there(train, first, step)

    # --- the guest

    def _forward(self, train: Train[InboundStream], start: int) -> int:
        """Forward data, or drop packets that LRO has made too large; returns the end."""
        count, frames, step, vcpu = train.count, train.frames, self._step, self.data.vcpu
        assert isinstance(vcpu, Vcpu)
        end = start + count * step
        vcpu.count_read(train, start, end)
        self._out.totals.to_forward += count * frames
        if frames > 1 and self.data.joins:
            self._out.dropped(count * frames)
        else:
            vcpu.post_to(self._onward, Train(self._out, count, start + step, step, start, 0, None, frames))
        return end

    def _return(self, train: Train[InboundStream], start: int) -> int:
        """Forward acknowledgements; returns the end."""
        count, step, vcpu = train.count, self._step, self.acks.vcpu
        assert isinstance(vcpu, Vcpu)
        end = start + count * step
        vcpu.count_read(train, start, end)
        self._back.totals.to_forward += count * train.frames
        vcpu.post_to(self._homeward, Train(self._back, count, start + step, step, start, 0))
        return end

    # --- the peers

    def _data_there(self, train: Train[GuestStream], first: int, step: int) -> None:
        """Handle data that reaches the receiver, which acknowledges it."""
        last = first + (train.count - 1) * step
        owing = self._owing + train.count * train.frames
        acks = owing // self._acks_every
        covered = acks * self._acks_every
        owing -= covered
        if not acks and not self._acks_out and self._lost + owing >= self._congestion.in_flight:
            acks, covered, owing = 1, owing, 0  # nothing more is on its way; the last segment has PSH set
        self._owing = owing
        if acks:
            self._acks_out += acks
            self._covered += covered
            self._far.release(self.acks, self._far.answer(last), 0, 1, acks)

    def _acks_there(self, train: Train[GuestStream], first: int, step: int) -> None:
        """Handle acknowledgements that reach the sender, which sends more."""
        count = train.count
        covered = self._covered * count // self._acks_out
        self._acks_out -= count
        self._covered -= covered
        self._congestion.acked(min(covered, self._congestion.in_flight))
        if self._lost:
            self._repair()
        self._release(self._endpoints.answer(first), step, count)

    def _acks_dropped(self, acks: int) -> None:
        """Handle dropped acknowledgements.

        The next one covers them, or the sender's retransmission causes one.
        """
        self._acks_out -= acks
        if not self._acks_out:
            self._owing += self._covered
            self._covered = 0
            if self._owing + self._lost >= self._congestion.in_flight:
                self._await_time_out()

    def _forget_unacknowledged(self) -> int:
        owing, self._owing = self._owing, 0
        return owing

    def _send_again(self, now: int) -> None:
        self._release(now, 0, 1)


class _Onward(GuestPackets):
    """Packets of either peer on the transmit side of the guest."""

    def _count_out(self, frames: int) -> None:
        self.totals.forwarded += frames
