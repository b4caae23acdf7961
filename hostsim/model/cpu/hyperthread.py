"""Hyperthreads: PCPUs that share a core two by two.

While both run, each works at half of what the core then yields. When one starts or stops, the end of the other's batch moves.
What a batch has noted about instants within it (when each packet was done) stays as it was noted at its start, at full speed:
a batch that shares its core ends later than the last of these instants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.clock import Clock
from hostsim.model.cpu.pcpu import End, Idle, Pcpu
from hostsim.model.cpu.world import World
from hostsim.model.timing import Timing

if TYPE_CHECKING:
    from hostsim.model.cpu.scheduler import Node

__all__ = ["Hyperthread", "IdleThreads"]


class Hyperthread(Pcpu):
    """A PCPU that shares its core with another.

    Lengths that worlds give, and what is left of a batch that was cut, are work: picoseconds with the core to oneself.

    Attributes:
        sibling: the other PCPU of the core.
    """

    __slots__ = ("_pending", "_shared", "_shared_since", "_shared_total", "_wall", "_work", "sibling")

    sibling: Hyperthread

    def __init__(self, clock: Clock, index: int, node: Node, timing: Timing, quantum: int) -> None:
        super().__init__(clock, index, node, timing, quantum)
        pace = timing.smt_throughput / 2
        self._work, self._wall = pace.numerator, pace.denominator
        self._pending = False
        """A batch runs, and its end is in the clock's queue."""
        self._shared = False
        """Both threads are busy."""
        self._shared_total = self._shared_since = 0

    @classmethod
    def pair(
        cls, clock: Clock, index: int, node: Node, timing: Timing, quantum: int
    ) -> tuple[Hyperthread, Hyperthread]:
        """The two PCPUs of a core; the first has this index."""
        one, other = (cls(clock, index + thread, node, timing, quantum) for thread in range(2))
        one.sibling, other.sibling = other, one
        return one, other

    def used(self, now: int) -> int:
        """Time for which this PCPU has used its core, in picoseconds: while both run, each has half of it."""
        shared = self._shared_total + (now - self._shared_since if self._shared else 0)
        return self.busy(now) - shared // 2

    def start(self, world: World, now: int, surcharge: int = 0) -> None:
        sibling = self.sibling
        if self._halted and not sibling._halted:
            self._share(now)
            sibling._share(now)
        super().start(world, now, surcharge)

    def preempt(self, world: World, now: int) -> None:
        self._count_work(now)
        super().preempt(world, now)

    def costop(self, now: int) -> None:
        self._count_work(now)
        super().costop(now)
        self._leave(now)

    def _end(self, alarm: End) -> None:
        if alarm is self._alarm:
            self._pending = False
        super()._end(alarm)
        if self._shared:
            self._leave(self._agenda.now)

    def _set_end(self, alarm: End, end: int) -> None:
        """Let a batch that would end at an instant on a core of its own end when it will."""
        if self._shared:
            now = self._agenda.now
            self._ends = end = now + self._slowed(end - now)
        self._pending = True
        self._agenda.enter(alarm, end)

    def _slowed(self, work: int) -> int:
        """Wall time of work on a shared core, a quantum at most: what is beyond is left for later."""
        wall = -(-work * self._wall // self._work)
        if wall > self._quantum:
            wall = self._quantum
            assert self.running is not None
            self.running.left += work - wall * self._work // self._wall
        return wall

    def _count_work(self, now: int) -> None:
        """The running batch is about to be cut: let the time to its end be the work that is left of it."""
        self._pending = False
        if self._shared:
            self._ends = now + (self._ends - now) * self._work // self._wall

    def _leave(self, now: int) -> None:
        """If this thread has just become idle, the core is the other's alone."""
        if self._halted and self._shared:
            self._part(now)
            self.sibling._part(now)

    def _share(self, now: int) -> None:
        """The sibling, or this thread, starts: both are busy from now on."""
        self._shared = True
        self._shared_since = now
        if self._pending and self._ends > now:
            self._move_end(now, self._slowed(self._ends - now))

    def _part(self, now: int) -> None:
        """One of the two has become idle."""
        self._shared = False
        self._shared_total += now - self._shared_since
        if self._pending and self._ends > now:
            self._move_end(now, (self._ends - now) * self._work // self._wall)

    def _move_end(self, now: int, wall: int) -> None:
        # The old end stays in the clock's queue and finds, when due, that it is nobody's alarm any more.
        self._alarm = self._spare.pop() if self._spare else End(self)
        self._ends = now + wall
        self._agenda.enter(self._alarm, self._ends)


class IdleThreads(Idle):
    """Idle PCPUs of a node with hyperthreads; a core that is idle as a whole goes before half of a busy one."""

    __slots__ = ("_whole",)

    def __init__(self) -> None:
        super().__init__()
        self._whole: dict[Pcpu, None] = {}

    def put(self, pcpu: Pcpu) -> None:
        super().put(pcpu)
        assert isinstance(pcpu, Hyperthread)
        if pcpu.sibling in self._all:
            self._whole[pcpu.sibling] = self._whole[pcpu] = None

    def take(self, preferred: Pcpu | None) -> Pcpu | None:
        candidates = self._whole or self._all
        if not candidates:
            return None
        pcpu = preferred if preferred is not None and preferred in candidates else next(reversed(candidates))
        del self._all[pcpu]
        if pcpu in self._whole:
            assert isinstance(pcpu, Hyperthread)
            del self._whole[pcpu], self._whole[pcpu.sibling]
        return pcpu
