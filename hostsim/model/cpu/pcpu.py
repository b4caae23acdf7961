"""Worlds, PCPUs and NUMA nodes: dispatching with context switch costs, quanta, preemption, idle lists, run queues, co-scheduling.

A dispatch is part of the wake-up and costs one event: the end of its batch. A world that finds more to do stays on, with one further event a batch.
The choices are the scheduler policy's (`hostsim.model.policy.scheduler`).

Core states (C-states) deeper than C1 are entered by the idle time of a core; C1, which every idle PCPU is in, is left at the cost `halt_exit`.

Relaxed co-scheduling bounds the skew between the vCPUs of an SMP VM by co-stops. A vCPU gets on while it runs; while it is READY or COSTOPPED it falls
behind. Time halted counts neither way: a vCPU that wakes starts level with the slowest of its siblings. The VM is looked at once a period, from when one of
its vCPUs has to wait until none does; a VM whose vCPUs find PCPUs at once costs no event.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from hostsim.config.platform import HostSettings, IdleSpec
from hostsim.engine.clock import Clock, Entry, OneShot, Timer
from hostsim.engine.compiled import mypyc_attr
from hostsim.engine.probe import Level
from hostsim.model.cost_table import BESIDE, FAR, SAME_NODE, CostTable
from hostsim.model.cpu.memory import Memory
from hostsim.model.policy.scheduler import IdleQueues, RunQueue, Schedulable, SchedulerPolicy

__all__ = [
    "PPM",
    "CoreStates",
    "CpuLimit",
    "End",
    "Gang",
    "IdleList",
    "IdlePcpus",
    "Node",
    "Pcpu",
    "Place",
    "Skew",
    "World",
    "WorldState",
    "costop_times",
    "limited_times",
    "ready_times",
]

PPM: Final = 1_000_000
"""Parts of a PCPU in which the rate of a limit is given."""
_MOST_QUANTA: Final = 4
"""Quanta whose credit a limit keeps (assumed): what it does not use while its vCPUs wait for a PCPU is not lost."""


class CoreStates:
    """The core states that the idle PCPUs of a host enter, by the time for which they are expected to be idle.

    Attributes:
        fade: idle periods over which the mean of a PCPU fades; 0 where C1 is the only state.
        least: mean idle time from which on a core enters the first of them, in picoseconds.
    """

    def __init__(self, idle: IdleSpec, settings: HostSettings, family: str) -> None:
        """Take what the processor family has, and what the power policy lets it enter."""
        latencies = sorted(idle.states.get(family, {}).values())
        self._states = [
            (round(latency * settings.idle_latencies), round(latency * idle.exit_share))
            for latency in latencies
            if latency <= settings.deepest_exit
        ]
        self.fade = idle.fade if self._states else 0
        self.least = self._states[0][0] if self._states else 0

    def exit_time(self, mean: int) -> int:
        """Return how long a core that is idle for this time on average takes to leave its state, C1 apart, in picoseconds."""
        time = 0
        for least, exit_time in self._states:
            if mean >= least:
                time = exit_time
        return time


class WorldState(Enum):
    """Scheduling state of a world."""

    SLEEPING = "sleeping"
    """Has nothing to do; only a wake-up brings it back."""
    READY = "ready"
    """Waits in the run queue of a PCPU."""
    RUNNING = "running"
    """Has a PCPU."""
    COSTOPPED = "costopped"
    """Has something to do, but is held back because its VM's other vCPUs are too far behind (`hostsim.model.cpu.pcpu`)."""
    LIMITED = "limited"
    """Has something to do, but is held back because its VM or resource pool has reached its limit (`CpuLimit`)."""


_RUNNING: Final = WorldState.RUNNING
_READY: Final = WorldState.READY
_SLEEPING: Final = WorldState.SLEEPING
_COSTOPPED: Final = WorldState.COSTOPPED
_LIMITED: Final = WorldState.LIMITED


