"""CPU scheduler policy: run-queue order, yielding, quantum, virtual time, wake-up preemption, and the choice of a PCPU.

The mechanism is `hostsim.model.cpu`: it keeps the run queues, dispatches, charges for switches and cuts batches short, and it asks
the one `SchedulerPolicy` of the host at each decision. A policy of one's own is a subclass of `ProportionalShare`, or of the bare
contract. NUMA scheduling is `hostsim.model.policy.numa` (docs/decisions/0117).
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
    """A schedulable context (thread), as a scheduler policy sees it: the base class of worlds.

    Attributes:
        name: for messages.
        system: True for VMkernel worlds, whose batches are never cut short.
        payers: for a VMkernel world that works for a VM, the vCPUs whose virtual time pays for it; none for all others.
        shares: weight in proportional share.
        used: time for which it has run, in picoseconds.
        vtime: virtual time. It is the policy's account: nothing else changes it.
    """

    def __init__(self, name: str, *, system: bool, shares: int) -> None:
        self.name, self.system, self.shares = name, system, shares
        self.used = self.vtime = 0
        self.payers: tuple[Schedulable, ...] = ()


W = TypeVar("W", bound=Schedulable)


class RunQueue(Generic[W]):
    """The run queue of a PCPU, as a scheduler policy sees it: the worlds that wait there.

    A policy reads it and changes nothing.

    Attributes:
        index: number of the PCPU.
        since: instant at which the running world was dispatched, or began a further quantum.
        charged: instant up to which the running world is charged.
        systems: VMkernel worlds that wait here, in order of arrival.
        vcpus: vCPUs that wait here, in order of arrival.
        queued: number of worlds that wait here.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.since = self.charged = self.queued = 0
        self.systems: list[W] = []
        self.vcpus: list[W] = []

    def current(self) -> W | None:
        """Return the world that has the PCPU, None when idle."""
        raise NotImplementedError


Q = TypeVar("Q", bound=RunQueue[Any])


