"""Catalogue of the shipped policies by the names in settings: a scheme is its class and a row here (docs/decisions/0118)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hostsim.config.platform import Coalescing, HostSettings, LroSpec, NetQueueSpec
from hostsim.errors import WiringError
from hostsim.model.policy.aggregation import Aggregation, Backoff
from hostsim.model.policy.moderation import (
    CoalescingDepth,
    CoalescingScheme,
    EventScore,
    FrameSizeModeration,
    InterruptThrottling,
    LatencyClasses,
    Moderation,
    PacketCountModeration,
    PacketRateModeration,
    ProfileSearch,
    RateBasedCoalescing,
    SmoothedClasses,
    StaticCoalescing,
)
from hostsim.model.policy.steering import DynamicNetQueue, SteeringRule
from hostsim.units import US

__all__ = ["COALESCING_SCHEMES", "MODERATION_RULES", "STEERING_RULES", "coalescing_scheme", "software_lro"]

COALESCING_SCHEMES: Final[dict[str, Callable[[Coalescing], CoalescingScheme]]] = {
    "disabled": lambda settings: CoalescingScheme(),
    "static": lambda settings: StaticCoalescing(settings.depth, settings.timeout),
    "rbc": lambda settings: RateBasedCoalescing(
        CoalescingDepth(
            settings.rate, settings.depth_cap, settings.low_packets, settings.timeout, settings.rate_window
        ),
        settings.wait,
        ended_by_halt=settings.ended_by_halt,
    ),
    "throttled": lambda settings: InterruptThrottling(settings.rate),
}
"""Coalescing schemes of vNICs by their names in ``Net.CoalesceScheme`` and ``ethernetX.coalescingScheme``; that of an e1000 has none there."""
MODERATION_RULES: Final[dict[str, Callable[[float], Moderation]]] = {
    "igb": lambda line_rate: FrameSizeModeration(),
    "igb-conservative": lambda line_rate: FrameSizeModeration(49 * US),
    "ixgbe": lambda line_rate: LatencyClasses(),
    "mlx4": lambda line_rate: PacketRateModeration(),
    "i40e": PacketCountModeration,
    "i40e-classes": lambda line_rate: SmoothedClasses(),
    "mlx5": lambda line_rate: ProfileSearch(),
    "sfc": lambda line_rate: EventScore(),
}
"""Rules of interrupt moderation by the names of drivers that have them, ``moderation`` of a physical NIC, for a line rate in bits a second."""
STEERING_RULES: Final[dict[str, Callable[[NetQueueSpec], SteeringRule]]] = {
    "static": lambda spec: SteeringRule(),
    "dynamic": lambda spec: DynamicNetQueue(
        spec.period, spec.pack_below / 100, spec.unpack_above / 100, spec.open_below / 100
    ),
}
"""Steering rules of physical NICs: NetQueue without and with its balancer (``Net.NetNetqRxDynamicLB``)."""


def software_lro(host: HostSettings, lro: LroSpec) -> Aggregation | None:
    """Return new software LRO for a receive queue of a vNIC; None where it is off."""
    return Backoff(host.lro_bytes, lro.sessions, host.lro_threshold, host.lro_backoff) if host.sw_lro else None


def coalescing_scheme(settings: Coalescing) -> CoalescingScheme:
    """Return a new object of the coalescing scheme that a vNIC's settings name.

    Raises:
        WiringError: there is no such scheme.
    """
    make = COALESCING_SCHEMES.get(settings.scheme)
    if make is None:
        names = ", ".join(COALESCING_SCHEMES)
        raise WiringError(f"no coalescing scheme is named {settings.scheme!r}; there are {names}")
    return make(settings)
