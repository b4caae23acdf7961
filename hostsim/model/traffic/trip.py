"""What a round trip spends in each stage of its way, from instants that the parts of the host note as the request passes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hostsim.model.traffic.flow import Flow

__all__ = ["STAGES", "Trip"]

STAGES: Final = ("wire", "moderation", "netpoll_wait", "vswitch", "coalescing", "wake", "guest", "transmit")
"""Stages in the order of the way; the wire comes again at its end."""


class Trip:
    """The way of one connection's request that is under way; there is one at a time.

    Args:
        totals: adds up the stages of all round trips of its traffic.
    """

    __slots__ = ("_announced", "_begun", "_born", "_interrupted", "_ready", "_taken", "_totals")

    def __init__(self, totals: Flow) -> None:
        self._totals = totals
        self._born = self._interrupted = self._begun = self._ready = self._announced = self._taken = 0

    def off_nic(self, born: int, interrupted: int | None, begun: int) -> None:
        """It is taken off the NIC's ring.

        Args:
            born: end of its frame on the wire.
            interrupted: last interrupt of the NIC; one before ``born`` did not announce it: the ring was polled when it came.
            begun: when its receive context, entered, began to work on what it took.
        """
        self._born = born
        self._interrupted = max(born, interrupted or 0)
        self._begun = max(self._interrupted, begun)

    def off_ring(self, ready: int, announced: int, taken: int) -> None:
        """The guest takes it.

        Args:
            ready: when it was on the guest's ring.
            announced: last interrupt of the vNIC; one before ``ready`` did not announce it.
            taken: when the guest began its poll.
        """
        self._ready = max(self._begun, ready)
        self._announced = max(self._ready, announced)
        self._taken = max(self._announced, taken)

    def answered(self, asked: int, posted: int, sent: int, there: int) -> None:
        """The reply is at the client.

        Args:
            asked: when the request was made.
            posted: when the guest had written the reply.
            sent: when it was handed to the NIC.
            there: when it came.
        """
        stages = self._totals.stages
        stages[0] += self._born - asked + there - sent
        stages[1] += self._interrupted - self._born
        stages[2] += self._begun - self._interrupted
        stages[3] += self._ready - self._begun
        stages[4] += self._announced - self._ready
        stages[5] += self._taken - self._announced
        stages[6] += posted - self._taken
        stages[7] += sent - posted
