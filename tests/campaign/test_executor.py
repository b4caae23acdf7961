"""Executors: the same runs on each of them, and the handling of runs that fail."""

from __future__ import annotations

import logging
import math
import multiprocessing
import socket
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toy_runs import plan, point, simulate, tasks

from hostsim.campaign.executor.base import InProcessExecutor
from hostsim.campaign.executor.options import open_executor
from hostsim.campaign.executor.process_pool import ProcessPoolExecutor
from hostsim.campaign.store import Store
from hostsim.campaign.task import OUT_OF_MEMORY, resource_limits
from hostsim.errors import InputError
from hostsim.results.table import WALL_CLOCK
from tests.conftest import HANGS_S
from tests.single_plan import run_all
from tests.tables import to_table


def test_one_job_needs_no_other_process() -> None:
    """More do; none is refused."""
    assert isinstance(open_executor(simulate, 1, None), InProcessExecutor)
    assert isinstance(open_executor(simulate, 2, None), ProcessPoolExecutor)
    with pytest.raises(InputError, match="jobs: is not a number of workers; given 0"):
        open_executor(simulate, 0, None)


def test_jobs_and_cluster_exclude_each_other() -> None:
    """A command with both options is refused."""
    with pytest.raises(InputError, match="cannot be combined with the address of a cluster"):
        open_executor(simulate, 2, "tcp://127.0.0.1:1")


def test_a_dying_worker_fails_its_own_run_only(tmp_path: Path) -> None:
    """The run is a failed row with the reason of the worker's end; another worker does the rest."""
    points = [point(n=1, sleep=0.3), point(die=True), *(point(n=n) for n in range(2, 6))]
    outcome = run_all(plan(tasks(points, 1)), Store(tmp_path), jobs=2, simulate=simulate)
    errors = [record.error for record in outcome.records.values()]
    assert errors[1] == (
        "the worker process ended before the run did (SIGKILL; that often means that the machine ran out of memory)"
    )
    assert errors[:1] + errors[2:] == [None] * 5


def test_a_run_that_takes_too_long_fails_and_the_others_do_not() -> None:
    """Its worker is ended, and a new one does the next run; only the run that never ends has a limit that it can reach."""
    wide, narrow = resource_limits(None, HANGS_S), resource_limits(None, 1.0)
    work = tasks([point(took=1), point(sleep=3600), point(took=2)], 1)
    records = []
    with ProcessPoolExecutor(simulate, 1, wide) as executor:
        for task, limits in zip(work, (wide, narrow, wide), strict=True):
            executor._limits = limits
            executor.submit(task)
            ((_, record),) = executor.wait()
            records.append(record)
    assert [record.error for record in records] == [None, "TimeoutError: the run exceeds its time limit, 1 s", None]
    assert records[0].facts["process"] != records[2].facts["process"]


@pytest.mark.skipif(sys.platform != "linux", reason="not run: this system keeps no limits of memory")
def test_a_run_that_needs_too_much_memory_fails_and_the_others_do_not(tmp_path: Path) -> None:
    """The machine does not notice."""
    points = [point(n=1), point(megabytes=2000), point(n=2)]
    outcome = run_all(
        plan(tasks(points, 1)), Store(tmp_path), jobs=1, limits=resource_limits(1 << 30, None), simulate=simulate
    )
    assert [record.error for record in outcome.records.values()] == [None, OUT_OF_MEMORY, None]


@pytest.mark.skipif(sys.platform != "linux", reason="not run: this system keeps no limits of memory")
def test_a_limit_below_the_memory_of_a_worker_is_the_error_of_every_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The worker reports it, and prints no traceback."""
    work = plan(tasks([point(n=1), point(n=2)], 1))
    outcome = run_all(work, Store(tmp_path), jobs=1, limits=resource_limits(10**7, None), simulate=simulate)
    errors = [record.error or "" for record in outcome.records.values()]
    assert [error.partition(" below ")[0] for error in errors] == ["MemoryError: the memory limit is"] * 2
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("memory", "time", "words"),
    [
        (None, 0.0, "max_time: is not a limit; given 0 s; allowed: a finite time above 0"),
        (None, math.inf, "max_time: is not a limit; given inf s"),
        (None, math.nan, "max_time: is not a limit; given nan s"),
        (None, "10 min", "max_time: is not a limit; given '10 min'"),
        (-1, None, "max_memory: is not a limit; given -1 B; allowed: whole bytes above 0"),
        (2**63, None, "max_memory: is not a limit; given 9.22337e"),
        (1.5, None, "max_memory: is not a limit; given 1.5 B"),
    ],
)
def test_limits_are_above_nothing_and_finite(memory: Any, time: Any, words: str) -> None:
    """Limits that cannot be enforced are refused."""
    with pytest.raises(InputError) as caught:
        resource_limits(memory, time)
    assert words in str(caught.value)


def test_limits_are_for_workers_of_this_machine() -> None:
    """Limits that cannot be enforced are refused."""
    with pytest.raises(InputError, match="needs worker processes of this machine"):
        open_executor(simulate, None, "tcp://127.0.0.1:1", resource_limits(None, 1.0))


def test_limits_that_nothing_reaches_are_none(tmp_path: Path) -> None:
    """Weeks exceed a system's longest wait, and exabytes its largest process."""
    most = (2**63 - 1 if sys.platform == "linux" else None, 1e30)
    outcome = run_all(
        plan(tasks([point(n=1)], 1)), Store(tmp_path), jobs=1, limits=resource_limits(*most), simulate=simulate
    )
    assert [record.error for record in outcome.records.values()] == [None]