@mypyc_attr(allow_interpreted_subclasses=True)  # worlds with work of another kind
class World(Schedulable):
    """A world: a schedulable context, the base class of everything that runs on a PCPU.

    A subclass defines the work: `begin` takes the next batch and returns its length, `end` does what must wait for the end of the
    batch. Between the two the PCPU is busy; the scheduler may cut a vCPU short in between.

    Attributes:
        kind: ``vcpu``, ``netpoll``, ...: entities of a kind share their counters.
        node: home node. The world runs there only.
        last: PCPU where it last ran, or starts.
        waited: time spent READY or LIMITED up to the last dispatch, in picoseconds.
        limited: of this, time spent LIMITED.
        costopped: time spent COSTOPPED up to the last start, in picoseconds.
        stalled_since: instant at which it became READY, LIMITED or COSTOPPED.
        yielded_at: instant at which it last gave up a PCPU with more to do.
        skew: how far a vCPU of an SMP VM has got; None for every other world.
        limit: limit of the VM that it is of or works for, and of the pools around it; None where none has one.
        affinity: PCPUs of its node that it may run on (``sched.cpu.affinity``); None for all.
        left: rest of a batch that was cut short, in picoseconds of a core that it has to itself.
    """

    def __init__(self, kind: str, name: str, *, system: bool, node: Node, last: Pcpu, shares: int = 1000) -> None:
        super().__init__(name, system=system, shares=shares)
        self.kind, self.node, self.last = kind, node, last
        self.state = WorldState.SLEEPING
        self.waited = self.costopped = self.left = self.dispatches = self.stalled_since = self.yielded_at = 0
        self.limited = 0
        self.skew: Skew | None = None
        self.limit: CpuLimit | None = None
        self.affinity: tuple[Pcpu, ...] | None = None

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
    """Return the ready time (%RDY) of each world so far, in picoseconds; it includes the time for which a limit held it back."""
    ready, limited = WorldState.READY, WorldState.LIMITED
    return [
        world.waited + (now - world.stalled_since if world.state is ready or world.state is limited else 0)
        for world in worlds
    ]


def limited_times(worlds: Sequence[World], now: int) -> list[int]:
    """Return the time for which a limit held back each world (%MLMTD) so far, in picoseconds."""
    limited = WorldState.LIMITED
    return [world.limited + (now - world.stalled_since if world.state is limited else 0) for world in worlds]


def costop_times(worlds: Sequence[World], now: int) -> list[int]:
    """Return the co-stop time (%CSTP) of each world so far, in picoseconds."""
    stopped = WorldState.COSTOPPED
    return [world.costopped + (now - world.stalled_since if world.state is stopped else 0) for world in worlds]


class Place:
    """The place of a PCPU in a list of idle ones.

    Attributes:
        pcpu: the PCPU.
        index: its index.
        listed: the list that it is in; None when it is in none.
        before: the place before it, idle for longer.
        after: the place behind it.
    """

    def __init__(self, pcpu: Pcpu) -> None:
        self.pcpu, self.index = pcpu, pcpu.index
        self.listed: IdleList | None = None
        self.before: Place | None = None
        self.after: Place | None = None


class IdleList:
    """A list of idle PCPUs.

    Attributes:
        last: the place of the one idle for the shortest time; None when the list is empty.
    """

    def __init__(self) -> None:
        self.last: Place | None = None

    def put(self, place: Place) -> None:
        """Append a PCPU that is in no list."""
        last = self.last
        place.before = last
        if last is not None:
            last.after = place
        self.last = place
        place.listed = self

    def remove(self, place: Place) -> None:
        """Remove a PCPU from wherever it is in the list."""
        assert place.listed is self
        before, after = place.before, place.after
        if before is not None:
            before.after = after
        if after is not None:
            after.before = before
        else:
            self.last = before
        place.listed = place.before = place.after = None


