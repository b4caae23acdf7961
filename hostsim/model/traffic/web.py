"""Web servers in guests: open-loop clients that fetch pages over new TCP connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hostsim.engine.arrivals import Arrivals, ServiceTimes
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, GuestStream, InboundStream
from hostsim.model.traffic.arrival_source import ArrivalTimer
from hostsim.model.traffic.tcp import RETRANSMIT_AFTER, Congestion, Endpoints, GuestPackets
from hostsim.model.traffic.tcp_sender import TcpSender
from hostsim.units import SECOND

__all__ = ["PageFetch", "WebClients", "WebObject"]

OPEN_AGAIN_AFTER: Final = 3 * SECOND
"""Retransmission timeout of a client's connection request (RFC 1122), in picoseconds."""


@dataclass(frozen=True)
class WebObject:
    """An object of a web page, with its service time."""

    segment: int
    """Mean bytes of data in its segments."""
    writes: list[tuple[int, int]]
    """For each write: picoseconds of the server's work before it, and number of segments that it completes."""
    after: int
    """Picoseconds of the server's work after the last write: its log, and the return to waiting (docs/design/guest.md).

    Logging is the last phase of a request of Apache, after the bytes that it counts (L. Stein, D. MacEachern, *Writing
    Apache Modules*, 7.7).
    """

    @classmethod
    def of(cls, size: int, write_size: int, segment: int, object_ps: int) -> WebObject:
        """Create an object of ``size`` bytes, written ``write_size`` bytes at a time.

        Its cost, ``object_ps``, is divided equally over the intervals before, between and after writes.
        """
        count, segments = -(-size // write_size), -(-size // segment)
        cuts = [index * write_size // segment for index in range(count)] + [segments]
        share = object_ps // (count + 1)
        writes = [(share, cuts[i + 1] - cuts[i]) for i in range(count)]
        return cls(-(-size // segments), writes, object_ps - count * share)

    @property
    def segments(self) -> int:
        """Number of segments of the object."""
        return sum(segments for _, segments in self.writes)


class PageFetch(TcpSender):
    """A TCP connection that fetches a page: handshake, then one object after the other.

    The data of an object is spread equally over its segments, so that the bytes on the wire are those of the object.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        congestion: Congestion,
        page: list[WebObject],
        rest: Callable[[PageFetch], None],
        *,
        size: int,
        small_ps: int,
        acks_every: int,
        joined: int = 1,
        full: bool = True,
        service: ServiceTimes | None = None,
    ) -> None:
        """Create a closed connection.

        Args:
            endpoints: endpoints of the connection.
            congestion: congestion window of the guest.
            page: objects of the page.
            rest: called when the connection may serve another visit.
            size: bytes of data in a segment.
            small_ps: time of a frame without data on the wire, in picoseconds.
            acks_every: number of segments for each acknowledgement of the client.
            joined: largest number of segments that the client's receive offload joins, see `TcpSender`.
            full: True if segmentation offload may carry several segments.
            service: service times of the server for an object, if not constant.
        """
        super().__init__(
            endpoints,
            congestion,
            page[0].segments,
            size=size,
            small_ps=small_ps,
            full=full,
            acks_every=acks_every,
            joined=joined,
        )
        self._page, self._rest, self._service = page, rest, service
        self._packets = [GuestPackets(endpoints.totals, part.segment, self, self._lose) for part in page]
        self._segments = [part.segments for part in page]
        self._accept = GuestPackets(endpoints.totals, 0, self, self._accept_dropped)
        self._left, self._left_to_open = 0, False

    def begin(self, at: int) -> None:
        """Open the connection for a client."""
        self._congestion = self._congestion.anew()
        self._left, self._left_to_open = len(self._page), True
        self._take_up()
        self._want(at)

    def _take_up(self) -> None:
        """Continue with the next of the remaining objects."""
        self._file, self._data = self._segments[-self._left], self._packets[-self._left]

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        if packets is self._accept:
            self._ask(self._endpoints.answer(first))
        else:
            super().gone(packets, train, first, step)

    # --- the guest's side

    def _request(self, train: Train[InboundStream], start: int) -> int:
        if not self._left_to_open:
            return super()._request(train, start)
        self._left_to_open = False
        vcpu = self._endpoints.vcpu
        end = start + vcpu.costs.guest_ack
        vcpu.count_read(train, start, end)
        vcpu.post_to(self._endpoints.queue, Train(self._accept, 1, end, 0, end, 0))
        return end

    def _transfer(self, start: int) -> int:
        end = start
        served, drawn = self._page[-self._left], self._service
        share, after = -1, served.after
        if drawn is not None:
            took = drawn.take()
            share = took // (len(served.writes) + 1)
            after = took - len(served.writes) * share
        for work, segments in served.writes:
            self._remaining += segments
            end = self._send(end + (work if share < 0 else share))
        return end + after

    def _ack(self, train: Train[InboundStream], start: int) -> int:
        end = super()._ack(train, start)
        self._close()
        return end

    # --- the peer's side

    def _accept_dropped(self, _frames: int) -> None:
        self._left_to_open = True
        self._ask(self._endpoints.clock.now + OPEN_AGAIN_AFTER)

    def _request_dropped(self, _frames: int) -> None:
        self._ask(self._endpoints.clock.now + (OPEN_AGAIN_AFTER if self._left_to_open else RETRANSMIT_AFTER))

    def _file_there(self, at: int, train: Train[GuestStream]) -> None:
        self._left -= 1
        if self._left:
            self._take_up()
            self._acknowledge_file(at, train, 0)
            self._ask(at)
            return
        self._endpoints.totals.answer(at - self._requested_at)
        acks, owed = self._acks_for(train)
        self._acknowledge(at, acks, self._carry + train.count * train.frames - owed)
        if owed:
            self._acknowledge(at, 1, owed)

    def _acks_dropped(self, frames: int) -> None:
        super()._acks_dropped(frames)
        self._close()

    def _close(self) -> None:
        """Close the connection when the page is complete and acknowledged."""
        if not self._left and not self._acks_coming:
            if self._timer is not None:
                self._timer.disarm()
            self._lost = self._remaining = 0
            self._rest(self)


class WebClients:
    """The open-loop web clients of a VM.

    Args:
        clock: clock of the host.
        flow: flow with their counters, shared with other VMs of the same traffic.
        arrivals: arrival process of the clients.
        connect: creates another connection, with a callback for when it is idle again.
        ports: number of ports of clients, used in turn. Successive pages use different ports, so that port hashes are
            distributed over queues and vCPUs.
    """

    def __init__(
        self,
        clock: Clock,
        flow: Flow,
        arrivals: Arrivals,
        connect: Callable[[Callable[[PageFetch], None]], PageFetch],
        ports: int,
    ) -> None:
        self._connect, self._unused = connect, ports
        self._idle: deque[PageFetch] = deque()
        ArrivalTimer(clock, arrivals, flow, self._come)

    def _come(self, train: Train[Flow], now: int) -> None:
        for _request in range(train.count):
            if self._unused or not self._idle:
                self._unused = max(0, self._unused - 1)
                visit = self._connect(self._idle.append)
            else:
                visit = self._idle.popleft()
            visit.begin(now)
