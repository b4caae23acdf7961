"""Cost of runs: wall-clock seconds of finished runs, and an estimate for the remaining ones."""

from __future__ import annotations

from collections import Counter

from hostsim.engine.record import RunRecord
from hostsim.scenario.plan import Task

__all__ = ["Costs"]


class Costs:
    """Known wall-clock seconds of runs, and an estimate for the remaining runs.

    A remaining run takes as long as earlier runs of its point, or else the mean of all points. Sums are updated with each
    run, as computing them again each time is quadratic in the size of a sweep.
    """

    def __init__(self) -> None:
        self._took: dict[str, tuple[float, int]] = {}  # seconds of a point's runs, and their number
        self._left: Counter[str] = Counter()  # remaining runs, by point
        self._runs_left = 0
        self._means = 0.0  # sum of the points' means
        self._known = 0.0  # remaining seconds of points with a mean
        self._unknown = 0  # remaining runs of points without a mean

    def expect(self, task: Task) -> None:
        """Adds a remaining run."""
        self._change(task.point.simulated, 1)

    def settle(self, task: Task) -> None:
        """Removes a run that has ended."""
        self._change(task.point.simulated, -1)

    def _change(self, point: str, more: int) -> None:
        self._left[point] += more
        self._runs_left += more
        if point in self._took:
            self._known += more * self._mean(point)
        else:
            self._unknown += more

    def add(self, record: RunRecord) -> None:
        """Adds the time of a finished run."""
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
        """Estimated seconds of the remaining runs; None without any finished run."""
        if not self._took:
            return None
        if not self._runs_left:
            return 0.0  # no rounding error
        return max(self._known + self._unknown * self._means / len(self._took), 0.0)

    def _mean(self, point: str) -> float:
        seconds, count = self._took.get(point, (0.0, 1))
        return seconds / count
