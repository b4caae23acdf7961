"""Ctrl-C ends any command within 2 s of processor time, in any phase.

No test sends Ctrl-C at a time that a fast machine may have passed: a command interrupts itself at an event, or works
for hours.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostsim.cli.status import GRACE_S
from tests.faults import sweep

ALLOWED_S = GRACE_S + 0.5
"""Processor time from Ctrl-C to the end on the machine of the fixture `slowness`; a slow machine takes longer between
two checks for a signal.
"""
WORKS_S = 2.0
"""Processor time after which a command has begun its work, on that machine."""
TICK = os.sysconf("SC_CLK_TCK")

LONG = sweep.TEXT.replace("length: 60 ms", "length: 1000 s")
HUGE = sweep.TEXT.replace("count: 1", "count: 4096").replace("values: [1, 2, 3]", "values: [4096]")
PRESS = """
import os, signal, sys, time
def _hear(event, arguments):
    if event == "import" and arguments[0] == {module!r} and os.getpid() == os.getpgrp():  # not in a worker
        os.write(1, f"{{time.process_time()}}\\n".encode())
        os.killpg(0, signal.SIGINT)
sys.addaudithook(_hear)
"""
"""Ctrl-C to the whole group, as from a terminal, when a command begins to import a module; prints the processor time so far."""
DEAF = """
import os, signal, sys
import hostsim.__main__ as entry, hostsim.cli.app as cli, hostsim.cli.status as interrupt
interrupt.GRACE_S = float(sys.argv[1])
def deaf(**_):
    while True:
        try:
            # unbuffered: an interrupt within a flush would print the line again
            os.write(1, f"{signal.getitimer(signal.ITIMER_PROF)[0]}\\n".encode())
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
    """Processor time of a process and its ended children, in seconds; infinite if it has ended itself."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("inf")
    return float("inf") if fields[0] == "Z" else sum(map(int, fields[11:15])) / TICK


def workers_used(process: subprocess.Popen[str]) -> float:
    """Processor time so far of the living children, which is only counted at their end."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == process.pid:
                total += int(fields[11]) + int(fields[12])
    return total / TICK


