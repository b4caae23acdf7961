"""The CPU scheduler of a host: wake-ups, placement, exclusive PCPUs, CPU demand, migration.

`docs/design/scheduler.md` describes the rules. The scheduler policy makes the decisions
(`hostsim.model.policy.scheduler`). `hostsim.model.cpu.balancer` balances the busy PCPUs of a node,
`hostsim.model.control.numa` the nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from hostsim.config.platform import HostSettings
from hostsim.engine.clock import Clock
from hostsim.errors import WiringError
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.hyperthread import Hyperthread, IdleHyperthreads
from hostsim.model.cpu.memory import LOOK
from hostsim.model.cpu.pcpu import CoreStates, Gang, Node, Pcpu, World, WorldState, costop_times, ready_times
from hostsim.model.policy.numa import demand
from hostsim.model.policy.scheduler import PolicyMaker, ProportionalShare

__all__ = ["Demand", "NumaClient", "Scheduler"]


class Demand:
    """The CPU demand of a group of worlds in the last period (docs/design/numa.md).

    Attributes:
        used: mean number of PCPUs used in the last period.
        wanted: mean number of PCPUs that they would have used without waiting.
    """

    def __init__(self, worlds: Sequence[World]) -> None:
        self._worlds = [*worlds]
        self._used = [0] * len(worlds)
        self._stalled = [0] * len(worlds)
        self.used = self.wanted = 0.0

    def look(self, now: int, period: int) -> None:
        """Update with the last ``period`` picoseconds, after PCPUs have charged their worlds."""
        self.used = self.wanted = 0.0
        ready, stopped = ready_times(self._worlds, now), costop_times(self._worlds, now)
        for position, world in enumerate(self._worlds):
            stalled = ready[position] + stopped[position]
            used = world.used - self._used[position]
            self.used += used / period
            self.wanted += demand(used, stalled - self._stalled[position], period)
            self._used[position] = world.used
            self._stalled[position] = stalled


_SLEEPING: Final = WorldState.SLEEPING
_READY: Final = WorldState.READY
_RUNNING: Final = WorldState.RUNNING
_LIMITED: Final = WorldState.LIMITED


class NumaClient:
    """A NUMA client: worlds that migrate between nodes together, of a VM or of a block of a wide VM.

    Attributes:
        worlds: worlds with the same home node.
        nodes: indices of allowed home nodes; None for all (``numa.nodeAffinity``).
        pinned: True if the NUMA balancer does not migrate it; may change at any time.
    """

    def __init__(self, worlds: Sequence[World], nodes: Collection[int] | None, *, pinned: bool) -> None:
        self.worlds, self.nodes, self.pinned = worlds, nodes, pinned
        self.demand = Demand(worlds)
        """Demand up to the balancer's last check."""