@pytest.mark.parametrize("jobs", [0, 1.5, "2", True])
def test_a_number_of_workers_is_one(jobs: Any) -> None:
    """The Python interface has the same check."""
    with pytest.raises(InputError, match="jobs: is not a number of workers"):
        open_executor(simulate, jobs, None)


def test_workers_are_not_started_for_nothing() -> None:
    """Idle workers are reused, and leaving the context ends all."""
    with ProcessPoolExecutor(simulate, 4) as executor:
        for task in tasks([point(n=n) for n in range(3)], 1):
            executor.submit(task)
            ((ended, record),) = executor.wait()
            assert (ended, record.axes) == (task, task.point.axes)
        assert len(multiprocessing.active_children()) == 1
    assert multiprocessing.active_children() == []


@pytest.fixture
def scheduler() -> Iterator[str]:
    """Address of a Dask cluster of two threads in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", protocol="tcp://"
    ) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_gives_the_same_table(tmp_path: Path, scheduler: str) -> None:
    """Failed runs included."""
    sweep = plan(tasks([*(point(n=n) for n in range(4)), point(flag_file="/nowhere/at/all")], 2))
    here = run_all(sweep, Store(tmp_path / "here"), jobs=1, simulate=simulate)
    there = run_all(sweep, Store(tmp_path / "there"), cluster=scheduler, simulate=simulate)
    tables = [to_table(outcome.records.values()).drop(columns=[*WALL_CLOCK, "error"]) for outcome in (here, there)]
    assert tables[0].equals(tables[1])
    assert [record.error is None for record in there.records.values()] == [True] * 8 + [False] * 2


def test_a_local_cluster_is_started_and_ended(tmp_path: Path) -> None:
    """It has as many workers as ``--jobs``, and none of them outlives the sweep."""
    pytest.importorskip("distributed")
    with open_executor(simulate, 2, "local") as executor:
        assert executor.workers == 2
        for task in tasks([point(n=1)], 1):
            executor.submit(task)
        [(_, record)] = executor.wait()
    assert record.error is None
    assert multiprocessing.active_children() == []


def test_a_local_cluster_is_quiet_and_closed_to_others(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each port is open only on this machine: Dask's require a certificate, and HTTP ports have no pages."""
    pytest.importorskip("distributed")
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    with open_executor(simulate, 1, "local") as executor:
        info = executor._client.scheduler_info()  # type: ignore[attr-defined]
        servers = [info, *info["workers"].values()]
        [at] = info["workers"]
        for address in (executor._client.scheduler.address, at, info["workers"][at]["nanny"]):  # type: ignore[attr-defined]
            scheme, host, port = address.replace("//", "").split(":")
            assert (scheme, host) == ("tls", "127.0.0.1")
            with (
                socket.create_connection((host, int(port))) as connection,
                stranger.wrap_socket(connection) as wrapped,
                pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
            ):
                wrapped.recv(1)
        ports = [port for server in servers for port in server["services"].values()]
        assert len(ports) == 2
        for port in ports:
            for page in ("", "info/main/workers.html", "status", "metrics"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}")
    assert [record for record in caplog.records if record.levelno < logging.WARNING] == []
    assert "INFO" not in capfd.readouterr().err  # the worker's, which has its own log
    assert logging.getLogger("distributed").level < logging.WARNING


class Unreadable:
    """A run function that only this process can import."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError

    def __reduce__(self) -> Any:
        return __import__, ("no_module_of_this_name",)


def test_what_the_cluster_cannot_read_fails_after_a_few_attempts(tmp_path: Path, scheduler: str) -> None:
    """The run is a row with Dask's error."""
    outcome = run_all(plan(tasks([point(n=1)], 1)), Store(tmp_path), cluster=scheduler, simulate=Unreadable())
    [record] = outcome.records.values()
    assert record.error is not None
    assert record.error.startswith("RuntimeError: ")


def test_a_cluster_that_does_not_answer_is_bad_input() -> None:
    """An invalid address is bad input, too."""
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="cluster: finds no scheduler"):
        open_executor(simulate, None, "nonsense://nowhere")
