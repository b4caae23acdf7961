"""One worker against two on a few sweeps of ``make reproduce``, timed; as a program, it prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hostsim.campaign.pipeline import ExecutionOptions, run_sweeps
from hostsim.campaign.store import Store
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity

WORKERS = {"one_worker": 1, "two_workers": 2, "four_workers": 4, "eight_workers": 8}
SWEEPS = ("40gbe-single", "directpath-udp", "numa-io", "small-udp")


def run(jobs: int, names: Sequence[str] = SWEEPS) -> dict[str, float]:
    """Wall time of the sweeps with the given number of workers and an empty store, including start and end of workers."""
    scenarios = [load(name) for name in names]
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        for _ in run_sweeps(scenarios, Fidelity(quick=True), ExecutionOptions(Store(Path(folder)), jobs)):
            pass
        return {"wall_s": time.perf_counter() - started}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]))))
