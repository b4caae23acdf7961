"""Balancing between the PCPUs of a node that are all busy: those that go idle take waiting worlds by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from hostsim.engine.clock import Timer
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World, WorldState, ready_times
from hostsim.policy.scheduling import move_to_balance

__all__ = ["Balancer"]


class Balancer:
    """Once a period, moves waiting worlds of each node from the PCPU with the most load to those with the least.

    The load of a world is the time for which it ran or waited in the last period. What a system world finds at a PCPU are the system
    worlds there, as it goes before vCPUs; what a vCPU finds is everybody. So the two are balanced one after the other, each by at
    most one move a node and period: the one that leaves the two PCPUs closest.

    Attributes:
        moves: worlds that it has moved to another PCPU's queue.
    """

    __slots__ = ("_period", "_scheduler", "_timer", "_wanted", "_worlds", "moves")

    def __init__(self, scheduler: Scheduler, worlds: Sequence[World], period: int) -> None:
        """Begin to balance.

        Args:
            scheduler: whose nodes.
            worlds: all that PCPUs of these nodes run.
            period: picoseconds between two checks; 0 for none at all.
        """
        self._scheduler, self._worlds, self._period = scheduler, worlds, period
        self._wanted = [0] * len(worlds)
        self._timer = Timer(scheduler.clock, self._check)
        self.moves = 0
        if period and any(len(node.pcpus) > 1 for node in scheduler.nodes):
            self._timer.arm(scheduler.clock.now + period)

    def _check(self, now: int) -> None:
        pcpus = self._scheduler.pcpus
        for pcpu in pcpus:
            pcpu.charge(now)
        systems, everybody = [0.0] * len(pcpus), [0.0] * len(pcpus)
        waiting: dict[World, float] = {}
        for position, ready in enumerate(ready_times(self._worlds, now)):
            world = self._worlds[position]
            wanted = world.used + ready
            load = (wanted - self._wanted[position]) / self._period
            self._wanted[position] = wanted
            if world.state is WorldState.READY:
                waiting[world] = load
                continue  # where it waits it counts, which need not be where it ran last
            everybody[world.last.index] += load
            if world.system:
                systems[world.last.index] += load
        for pcpu in pcpus if waiting else ():
            ahead = fsum([waiting.get(world, 0.0) for world in pcpu.systems])  # the firmware's is not among the worlds
            systems[pcpu.index] += ahead
            everybody[pcpu.index] += ahead + fsum([waiting[world] for world in pcpu.vcpus])
        for node in self._scheduler.nodes:
            if node.waiting.value:
                self._move(node, [(systems[pcpu.index], list(pcpu.systems)) for pcpu in node.pcpus], waiting, now)
                self._move(node, [(everybody[pcpu.index], pcpu.vcpus) for pcpu in node.pcpus], waiting, now)
        self._timer.arm(now + self._period)

    def _move(
        self, node: Node, queues: Sequence[tuple[float, Sequence[World]]], waiting: dict[World, float], now: int
    ) -> None:
        """Make the move that brings the fullest and the emptiest of these PCPUs closest, if there is one."""
        members = [[waiting.get(world, 0.0) for world in queue] for _, queue in queues]
        move = move_to_balance([load for load, _ in queues], members, 0.0)
        if move is None:
            return
        source, position, target = move
        world = queues[source][1][position]
        left: Pcpu = node.pcpus[source]
        left.withdraw(world, now)
        self._scheduler.place(world, node.pcpus[target], now)
        self.moves += 1
