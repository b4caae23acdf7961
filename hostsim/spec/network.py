"""Virtual switches and what hangs on them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hostsim.spec.base import Spec

__all__ = ["ETHERNET_OVERHEAD", "LEAST_PAYLOAD", "MTU", "UDP_HEADERS", "VSwitchSpec", "datagram_on_wire"]

UDP_HEADERS = 28
"""Bytes of the IPv4 and UDP headers of a datagram."""
ETHERNET_OVERHEAD = 38
"""Bytes on the wire around the payload of a frame: header 14, check sequence 4, preamble 8, gap 12."""
LEAST_PAYLOAD = 46
"""Bytes that an Ethernet frame carries at least."""
MTU = 1500
"""Bytes that a frame carries at most."""


def datagram_on_wire(octets: int) -> int:
    """Bytes on the wire of a datagram with ``octets`` bytes of data, in one frame."""
    return max(octets + UDP_HEADERS, LEAST_PAYLOAD) + ETHERNET_OVERHEAD


class VSwitchSpec(Spec):
    """A virtual switch with its uplink."""

    uplinks: Annotated[tuple[str, ...], Field(min_length=1, max_length=1)]
    """Name of the physical NIC (``vmnic0``) that connects the switch."""
