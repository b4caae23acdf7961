"""Transactions: a request in, a burst of CPU, a reply out; then the user thinks."""

from __future__ import annotations

from hostsim.engine.clock import Timer
from hostsim.engine.train import Train
from hostsim.model.traffic.connection import RETRANSMIT_AFTER, Answer, Ends, Frames, Think

__all__ = ["User"]


class User:
    """A user with a connection to a process of the guest. Requests and replies acknowledge each other.

    Attributes:
        requests: what the user sends.
    """

    __slots__ = ("_asked", "_ends", "_frames", "_posted", "_reply", "_think", "_timer", "requests")

    def __init__(
        self, ends: Ends, *, request_size: int, request_ps: int, reply_frames: int, reply_size: int, think: Think | None
    ) -> None:
        """A user that has sent nothing.

        Args:
            ends: what the connection lies between; its application takes ``per_request`` for a transaction.
            request_size: bytes of data of a request.
            request_ps: its time on the wire.
            reply_frames: frames of a reply.
            reply_size: bytes of data in each of them.
            think: time from a reply to the next request; none where nothing is said.
        """
        self._ends, self._frames, self._think = ends, reply_frames, think
        self._asked = 0
        self._posted: Train | None = None
        self.requests = Frames(ends, request_size, request_ps, self._request, self._request_dropped)
        self._reply = Answer(ends.totals, reply_size, self._reply_sent, self._reply_dropped)
        self._timer = Timer(ends.clock, self._write_again)

    def begin(self, at: int) -> None:
        """The first request goes out at an instant."""
        self._ends.totals.asked += 1
        self._asked = at
        self._ask(at)

    def _ask(self, at: int) -> None:
        self._ends.link.release(self.requests, at, 0, 1, 1)

    def _request(self, train: Train, start: int, far: bool) -> int:
        """The process is woken and takes the request; the transaction is a burst of its own."""
        ends = self._ends
        vcpu, size = ends.vcpu, self.requests.size
        timing = vcpu.timing
        end = start + timing.guest_process_wake + ends.application.per_packet + timing.guest_copy(size, far=far)
        vcpu.count_read(train, start, end)
        ends.totals.octets += size
        vcpu.start(self, end)
        return end

    def run(self, start: int) -> int:
        """The transaction, from ``start`` on, and its reply; returns when that is written."""
        ends = self._ends
        application, timing = ends.application, ends.vcpu.timing
        end = start + application.per_request + application.per_write + timing.guest_tx_packet
        end += timing.guest_copy(self._frames * self._reply.size)
        ends.vcpu.post(ends.queue, self._write(end))
        return end

    def _write(self, at: int) -> Train:
        self._posted = train = Train(self._reply, 1, at, 0, at, 0, None, self._frames)
        return train

    def _reply_sent(self, train: Train, first: int, _step: int, _frame_ps: int) -> None:
        there = first + self._ends.delay
        trip, posted = self.requests.trip, self._posted
        if trip is not None and posted is not None:
            trip.answered(self._asked, posted.ready, train.ready, there)
        self._ends.totals.answer(there - self._asked)
        self.begin(there + (self._think() if self._think is not None else 0))

    def _reply_dropped(self, _frames: int) -> None:
        """The guest writes it again when its timer is due."""
        self._timer.arm(self._ends.clock.now + RETRANSMIT_AFTER)

    def _write_again(self, now: int) -> None:
        self._ends.queue.hand(self._write(now))

    def _request_dropped(self, _frames: int) -> None:
        """The user asks again."""
        self._ask(self._ends.clock.now + RETRANSMIT_AFTER)
