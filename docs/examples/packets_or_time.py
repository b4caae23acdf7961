"""A coalescing scheme and a steering rule: an interrupt for so many packets or after so long, and vNICs on one queue after the other."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hostsim.config.field import Spec
from hostsim.config.platform import Coalescing, NetQueueSpec
from hostsim.config.quantity import PositiveDuration
from hostsim.model.policy.moderation import CoalescingScheme
from hostsim.model.policy.steering import SteeringRule
from hostsim.plugin.registry import Registry


class PacketsOrTimeSettings(Spec):
    """Settings of the coalescing scheme."""

    packets: Annotated[int, Field(ge=1, le=4096)]
    """Packets that wait for an interrupt at most."""
    timeout: PositiveDuration
    """Longest wait of a packet."""


class PacketsOrTime(CoalescingScheme):
    """An interrupt when enough packets wait, or when one has waited for long enough."""

    def __init__(self, _: Coalescing, own: PacketsOrTimeSettings) -> None:
        self._packets, self._timeout = own.packets, own.timeout

    def due(self, first: int) -> int:
        return first + self._timeout

    def depth(self) -> int | None:
        return self._packets


class EveryOther(SteeringRule):
    """vNICs in the order of power-on: one on a queue after the other, the default queue included."""

    def __init__(self, _: NetQueueSpec) -> None:
        super().__init__()

    def queue(self, position: int, queues: int) -> int:
        return position % queues


def register(registry: Registry) -> None:
    """Give both to scenarios."""
    registry.coalescing("packets_or_time", PacketsOrTime, PacketsOrTimeSettings)
    registry.steering("every_other", EveryOther)
