"""Periodic checks by parts of the host that keep what they need themselves: load balancer, NetQueue balancer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hostsim.engine.clock import Clock

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = ["periodic"]


def periodic(env: Clock, period: int, check: Callable[[int], None]) -> ProcessGenerator:
    """A control loop that calls ``check(now)`` at the end of every ``period`` picoseconds."""
    while True:
        yield env.timeout(period)
        check(env.now)
