"""TCP connections between a guest and a peer: endpoints, segments, congestion control, loss recovery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from hostsim.config.nic import TCP_HEADERS, frame_size
from hostsim.engine.arrivals import Jitter, ServiceTimes
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, GuestStream, InboundStream, PacketSink, Sender, TcpWindow
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.receive.wire import ClosedLoopWire
from hostsim.units import MS, SECOND, rounded

__all__ = [
    "ENDLESS",
    "RETRANSMIT_AFTER",
    "Application",
    "Congestion",
    "Connection",
    "Cubic",
    "Endpoints",
    "GuestPackets",
    "PacketHandler",
    "PathLoss",
    "PeerFrames",
    "Think",
    "no_think_time",
]


class Congestion(TcpWindow):
    """The congestion window of a Reno sender, in segments, after losses and acknowledgements."""

    def __init__(self, window: int, initial: int) -> None:
        super().__init__(window, initial)
        self._initial = initial
        self._threshold = float(window)
        self._recovering = 0

    def anew(self) -> Congestion:
        """Return the congestion window of a new connection between the same endpoints."""
        return Congestion(self.window, self._initial)

    def room(self) -> int:
        """Return the number of segments that may be sent now."""
        return max(0, int(self._allowed) - self.in_flight)

    def acked(self, segments: int) -> None:
        """Handle acknowledged segments."""
        self.in_flight -= segments
        if self._recovering > 0:
            self._recovering -= segments
        elif self._allowed < self.window:
            grown = self._allowed + (segments if self._allowed < self._threshold else segments / self._allowed)
            self._allowed = min(grown, float(self.window))

    def lost(self, segments: int) -> None:
        """Handle a loss detected by duplicate acknowledgements: halve the window, once per window."""
        self.in_flight -= segments
        if self._recovering <= 0:
            self._threshold = max(2.0, self._allowed / 2)
            self._allowed = min(self._threshold, float(self.window))
            self._recovering = self.in_flight

    def timed_out(self, segments: int) -> None:
        """Handle a retransmission timeout: restart with one segment."""
        self.in_flight -= segments
        self._threshold = max(2.0, self._allowed / 2)
        self._allowed = 1.0
        self._recovering = 0


BETA: Final = 0.7
"""Share of the window that a CUBIC sender keeps after a loss (RFC 9438, 4.6)."""
CUBE: Final = 0.4
"""Growth constant of a CUBIC window, in segments/s³ (RFC 9438, 5.1)."""
ALPHA: Final = 3 * (1 - BETA) / (1 + BETA)
"""Growth of the Reno-friendly estimate in segments for each acknowledged window (RFC 9438, 4.3)."""


class Cubic(Congestion):
    """The congestion window of a CUBIC sender (RFC 9438) with fast convergence, without HyStart++.

    The round-trip time is measured once per window: from an acknowledgement until all segments that were in flight then
    are acknowledged.
    """

    def __init__(self, window: int, initial: int, clock: Clock) -> None:
        super().__init__(window, initial)
        self._clock = clock
        self._most = self._prior = self._estimate = self._inflection = 0.0
        self._epoch = self._timed_from = -1
        self._timed_left = self._round_trip = 0

    def anew(self) -> Congestion:
        """Return the congestion window of a new connection between the same endpoints."""
        return Cubic(self.window, self._initial, self._clock)

    def acked(self, segments: int) -> None:
        """Handle acknowledged segments."""
        self.in_flight -= segments
        now = self._clock.now
        self._time_round_trip(segments, now)
        if self._recovering > 0:
            self._recovering -= segments
        elif self._allowed < self.window:
            grown = self._allowed + segments if self._allowed < self._threshold else self._grown(segments, now)
            self._allowed = min(grown, float(self.window))

    def lost(self, segments: int) -> None:
        """Handle a loss detected by duplicate acknowledgements: reduce the window, once per window."""
        self.in_flight -= segments
        if self._recovering <= 0:
            self._reduce()
            self._allowed = min(self._threshold, float(self.window))
            self._recovering = self.in_flight

    def timed_out(self, segments: int) -> None:
        """Handle a retransmission timeout: restart with one segment."""
        self.in_flight -= segments
        self._reduce()
        self._allowed = 1.0
        self._recovering = 0
        self._timed_from = -1

    def _reduce(self) -> None:
        window = self._allowed
        self._most = window * (1 + BETA) / 2 if window < self._most else window  # fast convergence
        self._prior, self._epoch = window, -1
        self._threshold = max(2.0, window * BETA)

    def _grown(self, segments: int, now: int) -> float:
        """Return the window in congestion avoidance after a number of acknowledged segments."""
        window = self._allowed
        if self._epoch < 0:
            self._epoch, self._estimate = now, window
            self._most = max(self._most, window)
            self._inflection = ((self._most - window) / CUBE) ** (1 / 3)
        elapsed = (now - self._epoch) / SECOND
        self._estimate += (ALPHA if self._estimate < self._prior else 1.0) * segments / window
        if self._cube(elapsed) < self._estimate:
            return max(window, self._estimate)
        target = min(max(self._cube(elapsed + self._round_trip / SECOND), window), 1.5 * window)
        return window + (target - window) * min(1.0, segments / window)

    def _cube(self, seconds: float) -> float:
        off = seconds - self._inflection
        return CUBE * off * off * off + self._most

    def _time_round_trip(self, segments: int, now: int) -> None:
        if self._timed_from >= 0:
            self._timed_left -= segments
            if self._timed_left > 0:
                return
            self._round_trip = now - self._timed_from
        self._timed_from, self._timed_left = now, self.in_flight


LOSSES: Final = 256
"""Number of gaps between losses drawn at a time."""


class PathLoss:
    """Losses of the network outside the host: each segment is lost independently with equal probability.

    Args:
        share: probability of a loss, above 0 and below 1.
        random: the connection's random stream.
    """

    def __init__(self, share: float, random: np.random.Generator) -> None:
        self._share, self._random = share, random
        self._gaps: list[int] = []
        self._left = self._gap()

    def _gap(self) -> int:
        if not self._gaps:
            self._gaps = self._random.geometric(self._share, LOSSES).tolist()
        return self._gaps.pop()

    def take(self, segments: int) -> int:
        """Return the number of losses among the next segments."""
        lost, left = 0, self._left
        while left <= segments:
            lost += 1
            left += self._gap()
        self._left = left - segments
        return lost


Think = Callable[[], int]
"""Draws the time until a user's next request, in picoseconds."""
ENDLESS: Final = 1 << 60
"""Number of segments of a continuous stream."""
RETRANSMIT_AFTER: Final = 200 * MS
"""Smallest retransmission timeout of a sender (Linux ``TCP_RTO_MIN``), in picoseconds."""


