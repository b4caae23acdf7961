"""Exit statuses for refusals of the system and for errors in the program, besides those of claims and runs."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_scenario import TINY


@pytest.mark.parametrize(("command", "unbuffered"), [("--help", ""), ("--help", "1"), ("schema", "")])
def test_an_output_that_is_full_is_bad_input(tmp_path: Path, command: str, unbuffered: str) -> None:
    """One line without a traceback, and status 2; 1 would be a claim that does not pass."""
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "hostsim", command],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "cannot go on: File too large\n")


@pytest.mark.parametrize(("command", "unbuffered"), [("--help", ""), ("--help", "1"), ("schema", "")])
def test_a_reader_who_has_had_enough_is_no_error(command: str, unbuffered: str) -> None:
    """An example is ``| head``."""
    out, into = os.pipe()
    os.close(out)
    done = subprocess.run(
        [sys.executable, "-m", "hostsim", command],
        stdout=into,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    os.close(into)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("is_open", [True, False], ids=["closed by its reader", "closed from the start"])
def test_a_closed_stdout_changes_neither_the_status_nor_the_files(tiny: Path, is_open: bool) -> None:
    """A failed claim ends with 1 and its JUnit file is written, failed runs end with 3."""
    tiny.write_text(TINY.replace("between: [2, 2]", "between: [3, 3]"))
    command = [sys.executable, "-m", "hostsim", "%s", "tiny.yaml", "--quick", "--jobs", "1"]
    for name, more, status in (("check", ["--junit", "j.xml"], 1), ("run", ["--max-time", "1 ms", "--seed", "2"], 3)):
        out, into = os.pipe()
        os.close(out)
        done = subprocess.run(
            [text.replace("%s", name) for text in command] + more,
            stdout=into,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=None if is_open else lambda: os.close(1),
            check=False,
        )
        os.close(into)
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
    assert "<failure" in Path("j.xml").read_text()


def test_a_name_that_no_file_can_have_is_bad_input() -> None:
    """The system refuses to look for it."""
    done = subprocess.run(
        [sys.executable, "-m", "hostsim", "check", "x" * 300], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("xxx")
    assert done.stderr.endswith(": File name too long\n")
    assert done.stderr.count("\n") == 1


def test_an_error_in_the_program_has_a_status_of_its_own() -> None:
    """The error keeps its traceback."""
    code = "import hostsim.__main__ as m, hostsim.cli.app as a; a.app = lambda **_: 1 / 0; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


# what OpenBLAS looks at
PROCESSORS = min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by a folder of Linux")
@pytest.mark.parametrize(("asked", "threads"), [(None, 1), ("2", PROCESSORS)])
def test_a_command_has_no_pool_of_threads_unless_it_is_asked_for(asked: str | None, threads: int) -> None:
    """Each of a sweep's workers would have one thread per processor."""
    environment = {**os.environ, **({"OPENBLAS_NUM_THREADS": asked} if asked is not None else {})}
    code = (
        "import os, hostsim.__main__ as m, hostsim.cli.app as a\n"
        "def app(**_):\n    import numpy\n    print(len(os.listdir('/proc/self/task')))\n"
        "a.app = app\nm.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr, int(done.stdout)) == (0, "", threads)


def test_a_scenario_that_is_no_file_is_called_what_it_is(cli, tiny, tmp_path) -> None:
    """Its own name is not the nearest one."""
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "link.yaml").symlink_to("nothing")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "folder.yaml").mkdir()
    for name, words in (
        ("pipe", "is a device or a pipe"),
        ("link", "is a link that leads to no file"),
        ("loop", "is a link that leads to no file"),
        ("folder", "is a folder"),
    ):
        done = cli("run", f"{name}.yaml")
        assert done.exit_code == 2
        assert done.stderr.startswith(f"{words}; given {name}.yaml; allowed: ")
        assert f"did you mean '{name}.yaml'" not in done.stderr
