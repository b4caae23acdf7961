"""A server's firmware, which stops all processors for a while (system management interrupts), whatever runs on them.

Each PCPU has a world of the firmware. It takes the PCPU of a vCPU at once, and that of a system world at the end of its batch (tens of microseconds
later, where the batch's instants are known already); all of them give up at the same instant. What wakes up meanwhile waits.
"""

from __future__ import annotations

import numpy as np

from hostsim.engine.clock import Timer
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.cpu.world import World
from hostsim.spec.host import FirmwareSpec

__all__ = ["Firmware", "Management"]

DRIFT = 0.1
"""Share of the period by which a stop comes early or late, at random: nothing on the host or outside keeps step with it."""


class Management(World):
    """The firmware on one PCPU.

    Attributes:
        pcpu: the PCPU.
        until: when it gives it back.
    """

    __slots__ = ("pcpu", "until")

    def __init__(self, pcpu: Pcpu) -> None:
        super().__init__("firmware", f"pcpu{pcpu.index}.firmware", system=True, node=pcpu.node, last=pcpu)
        self.pcpu, self.until = pcpu, 0

    def begin(self, start: int) -> int | None:
        return self.until - start if start < self.until else None

    def end(self, now: int) -> None:
        self.pcpu.seized = False

    def has_work(self, now: int) -> bool:
        return now < self.until


class Firmware:
    """Stops all PCPUs of a host, again and again.

    Attributes:
        worlds: one for each PCPU.
    """

    __slots__ = ("_period", "_random", "_scheduler", "_stop", "_timer", "worlds")

    def __init__(self, scheduler: Scheduler, spec: FirmwareSpec, random: np.random.Generator) -> None:
        self._scheduler, self._random = scheduler, random
        self._stop, self._period = spec.stop, spec.period
        self.worlds = [Management(pcpu) for pcpu in scheduler.pcpus]
        self._timer = Timer(scheduler.clock, self._begin)
        self._timer.arm(int(random.uniform(0, spec.period)))

    def _begin(self, now: int) -> None:
        for world in self.worlds:
            world.until = now + self._stop
            self._scheduler.seize(world.pcpu, world, now)
        self._timer.arm(now + round(self._period * self._random.uniform(1 - DRIFT, 1 + DRIFT)))
