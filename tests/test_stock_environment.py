"""The whole model on SimPy's stock environment: slower, with the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
import simpy

from hostsim.campaign.simulate import simulate
from hostsim.engine.clock import Clock
from hostsim.engine.stock_event_queue import StockEventQueue
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity, point_at
from hostsim.scenario.planner import make_plan
from hostsim.units import MS
from tests.fingerprint import differences
from tests.test_determinism import corners, digest
from tests.test_fingerprint import NAMES, baseline, take

FAST = {"default", "dense", "direct"}


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_a_small_host_does_what_it_did(name: str, tmp_path: Path) -> None:
    """Its fingerprint is an accepted one, and it ran in SimPy's own environment."""
    stock = StockEventQueue()
    found = take(name, tmp_path, clock=Clock(stock))
    assert differences(found, baseline(name)["accepted"]) == ""
    assert type(stock.environment) is simpy.Environment
    assert stock.environment.now == stock.now > 0


def test_an_experiment_gives_the_same_bytes() -> None:
    """Corners of the split-receive sweep at one seed, with every counter, histogram and the number of events."""
    scenario = load("splitrx")
    for axes in corners(make_plan(scenario, Fidelity(), expectations=False)):
        point = point_at(scenario, axes)
        spec = point.spec.model_copy(update={"length": 10 * MS})
        found = [
            digest([simulate(spec, point_id=point.id, axes=axes, seed=1, replication=0, clock=clock)])
            for clock in (Clock(), Clock(StockEventQueue()))
        ]
        assert found[0] == found[1]
