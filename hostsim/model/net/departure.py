"""Departures: trains of packets on their way out of a physical NIC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.packet_train import Train
from hostsim.model.contract import GuestStream, TransmitQueue

if TYPE_CHECKING:
    from hostsim.model.net.rx_queue import RxQueue

__all__ = ["Departure", "Departures"]


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
        vector: RxQueue | None,
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

    def soonest(self, vector: RxQueue) -> int | None:
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