class Scheduler:
    """The CPU scheduler of a host, with its policy, NUMA nodes and PCPUs.

    Attributes:
        clock: simulated time.
        policy: scheduler policy.
        nodes: NUMA nodes by index.
        pcpus: all PCPUs of the host, by index.
        within: number of PCPUs of a core complex, if worlds are placed and balanced within complexes first; 0 for
            within nodes.
        numa_clients: groups of worlds that NUMA balancing may migrate, in order.
        homes_changed: number of migrations to another home node, for any reason.
        waits_changed: number of changes of the memory wait of a node.
    """

    def __init__(
        self,
        clock: Clock,
        sockets: int,
        cores: int,
        costs: CostTable,
        settings: HostSettings,
        *,
        threads: int = 1,
        policy: PolicyMaker = ProportionalShare,
        states: CoreStates | None = None,
    ) -> None:
        self.clock, self._settings, self._threads, self._ipi = clock, settings, threads, costs.reschedule_ipi
        self.policy = policy(settings, costs.vcpu_lead)
        self.nodes = [Node(index, self.policy) for index in range(sockets)]
        for node in self.nodes:
            node.idle_ipi = 0 if settings.mwait else costs.reschedule_ipi
            first = node.index * cores * threads
            if threads == 2:
                node.idle = IdleHyperthreads(self.policy, node.pcpus, clock.event_queue, settings.ht_rebalance_period)
                for core in range(cores):
                    node.pcpus += Hyperthread.pair(clock, first + 2 * core, node, costs, self.policy)
            else:
                node.pcpus += [Pcpu(clock, first + core, node, costs, self.policy) for core in range(cores)]
            node.idle.reach, node.reach = settings.wake_reach, settings.idle_reach
            for pcpu in reversed(node.pcpus):
                node.idle.put(pcpu)
        self.pcpus = [pcpu for node in self.nodes for pcpu in node.pcpus]
        if states is not None and states.fade:
            for pcpu in self.pcpus:
                pcpu.states = states
        self.within = 0
        self.homes_changed = self.waits_changed = self._memory_due = 0
        self.numa_clients: list[NumaClient] = []

    def divide(self, complex_cores: int, refill: int, *, knows: bool) -> None:
        """Divide nodes into core complexes, before time starts.

        Args:
            complex_cores: cores of each, a divisor of those of a node.
            refill: additional cost of a world that was on another complex, in picoseconds.
            knows: True if the scheduler considers several last-level caches in a node (``llcSchedEnable``) and balances
                the whole node; else it looks for idle PCPUs and waiting worlds within a complex.
        """
        size = complex_cores * self._threads
        for pcpu in self.pcpus:
            pcpu.ccx, pcpu.far_refill = pcpu.index // size, refill
        if not knows:
            self.within = size
            for node in self.nodes:
                node.within = node.idle.within = size

    def look_at_memory(self, now: int) -> None:
        """Update the load of the nodes' memory, before a context copies; usually at most once per `LOOK`."""
        if now >= self._memory_due:
            self._memory_due = now + LOOK
            for node in self.nodes:
                if node.memory.look(now):
                    self.waits_changed += 1

    def adopt(
        self, worlds: Sequence[World], *, movable: bool = True, nodes: Collection[int] | None = None
    ) -> NumaClient:
        """Register worlds as a NUMA client, which the NUMA balancer may migrate as a whole.

        Args:
            worlds: worlds with the same home node.
            movable: False if they count but do not migrate.
            nodes: indices of allowed home nodes; None for all.

        Raises:
            ValueError: their home is not one of ``nodes``.
        """
        if nodes is not None and worlds[0].node.index not in nodes:
            raise ValueError(f"{worlds[0].name} is at home on node {worlds[0].node.index}, not on one of {nodes}")
        unit = NumaClient(worlds, nodes, pinned=not movable)
        self.numa_clients.append(unit)
        return unit

    def dedicate(self, world: World, nodes: Sequence[Node], others: Sequence[World]) -> None:
        """Give a vCPU an exclusive PCPU, before time starts.

        The PCPU belongs to its home node, or to the node with most PCPUs left.

        With hyperthreads the vCPU gets a whole core, whose other thread stays idle (facts-modern 1.7).

        Args:
            world: the vCPU; its home may change.
            nodes: allowed nodes.
            others: worlds that started there and now start elsewhere on the node.

        Raises:
            WiringError: each of the nodes has only one core left for all other worlds.
        """
        threads = self._threads
        node = world.node if len(world.node.pcpus) > threads else max(nodes, key=lambda node: len(node.pcpus))
        if len(node.pcpus) <= threads:
            raise WiringError(f"{world.name} needs an exclusive PCPU, but no PCPU is free")
        world.node = node
        core = node.pcpus[-threads:]
        del node.pcpus[-threads:]
        for pcpu in core:
            node.idle.remove(pcpu)
        for other in others:
            if other.last in core:
                other.last = node.pcpus[-1]
        core[-1].dedicate(world, Node(node.index, self.policy), halts=False)

    def pin(self, world: World, pcpu: Pcpu) -> None:
        """Pin a processor of a native host to its PCPU, which runs nothing else; before time starts.

        Args:
            world: processor as seen by its kernel; its home is the node of the PCPU.
            pcpu: PCPU without a pinned world.
        """
        node = pcpu.node
        node.pcpus.remove(pcpu)
        node.idle.remove(pcpu)
        pcpu.dedicate(world, Node(node.index, self.policy), halts=True)

    def bind(self, world: World, indices: Collection[int]) -> None:
        """Restrict a world to PCPUs of its home node (``sched.cpu.affinity``); before time starts.

        Args:
            world: the world, which stays on its node.
            indices: indices of PCPUs; those of other nodes are ignored.

        Raises:
            WiringError: none of them is a shared PCPU of the node.
        """
        world.affinity = tuple(pcpu for pcpu in world.node.pcpus if pcpu.index in indices)
        if not world.affinity:
            raise WiringError(f"{world.name} has an affinity without a shared PCPU of its node")
        world.node.has_affinity = True
        if world.last not in world.affinity:
            world.last = world.affinity[0]

    def coschedule(self, vcpus: Sequence[World]) -> None:
        """Co-schedule the vCPUs of an SMP VM (`hostsim.model.cpu.pcpu`)."""
        Gang(self.clock, vcpus, self.policy, self._settings.cosched_period, self._advance)

    def rehome(self, worlds: Sequence[World], node: Node, now: int) -> None:
        """Migrate worlds to another home node.

        A waiting world changes queues at once, a running one at the end of its batch, or when it is preempted.
        """
        for world in worlds:
            old = world.node
            if old is node:
                continue
            world.node = node
            self.homes_changed += 1
            if world.state is _RUNNING:
                continue  # its PCPU passes it on
            if world.state is _READY:
                old.withdraw(world, now)
            node.adjust(world, old)
            if world.state is _READY:
                node.admit(world, now)

    def wake(self, world: World, now: int, source: Pcpu | None = None) -> None:
        """Wake a sleeping world with work.

        Without effect on a running or waiting world, which will find the work.

        Args:
            world: the world.
            now: current time.
            source: PCPU that executes the wake-up, in an interrupt or for its running world; None if unknown, or if the
                PCPU of the world must be notified.
        """
        if world.state is not _SLEEPING:
            return
        node = world.node
        policy = self.policy
        policy.wake(world, node.vclock)
        if world.skew is not None:
            world.skew.wake()
        if world.limit is not None and not world.system and world.limit.holds():
            world.state = _LIMITED
            world.stalled_since = now
            return
        pcpu = world.last
        if pcpu.pool is node:
            pcpu = policy.wake_queue(world, pcpu, node.pcpus)
        elif pcpu.node is not node:  # its home changed while it slept
            pcpu = policy.admitting_queue(world, node.pcpus)
        self.place(world, pcpu, now, source)

    def place(self, world: World, pcpu: Pcpu, now: int, source: Pcpu | None = None) -> None:
        """Place a runnable world on an idle PCPU of the node, preferably the given one.

        If none is idle, it preempts the vCPU there, or waits there.

        A PCPU other than ``source`` is interrupted to reschedule, at the cost of the world; an idle PCPU only if it
        does not monitor its run queue. A PCPU finds a waiting world at the end of a batch.
        """
        if world.affinity is None:
            free = pcpu.pool.idle.take(pcpu)
        else:
            free = world.node.take_idle(world)
            if pcpu not in world.affinity:
                pcpu = world.last if world.last in world.affinity else world.affinity[0]
        if free is not None:
            free.start(world, now, 0 if free is source else pcpu.pool.idle_ipi)
            return
        running = pcpu.running
        if (
            running is not None
            and not running.system
            and not pcpu.turning
            and self._preempts(world, running, pcpu, now)
        ):
            pcpu.preempt(world, now, 0 if pcpu is source else self._ipi)
        else:
            pcpu.node.enqueue(pcpu, world, now)

    def move(self, world: World, source: Pcpu, target: Pcpu, now: int) -> int:
        """Move a waiting world to another PCPU; returns 1 if it has moved, and 0 if an earlier move has let it run."""
        if not source.withdraw(world, now):
            return 0
        self.place(world, target, now)
        return int(source is not target)

    def even_out(self, node: Node, now: int, recent: int) -> int:
        """Replace vCPUs with too much time by waiting ones with too little; all are charged.

        Receive contexts with a steady load may run at every check, so that a vCPU in the time between is also
        considered.

        Args:
            node: node of the vCPUs.
            now: current time.
            recent: time since its preemption for which a vCPU that runs next counts as running.

        Returns:
            Number of vCPUs that moved to another PCPU.
        """
        waiting = [(world, pcpu) for pcpu in node.pcpus for world in pcpu.vcpus]
        holding: list[Pcpu] = []
        running: list[World] = []
        for pcpu in node.pcpus:
            world = pcpu.running
            if world is not None and not world.system:
                holding.append(pcpu)
                running.append(world)
            elif world is not None and pcpu.vcpus:
                first = self.policy.first_vcpu(pcpu, now)
                if first.last is pcpu and now - first.yielded_at < recent:
                    holding.append(pcpu)
                    running.append(first)
        moves = 0
        for behind, ahead in self.policy.swaps([world for world, _ in waiting], running):
            moves += self.move(*waiting[behind], holding[ahead], now)
        return moves

    def _advance(self, node: Node, now: int) -> None:
        """Even out the vCPUs of a node on which some wait and hold back their siblings."""
        for pcpu in node.pcpus:
            pcpu.charge(now)
        self.even_out(node, now, 0)

    def _preempts(self, world: World, running: World, pcpu: Pcpu, now: int) -> bool:
        """True if the world preempts the running vCPU.

        Updates the virtual time of the VM that the world works for.
        """
        for payer in world.payers:
            assert isinstance(payer, World)
            if payer.state is _RUNNING:
                payer.last.charge(now)
            elif payer.state is _SLEEPING:
                self.policy.wake(payer, payer.node.vclock)
        return self.policy.preempts(world, running, pcpu, now)

    def seize(self, pcpu: Pcpu, world: World, now: int) -> None:
        """Seize a PCPU for a sleeping system world.

        A vCPU leaves at once, a system world at the end of its batch.
        """
        pcpu.seized = True
        if pcpu.running is None:
            pcpu.pool.idle.remove(pcpu)
            pcpu.start(world, now)
        elif pcpu.running is not None and not pcpu.running.system:
            pcpu.preempt(world, now)
        else:
            pcpu.node.enqueue(pcpu, world, now)
            pcpu.systems.insert(0, pcpu.systems.pop())
