"""Worlds, PCPUs and NUMA nodes: dispatching, preemption, run queues, co-scheduling, limits.

A dispatch is part of the wake-up and costs one event: the end of its batch. A world with more work continues, with one
event for each further batch. The scheduler policy makes the decisions (`hostsim.model.policy.scheduler`).

A core enters core states (C-states) deeper than C1 by its idle time. C1, the state of every idle PCPU, has the exit
cost `halt_exit`.

Relaxed co-scheduling bounds the skew between the vCPUs of an SMP VM by co-stops. A vCPU makes progress while it runs,
and falls behind while it is READY or COSTOPPED. Halted time has no effect: a vCPU that wakes has the progress of the
slowest of its siblings. The VM is checked once per period while any of its vCPUs waits; a VM whose vCPUs get PCPUs at
once costs no event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""Unit of the rate of a limit: millionths of a PCPU."""
_MOST_QUANTA: Final = 4
"""Largest credit of a limit in quanta (assumed): time unused while its vCPUs wait for a PCPU is not lost."""


class CoreStates:
    """The core states that the idle PCPUs of a host enter, by their expected idle time.

    Attributes:
        fade: number of idle periods over which the mean of a PCPU decays; 0 if C1 is the only state.
        least: smallest mean idle time for the first of the states, in picoseconds.
    """

    def __init__(self, idle: IdleSpec, settings: HostSettings, family: str) -> None:
        """Select the states of the processor family that the power policy allows."""
        latencies = sorted(idle.states.get(family, {}).values())
        self._states = [
            (round(latency * settings.idle_latencies), round(latency * idle.exit_share))
            for latency in latencies
            if latency <= settings.deepest_exit
        ]
        self.fade = idle.fade if self._states else 0
        self.least = self._states[0][0] if self._states else 0

    def exit_time(self, mean: int) -> int:
        """Return the time to leave the state of a core with this mean idle time, without C1, in picoseconds."""
        time = 0
        for least, exit_time in self._states:
            if mean >= least:
                time = exit_time
        return time


class WorldState(Enum):
    """Scheduling state of a world."""

    SLEEPING = "sleeping"
    """Without work; only a wake-up makes it runnable."""
    READY = "ready"
    """Waits in the run queue of a PCPU."""
    RUNNING = "running"
    """Has a PCPU."""
    COSTOPPED = "costopped"
    """Has work, but is held back as sibling vCPUs are too far behind (`Gang`)."""
    LIMITED = "limited"
    """Has work, but is held back as its VM or resource pool has reached its limit (`CpuLimit`)."""


_RUNNING: Final = WorldState.RUNNING
_READY: Final = WorldState.READY
_SLEEPING: Final = WorldState.SLEEPING
_COSTOPPED: Final = WorldState.COSTOPPED
_LIMITED: Final = WorldState.LIMITED