def no_think_time() -> int:
    """Return 0: the next request follows at once."""
    return 0


@dataclass(frozen=True)
class Application:
    """The application at the guest's end: costs in picoseconds, and parameters of the guest's TCP."""

    per_packet: int
    """Cost of reading the data of one packet from a socket."""
    per_write: int
    """Cost of one write to a socket."""
    per_request: int
    """Cost of serving one request."""
    write_copies: bool
    """True if sent data is copied from the process; False for files."""
    ack_every: int
    """Number of packets for each acknowledgement, as counted by the guest."""
    tso_divisor: int
    """The largest TSO packet is the window divided by this number."""
    write_size: int = 0
    """Bytes of each write if several form a packet; else 0."""
    requests: ServiceTimes | None = None
    """Service times instead of ``per_request``, if not constant."""
    packets: ServiceTimes | None = None
    """Service times instead of ``per_packet``, if not constant."""
    writes: ServiceTimes | None = None
    """Service times instead of ``per_write``, if not constant."""
    sum_ps: float = 0.0
    """Time of the checksum of a sent byte, if the guest's kernel computes it."""

    def request_ps(self) -> int:
        """Return the time to serve the next request in picoseconds."""
        return self.per_request if self.requests is None else self.requests.take()

    def packets_ps(self, packets: int) -> int:
        """Return the time to read the data of the next packets in picoseconds."""
        return packets * self.per_packet if self.packets is None else self.packets.total(packets)

    def checksum_ps(self, octets: int) -> int:
        """Return the kernel's time for the checksums of sent bytes in picoseconds."""
        return rounded(octets * self.sum_ps)

    def writes_ps(self, writes: int) -> int:
        """Return the time of the next writes in picoseconds."""
        return writes * self.per_write if self.writes is None else self.writes.total(writes)


class Endpoints:
    """Endpoints of a connection: wire from the peer, transmit queue to it, and the guest's vCPU.

    Attributes:
        clock: clock of the host.
        totals: flow with its counters.
        queue: transmit queue to the peer.
        vcpu: vCPU of the guest's process.
        application: application of the guest's process.
    """

    def __init__(
        self,
        clock: Clock,
        totals: Flow,
        wire: ClosedLoopWire | None,
        queue: PacketSink[GuestStream],
        vcpu: Vcpu,
        application: Application,
        *,
        delay: int,
        jitter: Jitter,
    ) -> None:
        """Create endpoints.

        Args:
            clock: clock of the host.
            totals: flow with its counters.
            wire: wire from the peer; None from another VM.
            queue: transmit queue to the peer.
            vcpu: vCPU of the guest's process.
            application: application of the guest's process.
            delay: time from the end of a frame on the wire to the peer's answer, in picoseconds.
            jitter: additional lateness of answers.
        """
        self.clock, self.totals, self._wire, self.queue = clock, totals, wire, queue
        self.vcpu, self.application = vcpu, application
        self._delay, self._jitter, self._answered = delay, jitter, 0

    def release(self, sender: Sender, at: int, step: int, turns: int, frames: int) -> None:
        """Release frames of the peer, see `ClosedLoopWire.release`."""
        assert self._wire is not None
        self._wire.release(sender, at, step, turns, frames)

    def answer(self, at: int) -> int:
        """Return the time of the peer's answer to a frame at a given time; answers stay in order."""
        answered = at + self._delay + self._jitter.draw()
        if answered > self._answered:
            self._answered = answered
        return self._answered


