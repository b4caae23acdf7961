"""Connections for single files: the packets that open and close them, with the guest's costs."""

from __future__ import annotations

from collections.abc import Callable

from hostsim.engine.clock import Timer
from hostsim.engine.ring import Train
from hostsim.model.contract import GuestStream, InboundStream, Sender
from hostsim.model.traffic.tcp import (
    RETRANSMIT_AFTER,
    Congestion,
    Endpoints,
    GuestPackets,
    PacketHandler,
    PeerFrames,
    Think,
)
from hostsim.model.traffic.tcp_receiver import TcpReceiver
from hostsim.model.traffic.tcp_sender import TcpSender
from hostsim.model.traffic.web import OPEN_AGAIN_AFTER

__all__ = ["ClosingReceiver", "ClosingSender", "Handshakes"]


class Handshakes(PacketHandler):
    """The packets that open and close the successive connections of a user.

    To open a connection: SYN of the peer, SYN-ACK of the guest, and the request with the ACK of the peer. To close it:
    FIN of the guest after its data, FIN-ACK of the peer, ACK of the guest. The next connection does not wait until the
    last one is closed.

    Attributes:
        half_ps: half of the guest's cost of a connection without its packets, at its opening and at its close, in
            picoseconds.
    """

    def __init__(self, endpoints: Endpoints, small_ps: int, connection_ps: int, opened: Callable[[int], None]) -> None:
        """Create the packets of a user.

        Args:
            endpoints: endpoints of its connections.
            small_ps: time of a frame without data on the wire, in picoseconds.
            connection_ps: the guest's cost of a connection without its packets, in picoseconds.
            opened: called with the time at which the peer has an open connection.
        """
        totals = endpoints.totals
        self.half_ps = connection_ps // 2
        self._endpoints, self._opened = endpoints, opened
        self._syn = PeerFrames(endpoints, 0, small_ps, self, self._syn_dropped, in_softirq=True)
        self._ack = PeerFrames(endpoints, 0, small_ps, self, self._ack_dropped, in_softirq=True)
        self._fin = PeerFrames(endpoints, 0, small_ps, self, self._fin_dropped, in_softirq=True)
        self._ack.path_ps = self._fin.path_ps = endpoints.vcpu.costs.guest_rx_ack
        self._accept = GuestPackets(totals, 0, self, self._syn_dropped)
        self._end = GuestPackets(totals, 0, self, self._end_dropped)
        self._last = GuestPackets(totals, 0, self, self._fin_dropped)
        self._unsent = 0
        self._timer = Timer(endpoints.clock, self._end_again)

    @property
    def senders(self) -> list[Sender]:
        """Frames of the peer."""
        return [self._syn, self._ack, self._fin]

    def open(self, at: int) -> None:
        """Open a connection of the peer."""
        self._endpoints.release(self._syn, at, 0, 1, 1)

    def close(self, at: int) -> int:
        """Close a connection by the guest's process or kernel; returns the end."""
        endpoints = self._endpoints
        end = at + endpoints.vcpu.costs.guest_ack
        endpoints.vcpu.post_to(endpoints.queue, Train(self._end, 1, end, 0, end, 0))
        return end

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        """Handle packets in the guest's kernel from ``start`` on; returns the end."""
        endpoints = self._endpoints
        vcpu, count = endpoints.vcpu, train.count
        if frames is self._ack:
            vcpu.count_read(train, start, start)
            return start
        ack_ps = vcpu.costs.guest_ack
        end = start + count * ack_ps
        vcpu.count_read(train, start, end)
        answer = self._accept if frames is self._syn else self._last
        vcpu.post_to(endpoints.queue, Train(answer, count, start + ack_ps, ack_ps, start + ack_ps, ack_ps))
        return end

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        """Answer from the peer."""
        endpoints = self._endpoints
        if packets is self._accept:
            at = endpoints.answer(first)
            endpoints.release(self._ack, at, 0, 1, 1)
            self._opened(at)
        elif packets is self._end:
            endpoints.release(self._fin, endpoints.answer(first), step, train.count, train.count)

    def _syn_dropped(self, _frames: int) -> None:
        """Open the connection of the peer again."""
        self.open(self._endpoints.clock.now + OPEN_AGAIN_AFTER)

    def _ack_dropped(self, _frames: int) -> None:
        """Ignore the loss, as the request acknowledges, too."""

    def _fin_dropped(self, frames: int) -> None:
        """Close the connection of the peer again, as a packet of either side was lost."""
        self._endpoints.release(self._fin, self._endpoints.clock.now + RETRANSMIT_AFTER, 0, 1, frames)

    def _end_dropped(self, frames: int) -> None:
        self._unsent += frames
        self._timer.arm(self._endpoints.clock.now + RETRANSMIT_AFTER)

    def _end_again(self, now: int) -> None:
        count, self._unsent = self._unsent, 0
        self._endpoints.queue.post(Train(self._end, count, now, 0, now, 0))


