"""Firmware of the server: system management interrupts (SMIs) that stop all PCPUs for a while.

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

__all__ = ["Firmware", "FirmwareWorld"]

DRIFT = 0.1
"""Share of the period by which a stop comes early or late, at random: nothing on the host or outside keeps step with it."""


class FirmwareWorld(World):
    """The system management interrupt handler on one PCPU.

    Attributes:
        pcpu: the PCPU.
        until: when it gives it back.
    """

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
    """A source of system management interrupts, each of which stops all PCPUs of the host.

    Attributes:
        worlds: one for each PCPU.
    """

    def __init__(self, scheduler: Scheduler, spec: FirmwareSpec, random: np.random.Generator) -> None:
        self._scheduler, self._random = scheduler, random
        self._stop, self._period = spec.stop, spec.period
        self.worlds = [FirmwareWorld(pcpu) for pcpu in scheduler.pcpus]
        self._timer = Timer(scheduler.clock, self._begin)
        self._timer.arm(int(random.uniform(0, spec.period)))

    def _begin(self, now: int) -> None:
        for world in self.worlds:
            world.until = now + self._stop
            self._scheduler.seize(world.pcpu, world, now)
        self._timer.arm(now + round(self._period * self._random.uniform(1 - DRIFT, 1 + DRIFT)))
