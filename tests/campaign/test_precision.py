"""Precision with real runs: the same replications on any workers, in the table, and flagged at the cap."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostsim
from hostsim.results.table import WALL_CLOCK

TEXT = """
scenario: small
question: How many replications does it take?
platform: esxi-5.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 1, guest: rhel6, networks: [vSwitch0]}
traffic:
  stream: {kind: multicast, to: receiver, packet_size: 100 B, rate: 10 kpps, arrivals: {process: poisson}}
run: {length: 20 ms, replications: 3, precision: {delivered: 3 %, host_cpu: TARGET}}
sweep:
  rate: {set: traffic.stream.rate, values: [5 kpps, 40 kpps]}
figures:
  cpu: {x: rate, y: host_cpu}
expect:
  - {name: busy, metric: host_cpu, at: {rate: 40 kpps}, between: [0, 100]}
"""


def run(folder: Path, jobs: int, target: str = "3 %", **options: object) -> hostsim.Results:
    file = folder / "small.yaml"
    file.write_text(TEXT.replace("TARGET", target))
    return hostsim.run(file, jobs=jobs, results=folder / f"results{jobs}", **options)


def test_a_noisier_point_gets_more_replications_and_workers_have_no_say(tmp_path: Path) -> None:
    """The table has all of them, in the order of points; a second command runs none again."""
    one, two = (run(tmp_path, jobs) for jobs in (1, 2))
    counts = one.table.groupby("rate", sort=False)["replication"].count()
    assert list(counts.index) == [5000.0, 40000.0]
    assert 30 >= counts[5000.0] > counts[40000.0] >= 3
    assert next(r for _, r in one.table.groupby("rate", sort=False)["replication"]).tolist() == list(
        range(counts.iloc[0])
    )
    wall = list(WALL_CLOCK)
    assert one.table.drop(columns=wall).equals(two.table.drop(columns=wall))
    again = run(tmp_path, 1)
    assert again.table["wall_s"].tolist() == one.table["wall_s"].tolist()
    expected = one.table[one.table["rate"] == 40000]["host_cpu"].mean()
    assert again.verdicts[0].points[0]["value"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_the_cap_is_flagged_at_its_point_only(tmp_path: Path) -> None:
    """In the table and so in the report; a run with a given number of replications has no target precision."""
    found = run(tmp_path, 1, "0.06 % abs")
    at_cap = found.table["replication"].groupby(found.table["rate"]).transform("count") == 30
    assert at_cap.any()
    assert (found.table["flags"].str.contains("precision") == at_cap).all()
    assert not run(tmp_path, 1, "0.06 % abs", replications=4).table["flags"].str.contains("precision").any()
    assert len(run(tmp_path, 1, "0.06 % abs", quick=True).table) == 4
