"""Departure: a train of packets on its way out of a physical NIC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.packet_train import Train
from hostsim.model.contract import GuestStream, TransmitQueue

if TYPE_CHECKING:
    from hostsim.model.net.pnic import RxQueue

__all__ = ["Departure"]


class Departure:
    """A train being transmitted: end of its first packet, picoseconds to each further one, time of each on the wire; who learns of it."""

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
