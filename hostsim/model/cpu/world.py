"""Worlds: the schedulable contexts (threads) of the hypervisor: vCPUs, NetPolls, NetWorlds, split-receive contexts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from hostsim.engine.compiled import mypyc_attr
from hostsim.model.policy.scheduler import Schedulable

if TYPE_CHECKING:
    from hostsim.model.cpu.coscheduling import Skew
    from hostsim.model.cpu.node import Node
    from hostsim.model.cpu.pcpu import Pcpu

__all__ = ["World", "WorldState", "costop_times", "ready_times"]


class WorldState(Enum):
    """Scheduling state of a world."""

    SLEEPING = "sleeping"
    """Has nothing to do; only a wake-up brings it back."""
    READY = "ready"
    """Waits in the run queue of a PCPU."""
    RUNNING = "running"
    """Has a PCPU."""
    COSTOPPED = "costopped"
    """Has something to do, but is held back because its VM's other vCPUs are too far behind (`hostsim.model.cpu.coscheduling`)."""


@mypyc_attr(allow_interpreted_subclasses=True)  # worlds with work of another kind
class World(Schedulable):
    """A world: a schedulable context, the base class of everything that runs on a PCPU.

    A subclass defines the work: `begin` takes the next batch and returns its length, `end` does what must wait for the end of the
    batch. Between the two the PCPU is busy; the scheduler may cut a vCPU short in between.

    Attributes:
        kind: ``vcpu``, ``netpoll``, ...: entities of a kind share their counters.
        node: home node. The world runs there only.
        last: PCPU where it last ran, or starts.
        waited: time spent READY up to the last dispatch, in picoseconds.
        costopped: time spent COSTOPPED up to the last start, in picoseconds.
        stalled_since: instant at which it became READY or COSTOPPED.
        yielded_at: instant at which it last gave up a PCPU with more to do.
        skew: how far a vCPU of an SMP VM has got; None for every other world.
        left: rest of a batch that was cut short, in picoseconds of a core that it has to itself.
    """

    def __init__(self, kind: str, name: str, *, system: bool, node: Node, last: Pcpu, shares: int = 1000) -> None:
        super().__init__(name, system=system, shares=shares)
        self.kind, self.node, self.last = kind, node, last
        self.state = WorldState.SLEEPING
        self.waited = self.costopped = self.left = self.dispatches = self.stalled_since = self.yielded_at = 0
        self.skew: Skew | None = None

    def begin(self, start: int) -> int | None:
        """Begin the next batch of work at ``start``; returns its length in picoseconds, None when there is no work.

        Called by the PCPU only, when the world has no batch in hand.
        """
        raise NotImplementedError

    def end(self, now: int) -> None:
        """Finish the batch (or none, right after a spurious wake-up). May wake other worlds."""

    def cut(self, now: int, left: int) -> None:
        """Handle preemption with ``left`` picoseconds of the batch to go; they are done later, then `end` is called."""

    def resume(self, start: int) -> None:
        """Resume a preempted batch at ``start``, after the context switch."""

    def has_work(self, now: int) -> bool:
        """True when `begin` would find something to do now."""
        raise NotImplementedError

    def rest(self, now: int) -> None:
        """Arrange for the next wake-up; the world has just gone to sleep."""


def ready_times(worlds: Sequence[World], now: int) -> list[int]:
    """Return the ready time (%RDY) of each world so far, in picoseconds."""
    ready = WorldState.READY
    return [world.waited + (now - world.stalled_since if world.state is ready else 0) for world in worlds]


def costop_times(worlds: Sequence[World], now: int) -> list[int]:
    """Return the co-stop time (%CSTP) of each world so far, in picoseconds."""
    stopped = WorldState.COSTOPPED
    return [world.costopped + (now - world.stalled_since if world.state is stopped else 0) for world in worlds]