@mypyc_attr(allow_interpreted_subclasses=True)  # tests and plug-ins subclass worlds
class World(Schedulable):
    """A world: a schedulable context, the base class of everything that runs on a PCPU.

    A subclass defines the work: `begin` takes the next batch and returns its length; `end` does all that must wait for
    the end of the batch. In between the PCPU is busy, and the scheduler may preempt a vCPU.

    Attributes:
        kind: kind of the world, such as ``vcpu`` or ``netpoll``, which is the prefix of its counters.
        node: home node, the only one on which the world runs.
        last: PCPU of its last or first dispatch.
        waited: total time READY or LIMITED up to the last dispatch, in picoseconds.
        limited: LIMITED part of this time.
        costopped: total time COSTOPPED up to the last start, in picoseconds.
        stalled_since: time at which it became READY, LIMITED or COSTOPPED.
        yielded_at: time at which it last left a PCPU with more work.
        skew: progress of a vCPU of an SMP VM; None for every other world.
        limit: innermost limit of the VM that it belongs to or works for; None without a limit of the VM or its pools.
        affinity: PCPUs of its node that it may run on (``sched.cpu.affinity``); None for all.
        left: rest of a preempted batch, in picoseconds with the core to itself.
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
        """Begin the next batch of work at ``start``; returns its length in picoseconds, or None without work.

        Called only by the PCPU, when the world has no unfinished batch.
        """
        raise NotImplementedError

    def end(self, now: int) -> None:
        """Finish the batch, or none right after a spurious wake-up. May wake other worlds."""

    def cut(self, now: int, left: int) -> None:
        """Handle preemption with ``left`` picoseconds of the batch remaining.

        They run later, before `end` is called.
        """

    def resume(self, start: int) -> None:
        """Resume a preempted batch at ``start``, after the context switch."""

    def has_work(self, now: int) -> bool:
        """True if `begin` would return work now."""
        raise NotImplementedError

    def rest(self, now: int) -> None:
        """Schedule the next wake-up of the world, which has just gone to sleep."""


def ready_times(worlds: list[World], now: int) -> list[int]:
    """Return the ready time (%RDY) of each world so far, in picoseconds, including limited time."""
    ready, limited = WorldState.READY, WorldState.LIMITED
    return [
        world.waited + (now - world.stalled_since if world.state is ready or world.state is limited else 0)
        for world in worlds
    ]


def limited_times(worlds: list[World], now: int) -> list[int]:
    """Return the time for which a limit held back each world (%MLMTD) so far, in picoseconds."""
    limited = WorldState.LIMITED
    return [world.limited + (now - world.stalled_since if world.state is limited else 0) for world in worlds]


def costop_times(worlds: list[World], now: int) -> list[int]:
    """Return the co-stop time (%CSTP) of each world so far, in picoseconds."""
    stopped = WorldState.COSTOPPED
    return [world.costopped + (now - world.stalled_since if world.state is stopped else 0) for world in worlds]


class Place:
    """The entry of a PCPU in a list of idle PCPUs.

    Attributes:
        pcpu: the PCPU.
        index: its index.
        listed: list of the entry; None if it is not in a list.
        before: previous entry, idle for longer.
        after: next entry, idle for a shorter time.
    """

    def __init__(self, pcpu: Pcpu) -> None:
        self.pcpu, self.index = pcpu, pcpu.index
        self.listed: IdleList | None = None
        self.before: Place | None = None
        self.after: Place | None = None


class IdleList:
    """A list of idle PCPUs, ordered by the beginning of their idle time.

    Attributes:
        last: entry of the PCPU idle for the shortest time; None if the list is empty.
    """

    def __init__(self) -> None:
        self.last: Place | None = None

    def put(self, place: Place) -> None:
        """Append a PCPU that is not in a list."""
        last = self.last
        place.before = last
        if last is not None:
            last.after = place
        self.last = place
        place.listed = self

    def remove(self, place: Place) -> None:
        """Remove a PCPU."""
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
    """The idle PCPUs of a node; a policy sees those that are considered for a world.

    Attributes:
        reach: number of PCPUs considered for a world whose own PCPU is busy: the next ones of the node.
        within: number of PCPUs of a core complex, if only those of the world's complex are considered; 0 for the whole
            node.
    """

    def __init__(self, policy: SchedulerPolicy, pcpus: list[Pcpu]) -> None:
        self._policy, self._pcpus, self.reach, self.within = policy, pcpus, 0, 0
        self._all = IdleList()
        self._looked_at = self._all
        self._first = -1
        """Index of the PCPU whose reach is considered; -1 for all PCPUs."""
        self._latest: Place | None = None

    def put(self, pcpu: Pcpu) -> None:
        """Add a PCPU that becomes idle."""
        self._all.put(pcpu.idle_place)

    def remove(self, pcpu: Pcpu) -> None:
        """Remove a PCPU."""
        self._all.remove(pcpu.idle_place)

    def take(self, preferred: Pcpu | None) -> Pcpu | None:
        """Remove and return an idle PCPU that the policy selects; None if none is idle."""
        if not self._look(self._all, preferred):
            return None
        pcpu = self._policy.idle_queue(self, preferred)
        self.remove(pcpu)
        return pcpu

    def _look(self, idle: IdleList, preferred: Pcpu | None) -> bool:
        """Select the PCPUs of a list to consider for a world; False if there are none.

        Args:
            idle: list of idle PCPUs.
            preferred: PCPU of the world; if it is idle or None, all PCPUs of the list are considered.
        """
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
        pcpus: list[Pcpu] = []
        place = self._looked_at.last
        while place is not None:
            if self._is_in_reach(place.index):
                pcpus.append(place.pcpu)
            place = place.before
        pcpus.reverse()
        return pcpus


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
        node: NUMA node of the PCPU.
        ccx: number of its core complex (CCX); 0 without core complexes.
        far_refill: additional cost of a world that was on another core complex, in picoseconds.
        pool: node of whose idle list it is part, and from which it steals worlds; its own node for an exclusive PCPU.
        running: running world; None if idle.
        turning: True between the end of a batch and the beginning of the next, when preemption is impossible.
        seized: True if the firmware has it or waits for it: its batch may exceed the quantum, and running system worlds
            yield to it.
        dispatches: number of dispatches on this PCPU.
        switches: number of these of another world than the last one; the idle loop counts as one.
        preemptions: number of preempted worlds.
        states: core states deeper than C1 that its core enters when idle; None for C1 only.
        idle_mean: moving average of its idle periods, in picoseconds.
        awake: time from which its core executes, after it has left a state deeper than C1; may be past.
        idle_place: entry among the idle PCPUs of its pool.
        whole_place: entry among those of completely idle cores, with hyperthreads.
    """

    def __init__(self, clock: Clock, index: int, node: Node, costs: CostTable, policy: SchedulerPolicy) -> None:
        super().__init__(index)
        self._event_queue, self._policy, self._quantum = clock.event_queue, policy, policy.quantum
        self._halt_exit, self._preemption = costs.halt_exit, costs.preemption
        self._switch_same = costs.context_switch + costs.cache_refill_same
        self._switch_migrated = costs.context_switch + costs.cache_refill_migrated
        # private caches hold more of a guest than of a context: after another world they are as cold as on another PCPU
        self._vcpu_after_world = self._switch_same + costs.guest_cache_refill
        self._vcpu_migrated = max(self._switch_migrated, self._vcpu_after_world)
        self.node = self.pool = node
        self.ccx = self.far_refill = 0
        self.running: World | None = None
        self.turning = self.seized = False
        self.dispatches = self.switches = self.preemptions = 0
        self._last: World | None = None
        self._cached: World | None = None
        """Last world that ran here, whose lines the private caches hold; the idle loop evicts nothing."""
        self._alarm = End(self)
        self.idle_place, self.whole_place = Place(self), Place(self)
        self._ends = 0
        self._halted = True
        self.states: CoreStates | None = None
        self.idle_mean = self.awake = 0
        self._idle_total = self._idle_since = 0

    def dedicate(self, world: World, pool: Node, *, halts: bool) -> None:
        """Pin a world to this PCPU exclusively, before time starts.

        The world keeps the PCPU while it is idle: its wake-up costs no context switch and no cache refill. A world that
        does not halt spins in the monitor, without the exit from an idle loop (halt exit).

        Args:
            world: a vCPU of the same node.
            pool: a node of which it is the only PCPU.
            halts: True if the PCPU halts while the world is idle.
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
        """Return the core time used so far, in picoseconds; without hyperthreads this is the busy time."""
        return self.busy(now)

    def charge(self, now: int) -> None:
        """Charge the running world for its CPU time so far; without effect on decisions."""
        world = self.running
        if world is not None and now > self.charged:
            spent = now - self.charged
            world.used += spent
            self._policy.charge(world, spent)
            self.charged = now

    def _exit_time(self, now: int, mean: int) -> int:
        """Return the time to leave the core's state, without C1, for a mean idle time of this PCPU."""
        states = self.states
        return 0 if states is None or mean < states.least else states.exit_time(mean)

    # --- running worlds

    def start(self, world: World, now: int, surcharge: int = 0) -> None:
        """Dispatch a world that is not on a run queue, on this PCPU, which is not running any."""
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
        # set only now, as a world that the first batch wakes must not preempt a batch whose end is not known
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
        """Schedule the end of the current batch."""
        self._event_queue.enter(self._alarm, end)

    def remaining(self, now: int) -> int:
        """Return the rest of the running world's batch, in picoseconds on a core that is not shared."""
        world = self.running
        assert world is not None
        return self._as_work(self._ends - now) + world.left

    def extend(self, extra: int) -> None:
        """Extend the running world's batch after an interrupt within it.

        Time beyond its quantum is left for later.
        """
        world = self.running
        assert world is not None
        ends = self._ends + self._as_time(extra)
        latest = max(self._ends, self.since + self._quantum)
        if ends > latest and not self.seized:
            world.left += self._as_work(ends - latest)
            ends = latest
        self._ends = ends  # its alarm moves to the new end when it fires

    def finish(self, at: int) -> None:
        """End the running world's batch at a time; the rest of it was a wait in a loop."""
        world = self.running
        assert world is not None
        world.left = 0
        self._ends = at
        if at < self._alarm.instant:
            self._event_queue.hasten(self._alarm, at)

    def _as_work(self, wall: int) -> int:
        """Return the work done in a span of wall time."""
        return wall

    def _as_time(self, work: int) -> int:
        """Return the wall time of work."""
        return work

    def preempt(self, world: World, now: int, surcharge: int = 0) -> None:
        """Preempt the running vCPU and run ``world`` instead; the vCPU waits here for the rest of its batch."""
        self.preemptions += 1
        self._retire(self._take_off(now), now)
        self.start(world, now, self._preemption + surcharge)

    def costop(self, now: int, state: WorldState = _COSTOPPED) -> None:
        """Co-stop the running vCPU until its siblings catch up, or hold it back in another ``state``.

        The next world then runs.
        """
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
        """Run the next world, or become idle."""
        if following is not None:
            self.start(following, now)
        else:
            self._halted = True
            if self.pool is self.node:  # a world on an exclusive PCPU spins in the monitor instead
                self._last = None  # the idle loop is a separate context: docs/design/scheduler.md
            self._idle_since = self.awake if self.awake > now else now
            self.pool.idle.put(self)

    def _take_off(self, now: int) -> World:
        """Take the running vCPU off the PCPU in mid-batch; a batch that ends at this instant counts as complete."""
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
        """Put a world that leaves the PCPU on a run queue of its home node if it has more work, else to sleep."""
        if world.node is not self.node:
            world.node.adjust(world, self.node)
        if world.left:
            world.cut(now, world.left)
        if world.left or world.has_work(now):
            world.yielded_at = now
            if world.node is self.node:
                # without affinities, no PCPU that may take it is idle
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
            if following is None and self.queued:  # a world has been woken meanwhile
                following = self.take_first(now)
        self.running = None
        self.turning = False
        if world.limit is not None:
            world.limit.stopped(now)
        self._go_on(following, now)

    def _must_yield(self, world: World, now: int) -> bool:
        """True if the running world, whose batch has just ended, must yield to a waiting one."""
        if (self.seized and self.systems) or self._policy.yields(world, self, now):
            return True
        if now - self.since >= self._quantum:
            self.since = now  # start of the next quantum
        return False

    def take_first(self, now: int) -> World | None:
        """Dequeue the next world of this PCPU's run queue; None if it is empty."""
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
        """Dequeue the next world of this run queue that may run on another PCPU, or None."""
        allowed = _Allowed(self, pcpu)
        if not allowed.queued:
            return None
        world = self._policy.first(allowed, now)
        self.withdraw(world, now)
        return world

    def withdraw(self, world: World, now: int) -> bool:
        """Remove a world from this PCPU's run queue; False if it does not wait here."""
        queue = self.systems if world.system else self.vcpus
        if world not in queue:
            return False
        queue.remove(world)
        self.queued -= 1
        self.node.waiting.add(-1, now)
        return True