class IdlePcpus(IdleQueues["Pcpu"]):
    """The idle PCPUs of a node; to a policy, those of them that are looked at.

    Attributes:
        reach: PCPUs that a world is offered which finds its own busy, the next of the node.
        within: PCPUs of a core complex, if a world is offered those of its own alone; 0 for those of the whole node.
    """

    def __init__(self, policy: SchedulerPolicy, pcpus: list[Pcpu]) -> None:
        self._policy, self._pcpus, self.reach, self.within = policy, pcpus, 0, 0
        self._all = IdleList()
        self._looked_at = self._all
        self._first = -1
        """Index of the PCPU whose reach is looked at; -1 where all are."""
        self._latest: Place | None = None

    def put(self, pcpu: Pcpu) -> None:
        """Add a PCPU that becomes idle."""
        self._all.put(pcpu.idle_place)

    def remove(self, pcpu: Pcpu) -> None:
        """Remove a PCPU."""
        self._all.remove(pcpu.idle_place)

    def take(self, preferred: Pcpu | None) -> Pcpu | None:
        """Remove and return the idle PCPU of the policy's choice; None when none is idle."""
        if not self._look(self._all, preferred):
            return None
        pcpu = self._policy.idle_queue(self, preferred)
        self.remove(pcpu)
        return pcpu

    def _look(self, idle: IdleList, preferred: Pcpu | None) -> bool:
        """Look at the PCPUs of a list for a world with this PCPU, at all where that is idle or the world has none; False when there is none."""
        self._looked_at, self._first = idle, -1
        place = idle.last
        if (
            place is not None
            and preferred is not None
            and (len(self._pcpus) > self.reach + 1 or self.within)
            and preferred.idle_place.listed is not idle
            and preferred.whole_place.listed is not idle
        ):
            self._first = preferred.index
            while place is not None and not self._is_in_reach(place.index):
                place = place.before
        self._latest = place
        return place is not None

    def _is_in_reach(self, index: int) -> bool:
        first = self._first
        if first < 0:
            return True
        if self.within:
            within = self.within
            return index // within == first // within and (index - first) % within <= self.reach
        return (index - first) % len(self._pcpus) <= self.reach

    def latest(self) -> Pcpu:
        place = self._latest
        assert place is not None
        return place.pcpu

    def has(self, queue: Pcpu) -> bool:
        idle = self._looked_at
        return (queue.idle_place.listed is idle or queue.whole_place.listed is idle) and self._is_in_reach(queue.index)

    def queues(self) -> list[Pcpu]:
        found: list[Pcpu] = []
        place = self._looked_at.last
        while place is not None:
            if self._is_in_reach(place.index):
                found.append(place.pcpu)
            place = place.before
        found.reverse()
        return found


class End(Entry):
    """The event at the end of a batch on a PCPU."""

    def __init__(self, pcpu: Pcpu) -> None:
        super().__init__()
        self._pcpu = pcpu

    def fire(self) -> None:
        self._pcpu._end()


