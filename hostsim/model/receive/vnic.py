"""Virtual NICs, receive side: the ring, the refill of descriptors, and interrupt coalescing.

A vmxnet3 and an e1000 differ in their guests' drivers, and in register accesses, each of which is an exit for an e1000.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from hostsim.config.platform import Refill
from hostsim.engine.clock import Clock, OneShot
from hostsim.engine.ring import Train
from hostsim.model.contract import DeliveryLock, GuestRing, InterruptTarget, NicQueue, RingDriver, Sender
from hostsim.model.policy.aggregation import Aggregation
from hostsim.model.policy.moderation import CoalescingScheme

__all__ = ["Vnic", "VnicLock"]


class _Line(Enum):
    """State of a vNIC's interrupt line."""

    QUIET = "quiet"
    """No packet waits."""
    HELD = "held"
    """Held back by coalescing; the timer is armed."""
    RAISED = "raised"
    """Raised and not yet taken by the guest."""
    MASKED = "masked"
    """The guest polls."""


_QUIET: Final = _Line.QUIET
_HELD: Final = _Line.HELD
_RAISED: Final = _Line.RAISED
_MASKED: Final = _Line.MASKED


class VnicLock(DeliveryLock):
    """The spin lock of a vNIC to which receive contexts deliver one at a time.

    A context holds it from LRO until the descriptor is on the ring.

    The lock is computed train by train, without events, as a server: its work is the time for which contexts hold it. A
    context spins if the work ahead of it takes longer than its own path to the lock. Contexts that deliver
    simultaneously take turns, so that each frame finds the lock, with its protected lines, in the cache of another
    PCPU. A context that delivers later fetches them once, and a single context never does.

    Args:
        hand_over_ps: cost of fetching the lock from another cache, in picoseconds.
    """

    def __init__(self, hand_over_ps: int) -> None:
        self._hand_over_ps = hand_over_ps
        self._holder: NicQueue | None = None
        self._until = self._others_until = self._free = 0

    def enter(self, ring: NicQueue, start: int, at: int, count: int, outside: int, inside: int) -> int:
        turns = 0
        if ring is not self._holder:
            turns = int(self._holder is not None)
            self._holder = ring
            if self._until > self._others_until:
                self._others_until = self._until
        if self._others_until > at:
            turns = count
        handed = turns * self._hand_over_ps
        end = at + outside + inside + handed
        self._free = (self._free if self._free > start else start) + inside + handed
        self._until = self._free if self._free > end else end
        return self._until - end + handed


