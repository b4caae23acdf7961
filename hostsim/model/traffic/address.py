"""IPv4 addresses of VMs, of the peer outside and of the ends of a tunnel, and the RSS hash that NICs compute of them."""

from __future__ import annotations

from typing import Final

from hostsim.model.policy.steering import DEFAULT_KEY, rss_input, toeplitz_hash

__all__ = ["FIRST_PORT", "FIRST_TUNNEL_PORT", "PEER", "TUNNEL_PORTS", "UDP_PORT", "nic_hash", "vm_address"]

PEER: Final = "10.1.0.1"
"""Address of the peer."""
FIRST_PORT: Final = 33000
"""Port of the peer's first stream of datagrams."""
UDP_PORT: Final = 12865
"""Port of datagrams at a VM's end."""
TUNNEL_ENDS: Final = ("10.2.0.1", "10.2.0.2")
"""Addresses of the two ends of a VXLAN tunnel (VTEPs); all of a host's tunnelled traffic has them."""
VXLAN_PORT, FIRST_TUNNEL_PORT, TUNNEL_PORTS = 8472, 49152, 16384
"""Port of VXLAN's receivers at the time, and the range of the sender's, chosen by the hash of the inner flow (RFC 7348)."""


def vm_address(position: int) -> str:
    """Return the address of the VM at a position in the order of power-on."""
    return f"10.0.{position // 250}.{position % 250 + 1}"


def nic_hash(packet: bytes, *, vxlan: bool) -> int:
    """Return the RSS hash that a NIC computes of a packet (`rss_input`), or of the outer headers of the VXLAN tunnel that carries it."""
    inner = toeplitz_hash(DEFAULT_KEY, packet)
    if not vxlan:
        return inner
    outer = rss_input(*TUNNEL_ENDS, FIRST_TUNNEL_PORT + inner % TUNNEL_PORTS, VXLAN_PORT)
    return toeplitz_hash(DEFAULT_KEY, outer)
