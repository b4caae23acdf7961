"""Transactions: closed-loop users who send a request, wait for its reply, and think."""

from __future__ import annotations

from hostsim.engine.clock import Timer
from hostsim.engine.ring import Train
from hostsim.model.contract import GuestStream, InboundStream
from hostsim.model.traffic.tcp import RETRANSMIT_AFTER, Endpoints, GuestPackets, PacketHandler, PeerFrames, Think

__all__ = ["User"]


class User(PacketHandler):
    """A closed-loop user with a connection to a process of the guest.

    Requests and replies acknowledge each other.

    Attributes:
        requests: frames of the user.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        *,
        request_size: int,
        request_ps: int,
        reply_frames: int,
        reply_size: int,
        think: Think,
    ) -> None:
        """Create an idle user.

        Args:
            endpoints: endpoints of the connection; the application's ``per_request`` is the cost of a transaction.
            request_size: bytes of data of a request.
            request_ps: time of a request on the wire, in picoseconds.
            reply_frames: number of frames of a reply.
            reply_size: bytes of data in each frame of a reply.
            think: think time from a reply to the next request; default: none.
        """
        self._endpoints, self._frames, self._think = endpoints, reply_frames, think
        self._requested_at = 0
        self._posted: Train[GuestStream] | None = None
        self.requests = PeerFrames(endpoints, request_size, request_ps, self, self._request_dropped)
        self._reply = GuestPackets(endpoints.totals, reply_size, self, self._reply_dropped)
        self._timer = Timer(endpoints.clock, self._write_again)

    def begin(self, at: int) -> None:
        """Send a request at a given time."""
        self._endpoints.totals.asked += 1
        self._requested_at = at
        self._ask(at)

    def _ask(self, at: int) -> None:
        self._endpoints.release(self.requests, at, 0, 1, 1)

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        """Wake the process, which reads the request; the transaction is a separate burst. Returns the end."""
        endpoints = self._endpoints
        vcpu, size = endpoints.vcpu, self.requests.size
        costs = vcpu.costs
        end = start + costs.guest_process_wake + endpoints.application.per_packet + costs.copied(size, wait_ps)
        vcpu.count_read(train, start, end)
        endpoints.totals.octets += size
        vcpu.start(self, end)
        return end

    def run(self, start: int) -> int:
        """Serve the transaction from ``start`` on and write its reply; returns the end."""
        endpoints = self._endpoints
        application, costs = endpoints.application, endpoints.vcpu.costs
        end = start + application.request_ps() + application.per_write + costs.guest_tx_packet
        octets = self._frames * self._reply.size
        end += costs.copied(octets) + application.checksum_ps(octets)
        endpoints.vcpu.post_to(endpoints.queue, self._write(end))
        return end

    def _write(self, at: int) -> Train[GuestStream]:
        self._posted = train = Train(self._reply, 1, at, 0, at, 0, None, self._frames)
        return train

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        there = self._endpoints.answer(first)
        trip, posted = self.requests.round_trip, self._posted
        if trip is not None and posted is not None:
            trip.answered(self._requested_at, posted.ready, train.ready, there)
        self._endpoints.totals.answer(there - self._requested_at)
        self.begin(there + self._think())

    def _reply_dropped(self, _frames: int) -> None:
        """Retransmit the reply of the guest after its timeout."""
        self._timer.arm(self._endpoints.clock.now + RETRANSMIT_AFTER)

    def _write_again(self, now: int) -> None:
        self._endpoints.queue.post(self._write(now))

    def _request_dropped(self, _frames: int) -> None:
        """Repeat the request of the user."""
        self._ask(self._endpoints.clock.now + RETRANSMIT_AFTER)
