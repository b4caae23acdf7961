"""IPv4 addresses of VMs, of the peer and of tunnel endpoints, and the RSS hash that NICs compute."""

from __future__ import annotations

from typing import Final

from hostsim.model.policy.steering import DEFAULT_KEY, rss_input, toeplitz_hash

__all__ = [
    "FIRST_PORT",
    "FIRST_TUNNEL_PORT",
    "PEER",
    "TUNNEL_ENDS",
    "TUNNEL_PORTS",
    "UDP_PORT",
    "ip_hash",
    "nic_hash",
    "vm_address",
    "vmkernel_address",
]

PEER: Final = "10.1.0.1"
"""Address of the peer."""
FIRST_PORT: Final = 33000
"""Port of the peer's first stream of datagrams."""
UDP_PORT: Final = 12865
"""Port of datagrams at the VM."""
TUNNEL_ENDS: Final = ("10.2.0.1", "10.2.0.2")
"""Addresses of the endpoints of a VXLAN tunnel (VTEPs), for all tunnelled traffic of a host."""
VXLAN_PORT, FIRST_TUNNEL_PORT, TUNNEL_PORTS = 8472, 49152, 16384
"""VXLAN's destination port at the time, and the range of source ports, selected by the hash of the inner flow (RFC
7348).
"""


def vm_address(position: int) -> str:
    """Return the address of the VM at a position in the order of power-on."""
    return f"10.0.{position // 250}.{position % 250 + 1}"


def vmkernel_address(position: int) -> str:
    """Return the address of the VMkernel port at a position in the order of the scenario."""
    return f"10.3.{position // 250}.{position % 250 + 1}"


def ip_hash(source: str, target: str, uplinks: int) -> int:
    """Return the index of the uplink that IP hash selects: XOR of the last octets, modulo the number of uplinks.

    A static port channel of the physical switch is assumed to use the same rule for packets to the host. Source: vSphere
    Networking, "Route Based on IP Hash".
    """
    first, second = (int(address.rpartition(".")[2]) for address in (source, target))
    return (first ^ second) % uplinks


def nic_hash(packet: bytes, *, vxlan: bool) -> int:
    """Return the RSS hash that a NIC computes for a packet (`rss_input`).

    Inside VXLAN it is the hash of the outer headers.
    """
    inner = toeplitz_hash(DEFAULT_KEY, packet)
    if not vxlan:
        return inner
    outer = rss_input(*TUNNEL_ENDS, FIRST_TUNNEL_PORT + inner % TUNNEL_PORTS, VXLAN_PORT)
    return toeplitz_hash(DEFAULT_KEY, outer)
