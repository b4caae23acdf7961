"""What a vCPU runs besides its stack, and what it hands packets to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from hostsim.engine.train import Train

__all__ = ["Process", "Target"]


class Target(Protocol):
    """What a burst hands packets to at instants that lie ahead: a transmit queue, or another vCPU."""

    def hand(self, train: Train) -> None:
        """Packets that will be there at their instants."""
        ...

    def take_back(self, trains: Iterable[Train], now: int) -> list[Train]:
        """Those that are not there by ``now``: they will come later than it seemed."""
        ...


class Process(Protocol):
    """A process of the guest that runs in a burst of its own, when the vCPU has nothing of the stack to do."""

    def run(self, start: int) -> int:
        """Work from ``start`` on; returns when it is done."""
        ...
