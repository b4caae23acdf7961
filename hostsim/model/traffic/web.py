"""Pages fetched from a web server in a guest: requests that come whether or not those before them are answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.train import Train
from hostsim.model.traffic.congestion import Congestion
from hostsim.model.traffic.connection import RETRANSMIT_AFTER, Answer, Ends
from hostsim.model.traffic.flow import Flow
from hostsim.model.traffic.sending import Sending
from hostsim.units import SECOND

__all__ = ["Page", "Visit", "Visitors"]

OPEN_AGAIN_AFTER: Final = 3 * SECOND
"""Time after which a client that hears nothing of a new connection tries again (RFC 1122)."""


@dataclass(frozen=True)
class Page:
    """What a request fetches, and what serving it takes."""

    objects: int
    """Objects, fetched one after the other."""
    writes: list[tuple[int, int]]
    """For each write of an object: picoseconds of the server's work before it, and segments that are full with it."""
    after: int
    """Picoseconds of the server's work behind the last write of an object: its log, and what it does until it waits again."""

    @classmethod
    def of(cls, objects: int, size: int, write_size: int, segment: int, object_ps: int) -> Page:
        """A page of objects of ``size`` bytes, written ``write_size`` bytes at a time; as much of the work for each, ``object_ps``, lies behind the last write as before every one."""
        count = -(-size // write_size)
        ends = [place * write_size // segment for place in range(count)] + [-(-size // segment)]
        share = object_ps // (count + 1)
        return cls(objects, [(share, ends[i + 1] - ends[i]) for i in range(count)], object_ps - count * share)

    @property
    def segments(self) -> int:
        """Segments of an object."""
        return sum(segments for _, segments in self.writes)


class Visit(Sending):
    """A connection that fetches a page. It is opened, and each object is asked for when the one before it is there."""

    __slots__ = ("_accept", "_left", "_left_to_open", "_page", "_rest")

    def __init__(
        self,
        ends: Ends,
        congestion: Congestion,
        page: Page,
        rest: Callable[[Visit], None],
        *,
        size: int,
        small_ps: int,
        acks_every: int,
    ) -> None:
        """A connection that nobody uses.

        Args:
            ends: what it lies between.
            congestion: the guest's window.
            page: what is fetched.
            rest: told when it may serve another visit.
            size: bytes of data in a segment.
            small_ps: time on the wire of a frame without data.
            acks_every: segments that the client takes from one acknowledgement to the next.
        """
        super().__init__(
            ends, congestion, page.segments, size=size, small_ps=small_ps, full=True, acks_every=acks_every
        )
        self._page, self._rest = page, rest
        self._accept = Answer(ends.totals, 0, self._accepted, self._accept_dropped)
        self._left, self._left_to_open = 0, False

    def begin(self, at: int) -> None:
        """A client wants the page."""
        self._congestion = self._congestion.anew()
        self._left, self._left_to_open = self._page.objects, True
        self._want(at)

    # --- the guest's side

    def _request(self, train: Train, start: int, far: bool) -> int:
        if not self._left_to_open:
            return super()._request(train, start, far)
        self._left_to_open = False
        vcpu = self._ends.vcpu
        end = start + vcpu.timing.guest_ack
        vcpu.count_read(train, start, end)
        vcpu.post(self._ends.queue, Train(self._accept, 1, end, 0, end, 0))
        return end

    def _transfer(self, start: int) -> int:
        end = start
        for work, segments in self._page.writes:
            self._remaining += segments
            end = self._send(end + work)
        return end + self._page.after

    def _ack(self, train: Train, start: int, far: bool) -> int:
        end = super()._ack(train, start, far)
        self._close()
        return end

    # --- the peer's side

    def _accepted(self, _train: Train, first: int, _step: int, _frame_ps: int) -> None:
        self._ask(first + self._ends.delay)

    def _accept_dropped(self, _frames: int) -> None:
        self._left_to_open = True
        self._ask(self._ends.clock.now + OPEN_AGAIN_AFTER)

    def _request_dropped(self, _frames: int) -> None:
        self._ask(self._ends.clock.now + (OPEN_AGAIN_AFTER if self._left_to_open else RETRANSMIT_AFTER))

    def _file_there(self, at: int, frames: int) -> None:
        self._left -= 1
        if self._left:
            self._acknowledge_file(at, frames, 0)
            self._ask(at)
            return
        self._ends.totals.answer(at - self._asked)
        acks, rest = divmod(self._carry + frames, self._acks_every)
        self._acknowledge(at, acks, self._acks_every)
        if rest:
            self._acknowledge(at, 1, rest)

    def _acks_dropped(self, frames: int) -> None:
        super()._acks_dropped(frames)
        self._close()

    def _close(self) -> None:
        """The page is there and all of it acknowledged: the connection is closed."""
        if not self._left and not self._acks_coming:
            if self._timer is not None:
                self._timer.disarm()
            self._lost = self._remaining = 0
            self._rest(self)


class Visitors:
    """Requests for pages that come at one VM.

    Args:
        clock: the host's.
        flow: counts them, together with those to other VMs of the same traffic.
        arrivals: when they come.
        connect: makes a further connection; told whom to tell when it is free again.
    """

    __slots__ = ("_arrivals", "_connect", "_flow", "_idle", "_timer")

    def __init__(
        self, clock: Clock, flow: Flow, arrivals: Arrivals, connect: Callable[[Callable[[Visit], None]], Visit]
    ) -> None:
        self._flow, self._arrivals, self._connect = flow, arrivals, connect
        self._idle: list[Visit] = []
        self._timer = Timer(clock, self._come)
        self._await()

    def _await(self) -> None:
        due = self._arrivals.upcoming()
        if due is not None:
            self._timer.arm(due)

    def _come(self, now: int) -> None:
        for train in self._arrivals.collect(now, self._flow):
            for _ in range(train.count):
                visit = self._idle.pop() if self._idle else self._connect(self._idle.append)
                visit.begin(now)
        self._await()