class Pcpu(RunQueue[World]):
    """A physical CPU with its run queue.

    Attributes:
        node: NUMA node it belongs to.
        ccx: number of its core complex (CCX); 0 where each node has one last-level cache.
        far_refill: what a world costs besides that was on another core complex before, in picoseconds.
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
        self.ccx = self.far_refill = 0
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
            if world.last.ccx != self.ccx:
                cost += self.far_refill
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
        if world.limit is not None:
            world.limit.started(now)
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
        self._ends = ends  # its alarm finds out when it fires

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

    def costop(self, now: int, state: WorldState = _COSTOPPED) -> None:
        """Co-stop the running vCPU until its siblings catch up, and run the next world; or hold it back in another ``state``."""
        victim = self._take_off(now)
        if victim.node is not self.node:
            victim.node.adjust(victim, self.node)
        if victim.left or victim.has_work(now):
            if victim.left:
                victim.cut(now, victim.left)
            victim.state = state
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
                self._last = None  # the idle loop, a context of its own: docs/design/scheduler.md
            self._idle_since = self.awake if self.awake > now else now
            self.pool.idle.put(self)

    def _take_off(self, now: int) -> World:
        """Take the running vCPU off the PCPU in the midst of a batch; at its very end, the batch counts as done."""
        victim = self.running
        assert victim is not None
        self.charge(now)
        self._event_queue.withdraw(self._alarm)
        self.running = None
        if victim.limit is not None:
            victim.limit.stopped(now)
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
                # without affinities no PCPU is idle that may take it
                idle = self.node.take_idle_for(world, self) if self.node.has_affinity else None
                if idle is not None:
                    idle.start(world, now, self.node.idle_ipi)
                else:
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
        if world.limit is not None:
            world.limit.stopped(now)
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

    def take_allowed(self, pcpu: Pcpu, now: int) -> World | None:
        """Dequeue the next world of this run queue that may run on another PCPU; None when there is none."""
        allowed = _Allowed(self, pcpu)
        if not allowed.queued:
            return None
        world = self._policy.first(allowed, now)
        self.withdraw(world, now)
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


class _Allowed(RunQueue[World]):
    """The part of a run queue that may run on another PCPU, as a policy sees it."""

    def __init__(self, queue: Pcpu, pcpu: Pcpu) -> None:
        super().__init__(queue.index)
        self._queue = queue
        self.since, self.charged = queue.since, queue.charged
        self.systems = [world for world in queue.systems if world.affinity is None or pcpu in world.affinity]
        self.vcpus = [world for world in queue.vcpus if world.affinity is None or pcpu in world.affinity]
        self.queued = len(self.systems) + len(self.vcpus)

    def current(self) -> World | None:
        return self._queue.running


class Node:
    """A NUMA node: PCPUs that share memory, and take waiting worlds from each other.

    Attributes:
        pcpus: its PCPUs, by index, but those that a world has to itself.
        idle: those that run nothing.
        socket: number of its socket.
        reach: PCPUs at which one that goes idle looks for waiting worlds, the next of the node.
        within: PCPUs of a core complex, if one that goes idle looks only at those of its own; 0 for those of the whole node.
        idle_ipi: what an idle PCPU takes to notice a world that another sends it, in picoseconds.
        waiting: number of worlds in its run queues, over time.
        memory: its memory.
        vclock: virtual time of the vCPU furthest ahead among those that ran here, but on a PCPU of their own.
        has_affinity: True where some world here may run on some of the PCPUs only.
    """

    def __init__(self, index: int, policy: SchedulerPolicy) -> None:
        self.index, self._policy = index, policy
        self.pcpus: list[Pcpu] = []
        self.idle = IdlePcpus(policy, self.pcpus)
        self.socket, self.reach, self.within = index, 0, 0
        self.waiting = Level()
        self.vclock = self.idle_ipi = 0
        self.has_affinity = False
        self.memory = Memory()

    def copy_wait(self, source: Node, target: Node) -> float:
        """Return the wait for each byte that a context here copies, from where a NIC of ``source`` has put it to ``target``."""
        return self.read_wait(source) + self.write_wait(target)

    def read_wait(self, source: Node) -> float:
        """Return the wait for each byte that a context here reads, from where a NIC of ``source`` has put it."""
        return source.memory.dma_ps if source is self else self.fetch_wait(source)

    def write_wait(self, target: Node) -> float:
        """Return the wait for each byte that a context here copies to ``target``, from a cache of its own node or besides the read."""
        return target.memory.queue_ps if target is self else self.fetch_wait(target)

    def fetch_wait(self, other: Node) -> float:
        """Return the wait for each byte that a context here copies from or to another node, whose memory or cache has it."""
        return other.memory.beside_ps if other.socket == self.socket else other.memory.far_ps

    def left_wait(self, target: Node) -> float:
        """Return the wait for each byte that a guest of ``target`` reads of what a context here has just put there."""
        return 0.0 if target is self else self.fetch_wait(target)

    def distance(self, one: Node, other: Node) -> int:
        """Return how far apart the nodes are that share cache lines with this one: `SAME_NODE`, `FAR` or `BESIDE`."""
        if one is self and other is self:
            return SAME_NODE
        return BESIDE if one.socket == self.socket and other.socket == self.socket else FAR

    def adjust(self, world: World, old: Node) -> None:
        """Translate the virtual time of a world that migrates from another node, whose virtual clock runs apart."""
        self._policy.migrate(world, self.vclock - old.vclock)

    def enqueue(self, pcpu: Pcpu, world: World, now: int) -> None:
        """Put a world on the run queue of a PCPU of this node."""
        if world.state is not _READY:
            world.state = _READY
            world.stalled_since = now
        if world.system:
            pcpu.systems.append(world)
        else:
            pcpu.vcpus.append(world)
            if world.skew is not None:
                world.skew.gang.watch(now)
        pcpu.queued += 1
        self.waiting.add(1, now)

    def admit(self, world: World, now: int, preferred: Pcpu | None = None) -> None:
        """Place a runnable world: on the preferred PCPU if that is idle, on any idle one, or on a run queue."""
        pcpu = self.idle.take(preferred) if world.affinity is None else self.take_idle(world)
        if pcpu is not None:
            pcpu.start(world, now, self.idle_ipi)
        else:
            pcpus = self.pcpus if world.affinity is None else list(world.affinity)
            self.enqueue(self._policy.admitting_queue(world, pcpus), world, now)

    def take_idle_for(self, world: World, pcpu: Pcpu) -> Pcpu | None:
        """Take an idle PCPU for a world that leaves ``pcpu``; None when none that it may run on is idle."""
        return self.idle.take(pcpu) if world.affinity is None else self.take_idle(world)

    def take_idle(self, world: World) -> Pcpu | None:
        """Take an idle PCPU for a world with affinity: its last one, else one whose core is idle as a whole, else any; None when none is idle."""
        found: Pcpu | None = None
        for pcpu in world.affinity or ():
            if pcpu.idle_place.listed is None:
                continue
            if pcpu is world.last:
                found = pcpu
                break
            if found is None or (found.whole_place.listed is None and pcpu.whole_place.listed is not None):
                found = pcpu
        if found is not None:
            self.idle.remove(found)
        return found

    def withdraw(self, world: World, now: int) -> None:
        """Remove a waiting world from its run queue."""
        for pcpu in self.pcpus:
            if pcpu.withdraw(world, now):
                return

    def steal(self, idle: Pcpu, now: int) -> World | None:
        """Work stealing: dequeue the first world of a run queue for a PCPU that goes idle; None when those that it looks at are empty."""
        if not self.waiting.value:
            return None
        pcpus, reach = self.pcpus, self.reach
        if self.within:
            pcpus = [pcpu for pcpu in pcpus if pcpu.ccx == idle.ccx and pcpu is not idle]
            if len(pcpus) > reach:
                first = idle.index % self.within
                pcpus = [pcpus[index % len(pcpus)] for index in range(first, first + reach)]
        elif len(pcpus) > reach + 1:
            first = idle.index - pcpus[0].index + 1
            pcpus = [pcpus[index % len(pcpus)] for index in range(first, first + reach)]
        if self.has_affinity:
            return self._steal_allowed(idle, pcpus, now)
        return self._policy.steal_queue(pcpus).take_first(now) if pcpus else None

    def _steal_allowed(self, idle: Pcpu, pcpus: list[Pcpu], now: int) -> World | None:
        """Steal a world that may run there: from the queue of the policy's choice, or the next one where none there may."""
        left = list(pcpus)
        while left:
            queue = self._policy.steal_queue(left)
            world = queue.take_allowed(idle, now)
            if world is not None:
                return world
            left.remove(queue)
        return None

    def fill(self, now: int, *, within: bool = False) -> None:
        """Give waiting worlds to idle PCPUs, wherever in the node they wait; with ``within``, in the core complex of the idle one."""
        for pcpu in self.pcpus:
            if not self.waiting.value:
                return
            if pcpu.running is None:
                queues = self.pcpus
                if within:
                    queues = [other for other in queues if other.ccx == pcpu.ccx]
                if self.has_affinity:
                    world = self._steal_allowed(pcpu, queues, now)
                else:
                    world = self._policy.steal_queue(queues).take_first(now)
                if world is not None:
                    self.idle.remove(pcpu)
                    pcpu.start(world, now, self.idle_ipi)


