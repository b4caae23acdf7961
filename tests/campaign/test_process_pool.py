"""Worker processes: where work is done, and that a dead worker loses one run only."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from operator import attrgetter
from pathlib import Path

import pytest
from toy_runs import plan, point, simulate, tasks

from hostsim.campaign.executor.process_pool import ProcessPoolExecutor, _WorkerProcess, worker_pool
from hostsim.campaign.packing import Packing
from hostsim.campaign.store import Origin, Store, is_same_run, run_of
from hostsim.campaign.task import ResourceLimits, run_task
from hostsim.errors import InputError, WorkerError
from hostsim.scenario.shipped_data import find_scenario
from tests.single_plan import run_all

KILLED = "the worker process ended before the run did (SIGKILL; that often means that the machine ran out of memory)"


@pytest.mark.parametrize(
    ("axes", "error"),
    [
        ({"lethal": True}, KILLED),
        ({"half": True}, KILLED),
        ({"exit": True}, "the worker process ended before the run did (exit status 0)"),
        ({"interrupt": True}, "KeyboardInterrupt: "),
    ],
)
def test_a_worker_that_dies_while_it_answers_fails_its_own_run_only(
    axes: dict[str, bool], error: str, tmp_path: Path
) -> None:
    """Before it has sent anything, in the middle of a record, or silently; other runs continue."""
    points = [point(**axes), *(point(n=n, sleep=0.1) for n in range(4))]
    outcome = run_all(plan(tasks(points, 1)), Store(tmp_path), jobs=2, simulate=simulate)
    assert [record.error for record in outcome.records.values()] == [error] + [None] * 4


def test_an_idle_worker_that_is_killed_harms_no_run() -> None:
    """The next task goes to a new one."""
    with ProcessPoolExecutor(simulate, 1) as executor:
        pids = set()
        for task in tasks([point(n=n) for n in range(2)], 1):
            executor.submit(task)
            ((_, record),) = executor.wait()
            assert record.error is None
            (worker,) = multiprocessing.active_children()
            pids.add(worker.pid)
            worker.kill()
            while executor._idle[0].active:
                time.sleep(0.01)
    assert len(pids) == 2


def test_a_worker_packs_the_record_of_a_run(tmp_path: Path) -> None:
    """The whole record returns only if it cannot be packed, or if a limit applies to the worker."""
    (task,) = tasks([point(n=3)], 1)
    packing = Packing(Origin("toy", {"n": 3}), attrgetter("axes", "series"), has_searches=False)
    store, whole = Store(tmp_path), run_task(simulate, task)
    with ProcessPoolExecutor(simulate, 1) as executor:
        executor.submit(task, packing)
        ((_, run),) = executor.wait()
        executor.submit(task, replace(packing, take=attrgetter("nothing")))
        ((_, unpacked),) = executor.wait()
    assert (run.record.series, run.record.facts["events"]) == ({}, whole.facts["events"])
    assert (run.taken[0], run.taken[1].keys()) == (task.point.axes, whole.series.keys())
    store.write(run_of(task), run.file)
    stored = store.get(run_of(task))
    assert stored is not None
    assert is_same_run(stored, whole)
    assert store.origin(run_of(task)) == packing.origin
    with ProcessPoolExecutor(simulate, 1, ResourceLimits(time_s=600)) as executor:
        executor.submit(task, packing)
        ((_, limited),) = executor.wait()
    assert is_same_run(unpacked, whole)
    assert is_same_run(limited, whole)


def test_workers_are_killed_when_the_executor_is_left() -> None:
    """In the middle of their runs."""
    with ProcessPoolExecutor(simulate, 2) as executor:
        for task in tasks([point(sleep=600), point(n=1)], 1):
            executor.submit(task)
        executor.wait()
        assert len(multiprocessing.active_children()) == 2
    assert multiprocessing.active_children() == []


ORPHANS = """
import multiprocessing, os, signal, sys
from hostsim.campaign.executor.process_pool import worker_pool
with worker_pool(2) as submit:
    [future.result() for future in [submit(os.getpid) for _ in range(2)]]
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_with_a_killed_parent() -> None:
    """They end without help: no process is left that could end them."""
    done = subprocess.run([sys.executable, "-c", ORPHANS], capture_output=True, text=True, check=False)
    pids = done.stdout.split()
    assert (done.returncode, len(pids)) == (-signal.SIGKILL, 2)
    while any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids):
        time.sleep(0.01)


def test_an_error_of_the_caller_is_not_taken_for_a_killed_worker() -> None:
    """A working pool ignores it; a broken one reports it, even if its worker was idle."""

    def leave(error: Exception | None) -> None:
        with worker_pool(2) as submit:
            submit(os.getpid).result()
            if error is not None:
                raise error
            for worker in multiprocessing.active_children():
                worker.kill()
            while True:
                submit(os.getpid).result()

    with pytest.raises(RuntimeError, match="mine"):
        leave(RuntimeError("mine"))
    with pytest.raises(WorkerError, match="was killed"):
        leave(None)


def test_threads_that_start_workers_leave_the_main_module_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each puts a replacement there during a start; none may restore that of another."""
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
    threads = [threading.Thread(target=_WorkerProcess().start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.modules["__main__"] is main
    assert at_once == [1] * 6


SCRIPT = """
# no guard for a main module: workers must not run this script again
import os
from hostsim.campaign.executor.process_pool import worker_pool
with worker_pool(2) as submit:
    futures = [submit(os.getppid) for _ in range(4)]
    print({future.result() for future in futures} == {os.getpid()})
"""


def test_one_job_is_done_here_and_two_by_other_processes(tmp_path: Path) -> None:
    """The other processes start without the caller's script."""
    with worker_pool(1) as submit:
        assert submit(os.getpid).result() == os.getpid()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


SLOW_START = """
import os, sys, time
if "--multiprocessing-fork" in sys.argv:
    try:
        os.mkdir({first!r})
    except FileExistsError:  # the second worker
        time.sleep(600)
"""


def _outlive_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def test_a_worker_that_still_starts_ends_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It ends silently while another one takes long to end."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_START.format(first=str(tmp_path / "first")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with worker_pool(2) as submit:
        submit(_outlive_sigterm).result()
    assert multiprocessing.active_children() == []
    assert capfd.readouterr() == ("", "")


def test_an_exception_drops_what_is_unfinished() -> None:
    """Started or not: more tasks than the pipe to the workers can hold."""
    futures = []

    def interrupted() -> None:
        with worker_pool(2) as submit:
            futures.extend(submit(time.sleep, 600) for _ in range(4000))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert multiprocessing.active_children() == []
    assert len(futures) == 4000


def test_what_goes_wrong_in_a_worker_is_told_here() -> None:
    """An exception unchanged; a killed worker in words."""
    with pytest.raises(InputError, match="unknown scenario; given 'ramses'"), worker_pool(2) as submit:
        submit(find_scenario, "ramses").result()
    with pytest.raises(WorkerError, match="was killed"), worker_pool(2) as submit:
        submit(os._exit, 9).result()
    with pytest.raises(InputError, match="not a number of workers"), worker_pool(0):
        pass
