"""Traffic of VMkernel ports: streams to other hosts, and the migration of VMs (vMotion)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from hostsim.config.field import Name, SmallCount
from hostsim.config.network import SystemTraffic
from hostsim.config.quantity import Bandwidth, Duration, Size
from hostsim.config.traffic import Traffic

__all__ = ["VmkernelStreamSpec", "VmkernelTraffic", "VmotionSpec"]


class VmkernelTraffic(Traffic):
    """Base of what the VMkernel sends: over TCP to another host, each stream by a thread of its own."""

    to: ClassVar[tuple[str, ...]] = ()  # type: ignore[misc]  # of no group of VMs
    network: Name
    """Name of the virtual switch or port group of its VMkernel port."""
    streams: SmallCount = 1
    """Streams, each with a thread and a TCP connection of its own."""
    window: Annotated[Size, Field(ge=65536)]
    """Bytes that a stream may have in flight: the smaller of what the other host offers and the buffer of the socket."""
    delay: Duration = 0
    """Time from the arrival of data at the other host to that of its acknowledgement: the round trip outside the host."""
    stream_rate: Bandwidth = 15e9
    """Rate at which a thread that has a PCPU to itself hands data on: 15 Gbit/s by default, as published of vMotion (15 to 18 Gbit/s)."""

    def stream_count(self, vms: int) -> int:
        """Streams of the host, whatever VMs there are."""
        return self.streams


class VmkernelStreamSpec(VmkernelTraffic):
    """Data that the VMkernel sends to another host and that never end: storage, replication, backups."""

    kind: Literal["vmkernel_stream"]
    """What kind of traffic this is."""
    system: SystemTraffic
    """Kind of system traffic, as Network I/O Control distinguishes them."""
    rate: Bandwidth | None = None
    """Data that each stream has to send; as much as it can where nothing is said."""


class VmotionSpec(VmkernelTraffic):
    """The migration of a VM to another host (vMotion): all memory, then what the VM has written meanwhile, in rounds, and the rest while it stands still."""

    has_answers = True
    system: ClassVar[SystemTraffic] = "vmotion"
    kind: Literal["vmotion"]
    """What kind of traffic this is."""
    memory: Annotated[Size, Field(ge=4096)]
    """Memory of the VM. The VM itself is not one of the host's ``vms``."""
    dirty_rate: Bandwidth | None = None
    """Rate at which the VM writes to memory that has been copied, each page once in a round; none by default: the VM is idle."""
    start: Duration = 0
    """Time at which the migration begins."""