class Skew:
    """The skew of a vCPU: its progress relative to its siblings.

    Attributes:
        gang: its VM.
        world: the vCPU.
        lag: time by which it has fallen behind, in picoseconds, up to the last look; only differences mean something.
        woken: True when it has woken up since.
    """

    def __init__(self, gang: Gang, world: World) -> None:
        self.gang, self.world = gang, world
        self.lag = self._seen = 0
        self.woken = True

    def wake(self) -> None:
        """Forget the lag of a vCPU that wakes from its halt."""
        self.lag = 0
        self._seen = self.world.waited + self.world.costopped
        self.woken = True

    def look(self, now: int) -> None:
        """Update the lag."""
        world = self.world
        stalled = world.waited + world.costopped
        if world.state is not _RUNNING:
            stalled += now - world.stalled_since
        self.lag += stalled - self._seen
        self._seen = stalled


class Gang:
    """The gang of an SMP VM: its vCPUs, co-scheduled."""

    def __init__(self, clock: Clock, vcpus: Sequence[World], policy: SchedulerPolicy, period: int) -> None:
        self._policy, self._period = policy, period
        self._timer = Timer(clock, self._check)
        self._skews = [Skew(self, vcpu) for vcpu in vcpus]
        for skew in self._skews:
            skew.world.skew = skew

    def watch(self, now: int) -> None:
        """Schedule a check of the gang a period from now, because one of its vCPUs has to wait."""
        if self._timer.due is None:
            self._timer.arm(now + self._period)

    def _check(self, now: int) -> None:
        wanting = [skew for skew in self._skews if skew.world.state is not _SLEEPING]
        for skew in wanting:
            skew.look(now)
        slowest = max((skew.lag for skew in wanting if not skew.woken), default=0)
        for skew in wanting:
            if skew.woken:
                skew.lag += slowest
                skew.woken = False
        slowest = max((skew.lag for skew in wanting), default=0)
        for skew in wanting:
            world, lead = skew.world, slowest - skew.lag
            if world.state is _COSTOPPED:
                if self._policy.costarts(lead):
                    _start(world, now)
            elif world.state is not _SLEEPING and world.state is not _LIMITED and self._policy.costops(lead):
                _stop(world, now)
        if any(skew.world.state in (_READY, _COSTOPPED) for skew in self._skews):
            self.watch(now)


