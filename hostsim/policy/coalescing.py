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
    "CoalescingDepth",
    "CoalescingScheme",
    "InterruptThrottling",
    "Moderation",
    "RateBasedCoalescing",
    "RateBoundCalls",
    "StaticCoalescing",
    "TxCoalescing",
]

RATE_WINDOW: Final = 4 * MS
"""Time over which rate-based coalescing takes rates where nothing is said: the default timeout."""
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

    def posted(self, count: int, ready: int) -> None:
        """Record that packets are put into the ring, the first at ``ready``, which may lie ahead."""

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


class CoalescingDepth:
    """Coalescing depth: the number of packets for one interrupt or call, which rises with the packet rate so that their rate stays at a ceiling.

    The interrupt rate is the packet rate over the depth (facts 1.2). Packets are counted over a window and the depth holds for the next one.

    Attributes:
        depth: packets that wait for one interrupt or call; 1 below the low rate.
    """

    def __init__(
        self, ceiling: int, cap: int, low: int = 0, timeout: int = RATE_WINDOW, window: int = RATE_WINDOW
    ) -> None:
        """Make a law.

        Args:
            ceiling: interrupts or calls a second, at most.
            cap: greatest depth.
            low: packets in a timeout below which nothing is coalesced.
            timeout: the time that ``low`` counts in.
            window: least time over which a rate is taken.
        """
        self.depth = 1
        self._ceiling, self._cap, self._low, self._timeout, self._window = ceiling, cap, low, timeout, window
        self._since = self._count = 0

    def count(self, packets: int, at: int) -> None:
        """Count packets, the first at an instant; at the end of a window the depth follows."""
        counted = self._count = self._count + packets
        passed = at - self._since
        if passed >= self._window:
            self._since, self._count = at, 0
            if counted * self._timeout < self._low * passed:
                self.depth = 1
                return
            depth = -(-counted * SECOND // (passed * self._ceiling))
            self.depth = max(1, min(self._cap, depth))

    def cancel(self, packets: int) -> None:
        """Take packets back that were counted."""
        self._count -= packets


class RateBasedCoalescing(CoalescingScheme):
    """Rate-based coalescing: an interrupt for as many packets as come in an interval of the ceiling, or after a bounded wait.

    A vNIC that receives fewer packets than the ceiling has interrupts interrupts for each.
    """

    def __init__(self, law: CoalescingDepth, wait: int) -> None:
        """Make a scheme with its depth; no packet waits longer than ``wait``."""
        self._law, self._wait = law, wait

    def posted(self, count: int, ready: int) -> None:
        self._law.count(count, ready)

    def due(self, first: int) -> int:
        law = self._law
        return first + self._wait if law.depth > 1 else first

    def depth(self) -> int | None:
        law = self._law
        return law.depth if law.depth > 1 else None


class InterruptThrottling(CoalescingScheme):
    """Interrupt throttling of an emulated e1000: two interrupts are at least an interval apart, which its driver writes to a register (ITR)."""

    def __init__(self, rate: int) -> None:
        """Make a scheme of at most ``rate`` interrupts a second."""
        self._interval = SECOND // rate
        self._next = 0

    def due(self, first: int) -> int:
        return self._next if self._next > first else first

    def raised(self, now: int, taken: int) -> None:
        self._next = now + self._interval


class Moderation:
    """Interrupt moderation of a physical NIC: two interrupts of a vector are at least an interval apart, frames and transmit completions alike.

    Attributes:
        adapts: the interval follows the traffic.
    """

    def __init__(self, interval: int, *, adapts: bool = False) -> None:
        self._interval, self.adapts = interval, adapts

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        """Record an interrupt, with the frames and bytes received and sent since the one before; one that adapts sets its interval."""

    def for_completions(self) -> Moderation:
        """Return the moderation of transmit completions on the same vector: this one, where a driver has one interval for both."""
        return self

    def set_interval(self, interval: int) -> None:
        """Set the interval."""
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

    The number of packets that wait before it calls is adapted to the rate at which it sends, by the law of receive coalescing.
    """

    def __init__(self, timeout: int, law: CoalescingDepth) -> None:
        """Make a scheme with its depth; no packet waits longer than ``timeout``."""
        super().__init__(timeout)
        self.depth = 1
        self._law = law

    def posted(self, count: int, ready: int) -> None:
        law = self._law
        law.count(count, ready)
        self.depth = law.depth

    def cancelled(self, count: int) -> None:
        self._law.cancel(count)

    def restart(self) -> None:
        self.depth = self._law.depth = 1
