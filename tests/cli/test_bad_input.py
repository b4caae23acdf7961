"""Bad input ends with status 2, all faults on stderr, one per line, and never with a traceback."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "tyny.yaml"], ["tyny.yaml", "did you mean 'tiny.yaml'"]),
        (["show", "nothing-like-it"], ["unknown scenario"]),
        (["run", "tiny.yaml", "--set", "vms.receiver.count"], ["--set", "'vms.receiver.count'", "name=value"]),
        (["run", "tiny.yaml", "--set", "run.length=1", "--set", "run.length=2"], ["is given twice"]),
        (["run", "tiny.yaml", "--set", "run.length=5"], ["run.length", "has no unit"]),
        (["run", "tiny.yaml", "--axis", "receiver=1,2"], ["receiver", "did you mean 'receivers'"]),
        (["run", "tiny.yaml", "--jobs", "0"], ["--jobs"]),
        (["run", "tiny.yaml", "--max-memory", "2"], ["--max-memory", "has no unit", "GB"]),
        (["run", "tiny.yaml", "--max-memory", "2 h"], ["--max-memory", "has the unit 'h'", "GB"]),
        (["check", "tiny.yaml", "--max-time", "-1 s"], ["--max-time", "is not a limit"]),
        (["run", "x" * 5000], ["unknown scenario"]),
        (["run", "tiny.yaml", "--seed", "-1"], ["--seed"]),
        (["run", "tiny.yaml", "--seed", str(2**64)], ["--seed"]),
        (["run", "tiny.yaml", "--replications", "0"], ["--replications"]),
        (["run", "tiny.yaml", "--replications", "1001"], ["--replications", "1000"]),
        (["run", "tiny.yaml", "--max-memory", "1e10 GB"], ["--max-memory", "is not a limit"]),
        (["run", "tiny.yaml", "--max-memory", "-2 GB", "--dry-run"], ["--max-memory", "is not a limit"]),
        (["run", "tiny.yaml", "--jobs", "2", "--cluster", "x", "--dry-run"], ["--jobs", "cluster"]),
        (["check", "tiny.yaml", "--against", "results", "--tolerance", "2"], ["--tolerance", "has no unit"]),
        (["check", "tiny.yaml", "--against", "results", "--tolerance", "-2 %"], ["is negative"]),
        (["check", "no.such.*"], ["'no.such.*'"]),
        (["plot", "nowhere"], ["nowhere", "hostsim run"]),
        (["report", "nowhere"], ["nowhere", "hostsim run"]),
        (["chek"], ["check"]),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_run(cli, tiny, arguments, words):
    """The message has the given and the allowed values."""
    done = cli(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not (tiny.parent / "results").exists()


def test_all_faults_of_a_file_are_told_at_once(cli, tiny):
    """One line for each fault, each with file and line."""
    text = (
        tiny.read_text()
        .replace("5 kpps}}\nrun", "5 kpp}}\nrun")
        .replace("count: 1", "count: -1")
        .replace("question", "qestion")
    )
    tiny.write_text(text)
    done = cli("run", tiny)
    assert done.exit_code == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 4, done.stderr
    assert all(line.startswith("tiny.yaml") for line in lines)
    assert all(any(word in line for line in lines) for word in ("'5 kpp'", "-1", "did you mean 'question'"))


def test_a_results_folder_that_is_a_file_is_told(cli, tiny):
    """No traceback from the file system."""
    (tiny.parent / "results").write_text("")
    done = cli("run", tiny, "--jobs", "1", "--quick")
    assert done.exit_code == 2
    assert "results" in done.stderr
    assert "Traceback" not in done.stderr
