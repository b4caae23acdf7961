"""TCP receivers in guests: a continuous stream, or files posted one after the other."""

from __future__ import annotations

from hostsim.engine.ring import Train
from hostsim.model.contract import GuestStream, InboundStream
from hostsim.model.traffic.tcp import (
    ENDLESS,
    Congestion,
    Connection,
    Endpoints,
    GuestPackets,
    PeerFrames,
    Think,
    no_think_time,
)

__all__ = ["TcpReceiver"]


class TcpReceiver(Connection):
    """A TCP connection on which the peer sends and the guest receives.

    Attributes:
        data: segments of the peer.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        congestion: Congestion,
        file: int,
        *,
        size: int,
        frame_ps: int,
        burst: int,
        full: bool,
        think: Think = no_think_time,
    ) -> None:
        """Create an idle connection.

        Args:
            endpoints: endpoints of the connection.
            congestion: congestion window of the peer.
            file: number of segments of each file, or `ENDLESS`.
            size: bytes of data in a segment.
            frame_ps: time of a segment on the wire, in picoseconds.
            burst: number of segments in one burst of the peer.
            full: True if segments are as large as the path allows, so that large receive offload may join them.
            think: think time from an answer to the next file; default: none.
        """
        super().__init__(endpoints, congestion, file)
        self.data = PeerFrames(endpoints, size, frame_ps, self, self._lose, burst=burst, joins=full)
        self._acks = GuestPackets(endpoints.totals, 0, self, self._acks_dropped)
        self._answer = GuestPackets(endpoints.totals, 0, self, self._answer_dropped)
        self._since_ack = self._owing = self._acks_out = self._acks_out_frames = self._due = self._requested_at = 0
        self._answer_lost, self._think = False, think

    def begin(self, at: int) -> None:
        """Start a file, or the stream, of the peer at a given time."""
        self._remaining = self._due = self._file
        if self._file != ENDLESS:
            self._endpoints.totals.asked += 1
            self._requested_at = at
        self._release(at, 0, 1)

    def _release(self, at: int, step: int, turns: int) -> None:
        """Send the segments that the peer's window allows."""
        frames = min(self._congestion.room(), self._remaining)
        if frames > 0:
            self._remaining -= frames
            self._congestion.in_flight += frames
            if self.path_loss is not None and (lost := self.path_loss.take(frames)):
                frames -= lost
                self._lose(lost)
            self._endpoints.release(self.data, at, step, turns, frames)

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        return self._read(train, start, wait_ps)

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        if packets is self._acks:
            self._acks_sent(train, first, step)
        else:
            self._answer_sent(first)

    def _read(self, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        """Read and acknowledge data in the process, and answer a complete file; returns the end."""
        endpoints = self._endpoints
        application, vcpu = endpoints.application, endpoints.vcpu
        packets = train.count
        frames = packets * train.frames
        octets = frames * self.data.size
        end = start + application.packets_ps(packets) + vcpu.costs.copied(octets, wait_ps)
        if vcpu.wakes(self):
            end += vcpu.costs.guest_process_wake
        vcpu.count_read(train, start, end)
        endpoints.totals.octets += octets
        self._owing += frames
        self._since_ack += packets
        self._due -= frames
        if self._due <= 0:
            end += application.request_ps()
            vcpu.post_to(endpoints.queue, Train(self._answer, 1, end, 0, end, 0))
            self._since_ack = 0
            return end
        acks = self._since_ack // application.ack_every
        self._since_ack %= application.ack_every
        kept = min(self._owing, self._since_ack * train.frames)
        if not acks and not self._acks_out and self._owing + self._lost >= self._congestion.in_flight:
            acks, kept, self._since_ack = 1, 0, 0  # the sender's window is used up, and its last segment has PSH set
        if acks:
            self._acks_out += acks
            self._acks_out_frames += self._owing - kept
            self._owing = kept
            ack_ps = vcpu.costs.guest_ack
            step = (end - start) // acks + ack_ps
            end += acks * ack_ps
            vcpu.post_to(endpoints.queue, Train(self._acks, acks, end - (acks - 1) * step, step, end, 0))
        return end

    def _acks_sent(self, train: Train[GuestStream], first: int, step: int) -> None:
        """Handle acknowledgements that reach the peer, which sends more."""
        count = train.count
        acked = self._acks_out_frames * count // self._acks_out
        self._acks_out -= count
        self._acks_out_frames -= acked
        self._congestion.acked(acked)
        if self._lost:
            self._repair()
        self._release(self._endpoints.answer(first), step, count)

    def _acks_dropped(self, acks: int) -> None:
        """Handle dropped acknowledgements.

        The next one covers them, or the peer's retransmission causes one.
        """
        self._acks_out -= acks
        if not self._acks_out:
            self._owing += self._acks_out_frames
            self._acks_out_frames = 0
            if self._owing + self._lost >= self._congestion.in_flight:
                self._await_time_out()

    def _answer_sent(self, first: int) -> None:
        """Handle an answer that reaches the peer: it acknowledges the file, and the peer posts the next one."""
        self._congestion.acked(self._congestion.in_flight)
        self._owing = self._acks_out_frames = 0
        there = self._endpoints.answer(first)
        self._endpoints.totals.answer(there - self._requested_at)
        self.begin(there + self._think())

    def _answer_dropped(self, _frames: int) -> None:
        self._answer_lost = True
        self._await_time_out()

    def _forget_unacknowledged(self) -> int:
        owing, self._owing, self._since_ack = self._owing, 0, 0
        return owing

    def _send_again(self, now: int) -> None:
        if self._answer_lost:
            self._answer_lost = False
            self._endpoints.queue.post(Train(self._answer, 1, now, 0, now, 0))
        self._release(now, 0, 1)