class IdleQueues(Generic[Q]):
    """Run queues of idle PCPUs, as a scheduler policy sees them when it is to choose one."""

    def latest(self) -> Q:
        """Return the one that became idle last."""
        raise NotImplementedError

    def has(self, queue: Q) -> bool:
        """True when this one is among them."""
        raise NotImplementedError

    def queues(self) -> list[Q]:
        """Return all of them in the order in which they became idle."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class SchedulerPolicy:
    """A CPU scheduler policy: the decisions of a scheduler, each a method that the mechanism asks where it comes up.

    Times are instants and lengths in picoseconds. A policy may keep state of its own on worlds, by the world. What it may not
    decide: a PCPU is never left idle while a world waits in its queue, batches of system worlds are not cut short, worlds with
    exclusive PCPUs stay there, and the firmware goes before everybody.

    Attributes:
        quantum: longest stay on a PCPU without a decision about yielding. Read once, when the host is built.
    """

    def __init__(self, settings: HostSettings, lead: int) -> None:
        """Take the effective settings of a host.

        Args:
            settings: those of the scheduler among them.
            lead: virtual time from which one vCPU takes the place of another (``vcpu_preemption_lead``).
        """
        self.quantum = settings.quantum

    # --- virtual time

    def charge(self, world: Schedulable, spent: int) -> None:
        """Charge virtual time for ``spent`` picoseconds that a world has run: to itself, or to whom it worked for.

        Samples and balancers charge in the midst of a batch, so that no decision may depend on the number of parts of a stay.
        """
        raise NotImplementedError

    def wake(self, world: Schedulable, vclock: int) -> None:
        """Update the virtual time of a world that wakes up.

        Args:
            world: it sleeps yet.
            vclock: virtual time of the vCPU furthest ahead among those that ran on the node.
        """
        raise NotImplementedError

    def migrate(self, world: Schedulable, shift: int) -> None:
        """Translate the virtual time of a world that migrates to a node whose virtual clock is ``shift`` ahead of the old one's."""
        raise NotImplementedError

    def reweigh(self, world: Schedulable, shares: int, vclock: int) -> None:
        """Set the shares of a vCPU, whose entitlement to CPU has changed: reservations, limits and pools decide it (`hostsim.model.control.resources`).

        Args:
            world: it may run, wait or sleep; it is charged up to now.
            shares: its new ones. Where no VM has a reservation, a limit or a pool, shares never change.
            vclock: virtual time of the vCPU furthest ahead among those that ran on the node.
        """
        world.shares = shares

    # --- order on a PCPU

    def first(self, queue: RunQueue[W], now: int) -> W:
        """Return the world of a run queue that runs next; at least one waits there."""
        raise NotImplementedError

    def first_vcpu(self, queue: RunQueue[W], now: int) -> W:
        """Return the vCPU of a run queue that goes on next when no system world keeps it from it; at least one waits there."""
        raise NotImplementedError

    def yields(self, running: W, queue: RunQueue[W], now: int) -> bool:
        """True when the running world must yield to one that waits behind it: its batch has just ended, and it is charged.

        Asked while somebody waits. A world that stays when its quantum is over begins a further one.
        """
        raise NotImplementedError

    def preempts(self, world: W, running: W, queue: RunQueue[W], now: int) -> bool:
        """Wake-up preemption: True when a world cuts the batch of the vCPU short that runs where it arrives.

        Those who pay for the world are charged, and those of them that sleep have been told of a wake-up (`wake`).
        """
        raise NotImplementedError

    # --- choice of a PCPU

    def wake_queue(self, world: W, last: Q, queues: list[Q]) -> Q:
        """Return the PCPU to which a waking world goes: if idle it runs there, and waits there if it finds none idle and preempts no one.

        Args:
            world: the world.
            last: PCPU of its node where it last ran.
            queues: all PCPUs of its node, by index.
        """
        raise NotImplementedError

    def idle_queue(self, idle: IdleQueues[Q], preferred: Q | None) -> Q:
        """Return the idle PCPU that a runnable world takes.

        Args:
            idle: idle PCPUs of the node that are looked at (``Cpu.WakeupMigrateIdlePcpus``), at least one;
                with hyperthreads only those whose core is idle as a whole, if there are any.
            preferred: the PCPU to which the world goes, idle or not; None when it comes from another node.
        """
        raise NotImplementedError

    def admitting_queue(self, world: W, queues: list[Q]) -> Q:
        """Return the PCPU that admits a world without a PCPU of its own on the node: it comes from another one, or was co-stopped."""
        raise NotImplementedError

    def steal_queue(self, queues: list[Q]) -> Q:
        """Work stealing: return the PCPU whose first world an idle one takes, if somebody waits there.

        Args:
            queues: those that the idle one looks at (``Cpu.PcpuMigrateIdlePcpus``), at least one.
        """
        raise NotImplementedError

    # --- load balancing between the busy PCPUs of a node

    def spread(self, loads: Sequence[float], members: Sequence[Sequence[float]]) -> tuple[int, int, int] | None:
        """Choose the waiting system world that migrates in a period.

        Args:
            loads: load of the system worlds of each PCPU, as a share of its time.
            members: load of those that wait there, in their order, by PCPU.

        Returns:
            (from PCPU, position among those that wait there, to PCPU), None for none.
        """
        raise NotImplementedError

    def swaps(self, waiting: Sequence[W], running: Sequence[W]) -> list[tuple[int, int]]:
        """Pair waiting vCPUs with those whose PCPUs they go to, for fairness; all are charged.

        Returns:
            Pairs of positions (waiting, running), each at most once.
        """
        raise NotImplementedError

    # --- co-scheduling

    def costops(self, lead: int) -> bool:
        """Co-stop: True when a vCPU is too far ahead of its slowest sibling to go on."""
        raise NotImplementedError

    def costarts(self, lead: int) -> bool:
        """Co-start: True when a co-stopped vCPU may go on. It must be for the slowest vCPU, whose lead is 0."""
        raise NotImplementedError


