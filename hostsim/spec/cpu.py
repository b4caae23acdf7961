"""Processors of a host: sockets, cores, hyperthreads, NUMA nodes, clock."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hostsim.spec.base import UNHASHED, Spec
from hostsim.spec.field import SmallCount
from hostsim.spec.quantity import Frequency

__all__ = ["CpuSpec"]


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

    @property
    def pcpus(self) -> int:
        """Number of PCPUs of the host."""
        return self.sockets * self.cores * self.threads
