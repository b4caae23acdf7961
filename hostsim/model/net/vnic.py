"""A virtual NIC, receive side: its ring, how its guest gives descriptors back, and when it interrupts its guest.

A vmxnet3 and an e1000 differ in their guests' drivers, and in what its registers cost the guest of an e1000: each access is an exit.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.cpu.scheduler import Node
from hostsim.policy.aggregation import Backoff
from hostsim.policy.coalescing import rated
from hostsim.spec.settings import Coalescing, Refill
from hostsim.units import SECOND

if TYPE_CHECKING:
    from hostsim.model.net.networld import TxQueue

__all__ = ["Vnic"]


class Interruptible(Protocol):
    """The vCPU that takes the vNIC's interrupts."""

    halted: bool
    node: Node
    owed: int
    """Time that it has still to be charged, in picoseconds."""

    def interrupt(self, now: int, vnic: Vnic) -> None:
        """Take an interrupt, at once or when you run."""
        ...


class _Line(Enum):
    """The vNIC's interrupt."""

    QUIET = "quiet"
    """Nothing to announce."""
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


class Vnic:
    """A receive queue of a vNIC: its ring with its coalescing.

    Attributes:
        name: for tables.
        ring: packets in guest memory that the guest has not yet taken; as many fit as descriptors are given to the vNIC.
        size: descriptors of the ring, those included that the guest has not given back.
        vcpu: the vCPU that takes its interrupts.
        lro: whether software LRO pays.
        transmits: transmit queues of the same vNIC.
        frames: of the wire, put on their way into the ring.
        lost: frames that found no room there.
        is_far: what was put there last was put there from another NUMA node.
        raised: instant of its last interrupt.
        interrupt_ps: what an interrupt costs the guest in accesses to registers.
        doorbell_ps: what it costs the guest to announce descriptors that it gives back.
    """

    __slots__ = (
        "_depth",
        "_depth_timer",
        "_interval",
        "_line",
        "_owed",
        "_refill",
        "_static",
        "_timeout",
        "_timer",
        "_used_up",
        "doorbell_ps",
        "frames",
        "interrupt_ps",
        "is_far",
        "lost",
        "lro",
        "name",
        "raised",
        "ring",
        "size",
        "transmits",
        "vcpu",
    )

    def __init__(
        self,
        clock: Clock,
        name: str,
        capacity: int,
        coalescing: Coalescing,
        vcpu: Interruptible,
        lro: Backoff,
        refill: Refill | None = None,
    ) -> None:
        self.name, self.size = name, capacity
        self.ring = Ring(capacity)
        self.ring.on_drop = self._dropped
        self.vcpu, self.lro = vcpu, lro
        self.transmits: list[TxQueue] = []
        self.frames = self.lost = self.raised = 0
        self.is_far = False
        self.interrupt_ps = self.doorbell_ps = 0
        self._refill, self._used_up = refill, 0
        self._line = _QUIET
        self._owed = 0
        self._timer = Timer(clock, self._raise)
        self._depth_timer = Timer(clock, self._raise)
        self._follow(coalescing)

    def _follow(self, coalescing: Coalescing) -> None:
        self._interval = SECOND // coalescing.rate if coalescing.scheme == "rbc" else 0
        self._static = coalescing.scheme == "static"
        self._timeout, self._depth = coalescing.timeout, coalescing.depth

    def coalesce(self, coalescing: Coalescing, now: int) -> None:
        """Interrupt by another scheme from now on; what is held back goes by the new one."""
        self._follow(coalescing)
        if self._line is _HELD:
            self._depth_timer.disarm()
            first = self.ring.first()
            assert first is not None
            self._timer.arm(max(now, self._due(first)))
            self._watch_depth(now)

    def receive(self, train: Train) -> None:
        """Packets on their way into the ring, at instants that lie ahead or are now."""
        self.ring.push(train)
        self.frames += train.count * train.frames
        if self._line is _QUIET:
            self._line = _HELD
            self._timer.arm(self._due(train.ready))
        if self._static and self._line is _HELD:
            self._watch_depth(train.ready)

    def _watch_depth(self, soonest: int) -> None:
        """Static coalescing: interrupt when so many wait, but not before ``soonest``."""
        full = self.ring.nth(self._depth) if self._static else None
        if full is not None:
            self._depth_timer.arm(max(full, soonest))

    def _dropped(self, train: Train) -> None:
        frames = train.count * train.frames
        self.lost += frames
        train.flow.dropped(frames)  # type: ignore[attr-defined]  # packets belong to senders

    def _due(self, first: int) -> int:
        if self._static and not self.vcpu.halted:
            return first + self._timeout
        return rated(first, self._owed, self._interval) if self._interval else first

    def _raise(self, now: int) -> None:
        if self._line is not _HELD:
            return
        self._timer.disarm()
        self._depth_timer.disarm()
        self._line = _RAISED
        self.raised = now
        self._owed = max(self._owed, now) + self._interval
        self.vcpu.owed += self.interrupt_ps
        self.vcpu.interrupt(now, self)

    def take(self, limit: int, now: int) -> list[Train]:
        """The guest polls the ring, its interrupt masked."""
        self._line = _MASKED
        taken = self.ring.take(limit, now)
        if self._refill is not None:
            count = sum(train.count for train in taken)
            self._used_up += count
            self.ring.capacity -= count
        return taken

    def batch(self, budget: int) -> int:
        """Packets of a budget that the guest's driver handles before it gives descriptors back."""
        return budget if self._refill is None else min(budget, self._refill.lot - self._used_up)

    def handled(self, now: int, *, drained: bool) -> None:
        """The guest has handled what it took, and polled the ring empty or not: it gives descriptors back if it is time to."""
        refill = self._refill
        if refill is not None and (self._used_up >= refill.lot or (drained and refill.rest and self._used_up)):
            self.ring.settle(now)  # what came by now has found the ring as it was
            self.ring.capacity += self._used_up
            self._used_up = 0
            self.vcpu.owed += self.doorbell_ps

    def unmask(self, now: int) -> None:
        """The guest has polled the ring empty and wants an interrupt for the next packet."""
        if self._line is not _MASKED:
            return
        first = self.ring.first()
        if first is None:
            self._line = _QUIET
            return
        self._line = _HELD
        due = self._due(first)
        if due <= now:
            self._raise(now)
        else:
            self._timer.arm(due)

    def announce(self, now: int) -> None:
        """The guest is about to halt: static coalescing interrupts it instead, if packets wait."""
        if self._static and self._line is _HELD:
            first = self.ring.first()
            assert first is not None
            if first <= now:
                self._raise(now)

    def guest_halts(self, now: int) -> None:
        """The guest has nothing left to do: static coalescing does not make it wait."""
        if self._static and self._line is _HELD:
            first = self.ring.first()
            assert first is not None
            self._timer.arm(max(now, first))
