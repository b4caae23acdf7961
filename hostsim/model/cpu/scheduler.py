"""The CPU scheduler at work: NUMA nodes with their PCPUs, wake-ups, stealing and balancing.

The rules are those of `docs/scheduler.md`; decisions that need no state are `hostsim.policy.scheduling`, balancing among the busy
PCPUs of a node is `hostsim.model.cpu.balancer`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Final

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.probe import Level
from hostsim.errors import WiringError
from hostsim.model.cpu.cosched import Gang
from hostsim.model.cpu.demand import Demand
from hostsim.model.cpu.hyperthread import Hyperthread, IdleThreads
from hostsim.model.cpu.pcpu import Idle, Pcpu
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.timing import Timing
from hostsim.policy.scheduling import move_to_balance, node_load, preempts, virtual_time_on_wake
from hostsim.spec.settings import HostSettings

__all__ = ["Node", "Scheduler", "Unit"]

_SLEEPING: Final = WorldState.SLEEPING
_READY: Final = WorldState.READY
_RUNNING: Final = WorldState.RUNNING
_by_queued = attrgetter("queued")


class Node:
    """A NUMA node: PCPUs that share memory, and take waiting worlds from each other.

    Attributes:
        pcpus: its PCPUs, by index, but those that a world has to itself.
        idle: those that run nothing.
        waiting: number of worlds in its run queues, over time.
        vclock: virtual time of the vCPU furthest ahead among those that ran here, but on a PCPU of their own.
    """

    __slots__ = ("idle", "index", "pcpus", "vclock", "waiting")

    def __init__(self, index: int) -> None:
        self.index = index
        self.pcpus: list[Pcpu] = []
        self.idle = Idle()
        self.waiting = Level()
        self.vclock = 0

    def adjust(self, world: World, old: Node) -> None:
        """Translate the virtual time of a world that comes from another node: nodes' virtual times run apart, its distance stays."""
        world.vtime += self.vclock - old.vclock

    def enqueue(self, pcpu: Pcpu, world: World, now: int) -> None:
        """Let a world wait at a PCPU of this node."""
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
        """Take in a world that has work: on the preferred PCPU if that is idle, on any that is, or in the shortest queue."""
        pcpu = self.idle.take(preferred)
        if pcpu is not None:
            pcpu.start(world, now)
        else:
            self.enqueue(min(self.pcpus, key=_by_queued), world, now)

    def withdraw(self, world: World, now: int) -> None:
        """Take a world that waits here out of its queue."""
        for pcpu in self.pcpus:
            if pcpu.withdraw(world, now):
                return

    def steal(self, now: int) -> World | None:
        """Take the world that goes first from the longest queue of the node; None when nobody waits."""
        if not self.waiting.value:
            return None
        fullest = self.pcpus[0]
        for pcpu in self.pcpus:
            if pcpu.queued > fullest.queued:
                fullest = pcpu
        return fullest.take_first(now)


class Unit:
    """Worlds that share a home: those of a VM, or of a block of a wide one.

    Attributes:
        worlds: they.
        nodes: indices of the nodes that it may live on, None for all (``numa.nodeAffinity``).
        pinned: the balancer leaves it where it is. May be changed at any time.
    """

    __slots__ = ("demand", "nodes", "pinned", "worlds")

    def __init__(self, worlds: Sequence[World], nodes: Collection[int] | None, *, pinned: bool) -> None:
        self.worlds, self.nodes, self.pinned = worlds, nodes, pinned
        self.demand = Demand(worlds)
        """Up to the balancer's last check."""


