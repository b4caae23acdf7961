"""The command that compares a scenario before and after a change."""

from __future__ import annotations

import json

import pytest

OPTIONS = ("--quick", "--no-ensemble", "--jobs", "1", "--axis", "receivers=1", "--axis", "rate=5 kpps")


def test_certain_differences_are_a_table(cli, tiny):
    """The table has only measures that moved; all else is on stderr."""
    done = cli("what-if", tiny, "--set", "hardware.cpu.clock=2 GHz", *OPTIONS)
    assert done.exit_code == 0, done.stderr
    sentence, empty, headings, *lines = done.stdout.splitlines()
    assert sentence.startswith("hardware.cpu.clock = 2 GHz: Host CPU utilisation +")
    assert sentence.endswith("; no certain change of Throughput, Packet loss")
    assert empty == ""
    assert headings.split()[:5] == ["receivers", "rate", "metric", "unit", "before"]
    assert any(" guest_cpu " in line and line.endswith("%") for line in lines)
    assert not any(" loss " in line for line in lines)
    assert not any(" host_used " in line for line in lines)
    assert lines[-1].startswith("  ")
    assert any(line.startswith("  host_used") and line.endswith(" as host_cpu") for line in lines)


def test_one_measure_is_shown_certain_or_not_and_json_is_strict(cli, tiny):
    """A measure that did not move has a row if it was requested."""
    change = ("--set", "hardware.cpu.clock=2 GHz", *OPTIONS)
    done = cli("what-if", tiny, *change, "--metric", "loss")
    sentence, _, _, row = done.stdout.splitlines()
    assert sentence == "hardware.cpu.clock = 2 GHz: no certain change of Packet loss"
    assert row.split()[3] == "loss"
    (row,) = json.loads(cli("what-if", tiny, *change, "--metric", "guest_cpu", "--json").stdout)
    assert row["metric"] == "guest_cpu"
    assert row["low"] <= row["difference"] <= row["high"]


def test_measures_of_a_subject_are_compared_in_place_of_the_hosts(cli, tiny):
    """All its certain ones, or the named one; an unknown subject, or one without the measure, is reported before a run."""
    change = ("--set", "hardware.cpu.clock=2 GHz", *OPTIONS)
    done = cli("what-if", tiny, *change, "--of", "stream")
    assert done.exit_code == 0, done.stderr
    assert "latency_mean of stream" in done.stdout
    assert " of stream " in done.stdout.splitlines()[0]
    assert "guest_cpu" not in done.stdout
    (row,) = json.loads(cli("what-if", tiny, *change, "--metric", "loss", "--of", "receiver", "--json").stdout)
    assert row["metric"] == "loss of receiver"
    own = cli("what-if", tiny, *change, "--metric", "guest_cpu of receiver[0]")
    assert "guest_cpu of receiver[0]" in own.stdout
    for arguments, words in (
        (("--of", "strem"), "--of: unknown subject; given 'strem'"),
        (("--of", "stream", "--metric", "guest_cpu"), "VM groups, VMs, worlds"),
    ):
        done = cli("what-if", tiny, *change, *arguments)
        assert done.exit_code == 2, done.stdout
        assert done.stderr.splitlines()[-1].startswith("--")
        assert words in done.stderr


def test_a_change_of_nothing_says_so(cli, tiny):
    """The answer on stdout, the reason on stderr."""
    done = cli("what-if", tiny, "--set", "receivers=1", *OPTIONS)
    assert done.exit_code == 0
    assert "no difference is certain" in done.stdout
    assert "1 of 1 points have the same host" in done.stderr


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--metric", "response_time_p95"), "no run has a value of response_time_p95"),
        (("--metric", "response_time_p95", "--of", "stream"), "no run has a value of response_time_p95 of stream"),
        (("--replications", "1"), "no difference has an interval, which needs two pairs of runs with finite values"),
    ],
)
def test_the_reason_without_a_certain_difference_is_true(cli, tiny, options, reason):
    """A multicast stream has no answers, and a single replication has no interval."""
    done = cli("what-if", tiny, "--set", "hardware.cpu.clock=2 GHz", *OPTIONS, *options)
    assert (done.exit_code, done.stdout) == (0, f"{reason}\n")


def test_a_dry_run_names_both_sides(cli, tiny):
    """Three replications per point, nothing run."""
    done = cli("what-if", tiny, "--cost", "context_switch=0", *OPTIONS, "--dry-run")
    rows = [line.split()[:4] for line in done.stdout.splitlines()[1:]]
    assert rows == [["tiny", "1", "3", "0"], ["tiny", "1", "3", "0"], ["total", "2", "6", "0"]]
    assert not (tiny.parent / "results").exists()


def test_bad_input_is_told_with_what_is_allowed(cli, tiny):
    """Exit status 2 before anything runs."""
    for arguments, words in (
        ((), "has no change"),
        (("--set", "receiver=2"), "did you mean 'receivers'"),
        (("--cost", "contextswitch=0"), "did you mean 'context_switch'"),
        (("--set", "receivers=2", "--metric", "los"), "--metric: unknown metric; given 'los'"),
        (("--set", "receivers"), "name=value"),
    ):
        done = cli("what-if", tiny, *arguments)
        assert done.exit_code == 2, arguments
        assert words in done.stderr


def test_a_sweep_of_failed_runs_says_why(cli, tiny):
    """The message and the status are those of `run`."""
    done = cli("what-if", tiny, "--set", "receivers=2", *OPTIONS, "--max-time", "1 ms")
    assert done.exit_code == 3, done.stderr
    assert "replication 0 failed: " in done.stderr
    assert "3 of 3 runs failed" in done.stderr
    assert done.stdout == "no comparison: no pair of runs has finished\n"


def test_a_fault_that_is_not_of_the_default_ensemble_is_reported_once(cli, tiny):
    """Trying the ensemble for prediction intervals adds no note on it."""
    done = cli("what-if", tiny, "--set", "receivers=2", "--quick", "--max-processor-time", "0 s")
    assert done.exit_code == 2, done.stderr
    assert "note: " not in done.stderr
    assert done.stderr.count("is not a limit") == 1
