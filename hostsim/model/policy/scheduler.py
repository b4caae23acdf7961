"""CPU scheduler policy: run-queue order, yielding, virtual time, preemption, and selection of a PCPU.

The mechanism is `hostsim.model.cpu`: it has the run queues, dispatches, charges for switches and preempts batches, and
calls the host's `SchedulerPolicy` for each decision. A user's policy is a subclass of `ProportionalShare` or of
`SchedulerPolicy`. NUMA scheduling is in `hostsim.model.policy.numa` (docs/decisions/0117).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from hostsim.config.platform import HostSettings
from hostsim.engine.compiled import mypyc_attr
from hostsim.model.policy.numa import move_to_balance

__all__ = ["IdleQueues", "PolicyMaker", "ProportionalShare", "Q", "RunQueue", "Schedulable", "SchedulerPolicy", "W"]


@mypyc_attr(allow_interpreted_subclasses=True)  # worlds
class Schedulable:
    """A schedulable context (thread) as seen by a scheduler policy: the base class of worlds.

    Attributes:
        name: name in messages.
        system: True for VMkernel worlds, whose batches are never preempted.
        payers: for a VMkernel world that works for a VM, the vCPUs whose virtual time it is charged to; else empty.
        shares: weight in proportional share.
        used: total running time, in picoseconds.
        vtime: virtual time; only the policy changes it.
    """

    def __init__(self, name: str, *, system: bool, shares: int) -> None:
        self.name, self.system, self.shares = name, system, shares
        self.used = self.vtime = 0
        self.payers: tuple[Schedulable, ...] = ()


W = TypeVar("W", bound=Schedulable)


class RunQueue(Generic[W]):
    """The run queue of a PCPU as seen by a scheduler policy: the worlds that wait there.

    A policy reads it and must not change it.

    Attributes:
        index: number of the PCPU.
        since: time at which the running world was dispatched, or began another quantum.
        charged: time up to which the running world is charged.
        systems: waiting VMkernel worlds, in order of arrival.
        vcpus: waiting vCPUs, in order of arrival.
        queued: number of waiting worlds.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.since = self.charged = self.queued = 0
        self.systems: list[W] = []
        self.vcpus: list[W] = []

    def current(self) -> W | None:
        """Return the running world of the PCPU; None if idle."""
        raise NotImplementedError


Q = TypeVar("Q", bound=RunQueue[Any])