class Scheduler:
    """All nodes of a host.

    Attributes:
        clock: its time.
        nodes: its NUMA nodes.
        pcpus: all PCPUs of the host, by index.
        units: what has been adopted, in order.
        moves: number of times the NUMA balancer moved a unit.
        homes_changed: number of times a world got another home, whoever moved it.
    """

    __slots__ = (
        "_busy",
        "_most_lag",
        "_settings",
        "_timer",
        "_timing",
        "clock",
        "homes_changed",
        "moves",
        "nodes",
        "pcpus",
        "units",
    )

    def __init__(
        self, clock: Clock, sockets: int, cores: int, timing: Timing, settings: HostSettings, threads: int = 1
    ) -> None:
        self.clock, self._timing, self._settings = clock, timing, settings
        self._most_lag = settings.lag_quanta * settings.quantum
        self.nodes = [Node(index) for index in range(sockets)]
        for node in self.nodes:
            first = node.index * cores * threads
            if threads == 2:
                node.idle = IdleThreads()
                for core in range(cores):
                    node.pcpus += Hyperthread.pair(clock, first + 2 * core, node, timing, settings.quantum)
            else:
                node.pcpus += [Pcpu(clock, first + core, node, timing, settings.quantum) for core in range(cores)]
            for pcpu in reversed(node.pcpus):
                node.idle.put(pcpu)
        self.pcpus = [pcpu for node in self.nodes for pcpu in node.pcpus]
        self.moves = self.homes_changed = 0
        self._busy = [0] * sockets
        """Time for which the PCPUs of each node were busy up to the NUMA balancer's last check, in picoseconds."""
        self.units: list[Unit] = []
        self._timer = Timer(clock, self._balance)

    def adopt(self, worlds: Sequence[World], *, movable: bool = True, nodes: Collection[int] | None = None) -> Unit:
        """Let the NUMA balancer move these worlds, together: those of one VM, or of one block of a wide VM.

        Args:
            worlds: the worlds, at home on one node.
            movable: False to have them counted but left where they are.
            nodes: indices of the nodes that they may live on, None for all.

        Raises:
            ValueError: their home is not one of ``nodes``.
        """
        if nodes is not None and worlds[0].node.index not in nodes:
            raise ValueError(f"{worlds[0].name} is at home on node {worlds[0].node.index}, not on one of {nodes}")
        unit = Unit(worlds, nodes, pinned=not movable)
        self.units.append(unit)
        if self._timer.due is None and len(self.nodes) > 1:
            self._timer.arm(self.clock.now + self._settings.numa_rebalance_period)
        return unit

    def dedicate(self, world: World, nodes: Sequence[Node], others: Sequence[World]) -> None:
        """Give a vCPU a PCPU to itself, of its home where that can spare one, else of the node that can spare most; before time starts.

        Args:
            world: the vCPU; its home may change.
            nodes: that it may live on.
            others: worlds that were to start there and that start elsewhere on the node now.

        Raises:
            WiringError: each of the nodes has only one PCPU left, which all other worlds share.
        """
        node = world.node if len(world.node.pcpus) > 1 else max(nodes, key=lambda node: len(node.pcpus))
        if len(node.pcpus) < 2:
            raise WiringError(f"{world.name} is to have a PCPU to itself, and none can be spared")
        world.node = node
        pcpu = node.pcpus.pop()
        node.idle.take(pcpu)
        for other in others:
            if other.last is pcpu:
                other.last = node.pcpus[-1]
        pcpu.dedicate(world, Node(node.index))

    def coschedule(self, vcpus: Sequence[World]) -> None:
        """Hold the vCPUs of an SMP VM together (`hostsim.model.cpu.cosched`)."""
        Gang(self.clock, vcpus, self._settings)

    def rehome(self, worlds: Sequence[World], node: Node, now: int) -> None:
        """Move the home of worlds, wherever each has its home so far.

        One that waits changes queues at once, one that runs at the end of its batch, or when it is cut short.
        """
        for world in worlds:
            old = world.node
            if old is node:
                continue
            world.node = node
            self.homes_changed += 1
            if world.state is _RUNNING:
                continue  # its PCPU hands it over
            if world.state is _READY:
                old.withdraw(world, now)
            node.adjust(world, old)
            if world.state is _READY:
                node.admit(world, now)

    def wake(self, world: World, now: int) -> None:
        """A world has something to do. Waking one that runs or waits does nothing: it will find the work itself."""
        if world.state is not _SLEEPING:
            return
        node = world.node
        if not world.system:
            world.vtime = virtual_time_on_wake(world.vtime, node.vclock, self._most_lag)
            if world.skew is not None:
                world.skew.wake()
        pcpu = world.last
        if pcpu.node is not node:  # re-homed while it slept
            pcpu = min(node.pcpus, key=_by_queued)
        self.place(world, pcpu, now)

    def place(self, world: World, pcpu: Pcpu, now: int) -> None:
        """Let a world that has work and stands in no queue run on a PCPU of its home if that is idle, else on any that is; else it cuts the vCPU there short, or waits there."""
        free = pcpu.pool.idle.take(pcpu)
        if free is not None:
            free.start(world, now)
            return
        running = pcpu.running
        if running is not None and not running.system and not pcpu.turning and self._preempts(world, pcpu, now):
            pcpu.preempt(world, now)
        else:
            pcpu.node.enqueue(pcpu, world, now)

    def seize(self, pcpu: Pcpu, world: World, now: int) -> None:
        """Give a system world that sleeps a PCPU until its batch is done: in place of a vCPU at once, in place of a system world at the end of its batch."""
        pcpu.seized = True
        if pcpu.running is None:
            pcpu.pool.idle.take(pcpu)
            pcpu.start(world, now)
        elif pcpu.running is not None and not pcpu.running.system:
            pcpu.preempt(world, now)
        else:
            pcpu.node.enqueue(pcpu, world, now)
            pcpu.systems.rotate()

    def _preempts(self, world: World, pcpu: Pcpu, now: int) -> bool:
        return world.system or preempts(world.vtime, pcpu.vtime(now), self._timing.vcpu_lead)

    def _balance(self, now: int) -> None:
        """NUMA balancing: once a period, move the home of one VM from the fullest node to the emptiest.

        A node is as full as its VMs want it, and as system worlds that keep them from it make it (`node_load`).
        """
        period = self._settings.numa_rebalance_period
        system = self._busy_since(now, period)
        capacity = len(self.pcpus) // len(self.nodes)
        wanted = [0.0] * len(self.nodes)
        homes: list[list[Unit]] = [[] for _ in self.nodes]
        members: list[list[float]] = [[] for _ in self.nodes]
        for unit in self.units:
            home = unit.worlds[0].node.index
            unit.demand.look(now, period)
            system[home] -= unit.demand.used
            wanted[home] += unit.demand.wanted
            if not unit.pinned:
                homes[home].append(unit)
                members[home].append(unit.demand.wanted / capacity)
        loads = [node_load(vms, max(0.0, others), capacity) for vms, others in zip(wanted, system, strict=True)]
        allowed = [[unit.nodes for unit in units] for units in homes]
        move = move_to_balance(loads, members, self._settings.numa_imbalance / 100, allowed)
        if move is not None:
            source, position, target = move
            self.rehome(homes[source][position].worlds, self.nodes[target], now)
            self.moves += 1
        self._timer.arm(now + period)

    def _busy_since(self, now: int, period: int) -> list[float]:
        """PCPUs of each node that were busy in the period that ends now, on average; all running worlds have been charged."""
        busy = [0] * len(self.nodes)
        for pcpu in self.pcpus:
            pcpu.charge(now)
            busy[pcpu.node.index] += pcpu.busy(now)
        since = [(total - before) / period for total, before in zip(busy, self._busy, strict=True)]
        self._busy = busy
        return since
