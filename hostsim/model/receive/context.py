"""Networking contexts: worlds of the VMkernel that sleep until there are packets, and what their wake-up costs.

One law for all of them, NetPolls, NetWorlds and split-receive contexts: whichever sleeps and is woken pays for the entry of its poll loop, and for the
interrupt where one woke it. What a PCPU takes to turn to it comes on top, as for every world.
"""

from __future__ import annotations

from typing import Final

from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.pcpu import Node, Pcpu, World, WorldState
from hostsim.model.cpu.scheduler import Scheduler

__all__ = ["NetContext"]

_SLEEPING: Final = WorldState.SLEEPING


class NetContext(World):
    """A networking context of the VMkernel: a system world that polls queues of packets.

    Attributes:
        woken: it was woken and has not begun; its first batch takes `wake_ps` longer.
        wake_ps: cost of its wake-up, in picoseconds.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        node: Node,
        last: Pcpu,
        scheduler: Scheduler,
        costs: CostTable,
        interrupt_ps: int = 0,
    ) -> None:
        """Make a context that sleeps.

        Args:
            kind: kind of world.
            name: for tables.
            node: home node.
            last: PCPU where it starts.
            scheduler: wakes it.
            costs: cost table of the host.
            interrupt_ps: cost of the interrupt that wakes it; 0 where another world does.
        """
        super().__init__(kind, name, system=True, node=node, last=last)
        self._scheduler, self._costs = scheduler, costs
        self.wake_ps = costs.poll_entry + interrupt_ps
        self.woken = False

    def wake(self, now: int, source: Pcpu | None = None) -> None:
        """Wake the context from the PCPU ``source`` (`Scheduler.wake`); one that runs or waits finds its packets without."""
        if self.state is _SLEEPING:
            self.woken = True
            self._scheduler.wake(self, now, source)