class IdleQueues(Generic[Q]):
    """Run queues of idle PCPUs, as a scheduler policy sees them when it selects one."""

    def latest(self) -> Q:
        """Return the run queue whose PCPU became idle last."""
        raise NotImplementedError

    def has(self, queue: Q) -> bool:
        """True if this run queue is included."""
        raise NotImplementedError

    def queues(self) -> list[Q]:
        """Return all run queues, in the order in which their PCPUs became idle."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class SchedulerPolicy:
    """A CPU scheduler policy: the decisions of a scheduler, each a method that the mechanism calls.

    Times and lengths are in picoseconds. A policy may store state about worlds. Its decisions are bounded: a PCPU is
    never left idle while a world waits in its queue, batches of system worlds are not preempted, worlds with exclusive
    PCPUs stay there, and the firmware has priority over all others.

    Attributes:
        quantum: longest time on a PCPU without a decision about yielding. Read once, when the host is built.
    """

    def __init__(self, settings: HostSettings, lead: int) -> None:
        """Create the policy of a host.

        Args:
            settings: effective settings of the host.
            lead: lead in virtual time from which one vCPU replaces another (``vcpu_preemption_lead``).
        """
        self.quantum = settings.quantum

    # --- virtual time

    def charge(self, world: Schedulable, spent: int) -> None:
        """Charge virtual time for ``spent`` picoseconds of a world, to itself or to its payers.

        Samples and balancers charge within a batch, so that no decision may depend on the number of parts of a stay.
        """
        raise NotImplementedError

    def wake(self, world: Schedulable, vclock: int) -> None:
        """Update the virtual time of a world that wakes up.

        Args:
            world: the world, which is still asleep.
            vclock: largest virtual time of the vCPUs that ran on the node.
        """
        raise NotImplementedError

    def migrate(self, world: Schedulable, shift: int) -> None:
        """Convert the virtual time of a world that migrates to a node with a virtual clock ``shift`` ahead."""
        raise NotImplementedError

    def reweigh(self, world: Schedulable, shares: int, vclock: int) -> None:
        """Set the shares of a vCPU after a change of its entitlement to CPU.

        Reservations, limits and pools change it (`hostsim.model.control.resources`).

        Args:
            world: the vCPU, in any state; it is charged up to now.
            shares: its new shares, which are constant unless a VM has a reservation, a limit or a pool.
            vclock: largest virtual time of the vCPUs that ran on the node.
        """
        world.shares = shares

    # --- order on a PCPU

    def first(self, queue: RunQueue[W], now: int) -> W:
        """Return the world of a run queue that runs next; at least one waits."""
        raise NotImplementedError

    def first_vcpu(self, queue: RunQueue[W], now: int) -> W:
        """Return the vCPU of a run queue that runs next without waiting system worlds; at least one waits."""
        raise NotImplementedError

    def yields(self, running: W, queue: RunQueue[W], now: int) -> bool:
        """True if the running world, whose batch has just ended and is charged, must yield to a waiting one.

        Called while a world waits. A world that stays after its quantum begins another one.
        """
        raise NotImplementedError

    def preempts(self, world: W, running: W, queue: RunQueue[W], now: int) -> bool:
        """Wake-up preemption: True if a world preempts the vCPU that runs on the PCPU where it arrives.

        The payers of the world are charged, and `wake` was called for sleeping ones.
        """
        raise NotImplementedError

    # --- choice of a PCPU

    def wake_queue(self, world: W, last: Q, queues: list[Q]) -> Q:
        """Return the PCPU to which a waking world goes.

        The world runs there if it is idle, and waits there if no PCPU is idle and it preempts none.

        Args:
            world: the world.
            last: PCPU of its node on which it last ran.
            queues: all PCPUs of its node, by index.
        """
        raise NotImplementedError

    def idle_queue(self, idle: IdleQueues[Q], preferred: Q | None) -> Q:
        """Return the idle PCPU for a runnable world.

        Args:
            idle: considered idle PCPUs of the node (``Cpu.WakeupMigrateIdlePcpus``), at least one; with hyperthreads
                only those of completely idle cores, if there are any.
            preferred: PCPU to which the world goes, idle or not; None if it comes from another node.
        """
        raise NotImplementedError

    def admitting_queue(self, world: W, queues: list[Q]) -> Q:
        """Return the PCPU that admits a world from another node, or one that was co-stopped."""
        raise NotImplementedError

    def steal_queue(self, queues: list[Q]) -> Q:
        """Work stealing: return the PCPU from whose queue an idle one takes the first world, if any waits.

        Args:
            queues: considered run queues (``Cpu.PcpuMigrateIdlePcpus``), at least one.
        """
        raise NotImplementedError

    # --- load balancing between the busy PCPUs of a node

    def spread(self, loads: Sequence[float], members: Sequence[Sequence[float]]) -> tuple[int, int, int] | None:
        """Select the waiting system world that migrates in a period.

        Args:
            loads: load of the system worlds of each PCPU, as a share of its time.
            members: loads of the waiting ones, in their order, by PCPU.

        Returns:
            (source PCPU, position among its waiting worlds, target PCPU); None for no migration.
        """
        raise NotImplementedError

    def swaps(self, waiting: Sequence[W], running: Sequence[W]) -> list[tuple[int, int]]:
        """Pair waiting vCPUs with running ones whose PCPUs they take, for fairness; all are charged.

        Returns:
            Pairs of positions (waiting, running), each at most once.
        """
        raise NotImplementedError

    # --- co-scheduling

    def costops(self, lead: int) -> bool:
        """Co-stop: True if a vCPU is too far ahead of its slowest sibling to continue."""
        raise NotImplementedError

    def costarts(self, lead: int) -> bool:
        """Co-start: True if a co-stopped vCPU may continue; must be True for a lead of 0."""
        raise NotImplementedError


PolicyMaker: TypeAlias = Callable[[HostSettings, int], SchedulerPolicy]
"""Factory of a host's policy from its settings and the lead of wake-up preemption: a `SchedulerPolicy` class, or a
partial.
"""


@mypyc_attr(allow_interpreted_subclasses=True)
class ProportionalShare(SchedulerPolicy):
    """Proportional-share scheduling as in ESXi: system worlds first, then by least virtual time.

    Virtual time is used time over shares (`docs/design/scheduler.md`).
    """

    def __init__(self, settings: HostSettings, lead: int) -> None:
        super().__init__(settings, lead)
        self._lead = lead
        self._most_lag = settings.lag_quanta * settings.quantum
        self._costop, self._costart = settings.costop_threshold, settings.costart_threshold

    def charge(self, world: Schedulable, spent: int) -> None:
        """Charge the world itself, and the VM that it works for, in equal parts to the vCPUs."""
        world.vtime += spent * 1000 // world.shares
        if payers := world.payers:
            for payer in payers:
                payer.vtime += spent * 1000 // (payer.shares * len(payers))

    def vtime(self, running: W, queue: RunQueue[W], now: int) -> int:
        """Return the virtual time of a running world, including the time since the last charge."""
        return running.vtime + (now - queue.charged) * 1000 // running.shares

    def wake(self, world: Schedulable, vclock: int) -> None:
        """Bound the lag of a vCPU, or of a world that works for a VM.

        Without the bound, a world that slept for an hour would keep a PCPU for an hour.
        """
        if not world.system or world.payers:
            least = vclock - self._most_lag
            if world.vtime < least:
                world.vtime = least

    def reweigh(self, world: Schedulable, shares: int, vclock: int) -> None:
        """Keep the lag in CPU time, within its bound, for a vCPU with a new entitlement.

        A vCPU that is entitled to a whole PCPU never catches up with the others.
        """
        lag = (vclock - world.vtime) * world.shares // shares
        world.vtime = vclock - min(lag, self._most_lag)
        world.shares = shares

    def migrate(self, world: Schedulable, shift: int) -> None:
        """Keep the lag."""
        world.vtime += shift

    def first(self, queue: RunQueue[W], now: int) -> W:
        return queue.systems[0] if queue.systems else self.first_vcpu(queue, now)

    def first_vcpu(self, queue: RunQueue[W], now: int) -> W:
        """Return the vCPU with the least virtual time."""
        world = queue.vcpus[0]
        for waiting in queue.vcpus:
            if waiting.vtime < world.vtime:
                world = waiting
        return world

    def yields(self, running: W, queue: RunQueue[W], now: int) -> bool:
        """True for a vCPU with waiting system worlds, and after a quantum.

        After a quantum a vCPU yields to one with less virtual time, and a system world to all.
        """
        if not running.system and queue.systems:
            return True
        if now - queue.since < self.quantum:
            return False
        return running.system or self.first_vcpu(queue, now).vtime <= running.vtime

    def preempts(self, world: W, running: W, queue: RunQueue[W], now: int) -> bool:
        """System worlds preempt every vCPU; others preempt one with at least the lead in virtual time.

        The lag of a world that works for a VM is the mean lag of the VM's vCPUs; within the VM, its own.
        """
        payers = world.payers
        if world.system and not payers:
            return True
        own = world.vtime
        if payers and running not in payers:
            own = 0
            for payer in payers:  # sum() of a list takes several times as long in compiled code
                own += payer.vtime
            own //= len(payers)
        return self.vtime(running, queue, now) - own >= self._lead

    def wake_queue(self, world: W, last: Q, queues: list[Q]) -> Q:
        return last

    def idle_queue(self, idle: IdleQueues[Q], preferred: Q | None) -> Q:
        """Return the preferred PCPU if idle, else the one that became idle last."""
        return preferred if preferred is not None and idle.has(preferred) else idle.latest()

    def admitting_queue(self, world: W, queues: list[Q]) -> Q:
        """Return the shortest run queue."""
        shortest = queues[0]
        for queue in queues:
            if queue.queued < shortest.queued:
                shortest = queue
        return shortest

    def steal_queue(self, queues: list[Q]) -> Q:
        """Return the longest run queue."""
        longest = queues[0]
        for queue in queues:
            if queue.queued > longest.queued:
                longest = queue
        return longest

    def spread(self, loads: Sequence[float], members: Sequence[Sequence[float]]) -> tuple[int, int, int] | None:
        """Select a system world of the PCPU with the largest load, for the PCPU with the smallest.

        Its migration leaves the smallest difference of all.
        """
        return move_to_balance(loads, members, 0.0)

    def swaps(self, waiting: Sequence[W], running: Sequence[W]) -> list[tuple[int, int]]:
        """Pair those furthest behind with those furthest ahead, while the gap is at least the preemption lead."""
        behind = sorted(range(len(waiting)), key=lambda position: waiting[position].vtime)
        ahead = sorted(range(len(running)), key=lambda position: running[position].vtime, reverse=True)
        pairs = zip(behind, ahead, strict=False)
        return [(b, a) for b, a in pairs if running[a].vtime - waiting[b].vtime >= self._lead]

    def costops(self, lead: int) -> bool:
        return lead > self._costop

    def costarts(self, lead: int) -> bool:
        return lead <= self._costart
