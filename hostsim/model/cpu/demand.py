"""What worlds would use if they did not have to wait: what they used and what they waited for, period by period."""

from __future__ import annotations

from collections.abc import Sequence

from hostsim.model.cpu.world import World, costop_times, ready_times
from hostsim.policy.scheduling import demand

__all__ = ["Demand"]


class Demand:
    """The demand of worlds that are looked at together, from one look to the next.

    Attributes:
        used: PCPUs that they used in the last period, on average.
        wanted: PCPUs that they would have used, had they not had to wait.
    """

    __slots__ = ("_stalled", "_used", "_worlds", "used", "wanted")

    def __init__(self, worlds: Sequence[World]) -> None:
        self._worlds = worlds
        self._used = [0] * len(worlds)
        self._stalled = [0] * len(worlds)
        self.used = self.wanted = 0.0

    def look(self, now: int, period: int) -> None:
        """Bring both up to date, ``period`` picoseconds after the last look; PCPUs have charged their worlds."""
        self.used = self.wanted = 0.0
        ready, stopped = ready_times(self._worlds, now), costop_times(self._worlds, now)
        for position, world in enumerate(self._worlds):
            stalled = ready[position] + stopped[position]
            used = world.used - self._used[position]
            self.used += used / period
            self.wanted += demand(used, stalled - self._stalled[position], period)
            self._used[position] = world.used
            self._stalled[position] = stalled
