"""IPv4 addresses of VMs and of the peer outside, by which NICs hash flows."""

from __future__ import annotations

from typing import Final

__all__ = ["PEER", "vm_address"]

PEER: Final = "10.1.0.1"
"""Address of the peer."""


def vm_address(position: int) -> str:
    """Return the address of the VM at a position in the order of power-on."""
    return f"10.0.{position // 250}.{position % 250 + 1}"
