"""IPv4 addresses of VMs and of the peer outside, by which NICs hash flows."""

from __future__ import annotations

from typing import Final

__all__ = ["FIRST_PORT", "PEER", "UDP_PORT", "vm_address"]

PEER: Final = "10.1.0.1"
"""Address of the peer."""
FIRST_PORT: Final = 33000
"""Port of the peer's first stream of datagrams."""
UDP_PORT: Final = 12865
"""Port of datagrams at a VM's end."""


def vm_address(position: int) -> str:
    """Return the address of the VM at a position in the order of power-on."""
    return f"10.0.{position // 250}.{position % 250 + 1}"
