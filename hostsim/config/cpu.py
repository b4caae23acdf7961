"""Processors of a host: sockets, cores, hyperthreads, NUMA nodes, clock."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hostsim.config.field import UNHASHED, SmallCount, Spec, later
from hostsim.config.quantity import Duration, Frequency, PositiveDuration, Rate

__all__ = ["L1TF", "CoreComplexSpec", "CpuSpec", "MemorySpec"]

L1TF = ("nehalem", "westmere", "westmere-ex", "sandy-bridge", "ivy-bridge", "haswell", "broadwell", "skylake-sp")
"""Processor families with the L1 terminal fault, for which side-channel aware schedulers exist (Broadcom KB 330041)."""

BUS = 8
"""Bytes of a transfer on a memory channel."""


class MemorySpec(Spec):
    """The memory of each NUMA node of a server: unloaded latencies, and channels."""

    latency: PositiveDuration
    """Latency of a load from memory of the same node, without other load."""
    hop: Duration
    """Additional latency of memory of another node; the mean if distances differ. With ``hop_in_socket``, of a node of
    another socket.
    """
    hop_in_socket: Duration | None = later(None)
    """Additional latency of memory of another node of the same socket, if a socket has several nodes; default:
    ``hop``.
    """
    channels: SmallCount
    """Memory channels of a node."""
    transfers: Rate
    """Transfers of 8 bytes/s on each channel: 1.6e9 /s for DDR3-1600."""

    @property
    def peak(self) -> float:
        """Peak bandwidth of a node's channels, in bytes/s."""
        return self.channels * self.transfers * BUS


class CoreComplexSpec(Spec):
    """Core complexes (CCX): groups of cores of a NUMA node with a shared last-level cache (AMD EPYC)."""

    cores: SmallCount
    """Number of cores of a complex."""
    near: PositiveDuration
    """Latency of a cache line that another core of the complex has just written."""
    far: PositiveDuration
    """Latency of a cache line that a core of another complex of the node has just written."""

    @model_validator(mode="after")
    def _is_nearer(self) -> CoreComplexSpec:
        if self.far < self.near:
            raise ValueError("has a far latency below its near latency|far: at least as long as near")
        return self


class CpuSpec(Spec):
    """The processors of a server, with their NUMA nodes and last-level caches."""

    model: Annotated[str, UNHASHED]
    """Name on the data sheet; without effect on results."""
    family: str
    """Processor generation, a key of the platform's ``generations``, which has its cycles of the same work."""
    sockets: SmallCount
    """Number of sockets."""
    nodes_per_socket: Literal[1, 2, 4] = later(1)
    """NUMA nodes of each socket: NPS of an AMD EPYC, sub-NUMA clustering (SNC) or cluster-on-die of an Intel Xeon.
    Nodes of a socket have consecutive numbers.
    """
    cores: Annotated[int, Field(ge=1, le=256)]
    """Cores in each socket."""
    threads: Literal[1, 2] = 1
    """PCPUs in each core: 2 with hyperthreading, where two consecutive PCPUs share the throughput of their core."""
    core_complex: CoreComplexSpec | None = later(None)
    """Last-level caches of groups of a node's cores; default: one cache for each node."""
    clock: Frequency
    """Nominal (base) clock."""
    all_core_turbo: Frequency | None = later(None)
    """Clock with turbo and all cores busy, used for all work; default: the nominal clock. Other turbo clocks are not
    modelled.
    """
    ddio: bool = False
    """True if the NIC writes packets into the last-level cache (Intel Data Direct I/O)."""
    memory: MemorySpec | None = None
    """Memory of the server. Without it no copy waits for memory, on any node."""

    @model_validator(mode="after")
    def _divides(self) -> CpuSpec:
        if self.cores % self.nodes_per_socket:
            raise ValueError(
                f"{self.cores} cores do not divide into {self.nodes_per_socket} equal NUMA nodes|cores: a multiple of nodes_per_socket"
            )
        if self.core_complex is not None and self.node_cores % self.core_complex.cores:
            message = (
                f"{self.node_cores} cores of a NUMA node do not divide into core complexes of {self.core_complex.cores}"
            )
            raise ValueError(f"{message}|core_complex.cores: a divisor of the cores of a node")
        if self.all_core_turbo is not None and self.all_core_turbo < self.clock:
            raise ValueError("has an all-core turbo clock below its nominal clock|all_core_turbo: at least clock")
        if self.memory is not None and self.memory.hop_in_socket is not None and self.nodes_per_socket == 1:
            raise ValueError("has one NUMA node in each socket|memory.hop_in_socket only with nodes_per_socket above 1")
        return self

    @property
    def hertz(self) -> float:
        """Clock of the cores in Hz: all-core turbo, or the nominal clock."""
        return self.all_core_turbo or self.clock

    @property
    def nodes(self) -> int:
        """Number of NUMA nodes of the host."""
        return self.sockets * self.nodes_per_socket

    @property
    def node_cores(self) -> int:
        """Cores of each NUMA node."""
        return self.cores // self.nodes_per_socket

    @property
    def remote_ratio(self) -> float:
        """Latency of memory of a node of another socket, relative to that of the same node."""
        return 1 + self.memory.hop / self.memory.latency if self.memory else 1.0

    @property
    def in_socket_ratio(self) -> float:
        """Latency of memory of another node of the same socket, relative to that of the same node."""
        memory = self.memory
        if memory is None or memory.hop_in_socket is None:
            return self.remote_ratio
        return 1 + memory.hop_in_socket / memory.latency

    @property
    def pcpus(self) -> int:
        """Number of PCPUs of the host."""
        return self.sockets * self.cores * self.threads
