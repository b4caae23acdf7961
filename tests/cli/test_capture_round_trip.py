"""A host with known costs, exported as captures of esxtop, imported and calibrated: the costs are found again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hostsim.scenario.cost_model import constants_at
from hostsim.scenario.load import load
from tests.cli.conftest import Cli

RECEIVER = """
scenario: receiver
question: What does a packet cost?
platform: esxi-5.0
hardware: dell-r810
network: {vSwitch0: {uplinks: [vmnic0]}}
vms: {receiver: {guest: rhel6, networks: [vSwitch0]}}
traffic: {stream: {kind: multicast, to: receiver, packet_size: 200 B, rate: 5 kpps}}
run: {length: 1 s, replications: 1, quick: {length: 100 ms, replications: 1}}
sweep:
  rate: {set: traffic.stream.rate, values: [5 kpps, 20 kpps]}
figures:
  cpu: {x: rate, y: host_cpu}
"""
HIDDEN = {
    "esxi.costs.poll_entry": ("platform.costs.poll_entry.cycles", 2800.0),
    "rhel6.applications.udp_sink": ("vms.receiver.guest.applications.udp_sink.cycles", 21500.0),
}
"""Constants of the exported host: the option that sets each, and a value within its range."""


@pytest.mark.slow
def test_costs_behind_captures_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """Each is in its 90 % interval; at least one interval is narrower than its prior and excludes the shipped value."""
    monkeypatch.chdir(tmp_path)
    Path("receiver.yaml").write_text(RECEIVER)
    changes = [f"--set={path}={value}" for path, value in HIDDEN.values()]
    assert cli("run", "receiver.yaml", *changes, "--seed=7", "--jobs=1", "-o", "ran", "--as=esxtop").exit_code == 0
    rows = []
    for rate in ("5 kpps", "20 kpps"):
        name = f"rate-{rate.replace(' ', '-')}"
        assert cli("import", f"ran/esxtop/{name}.csv", "-o", name).exit_code == 0
        with Path(name, "measured.csv").open() as file:
            rows += [{"rate": rate, **row} for row in csv.DictReader(file)]
    with Path("measured.csv").open("w") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    found = cli("calibrate", "receiver.yaml", "--to=measured.csv", "--members=60,8", "--jobs=1", "-o", "calibrated")
    assert found.exit_code == 0, found.output
    summary = json.loads(Path("calibrated", "summary.json").read_text())["summary"]
    learnt = {one["name"]: one for one in summary["learnt"] if one["name"] in HIDDEN}
    scenario = load("receiver.yaml")
    shipped = {one.name: one.value for one in constants_at(scenario, scenario.first())}
    narrowed = []
    for name, (_, value) in HIDDEN.items():
        low, _, high = learnt[name]["posterior"]
        assert low <= value <= high, name
        first, _, last = learnt[name]["prior"]
        narrowed.append(high - low < 0.8 * (last - first) and not low <= shipped[name] <= high)
    assert any(narrowed)
