"""Shared services of the parts of a host: clock, cost table, CPU scheduler and settings."""

from __future__ import annotations

from hostsim.config.platform import HostSettings
from hostsim.engine.clock import Clock
from hostsim.model.cost_table import CostTable
from hostsim.model.cpu.scheduler import Scheduler

__all__ = ["Services"]


class Services:
    """The services of a host to its parts.

    Attributes:
        clock: simulated time.
        costs: cost table of the processors.
        scheduler: CPU scheduler with all PCPUs.
        settings: effective settings of the host.
    """

    def __init__(self, clock: Clock, costs: CostTable, scheduler: Scheduler, settings: HostSettings) -> None:
        self.clock, self.costs, self.scheduler, self.settings = clock, costs, scheduler, settings
