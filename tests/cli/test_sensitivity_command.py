"""``sensitivity`` on the command line: its forecast, output, files and refusals."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from hostsim.errors import InvariantError

SMALL = ("--quick", "--jobs", "1", "--trajectories", "2", "--samples", "4", "--most", "1", "--only", "*.guest_house*")
TICK, VALUE = "own.yaml.costs.guest_housekeeping", "200000 cycles"
"""A constant of a user's platform; its source states no range."""
VARIED = "±20 %: 160000 to 240000 cycles  source"
ONE = ("--metric", "guest_cpu", "--at", "rate=5 kpps", *SMALL)


@pytest.fixture
def tiny(tiny: Path) -> Path:
    """On that platform."""
    tick = "costs: {guest_housekeeping: {cycles: 200000, source: a row}}"
    (tiny.parent / "own.yaml").write_text(f"platform: own\nextends: esxi-5.0\n{tick}\n")
    tiny.write_text(tiny.read_text().replace("platform: esxi-5.0", "platform: ./own.yaml"))
    return tiny


def test_a_dry_run_says_what_is_varied_and_how_many_runs_that_takes(cli, tiny, tmp_path):
    done = cli("sensitivity", tiny, *ONE, "--dry-run")
    assert done.exit_code == 0
    assert f"{TICK}  {VALUE}  {VARIED}" in done.stdout
    announced = (
        r"1 constants, 0 over their ranges, 1 by 20 % to either side: [345] runs to screen them, then up to \d+ "
    )
    assert re.search(
        announced + r"on those that matter; 0 of them are in the results folder; about .+ at most", done.stdout
    )
    assert not (tmp_path / "results" / "tiny").exists()


def test_a_measure_of_a_subject_is_explained(cli, tiny):
    """By its name in the heading; a subject without the measure is reported before a run."""
    done = cli("sensitivity", tiny, *ONE, "--of", "receiver[0]")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("guest_cpu of receiver[0] at ")
    done = cli("sensitivity", tiny, *ONE, "--of", "stream")
    assert done.exit_code == 2
    assert "guest_cpu is not a measure of traffic entries" in done.stderr


def test_it_prints_a_table_and_writes_table_and_figure(cli, tiny, tmp_path):
    """Ranges and 20 % are distinguished; the second time nothing is run."""
    done = cli("sensitivity", tiny, *ONE, "--only", "rhel6.socket_buffer")
    assert done.exit_code == 0
    assert "2 constants, 1 over their ranges, 1 by 20 % to either side" in done.stderr
    head, _, headings, row, *rest = done.stdout.splitlines()
    assert head.startswith("guest_cpu at receivers = 1, rate = 5 kpps: ")
    assert headings.split("  ")[0] == "constant"
    assert row.startswith(f"{TICK}  {VARIED}")
    assert "without effect, 1 of them: rhel6.socket_buffer" in done.stderr
    files = [tmp_path / line for line in rest if line]
    assert [file.name for file in files] == ["guest_cpu.csv", "guest_cpu.svg", "guest_cpu.png", "guest_cpu.pdf"]
    assert all(file.stat().st_size > 100 for file in files)
    table = list(csv.DictReader(files[0].read_text().splitlines()))
    assert [entry["constant"] for entry in table] == [TICK, "rhel6.socket_buffer"]
    assert float(table[0]["metric_at_low"]) < float(table[0]["metric_at_high"])
    assert table[1]["total"] == ""
    again = cli("sensitivity", tiny, *ONE, "--only", "rhel6.socket_buffer")
    assert again.stdout == done.stdout
    assert re.search(r"(\d+) of \1 runs, \1 from the results folder", again.stderr)
    assert "of them are in the results folder; nothing to run" in again.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--metric", "guest_cpus"), "did you mean 'guest_cpu'"),
        (("--metric", "loss", "--at", "rates=1"), "--at: unknown axis; given 'rates'"),
        (("--metric", "loss", "--at", "rate"), "is not name=value"),
        (("--metric", "loss", "--at", "rate=5"), "--at: traffic.stream.rate: has no unit; given '5'"),
        (("--metric", "loss", "--only", "esxi.cost.*"), "matches no constant"),
        (("--metric", "loss", "--samples", "100"), "is not a power of 2; given 100; allowed: 2, 4, 8 and so on"),
        (("--metric", "loss", "--set", "vms.receiver.counts=2"), "did you mean 'count'"),
        (("--metric", "loss", "--set", "traffic.stream.rate=fast"), "is not a rate"),
    ],
)
def test_what_cannot_be_asked_is_refused(cli, tiny, options, said):
    done = cli("sensitivity", tiny, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_what_cannot_be_measured_is_said(cli, tiny):
    """A percentile with too few packets: no value is invented."""
    done = cli("sensitivity", tiny, "--metric", "latency_p9999", *SMALL)
    assert done.exit_code == 2
    assert "latency_p9999; allowed: longer runs" in done.stderr


def test_a_measure_that_no_run_has_is_refused_after_the_first_run(cli, tiny):
    """A multicast stream has no response times, however long it runs."""
    done = cli("sensitivity", tiny, "--metric", "response_time_p95", *SMALL)
    assert done.exit_code == 2
    assert "--metric: no run has a value; given response_time_p95" in done.stderr
    assert "longer runs" not in done.stderr
    assert len(list(Path("results/runs").glob("*/*/*.parquet"))) == 1


def test_what_nothing_moves_is_said(cli, tiny):
    done = cli("sensitivity", tiny, "--metric", "loss", *SMALL)
    assert done.exit_code == 0
    assert "without effect, 1 of them" in done.stderr
    assert done.stdout.splitlines()[-1].endswith("loss.csv")


def test_runs_that_fail_are_told(cli, tiny, monkeypatch):
    """Each with its reason, and the exit status of a sweep with failed runs."""

    def broken(spec, **_):
        raise InvariantError("packets vanished", "port0", 1)

    monkeypatch.setattr("hostsim.campaign.simulate.simulate", broken)
    done = cli("sensitivity", tiny, *ONE)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "replication 0 failed: hostsim.errors.InvariantError: packets vanished at port0" in done.stderr
