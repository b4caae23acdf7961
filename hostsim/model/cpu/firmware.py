"""Firmware of the server: system management interrupts (SMIs) that stop all PCPUs for some time.

Each PCPU has a firmware world. It preempts a vCPU at once, and a system world at the end of its batch (up to tens of
microseconds later, as the instants of the batch are fixed); all stops end at the same instant. Woken worlds wait.
"""

from __future__ import annotations

from hostsim.model.cpu.pcpu import Pcpu, World
from hostsim.model.cpu.scheduler import Scheduler

__all__ = ["Firmware", "FirmwareWorld"]


class FirmwareWorld(World):
    """The system management interrupt handler on one PCPU.

    Attributes:
        pcpu: the PCPU.
        until: end of the stop.
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
    """The firmware: stops all PCPUs of the host at once (`hostsim.model.control.periodic`).

    Attributes:
        worlds: one firmware world for each PCPU.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.worlds = [FirmwareWorld(pcpu) for pcpu in scheduler.pcpus]

    def stop(self, now: int, length: int) -> None:
        """Stop all PCPUs for ``length`` picoseconds."""
        for world in self.worlds:
            world.until = now + length
            self._scheduler.seize(world.pcpu, world, now)
