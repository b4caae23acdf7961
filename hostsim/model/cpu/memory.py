"""Memory of a NUMA node: how long a byte of a copy waits for it, and how that grows as its bandwidth is used up.

One law for the VMkernel and for guests (docs/design/memory.md). A copy takes processor cycles for each byte, whatever lies where. Each of its two ends that is
not in the last-level cache of the copier's node makes it wait besides: for a cache line the latency of the memory, over the lines that one processor has in
flight (Little's law; J. McCalpin writes bandwidth = concurrency / latency). Latency grows with load as the wait in an M/D/1 queue: service x load / (2 (1 - load)).
A byte written back to memory waits in that queue, too.

The load is that of the bytes that contexts have counted, averaged over `LAG`. It is looked at by dispatches, needs no event, and is no matter of chance.
"""

from __future__ import annotations

from typing import Final

from hostsim.config.costs import CostModel
from hostsim.config.cpu import CpuSpec
from hostsim.units import MS, SECOND, US

__all__ = ["LAG", "LINE", "LOOK", "STEPS", "Memory", "node_memory"]

LINE: Final = 64
"""Bytes of a cache line."""
LAG: Final = 1 * MS
"""Time over which the load is averaged: many batches, so that copies that slow down do not overshoot; and little of a run."""
LOOK: Final = 10 * US
"""Least time between two looks at the load: less than most batches take."""
STEPS: Final = 256
"""Steps of the load from none to all, so that prices are worked out anew only when it has moved."""


class Memory:
    """The memory of a NUMA node, with the last-level cache before it.

    Times are those of a byte, in picoseconds, fractions included.

    Attributes:
        octets: bytes that have gone to it and come from it.
        near_ps: wait of a copier on this node for an end in this memory.
        far_ps: wait of a copier on a node of another socket for an end here, in memory or cache.
        beside_ps: the same of a copier on another node of the socket.
        across_ps: wait of a copier on this node for an end in the cache of another core complex; none without core complexes.
        dma_ps: wait of a copier on this node for what a NIC of this node has written here; none with DDIO, which has put it into the cache.
        queue_ps: wait of a copier for what it wrote to be written back.
    """

    def __init__(
        self,
        *,
        latency_ps: int = 0,
        remote_ps: int = 0,
        beside_ps: int = 0,
        across_ps: int = 0,
        service_ps: int = 0,
        fills: float = 1.0,
        bandwidth: float = 0.0,
        ddio: bool = True,
    ) -> None:
        """Make an idle memory; one that never makes anybody wait where nothing is said.

        Args:
            latency_ps: idle latency from its own node.
            remote_ps: idle latency from a node of another socket.
            beside_ps: idle latency from another node of the socket.
            across_ps: latency of a cache of another core complex of the node; 0 without core complexes.
            service_ps: time of a line in the memory itself, for which others queue.
            fills: lines that a processor has in flight.
            bandwidth: bytes that it can move in a second; 0 for any number.
            ddio: NICs of this node write into its cache.
        """
        self.ddio = ddio
        per_line = 1 / (LINE * fills)
        self._near, self._far, self._service = latency_ps * per_line, remote_ps * per_line, service_ps * per_line
        self._beside, self.across_ps = beside_ps * per_line, across_ps * per_line
        self._steps = STEPS * SECOND / bandwidth if bandwidth else 0.0
        self._rate = 0.0
        self._step = self._counted = self._looked = self.octets = 0
        self.near_ps = self.far_ps = self.beside_ps = self.dma_ps = self.queue_ps = 0.0
        self._price(0)

    @property
    def load(self) -> float:
        """Share of the bandwidth that is used, as prices have it."""
        return self._step / STEPS

    @property
    def busy(self) -> int:
        """Time that what was counted takes at its bandwidth, in picoseconds; 0 without an end to that."""
        return round(self.octets * self._steps / STEPS)

    def look(self, now: int) -> bool:
        """Look at the load; True when that has changed what a byte waits."""
        octets = self.octets
        # a low pass: what is counted at a steady rate comes to that rate exactly, however far apart the looks are
        self._rate = (self._rate * LAG + (octets - self._counted)) / (LAG + now - self._looked)
        self._counted, self._looked = octets, now
        step = min(int(self._rate * self._steps), STEPS - 1)
        if step == self._step:
            return False
        self._price(step)
        return True

    def _price(self, step: int) -> None:
        self._step = step
        self.queue_ps = queue = self._service * step / (2 * (STEPS - step))
        self.near_ps, self.far_ps, self.beside_ps = self._near + queue, self._far + queue, self._beside + queue
        self.dma_ps = 0.0 if self.ddio else self.near_ps

    def received(self, octets: int) -> None:
        """Count bytes that a NIC has put here and somebody reads: without DDIO they go to memory and come from it."""
        if not self.ddio:
            self.octets += 2 * octets

    def sent(self, octets: int) -> None:
        """Count bytes that a NIC takes from here: without DDIO they come from memory."""
        if not self.ddio:
            self.octets += octets


def node_memory(costs: CostModel, cpu: CpuSpec) -> Memory:
    """Make the memory of one node of a server."""
    memory, across = cpu.memory, 0 if cpu.core_complex is None else cpu.core_complex.far
    if memory is None:
        return Memory(across_ps=across, fills=costs.line_fills.value, ddio=cpu.ddio)
    hop_in_socket = memory.hop if memory.hop_in_socket is None else memory.hop_in_socket
    service = costs.memory_service.time
    assert service is not None
    return Memory(
        latency_ps=memory.latency,
        remote_ps=memory.latency + memory.hop,
        beside_ps=memory.latency + hop_in_socket,
        across_ps=across,
        service_ps=service,
        fills=costs.line_fills.value,
        bandwidth=memory.peak * costs.memory_usable.value,
        ddio=cpu.ddio,
    )
