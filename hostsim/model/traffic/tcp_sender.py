"""TCP senders in guests: a continuous stream, or files fetched one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, GuestStream, InboundStream
from hostsim.model.traffic.tcp import (
    ENDLESS,
    RETRANSMIT_AFTER,
    Congestion,
    Connection,
    Endpoints,
    GuestPackets,
    PeerFrames,
    Think,
    no_think_time,
)
from hostsim.units import MS

__all__ = ["MOST_TSO", "TcpSender"]

MOST_TSO: Final = 65536
"""Largest TSO packet, in bytes: the length field of IPv4."""
MOST_ACKS: Final = 64
"""Largest number of acknowledgements in one burst of the peer, more than a TSO packet causes."""
DELAYED_ACK: Final = 40 * MS
"""Delayed acknowledgement of a peer without data to send (Linux ``TCP_DELACK_MIN``), in picoseconds."""


class TcpSender(Connection):
    """A TCP connection on which the guest sends and the peer receives.

    Attributes:
        acks: acknowledgements of the peer.
        requests: requests of the peer for files.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        congestion: Congestion,
        file: int,
        *,
        size: int,
        small_ps: int,
        full: bool,
        acks_every: int,
        joined: int = 1,
        request: tuple[int, int] | None = None,
        think: Think = no_think_time,
    ) -> None:
        """Create an idle connection.

        Args:
            endpoints: endpoints of the connection.
            congestion: congestion window of the guest.
            file: number of segments of each file, or `ENDLESS`.
            size: bytes of data in a segment.
            small_ps: time of a frame without data on the wire, in picoseconds.
            full: True if segments are as large as the path allows, so that segmentation offload may carry several.
            acks_every: number of segments for each acknowledgement of the peer.
            joined: largest number of segments of a TSO packet that the peer's receive offload joins; it acknowledges
                each joined packet at once.
            request: bytes of a request for a file, and its time on the wire in picoseconds; default: the smallest
                frame.
            think: think time from a file to the next request; default: none.
        """
        super().__init__(endpoints, congestion, file)
        # a writing process uses its own time; data of a file in the socket is sent by the kernel
        kernel = not endpoints.application.write_copies
        self.acks = PeerFrames(endpoints, 0, small_ps, self, self._acks_dropped, burst=MOST_ACKS, in_softirq=kernel)
        self.acks.path_ps = endpoints.vcpu.costs.guest_rx_ack
        octets, request_ps = request or (0, small_ps)
        self.requests = PeerFrames(endpoints, octets, request_ps, self, self._request_dropped)
        self._think, self._acks_every, self._joined = think, acks_every, joined
        self._data = GuestPackets(endpoints.totals, size, self, self._lose)
        self._most = max(1, MOST_TSO // size) if full else 1
        self._carry = self._there = self._acked = self._acks_coming = self._requested_at = 0

    def begin(self, at: int) -> None:
        """Request the first file, or start the stream."""
        if self._file == ENDLESS:
            self._turn(self._transfer, at)
        else:
            self._want(at)

    def _turn(self, handle: Callable[[int], int], at: int) -> None:
        vcpu = self._endpoints.vcpu
        vcpu.inbox.post(Train(_Turn(self._endpoints.totals, handle), 1, at, 0, at, 0, None, 0))

    def _want(self, at: int) -> None:
        self._endpoints.totals.asked += 1
        self._requested_at = at
        self._ask(at)

    def _ask(self, at: int) -> None:
        self._carry = self._there = 0
        self._endpoints.release(self.requests, at, 0, 1, 1)

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        return self._ack(train, start) if frames is self.acks else self._request(train, start)

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        self._data_sent(train, first, step)

    # --- the guest's side

    def _transfer(self, start: int) -> int:
        self._remaining = self._file
        return self._send(start)

    def _request(self, train: Train[InboundStream], start: int) -> int:
        end = start + self._endpoints.application.request_ps()
        self._endpoints.vcpu.count_read(train, start, end)
        self._congestion.acked(self._congestion.in_flight)
        self._acked = 0
        return self._transfer(end)

    def _ack(self, train: Train[InboundStream], start: int) -> int:
        """Handle acknowledgements, which open the window; returns the end."""
        acks = train.count * train.frames
        self._endpoints.vcpu.count_read(train, start, start)
        acked = self._acked * acks // self._acks_coming
        self._acks_coming -= acks
        self._acked -= acked
        self._congestion.acked(min(acked, self._congestion.in_flight))
        if self._lost:
            self._repair()
        return self._send(start)

    def _send(self, start: int) -> int:
        """Send the segments that the window allows, in packets as large as TSO and the window permit.

        Returns the end.
        """
        congestion = self._congestion
        whole = max(1, min(self._most, congestion.allowed // self._endpoints.application.tso_divisor))
        can = min(congestion.room(), self._remaining)
        end, rest = start, can % whole
        if can >= whole:
            end = self._write(end, can // whole, whole)
        # the rest waits for acknowledgements on their way, and is sent with the segments that they allow
        if rest and (rest == self._remaining or congestion.in_flight <= self._carry + self._lost):
            end = self._write(end, 1, rest)
        return end

    def _write(self, start: int, count: int, frames: int) -> int:
        """Write ``count`` packets of ``frames`` frames each; returns the end."""
        endpoints = self._endpoints
        application, vcpu = endpoints.application, endpoints.vcpu
        work = vcpu.costs.guest_tx_packet
        if application.sum_ps:
            work += application.checksum_ps(frames * self._data.size)
        if application.write_copies:
            octets = frames * self._data.size
            writes = -(-octets // application.write_size) if application.write_size else 1
            # packets of one call leave equally spaced: each takes the mean of their drawn times
            work += application.writes_ps(count * writes) // count + vcpu.costs.copied(octets)
        vcpu.post_to(endpoints.queue, Train(self._data, count, start + work, work, start, 0, None, frames))
        self._congestion.in_flight += count * frames
        self._remaining -= count * frames
        return start + count * work

    def _forget_unacknowledged(self) -> int:
        carry, self._carry = self._carry, 0
        return carry

    def _send_again(self, now: int) -> None:
        self._turn(self._send, now)

    # --- the peer's side

    def _data_sent(self, train: Train[GuestStream], first: int, step: int) -> None:
        """Handle data that reaches the peer, which acknowledges it, or requests the next file."""
        endpoints = self._endpoints
        frames = train.count * train.frames
        if self.path_loss is not None and (lost := self.path_loss.take(frames)):
            self._lose(lost)
            frames -= lost
            self._data.astray += lost
            if not frames:
                return
            # the others are not joined: each segment after a gap is acknowledged separately
            step = step * train.count // frames if frames > 1 else 0
            train = Train(train.stream, frames, train.ready, train.gap, train.arrived, 0, None, 1)
        self._there += frames
        last = first + (train.count - 1) * step
        if self._there >= self._file:
            self._file_there(endpoints.answer(last), train)
            return
        acks, owed = self._acks_for(train)
        total = self._carry + frames - owed
        if not acks and not self._acks_coming and self._lost + owed >= self._congestion.in_flight:
            acks, total, owed = 1, owed, 0  # nothing more is on its way; the last segment has PSH set
        if acks:
            self._acknowledge(endpoints.answer(last), acks, total)
        self._carry = owed

    def _acks_for(self, train: Train[GuestStream], less: int = 0) -> tuple[int, int]:
        """Return the number of acknowledgements for packets, and the number of segments left to acknowledge.

        The last packet counts ``less`` segments fewer.
        """
        owed, every, joined = self._carry, self._acks_every, self._joined
        packets, frames = train.count, train.frames
        if joined < every or frames == 1:
            owed += packets * frames - less
            return owed // every, owed % every
        acks = 0
        for packet in range(1, packets + 1):
            if packet == packets:
                frames -= less
            if frames >= joined:
                acks += frames // joined
                owed = 0
            owed += frames % joined
            if owed >= every:
                acks += 1
                owed = 0
        return acks, owed

    def _file_there(self, at: int, train: Train[GuestStream]) -> None:
        """Handle a complete file at the peer: its user requests the next one, after the think time."""
        self._endpoints.totals.answer(at - self._requested_at)
        pause = self._think()
        self._acknowledge_file(at, train, pause)
        self._want(at + pause)

    def _acknowledge_file(self, at: int, train: Train[GuestStream], pause: int) -> None:
        """Acknowledge the end of a file; a request before the delayed acknowledgement replaces it."""
        less = 1 if pause == 0 else 0
        acks, owed = self._acks_for(train, less)
        self._acknowledge(at, acks, self._carry + train.count * train.frames - less - owed)
        if owed and pause > DELAYED_ACK:
            self._acknowledge(at, 1, owed)

    def _acknowledge(self, at: int, acks: int, segments: int) -> None:
        """Send acknowledgements of the peer for ``segments`` segments; those of one train arrive together."""
        if acks:
            self._acks_coming += acks
            self._acked += segments
            self._endpoints.release(self.acks, at, 0, 1, acks)

    def _request_dropped(self, _frames: int) -> None:
        """Repeat the request of the peer."""
        self._ask(self._endpoints.clock.now + RETRANSMIT_AFTER)

    def _acks_dropped(self, frames: int) -> None:
        """Handle dropped acknowledgements.

        The next one covers them, or the sender's retransmission causes one.
        """
        self._acks_coming -= frames
        if not self._acks_coming:
            self._carry += self._acked
            self._acked = 0
            if self._lost + self._carry >= self._congestion.in_flight:
                self._await_time_out()


class _Turn(InboundStream):
    """A turn to send without an incoming packet, at the start of a stream or after a timeout."""

    def __init__(self, totals: Flow, handle: Callable[[int], int]) -> None:
        self.totals, self.size, self._handle = totals, 0, handle

    def handle(self, _train: Train[InboundStream], start: int) -> int:
        """Send from the process; returns the end."""
        return self._handle(start)
