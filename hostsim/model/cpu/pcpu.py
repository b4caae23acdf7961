"""A PCPU (physical CPU): its run queue, dispatching with context switch costs, quanta and preemption.

A dispatch is part of the wake-up and costs one event: the end of its batch. A world that finds more to do
stays on, with one further event a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostsim.engine.clock import Clock
from hostsim.engine.event_queue import Entry
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.core_state import CoreStates
from hostsim.model.cpu.idle import Place
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.policy.scheduler import RunQueue, SchedulerPolicy

if TYPE_CHECKING:
    from hostsim.model.cpu.node import Node

__all__ = ["End", "Pcpu"]

_RUNNING: Final = WorldState.RUNNING
_READY: Final = WorldState.READY
_SLEEPING: Final = WorldState.SLEEPING
_COSTOPPED: Final = WorldState.COSTOPPED


class End(Entry):
    """The event at the end of a batch on a PCPU."""

    def __init__(self, pcpu: Pcpu) -> None:
        super().__init__()
        self._pcpu = pcpu

    def ring(self) -> None:
        self._pcpu._end()


class Pcpu(RunQueue[World]):
    """A physical CPU with its run queue.

    Attributes:
        node: NUMA node it belongs to.
        pool: node that lists it as idle and that it steals worlds from; for an exclusive PCPU a node of its own.
        running: world that has it, None when idle.
        turning: True between the end of a batch and the beginning of the next, when preemption is not possible.
        seized: the firmware has it or waits for it: its batch is not bounded by the quantum, and running system worlds yield to it.
        dispatches: times a world was given this PCPU.
        switches: of these, with another world than the last one, the idle loop included.
        preemptions: running worlds cut short.
        states: what its core enters while it is idle, beside C1; None where C1 is the only state.
        idle_mean: mean length of its last idle periods, in picoseconds.
        awake: instant from which its core executes, while it is on its way out of a state deeper than C1; later on a time that is over.
        idle_place: its place among the idle PCPUs of its pool.
        whole_place: its place among those whose core is idle as a whole, with hyperthreads.
    """

    def __init__(self, clock: Clock, index: int, node: Node, costs: CostTable, policy: SchedulerPolicy) -> None:
        super().__init__(index)
        self._event_queue, self._policy, self._quantum = clock.event_queue, policy, policy.quantum
        self._halt_exit, self._preemption = costs.halt_exit, costs.preemption
        self._switch_same = costs.context_switch + costs.cache_refill_same
        self._switch_migrated = costs.context_switch + costs.cache_refill_migrated
        # a guest's private caches hold more of it than a context's: at its own PCPU after another world they are as cold as at another one
        self._vcpu_after_world = self._switch_same + costs.guest_cache_refill
        self._vcpu_migrated = max(self._switch_migrated, self._vcpu_after_world)
        self.node = self.pool = node
        self.running: World | None = None
        self.turning = self.seized = False
        self.dispatches = self.switches = self.preemptions = 0
        self._last: World | None = None
        self._cached: World | None = None
        """The last world that ran here, whose lines the private caches hold: the idle loop evicts nothing."""
        self._alarm = End(self)
        self.idle_place, self.whole_place = Place(self), Place(self)
        self._ends = 0
        self._halted = True
        self.states: CoreStates | None = None
        self.idle_mean = self.awake = 0
        self._idle_total = self._idle_since = 0

    def dedicate(self, world: World, pool: Node, *, halts: bool) -> None:
        """Pin a world to this PCPU exclusively, before either has run.

        The world keeps the PCPU while it is idle: no context switch and no cache refill is charged when it wakes. One that does not halt
        spins in the monitor, and there is no exit from an idle loop (halt exit) either.

        Args:
            world: a vCPU of the same node.
            pool: a node of which it is the only PCPU.
            halts: the PCPU halts while the world is idle.
        """
        self.pool, self._last, self._cached = pool, world, world
        if not halts:
            self._halt_exit = 0
            self.states = None
        world.last = self
        pool.idle.put(self)

    # --- what others see

    def current(self) -> World | None:
        return self.running

    def busy(self, now: int) -> int:
        """Return the busy time so far, in picoseconds."""
        if self._halted:
            return self._idle_since - self._idle_total
        return max(now, self.awake) - self._idle_total

    def used(self, now: int) -> int:
        """Return the core time used so far, in picoseconds: without hyperthreads, the busy time."""
        return self.busy(now)

    def charge(self, now: int) -> None:
        """Charge the running world for its CPU time so far; affects no decision."""
        world = self.running
        if world is not None and now > self.charged:
            spent = now - self.charged
            world.used += spent
            self._policy.charge(world, spent)
            self.charged = now

    def _exit_time(self, now: int, mean: int) -> int:
        """Return how long the core takes to leave its state, C1 apart, where this PCPU was idle for ``mean`` on average."""
        states = self.states
        return 0 if states is None or mean < states.least else states.exit_time(mean)

    # --- running worlds

    def start(self, world: World, now: int, surcharge: int = 0) -> None:
        """Dispatch a world, which is on no run queue, on this PCPU, which runs nothing."""
        cost = surcharge
        begin = now
        if self._halted:
            cost += self._halt_exit
            states = self.states
            if states is not None:
                mean, idle = self.idle_mean, now - self._idle_since
                self.idle_mean = mean + (idle - mean) // states.fade if mean else idle
                exit_time = self._exit_time(now, mean)
                if exit_time:
                    self.awake = begin = now + exit_time
            self._idle_total += begin - self._idle_since
            self._halted = False
        elif self.awake > now:
            begin = self.awake
        if world.last is not self:
            cost += self._switch_migrated if world.system else self._vcpu_migrated
            self.switches += 1
            world.last = self
            self._last = self._cached = world
        elif self._last is not world:
            cached = self._cached
            cost += self._switch_same if world.system or cached is world or cached is None else self._vcpu_after_world
            self.switches += 1
            self._last = self._cached = world
        if world.state is _READY:
            world.waited += now - world.stalled_since
        world.state = _RUNNING
        self.dispatches += 1
        world.dispatches += 1
        self.since = self.charged = begin
        length = world.left
        if length:
            world.left = 0
            world.resume(begin + cost)
        else:
            length = world.begin(begin + cost) or 0
        # Not before: a world that its first batch wakes must not cut it short while it has no end yet.
        self.running = world
        length += cost
        if length > self._quantum and not self.seized:
            length = self._within_quantum(world, length)
        self._ends = ends = begin + length
        self._set_end(ends)

    def _within_quantum(self, world: World, length: int) -> int:
        world.left = length - self._quantum
        return self._quantum

    def _set_end(self, end: int) -> None:
        """Schedule the end of the batch that has begun."""
        self._event_queue.enter(self._alarm, end)

    def remaining(self, now: int) -> int:
        """Return what is left of the running world's batch, in picoseconds of a core that it has to itself."""
        world = self.running
        assert world is not None
        return self._as_work(self._ends - now) + world.left

    def extend(self, extra: int) -> None:
        """Extend the running world's batch, in whose midst an interrupt came; what would go beyond its quantum is left for later."""
        world = self.running
        assert world is not None
        ends = self._ends + self._as_time(extra)
        latest = max(self._ends, self.since + self._quantum)
        if ends > latest and not self.seized:
            world.left += self._as_work(ends - latest)
            ends = latest
        self._ends = ends  # its alarm finds out when it rings

    def finish(self, at: int) -> None:
        """Let the running world's batch end at an instant: the rest of it was waiting in a loop."""
        world = self.running
        assert world is not None
        world.left = 0
        self._ends = at
        if at < self._alarm.instant:
            self._event_queue.hasten(self._alarm, at)

    def _as_work(self, wall: int) -> int:
        """Return the work that is done in a time."""
        return wall

    def _as_time(self, work: int) -> int:
        """Return the time that work takes."""
        return work

    def preempt(self, world: World, now: int, surcharge: int = 0) -> None:
        """Preempt the running vCPU and run ``world`` instead; the vCPU waits here for the rest of its batch."""
        self.preemptions += 1
        self._retire(self._take_off(now), now)
        self.start(world, now, self._preemption + surcharge)

    def costop(self, now: int) -> None:
        """Co-stop the running vCPU until its siblings catch up, and run the next world."""
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
        following = self.take_first(now) if self.queued else self.pool.steal(self, now)
        self._go_on(following, now)

    def _go_on(self, following: World | None, now: int) -> None:
        """Run the next world, or go idle."""
        if following is not None:
            self.start(following, now)
        else:
            self._halted = True
            if self.pool is self.node:  # an exclusive PCPU spins in the monitor instead
                self._last = None  # the idle loop, a context of its own: docs/decisions/0049
            self._idle_since = self.awake if self.awake > now else now
            self.pool.idle.put(self)

    def _take_off(self, now: int) -> World:
        """Take the running vCPU off the PCPU in the midst of a batch; at its very end, the batch counts as done."""
        victim = self.running
        assert victim is not None
        self.charge(now)
        self._event_queue.withdraw(self._alarm)
        self.running = None
        victim.left += max(0, self._ends - max(now, self.awake))
        if not victim.left:
            victim.end(now)
        return victim

    def _retire(self, world: World, now: int) -> None:
        """Put a world that gives up the PCPU on a run queue of its home node if it has more work, else to sleep."""
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

    def _end(self) -> None:
        now = self._ends
        if now > self._event_queue.now:
            self._event_queue.enter(self._alarm, now)
            return
        world = self.running
        assert world is not None
        spent = now - self.charged
        world.used += spent
        self._policy.charge(world, spent)
        self.charged = now
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
                self._set_end(ends)
                return
            world.state = _SLEEPING
            world.rest(now)
            following = self.take_first(now) if self.queued else self.pool.steal(self, now)
        else:
            following = self.take_first(now) if self.queued else self.pool.steal(self, now)
            self._retire(world, now)
            if following is None and self.queued:  # retiring woke somebody
                following = self.take_first(now)
        self.running = None
        self.turning = False
        self._go_on(following, now)

    def _must_yield(self, world: World, now: int) -> bool:
        """True when the running world, whose batch has just ended, must yield to a waiting one."""
        if (self.seized and self.systems) or self._policy.yields(world, self, now):
            return True
        if now - self.since >= self._quantum:
            self.since = now  # another quantum
        return False

    def take_first(self, now: int) -> World | None:
        """Dequeue the next world of this PCPU's run queue; None when it is empty."""
        if not self.queued:
            return None
        world = self.systems[0] if self.seized and self.systems else self._policy.first(self, now)
        if world.system:
            self.systems.remove(world)
        else:
            self.vcpus.remove(world)
        self.queued -= 1
        self.node.waiting.add(-1, now)
        return world

    def withdraw(self, world: World, now: int) -> bool:
        """Remove a world from this PCPU's run queue; False when it does not wait here."""
        queue = self.systems if world.system else self.vcpus
        if world not in queue:
            return False
        queue.remove(world)
        self.queued -= 1
        self.node.waiting.add(-1, now)
        return True
