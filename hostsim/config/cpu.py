"""Processors of a host: sockets, cores, hyperthreads, NUMA nodes, clock."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hostsim.config.field import UNHASHED, SmallCount, Spec
from hostsim.config.quantity import Duration, Frequency, PositiveDuration, Rate

__all__ = ["CpuSpec", "MemorySpec"]

BUS = 8
"""Bytes of a transfer on a memory channel."""


class MemorySpec(Spec):
    """The memory of each NUMA node of a server: latencies while nobody else uses it, and channels."""

    latency: PositiveDuration
    """Latency of a load from memory of the same node."""
    hop: Duration
    """Time by which memory of another node is farther; on average where some nodes are farther than others."""
    channels: SmallCount
    """Memory channels of a node."""
    transfers: Rate
    """Transfers of 8 bytes in a second on each channel: 1.6e9 /s of DDR3-1600."""

    @property
    def peak(self) -> float:
        """Bytes in a second that the channels of a node carry at most."""
        return self.channels * self.transfers * BUS


class CpuSpec(Spec):
    """The processors of a server; one NUMA node a socket."""

    model: Annotated[str, UNHASHED]
    """Name on the data sheet; nothing depends on it."""
    family: str
    """Processor generation, a key of the platform's ``generations``: how many cycles the same work takes on it."""
    sockets: SmallCount
    """Number of sockets; each is a NUMA node."""
    cores: Annotated[int, Field(ge=1, le=256)]
    """Cores in each socket."""
    threads: Literal[1, 2] = 1
    """PCPUs in each core: 2 with hyperthreading, where two neighbouring PCPUs share the throughput of their core."""
    clock: Frequency
    """Nominal clock."""
    ddio: bool = False
    """True where the NIC writes packets into the last-level cache (Intel Data Direct I/O)."""
    memory: MemorySpec | None = None
    """Its memory. Where nothing is said no copy ever waits for memory, on whichever node it lies."""

    @property
    def remote_ratio(self) -> float:
        """Latency of memory of another node, that of the same node being 1."""
        return 1 + self.memory.hop / self.memory.latency if self.memory else 1.0

    @property
    def pcpus(self) -> int:
        """Number of PCPUs of the host."""
        return self.sockets * self.cores * self.threads
