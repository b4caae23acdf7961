"""A NUMA node: PCPUs that share memory, their idle list, and their run queues.

The choices among its PCPUs are the scheduler policy's (`hostsim.model.policy.scheduler`).
"""

from __future__ import annotations

from typing import Final

from hostsim.engine.probe import Level
from hostsim.model.cpu.idle import IdlePcpus
from hostsim.model.cpu.memory import Memory
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.policy.scheduler import SchedulerPolicy

__all__ = ["Node"]

_READY: Final = WorldState.READY


class Node:
    """A NUMA node: PCPUs that share memory, and take waiting worlds from each other.

    Attributes:
        pcpus: its PCPUs, by index, but those that a world has to itself.
        idle: those that run nothing.
        reach: PCPUs at which one that goes idle looks for waiting worlds, the next of the node.
        idle_ipi: what an idle PCPU takes to notice a world that another sends it, in picoseconds.
        waiting: number of worlds in its run queues, over time.
        memory: its memory.
        vclock: virtual time of the vCPU furthest ahead among those that ran here, but on a PCPU of their own.
    """

    def __init__(self, index: int, policy: SchedulerPolicy) -> None:
        self.index, self._policy = index, policy
        self.pcpus: list[Pcpu] = []
        self.idle = IdlePcpus(policy, self.pcpus)
        self.reach = 0
        self.waiting = Level()
        self.vclock = self.idle_ipi = 0
        self.memory = Memory()

    def copy_wait(self, source: Node, target: Node) -> float:
        """Return the wait for each byte that a context here copies, from where a NIC of ``source`` has put it to ``target``."""
        return self.read_wait(source) + self.write_wait(target)

    def read_wait(self, source: Node) -> float:
        """Return the wait for each byte that a context here reads, from where a NIC of ``source`` has put it."""
        return source.memory.dma_ps if source is self else source.memory.far_ps

    def write_wait(self, target: Node) -> float:
        """Return the wait for each byte that a context here copies to ``target``, from a cache of its own node or besides the read."""
        return target.memory.queue_ps if target is self else target.memory.far_ps

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
        pcpu = self.idle.take(preferred)
        if pcpu is not None:
            pcpu.start(world, now, self.idle_ipi)
        else:
            self.enqueue(self._policy.admitting_queue(world, self.pcpus), world, now)

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
        if len(pcpus) > reach + 1:
            first = idle.index - pcpus[0].index + 1
            pcpus = [pcpus[place % len(pcpus)] for place in range(first, first + reach)]
        return self._policy.steal_queue(pcpus).take_first(now) if pcpus else None

    def fill(self, now: int) -> None:
        """Give waiting worlds to idle PCPUs, wherever in the node they wait."""
        for pcpu in self.pcpus:
            if not self.waiting.value:
                return
            if pcpu.running is None:
                world = self._policy.steal_queue(self.pcpus).take_first(now)
                if world is not None:
                    self.idle.remove(pcpu)
                    pcpu.start(world, now, self.idle_ipi)
