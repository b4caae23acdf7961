"""Common random numbers: settings with the same arrivals differ with less noise than settings with different ones."""

from __future__ import annotations

import pytest

from hostsim.campaign.simulate import simulate
from hostsim.engine.record import RunRecord
from hostsim.results.compare import compare
from hostsim.results.estimate import paired_difference, student, variance_ratio
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from tests.tables import to_table

TEXT = """
scenario: small
question: What does a receive context of its own cost?
platform: esxi-5.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 4, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.emuRxMode: "0"}}
traffic:
  stream: {kind: multicast, to: receiver, packet_size: 200 B, rate: 10 kpps, arrivals: {process: poisson}}
run: {length: 40 ms}
sweep:
  split: {set: vms.receiver.vmx.ethernet0.emuRxMode, values: ["0", "1"]}
"""
REPLICATIONS = 16


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RunRecord]]:
    """Runs of each setting, one for each replication."""
    file = tmp_path_factory.mktemp("scenario") / "small.yaml"
    file.write_text(TEXT)
    scenario = load(file)
    found = {}
    for split in ("0", "1"):
        point = point_at(scenario, {"split": split})
        found[split] = [
            simulate(point.spec, point_id=point.id, axes={}, seed=1, replication=number)
            for number in range(REPLICATIONS)
        ]
    return found


@pytest.mark.parametrize("metric", ["host_cpu", "guest_cpu", "delivered"])
def test_pairing_shrinks_the_variance_of_a_difference(records: dict[str, list[RunRecord]], metric: str) -> None:
    """Through the simulator: the same Poisson stream for a host with split receive contexts and one without."""
    split, default = ([CATALOGUE[metric].evaluate(record) for record in records[key]] for key in ("1", "0"))
    paired = variance_ratio(split, default)
    shifted = variance_ratio(split, default[1:] + default[:1])  # each with the arrivals of another replication
    assert paired < 0.5 < shifted
    assert paired_difference(split, default).half < 0.71 * paired_difference(split, default[1:] + default[:1]).half


def test_the_interval_of_the_pairs_is_narrower_than_that_of_either_side(records: dict[str, list[RunRecord]]) -> None:
    """Noise that both have in common cancels in their difference."""
    split, default = ([CATALOGUE["host_cpu"].evaluate(record) for record in records[key]] for key in ("1", "0"))
    difference = paired_difference(split, default)
    assert difference.low > 0
    assert difference.half < min(student(split).half, student(default).half)


def test_a_comparison_reports_what_pairing_is_worth(records: dict[str, list[RunRecord]]) -> None:
    """In the sentence about the curve that has moved."""
    moves = compare(to_table(records["1"]), to_table(records["0"]), [], 0.01)
    (move,) = [move for move in moves if move.metric == "host_cpu"]
    assert 0 < move.ratio < 0.5
    assert "pairing leaves 0." in str(move)