def end(process: subprocess.Popen[str]) -> tuple[int, float]:
    """Exit status of a process, and its processor time including children."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stdout is not None
    process.stdout.close()
    return process.returncode, usage.ru_utime + usage.ru_stime


def hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a program started in the background ignores Ctrl-C


def start(folder: Path, *arguments: str, path: Path | None = None) -> subprocess.Popen[str]:
    """Python at work in a folder, in its own session, with a folder of modules before all others; stderr goes to a file."""
    with (folder / "stderr").open("w") as stderr:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*([str(path)] if path else []), *sys.path])},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,  # noqa: PLW1509
        )


def write_scenarios(folder: Path) -> None:
    """A scenario with a run that would take hours, and one whose host takes minutes to build."""
    (folder / "long.yaml").write_text(LONG.replace("tiny", "long"))
    (folder / "huge.yaml").write_text(HUGE.replace("tiny", "huge"))


def check_end(folder: Path, process: subprocess.Popen[str], before: float, allowed_s: float) -> None:
    """Status 130 and one word, within the allowed processor time after Ctrl-C, which came after ``before``."""
    status, after = end(process)
    told = (folder / "stderr").read_text()
    assert status == 130, told
    assert told.count("interrupted") == 1, told
    assert "Traceback" not in told
    assert after - before < allowed_s


def press_itself(folder: Path, module: str, *command: str) -> tuple[subprocess.Popen[str], float]:
    """A command that interrupts itself when it imports a module, and its processor time by then."""
    (folder / "hook").mkdir(exist_ok=True)
    (folder / "hook" / "sitecustomize.py").write_text(PRESS.format(module=module))
    process = start(folder, "-m", "hostsim", *command, path=folder / "hook")
    assert process.stdout is not None
    return process, float(process.stdout.readline())


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("run long.yaml --jobs 1", "typer"),
        ("run splitrx --dry-run", "hostsim.scenario.load"),
        ("run splitrx --dry-run", "hostsim.model.build"),
        ("check --jobs 1", "pandas"),
        ("trace long.yaml --from 0s --length 500s", "hostsim.model.build"),
        ("verify --jobs 1", "numpy"),
        pytest.param("run long.yaml --jobs 2", "pyarrow.parquet", marks=SLOW),
        pytest.param("run huge.yaml --jobs 1", "hostsim.model.build", marks=SLOW),
        pytest.param("check --jobs 2", "hostsim.campaign.driver", marks=SLOW),
        pytest.param("what-if long.yaml --set vms.receiver.count=2 --jobs 1", "hostsim.scenario.planner", marks=SLOW),
        pytest.param("sensitivity splitrx --metric loss --jobs 1", "hostsim.model.build", marks=SLOW),
        pytest.param("calibrate --jobs 1", "hostsim.scenario.planner", marks=SLOW),
        pytest.param("reproduce --quick --jobs 2", "hostsim.scenario.load", marks=SLOW),
        pytest.param("verify --jobs 2", "hostsim.scenario.load", marks=SLOW),
    ],
)
def test_a_command_that_begins_ends_soon_after_ctrl_c(
    tmp_path: Path, slowness: float, command: str, module: str
) -> None:
    """The interrupt comes at an import while the command reads modules, loads or plans."""
    write_scenarios(tmp_path)
    process, before = press_itself(tmp_path, module, *command.split())
    check_end(tmp_path, process, before, ALLOWED_S * slowness)


@pytest.mark.skipif(sys.platform != "linux", reason="not run: reads /proc")
@pytest.mark.parametrize(
    "command",
    [
        "run long.yaml --jobs 1",
        "run long.yaml --jobs 2",
        pytest.param("run huge.yaml --jobs 1", marks=SLOW),
        pytest.param("check --jobs 1", marks=SLOW),
        pytest.param("check --jobs 2", marks=SLOW),
        pytest.param("what-if long.yaml --set vms.receiver.count=2 --jobs 1", marks=SLOW),
        pytest.param("sensitivity long.yaml --metric loss --jobs 1", marks=SLOW),
        pytest.param("calibrate --jobs 1", marks=SLOW),
        pytest.param("reproduce --jobs 2", marks=SLOW),
        pytest.param("verify --jobs 1", marks=SLOW),
        pytest.param("verify --jobs 2", marks=SLOW),
        pytest.param("trace long.yaml --from 500s", marks=SLOW),
        pytest.param("trace long.yaml --from 0s --length 500s", marks=SLOW),
    ],
)
def test_a_command_at_work_ends_soon_after_ctrl_c(tmp_path: Path, slowness: float, command: str) -> None:
    """Each would run for minutes or hours, so that no moment is too late on any machine; too early ones belong to the other test."""
    write_scenarios(tmp_path)
    process = start(tmp_path, "-m", "hostsim", *command.split())
    while (before := used(process) + workers_used(process)) < WORKS_S * slowness:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    check_end(tmp_path, process, before, ALLOWED_S * slowness)


@pytest.mark.parametrize("presses", [1, 2])
def test_what_holds_an_interrupt_back_ends_with_the_process(tmp_path: Path, presses: int) -> None:
    """A command that continues after every interrupt: it ends at the second Ctrl-C, or when its time is over."""
    grace_s = 0.2 if presses == 1 else 10_000.0
    process = start(tmp_path, "-c", DEAF, str(grace_s))
    assert process.stdout is not None
    left_s = []
    for _ in range(presses):
        left_s.append(float(process.stdout.readline()))
        os.kill(process.pid, signal.SIGINT)
    left_s += map(float, process.stdout)  # it prints its remaining time whenever it continues
    status, _ = end(process)
    assert (status, (tmp_path / "stderr").read_text()) == (130, "interrupted\n")
    assert left_s[0] == 0
    assert [0 < left < 2 * grace_s for left in left_s[1:]] == [True]  # in ticks of the kernel


def test_an_interrupt_that_comes_in_a_finaliser_ends_the_process(tmp_path: Path) -> None:
    """The interpreter prints and ignores an exception there."""
    process = start(tmp_path, "-c", SWALLOWED)
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    status, _ = end(process)
    assert (status, (tmp_path / "stderr").read_text()) == (130, "interrupted\n")


@pytest.mark.slow
def test_drawing_and_reporting_end_soon_after_ctrl_c(tmp_path: Path, slowness: float) -> None:
    """Every run is kept."""
    folder = sweep.write(tmp_path)
    status, told = sweep.run(folder)
    assert status == 0, told
    kept = len(sweep.stored(folder))
    for command, module in (("run tiny.yaml", "pandas"), ("plot tiny", "matplotlib.figure"), ("report tiny", "jinja2")):
        process, before = press_itself(folder, module, *command.split())
        check_end(folder, process, before, ALLOWED_S * slowness)
        assert len(sweep.stored(folder)) == kept
