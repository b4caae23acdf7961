"""What is left of a worker that dies: its run is a failed one, wherever it was."""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from multiprocessing import Pipe, Process
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess

import pytest
from toy_runs import point, simulate

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


def test_threads_that_start_workers_leave_the_main_module_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each puts a stand-in there for as long as a start takes; none may put back that of another."""
    main = sys.modules["__main__"]
    at_once: list[int] = []
    running = 0

    def start(process: BaseProcess) -> None:
        nonlocal running
        assert sys.modules["__main__"] is not main
        running += 1
        at_once.append(running)
        time.sleep(0.01)  # the others come meanwhile
        running -= 1

    monkeypatch.setattr(SpawnProcess, "start", start)
    workers = [Processes(simulate, 1) for _ in range(6)]
    threads = [threading.Thread(target=worker._start) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.modules["__main__"] is main
    assert at_once == [1] * 6
