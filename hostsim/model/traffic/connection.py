"""A TCP connection between a process of a guest and a peer outside the host: what both directions have in common.

What the peer does takes no event: when the host has sent something, the peer's answer is worked out at once and released on
its link for the instant at which it comes. Losses are repaired as with selective acknowledgements: what was dropped is sent
again, what came behind it is kept. Everything is counted in full segments; the last one of a file counts as full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.train import Train
from hostsim.model.net.link import Link
from hostsim.model.net.networld import Outgoing
from hostsim.model.traffic.congestion import Congestion
from hostsim.model.traffic.flow import Flow, Sender
from hostsim.spec.network import TCP_HEADERS
from hostsim.units import MS

if TYPE_CHECKING:
    from hostsim.model.guest.process import Target
    from hostsim.model.guest.vcpu import Vcpu

__all__ = ["ENDLESS", "RETRANSMIT_AFTER", "Answer", "Application", "Connection", "Ends", "Frames", "Think"]

Think = Callable[[], int]
"""Draws the time that a user takes for the next request, in picoseconds."""
ENDLESS: Final = 1 << 60
"""Segments of a stream that never ends."""
RETRANSMIT_AFTER: Final = 200 * MS
"""Least time after which a sender that hears nothing sends again (Linux ``TCP_RTO_MIN``)."""


@dataclass(frozen=True)
class Application:
    """What runs at the guest's end, costs in picoseconds, and how the guest's TCP behaves."""

    per_packet: int
    """Data of one packet taken from a socket."""
    per_write: int
    """One write to a socket."""
    per_request: int
    """One request served."""
    write_copies: bool
    """Data sent is copied from the process; not so where files are sent."""
    ack_every: int
    """Packets seen from one acknowledgement to the next."""
    tso_divisor: int
    """A packet for TSO is at most the window over this."""


class Ends:
    """What a connection lies between.

    Attributes:
        clock: the host's.
        totals: counts its frames.
        link: from the peer.
        queue: to the peer.
        vcpu: where the guest's process runs.
        application: what runs there.
        delay: picoseconds from the end of a frame on the wire to the peer's answer.
    """

    __slots__ = ("application", "clock", "delay", "link", "queue", "totals", "vcpu")

    def __init__(
        self,
        clock: Clock,
        totals: Flow,
        link: Link,
        queue: Target,
        vcpu: Vcpu,
        application: Application,
        delay: int,
    ) -> None:
        self.clock, self.totals, self.link, self.queue = clock, totals, link, queue
        self.vcpu, self.application, self.delay = vcpu, application, delay


class Frames(Sender):
    """Frames of the peer that a process of the guest handles.

    Args:
        ends: of the connection.
        size: bytes of data in each.
        frame_ps: time of each on the wire.
        handle: what the process does with packets of them from an instant on, told whether another NUMA node put them there; returns when it is done.
        dropped: told of frames that were dropped on the host.
        burst: frames that the peer puts on the wire in one go.
        joins: large receive offload may join them.
    """

    __slots__ = ("_dropped", "_handle")
    headers = TCP_HEADERS

    def __init__(
        self,
        ends: Ends,
        size: int,
        frame_ps: int,
        handle: Callable[[Train, int, bool], int],
        dropped: Callable[[int], None],
        *,
        burst: int = 1,
        joins: bool = False,
    ) -> None:
        super().__init__(ends.totals, size, frame_ps, burst, joins=joins)
        self.vcpu, self._handle, self._dropped = ends.vcpu, handle, dropped

    def handle(self, train: Train, start: int) -> int:
        """Do what the packets ask for from ``start`` on; returns when it is done."""
        assert self.vnic is not None
        return self._handle(train, start, self.vnic.is_far)

    def dropped(self, frames: int) -> None:
        """Frames were dropped on the host."""
        self._dropped(frames)


class Answer(Outgoing):
    """What the guest sends of one kind: acknowledgements, answers, data.

    Args:
        totals: counts the data that is through the wire.
        size: bytes of data in each frame.
        sent: told of packets that are through the wire: the train, when the first was, picoseconds to each further one, and time of a frame.
        dropped: told of frames that found no room.
    """

    __slots__ = ("_dropped", "_sent")
    headers = TCP_HEADERS
    """Bytes of its headers from IP on."""

    def __init__(
        self, totals: Flow, size: int, sent: Callable[[Train, int, int, int], None], dropped: Callable[[int], None]
    ) -> None:
        self.totals, self.size, self._sent, self._dropped = totals, size, sent, dropped

    def sent(self, train: Train, first: int, step: int, frame_ps: int) -> None:
        """Packets are through the wire."""
        self._sent(train, first, step, frame_ps)

    def dropped(self, frames: int) -> None:
        """Frames found no room."""
        self._dropped(frames)


class Connection:
    """What both directions have in common: the sender's window, and how a loss is noticed.

    Args:
        ends: what it lies between.
        congestion: window of the side that sends data.
        file: segments of each transfer, or `ENDLESS`.
    """

    __slots__ = ("_congestion", "_ends", "_file", "_lost", "_remaining", "_timer")

    def __init__(self, ends: Ends, congestion: Congestion, file: int) -> None:
        self._ends, self._congestion, self._file = ends, congestion, file
        self._remaining = self._lost = 0
        self._timer: Timer | None = None

    def _lose(self, frames: int) -> None:
        """Data was dropped; its sender learns of it by duplicate acknowledgements, or by its timer when none come."""
        self._lost += frames
        self._await_time_out()

    def _await_time_out(self) -> None:
        clock = self._ends.clock
        if self._timer is None:
            self._timer = Timer(clock, self._time_out)
        self._timer.arm(clock.now + RETRANSMIT_AFTER)

    def _repair(self) -> None:
        """Acknowledgements that came since tell of the loss."""
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
        """Segments that the other end has and that nothing on its way acknowledges; what is sent again brings that about."""
        raise NotImplementedError

    def _send_again(self, now: int) -> None:
        raise NotImplementedError
