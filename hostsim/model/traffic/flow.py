"""A flow: what one sender puts on the wire, with its counters and its latencies."""

from __future__ import annotations

from hostsim.engine.arrivals import Arrivals
from hostsim.engine.probe import LatencyLog

__all__ = ["Flow"]


class Flow:
    """Datagrams of one sender to its receivers.

    Attributes:
        name: for tables only.
        size: bytes of data in a datagram.
        arrivals: instants at which the frames have left the wire.
        receivers: virtual ports that get a copy of each.
        sent: frames that came off the wire.
        lost_nic: of these, dropped at the physical NIC.
        delivered: copies taken by applications.
        latency: from the end of the frame on the wire to the application's read.
    """

    __slots__ = ("arrivals", "delivered", "latency", "lost_nic", "name", "receivers", "sent", "size")

    def __init__(self, name: str, size: int, arrivals: Arrivals, receivers: int) -> None:
        self.name, self.size, self.arrivals, self.receivers = name, size, arrivals, receivers
        self.sent = self.lost_nic = self.delivered = 0
        self.latency = LatencyLog()
