"""Progress in a log: a line at the start, at intervals, and at the end."""

from __future__ import annotations

import pytest

from hostsim.campaign.driver import Progress
from hostsim.cli import output as module
from hostsim.cli.output import columns, duration


def standing(done: int, total: int, *, running: int = 0, failed: int = 0, left: float | None = None) -> Progress:
    return Progress(done=done, total=total, running=running, reused=0, failed=failed, seconds_left=left)


def test_a_log_gets_the_first_and_the_last_line_and_few_between(capsys, monkeypatch):
    """A log of a thousand runs does not have a thousand lines."""
    clock = iter([0.0, *(1.0 * tick for tick in range(1, 100) for _ in range(2))])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with module.Reporter() as report:
        for done in range(31):
            report("a", standing(done, 30, running=int(done < 30), left=30.0 - done))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a: 0 of 30 runs, 30 s left"
    assert lines[-1] == "a: 30 of 30 runs"
    assert 3 <= len(lines) <= 8


def test_failures_are_said(capsys):
    """They are reported before the end."""
    with module.Reporter() as report:
        report("a", standing(2, 2, failed=1))
    assert capsys.readouterr().err == "a: 2 of 2 runs, 1 failed\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "less than a second"), (45.4, "45 s"), (200, "3 min 20 s"), (59.7, "1 min 0 s"), (7500, "2 h 5 min")],
)
def test_durations_are_said_as_people_do(seconds, words):
    """Times have no superfluous digits."""
    assert duration(seconds) == words


def test_columns_are_aligned():
    """A table is readable in a terminal of any width."""
    assert columns(("a", "b"), [("long", 1), ("x", "yy")]) == "a     b\nlong  1\nx     yy"
