"""Ctrl-C ends any command within 2 s of processor time, whatever it is doing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults import sweep

ALLOWED_S = 2.0
"""Processor time from Ctrl-C to the end."""
TICK = os.sysconf("SC_CLK_TCK")

LONG = sweep.TEXT.replace("length: 60 ms", "length: 1000 s")
HUGE = sweep.TEXT.replace("count: 1", "count: 4096").replace("values: [1, 2, 3]", "values: [4096]")
DEAF = """
import hostsim.__main__ as entry, hostsim.cli.app as cli
def deaf(**_):
    while True:
        try:
            print("begun", flush=True)
            while True:
                pass
        except KeyboardInterrupt:
            pass
cli.app = deaf
entry.main()
"""
SWALLOWED = """
import hostsim.__main__ as entry, hostsim.cli.app as cli
class Finalised:
    def __del__(self):
        print("begun", flush=True)
        while True:
            pass
def finish(**_):
    Finalised()
    raise SystemExit(0)
cli.app = finish
entry.main()
"""


def used(process: subprocess.Popen[str]) -> float:
    """Processor time of a process and of its children that have ended, in seconds; infinite where it has ended itself."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("inf")
    return float("inf") if fields[0] == "Z" else sum(map(int, fields[11:15])) / TICK


def workers_used(process: subprocess.Popen[str]) -> float:
    """Processor time so far of the children that are alive: it is counted at their end."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == process.pid:
                total += int(fields[11]) + int(fields[12])
    return total / TICK


def end(process: subprocess.Popen[str]) -> tuple[int, float]:
    """Exit status of a process, and its processor time and that of its children."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stdout is not None
    process.stdout.close()
    return process.returncode, usage.ru_utime + usage.ru_stime


def hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a program started in the background is deaf to Ctrl-C


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Python at work in a folder, in a session of its own; stderr goes to a file."""
    with (folder / "stderr").open("w") as stderr:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,  # noqa: PLW1509
        )


@pytest.mark.skipif(sys.platform != "linux", reason="not run: reads /proc")
@pytest.mark.parametrize("moment_s", [1.2, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (0.4, 2.0))])
@pytest.mark.parametrize(
    "command",
    [
        "run long.yaml --jobs 1",
        "run long.yaml --jobs 2",
        "run huge.yaml --jobs 1",
        "run splitrx --dry-run",
        "check --jobs 1",
        pytest.param("check --jobs 2", marks=pytest.mark.slow),
        pytest.param("what-if long.yaml --set vms.receiver.count=2 --jobs 1", marks=pytest.mark.slow),
        pytest.param("sensitivity splitrx --metric loss --jobs 1", marks=pytest.mark.slow),
        pytest.param("calibrate --jobs 1", marks=pytest.mark.slow),
        pytest.param("reproduce --quick --jobs 2", marks=pytest.mark.slow),
        "verify --jobs 1",
        pytest.param("verify --jobs 2", marks=pytest.mark.slow),
        pytest.param("trace long.yaml --from 500s", marks=pytest.mark.slow),
        "trace long.yaml --from 0s --length 500s",
    ],
)
def test_a_command_ends_soon_after_ctrl_c(tmp_path: Path, command: str, moment_s: float) -> None:
    """At several moments, by the processor time that it and its workers have had: while it reads modules, loads, plans, runs."""
    (tmp_path / "long.yaml").write_text(LONG.replace("tiny", "long"))
    (tmp_path / "huge.yaml").write_text(HUGE.replace("tiny", "huge"))
    process = start(tmp_path, "-m", "hostsim", *command.split())
    while used(process) + workers_used(process) < moment_s:
        time.sleep(0.01)
    before = used(process) + workers_used(process)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    status, after = end(process)
    told = (tmp_path / "stderr").read_text()
    assert status == 130, told
    assert told.count("interrupted") == 1, told
    assert "Traceback" not in told
    assert after - before < ALLOWED_S


@pytest.mark.skipif(sys.platform != "linux", reason="not run: reads /proc")
@pytest.mark.parametrize("presses", [1, 2])
def test_what_holds_an_interrupt_back_ends_with_the_process(tmp_path: Path, presses: int) -> None:
    """A command that goes on whenever it is interrupted: at the second Ctrl-C, or for want of one when its time is over."""
    process = start(tmp_path, "-c", DEAF)
    assert process.stdout is not None
    for _ in range(presses):
        process.stdout.readline()
        before = used(process)
        os.kill(process.pid, signal.SIGINT)
    status, after = end(process)
    assert (status, (tmp_path / "stderr").read_text()) == (130, "interrupted\n")
    assert after - before < (ALLOWED_S if presses == 1 else 0.5)


def test_an_interrupt_that_comes_in_a_finaliser_ends_the_process(tmp_path: Path) -> None:
    """Where the interpreter prints and forgets an exception."""
    process = start(tmp_path, "-c", SWALLOWED)
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    status, _ = end(process)
    assert (status, (tmp_path / "stderr").read_text()) == (130, "interrupted\n")


@pytest.mark.slow
def test_drawing_and_reporting_end_soon_after_ctrl_c(tmp_path: Path) -> None:
    """Every run is kept."""
    folder = sweep.write(tmp_path)
    status, told = sweep.run(folder)
    assert status == 0, told
    kept = len(sweep.stored(folder))
    for command in (["run", "tiny.yaml"], ["plot", "tiny"], ["report", "tiny"]):
        process = start(tmp_path, "-m", "hostsim", *command)
        while (before := used(process)) < 0.6:
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)
        status, after = end(process)
        assert status == 130, (command, (tmp_path / "stderr").read_text())
        assert after - before < ALLOWED_S
        assert len(sweep.stored(folder)) == kept
