"""Work aside: where it is done, and what becomes of it when something goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostsim.campaign.aside import aside
from hostsim.errors import InputError, StoreError
from hostsim.scenario.published import find_scenario

SCRIPT = """
# no guard for a main module: workers must not run this script again
import os
from hostsim.campaign.aside import aside
with aside(2) as workers:
    futures = [workers.submit(os.getppid) for _ in range(4)]
print({future.result() for future in futures} == {os.getpid()})
"""


def test_one_job_is_done_here_and_two_by_other_processes(tmp_path: Path) -> None:
    """Which start without the caller's script, and have ended their work when the executor is left."""
    with aside(1) as here:
        assert here.submit(os.getpid).result() == os.getpid()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_an_exception_drops_what_has_not_begun() -> None:
    """Two workers hold a piece each, and one more lies ready."""
    futures = []

    def interrupted() -> None:
        with aside(2) as workers:
            futures.extend(workers.submit(time.sleep, 0.05) for _ in range(40))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert all(future.done() for future in futures)
    assert sum(future.cancelled() for future in futures) > 20


def test_what_goes_wrong_in_a_worker_is_told_here() -> None:
    """An exception as it was; that a worker was killed in words."""
    with pytest.raises(InputError, match="unknown scenario; given 'ramses'"), aside(2) as workers:
        workers.submit(find_scenario, "ramses").result()
    with pytest.raises(StoreError, match="was killed"), aside(2) as workers:
        workers.submit(os._exit, 9).result()
    with pytest.raises(InputError, match="not a number of workers"), aside(0):
        pass
