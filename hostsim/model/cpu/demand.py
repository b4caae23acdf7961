"""CPU demand of worlds: the PCPUs that they would use if they did not have to wait, period by period."""

from __future__ import annotations

from collections.abc import Sequence

from hostsim.model.cpu.world import World, costop_times, ready_times
from hostsim.model.policy.numa import demand

__all__ = ["Demand"]


class Demand:
    """The CPU demand of a group of worlds in the last period (docs/decisions/0077).

    Attributes:
        used: PCPUs that they used in the last period, on average.
        wanted: PCPUs that they would have used, had they not had to wait.
    """

    def __init__(self, worlds: Sequence[World]) -> None:
        self._worlds = worlds
        self._used = [0] * len(worlds)
        self._stalled = [0] * len(worlds)
        self.used = self.wanted = 0.0

    def look(self, now: int, period: int) -> None:
        """Update both, ``period`` picoseconds after the last update; PCPUs have charged their worlds."""
        self.used = self.wanted = 0.0
        ready, stopped = ready_times(self._worlds, now), costop_times(self._worlds, now)
        for position, world in enumerate(self._worlds):
            stalled = ready[position] + stopped[position]
            used = world.used - self._used[position]
            self.used += used / period
            self.wanted += demand(used, stalled - self._stalled[position], period)
            self._used[position] = world.used
            self._stalled[position] = stalled
