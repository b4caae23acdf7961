"""Transmit completions of a vNIC: packets in the NIC, and reports of sent ones to the guest.

A packet that the VMkernel copied is completed at once. A mapped packet is read by the NIC from the guest's memory, so
that its descriptor is in use until the NIC has sent it, its driver has freed its own descriptor
(`hostsim.model.receive.context`), and a transmit context has written the completion. Usually that is the sending
context when it runs next (``Net.NetDeferTxCompletion``); it is woken for this when the guest has no descriptor left or
the completion is overdue (``Net.MaxTxCompDelay``).

A guest frees completed packets in its next poll of the vNIC, and has their descriptors back only then: the number of
such packets is limited by the ring. It is interrupted if its driver requests that: for every completion, or once it has
stopped its queue at a full ring.
"""

from __future__ import annotations

from collections.abc import Callable

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.model.contract import UNBOUNDED, Completions, GuestRing, GuestStream

__all__ = ["CompletionRule", "TxCompletions"]


class CompletionRule:
    """The rule of a vNIC's transmit completions.

    Attributes:
        descriptors: number of descriptors of its transmit ring.
        copied: largest packet that the VMkernel copies, in bytes.
        all_interrupt: True if its driver requests an interrupt for every completion; else only after it has stopped its
            queue.
        deferred: True if the sending context writes completions; else the receive context in which the NIC's driver
            frees descriptors.
        delay: longest wait of a completion, in picoseconds.
        packet_ps: time of a VMkernel context for a completion, in picoseconds.
    """

    def __init__(
        self,
        *,
        descriptors: int = UNBOUNDED,
        copied: int = 0,
        all_interrupt: bool = False,
        deferred: bool = True,
        delay: int = UNBOUNDED,
        packet_ps: int = 0,
    ) -> None:
        self.descriptors, self.copied, self.all_interrupt = descriptors, copied, all_interrupt
        self.deferred, self.delay, self.packet_ps = deferred, delay, packet_ps


