"""A NIC that is passed through to a VM (DirectPath I/O): its rings as the guest's own driver works on them.

No context of the VMkernel, no virtual switch and no copy is in between. The VMkernel takes each interrupt of the NIC, as often as the
guest's driver lets the NIC raise it, and injects it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.engine.train import Train
from hostsim.model.cpu.scheduler import Node
from hostsim.model.cpu.world import WorldState
from hostsim.model.net.networld import Uplink
from hostsim.model.net.pnic import RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.policy.aggregation import Backoff
from hostsim.spec.settings import Coalescing
from hostsim.units import US

__all__ = ["DirectRing", "DirectTx"]

UNBOUNDED = 1 << 62
LAG: Final = 20 * US
"""How long what was written may wait for more of the same burst: less than interrupts of a NIC are apart, so that no answer is seen later for it."""
_AS_THEY_COME = Coalescing(scheme="disabled", rate=1, depth=1, timeout=0)
"""Nothing but the NIC's moderation holds an interrupt back."""


class Driven(Protocol):
    """The vCPU whose driver it is."""

    halted: bool
    node: Node
    state: WorldState
    owed: int

    def interrupt(self, now: int, vnic: Vnic) -> None:
        """Take an interrupt, at once or when you run."""
        ...


class DirectRing(Vnic):
    """A receive queue of the NIC as the guest's driver polls it: what is taken off it goes into the guest's stack at once.

    Args:
        clock: the host's.
        queue: the queue.
        vcpu: the vCPU that takes its interrupts.
        interrupt_ps: what a physical interrupt costs the PCPU that the vCPU runs on.
    """

    __slots__ = ("_driven", "_interrupt_ps", "queue")

    def __init__(self, clock: Clock, queue: RxQueue, vcpu: Driven, interrupt_ps: int) -> None:
        super().__init__(clock, queue.name, queue.ring.capacity, _AS_THEY_COME, vcpu, Backoff(1, 0))
        self.queue, self._driven, self._interrupt_ps = queue, vcpu, interrupt_ps

    def interrupt(self, now: int) -> None:
        """The NIC interrupts: the VMkernel takes it and injects it."""
        self._driven.owed += self._interrupt_ps
        self._driven.interrupt(now, self)

    def take(self, limit: int, now: int) -> list[Train]:
        """The guest polls the NIC, its interrupt masked."""
        taken = self.queue.take(limit, now)
        ring = self.ring
        for train in taken:
            ring.pushed += train.count
            ring.taken += train.count
            self.frames += train.count * train.frames
            trip = train.flow.trip  # type: ignore[attr-defined]  # frames belong to senders
            if trip is not None:
                trip.off_nic(train.born, self.queue.interrupted, 0)
        return taken

    def unmask(self, now: int) -> None:
        """The guest has polled the ring empty and wants an interrupt for the next packet, no sooner than moderation allows."""
        self.queue.unmask(now)

    def guest_halts(self, now: int) -> None:
        """The guest has nothing left to do: to the NIC that is all the same."""


class DirectTx:
    """A transmit queue of the NIC: what the guest writes goes to the wire at the instants at which it is written.

    It is put there when the burst ends that wrote it, or is cut short, and every `LAG` of a longer burst: by then it is certain what was
    written.

    Attributes:
        poster: the vCPU that writes here; of several, the last one.
    """

    __slots__ = ("_clock", "_ring", "_timer", "_uplink", "poster")

    def __init__(self, clock: Clock, uplink: Uplink, vcpu: Driven) -> None:
        self._clock, self._uplink, self.poster = clock, uplink, vcpu
        self._ring = Ring(UNBOUNDED)
        self._timer = Timer(clock, self._go_on)

    def hand(self, train: Train) -> None:
        """Packets that the guest will have written at their instants."""
        self._ring.push(train)
        if self.poster.state is WorldState.SLEEPING:  # nobody's burst: a timer of the stack
            self.send(self._clock.now)

    def take_back(self, trains: Iterable[Train], now: int) -> list[Train]:
        """Those of the packets that are not written by ``now``: the guest was cut short."""
        return self._ring.recall(trains, now)

    def send(self, now: int) -> None:
        """Put on the wire what is written by ``now``, at the end of a burst."""
        self._timer.disarm()
        for train in self._ring.take(UNBOUNDED, now):
            self._uplink.send(train)

    def send_early(self, end: int = UNBOUNDED) -> None:
        """A burst goes on until ``end``, for all that is known: do not let what is written early in it wait for that."""
        first = self._ring.first()
        if first is not None and first + LAG < end:
            self._timer.arm_by(first + LAG)

    def _go_on(self, now: int) -> None:
        self.send(now)
        self.send_early()
