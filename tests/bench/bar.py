"""Bars: limits for figures of the benchmark, most of them ratios within one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Figures = Mapping[str, float | None]


class Bar(NamedTuple):
    """A bar: a figure, or the ratio of two, and its limit."""

    name: str
    of: str
    to: str | None
    limit: float
    at_least: bool

    def value(self, figures: Figures) -> float | None:
        """Return the figure; None if it was not measured."""
        above, below = figures.get(self.of), 1.0 if self.to is None else figures.get(self.to)
        return above / below if above is not None and below else None

    def line(self, figures: Figures) -> str:
        """Return the line of the table."""
        value = self.value(figures)
        bar = f"at {'least' if self.at_least else 'most'} {self.limit:g}"
        if value is None:
            return f"{self.name:45} {'not measured':>14}   {bar}"
        return f"{self.name:45} {value:14.3f}   {bar}: {'met' if self.is_met(value) else 'not met'}"

    def is_met(self, value: float) -> bool:
        """True if a value meets the limit."""
        return value >= self.limit if self.at_least else value <= self.limit


BARS = [
    Bar("a dispatch, times the floor", "hostsim_dispatch_us", "floor_dispatch_us", 0.2, at_least=False),
    Bar("one of dense mode, times the floor", "dense-medium.dispatch_us", "floor_dispatch_us", 0.8, at_least=False),
    *(
        Bar(f"{name}, times ns-3", f"{name}.deliveries_per_s", f"{name}.ns3_deliveries_per_s", limit, at_least=True)
        for name, limit in (("splitrx_20_default", 15), ("splitrx_28_split", 12))
    ),
    Bar("an event, 4,000 VMs over 400", "scale_large.event_us", "scale_small.event_us", 1.4, at_least=False),
    Bar("a tiny point beside its run, ms", "sweep.beside_ms", None, 10, at_least=False),
    Bar("a stored tiny point, ms", "sweep_again.beside_ms", None, 3, at_least=False),
    Bar("the main process's memory at 10,000 points, MiB", "sweep.peak_rss_mib", None, 400, at_least=False),
    Bar("one worker's wall time over two workers'", "one_worker.wall_s", "two_workers.wall_s", 1.9, at_least=True),
    *(
        Bar(
            f"the same, 1,000 runs of {run}",
            f"{name}.one_worker.wall_s",
            f"{name}.two_workers.wall_s",
            1.6,
            at_least=True,
        )
        for run, name in (("4 ms", "points_of_4_ms"), ("20 ms", "points_of_20_ms"))
    ),
    Bar("a dense record in the main process, ms", "campaign_dense.record_ms", None, 8, at_least=False),
    Bar("a small record in the main process, ms", "campaign_small.record_ms", None, 2, at_least=False),
    Bar("make setup, s", "setup_wall_s", None, 50, at_least=False),
    Bar("make reproduce, s", "reproduce_wall_s", None, 115, at_least=False),
    Bar("make reproduce FULL=1, s", "reproduce_full_wall_s", None, 600, at_least=False),
    Bar(".ci/run, s", "ci_wall_s", None, 600, at_least=False),
]
