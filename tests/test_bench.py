"""The benchmark works on a tiny budget: its figures have the keys that its bars ask for."""

from __future__ import annotations

from pathlib import Path

from tests.bench.bar import BARS, Bar
from tests.bench.busy import BUSY
from tests.bench.cases import CASES
from tests.bench.scale import HOSTS
from tests.bench.scale import run as run_scale
from tests.bench.sweep import run as run_sweep


def test_a_bar_says_whether_it_is_met() -> None:
    """A ratio or a figure, from above or below; without one of the two nothing is said."""
    most, least = Bar("ratio", "a", "b", 0.5, at_least=False), Bar("figure", "a", None, 2, at_least=True)
    assert most.line({"a": 1.0, "b": 2.0}).endswith("0.500   at most 0.5: met")
    assert most.line({"a": 2.0, "b": 2.0}).endswith("1.000   at most 0.5: not met")
    assert least.line({"a": 2.0}).endswith("2.000   at least 2: met")
    assert least.line({"a": 1.0}).endswith("1.000   at least 2: not met")
    assert most.line({"a": 1.0, "b": None}).endswith("not measured   at most 0.5")


def test_every_bar_asks_for_a_figure_that_is_measured(tmp_path: Path) -> None:
    """Two VMs, three points: the programs give the keys of their bars."""
    figures = {"hostsim_dispatch_us", "floor_dispatch_us", *(f"{name}.dispatch_us" for name in BUSY)}
    figures |= {f"{name}.{kind}deliveries_per_s" for name in CASES for kind in ("", "ns3_")}
    figures |= {f"scale_{name}.{key}" for name in HOSTS for key in run_scale(2, 1, "20 ms")}
    sweeps = {name: run_sweep(tmp_path, 3) for name in ("sweep", "sweep_again")}
    figures |= {f"{name}.{key}" for name, sweep in sweeps.items() for key in sweep}
    assert {key for bar in BARS for key in (bar.of, bar.to) if key} <= figures
    assert len(list((tmp_path / "results").rglob("*"))) > 3
