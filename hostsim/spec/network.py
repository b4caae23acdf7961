"""Virtual switches and sizes of packets: on the wire, in a frame, in a TCP segment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hostsim.spec.base import Spec
from hostsim.spec.field import UplinkNames

__all__ = [
    "ETHERNET_OVERHEAD",
    "FRAME_OVERHEAD",
    "LEAST_PAYLOAD",
    "TCP_HEADERS",
    "UDP_HEADERS",
    "VXLAN_HEADERS",
    "VSwitchSpec",
    "datagram_on_wire",
    "frame_size",
    "packet_on_wire",
    "segment_size",
]

UDP_HEADERS = 28
"""Bytes of the IPv4 and UDP headers of a datagram."""
ETHERNET_OVERHEAD = 38
"""Bytes on the wire around the payload of a frame: header 14, check sequence 4, preamble 8, gap 12."""
FRAME_OVERHEAD = 18
"""Of these the bytes that count as the frame's own: header 14, check sequence 4."""
LEAST_PAYLOAD = 46
"""Bytes that an Ethernet frame carries at least."""
TCP_HEADERS = 52
"""Bytes of the IPv4 and TCP headers of a segment, timestamps included (RFC 7323)."""
VXLAN_HEADERS = 50
"""Bytes that VXLAN puts around an Ethernet frame without its check sequence: Ethernet 14, IPv4 20, UDP 8, VXLAN 8 (RFC 7348)."""


def datagram_on_wire(octets: int, *, vxlan: bool = False) -> int:
    """Bytes on the wire of a datagram with ``octets`` bytes of data, in one frame; inside VXLAN or not."""
    return packet_on_wire(octets + UDP_HEADERS, vxlan=vxlan)


def packet_on_wire(octets: int, *, vxlan: bool = False) -> int:
    """Bytes on the wire of an IP packet of ``octets`` bytes, headers included, in one frame; inside VXLAN or not."""
    return max(octets, LEAST_PAYLOAD) + ETHERNET_OVERHEAD + (VXLAN_HEADERS if vxlan else 0)


def frame_size(octets: int) -> int:
    """Bytes of the Ethernet frame around an IP packet of ``octets`` bytes, as counters of NICs see it: without check sequence."""
    return max(octets, LEAST_PAYLOAD) + 14


def segment_size(mtu: int) -> int:
    """Bytes of data in a full TCP segment."""
    return mtu - TCP_HEADERS


class VSwitchSpec(Spec):
    """A virtual switch with its uplinks."""

    uplinks: UplinkNames
    """Names of the physical NICs (``vmnic0``) that connect the switch. With several, each virtual port has one of them, dealt in the order of the
    ports (teaming by originating port id)."""
    mtu: Annotated[int, Field(ge=1280, le=9000)] = 1500
    """Bytes of an IP packet of its guests at most; frames on the wire are larger by the headers of VXLAN."""
    vxlan: bool = False
    """True where the switch puts the frames of its guests into VXLAN (RFC 7348)."""