class _Allowed(RunQueue[World]):
    """The worlds of a run queue that may run on another PCPU, in the form that a policy expects."""

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
    """A NUMA node: PCPUs that share memory, and steal waiting worlds from each other.

    Attributes:
        pcpus: PCPUs by index, without exclusive ones.
        idle: idle PCPUs.
        socket: number of its socket.
        reach: number of PCPUs from which one that becomes idle may steal worlds: the next ones of the node.
        within: number of PCPUs of a core complex, if one that becomes idle steals only within its complex; 0 for the
            whole node.
        idle_ipi: time until an idle PCPU notices a world from another PCPU, in picoseconds.
        waiting: number of worlds in its run queues, over time.
        memory: memory of the node.
        vclock: largest virtual time of the vCPUs that ran here, without exclusive PCPUs.
        has_affinity: True if a world is restricted to some of the PCPUs.
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
        """Return the wait for each byte that a context here copies to ``target``, from a NIC of ``source``."""
        return self.read_wait(source) + self.write_wait(target)

    def read_wait(self, source: Node) -> float:
        """Return the wait for each byte that a context of this node reads from a NIC of ``source``."""
        return source.memory.dma_ps if source is self else self.fetch_wait(source)

    def write_wait(self, target: Node) -> float:
        """Return the wait for each byte that a context here writes to ``target``, in addition to the read."""
        return target.memory.queue_ps if target is self else self.fetch_wait(target)

    def fetch_wait(self, other: Node) -> float:
        """Return the wait for each byte that a context of this node copies from or to another node."""
        return other.memory.beside_ps if other.socket == self.socket else other.memory.far_ps

    def left_wait(self, target: Node) -> float:
        """Return the wait for each byte that a guest on ``target`` reads after a context here wrote it."""
        return 0.0 if target is self else self.fetch_wait(target)

    def distance(self, one: Node, other: Node) -> int:
        """Return the distance of nodes that share cache lines with this one: `SAME_NODE`, `FAR` or `BESIDE`."""
        if one is self and other is self:
            return SAME_NODE
        return BESIDE if one.socket == self.socket and other.socket == self.socket else FAR

    def adjust(self, world: World, old: Node) -> None:
        """Convert the virtual time of a world that migrates from another node, whose virtual clock differs."""
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
        """Place a runnable world: on the preferred PCPU if idle, on any idle one, or on a run queue."""
        pcpu = self.idle.take(preferred) if world.affinity is None else self.take_idle(world)
        if pcpu is not None:
            pcpu.start(world, now, self.idle_ipi)
        else:
            pcpus = self.pcpus if world.affinity is None else list(world.affinity)
            self.enqueue(self._policy.admitting_queue(world, pcpus), world, now)

    def take_idle_for(self, world: World, pcpu: Pcpu) -> Pcpu | None:
        """Take an idle PCPU for a world that leaves ``pcpu``; None if none that it may run on is idle."""
        return self.idle.take(pcpu) if world.affinity is None else self.take_idle(world)

    def take_idle(self, world: World) -> Pcpu | None:
        """Take an idle PCPU for a world with affinity; None if none is idle.

        The order is: its last PCPU, one of a completely idle core, any other.
        """
        best: Pcpu | None = None
        for pcpu in world.affinity or ():
            if pcpu.idle_place.listed is None:
                continue
            if pcpu is world.last:
                best = pcpu
                break
            if best is None or (best.whole_place.listed is None and pcpu.whole_place.listed is not None):
                best = pcpu
        if best is not None:
            self.idle.remove(best)
        return best

    def withdraw(self, world: World, now: int) -> None:
        """Remove a waiting world from its run queue."""
        for pcpu in self.pcpus:
            if pcpu.withdraw(world, now):
                return

    def steal(self, idle: Pcpu, now: int) -> World | None:
        """Work stealing: dequeue the first world of a run queue for a PCPU that becomes idle, or None."""
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
        """Steal a world that may run there, from the queue that the policy selects, or from the next one."""
        left = list(pcpus)
        while left:
            queue = self._policy.steal_queue(left)
            world = queue.take_allowed(idle, now)
            if world is not None:
                return world
            left.remove(queue)
        return None

    def fill(self, now: int, *, within: bool = False) -> None:
        """Move waiting worlds of the node to idle PCPUs; with ``within``, only within their core complexes."""
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
        gang: gang of the VM.
        world: the vCPU.
        lag: time that it has fallen behind up to the last check, in picoseconds; only differences are meaningful.
        woken: True if it has woken up since the last check.
    """

    def __init__(self, gang: Gang, world: World) -> None:
        self.gang, self.world = gang, world
        self.lag = self._stalled_before = 0
        self.woken = True

    def wake(self) -> None:
        """Reset the lag of a vCPU that wakes from its halt."""
        self.lag = 0
        self._stalled_before = self.world.waited + self.world.costopped
        self.woken = True

    def look(self, now: int) -> None:
        """Update the lag."""
        world = self.world
        stalled = world.waited + world.costopped
        if world.state is not _RUNNING:
            stalled += now - world.stalled_since
        self.lag += stalled - self._stalled_before
        self._stalled_before = stalled


