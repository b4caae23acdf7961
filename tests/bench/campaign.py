"""A campaign with simulated workers, timed; as a program, it prints JSON for one campaign.

Each worker of the real pool makes one run and then returns its packed record for every task at once, so that only the main process
limits the campaign.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hostsim.campaign import driver
from hostsim.campaign.packing import PackedRun, Packing
from hostsim.campaign.pipeline import ExecutionOptions, run_sweep
from hostsim.campaign.simulate import simulate
from hostsim.campaign.store import RunKey, Store
from hostsim.config.host import PointSpec
from hostsim.engine.record import RunRecord
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity, Task
from hostsim.scenario.scenario import Scenario
from tests.bench.cases import peak_rss_kib
from tests.bench.sweep import tiny

CAMPAIGNS: dict[str, tuple[str, int]] = {"campaign_small": ("tiny", 10_000), "campaign_dense": ("dense-medium", 10_000)}
"""Scenario, with one VM or with 470 VMs in default mode, and number of points."""
WORKERS = 2

_first: dict[str, Any] = {}
"""Record of the first run of this process, and the same packed."""


def canned(spec: PointSpec, **run: Any) -> RunRecord:
    """In place of `simulate`: the record of this process's first run."""
    if "record" not in _first:
        _first["record"] = simulate(spec, **run)
    return _first["record"]


class Canned(Packing):
    """In place of `Packing`: the packed record of this process's first run, with the keys of this one."""

    def __call__(self, task: Task, record: RunRecord) -> PackedRun:
        if "packed" not in _first:
            _first["packed"] = super().__call__(task, record)
        packed, axes = _first["packed"], dict(task.point.axes)
        row = replace(packed.taken.row, point=task.point.id, axes=axes)
        return replace(
            packed,
            record=replace(packed.record, point_id=task.point.id, axes=axes),
            taken=replace(packed.taken, key=task.key, row=row),
        )


class _Emptied(Store):
    """A store that removes each file after writing it, as those of a dense campaign need gigabytes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sizes: list[int] = []

    def write(self, key: RunKey, content: bytes) -> None:
        super().write(key, content)
        self.path(key).unlink()
        self.sizes.append(len(content))


def _scenario(name: str, points: int, folder: Path) -> Scenario:
    """Points that differ in a rate, without expectations."""
    if name == "tiny":
        return load(tiny(folder, points))
    rates = [f"{25 + index / points:.4f} /s" for index in range(points)]
    return replace(load(name, axes={"vms": [470], "mode": ["default"], "rate": rates}), expectations=())


def run(name: str, points: int) -> dict[str, float]:
    """Processor time of the main process, and its peak memory."""
    in_loop: list[float] = []

    def timed(function: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            started = time.process_time()
            function(*arguments)
            in_loop.append(time.process_time() - started)

        return call

    with (
        TemporaryDirectory() as folder,
        patch.object(driver, "Packing", Canned),
        patch.object(driver, "_simulate", lambda: canned),
        patch.object(driver, "_work_off", timed(driver._work_off)),
    ):
        started = time.process_time()
        store = _Emptied(Path(folder, "results"))
        fidelity = Fidelity(quick=True, replications=1)
        results = run_sweep(_scenario(name, points, Path(folder)), fidelity, ExecutionOptions(store, WORKERS))
        total = time.process_time() - started
    assert len(results.table) == points
    assert not results.table["error"].any()
    return {
        "record_ms": sum(in_loop) / points * 1e3,
        "records_per_s": points / sum(in_loop),
        "point_ms": (total - sum(in_loop)) / points * 1e3,
        "file_kib": max(store.sizes) / 1024,
        "peak_rss_mib": peak_rss_kib() / 1024,
    }


if __name__ == "__main__":
    campaign = import_module("tests.bench.campaign")  # workers import its functions by this name
    print(json.dumps(campaign.run(*CAMPAIGNS[sys.argv[1]])))
