"""Datagrams from a guest at a steady pace: netperf UDP_STREAM with burst and interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.train import Train
from hostsim.model.net.networld import Outgoing
from hostsim.model.traffic.flow import Flow
from hostsim.spec.network import UDP_HEADERS

if TYPE_CHECKING:
    from hostsim.model.guest.process import Target
    from hostsim.model.guest.vcpu import Vcpu

__all__ = ["UdpSource"]


class _Datagram(Outgoing):
    """What the guest sends. Nothing comes back of it, or of its loss."""

    __slots__ = ()
    headers = UDP_HEADERS

    def __init__(self, totals: Flow) -> None:
        self.totals, self.size = totals, totals.size

    def sent(self, train: Train, first: int, step: int, frame_ps: int) -> None:
        """They are through the wire."""

    def dropped(self, frames: int) -> None:
        """They found no room."""


class UdpSource:
    """A process that writes a burst of datagrams whenever its interval timer wakes it. What is due while it works merges into one.

    Args:
        clock: the host's.
        totals: the flow of its datagrams.
        vcpu: where it runs.
        queue: what it writes to.
        interval: picoseconds between two bursts.
        burst: datagrams in each.
        write_ps: what the process takes for a datagram, stack and copy apart.
    """

    __slots__ = ("_burst", "_data", "_due", "_interval", "_queue", "_timer", "_vcpu", "_write_ps")

    def __init__(
        self, clock: Clock, totals: Flow, vcpu: Vcpu, queue: Target, interval: int, burst: int, write_ps: int
    ) -> None:
        self._vcpu, self._queue = vcpu, queue
        self._interval, self._burst, self._write_ps = interval, burst, write_ps
        self._data = _Datagram(totals)
        self._due = 0
        self._timer = Timer(clock, self._fire)

    def begin(self, at: int) -> None:
        """The first burst is due at an instant."""
        self._due = at
        self._timer.arm(at)

    def _fire(self, now: int) -> None:
        vcpu = self._vcpu
        if not vcpu.halted:  # the timer interrupts what it does
            vcpu.owed += vcpu.timing.virtual_interrupt
        vcpu.start(self, now)

    def run(self, start: int) -> int:
        """Write a burst from ``start`` on; returns when it is done."""
        vcpu = self._vcpu
        timing = vcpu.timing
        work = timing.guest_tx_packet + self._write_ps + timing.guest_copy(self._data.size)
        begin = start + timing.guest_process_wake
        vcpu.post(self._queue, Train(self._data, self._burst, begin + work, work, begin, 0))
        end = begin + self._burst * work
        late = (end - self._due) // self._interval
        self._due += max(1, late) * self._interval
        self._timer.arm(max(self._due, start))
        return end
