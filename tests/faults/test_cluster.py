"""A Dask cluster: workers with different code, a lost scheduler, no worker, an unsuitable installation."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

import pytest

import hostsim
from hostsim.campaign.executor import dask_cluster
from hostsim.campaign.executor.options import open_executor
from hostsim.campaign.packing import PackedRun, Packing
from hostsim.campaign.store import Origin, file_of
from hostsim.engine.record import RunRecord
from tests.campaign.toy_runs import point, simulate, tasks
from tests.faults import fatal_fetch, sweep

PACKAGE = Path(hostsim.__file__).parent


@pytest.fixture
def begin() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts parts of Dask in processes that the test ends."""
    pytest.importorskip("distributed", reason="not run: Dask is not installed")
    processes: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, path: Path = PACKAGE.parent, name: str = "dask") -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", name, *arguments],
            env={**os.environ, "PYTHONPATH": str(path)},
            cwd=path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.wait()


def scheduler(begin: Callable[..., subprocess.Popen[str]], folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A scheduler that listens at a port of its choice, and its address, which it writes to a file in the folder."""
    file = folder / "scheduler.json"
    process = begin("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    while True:
        assert process.poll() is None
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # or half of it
            return process, json.loads(file.read_text())["address"]
        time.sleep(0.1)


def worker(begin: Callable[..., subprocess.Popen[str]], address: str, path: Path = PACKAGE.parent) -> None:
    begin("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", path=path)


def wait_for_line(process: subprocess.Popen[str], words: str) -> str:
    """Everything that a command writes to stderr up to the given words."""
    assert process.stderr is not None
    told = ""
    for line in process.stderr:
        told += line
        if words in line:
            return told
    raise AssertionError(told)


def other_code(folder: Path) -> Path:
    """A copy of the package with another constant: a folder for PYTHONPATH."""
    shutil.copytree(PACKAGE, folder / "hostsim", ignore=shutil.ignore_patterns("__pycache__"))
    source = folder / "hostsim/model/control/periodic.py"
    changed, count = re.subn(r"DRIFT = 0\.1", "DRIFT = 0.2", source.read_text())
    assert count == 1
    source.write_text(changed)
    shutil.copytree(PACKAGE.parent / "scenarios", folder / "scenarios")
    return folder


@pytest.mark.slow  # `make long-tests` runs it, in CI as well
def test_a_worker_of_other_code_that_joins_late_makes_no_result(tmp_path: Path, begin, undisturbed) -> None:
    """It was the only one when the sweep began; a worker with this code that joins later does all runs."""
    _, address = scheduler(begin, tmp_path)
    folder = sweep.write(tmp_path / "here")
    process = sweep.start(folder, "--cluster", address)
    wait_for_line(process, "has no worker: waiting")
    worker(begin, address, other_code(tmp_path / "other"))
    wait_for_line(process, "has no worker but 1 with other code of hostsim: waiting")
    worker(begin, address)
    _, rest = process.communicate()
    assert process.returncode == 0, rest
    assert sweep.content(folder) == undisturbed


@pytest.mark.slow  # `make long-tests` runs it, in CI as well
def test_a_worker_lost_between_the_end_of_a_run_and_its_fetch_is_noticed(
    tmp_path: Path, begin, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command reports that it waits for a worker, and the next worker repeats the run."""
    _, address = scheduler(begin, tmp_path)
    worker(begin, address)

    class AnotherWorker(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert "has no worker: waiting for one" in record.getMessage()
            worker(begin, address)

    [task] = tasks([point(file=str(tmp_path / "fetched"))], 1)
    log, another = logging.getLogger("hostsim.campaign.executor.dask_cluster"), AnotherWorker()
    with open_executor(fatal_fetch.simulate, None, address) as executor:
        executor._client.wait_for_workers(1)
        log.addHandler(another)
        try:
            executor.submit(task)
            [(ended, record)] = executor.wait()
        finally:
            log.removeHandler(another)
    assert ended is task
    assert record.facts == {"fact": "harmless"}
    assert (tmp_path / "fetched").exists()
    assert "waiting for one" in caplog.text
    assert "gather" not in caplog.text + capfd.readouterr().err


@pytest.mark.slow  # `make long-tests` runs it, in CI as well
def test_a_worker_packs_its_record_only_with_the_same_modules(tmp_path: Path, begin, monkeypatch) -> None:
    """Tables and files are not part of the digest of a run's code; with other modules the whole record returns."""
    _, address = scheduler(begin, tmp_path)
    worker(begin, address)
    [task] = tasks([point(n=3)], 1)
    packing = Packing(Origin("toy", {"n": 3}), attrgetter("axes"), has_searches=False)
    with open_executor(simulate, None, address) as executor:
        executor.submit(task, packing)
        [(_, packed)] = executor.wait()
        monkeypatch.setattr(dask_cluster, "packing_digest", lambda: "another")
        executor.submit(task, packing)
        [(_, whole)] = executor.wait()
    assert isinstance(packed, PackedRun)
    assert packed.taken == task.point.axes
    assert isinstance(whole, RunRecord)
    assert file_of(whole, packing.origin)[:1000] == packed.file[:1000]


@pytest.mark.slow  # `make long-tests` runs it, in CI as well
def test_a_lost_scheduler_ends_with_3_and_the_same_command_goes_on(tmp_path: Path, begin) -> None:
    """One sentence, no traceback, and finished runs are stored."""
    process, address = scheduler(begin, tmp_path)
    worker(begin, address)
    folder = sweep.write(tmp_path)
    command = sweep.start(folder, "--cluster", address)
    sweep.wait_for(folder, 2, command)
    process.kill()
    _, told = command.communicate()
    kept = len(sweep.stored(folder))
    assert command.returncode == 3, told
    assert "Traceback" not in told
    assert re.search(
        rf"the scheduler at {address} is gone; \d+ finished runs are kept, the same command resumes\n\Z", told
    )
    assert kept >= 2
    status, told = sweep.run(folder)
    assert status == 0, told


@pytest.mark.slow
def test_without_a_worker_the_command_says_so_and_ends_at_ctrl_c(tmp_path: Path, begin) -> None:
    """It waits for one."""
    _, address = scheduler(begin, tmp_path)
    process = sweep.start(sweep.write(tmp_path), "--cluster", address)
    told = wait_for_line(process, f"the scheduler at {address} has no worker: waiting for one")
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate()
    assert process.returncode == 130, told + rest
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("distributed", "raise ModuleNotFoundError('none', name='distributed')", "needs the package distributed"),
        ("cryptography", "raise ModuleNotFoundError('none')", "needs the package cryptography"),
        (
            "distributed",
            "import msgpack_of_another_world",
            r"import of distributed fails \(ModuleNotFoundError: No module named 'msgpack_",
        ),
    ],
)
def test_an_import_that_fails_says_why(tmp_path: Path, module: str, text: str, words: str) -> None:
    """A missing package is reported differently from an unsuitable one."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{module}.py").write_text(text + "\n")
    status, told = sweep.run(sweep.write(tmp_path), "--cluster", "local", path=tmp_path / "modules")
    assert status == 2
    assert re.search(words, told), told
