"""Traffic of VMkernel ports: streams to other hosts, and migrations of VMs (vMotion)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from hostsim.config.field import Name, SmallCount
from hostsim.config.network import SystemTraffic
from hostsim.config.quantity import Bandwidth, Duration, Size
from hostsim.config.traffic import Traffic

__all__ = ["VmkernelStreamSpec", "VmkernelTraffic", "VmotionSpec"]


class VmkernelTraffic(Traffic):
    """Base of traffic that the VMkernel sends over TCP to another host, with a thread for each stream."""

    to: ClassVar[tuple[str, ...]] = ()  # type: ignore[misc]  # of no group of VMs
    network: Name
    """Name of the virtual switch or port group of its VMkernel port."""
    streams: SmallCount = 1
    """Number of streams, each with its own thread and TCP connection."""
    window: Annotated[Size, Field(ge=65536)]
    """Window of a stream in bytes: the smaller of the receive window and the socket buffer."""
    delay: Duration = 0
    """Time from the arrival of data at the other host to that of its acknowledgement: the round-trip time outside the
    host.
    """
    stream_rate: Bandwidth = 15e9
    """Throughput of a thread with an exclusive PCPU; default: 15 Gbit/s, as published for vMotion (15 to 18 Gbit/s)."""

    def stream_count(self, vms: int) -> int:
        """Return the number of streams of the host, which does not depend on its VMs."""
        return self.streams


class VmkernelStreamSpec(VmkernelTraffic):
    """A continuous stream of the VMkernel to another host: storage, replication, backup."""

    kind: Literal["vmkernel_stream"]
    """Kind of traffic."""
    system: SystemTraffic
    """Kind of system traffic in Network I/O Control."""
    rate: Bandwidth | None = None
    """Data rate of each stream; unlimited by default."""


class VmotionSpec(VmkernelTraffic):
    """The migration of a VM to another host (vMotion).

    It sends all memory, then in rounds the pages that the VM has written meanwhile, and the rest while the VM is
    stopped.
    """

    system: ClassVar[SystemTraffic] = "vmotion"
    kind: Literal["vmotion"]
    """Kind of traffic."""
    memory: Annotated[Size, Field(ge=4096)]
    """Memory of the VM, which is not one of the host's ``vms``."""
    dirty_rate: Bandwidth | None = None
    """Rate at which the VM writes to copied memory, each page once in a round; none by default: the VM is idle."""
    start: Duration = 0
    """Start of the migration."""
