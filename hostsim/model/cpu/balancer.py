"""Load balancing between the PCPUs of a NUMA node; idle PCPUs steal work without it.

See docs/design/scheduler.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from hostsim.model.cpu.pcpu import Node, World, WorldState, ready_times
from hostsim.model.cpu.scheduler import Scheduler

__all__ = ["Balancer"]


class Balancer:
    """The periodic load balancer between the run queues of a NUMA node.

    The scheduler policy selects the system world that migrates, by loads, and the vCPUs that exchange their PCPUs. The
    load of a system world is its time running or waiting in the last period. A vCPU occupies a PCPU while it runs. It
    also does while a system world that has just preempted it runs, if the vCPU is next.

    Attributes:
        moves: number of migrations to another PCPU.
    """

    def __init__(self, scheduler: Scheduler, worlds: Sequence[World], period: int, package_period: int = 0) -> None:
        """Create a balancer; the caller calls its checks if `is_needed`.

        Args:
            scheduler: scheduler of the nodes.
            worlds: all worlds that run on these nodes.
            period: picoseconds between two checks.
            package_period: picoseconds between two checks of whole nodes, if other checks stay within core complexes; 0
                for never.
        """
        self._whole_after = max(1, package_period // period) if period and package_period else 0
        self._checks = 0
        self._scheduler, self._period = scheduler, period
        self._systems = [world for world in worlds if world.system]
        self._demands = [0] * len(self._systems)
        self.moves = 0

    @property
    def is_needed(self) -> bool:
        """True if checks may have an effect: nodes with several PCPUs, and a period above 0."""
        return self._period > 0 and any(len(node.pcpus) > 1 for node in self._scheduler.nodes)

    def check(self, now: int) -> None:
        """Balance at the end of a period."""
        pcpus = self._scheduler.pcpus
        self._checks += 1
        whole = bool(self._whole_after) and self._checks % self._whole_after == 0
        within = self._scheduler.within > 0 and not whole
        for node in self._scheduler.nodes:
            if node.waiting.value:
                node.fill(now, within=within)
        for pcpu in pcpus:
            pcpu.charge(now)
        loads = [0.0] * len(pcpus)
        waiting: dict[World, float] = {}
        for position, ready in enumerate(ready_times(self._systems, now)):
            world = self._systems[position]
            demand = world.used + ready
            load = (demand - self._demands[position]) / self._period
            self._demands[position] = demand
            if world.state is WorldState.READY:
                waiting[world] = load  # its load counts on the PCPU where it waits, which may differ from its last one
            else:
                loads[world.last.index] += load
        for pcpu in pcpus if waiting else ():
            # the firmware's world is not balanced
            loads[pcpu.index] += fsum([waiting.get(world, 0.0) for world in pcpu.systems])
        for node in self._scheduler.nodes:
            if node.waiting.value:
                self._spread(node, loads, waiting, now)
                self.moves += self._scheduler.even_out(node, now, self._period)

    def _spread(self, node: Node, loads: Sequence[float], waiting: dict[World, float], now: int) -> None:
        """Migrate a waiting system world, if the policy chooses one."""
        members = [[waiting.get(world, 0.0) for world in pcpu.systems] for pcpu in node.pcpus]
        move = self._scheduler.policy.spread([loads[pcpu.index] for pcpu in node.pcpus], members)
        if move is not None:
            source, position, target = move
            world = node.pcpus[source].systems[position]
            self.moves += self._scheduler.move(world, node.pcpus[source], node.pcpus[target], now)