class Vnic(GuestRing):
    """A receive queue of a vNIC: a ring with interrupt coalescing.

    Attributes:
        size: number of descriptors of the ring, including those that the guest has not returned.
        lost: number of frames dropped at the full ring.
        listed: number of frames from other VMs of the host that wait on its receive list, or were dropped there.
        interrupt_ps: the guest's cost of register accesses for an interrupt, in picoseconds.
        doorbell_ps: the guest's cost of announcing refilled descriptors, in picoseconds.
    """

    def __init__(
        self,
        clock: Clock,
        name: str,
        capacity: int,
        scheme: CoalescingScheme,
        vcpu: InterruptTarget,
        *,
        lro: Aggregation | None = None,
        refill: Refill | None = None,
    ) -> None:
        super().__init__(name, capacity, vcpu, lro)
        self.ring.on_drop = self._dropped
        self.size = capacity
        self.lost = self.listed = self.interrupt_ps = self.doorbell_ps = 0
        self._requested_at: int | None = None
        self._refills, self._used_up = refill is not None, 0
        self._lot, self._refills_rest = (0, False) if refill is None else (refill.lot, refill.rest)
        self._refilled_at: int | None = None
        self._line = _QUIET
        self._unmasked_at = -1
        self._usual = self._scheme = scheme
        self._timer = _InterruptTimer(clock, self)

    def coalesce(self, scheme: CoalescingScheme | None, now: int) -> None:
        """Switch to another coalescing scheme, or to the usual one for None; also for a delayed interrupt."""
        self._scheme = self._usual if scheme is None else scheme
        if self._line is _HELD:
            self._timer.arm(max(now, self._due(self._first_held())))
            self._watch_depth(now)

    def receive(self, train: Train[Sender]) -> None:
        self.ring.push(train)
        self.frames += train.count * train.frames
        self._scheme.posted(train.count, train.ready)
        if train.ready <= self._unmasked_at and self._line is not _MASKED and self._line is not _RAISED:
            self._line = _HELD
            self.is_polled_on = True  # the driver finds it before it enables interrupts
            self._timer.arm(self._unmasked_at)
        elif self._line is _QUIET:
            self._line = _HELD
            self._timer.arm(self._due(train.ready))
        if self._line is _HELD:
            self._watch_depth(train.ready)
        elif self.poller is not None:
            self.poller.packets_come(train.ready)

    def room(self) -> int:
        """Return the number of packets for which descriptors are free, without packets on their way.

        Nothing is admitted, as the caller asks about the future.
        """
        ring = self.ring
        return max(0, ring.capacity - (ring.pushed - ring.taken - ring.dropped))

    def refuse(self, train: Train[Sender]) -> None:
        """Drop packets without free descriptors, before they are copied."""
        count = train.count
        self.unicast += count
        self.ring.pushed += count
        self.ring.dropped += count
        self.frames += count * train.frames
        self._dropped(train)

    def poll_by(self, poller: RingDriver | None) -> None:
        self.poller = poller
        self._line = _MASKED
        self._refills = False  # such a driver returns each descriptor at once (DPDK vmxnet3_recv_pkts)

    def ask(self, now: int) -> None:
        if self.poller is not None:
            self.poller.completions_come(now)
        if self._requested_at is None:
            self._requested_at = now
        if self._line is _QUIET:
            self._line = _HELD
            self._timer.arm(self._due(now))
        elif self._line is _HELD:
            self._timer.arm_by(self._due(now))

    def reclaim(self, now: int) -> int:
        """Free the packets completed by now, at the beginning of a poll; returns their number."""
        count, self.reclaimable = self.reclaimable, 0
        self.polled = now
        self._requested_at = None
        if count and self.completions is not None:
            self.completions.reclaimed(count, now)
        return count

    def _first(self) -> int | None:
        """Return the time from which the guest has a reason to poll, past or future; None without one."""
        first, requested = self.ring.first(), self._requested_at
        if requested is None or (first is not None and first <= requested):
            return first
        return requested

    def _first_held(self) -> int:
        first = self._first()
        assert first is not None  # an interrupt is delayed
        return first

    def _watch_depth(self, soonest: int) -> None:
        """Interrupt when the depth of the scheme is reached, but not before ``soonest``."""
        depth = self._scheme.depth()
        if depth is not None and (full := self.ring.nth(depth)) is not None:
            self._timer.arm_by(max(max(full, soonest), self._unmasked_at))  # noqa: PLW3301  with two arguments each, max() is compiled without a call

    def _dropped(self, train: Train[Sender]) -> None:
        frames = train.count * train.frames
        self.lost += frames
        sender = train.stream
        sender.totals.lost_ring += frames
        sender.dropped(frames)

    def _due(self, first: int) -> int:
        if first < self._unmasked_at:
            first = self._unmasked_at
        scheme = self._scheme
        if scheme.is_ended_by_halt() and self.vcpu.halted:
            return first
        due = scheme.due(first)
        return due if due > first else first

    def _raise(self, now: int) -> None:
        if self._line is not _HELD:
            return
        self._timer.disarm()
        if self.is_polled_on:
            self._line = _MASKED
            self.vcpu.interrupt(now, self)
            return
        self._line = _RAISED
        self.raised = now
        self._scheme.raised(now, self.ring.taken)
        self.vcpu.pending_ps += self.interrupt_ps
        self.vcpu.interrupt(now, self)

    def take(self, limit: int, now: int) -> list[Train[Sender]]:
        self._line = _MASKED
        taken = self.ring.take(limit, now)
        if self._refills:
            count = sum(train.count for train in taken)
            self._used_up += count
            self.ring.capacity -= count
        return taken

    def is_drained(self) -> bool:
        ring = self.ring
        return ring.pushed == ring.taken + ring.dropped

    def batch(self, budget: int) -> int:
        if not self._refills:
            return budget
        if self._refilled_at is not None:
            self.ring.settle(self._refilled_at)  # earlier packets were admitted with the old capacity
            self.ring.capacity += self._used_up
            self._used_up, self._refilled_at = 0, None
        return min(budget, self._lot - self._used_up)

    def handled(self, at: int, *, drained: bool) -> None:
        used = self._used_up
        if self._refills and (used >= self._lot or (drained and self._refills_rest and used)):
            self._refilled_at = at
            self.vcpu.pending_ps += self.doorbell_ps

    def unmask(self, at: int) -> None:
        """Unmask the interrupt at the end of the driver's last poll, which may be in the future."""
        self._unmasked_at = at
        first = self._first()
        if first is None:
            self._line = _QUIET
            return
        self._line = _HELD
        self._timer.arm(self._due(first))
        self._watch_depth(at)

    def announce(self, now: int) -> None:
        if self._line is _HELD:
            due = self._timer.due
            if (due is not None and due <= now) or (self._first_held() <= now and self._scheme.is_ended_by_halt()):
                self._raise(now)

    def guest_halts(self, now: int) -> None:
        if self._line is _HELD and self._scheme.is_ended_by_halt():
            self._timer.arm(max(now, self._first_held()))


class _InterruptTimer(OneShot):
    """The timer that ends the coalescing of an interrupt."""

    def __init__(self, clock: Clock, vnic: Vnic) -> None:
        super().__init__(clock)
        self._vnic = vnic

    def expire(self, now: int) -> None:
        self._vnic._raise(now)
