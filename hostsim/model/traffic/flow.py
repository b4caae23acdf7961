"""A flow: what one source sends, with its counters and its latencies."""

from __future__ import annotations

from hostsim.engine.probe import LatencyLog

__all__ = ["Flow"]


class Flow:
    """Packets of one sender to its receivers, or bursts of work of one kind.

    Attributes:
        name: for tables only.
        size: bytes of data in a packet.
        receivers: virtual ports that get a copy of each.
        sent: frames that came off the wire, or bursts that came.
        lost_nic: of the frames, dropped at the physical NIC.
        delivered: copies taken by applications, or bursts done.
        latency: from the end of the frame on the wire to the application's read, or from a burst's arrival to its end.
    """

    __slots__ = ("delivered", "latency", "lost_nic", "name", "receivers", "sent", "size")

    def __init__(self, name: str, size: int, receivers: int) -> None:
        self.name, self.size, self.receivers = name, size, receivers
        self.sent = self.lost_nic = self.delivered = 0
        self.latency = LatencyLog()
