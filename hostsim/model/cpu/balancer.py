"""Load balancing between the busy PCPUs of a NUMA node; idle ones steal waiting worlds by themselves (docs/decisions/0064, docs/decisions/0071)."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from operator import attrgetter

from hostsim.model.cpu.node import Node
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.cpu.world import World, WorldState, ready_times
from hostsim.policy.scheduling import fairness_swaps, move_to_balance

__all__ = ["Balancer"]

_by_vtime = attrgetter("vtime")


class Balancer:
    """The periodic load balancer between the run queues of a NUMA node.

    System worlds go before vCPUs and share no time: one that waits moves from the PCPU with the most load of system worlds to that
    with the least, the one whose move leaves the two closest. A system world's load is the time for which it ran or waited in the last period.

    vCPUs have a right to equal virtual time: those that wait furthest behind go on where those are that are furthest ahead, at most
    one at each PCPU. A vCPU has a PCPU while it runs, and when a system world has just cut it short and it is to go on next.

    Attributes:
        moves: worlds that it has moved to another PCPU.
    """

    def __init__(self, scheduler: Scheduler, worlds: Sequence[World], period: int, lead: int) -> None:
        """Make a balancer that has its checks called (`is_needed`).

        Args:
            scheduler: scheduler of the nodes.
            worlds: all worlds that run on these nodes.
            period: picoseconds between two checks.
            lead: picoseconds of virtual time from which one vCPU takes the place of another.
        """
        self._scheduler, self._period, self._lead = scheduler, period, lead
        self._systems = [world for world in worlds if world.system]
        self._wanted = [0] * len(self._systems)
        self.moves = 0

    @property
    def is_needed(self) -> bool:
        """True where checks can find something to do: PCPUs of one node, and a period that is not 0."""
        return self._period > 0 and any(len(node.pcpus) > 1 for node in self._scheduler.nodes)

    def check(self, now: int) -> None:
        """Balance, at the end of a period."""
        pcpus = self._scheduler.pcpus
        for pcpu in pcpus:
            pcpu.charge(now)
        loads = [0.0] * len(pcpus)
        waiting: dict[World, float] = {}
        for position, ready in enumerate(ready_times(self._systems, now)):
            world = self._systems[position]
            wanted = world.used + ready
            load = (wanted - self._wanted[position]) / self._period
            self._wanted[position] = wanted
            if world.state is WorldState.READY:
                waiting[world] = load  # where it waits it counts, which need not be where it ran last
            else:
                loads[world.last.index] += load
        for pcpu in pcpus if waiting else ():
            # the firmware's world is not among those that are balanced
            loads[pcpu.index] += fsum([waiting.get(world, 0.0) for world in pcpu.systems])
        for node in self._scheduler.nodes:
            if node.waiting.value:
                self._spread(node, loads, waiting, now)
                self._even_out(node, now)

    def _spread(self, node: Node, loads: Sequence[float], waiting: dict[World, float], now: int) -> None:
        """Migrate the waiting system world that best evens out the most and the least loaded PCPU, if one does."""
        members = [[waiting.get(world, 0.0) for world in pcpu.systems] for pcpu in node.pcpus]
        move = move_to_balance([loads[pcpu.index] for pcpu in node.pcpus], members, 0.0)
        if move is not None:
            source, position, target = move
            self._move(node.pcpus[source].systems[position], node.pcpus[source], node.pcpus[target], now)

    def _even_out(self, node: Node, now: int) -> None:
        """Replace the vCPUs furthest ahead in virtual time by those furthest behind.

        Receive contexts that work at a steady rate may run at every check, so that who lives in their gaps would never be seen to run.
        """
        waiting = [(world, pcpu) for pcpu in node.pcpus for world in pcpu.vcpus]
        holding: list[Pcpu] = []
        ahead: list[int] = []
        for pcpu in node.pcpus:
            world = pcpu.running
            if world is not None and not world.system:
                holding.append(pcpu)
                ahead.append(pcpu.vtime(now))
            elif world is not None and pcpu.vcpus:
                first = min(pcpu.vcpus, key=_by_vtime)
                if first.last is pcpu and now - first.yielded_at < self._period:
                    holding.append(pcpu)
                    ahead.append(first.vtime)
        for behind, place in fairness_swaps([world.vtime for world, _ in waiting], ahead, self._lead):
            self._move(*waiting[behind], holding[place], now)

    def _move(self, world: World, source: Pcpu, target: Pcpu, now: int) -> None:
        if source.withdraw(world, now):  # else a move before this one has let it go on
            self._scheduler.place(world, target, now)
            self.moves += source is not target
