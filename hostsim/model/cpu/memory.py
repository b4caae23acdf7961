"""Memory of a NUMA node: the wait of each copied byte, which grows with the used bandwidth.

One law holds for the VMkernel and for guests (docs/design/memory.md). A copy takes processor cycles for each byte,
independent of its ends. Each end outside the last-level cache of the copying node adds a wait: for a cache line, the
latency of the memory over the number of lines in flight of a processor (Little's law; J. McCalpin writes bandwidth =
concurrency / latency). Latency grows with load as the wait in an M/D/1 queue: service x load / (2 (1 - load)). A byte
written back to memory waits in that queue, too.

The load is a moving average over `LAG` of the counted bytes. Dispatches update it, without events and without
randomness.
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
"""Time constant of the load: many batches, so that slower copies do not overshoot; and a small part of a run."""
LOOK: Final = 10 * US
"""Smallest time between two updates of the load; shorter than most batches."""
STEPS: Final = 256
"""Number of steps of the load from 0 to 1; waits are computed again only if it changes."""


class Memory:
    """The memory of a NUMA node, with the last-level cache before it.

    Times are picoseconds for each byte, with fractions.

    Attributes:
        octets: bytes moved to and from it.
        near_ps: wait of a copy on this node for an end in this memory.
        far_ps: wait of a copy on a node of another socket for an end here, in memory or cache.
        beside_ps: wait of a copy on another node of the socket for an end here, in memory or cache.
        across_ps: wait of a copy on this node for an end in the cache of another core complex; 0 without core
            complexes.
        dma_ps: wait of a copy on this node for data from a NIC of this node; 0 with DDIO, which has put it into the
            cache.
        queue_ps: wait of a copy for its write-back.
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
        """Create a memory without load; by default without waits.

        Args:
            latency_ps: idle latency from its own node.
            remote_ps: idle latency from a node of another socket.
            beside_ps: idle latency from another node of the socket.
            across_ps: latency of a cache of another core complex of the node; 0 without core complexes.
            service_ps: service time of a line in the memory, for which others queue.
            fills: number of lines in flight of a processor.
            bandwidth: usable bytes/s; 0 for no limit.
            ddio: True if NICs of this node write into its cache.
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
        """Used share of the bandwidth, as in the current waits."""
        return self._step / STEPS

    @property
    def busy(self) -> int:
        """Time of the counted bytes at the bandwidth, in picoseconds; 0 without a limit."""
        return round(self.octets * self._steps / STEPS)

    def look(self, now: int) -> bool:
        """Update the load; True if the wait of a byte has changed."""
        octets = self.octets
        # a low-pass filter: a steady rate gives exactly that rate, for any intervals between updates
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
        """Count bytes that a NIC wrote here and a context reads: without DDIO they go to memory and back."""
        if not self.ddio:
            self.octets += 2 * octets

    def sent(self, octets: int) -> None:
        """Count bytes that a NIC reads from here: without DDIO they come from memory."""
        if not self.ddio:
            self.octets += octets


def node_memory(costs: CostModel, cpu: CpuSpec) -> Memory:
    """Create the memory of a node of a server."""
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
