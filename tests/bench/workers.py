"""One worker against several, timed, on a few sweeps of ``make reproduce`` and on tiny points; as a program, it prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hostsim.campaign.pipeline import ExecutionOptions, run_sweep, run_sweeps
from hostsim.campaign.store import Store
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from tests.bench.sweep import tiny

WORKERS = {"one_worker": 1, "two_workers": 2, "four_workers": 4, "eight_workers": 8}
SWEEPS = ("40gbe-single", "directpath-udp", "numa-io", "small-udp")
TINY: dict[str, tuple[str, int]] = {"points_of_4_ms": ("2 ms", 1_000), "points_of_20_ms": ("600 ms", 20_000)}
"""Length of a run, and lowest packet rate, of points whose runs take about so much processor time."""
TINY_POINTS = 1_000


def run(jobs: int, names: Sequence[str] = SWEEPS) -> dict[str, float]:
    """Wall time of the sweeps with the given number of workers and an empty store, including start and end of workers."""
    scenarios = [load(name) for name in names]
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        for _ in run_sweeps(scenarios, Fidelity(quick=True), ExecutionOptions(Store(Path(folder)), jobs)):
            pass
        return {"wall_s": time.perf_counter() - started}


def run_tiny(jobs: int, name: str, points: int = TINY_POINTS) -> dict[str, float]:
    """The same of a sweep of tiny points."""
    length, slowest_pps = TINY[name]
    with TemporaryDirectory() as folder:
        scenario = load(tiny(Path(folder), points, length, slowest_pps))
        started = time.perf_counter()
        results = run_sweep(scenario, Fidelity(replications=1), ExecutionOptions(Store(Path(folder, "results")), jobs))
        took = time.perf_counter() - started
    return {"wall_s": took, "run_s": float(results.table["wall_s"].median())}


if __name__ == "__main__":
    jobs, *names = sys.argv[1:]
    print(json.dumps(run_tiny(int(jobs), *names) if names else run(int(jobs))))