def _stop(world: World, now: int) -> None:
    if world.state is _RUNNING:
        world.last.costop(now)
    else:
        _withdraw(world, now, _COSTOPPED)


def _withdraw(world: World, now: int, state: WorldState) -> None:
    """Take a waiting world off its run queue, into a state in which it is held back."""
    world.node.withdraw(world, now)
    world.waited += now - world.stalled_since
    world.state = state
    world.stalled_since = now


def _start(world: World, now: int) -> None:
    world.costopped += now - world.stalled_since
    if world.limit is not None and world.limit.holds():
        world.state = _LIMITED
        world.stalled_since = now
    else:
        world.node.admit(world, now, world.last)


class CpuLimit(OneShot):
    """The CPU limit of a VM or of a resource pool (docs/design/scheduler.md).

    Its worlds use a credit of PCPU time, which grows at the rate of the limit. When it is used up, no vCPU of them runs until it is what a
    quantum brings. It grows up to what four quanta bring, so they never have more than the limit allows and this credit on top.

    Worlds of the VMkernel that work for a VM use the credit too, and are not held back, as none of their batches is cut short.

    Attributes:
        parent: limit of the pool around it; None where no pool around it has one.
        vcpus: vCPUs that it holds back.
        rate: PCPUs that they may have on average, in millionths; -1 for any number.
        is_used_up: True while they are held back.
    """

    def __init__(self, clock: Clock, parent: CpuLimit | None, quantum: int) -> None:
        super().__init__(clock)
        self.parent, self._quantum = parent, quantum
        self.vcpus: list[World] = []
        self.rate = -1
        self.is_used_up = False
        self._running = self._credit = self._since = 0
        """Worlds that run; credit in millionths of picoseconds, at an instant."""

    def holds(self) -> bool:
        """True when this limit, or one around it, is used up."""
        limit: CpuLimit | None = self
        while limit is not None:
            if limit.is_used_up:
                return True
            limit = limit.parent
        return False

    def started(self, now: int) -> None:
        """Count a world that begins to run."""
        limit: CpuLimit | None = self
        while limit is not None:
            limit._change(1, now)
            limit = limit.parent

    def stopped(self, now: int) -> None:
        """Count a world that no longer runs."""
        limit: CpuLimit | None = self
        while limit is not None:
            limit._change(-1, now)
            limit = limit.parent

    def set_rate(self, rate: int, now: int) -> None:
        """Change the limit, to millionths of a PCPU, or -1 for none; the first one begins with the credit of a quantum."""
        if rate == self.rate:
            return
        self._settle(now)
        most = rate * self._quantum
        self._credit = most if self.rate < 0 else min(self._credit, _MOST_QUANTA * most)
        self.rate = rate
        if rate < 0:
            self._release(now)
        else:
            self._watch(now)

    def expire(self, now: int) -> None:
        if self.rate < 0:
            return
        self._settle(now)
        if self.is_used_up and self._credit >= self.rate * self._quantum:
            self._release(now)
        elif not self.is_used_up and self._credit <= 0 and self._running * PPM > self.rate:
            self._use_up(now)
        self._watch(now)

    def _change(self, by: int, now: int) -> None:
        if self.rate >= 0:
            self._settle(now)
        self._running += by
        if self.rate >= 0:
            self._watch(now)

    def _settle(self, now: int) -> None:
        """Bring the credit up to date."""
        if self.rate >= 0:
            most = _MOST_QUANTA * self.rate * self._quantum
            credit = self._credit + (self.rate - self._running * PPM) * (now - self._since)
            self._credit = credit if credit < most else most
        self._since = now

    def _watch(self, now: int) -> None:
        """Set the timer to when the credit is used up, or that of a quantum again."""
        falls = self._running * PPM - self.rate
        if self.is_used_up:
            if falls < 0:
                self.arm(now - (self.rate * self._quantum - self._credit) // falls)
        elif falls > 0:
            self.arm_by(now + max(0, -(-self._credit // falls)))

    def _use_up(self, now: int) -> None:
        self.is_used_up = True
        for world in self.vcpus:  # first, so that none of them takes the place of another
            if world.state is _READY:
                _withdraw(world, now, _LIMITED)
        for world in self.vcpus:
            if world.state is _RUNNING:
                world.last.costop(now, _LIMITED)

    def _release(self, now: int) -> None:
        self.is_used_up = False
        for world in self.vcpus:
            if world.state is _LIMITED and world.limit is not None and not world.limit.holds():
                held = now - world.stalled_since
                world.waited += held
                world.limited += held
                world.node.admit(world, now, world.last)
