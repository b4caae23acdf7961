"""The command that compares parts with theory."""

from __future__ import annotations


def test_some_cases_are_verified(cli):
    """One row each on stdout; exit status 0 if all pass."""
    done = cli("verify", "--quick", "--jobs", "1", "--only", "Free-running tick", "--only", "1000 us and depth 64")
    assert done.exit_code == 0, done.stdout
    headings, *lines = done.stdout.splitlines()
    assert headings.split()[:4] == ["case", "quantity", "theory", "simulated"]
    assert len(lines) == 12
    assert all(line.endswith("pass") for line in lines)


def test_no_case_is_an_error_of_the_user(cli):
    """The error lists all existing names."""
    done = cli("verify", "--only", "M/M/0")
    assert done.exit_code == 2
    assert "'M/M/0'" in done.stderr
    assert "M/D/1" in done.stderr
