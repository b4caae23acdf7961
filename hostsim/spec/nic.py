"""Physical NICs: data-sheet facts and driver behaviour."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hostsim.spec.base import Spec
from hostsim.spec.quantity import Bandwidth, Duration

__all__ = ["NicSpec"]


class NicSpec(Spec):
    """One port of a physical NIC."""

    model: str
    """Name on the data sheet; nothing depends on it."""
    line_rate: Bandwidth
    """Rate of the wire."""
    node: Annotated[int, Field(ge=0)]
    """NUMA node whose I/O hub the NIC sits behind."""
    rx_ring: Annotated[int, Field(ge=1, le=65536)]
    """Receive descriptors of a queue; packets that find none are dropped at no cost to the host."""
    driver: Literal["vmklinux", "native"]
    """``vmklinux`` converts each packet from the Linux driver's structures; ``native`` does not."""
    interrupt_interval: Duration
    """Interrupt moderation: least time between two interrupts of a queue."""
