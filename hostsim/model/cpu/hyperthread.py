"""Hyperthreads (SMT): two PCPUs that share a core.

While both run, each has half of the throughput of the shared core. When one starts or stops, the end of the other's
batch moves. Instants that a batch has recorded (when each packet was done) remain as computed at its start, at full
speed: a batch on a shared core ends later than the last of these instants.
"""

from __future__ import annotations

from hostsim.engine.clock import Clock, Entry, EventQueue
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.pcpu import IdleList, IdlePcpus, Node, Pcpu, World, WorldState
from hostsim.model.policy.scheduler import SchedulerPolicy
from hostsim.units import scaled, scaled_up

__all__ = ["Hyperthread", "IdleHyperthreads", "Look"]


class Hyperthread(Pcpu):
    """A hyperthread: a PCPU that shares its core with its sibling.

    Lengths of batches and their remainders are work: picoseconds on a core that is not shared.

    Attributes:
        sibling: the other PCPU of the core.
    """

    sibling: Hyperthread

    def __init__(self, clock: Clock, index: int, node: Node, costs: CostTable, policy: SchedulerPolicy) -> None:
        super().__init__(clock, index, node, costs, policy)
        idle = node.idle
        assert isinstance(idle, IdleHyperthreads)
        self._cores = idle
        pace = costs.smt_throughput / 2
        self._work, self._wall = pace.numerator, pace.denominator
        self._pending = False
        """True if a batch runs, and its end is in the clock's queue."""
        self._shared = False
        """True if both threads are busy."""
        self._shared_total = self._shared_since = 0

    @classmethod
    def pair(
        cls, clock: Clock, index: int, node: Node, costs: CostTable, policy: SchedulerPolicy
    ) -> tuple[Hyperthread, Hyperthread]:
        """Create the two PCPUs of a core; the first has the given index."""
        one, other = (cls(clock, index + thread, node, costs, policy) for thread in range(2))
        one.sibling, other.sibling = other, one
        return one, other

    def used(self, now: int) -> int:
        """Return the core time used by this PCPU, in picoseconds; half of the time while both threads run."""
        shared = self._shared_total + (max(0, now - self._shared_since) if self._shared else 0)
        return self.busy(now) - shared // 2

    def start(self, world: World, now: int, surcharge: int = 0) -> None:
        sibling = self.sibling
        if self._halted and not sibling._halted:
            self._share(now)
            sibling._share(now)
            self._cores.shared += 1
            self._cores.watch()
        super().start(world, now, surcharge)

    def _exit_time(self, now: int, mean: int) -> int:
        """Return the exit time of the shallower state of the two threads.

        While the other thread is leaving a state, this is the remaining time.
        """
        sibling = self.sibling
        if not sibling._halted:
            return sibling.awake - now if sibling.awake > now else 0
        return super()._exit_time(now, sibling.idle_mean if sibling.idle_mean < mean else mean)

    def preempt(self, world: World, now: int, surcharge: int = 0) -> None:
        self._count_work(now)
        super().preempt(world, now, surcharge)

    def costop(self, now: int, state: WorldState = WorldState.COSTOPPED) -> None:
        self._count_work(now)
        super().costop(now, state)
        self._leave(now)

    def is_held_back(self, now: int, period: int) -> bool:
        """True if a vCPU that may migrate runs a batch here, and the core has been shared for a period."""
        world = self.running
        return (
            self._shared
            and now - self._shared_since >= period
            and world is not None
            and not world.system
            and world.node is self.node
            and world.affinity is None
            and self._ends > now
        )

    def move(self, target: Pcpu, now: int) -> None:
        """Move the running vCPU within a batch to an idle PCPU, and run the next world."""
        self._count_work(now)
        world = self._take_off(now)
        if world.left:
            world.cut(now, world.left)
        target.start(world, now, self._preemption + self.pool.idle_ipi)
        self._go_on(self.take_first(now) if self.queued else self.pool.steal(self, now), now)
        self._leave(now)

    def _end(self) -> None:
        if self._ends <= self._event_queue.now:
            self._pending = False
        super()._end()
        if self._shared:
            self._leave(self._event_queue.now)

    def _set_end(self, end: int) -> None:
        """Schedule the end of a batch, later than given if the core is shared."""
        if self._shared:
            now = self._event_queue.now
            self._ends = end = now + self._slowed(end - now)
        self._pending = True
        self._event_queue.enter(self._alarm, end)

    def _slowed(self, work: int) -> int:
        """Return the wall time of work on a shared core, at most a quantum; the rest of the work is left."""
        wall = scaled_up(work, self._wall, self._work)
        if wall > self._quantum:
            wall = self._quantum
            assert self.running is not None
            self.running.left += work - scaled(wall, self._work, self._wall)
        return wall

    def _count_work(self, now: int) -> None:
        """Convert the remaining wall time of a preempted batch to work."""
        self._pending = False
        if self._shared:
            self._ends = now + scaled(self._ends - now, self._work, self._wall)

    def _leave(self, now: int) -> None:
        """End the sharing of the core if this thread has become idle."""
        if self._halted and self._shared:
            self._part(now)
            self.sibling._part(now)
            self._cores.shared -= 1

    def _share(self, now: int) -> None:
        """Begin to share the core, as both threads are busy from now on."""
        self._shared = True
        since = self._shared_since = self.sibling.awake if self.sibling.awake > now else now
        if self.awake > since:
            self._shared_since = self.awake
        if self._pending and self._ends > now:
            self._move_end(now, self._slowed(self._ends - now))

    def _part(self, now: int) -> None:
        """End the sharing of the core, as one of the threads has become idle."""
        self._shared = False
        self._shared_total += max(0, now - self._shared_since)
        if self._pending and self._ends > now:
            self._move_end(now, scaled(self._ends - now, self._work, self._wall))

    def _move_end(self, now: int, wall: int) -> None:
        queue, alarm = self._event_queue, self._alarm
        self._ends = end = now + wall
        if end < alarm.instant:
            queue.hasten(alarm, end)
        else:
            queue.withdraw(alarm)
            queue.enter(alarm, end)

    def _as_work(self, wall: int) -> int:
        return scaled(wall, self._work, self._wall) if self._shared else wall

    def _as_time(self, work: int) -> int:
        return scaled_up(work, self._wall, self._work) if self._shared else work


