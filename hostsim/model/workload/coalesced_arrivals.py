"""Arrivals from a peer that is a VM: what it posts leaves when transmit coalescing has its guest call, several packets at once (docs/decisions/0166)."""

from __future__ import annotations

from typing import Final, TypeVar

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.packet_train import Stream, Train
from hostsim.policy.coalescing import CoalescingDepth

__all__ = ["CoalescedArrivals"]

S = TypeVar("S", bound=Stream)

_POSTED: Final = Stream()
"""What packets belong to while they wait: who collects them names their flow."""


class CoalescedArrivals(Arrivals):
    """A batch arrival process: packets of another process, which wait until so many are there that the peer's guest calls, or one of them has waited too long.

    Those of a call arrive together. Their number follows the packet rate by the law that a vmxnet3 of the host itself has.

    Args:
        posted: arrival process of the packets at the peer's vNIC.
        law: its coalescing depth.
        timeout: longest wait of a packet in picoseconds.
    """

    def __init__(self, posted: Arrivals, law: CoalescingDepth, timeout: int) -> None:
        self._posted, self._law, self._timeout = posted, law, timeout
        self._count = 0
        self._due: int | None = None
        self._wait()

    def _wait(self) -> None:
        """Gather the packets of the next call."""
        first = self._posted.upcoming()
        self._count, self._due = 0, first
        due = first
        while due is not None and first is not None:
            if due - first > self._timeout:
                self._due = first + self._timeout
                return
            for train in self._posted.collect(due, _POSTED):
                self._count += train.count
                self._law.count(train.count, due)
            self._due = due
            if self._count >= self._law.depth:
                return
            due = self._posted.upcoming()

    def upcoming(self) -> int | None:
        return self._due

    def collect(self, now: int, flow: S) -> list[Train[S]]:
        trains = []
        while (due := self._due) is not None and due <= now:
            trains.append(Train(flow, self._count, due, 0, due, 0))
            self._wait()
        return trains
