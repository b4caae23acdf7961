"""NUMA balancing: once a period, one NUMA client migrates from the most to the least loaded node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.model.cpu.scheduler import NumaClient, Scheduler
from hostsim.policy.numa import move_to_balance, node_load

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = ["NumaBalancer"]


class NumaBalancer:
    """The control loop of the NUMA balancer.

    A node is as full as its VMs want it, and as system worlds that keep them from it make it (`node_load`).

    Args:
        scheduler: scheduler of the nodes.
        period: picoseconds between two checks.
        imbalance: least difference of two loads that is worth a migration, as a share of a node.

    Attributes:
        moves: migrations so far.
    """

    def __init__(self, scheduler: Scheduler, period: int, imbalance: float) -> None:
        self._scheduler, self._period, self._imbalance = scheduler, period, imbalance
        self._busy = [0] * len(scheduler.nodes)
        """Time for which the PCPUs of each node were busy up to the last check, in picoseconds."""
        self.moves = 0

    def run(self) -> ProcessGenerator:
        """Balance once a period."""
        env = self._scheduler.clock
        while True:
            yield env.timeout(self._period)
            self._balance(env.now)

    def _balance(self, now: int) -> None:
        scheduler = self._scheduler
        nodes, period = scheduler.nodes, self._period
        system = self._busy_since(now)
        capacity = len(scheduler.pcpus) // len(nodes)
        wanted = [0.0] * len(nodes)
        homes: list[list[NumaClient]] = [[] for _ in nodes]
        members: list[list[float]] = [[] for _ in nodes]
        for unit in scheduler.numa_clients:
            home = unit.worlds[0].node.index
            unit.demand.look(now, period)
            system[home] -= unit.demand.used
            wanted[home] += unit.demand.wanted
            if not unit.pinned:
                homes[home].append(unit)
                members[home].append(unit.demand.wanted / capacity)
        loads = [node_load(vms, max(0.0, others), capacity) for vms, others in zip(wanted, system, strict=True)]
        allowed = [[unit.nodes for unit in units] for units in homes]
        move = move_to_balance(loads, members, self._imbalance, allowed)
        if move is not None:
            source, position, target = move
            scheduler.rehome(homes[source][position].worlds, nodes[target], now)
            self.moves += 1

    def _busy_since(self, now: int) -> list[float]:
        """Return the average number of busy PCPUs of each node in the period that ends now, and charge all running worlds."""
        busy = [0] * len(self._busy)
        for pcpu in self._scheduler.pcpus:
            pcpu.charge(now)
            busy[pcpu.node.index] += pcpu.busy(now)
        since = [(total - before) / self._period for total, before in zip(busy, self._busy, strict=True)]
        self._busy = busy
        return since
