"""The CPU scheduler at work: NUMA nodes with their PCPUs, wake-ups, stealing and balancing.

The rules are those of `docs/scheduler.md`; decisions that need no state are `hostsim.policy.scheduling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.probe import Level
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.timing import Timing
from hostsim.policy.scheduling import move_to_balance, preempts, virtual_time_on_wake
from hostsim.spec.settings import HostSettings

__all__ = ["Node", "Scheduler"]

_SLEEPING, _READY = WorldState.SLEEPING, WorldState.READY
_by_queued = attrgetter("queued")


class Node:
    """A NUMA node: PCPUs that share memory, and take waiting worlds from each other.

    Attributes:
        pcpus: its PCPUs, by index.
        idle: those that run nothing, the one idle for the shortest time last.
        waiting: number of worlds in its run queues, over time.
        vclock: virtual time of the vCPU furthest ahead among those that ran here.
    """

    __slots__ = ("idle", "index", "pcpus", "vclock", "waiting")

    def __init__(self, index: int) -> None:
        self.index = index
        self.pcpus: list[Pcpu] = []
        self.idle: dict[Pcpu, None] = {}
        self.waiting = Level()
        self.vclock = 0

    def enqueue(self, pcpu: Pcpu, world: World, now: int) -> None:
        """Let a world wait at a PCPU of this node."""
        if world.state is not _READY:
            world.state = _READY
            world.stalled_since = now
        if world.system:
            pcpu.systems.append(world)
        else:
            pcpu.vcpus.append(world)
        pcpu.queued += 1
        self.waiting.add(1, now)

    def admit(self, world: World, now: int) -> None:
        """Take in a world that has work and a new home here."""
        if self.idle:
            self.idle.popitem()[0].start(world, now)
        else:
            self.enqueue(min(self.pcpus, key=_by_queued), world, now)

    def steal(self, now: int) -> World | None:
        """Take the world that goes first from the longest queue of the node; None when nobody waits."""
        if not self.waiting.value:
            return None
        return max(self.pcpus, key=_by_queued).take_first(now)


class Scheduler:
    """All nodes of a host."""

    __slots__ = (
        "_last_busy",
        "_last_used",
        "_most_lag",
        "_settings",
        "_timer",
        "_timing",
        "_units",
        "clock",
        "moves",
        "nodes",
    )

    def __init__(self, clock: Clock, sockets: int, cores: int, timing: Timing, settings: HostSettings) -> None:
        self.clock, self._timing, self._settings = clock, timing, settings
        self._most_lag = settings.lag_quanta * settings.quantum
        self.nodes = [Node(index) for index in range(sockets)]
        for node in self.nodes:
            for core in range(cores):
                node.pcpus.append(Pcpu(clock, node.index * cores + core, node, timing, settings.quantum))
            node.idle.update(dict.fromkeys(reversed(node.pcpus)))
        self.moves = 0
        self._units: list[Sequence[World]] = []
        self._last_busy = [0] * sockets
        self._last_used: list[int] = []
        self._timer = Timer(clock, self._balance)

    @property
    def pcpus(self) -> list[Pcpu]:
        """All PCPUs of the host, by index."""
        return [pcpu for node in self.nodes for pcpu in node.pcpus]

    def adopt(self, worlds: Sequence[World]) -> None:
        """Let the NUMA balancer move these worlds, together: those of one VM."""
        self._units.append(worlds)
        self._last_used.append(0)
        if self._timer.due is None and len(self.nodes) > 1:
            self._timer.arm(self.clock.now + self._settings.numa_rebalance_period)

    def wake(self, world: World, now: int) -> None:
        """A world has something to do. Waking one that runs or waits does nothing: it will find the work itself."""
        if world.state is not _SLEEPING:
            return
        node = world.node
        if not world.system:
            world.vtime = virtual_time_on_wake(world.vtime, node.vclock, self._most_lag)
        pcpu = world.last
        if pcpu.node is not node:  # re-homed while it slept
            pcpu = min(node.pcpus, key=_by_queued)
        idle = node.idle
        if pcpu in idle:
            del idle[pcpu]
            pcpu.start(world, now)
            return
        if idle:
            pcpu = idle.popitem()[0]
            pcpu.start(world, now)
            return
        running = pcpu.running
        if running is not None and not running.system and not pcpu.turning and self._preempts(world, pcpu, now):
            pcpu.preempt(world, now)
        else:
            node.enqueue(pcpu, world, now)

    def _preempts(self, world: World, pcpu: Pcpu, now: int) -> bool:
        return world.system or preempts(world.vtime, pcpu.vtime(now), self._timing.vcpu_lead)

    def _balance(self, now: int) -> None:
        """NUMA balancing: once a period, move the home of one VM from the fullest node to the emptiest."""
        period = self._settings.numa_rebalance_period
        for pcpu in self.pcpus:
            pcpu.charge(now)
        busy = [sum(pcpu.busy(now) for pcpu in node.pcpus) for node in self.nodes]
        capacity = period * len(self.nodes[0].pcpus)
        loads = [(b - before) / capacity for b, before in zip(busy, self._last_busy, strict=True)]
        used = [sum(world.used for world in unit) for unit in self._units]
        homes: list[list[int]] = [[] for _ in self.nodes]
        for position, unit in enumerate(self._units):
            homes[unit[0].node.index].append(position)
        members = [[(used[p] - self._last_used[p]) / capacity for p in positions] for positions in homes]
        move = move_to_balance(loads, members, self._settings.numa_imbalance / 100)
        if move is not None:
            source, position, target = move
            for world in self._units[homes[source][position]]:
                world.node = self.nodes[target]
                if any(pcpu.withdraw(world, now) for pcpu in self.nodes[source].pcpus):
                    world.node.admit(world, now)
            self.moves += 1
        self._last_busy, self._last_used = busy, used
        self._timer.arm(now + period)
