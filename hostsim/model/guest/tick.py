"""Timer ticks of a guest, and its housekeeping: a tickless kernel has no ticks while it idles, and merges those that it missed."""

from __future__ import annotations

from collections.abc import Callable

from hostsim.engine.clock import Clock, Timer
from hostsim.model.contract import UNBOUNDED
from hostsim.model.cost_table import CostTable
from hostsim.spec.guest import GuestSpec

__all__ = ["Ticks"]


class Ticks:
    """The timer ticks and the housekeeping of a guest on one vCPU.

    A periodic kernel's tick wakes it from a halt; one that finds the vCPU without a PCPU is taken later, each for itself, as a virtual
    timer makes up for them. A tickless kernel's ticks are counted over the time that it runs, and take no event.

    Args:
        clock: the host's.
        guest: its kernel.
        costs: cost table of the host.
        wake: called with the instant when something is due.

    Attributes:
        is_due: ticks or housekeeping wait to be taken.
    """

    def __init__(self, clock: Clock, guest: GuestSpec, costs: CostTable, wake: Callable[[int], None]) -> None:
        self._period, self._is_tickless, self._wake = guest.timer_period, guest.tickless, wake
        self._housekeeping_period = guest.housekeeping_period or 0
        self._tick_ps, self._housekeeping_ps = costs.guest_timer_tick, costs.guest_housekeeping
        self._timer, self._housekeeping_timer = Timer(clock, self._tick), Timer(clock, self._housekeep)
        self._ticks = self._phase = 0
        self._is_to_keep_house = self.is_due = False

    def start(self, phase: int) -> None:
        """Start both at a phase."""
        if self._period:
            self._phase = phase % self._period
            if not self._is_tickless:
                self._timer.arm(self._phase)
        if self._housekeeping_period:
            self._housekeeping_timer.arm(phase % self._housekeeping_period)

    def take(self) -> int:
        """Take what is due; returns its cost in picoseconds."""
        cost = self._ticks * self._tick_ps
        if self._is_to_keep_house:
            cost += self._housekeeping_ps
        self._ticks = 0
        self._is_to_keep_house = self.is_due = False
        return cost

    def until(self, now: int) -> int:
        """Return the time from ``now`` to the next tick of a guest that runs."""
        period = self._period
        return period - (now - self._phase) % period if period else UNBOUNDED

    def passed(self, since: int, now: int) -> int:
        """Return the cost of the ticks of a tickless guest that has run for this time."""
        if not self._is_tickless or since > now:  # a burst that is cut before it begins has run for no time
            return 0
        phase, period = self._phase, self._period
        return ((now - phase) // period - (since - phase) // period) * self._tick_ps

    def _tick(self, now: int) -> None:
        self._timer.arm(now + self._period)
        self._ticks += 1
        self.is_due = True
        self._wake(now)

    def _housekeep(self, now: int) -> None:
        self._housekeeping_timer.arm(now + self._housekeeping_period)
        self._is_to_keep_house = self.is_due = True
        self._wake(now)