PolicyMaker: TypeAlias = Callable[[HostSettings, int], SchedulerPolicy]
"""Makes the policy of a host of its settings and the lead of wake-up preemption: a `SchedulerPolicy` class, or a partial one."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ProportionalShare(SchedulerPolicy):
    """Proportional-share scheduling, as in ESXi (`docs/design/scheduler.md`): system worlds first, then the vCPU with the least virtual time.

    Virtual time is used time over shares.
    """

    def __init__(self, settings: HostSettings, lead: int) -> None:
        super().__init__(settings, lead)
        self._lead = lead
        self._most_lag = settings.lag_quanta * settings.quantum
        self._costop, self._costart = settings.costop_threshold, settings.costart_threshold

    def charge(self, world: Schedulable, spent: int) -> None:
        """To itself, and to the VM that it works for, by equal parts to the vCPUs."""
        world.vtime += spent * 1000 // world.shares
        if payers := world.payers:
            for payer in payers:
                payer.vtime += spent * 1000 // (payer.shares * len(payers))

    def vtime(self, running: W, queue: RunQueue[W], now: int) -> int:
        """Return the virtual time of a running world, including the time since the last charge."""
        return running.vtime + (now - queue.charged) * 1000 // running.shares

    def wake(self, world: Schedulable, vclock: int) -> None:
        """Bound the lag of a vCPU, or of a world that works for a VM: one that slept for an hour would hold a PCPU for as long."""
        if not world.system or world.payers:
            least = vclock - self._most_lag
            if world.vtime < least:
                world.vtime = least

    def reweigh(self, world: Schedulable, shares: int, vclock: int) -> None:
        """Keep the lag in CPU time, within its bound: one that is entitled to a PCPU of its own never catches up with the others."""
        lag = (vclock - world.vtime) * world.shares // shares
        world.vtime = vclock - min(lag, self._most_lag)
        world.shares = shares

    def migrate(self, world: Schedulable, shift: int) -> None:
        """Keep the lag."""
        world.vtime += shift

    def first(self, queue: RunQueue[W], now: int) -> W:
        return queue.systems[0] if queue.systems else self.first_vcpu(queue, now)

    def first_vcpu(self, queue: RunQueue[W], now: int) -> W:
        """The one with the least virtual time."""
        world = queue.vcpus[0]
        for waiting in queue.vcpus:
            if waiting.vtime < world.vtime:
                world = waiting
        return world

    def yields(self, running: W, queue: RunQueue[W], now: int) -> bool:
        """A vCPU yields to system worlds at once; after a quantum a vCPU yields to one with less virtual time, a system world to all."""
        if not running.system and queue.systems:
            return True
        if now - queue.since < self.quantum:
            return False
        return running.system or self.first_vcpu(queue, now).vtime <= running.vtime

    def preempts(self, world: W, running: W, queue: RunQueue[W], now: int) -> bool:
        """System worlds preempt every vCPU; others preempt one that they lag behind by at least the lead in virtual time.

        A world that works for a VM lags as far as the VM does, on average over its vCPUs; within the VM, as far as it does itself.
        """
        payers = world.payers
        if world.system and not payers:
            return True
        own = world.vtime
        if payers and running not in payers:
            own = 0
            for payer in payers:  # sum() of a list takes compiled code several times as long
                own += payer.vtime
            own //= len(payers)
        return self.vtime(running, queue, now) - own >= self._lead

    def wake_queue(self, world: W, last: Q, queues: list[Q]) -> Q:
        return last

    def idle_queue(self, idle: IdleQueues[Q], preferred: Q | None) -> Q:
        """The preferred one, else the one that became idle last."""
        return preferred if preferred is not None and idle.has(preferred) else idle.latest()

    def admitting_queue(self, world: W, queues: list[Q]) -> Q:
        """The shortest."""
        shortest = queues[0]
        for queue in queues:
            if queue.queued < shortest.queued:
                shortest = queue
        return shortest

    def steal_queue(self, queues: list[Q]) -> Q:
        """The longest."""
        longest = queues[0]
        for queue in queues:
            if queue.queued > longest.queued:
                longest = queue
        return longest

    def spread(self, loads: Sequence[float], members: Sequence[Sequence[float]]) -> tuple[int, int, int] | None:
        """System worlds share no time: from the PCPU with the most load to that with the least, the one whose move leaves the two closest."""
        return move_to_balance(loads, members, 0.0)

    def swaps(self, waiting: Sequence[W], running: Sequence[W]) -> list[tuple[int, int]]:
        """Those furthest behind for those furthest ahead, as long as the gap is the lead of a preemption."""
        behind = sorted(range(len(waiting)), key=lambda position: waiting[position].vtime)
        ahead = sorted(range(len(running)), key=lambda position: running[position].vtime, reverse=True)
        pairs = zip(behind, ahead, strict=False)
        return [(b, a) for b, a in pairs if running[a].vtime - waiting[b].vtime >= self._lead]

    def costops(self, lead: int) -> bool:
        return lead > self._costop

    def costarts(self, lead: int) -> bool:
        return lead <= self._costart