class ClosingSender(TcpSender):
    """Files that the guest sends, each on a separate connection, which it closes after the file.

    Attributes:
        handshakes: packets that open and close connections.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        congestion: Congestion,
        file: int,
        *,
        connection_ps: int,
        size: int,
        small_ps: int,
        full: bool,
        acks_every: int,
        joined: int,
        request: tuple[int, int],
        think: Think,
    ) -> None:
        """Create a user without a connection, see `TcpSender`.

        ``connection_ps`` is the guest's cost of each connection, in picoseconds.
        """
        super().__init__(
            endpoints,
            congestion,
            file,
            size=size,
            small_ps=small_ps,
            full=full,
            acks_every=acks_every,
            joined=joined,
            request=request,
            think=think,
        )
        self.handshakes = Handshakes(endpoints, small_ps, connection_ps, self._ask)
        self._is_closed = False

    def _want(self, at: int) -> None:
        self._endpoints.totals.asked += 1
        self._requested_at = at
        self.handshakes.open(at)

    def _request(self, train: Train[InboundStream], start: int) -> int:
        self._congestion = self._congestion.anew()
        self._is_closed = False
        half = self.handshakes.half_ps
        return super()._request(train, start + half) + half

    def _send(self, start: int) -> int:
        end = super()._send(start)
        if not self._remaining and not self._is_closed:
            self._is_closed = True
            end = self.handshakes.close(end)
        return end

    def _acknowledge_file(self, at: int, train: Train[GuestStream], pause: int) -> None:
        super()._acknowledge_file(at, train, 0)  # the peer's FIN acknowledges the end


class ClosingReceiver(TcpReceiver):
    """Files that the guest receives, each on a separate connection, which it closes after its answer.

    Attributes:
        handshakes: packets that open and close connections.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        congestion: Congestion,
        file: int,
        *,
        connection_ps: int,
        small_ps: int,
        size: int,
        frame_ps: int,
        burst: int,
        full: bool,
        think: Think,
    ) -> None:
        """Create a user without a connection, see `TcpReceiver`.

        ``connection_ps`` is the guest's cost of each connection, in picoseconds.
        """
        super().__init__(endpoints, congestion, file, size=size, frame_ps=frame_ps, burst=burst, full=full, think=think)
        self.handshakes = Handshakes(endpoints, small_ps, connection_ps, self._opened)
        self._is_new = False

    def begin(self, at: int) -> None:
        """Open a connection of the peer for a file at a given time."""
        self._endpoints.totals.asked += 1
        self._requested_at = at
        self.handshakes.open(at)

    def _opened(self, at: int) -> None:
        self._congestion = self._congestion.anew()
        self._is_new = True
        self._remaining = self._due = self._file
        self._release(at, 0, 1)

    def _read(self, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        handshakes = self.handshakes
        if self._is_new:
            self._is_new = False
            start += handshakes.half_ps
        end = super()._read(train, start, wait_ps)
        return end if self._due > 0 else handshakes.close(end) + handshakes.half_ps
