"""TCP from a guest: a stream, or files fetched one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hostsim.engine.train import Stream, Train
from hostsim.model.traffic.congestion import Congestion
from hostsim.model.traffic.connection import ENDLESS, RETRANSMIT_AFTER, Answer, Connection, Ends, Frames, Think
from hostsim.units import MS

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu

__all__ = ["Sending"]

MOST_TSO: Final = 65536
"""Bytes of a packet for TSO at most: the length field of IPv4."""
MOST_ACKS: Final = 64
"""Acknowledgements that the peer puts on the wire in one go: more than a packet for TSO brings about."""
DELAYED_ACK: Final = 40 * MS
"""Time for which a peer that has nothing to send holds an acknowledgement back (Linux ``TCP_DELACK_MIN``)."""


class Sending(Connection):
    """The guest sends, the peer receives.

    Attributes:
        acks: acknowledgements of the peer.
        requests: what the peer asks for files with.
    """

    __slots__ = (
        "_acked",
        "_acks_coming",
        "_acks_every",
        "_asked",
        "_carry",
        "_data",
        "_most",
        "_there",
        "_think",
        "acks",
        "requests",
    )

    def __init__(
        self,
        ends: Ends,
        congestion: Congestion,
        file: int,
        *,
        size: int,
        small_ps: int,
        full: bool,
        acks_every: int,
        request: tuple[int, int] | None = None,
        think: Think | None = None,
    ) -> None:
        """A connection that nothing has been sent on.

        Args:
            ends: what it lies between.
            congestion: the guest's window.
            file: segments of each file, or `ENDLESS`.
            size: bytes of data in a segment.
            small_ps: time on the wire of a frame without data.
            full: segments are as large as the path allows, so that segmentation offload may carry several.
            acks_every: segments that the peer takes from one acknowledgement to the next.
            request: bytes of what asks for a file, and its time on the wire; as small as can be where nothing is said.
            think: time from a file to what asks for the next one; none where nothing is said.
        """
        super().__init__(ends, congestion, file)
        self.acks = Frames(ends, 0, small_ps, self._ack, self._acks_dropped, burst=MOST_ACKS)
        octets, request_ps = request or (0, small_ps)
        self.requests = Frames(ends, octets, request_ps, self._request, self._request_dropped)
        self._think, self._acks_every = think, acks_every
        self._data = Answer(ends.totals, size, self._data_sent, self._lose)
        self._most = max(1, MOST_TSO // size) if full else 1
        self._carry = self._there = self._acked = self._acks_coming = self._asked = 0

    def begin(self, at: int) -> None:
        """The peer asks for the first file, or the guest begins its stream."""
        if self._file == ENDLESS:
            self._turn(self._transfer, at)
        else:
            self._want(at)

    def _turn(self, handle: Callable[[int], int], at: int) -> None:
        vcpu = self._ends.vcpu
        vcpu.hand(Train(_Turn(vcpu, handle), 1, at, 0, at, 0, None, 0))

    def _want(self, at: int) -> None:
        self._ends.totals.asked += 1
        self._asked = at
        self._ask(at)

    def _ask(self, at: int) -> None:
        self._carry = self._there = 0
        self._ends.link.release(self.requests, at, 0, 1, 1)

    # --- the guest's side

    def _transfer(self, start: int) -> int:
        self._remaining = self._file
        return self._send(start)

    def _request(self, train: Train, start: int, _far: bool) -> int:
        end = start + self._ends.application.per_request
        self._ends.vcpu.count_read(train, start, end)
        self._congestion.acked(self._congestion.in_flight)
        self._acked = 0
        return self._transfer(end)

    def _ack(self, train: Train, start: int, _far: bool) -> int:
        """Acknowledgements open the window."""
        acks = train.count * train.frames
        self._ends.vcpu.count_read(train, start, start)
        acked = self._acked * acks // self._acks_coming
        self._acks_coming -= acks
        self._acked -= acked
        self._congestion.acked(min(acked, self._congestion.in_flight))
        if self._lost:
            self._repair()
        return self._send(start)

    def _send(self, start: int) -> int:
        """Send what the window allows, in packets as large as segmentation offload and the window make them."""
        congestion = self._congestion
        whole = max(1, min(self._most, congestion.allowed // self._ends.application.tso_divisor))
        can = min(congestion.room(), self._remaining)
        end, rest = start, can % whole
        if can >= whole:
            end = self._write(end, can // whole, whole)
        # the rest waits for acknowledgements that are on their way, to go with what they allow
        if rest and (rest == self._remaining or congestion.in_flight <= self._carry + self._lost):
            end = self._write(end, 1, rest)
        return end

    def _write(self, start: int, count: int, frames: int) -> int:
        """Send so many packets of so many frames each."""
        ends = self._ends
        application, vcpu = ends.application, ends.vcpu
        work = vcpu.timing.guest_tx_packet
        if application.write_copies:
            work += application.per_write + vcpu.timing.guest_copy(frames * self._data.size)
        vcpu.post(ends.queue, Train(self._data, count, start + work, work, start, 0, None, frames))
        self._congestion.in_flight += count * frames
        self._remaining -= count * frames
        return start + count * work

    def _forget_unacknowledged(self) -> int:
        carry, self._carry = self._carry, 0
        return carry

    def _send_again(self, now: int) -> None:
        self._turn(self._send, now)

    # --- the peer's side

    def _data_sent(self, train: Train, first: int, step: int, _frame_ps: int) -> None:
        """Data reaches the peer, which acknowledges it, or asks for the next file."""
        ends = self._ends
        frames = train.count * train.frames
        self._there += frames
        last = first + (train.count - 1) * step
        if self._there >= self._file:
            self._file_there(last + ends.delay, frames)
            return
        acks, carry = divmod(self._carry + frames, self._acks_every)
        if not acks and not self._acks_coming and self._lost + carry >= self._congestion.in_flight:
            self._acknowledge(last + ends.delay, 1, carry)  # nothing more is on its way, and its last segment says so
            carry = 0
        self._acknowledge(last + ends.delay, acks, self._acks_every)
        self._carry = carry

    def _file_there(self, at: int, frames: int) -> None:
        """All of a file is at the peer, whose user thinks, if he does, before he asks for the next one."""
        self._ends.totals.answer(at - self._asked)
        pause = self._think() if self._think is not None else 0
        self._acknowledge_file(at, frames, pause)
        self._want(at + pause)

    def _acknowledge_file(self, at: int, frames: int, pause: int) -> None:
        """What comes next acknowledges the end of a file, where it comes soon enough."""
        acks, rest = divmod(self._carry + frames - (pause == 0), self._acks_every)
        self._acknowledge(at, acks, self._acks_every)
        if rest and pause > DELAYED_ACK:
            self._acknowledge(at, 1, rest)

    def _acknowledge(self, at: int, acks: int, segments: int) -> None:
        """The peer puts acknowledgements of so many segments each on the wire; those of one train of packets come together."""
        if acks:
            self._acks_coming += acks
            self._acked += acks * segments
            self._ends.link.release(self.acks, at, 0, 1, acks)

    def _request_dropped(self, _frames: int) -> None:
        """The peer asks again."""
        self._ask(self._ends.clock.now + RETRANSMIT_AFTER)

    def _acks_dropped(self, frames: int) -> None:
        """The next acknowledgement covers what these would have; when none is to come, the sender's timer brings it about."""
        self._acks_coming -= frames
        if not self._acks_coming:
            self._carry += self._acked
            self._acked = 0
            if self._lost + self._carry >= self._congestion.in_flight:
                self._await_time_out()


class _Turn(Stream):
    """A process's turn to send that no packet brought: the beginning of a stream, or the sender's timer."""

    __slots__ = ("_handle", "vcpu")

    def __init__(self, vcpu: Vcpu, handle: Callable[[int], int]) -> None:
        self.vcpu, self._handle = vcpu, handle
        self.size = 0

    def handle(self, _train: Train, start: int) -> int:
        """Send."""
        return self._handle(start)
