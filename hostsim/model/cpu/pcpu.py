"""A PCPU: runs one world at a time and charges what it costs to turn to it.

A dispatch is started by whoever wakes the world and costs one event: the end of its batch. A world that finds more to do
stays on, with one further event a batch. A batch that is cut short leaves an event behind that no longer acts, because the
PCPU has turned to another alarm.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from hostsim.engine.agenda import Entry
from hostsim.engine.clock import Clock
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.timing import Timing

if TYPE_CHECKING:
    from hostsim.model.cpu.scheduler import Node

__all__ = ["End", "Idle", "Pcpu"]

_RUNNING: Final = WorldState.RUNNING
_READY: Final = WorldState.READY
_SLEEPING: Final = WorldState.SLEEPING
_COSTOPPED: Final = WorldState.COSTOPPED


class End(Entry):
    """The end of a batch on a PCPU."""

    __slots__ = ("_pcpu",)

    def __init__(self, pcpu: Pcpu) -> None:
        super().__init__()
        self._pcpu = pcpu

    def ring(self) -> None:
        self._pcpu._end(self)


class Pcpu:
    """A physical processor with its run queue.

    Attributes:
        index: number on the host.
        node: NUMA node it belongs to.
        pool: whose idle PCPUs it is among, and whose waiting worlds it takes when it goes idle: its node, or itself alone.
        running: world that has it, None when idle.
        turning: True while a batch has just ended and the next has not begun: nobody may preempt now.
        systems: VMkernel worlds that wait here, in order.
        seized: whoever has it, or is the first of them, keeps it for a whole batch, and goes before a running system world too.
        queued: number of worlds that wait here.
        vcpus: vCPUs that wait here; the one with the least virtual time goes first.
        dispatches: times a world was given this PCPU.
        switches: of these, with another world than the last one, the idle loop included.
        preemptions: running worlds cut short.
    """

    __slots__ = (
        "_agenda", "_alarm", "_charged", "_ends", "_halt_exit", "_halted", "_idle_since", "_idle_total", "_last", "_preemption", "_quantum", "_since",
        "_spare", "_switch_migrated", "_switch_same",
        "dispatches", "index", "node", "pool", "preemptions", "queued", "running", "seized", "switches", "systems", "turning", "vcpus",
    )  # fmt: skip

    def __init__(self, clock: Clock, index: int, node: Node, timing: Timing, quantum: int) -> None:
        self._agenda, self._quantum = clock.agenda, quantum
        self._halt_exit, self._preemption = timing.halt_exit, timing.preemption
        self._switch_same = timing.context_switch + timing.cache_refill_same
        self._switch_migrated = timing.context_switch + timing.cache_refill_migrated
        self.index, self.node = index, node
        self.pool = node
        self.running: World | None = None
        self.queued = 0
        self.turning = self.seized = False
        self.systems: deque[World] = deque()
        self.vcpus: list[World] = []
        self.dispatches = self.switches = self.preemptions = 0
        self._last: World | None = None
        self._alarm = End(self)
        self._spare: list[End] = []
        self._ends = self._since = self._charged = 0
        self._halted = True
        self._idle_total = self._idle_since = 0

    def dedicate(self, world: World, pool: Node) -> None:
        """Leave this PCPU, which has run nothing, to a world that has not run.

        The world keeps it while it has nothing to do, and waits in the monitor. So it pays no way out of the VMkernel's idle loop,
        and nothing for what ran in between.

        Args:
            world: a vCPU of the same node.
            pool: that nobody else is in.
        """
        self.pool, self._last, self._halt_exit = pool, world, 0
        world.last = self
        pool.idle.put(self)

    # --- what others see

    def busy(self, now: int) -> int:
        """Time not idle so far, in picoseconds."""
        return now - self._idle_total - (now - self._idle_since if self._halted else 0)

    def used(self, now: int) -> int:
        """Time for which this PCPU has used its core so far, in picoseconds: with the core to itself, all of its busy time."""
        return self.busy(now)

    def charge(self, now: int) -> None:
        """Charge the running world for its time so far; changes no decision."""
        world = self.running
        if world is not None:
            spent = now - self._charged
            world.used += spent
            world.vtime += spent * 1000 // world.shares
            self._charged = now

    def vtime(self, now: int) -> int:
        """Virtual time of the running world, its time since the last charge included."""
        world = self.running
        assert world is not None
        return world.vtime + (now - self._charged) * 1000 // world.shares

    # --- running worlds

    def start(self, world: World, now: int, surcharge: int = 0) -> None:
        """Give this PCPU, which runs nothing, to a world that has left every queue."""
        cost = surcharge
        if self._halted:
            cost += self._halt_exit
            self._idle_total += now - self._idle_since
            self._halted = False
        if world.last is not self:
            cost += self._switch_migrated
            self.switches += 1
            world.last = self
            self._last = world
        elif self._last is not world:
            cost += self._switch_same
            self.switches += 1
            self._last = world
        if world.state is _READY:
            world.waited += now - world.stalled_since
        world.state = _RUNNING
        self.dispatches += 1
        world.dispatches += 1
        self._since = self._charged = now
        length = world.left
        if length:
            world.left = 0
            world.resume(now + cost)
        else:
            length = world.begin(now + cost) or 0
        # Not before: a world that its first batch wakes must not cut it short while it has no end yet.
        self.running = world
        length += cost
        if length > self._quantum and not self.seized:
            length = self._within_quantum(world, length)
        self._ends = ends = now + length
        self._set_end(self._alarm, ends)

    def _within_quantum(self, world: World, length: int) -> int:
        world.left = length - self._quantum
        return self._quantum

    def _set_end(self, alarm: End, end: int) -> None:
        """Let the batch that has begun end at an instant."""
        self._agenda.enter(alarm, end)

    def preempt(self, world: World, now: int) -> None:
        """Cut the running vCPU short and run ``world`` instead; the vCPU waits here for the rest of its batch."""
        self.preemptions += 1
        self._retire(self._take_off(now), now)
        self.start(world, now, self._preemption)

    def costop(self, now: int) -> None:
        """Cut the running vCPU short and stop it until its siblings catch up; the PCPU turns to whoever is next."""
        victim = self._take_off(now)
        if victim.node is not self.node:
            victim.node.adjust(victim, self.node)
        if victim.left or victim.has_work(now):
            if victim.left:
                victim.cut(now, victim.left)
            victim.state = _COSTOPPED
            victim.stalled_since = now
        else:
            victim.state = _SLEEPING
            victim.rest(now)
        following = self.take_first(now) if self.queued else self.pool.steal(now)
        self._go_on(following, now)

    def _go_on(self, following: World | None, now: int) -> None:
        """Turn to the world that goes next, or halt."""
        if following is not None:
            self.start(following, now)
        else:
            self._halted = True
            if self.pool is self.node:  # else whoever has it waits in the monitor
                self._last = None  # the idle loop, a context of its own
            self._idle_since = now
            self.pool.idle.put(self)

    def _take_off(self, now: int) -> World:
        """The running vCPU leaves the PCPU in the midst of a batch; at its very end, the batch counts as done."""
        victim = self.running
        assert victim is not None
        self.charge(now)
        # The old end stays in the clock's queue and finds, when due, that it is nobody's alarm any more.
        self._alarm = self._spare.pop() if self._spare else End(self)
        self.running = None
        victim.left += self._ends - now
        if not victim.left:
            victim.end(now)
        return victim

    def _retire(self, world: World, now: int) -> None:
        """A world gives the PCPU up: it waits for its turn if there is more to do, at home, else it sleeps."""
        if world.node is not self.node:
            world.node.adjust(world, self.node)
        if world.left:
            world.cut(now, world.left)
        if world.left or world.has_work(now):
            world.yielded_at = now
            if world.node is self.node:
                self.node.enqueue(self, world, now)
            else:
                world.node.admit(world, now)
        else:
            world.state = _SLEEPING
            world.rest(now)

    def _end(self, alarm: End) -> None:
        if alarm is not self._alarm:
            self._spare.append(alarm)
            return
        now = self._ends
        world = self.running
        assert world is not None
        spent = now - self._charged
        world.used += spent
        world.vtime += spent * 1000 // world.shares
        self._charged = now
        if not world.system and world.vtime > self.pool.vclock:
            self.pool.vclock = world.vtime
        self.turning = True
        if not world.left:
            world.end(now)
        if world.node is self.node and not (self.queued and self._must_yield(world, now)):
            length: int | None = world.left
            if length:
                world.left = 0
            else:
                length = world.begin(now)
            if length is not None:
                if length > self._quantum:
                    length = self._within_quantum(world, length)
                self._ends = ends = now + length
                self.turning = False
                self._set_end(alarm, ends)
                return
            world.state = _SLEEPING
            world.rest(now)
            following = self.take_first(now) if self.queued else self.pool.steal(now)
        else:
            following = self.take_first(now) if self.queued else self.pool.steal(now)
            self._retire(world, now)
            if following is None and self.queued:  # retiring woke somebody
                following = self.take_first(now)
        self.running = None
        self.turning = False
        self._go_on(following, now)

    def _must_yield(self, world: World, now: int) -> bool:
        """True when a world that waits here goes before the running one, whose batch has just ended."""
        if self.systems and (self.seized or not world.system):
            return True
        if now - self._since < self._quantum:
            return False
        if not world.system and min(waiting.vtime for waiting in self.vcpus) > world.vtime:
            self._since = now  # its share is not used up: another quantum
            return False
        return True

    def take_first(self, now: int) -> World | None:
        """Take the world that goes first out of this PCPU's queue."""
        if self.systems:
            world = self.systems.popleft()
        elif self.vcpus:
            vcpus = self.vcpus
            world = vcpus[0]
            for waiting in vcpus:
                if waiting.vtime < world.vtime:
                    world = waiting
            vcpus.remove(world)
        else:
            return None
        self.queued -= 1
        self.node.waiting.add(-1, now)
        return world

    def withdraw(self, world: World, now: int) -> bool:
        """Take a world out of this PCPU's queue, wherever it stands; False when it does not wait here."""
        queue = self.systems if world.system else self.vcpus
        if world not in queue:
            return False
        queue.remove(world)
        self.queued -= 1
        self.node.waiting.add(-1, now)
        return True


class Idle:
    """PCPUs of a node that run nothing."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        self._all: dict[Pcpu, None] = {}  # the one idle for the shortest time last

    def put(self, pcpu: Pcpu) -> None:
        """A PCPU becomes idle."""
        self._all[pcpu] = None

    def take(self, preferred: Pcpu | None) -> Pcpu | None:
        """Take the preferred PCPU if it is idle, else the one that became idle last; None when none is idle."""
        idle = self._all
        if preferred in idle:
            del idle[preferred]
            return preferred
        return idle.popitem()[0] if idle else None