class PacketHandler:
    """Base of objects that handle packets of a connection at both of its ends.

    It is compiled, without a Python call for each train.
    """

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        """Handle frames of the peer in the guest's process from ``start`` on; returns the end.

        Args:
            frames: kind of the frames.
            train: the frames.
            start: start of the processing.
            wait_ps: wait for memory for each copied byte, with its checksum if the kernel verifies it, in picoseconds.
        """
        raise NotImplementedError

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        """Handle packets that have left the wire, the first at ``first``, each further one ``step`` later.

        Args:
            packets: kind of the packets.
            train: the packets.
            first: departure time of the first packet.
            step: time between departures, in picoseconds.
        """
        raise NotImplementedError


class PeerFrames(Sender):
    """Frames of a peer, handled by a process of the guest or by its softirq.

    Args:
        endpoints: endpoints of the connection.
        size: bytes of data in each frame.
        frame_ps: time of each frame on the wire, in picoseconds.
        handler: handles them in the process (`PacketHandler.take`).
        dropped: called with the number of frames dropped on the host.
        burst: number of frames in one burst of the peer.
        joins: True if large receive offload may join them.
        in_softirq: True if the guest's kernel handles them without a process.
    """

    headers = TCP_HEADERS

    def __init__(
        self,
        endpoints: Endpoints,
        size: int,
        frame_ps: int,
        handler: PacketHandler,
        dropped: Callable[[int], None],
        *,
        burst: int = 1,
        joins: bool = False,
        in_softirq: bool = False,
    ) -> None:
        super().__init__(endpoints.totals, size, frame_ps, burst, joins=joins)
        self.in_softirq = in_softirq
        self.vcpu, self._handler, self._dropped = endpoints.vcpu, handler, dropped

    def handle(self, train: Train[InboundStream], start: int) -> int:
        """Handle packets from ``start`` on; returns the end."""
        assert self.vnic is not None
        return self._handler.take(self, train, start, self.vnic.wait_ps + self.vnic.sum_ps)

    def dropped(self, frames: int) -> None:
        """Report frames dropped on the host."""
        self._dropped(frames)


class GuestPackets(GuestStream):
    """Packets of one kind that the guest sends: acknowledgements, answers or data.

    Args:
        totals: flow with counters of frames that reached a physical NIC or were dropped, and of sent data.
        size: bytes of data in each frame.
        handler: called for packets that have left the wire (`PacketHandler.gone`).
        dropped: called with the number of dropped frames.
    """

    headers = TCP_HEADERS
    """Bytes of its headers, from the IP header on."""

    def __init__(
        self,
        totals: Flow,
        size: int,
        handler: PacketHandler,
        dropped: Callable[[int], None],
    ) -> None:
        self.totals, self.size, self._handler, self._dropped = totals, size, handler, dropped
        self.octets = frame_size(size + self.headers)

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """Report packets that have left the wire."""
        if self.route is not None:  # packets that the NIC switches are reported by their receiver
            return
        self._count_out(train.count * train.frames)
        self._handler.gone(self, train, first, step)

    def _count_out(self, frames: int) -> None:
        self.totals.out += frames

    def dropped(self, frames: int) -> None:
        """Report frames dropped at a full queue."""
        self.totals.lost_out += frames
        self._dropped(frames)


class Connection(PacketHandler):
    """Base class of both directions: congestion window and loss detection.

    Args:
        endpoints: endpoints of the connection.
        congestion: congestion window of the data sender.
        file: number of segments of each transfer, or `ENDLESS`.
    """

    def __init__(self, endpoints: Endpoints, congestion: Congestion, file: int) -> None:
        self._endpoints, self._congestion, self._file = endpoints, congestion, file
        self._remaining = self._lost = 0
        self.path_loss: PathLoss | None = None
        """Losses of the network outside the host; None without."""
        self._timer: Timer | None = None

    def _lose(self, frames: int) -> None:
        """Handle dropped data.

        Its sender detects the loss by duplicate acknowledgements, or by its retransmission timer.
        """
        self._lost += frames
        self._await_time_out()

    def _await_time_out(self) -> None:
        clock = self._endpoints.clock
        if self._timer is None:
            self._timer = Timer(clock, self._time_out)
        self._timer.arm(clock.now + RETRANSMIT_AFTER)

    def _repair(self) -> None:
        """Recover from a loss detected by duplicate acknowledgements."""
        lost, self._lost = self._lost, 0
        self._remaining += lost
        self._congestion.lost(lost)
        assert self._timer is not None
        self._timer.disarm()

    def _time_out(self, now: int) -> None:
        lost, self._lost = self._lost, 0
        self._remaining += lost
        self._congestion.timed_out(lost + self._forget_unacknowledged())
        self._send_again(now)

    def _forget_unacknowledged(self) -> int:
        """Return the number of received segments without an acknowledgement on its way.

        Their retransmission causes one.
        """
        raise NotImplementedError

    def _send_again(self, now: int) -> None:
        raise NotImplementedError
