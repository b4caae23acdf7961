"""Cost of runs: wall-clock seconds that they took, and an estimate of those that are left."""

from __future__ import annotations

from collections import Counter

from hostsim.engine.record import RunRecord
from hostsim.scenario.plan import Task

__all__ = ["Costs"]


class Costs:
    """Wall-clock seconds of runs, as far as they are known, and what the runs that are left will take.

    A run that is left takes as long as its point took before, else as long as points took on average. Sums are kept up with
    each run: to add them up again after each would take the square of a sweep's size.
    """

    def __init__(self) -> None:
        self._took: dict[str, tuple[float, int]] = {}  # seconds of a point's runs, and their number
        self._left: Counter[str] = Counter()  # runs that are left, by point
        self._runs_left = 0
        self._means = 0.0  # sum of the points' means
        self._known = 0.0  # seconds that are left of points with a mean
        self._unknown = 0  # runs that are left of points without one

    def expect(self, task: Task) -> None:
        """Counts a run among those that are left."""
        self._change(task.point.simulated, 1)

    def settle(self, task: Task) -> None:
        """Counts a run no more, as it has ended."""
        self._change(task.point.simulated, -1)

    def _change(self, point: str, more: int) -> None:
        self._left[point] += more
        self._runs_left += more
        if point in self._took:
            self._known += more * self._mean(point)
        else:
            self._unknown += more

    def add(self, record: RunRecord) -> None:
        """Learns from a run that says how long it took."""
        if "wall_s" not in record.facts:
            return
        point = record.point_id
        left, before = self._left[point], self._mean(point)
        if point not in self._took:
            self._unknown -= left
        seconds, count = self._took.get(point, (0.0, 0))
        self._took[point] = seconds + float(record.facts["wall_s"]), count + 1
        rise = self._mean(point) - before
        self._means += rise
        self._known += left * rise

    def left_s(self) -> float | None:
        """Seconds that the runs take that are left; None while nothing is known to estimate it by."""
        if not self._took:
            return None
        if not self._runs_left:
            return 0.0  # and not what rounding has left
        return max(self._known + self._unknown * self._means / len(self._took), 0.0)

    def _mean(self, point: str) -> float:
        seconds, count = self._took.get(point, (0.0, 1))
        return seconds / count
