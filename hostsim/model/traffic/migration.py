"""Data for VMkernel threads to send, and the rounds of a migration to another host (vMotion).

A vMotion copies all memory in its first round, and in each further round the pages that the VM has written during the
previous one. When the rest can be sent within the switchover time goal, 500 ms, the VM is stopped and the rest is sent
(Broadcom KB 436882). A VM that writes faster than its memory is sent is slowed down, so that each round is shorter than
the previous one (Stun During Page Send); the factor is not published, and here such a round leaves half of it.
"""

from __future__ import annotations

from typing import Final

from hostsim.model.receive.context import NetContext
from hostsim.units import MS, SECOND, rounded

__all__ = ["Migration", "Supply", "SupplyThread"]

SWITCHOVER: Final = 500 * MS
"""Switchover time goal of a vMotion (Broadcom KB 436882)."""
SLOWED: Final = 2
"""Each round of a slowed-down VM leaves its data divided by this number (assumed)."""


class SupplyThread(NetContext):
    """A thread that sends the data of a supply."""

    def look(self, now: int) -> None:
        """Wake the thread if it has data to send."""
        raise NotImplementedError


class Supply:
    """Data for streams to send.

    Attributes:
        left: bytes that may be sent now.
        streams: threads that send it.
    """

    def __init__(self, left: int) -> None:
        self.left = left
        self.streams: list[SupplyThread] = []

    def add(self, octets: int, now: int) -> None:
        """Make more data available."""
        self.left += octets
        for stream in self.streams:
            stream.look(now)

    def arrived(self, octets: int, now: int) -> None:
        """Handle data that the other host has acknowledged."""


class Migration(Supply):
    """A vMotion.

    Attributes:
        rounds: number of complete rounds, including the last one.
        took: time from the beginning to the end, in picoseconds; 0 before the end.
        stopped: time for which the VM was stopped, in picoseconds; 0 before the end.
    """

    def __init__(self, memory: int, dirty_rate: float) -> None:
        """Create a migration that has not begun.

        Args:
            memory: memory of the VM, in bytes.
            dirty_rate: rate of writes to copied memory, in bits/s.
        """
        super().__init__(0)
        self.rounds = self.took = self.stopped = 0
        self._memory, self._dirty = memory, dirty_rate / 8 / SECOND
        self._round = self._unsent = self._began = self._start = 0
        self._is_last = False

    def begin(self, now: int) -> None:
        """Begin the first round."""
        self._start = now
        self._copy(self._memory, now)

    def _copy(self, octets: int, now: int) -> None:
        self._round = self._unsent = octets
        self._began = now
        self.add(octets, now)

    def arrived(self, octets: int, now: int) -> None:
        self._unsent -= octets
        if self._unsent > 0:
            return
        self.rounds += 1
        took = now - self._began
        if self._is_last:
            self.stopped = took
            self.took = now - self._start
            return
        written = min(rounded(self._dirty * took), self._memory)
        if written >= self._round:
            written = self._round // SLOWED
        self._is_last = written * took <= SWITCHOVER * self._round
        self._copy(max(written, 1), now)
