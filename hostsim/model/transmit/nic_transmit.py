"""Transmit side of a physical NIC: departures on the wire, and the room for descriptors of a queue."""

from __future__ import annotations

from typing import Final

from hostsim.engine.ring import Train
from hostsim.model.contract import GuestStream, NicQueue, TransmitQueue

__all__ = [
    "Departure",
    "Departures",
    "TxRoom",
    "descriptors",
]


class Departure:
    """A train being transmitted: end of its first packet, picoseconds to each further one, time of each on the wire; who learns of it.

    Attributes:
        following: the one handed over next.
        is_begun: packets of it are through already.
    """

    def __init__(
        self,
        train: Train[GuestStream],
        first: int,
        step: int,
        packet_ps: int,
        queue: TransmitQueue | None,
        vector: NicQueue | None,
        *,
        cut: bool,
    ) -> None:
        self.train, self.first, self.step, self.packet_ps, self.cut = train, first, step, packet_ps, cut
        self.queue, self.vector = queue, vector
        self.following: Departure | None = None
        self.is_begun = False


class Departures:
    """Departures in the order in which they were handed over, linked to each other.

    Those that have not begun will begin in this order, behind those that have: each begins when the wire is free of all before it.

    Attributes:
        first: the first of them; None when there is none.
        last: the last of them.
    """

    def __init__(self) -> None:
        self.first: Departure | None = None
        self.last: Departure | None = None

    def put(self, departure: Departure) -> None:
        """Append a departure."""
        last = self.last
        if last is None:
            self.first = departure
        else:
            last.following = departure
        self.last = departure

    def soonest(self, vector: NicQueue) -> int | None:
        """Return the time at which the first packet of those that a queue announces is through; None when there is none."""
        soonest: int | None = None
        departure = self.first
        while departure is not None:
            if departure.vector is vector:
                if soonest is None or departure.first < soonest:
                    soonest = departure.first
                if not departure.is_begun:
                    break  # all behind it begin later
            departure = departure.following
        return soonest


PAGE: Final = 4096
"""Bytes that a descriptor points to at most: a page of a guest's memory, which is contiguous."""


def descriptors(octets: int) -> int:
    """Return the descriptors of a packet with so many bytes of data."""
    return -(-octets // PAGE) if octets > PAGE else 1


class _InUse:
    """Descriptors in use: ``count`` packets of ``each``, the first through at ``first``, the others ``step`` after one another."""

    def __init__(self, count: int, each: int, first: int, step: int) -> None:
        self.count, self.each, self.first, self.step = count, each, first, step
        self.following: _InUse | None = None


class TxRoom:
    """The descriptors of a transmit queue.

    Args:
        size: number of them.
    """

    def __init__(self, size: int) -> None:
        self._size, self._used = size, 0
        self._first: _InUse | None = None
        self._last: _InUse | None = None
        self._unused: _InUse | None = None
        """Records of what is through, linked to each other, to be used again."""

    def fits(self, count: int, each: int, at: int) -> int:
        """Return how many of ``count`` packets of ``each`` descriptors find room at an instant, which does not go back."""
        first = self._first
        if first is not None and first.first <= at:
            self._free(at)  # even where there is room: what is used again has just been in use
        room = (self._size - self._used) // each
        return count if room >= count else max(room, 0)

    def use(self, count: int, each: int, first: int, step: int) -> None:
        """Record packets that will be through the wire at instants."""
        self._used += count * each
        train = self._unused
        if train is None:
            train = _InUse(count, each, first, step)
        else:
            self._unused, train.following = train.following, None
            train.count, train.each, train.first, train.step = count, each, first, step
        last = self._last
        if last is None:
            self._first = train
        else:
            last.following = train
        self._last = train

    def _free(self, at: int) -> None:
        """Free the descriptors of what is through by an instant."""
        before: _InUse | None = None
        train = self._first
        while train is not None and train.first <= at:  # else none of those behind it is through either
            through = train.count
            if train.step:
                through = min(through, (at - train.first) // train.step + 1)
            self._used -= through * train.each
            following = train.following
            if through < train.count:
                train.count -= through
                train.first += through * train.step
                before = train
            else:
                if before is None:
                    self._first = following
                else:
                    before.following = following
                train.following, self._unused = self._unused, train
            train = following
        if train is None:
            self._last = before
