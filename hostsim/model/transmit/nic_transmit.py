"""Transmit side of a physical NIC: departures on the wire, and descriptors in use."""

from __future__ import annotations

from typing import Final

from hostsim.engine.ring import Chain, Link, Train
from hostsim.model.contract import GuestStream, NicQueue, TransmitQueue

__all__ = [
    "Departure",
    "Departures",
    "TxRoom",
    "descriptors",
]


class Departure(Link["Departure"]):
    """A train in transmission: end of its first packet, time between packets, and the queue to notify.

    Attributes:
        is_begun: True if some of its packets are transmitted.
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
        self.following = None
        self.is_begun = False


class Departures(Chain[Departure]):
    """Departures in the order of their submission.

    Waiting departures start in this order, after the started ones: each starts when the wire is free of all earlier
    ones.
    """

    def soonest(self, vector: NicQueue) -> int | None:
        """Return the time at which the first packet of an announcing queue is transmitted, or None."""
        soonest: int | None = None
        departure = self.first
        while departure is not None:
            if departure.vector is vector:
                if soonest is None or departure.first < soonest:
                    soonest = departure.first
                if not departure.is_begun:
                    break  # all later ones start later
            departure = departure.following
        return soonest


PAGE: Final = 4096
"""Largest number of bytes of a descriptor: a contiguous page of a guest's memory."""


def descriptors(octets: int) -> int:
    """Return the number of descriptors of a packet with ``octets`` bytes of data."""
    return -(-octets // PAGE) if octets > PAGE else 1


class _InUse(Link["_InUse"]):
    """Descriptors in use: ``count`` packets of ``each``, the first sent at ``first``.

    Further packets are sent at intervals of ``step``.
    """

    def __init__(self, count: int, each: int, first: int, step: int) -> None:
        self.count, self.each, self.first, self.step = count, each, first, step
        self.following = None


class TxRoom:
    """The descriptors of a transmit queue.

    Args:
        size: number of them.
    """

    def __init__(self, size: int) -> None:
        self._size, self._used = size, 0
        self._records: Chain[_InUse] = Chain()
        self._unused: Chain[_InUse] = Chain()
        """Records of transmitted packets, for reuse."""

    def fits(self, count: int, each: int, at: int) -> int:
        """Return how many of ``count`` packets of ``each`` descriptors fit at a time, which must not decrease."""
        first = self._records.first
        if first is not None and first.first <= at:
            self._free(at)  # eagerly, so that recycled records stay in the cache
        room = (self._size - self._used) // each
        return count if room >= count else max(room, 0)

    def use(self, count: int, each: int, first: int, step: int) -> None:
        """Record packets with the times of their transmission."""
        self._used += count * each
        train = self._unused.pop()
        if train is None:
            train = _InUse(count, each, first, step)
        else:
            train.count, train.each, train.first, train.step = count, each, first, step
        self._records.append(train)

    def _free(self, at: int) -> None:
        """Free the descriptors of packets transmitted by a given time."""
        before: _InUse | None = None
        train = self._records.first
        while train is not None and train.first <= at:  # later ones are not transmitted either
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
                self._records.remove(train, before)
                self._unused.prepend(train)
            train = following
