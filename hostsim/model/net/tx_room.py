"""The room of a NIC's transmit queue: how many of its descriptors are in use, and how many packets still fit.

A descriptor points to a page of memory at most, so that descriptors bound packets and bytes alike: a small packet has one, however much data waits in
front of it. What is asked is the number in use at an instant, which follows from the instants at which packets are through the wire.
"""

from __future__ import annotations

from typing import Final

__all__ = ["TxRoom", "descriptors"]

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