class TxCompletions(Completions):
    """Transmit completions of a transmit queue of a vNIC.

    Attributes:
        rule: the rule of the vNIC.
        in_flight: number of mapped packets taken from the ring and not completed; each keeps its descriptor.
        unclaimed: number of completed packets that the guest has not freed; each keeps its descriptor, too.
        sent: number of packets in flight that the NIC has sent and its driver has freed.
        completed: number of packets completed so far.
    """

    def __init__(self, clock: Clock, ring: Ring[GuestStream], rule: CompletionRule, vnic: GuestRing | None) -> None:
        """Create the completions of a queue.

        Args:
            clock: clock of the host.
            ring: ring of the queue.
            rule: rule of the vNIC.
            vnic: receive queue that shares the interrupt; None without one.
        """
        self.rule, self._ring, self._vnic = rule, ring, vnic
        self.in_flight = self.unclaimed = self.sent = self.completed = 0
        self._written = self._since = self._written_at = self._freed = self._freed_at = 0
        self._stopped = False
        self._timer = Timer(clock, self._overdue)
        self._wake: Callable[[int], None] | None = None
        self._restart: Callable[[int], None] | None = None
        if vnic is not None:
            vnic.completions = self

    def wakes(self, wake: Callable[[int], None], restart: Callable[[int], None]) -> None:
        """Set callbacks: ``wake`` wakes the transmit context, ``restart`` gets the time of new descriptors."""
        self._wake, self._restart = wake, restart

    @property
    def is_blocked(self) -> bool:
        """True if no descriptor is left: the next packet must wait for a completion."""
        return self.in_flight + self.unclaimed >= self.rule.descriptors

    def room(self) -> int:
        """Return the number of packets that may be taken from the ring."""
        return self.rule.descriptors - self.in_flight - self.unclaimed

    def reclaimed(self, count: int, at: int) -> None:
        self._freed += count
        self._freed_at = at
        if self._stopped or self.is_blocked:
            self._stopped = False
            if self._restart is not None:
                self._restart(at)

    def settle(self, now: int) -> None:
        """Make the descriptors available that the guest has freed by ``now``."""
        if self._freed and self._freed_at <= now:
            count, self._freed = self._freed, 0
            self._ring.settle(self._freed_at)  # earlier packets were admitted with the old capacity
            self._ring.capacity += count
            self.unclaimed -= count

    def opens(self, first: int) -> int | None:
        """Return the time to check a full ring again for a packet ready at ``first``; None if not needed.

        It is the time at which the guest frees descriptors, or at which its driver stops the queue.
        """
        if self._freed:
            return self._freed_at
        return first if self.unclaimed and not self._stopped else None

    def stop(self, now: int) -> None:
        """Stop the queue if the driver finds no descriptor for a packet.

        The driver is then interrupted for completions.
        """
        self.look(now)
        if self._stopped and self._vnic is not None and self._vnic.reclaimable:
            self._vnic.ask(now)

    def look(self, now: int) -> None:
        """Record whether the driver has stopped its queue: more packets wait than descriptors are free."""
        self.settle(now)
        ring, most = self._ring, self.room()
        if not self._stopped and ring.pushed - ring.taken - ring.dropped > most:
            ring.settle(now)
            self._stopped = ring.held > most

    def took(self, count: int, *, copied: bool) -> None:
        """Record packets taken from the ring.

        Copied packets are completed with the batch; mapped packets keep their descriptors.
        """
        if copied:
            self.completed += count
            self._written += count
            if self._vnic is None:
                return
            self.unclaimed += count
        else:
            self.in_flight += count
        self._ring.capacity -= count

    def freed(self, count: int, now: int) -> int:
        """Record packets that the NIC's driver has freed; returns the time for their completions.

        The time is that of the receive context; 0 if completions are deferred.
        """
        self.sent += count
        return 0 if self.rule.deferred else self.complete(now)

    def complete(self, now: int) -> int:
        """Write the completions of sent packets; returns the time. The guest sees them when they are reported."""
        count, self.sent = self.sent, 0
        self.look(now)
        self.in_flight -= count
        if self._vnic is None:
            self._ring.settle(now)  # earlier packets were admitted with the old capacity
            self._ring.capacity += count
        else:
            self.unclaimed += count
        self.completed += count
        self._written += count
        self._written_at = now
        return count * self.rule.packet_ps

    def needs_context(self) -> bool:
        """True if completions must not wait, as the guest has no descriptor left."""
        return self.sent > 0 and (self._stopped or self.is_blocked)

    def report(self, now: int) -> None:
        """Report the completions written by now, which the guest finds in its next poll.

        It is interrupted if its driver requests that.
        """
        count, self._written, vnic = self._written, 0, self._vnic
        if vnic is None:
            self._stopped = self._stopped and not count
            return
        if not count and not (self._stopped and vnic.reclaimable):
            return
        self.look(now)
        interrupts = self._stopped or self.rule.all_interrupt
        vnic.reclaimable += count
        if interrupts or vnic.poller is not None:
            vnic.ask(now)
        else:
            self.expire(now)

    def expire(self, now: int) -> None:
        """Bound the wait of completions that no guest waits for."""
        if self._timer.due is None and self.rule.delay < UNBOUNDED:
            self._since = now
            self._timer.arm(now + self.rule.delay)

    def _overdue(self, now: int) -> None:
        oldest = UNBOUNDED
        if self.sent:
            oldest = max(self._since, self._written_at)
        if self._vnic is not None and self._vnic.reclaimable:
            oldest = min(oldest, max(self._since, self._vnic.polled))
        if oldest == UNBOUNDED:
            return
        if oldest + self.rule.delay > now:
            self._since = oldest
            self._timer.arm(oldest + self.rule.delay)
        elif self.sent:
            self._stopped = True  # counts as stopped, as the guest has waited for the longest time
            if self._wake is not None:
                self._wake(now)
        elif self._vnic is not None:
            self._vnic.ask(now)