class Look(Entry):
    """The next check for vCPUs on shared cores of a node (``Cpu.HTRebalancePeriod``)."""

    def __init__(self, cores: IdleHyperthreads) -> None:
        super().__init__()
        self._cores = cores

    def fire(self) -> None:
        self._cores.rebalance()


class IdleHyperthreads(IdlePcpus):
    """The idle PCPUs of a node with hyperthreads; completely idle cores are preferred.

    A vCPU does not stay on a shared core while another core of the node is idle. The first check is a period after both
    conditions hold; checks repeat while they do.

    Attributes:
        shared: number of cores of the node with two busy threads.
    """

    def __init__(self, policy: SchedulerPolicy, pcpus: list[Pcpu], event_queue: EventQueue, period: int) -> None:
        super().__init__(policy, pcpus)
        self._whole = IdleList()
        self._event_queue, self._period, self._look_due = event_queue, period, Look(self)
        self.shared = 0

    def watch(self) -> None:
        """Schedule a check if a core is shared, another is idle, and none is scheduled."""
        if self.shared and self._whole.last is not None and self._period and not self._look_due.scheduled:
            self._event_queue.enter(self._look_due, self._event_queue.now + self._period)

    def rebalance(self) -> None:
        """Move a vCPU off each core that has been shared for a period, while there are idle cores."""
        now = self._event_queue.now
        for pcpu in self._pcpus:
            if self._whole.last is None:
                return
            assert isinstance(pcpu, Hyperthread)
            if pcpu.is_held_back(now, self._period):
                target = self.take(None)
                assert target is not None
                pcpu.move(target, now)
        self.watch()

    def put(self, pcpu: Pcpu) -> None:
        super().put(pcpu)
        assert isinstance(pcpu, Hyperthread)
        sibling = pcpu.sibling
        if sibling.idle_place.listed is self._all:
            self._whole.put(sibling.whole_place)
            self._whole.put(pcpu.whole_place)
            if self.shared:
                self.watch()

    def remove(self, pcpu: Pcpu) -> None:
        super().remove(pcpu)
        if pcpu.whole_place.listed is not None:
            assert isinstance(pcpu, Hyperthread)
            self._whole.remove(pcpu.whole_place)
            self._whole.remove(pcpu.sibling.whole_place)

    def take(self, preferred: Pcpu | None) -> Pcpu | None:
        if not self._look(self._whole, preferred) and not self._look(self._all, preferred):
            return None
        pcpu = self._policy.idle_queue(self, preferred)
        self.remove(pcpu)
        return pcpu
