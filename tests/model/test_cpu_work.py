"""CPU work of a guest: waiting and dropped bursts."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostsim


@pytest.mark.parametrize(
    ("batch", "waiting", "loss", "time_ms"),
    [(4, 3, 0.0, 2.5), (4, 1, 50.0, 1.5), (2, 1, 0.0, 1.5), (4, 1000, 0.0, 2.5)],
)
def test_the_first_burst_of_an_idle_vm_does_not_wait(
    tmp_path: Path, batch: int, waiting: int, loss: float, time_ms: float
) -> None:
    """A batch of bursts of 1 ms, every 10 ms: one is served at once, so many wait, and the others are dropped."""
    work = {"kind": "work", "to": "a", "rate": "100 /s", "batch": batch, "service": "1 ms"}
    scenario = {
        "scenario": "batches",
        "question": "How many bursts fit?",
        "platform": "esxi-7.0",
        "hardware": "xeon-8160",
        "network": {"vSwitch0": {"uplinks": "vmnic0"}},
        "vms": {"a": {"guest": "ideal", "networks": []}},
        "traffic": {"w": work | {"waiting": waiting}},
        "run": {"length": "500 ms", "replications": 1},
    }
    [run] = hostsim.run(scenario, jobs=1, results=tmp_path).table.to_dict("records")
    assert run["work_loss"] == pytest.approx(loss, abs=1.5)
    assert run["work_time_mean"] == pytest.approx(time_ms, rel=0.02)