class Gang:
    """The gang of an SMP VM: its co-scheduled vCPUs."""

    def __init__(
        self,
        clock: Clock,
        vcpus: Sequence[World],
        policy: SchedulerPolicy,
        period: int,
        advance: Callable[[Node, int], None],
    ) -> None:
        self._policy, self._period, self._advance = policy, period, advance
        self._timer = Timer(clock, self._check)
        self._skews = [Skew(self, vcpu) for vcpu in vcpus]
        for skew in self._skews:
            skew.world.skew = skew

    def watch(self, now: int) -> None:
        """Schedule a check of the gang a period from now, as one of its vCPUs has to wait."""
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
        if any(skew.world.state is _COSTOPPED for skew in self._skews):
            # a sibling that waits would hold it back until a quantum ends, or until the balancer's next check
            for node in dict.fromkeys(skew.world.node for skew in wanting if skew.world.state is _READY):
                self._advance(node, now)
        if any(skew.world.state in (_READY, _COSTOPPED) for skew in self._skews):
            self.watch(now)


def _stop(world: World, now: int) -> None:
    if world.state is _RUNNING:
        world.last.costop(now)
    else:
        _withdraw(world, now, _COSTOPPED)


def _withdraw(world: World, now: int, state: WorldState) -> None:
    """Remove a waiting world from its run queue, into a state in which it is held back."""
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

    Its worlds use a credit of PCPU time, which grows at the rate of the limit. When the credit is used up, none of its
    vCPUs runs until one quantum of credit has accumulated. The largest credit is that of four quanta, so that the
    time used never exceeds the limit by more than this.

    Worlds of the VMkernel that work for a VM use the credit too, but are not held back, as their batches cannot be
    preempted.

    Attributes:
        parent: limit of the nearest enclosing pool with a limit; None without one.
        vcpus: vCPUs under the limit.
        rate: limit of their mean use, in millionths of a PCPU; -1 for none.
        is_used_up: True while they are held back.
    """

    def __init__(self, clock: Clock, parent: CpuLimit | None, quantum: int) -> None:
        super().__init__(clock)
        self.parent, self._quantum = parent, quantum
        self.vcpus: list[World] = []
        self.rate = -1
        self.is_used_up = False
        self._running = self._credit = self._since = 0
        """Number of running worlds; credit in millionths of picoseconds, at a time."""

    def holds(self) -> bool:
        """True if this limit or an enclosing one is used up."""
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
        """Count a world that stops running."""
        limit: CpuLimit | None = self
        while limit is not None:
            limit._change(-1, now)
            limit = limit.parent

    def set_rate(self, rate: int, now: int) -> None:
        """Set the limit in millionths of a PCPU, or -1 for none.

        The first limit starts with the credit of one quantum.
        """
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
        """Update the credit."""
        if self.rate >= 0:
            most = _MOST_QUANTA * self.rate * self._quantum
            credit = self._credit + (self.rate - self._running * PPM) * (now - self._since)
            self._credit = credit if credit < most else most
        self._since = now

    def _watch(self, now: int) -> None:
        """Set the timer to the time at which the credit is used up, or reaches that of a quantum again."""
        falls = self._running * PPM - self.rate
        if self.is_used_up:
            if falls < 0:
                self.arm(now - (self.rate * self._quantum - self._credit) // falls)
        elif falls > 0:
            self.arm_by(now + max(0, -(-self._credit // falls)))

    def _use_up(self, now: int) -> None:
        self.is_used_up = True
        for world in self.vcpus:  # first, so that none of them replaces another
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
