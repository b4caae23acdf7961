"""Interrupt coalescing of a vNIC, interrupt moderation of a physical NIC, transmit coalescing: times and numbers of packets at which somebody is interrupted or woken.

Schemes decide; vNICs, receive queues and transmit queues hold one each, arm the timers and raise the interrupts. All times are in picoseconds.
"""

from __future__ import annotations

from typing import Final

from hostsim.compiled import mypyc_attr
from hostsim.units import MS, SECOND

__all__ = [
    "NEVER",
    "RATE_WINDOW",
    "CoalescedCompletions",
    "CoalescingScheme",
    "Moderation",
    "RateBasedCoalescing",
    "RateBoundCalls",
    "StaticCoalescing",
    "TxCoalescing",
]

RATE_WINDOW: Final = 4 * MS
"""Time over which rate-based coalescing of a vNIC takes rates: the default timeout (facts 1.2 gives its low rates in packets a timeout)."""
NEVER: Final = 1 << 30
"""A depth that no ring reaches."""


@mypyc_attr(allow_interpreted_subclasses=True)  # schemes of a user's own
class CoalescingScheme:
    """Interrupt coalescing scheme of a vNIC's receive queue: how long it holds an interrupt back. This base does not hold any back.

    Each receive queue has an object of its own. Once a packet waits, the queue interrupts its guest at the time `due`, or when a further packet makes
    `depth` packets wait, or when the guest halts if the wait `is_ended_by_halt`: whichever comes first. While an interrupt is pending or
    the guest polls, nothing is decided.
    """

    def due(self, first: int) -> int:
        """Return the time of the interrupt for packets of which the oldest is ready at ``first``, past or future; before ``first`` means at ``first``."""
        return first

    def depth(self) -> int | None:
        """Return the number of waiting packets, at least 1, that ends the wait; None where no number does."""
        return None

    def is_ended_by_halt(self) -> bool:
        """True where a guest that has halted, or is about to, is interrupted at once."""
        return False

    def raised(self, now: int, taken: int) -> None:
        """Record that the vNIC interrupts at ``now``; the guest has taken ``taken`` packets off the ring so far."""


class StaticCoalescing(CoalescingScheme):
    """Static coalescing: an interrupt at a number of packets or after a timeout, unless the guest has halted."""

    def __init__(self, depth: int, timeout: int) -> None:
        self._depth, self._timeout = depth, timeout

    def due(self, first: int) -> int:
        return first + self._timeout

    def depth(self) -> int | None:
        return self._depth

    def is_ended_by_halt(self) -> bool:
        return True


class RateBasedCoalescing(CoalescingScheme):
    """Rate-based coalescing: `RATE_WINDOW` allows one interrupt for each interval in it (docs/decisions/0041).

    A vNIC that was quiet may interrupt several times in a row; one that always has something to announce interrupts once an interval.
    """

    def __init__(self, rate: int) -> None:
        """Make a scheme of at most ``rate`` interrupts a second."""
        self._interval = SECOND // rate
        self._theoretical = 0
        """Theoretical arrival time of the generic cell rate algorithm (ITU-T I.371): the time up to which interrupts have used the intervals up."""

    def due(self, first: int) -> int:
        soonest = self._theoretical - (RATE_WINDOW - self._interval)
        return soonest if soonest > first else first

    def raised(self, now: int, taken: int) -> None:
        theoretical = self._theoretical
        self._theoretical = (theoretical if theoretical > now else now) + self._interval


class Moderation:
    """Interrupt moderation of a physical NIC: two interrupts of a vector are at least an interval apart, frames and transmit completions alike."""

    def __init__(self, interval: int) -> None:
        self._interval = interval

    def due(self, first: int, last: int | None) -> int:
        """Return the time of the next interrupt for a frame ready at ``first``; ``last`` is the time of the previous one, None before the first."""
        if last is None:
            return first
        paced_to = last + self._interval
        return (
            paced_to if paced_to > first else first
        )  # max() takes twice as long, and this is asked for every interrupt


class CoalescedCompletions(Moderation):
    """Interrupt moderation of transmit completions that have a timer of their own: it starts with the first of them."""

    def due(self, first: int, last: int | None) -> int:
        return first + self._interval


class TxCoalescing:
    """Transmit coalescing of a vNIC's transmit queue: when packets that wait wake its sleeping context. In this base the guest never calls for it.

    It serves an e1000, whose packets the VMkernel finds when it polls, and dense mode, in which a context is left asleep for longer.

    Attributes:
        timeout: longest wait of a packet.
        depth: waiting packets at which the guest calls; `NEVER` where it does not.
        in_passing: a receive context that serves the same vNIC wakes it.
    """

    def __init__(self, timeout: int, *, in_passing: bool = True) -> None:
        self.timeout, self.in_passing = timeout, in_passing
        self.depth = NEVER

    def posted(self, count: int, ready: int) -> None:
        """Record that the guest posts packets, the first at ``ready``."""

    def cancelled(self, count: int) -> None:
        """Record that a preempted guest takes packets back."""

    def restart(self) -> None:
        """Begin anew, after another scheme was in force."""


class RateBoundCalls(TxCoalescing):
    """Transmit coalescing of a vmxnet3: a guest calls so rarely that it makes at most so many calls a second.

    The number of packets that wait before it calls is adapted to the rate at which it sends: as many as it sends in the least time between two calls.
    """

    def __init__(self, timeout: int, depth_cap: int, call_rate: int) -> None:
        """Make a scheme of at most ``call_rate`` calls a second and ``depth_cap`` packets a call."""
        super().__init__(timeout)
        self.depth = 1
        self._depth_cap, self._call_rate = depth_cap, call_rate
        self._since = self._count = 0

    def posted(self, count: int, ready: int) -> None:
        self._count += count
        passed = ready - self._since
        if passed >= RATE_WINDOW:
            in_window = self._count * SECOND // (passed * self._call_rate)
            self.depth = max(1, min(self._depth_cap, in_window))
            self._since, self._count = ready, 0

    def cancelled(self, count: int) -> None:
        self._count -= count

    def restart(self) -> None:
        self.depth = 1
