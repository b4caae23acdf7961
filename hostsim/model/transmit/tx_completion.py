"""Transmit completions of a vNIC: what the NIC still has of a transmit queue, and when the guest learns that it is sent.

A packet that the VMkernel copied is completed at once. Of one that it mapped the NIC reads the guest's memory, so that its descriptor is
in use until the NIC has sent it, its driver has freed its own descriptor (`hostsim.model.receive.context`), and a transmit context has
written the completion: as a rule the one that sends, when it runs next (``Net.NetDeferTxCompletion``), or is woken for it, when the guest
has no descriptor left or the completion is overdue (``Net.MaxTxCompDelay``).

A guest frees what is completed in its next poll of the vNIC, and has the descriptors back only then: what waits for that is bounded by the
ring. It is interrupted for it if its driver asks for that: for every completion, or once it has stopped its queue because the ring was full.
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
        descriptors: of its transmit ring.
        copied: bytes of a packet up to which the VMkernel copies it.
        all_interrupt: its driver asks for an interrupt for every completion; else only once it has stopped its queue.
        deferred: the context that sends writes completions; else the receive context does in which the NIC's driver frees descriptors.
        delay: longest wait of a completion, in picoseconds.
        packet_ps: time of a context of the VMkernel for a completion.
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
    """Transmit completions of one transmit queue of a vNIC.

    Attributes:
        rule: the rule of the vNIC.
        in_flight: mapped packets that are taken from the ring and not completed; each keeps its descriptor.
        unclaimed: completed packets that the guest has not freed; each keeps its descriptor, too.
        sent: of these, those that the NIC has sent and its driver has freed.
        completed: packets completed so far.
    """

    def __init__(self, clock: Clock, ring: Ring[GuestStream], rule: CompletionRule, vnic: GuestRing | None) -> None:
        """Make the completions of a queue.

        Args:
            clock: the host's.
            ring: of the queue.
            rule: of the vNIC.
            vnic: the receive queue that shares the interrupt; None where nobody looks.
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
        """Have the transmit context woken by a call of ``wake``; ``restart`` is called with the instant at which there are descriptors again."""
        self._wake, self._restart = wake, restart

    @property
    def is_blocked(self) -> bool:
        """True when no descriptor is left: nothing more can be sent before a completion."""
        return self.in_flight + self.unclaimed >= self.rule.descriptors

    def room(self) -> int:
        """Return the number of packets that may be taken from the ring, those in front of it left out."""
        return self.rule.descriptors - self.in_flight - self.unclaimed

    def reclaimed(self, count: int, at: int) -> None:
        self._freed += count
        self._freed_at = at
        if self._stopped or self.is_blocked:
            self._stopped = False
            if self._restart is not None:
                self._restart(at)

    def settle(self, now: int) -> None:
        """Let the guest have the descriptors of what it has freed by ``now``."""
        if self._freed and self._freed_at <= now:
            count, self._freed = self._freed, 0
            self._ring.settle(self._freed_at)  # what came by then has found the ring as it was
            self._ring.capacity += count
            self.unclaimed -= count

    def opens(self, first: int) -> int | None:
        """Return when to look at a full ring again for which a packet is ready at ``first``: when the guest has freed some, or to stop the queue; None when no look is needed."""
        if self._freed:
            return self._freed_at
        return first if self.unclaimed and not self._stopped else None

    def stop(self, now: int) -> None:
        """The driver may find no descriptor for a packet: it stops its queue then, and is interrupted for what is completed."""
        self.look(now)
        if self._stopped and self._vnic is not None and self._vnic.reclaimable:
            self._vnic.ask(now)

    def look(self, now: int) -> None:
        """Note whether the guest's driver has stopped its queue: more packets wait than there are descriptors."""
        self.settle(now)
        ring, most = self._ring, self.room()
        if not self._stopped and ring.pushed - ring.taken - ring.dropped > most:
            ring.settle(now)
            self._stopped = ring.held > most

    def took(self, count: int, *, copied: bool) -> None:
        """Record that packets were taken from the ring: copied ones are completed with the batch, mapped ones keep their descriptors."""
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
        """Record that the NIC's driver has freed packets; returns the time that the receive context takes to complete them, if it does."""
        self.sent += count
        return 0 if self.rule.deferred else self.complete(now)

    def complete(self, now: int) -> int:
        """Write the completions of what is sent; returns the time that it takes. The guest sees them when they are reported."""
        count, self.sent = self.sent, 0
        self.look(now)
        self.in_flight -= count
        if self._vnic is None:
            self._ring.settle(now)  # what came by now has found the ring as it was
            self._ring.capacity += count
        else:
            self.unclaimed += count
        self.completed += count
        self._written += count
        self._written_at = now
        return count * self.rule.packet_ps

    def needs_context(self) -> bool:
        """True when what is sent cannot wait for the transmit context to run for another reason: the guest has no descriptor left."""
        return self.sent > 0 and (self._stopped or self.is_blocked)

    def report(self, now: int) -> None:
        """Report what was written by now: the guest finds it in its next poll, for which it is interrupted if its driver asks for that."""
        count, self._written, vnic = self._written, 0, self._vnic
        if vnic is None:
            self._stopped = self._stopped and not count
            return
        if not count and not (self._stopped and vnic.reclaimable):
            return
        self.look(now)
        asked = self._stopped or self.rule.all_interrupt
        vnic.reclaimable += count
        if asked or vnic.poller is not None:
            vnic.ask(now)
        else:
            self.expire(now)

    def expire(self, now: int) -> None:
        """Bound the wait of completions that nobody is in a hurry for."""
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
            self._stopped = True  # as good as: the guest has waited for long enough
            if self._wake is not None:
                self._wake(now)
        elif self._vnic is not None:
            self._vnic.ask(now)
