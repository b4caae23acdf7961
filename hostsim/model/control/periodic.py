"""Periodic control: checks of parts of the host, and system management interrupts of its firmware."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hostsim.config.host import FirmwareSpec
from hostsim.engine.clock import Clock
from hostsim.model.cpu.firmware import Firmware

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = [
    "periodic",
    "system_management_interrupts",
]


def periodic(env: Clock, period: int, check: Callable[[int], None]) -> ProcessGenerator:
    """A control loop that calls ``check(now)`` at the end of every ``period`` picoseconds."""
    while True:
        yield env.timeout(period)
        check(env.now)


DRIFT = 0.1
"""Random variation of the time between two stops, as a share of the period, which prevents phase locks."""


def system_management_interrupts(
    env: Clock, firmware: Firmware, spec: FirmwareSpec, random: np.random.Generator
) -> ProcessGenerator:
    """The source of system management interrupts; the first is at a random time within a period."""
    yield env.timeout(int(random.uniform(0, spec.period)))
    while True:
        firmware.stop(env.now, spec.stop)
        yield env.timeout(round(spec.period * random.uniform(1 - DRIFT, 1 + DRIFT)))
