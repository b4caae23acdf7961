"""What is left of a worker that dies: its run is a failed one, wherever it was."""

from __future__ import annotations

import os
import struct
from multiprocessing import Pipe, Process

import pytest
from toy_runs import point

from hostsim.campaign.limit import NO_LIMITS
from hostsim.campaign.processes import Processes
from hostsim.scenario.points import Task


@pytest.mark.parametrize("sent", [b"", struct.pack("!i", 1000) + b"the beginning of a record"])
def test_a_worker_that_dies_before_or_while_it_answers_leaves_a_failed_run(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of an answer, or the first part of one."""
    here, there = Pipe()
    if sent:
        os.write(there.fileno(), sent)
    there.close()
    workers = Processes.__new__(Processes)
    workers._tasks, workers._begun, workers._limits = {here: Task(point(n=1), 0, 1)}, {}, NO_LIMITS
    monkeypatch.setattr(workers, "_end", lambda pipe: Process())
    monkeypatch.setattr("hostsim.campaign.processes._last_words", lambda process: "it died")
    record = workers._receive(here)
    assert record is not None
    assert record.error is not None
    assert "it died" in record.error
