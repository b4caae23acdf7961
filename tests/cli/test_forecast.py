"""The estimate of a dry run if the last run of the scenario is known."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hostsim import api
from hostsim.campaign.store import Store
from hostsim.cli.forecast import forecast
from hostsim.scenario.plan import Fidelity
from tests.tiny_scenario import TINY


def test_the_last_run_gives_the_time_and_the_runs_of_searches(tmp_path: Path) -> None:
    """They are also used if other code has to run everything again, but not with other options or without its searches."""
    store = Store(tmp_path)
    found = api.run(TINY, quick=True, expectations=True, jobs=1, results=tmp_path)
    shutil.rmtree(tmp_path / "runs")
    scenario = api.load(TINY)
    whole = api.plan(scenario, Fidelity(quick=True), expectations=True)
    usage = replace(found.usage, wall_s=120.0)
    table = found.table.assign(wall_s=120.0 / usage.runs)
    replace(found, usage=usage, table=table).save(tmp_path / "tiny")
    drawing_s = api.open_results(tmp_path / "tiny").usage.drawing_s
    assert drawing_s > 0
    known = forecast(whole, store, 2)
    assert known.is_known
    assert known.runs + known.searched == usage.runs
    assert known.seconds == pytest.approx(60.0 + drawing_s)
    checked = forecast(api.plan(scenario, Fidelity(quick=True), sweep=False, expectations=True), store, 2)
    assert checked.searched == known.searched
    share = (checked.runs + checked.searched) / usage.runs
    assert checked.seconds == pytest.approx(60.0 * share)
    for other in (scenario.with_({"vms.receiver.vcpus": 2}), scenario):
        fidelity = Fidelity(quick=other is not scenario)
        assert not forecast(api.plan(other, fidelity, expectations=True), store, 2).is_known
    api.run(TINY, quick=True, jobs=1, results=tmp_path).save(tmp_path / "tiny")
    shutil.rmtree(tmp_path / "runs")
    partly = forecast(whole, store, 2)
    assert not partly.is_known
    assert partly.searched >= known.searched


@pytest.mark.parametrize("stored", [1, 2, None])
def test_a_missing_run_takes_as_long_as_its_point_took(tmp_path: Path, stored: int | None) -> None:
    """The estimate is the recorded time of the missing runs, although points differ by a factor of a hundred."""
    found = api.run(TINY, quick=True, expectations=True, jobs=1, results=tmp_path)
    recorded = found.table["receivers"].map({1: 0.1, 2: 10.0})
    searched = found.usage.runs - len(recorded)
    assert searched > 0
    usage = replace(found.usage, wall_s=recorded.sum() + 3.0 * searched)
    replace(found, table=found.table.assign(wall_s=recorded), usage=usage).save(tmp_path / "tiny")
    shutil.rmtree(tmp_path / "runs")
    if stored is not None:
        api.run(TINY, quick=True, jobs=1, results=tmp_path, axes={"receivers": [stored]})
    plan = api.plan(api.load(TINY), Fidelity(quick=True), expectations=True)
    drawing_s = api.open_results(tmp_path / "tiny").usage.drawing_s
    known = forecast(plan, Store(tmp_path), 1)
    assert known.is_known
    left = recorded[found.table["receivers"] != stored].sum() + 3.0 * searched
    assert known.seconds == pytest.approx(left + drawing_s)
