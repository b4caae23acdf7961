"""The whole path on a small host: a scenario file, real runs, a search, a table, verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.campaign.driver import Outcome
from hostsim.campaign.store import Store
from hostsim.results.expect import VerdictState
from hostsim.results.judge import judge
from hostsim.results.table import WALL_CLOCK, write_table
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity
from hostsim.scenario.planner import make_plan
from hostsim.scenario.scenario import Scenario
from tests.single_plan import run_all
from tests.tables import to_table

TEXT = """
scenario: small
question: How many receivers can one receive context feed at this rate?
platform: esxi-5.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 1, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.virtualDev: vmxnet3}}
traffic:
  stream: {kind: multicast, to: receiver, packet_size: 100 B, rate: 200 kpps, arrivals: {process: poisson}}
run: {length: 40 ms, replications: 2}
sweep:
  receivers: {set: vms.receiver.count, values: [1, 2]}
expect:
  - name: most receivers
    find: {largest: receivers, from: 1, to: 12, where: {metric: loss_nic, below: 1 %}}
    between: [1, 11]
  - name: more receivers keep the host busier
    ratio: {metric: host_cpu, of: {receivers: 2}, to: {receivers: 1}}
    between: [1, null]
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    file = tmp_path_factory.mktemp("scenario") / "small.yaml"
    file.write_text(TEXT)
    return load(file)


def table_bytes(outcome: Outcome, path: Path) -> bytes:
    write_table(to_table(outcome.records.values()).drop(columns=list(WALL_CLOCK)), path)
    return path.read_bytes()


def test_one_worker_and_two_give_the_same_bytes_and_verdicts(tmp_path: Path, scenario: Scenario) -> None:
    """Including the search, and none of it is run again."""
    plan = make_plan(scenario, Fidelity())
    one, two = (run_all(plan, Store(tmp_path / str(jobs)), jobs=jobs) for jobs in (1, 2))
    assert [record.error for record in one.records.values()] == [None] * len(one.records)
    assert table_bytes(one, tmp_path / "one.parquet") == table_bytes(two, tmp_path / "two.parquet")
    assert one.answers == two.answers
    again = run_all(plan, Store(tmp_path / "2"), jobs=2)
    assert (again.ran, again.reused) == (0, two.ran)
    verdicts = judge(scenario.expectations, scenario.name, one.records.values(), one.answers)
    most, busier = verdicts
    assert most.value is not None
    assert 1 < most.value < 12
    assert most.state is not VerdictState.MISSING
    assert busier.value is not None
    assert busier.value > 1


def test_another_seed_is_another_run(tmp_path: Path, scenario: Scenario) -> None:
    """Seeds share a store without sharing runs."""
    store = Store(tmp_path)
    tables = [
        to_table(run_all(make_plan(scenario, Fidelity(seed=seed), expectations=False), store, jobs=1).records.values())
        for seed in (1, 2)
    ]
    assert tables[0]["point"].equals(tables[1]["point"])
    assert not tables[0]["host_cpu"].equals(tables[1]["host_cpu"])
    assert len(list(tmp_path.rglob("*.parquet"))) == 8
