"""``run --as esxtop``: a run in the format of esxtop, and back through ``import``."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from hostsim import open_results
from hostsim.results.metrics.catalogue import CATALOGUE

ROUND_TRIP = (
    *("host_cpu", "host_used", "guest_cpu", "guest_ready", "guest_costop"),
    *("netpoll_cpu", "busiest_netpoll", "networld_cpu", "rx_rate", "tx_rate"),
)


def test_a_run_exported_and_imported_has_its_own_values(cli, tiny, tmp_path):
    """Through the CSV of esxtop: each measure of the run within the rounding to two decimals, its window without the warm-up."""
    done = cli("run", tiny, "--quick", "--jobs", "1", "-o", "ran", "--as", "esxtop")
    assert done.exit_code == 0
    files = [line for line in done.stdout.splitlines() if line.startswith("ran/esxtop/")]
    assert files == [f"ran/esxtop/receivers-{n}_rate-{rate}-kpps.csv" for n in (1, 2) for rate in (2, 5)]
    results = open_results(tmp_path / "ran")
    for file, (_, row) in zip(files, results.table.iterrows(), strict=True):
        folder = Path(file).stem
        assert cli("import", file, "-o", folder).exit_code == 0
        with (tmp_path / folder / "measured.csv").open() as table:
            measured = {one["metric"]: (float(one["value"]), float(one["interval"])) for one in csv.DictReader(table)}
        assert sorted(measured) == sorted(ROUND_TRIP)
        record = results.record_of(row["point"], 0)
        for metric, (value, half) in measured.items():
            own = CATALOGUE[metric].evaluate(record)
            assert value == pytest.approx(own, rel=1e-5, abs=0.01 if CATALOGUE[metric].unit != "kpps" else 1e-4), metric
            assert half > 0
        scenario = (tmp_path / folder / "scenario.yaml").read_text()
        assert "vSwitch0:\n    uplinks: [vmnic0]" in scenario
        assert scenario.count("networks: [vSwitch0]") == int(row["receivers"])


def test_a_capture_opens_as_one_of_esxtop(cli, tiny, tmp_path):
    """By pandas, as in viewers: paths of counters, quoted cells, times in order, and a row for the warm-up before the window."""
    cli(
        "run",
        tiny,
        "--quick",
        "--jobs",
        "1",
        "-o",
        "ran",
        "--as",
        "esxtop",
        "--axis",
        "receivers=1",
        "--axis",
        "rate=5 kpps",
    )
    file = tmp_path / "ran" / "esxtop" / "receivers-1_rate-5-kpps.csv"
    assert file.read_text().startswith('"(PDH-CSV 4.0) (UTC)(0)","\\\\tiny\\Physical Cpu(0)\\% Processor Time",')
    frame = pd.read_csv(file)
    times = pd.to_datetime(frame["(PDH-CSV 4.0) (UTC)(0)"], format="%m/%d/%Y %H:%M:%S.%f")
    assert times.is_monotonic_increasing
    assert times.is_unique
    record = open_results(tmp_path / "ran").record()
    assert len(frame) == len(record.instants_ps) - record.cut
    for column in (
        r"\\tiny\Physical Cpu(_Total)\% Util Time",
        r"\\tiny\Group Cpu(10001:receiver[0])\% Ready",
        r"\\tiny\Group Cpu(1:system)\% Used",
        r"\\tiny\Vcpu(10001:receiver[0]:20004:vmx-vcpu-0:receiver[0])\% Used",
        r"\\tiny\Network Port(vSwitch0:33554434:vmnic0)\Packets Received/sec",
        r"\\tiny\Network Port(vSwitch0:33554533:20001:receiver[0])\% Received Packets Dropped",
    ):
        assert frame[column].dtype == float


def test_a_capture_has_a_known_format(cli, tiny, tmp_path):
    """Refused before anything runs."""
    done = cli("run", tiny, "--as", "esxtopp", "-o", "ran")
    assert (done.exit_code, "--as: is not a format; given 'esxtopp'; allowed: esxtop" in done.stderr) == (2, True)
    done = cli("run", tiny, "--as", "esxtop", "--shard", "1/2")
    assert (done.exit_code, "cannot be combined with --shard" in done.stderr) == (2, True)
    assert not (tmp_path / "ran").exists()
