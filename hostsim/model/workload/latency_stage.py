"""Latency breakdown of round trips: the time in each stage, from timestamps taken as a request passes the parts of the host."""

from __future__ import annotations

from typing import Final

from hostsim.model.workload.flow import Flow

__all__ = ["STAGES", "RoundTrip"]

STAGES: Final = ("wire", "moderation", "netpoll_wait", "vswitch", "coalescing", "wake", "guest", "transmit")
"""Stages in the order of the way; the wire comes again at its end."""


class RoundTrip:
    """The timestamps of a connection's current request; there is one at a time.

    Args:
        totals: adds up the stages of all round trips of its traffic.
    """

    def __init__(self, totals: Flow) -> None:
        self._totals = totals
        self._arrived = self._interrupted = self._begun = self._ready = self._announced = self._taken = 0

    def off_nic(self, arrived: int, interrupted: int | None, begun: int) -> None:
        """Record that the request is taken off the NIC's ring.

        Args:
            arrived: end of its frame on the wire.
            interrupted: last interrupt of the NIC; one before ``arrived`` did not announce it: the ring was polled when it came.
            begun: when its receive context, entered, began to work on what it took.
        """
        self._arrived = arrived
        self._interrupted = max(arrived, interrupted or 0)
        self._begun = max(self._interrupted, begun)

    def off_ring(self, ready: int, announced: int, taken: int) -> None:
        """Record that the guest takes the request.

        Args:
            ready: when it was on the guest's ring.
            announced: last interrupt of the vNIC; one before ``ready`` did not announce it.
            taken: when the guest began its poll.
        """
        self._ready = max(self._begun, ready)
        self._announced = max(self._ready, announced)
        self._taken = max(self._announced, taken)

    def answered(self, asked: int, posted: int, sent: int, there: int) -> None:
        """Add up the stages: the reply has reached the client.

        Args:
            asked: when the request was made.
            posted: when the guest had written the reply.
            sent: when it was handed to the NIC.
            there: when it came.
        """
        stages = self._totals.stages
        stages[0] += self._arrived - asked + there - sent
        stages[1] += self._interrupted - self._arrived
        stages[2] += self._begun - self._interrupted
        stages[3] += self._ready - self._begun
        stages[4] += self._announced - self._ready
        stages[5] += self._taken - self._announced
        stages[6] += posted - self._taken
        stages[7] += sent - posted
