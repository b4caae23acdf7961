"""Killed or interrupted processes: nothing finished is lost, and the same command resumes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import HANGS_S
from tests.faults import sweep


def _kill_at_random(folder: Path, times: int) -> None:
    """Kills the command and its workers a number of times before its end, each time after a random number of stored runs and a random delay."""
    draw = random.Random(times)
    begun = time.monotonic()
    while times:
        kept = sweep.stored(folder)
        for file in (
            draw.sample(kept, len(kept) - 2) if len(kept) > sweep.RUNS / 2 else ()
        ):  # so that there is something to disturb
            file.unlink()
        before = len(sweep.stored(folder))
        process = sweep.start(folder)
        sweep.wait_for(folder, before + draw.randrange(3), process)
        time.sleep(draw.uniform(0, 0.2))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        times -= process.returncode == -signal.SIGKILL
        assert len(sweep.stored(folder)) >= before
        assert time.monotonic() - begun < HANGS_S, "it always ends before it is killed"


@pytest.mark.slow  # with a toy in place of runs: `tests/campaign/test_driver.py`
@pytest.mark.parametrize("times", [1, 50])
def test_killed_at_random_moments(tmp_path: Path, undisturbed: dict[str, str], times: int) -> None:
    """SIGKILL to the whole process group, repeatedly; then once to the end."""
    folder = sweep.write(tmp_path)
    _kill_at_random(folder, times)
    status, told = sweep.run(folder)
    assert status == 0, told
    assert sweep.content(folder) == undisturbed


@pytest.mark.slow
def test_a_killed_worker_leaves_a_partial_result_that_says_so(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    """Its run is a failed row, `(partial)` is in all output, the status is 3, and the next command completes it."""
    folder = sweep.write(tmp_path)
    hook = sweep.when_stored(tmp_path / "hook", 1, "[worker.kill() for worker in multiprocessing.active_children()]")
    status, told = sweep.run(folder, path=hook)
    assert status == 3, told
    assert "tiny (partial): " in told
    assert "the worker process ended before the run did (SIGKILL" in told
    table = pd.read_parquet(folder / "results/tiny/table.parquet")
    failed = table["error"] != ""
    assert 1 <= failed.sum() <= 2
    assert table.loc[failed, "host_cpu"].isna().all()
    assert f'"partial": "{failed.sum()} of 12 runs failed"' in (folder / "results/tiny/results.json").read_text()
    status, told = sweep.run(folder)
    assert status == 0, told
    assert sweep.content(folder) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c(tmp_path: Path, undisturbed: dict[str, str], presses: int) -> None:
    """Once or twice: status 130, one line, no traceback; finished runs are stored."""
    folder = sweep.write(tmp_path)
    # like a terminal: the whole group gets it
    hook = sweep.when_stored(tmp_path / "hook", 2, f"[os.killpg(0, signal.SIGINT) for _ in range({presses})]")
    status, told = sweep.run(folder, path=hook)
    assert status == 130, told
    assert "Traceback" not in told
    assert told.count("interrupted") == 1
    assert not (folder / "results/tiny").exists()
    assert len(sweep.stored(folder)) >= 2
    status, told = sweep.run(folder)
    assert status == 0, told
    assert sweep.content(folder) == undisturbed


def test_ctrl_c_before_anything_has_begun(tmp_path: Path) -> None:
    """There is no traceback either while modules are read."""
    folder = sweep.write(tmp_path)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    status, told = sweep.run(folder, path=tmp_path / "modules")
    assert (status, told) == (130, "interrupted\n")


def test_a_terminated_command_ends_its_workers_and_their_locks(tmp_path: Path) -> None:
    """SIGTERM, for example of a batch system, has the status and the message of Ctrl-C."""
    folder = sweep.write(tmp_path)
    hook = sweep.when_stored(tmp_path / "hook", 2, "os.kill(os.getpid(), signal.SIGTERM)")
    status, told = sweep.run(folder, path=hook)
    assert status == 130, told
    assert told.splitlines()[-1] == "interrupted: every finished run is stored; the same command resumes"


@pytest.mark.slow
def test_two_sweeps_on_one_folder_at_once(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    """Neither disturbs the other; both succeed."""
    folder = sweep.write(tmp_path)
    both = [sweep.start(folder) for _ in range(2)]
    told = [process.communicate(timeout=3600)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert sweep.content(folder) == undisturbed


CLOCK = """
import time
_started, _calls = {start}, 0
def _back():
    global _calls
    _calls += 1
    return _started - 3600.0 * _calls  # an hour back whenever it is asked
time.time = _back
time.time_ns = lambda: int(_back() * 1e9)
"""


@pytest.mark.slow
def test_a_clock_that_goes_back(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    """A sweep that begins in 2040 and continues in 1999, on clocks that run backwards."""
    folder = sweep.write(tmp_path)
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(CLOCK.format(start=2208988800))
    process = sweep.start(folder, path=clock)
    sweep.wait_for(folder, 3, process)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    for file in sweep.stored(folder):
        os.utime(file, (2208988800, 2208988800))
    (clock / "sitecustomize.py").write_text(CLOCK.format(start=915148800))
    status, told = sweep.run(folder, path=clock)
    assert status == 0, told
    assert "from the results folder" in told
    assert sweep.content(folder) == undisturbed
