"""Scarce resources: memory, time, disk, permissions; and foreign files in the results folder."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults import sweep


def _completes(folder: Path, undisturbed: dict[str, str]) -> None:
    status, told = sweep.run(folder, "--jobs", "1")
    assert status == 0, told
    assert sweep.content(folder) == undisturbed


@pytest.mark.slow  # with a toy in place of runs: `tests/campaign/test_executor.py`
@pytest.mark.skipif(sys.platform != "linux", reason="not run: this system keeps no limits of memory")
def test_runs_that_need_more_memory_than_they_may_fail_as_rows(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    """Every run fails: the sweep ends with status 3 and a complete table; without the limit it succeeds."""
    folder = sweep.write(tmp_path)
    status, told = sweep.run(folder, "--max-memory", "1 MB", "--axis", "receivers=2", "--replications", "2")
    assert status == 3, told
    assert "tiny (partial): 2 of 2 runs failed" in told
    assert "Traceback" not in told
    table = pd.read_parquet(folder / "results/tiny/table.parquet")
    assert (len(table), (table["error"] != "").all()) == (2, True)
    _completes(folder, undisturbed)


def test_a_run_that_takes_longer_than_it_may_fails_as_a_row(tmp_path: Path) -> None:
    """A run that would take minutes is limited to a second, also with one job, whose own process could not end it."""
    folder = sweep.write(tmp_path)
    options = ("--set", "run.length=2000 s", "--axis", "receivers=3", "--replications", "1", "--jobs", "1")
    status, told = sweep.run(folder, *options, "--max-time", "1 s")
    assert status == 3, told
    assert "TimeoutError: the run exceeds its time limit, 1 s" in told
    assert "tiny (partial): 1 of 1 runs failed" in told


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    """A file cannot grow, as on a full disk: no half of it remains, and the status reports the failure."""
    folder = sweep.write(tmp_path)
    status, told = sweep.run(folder, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)))
    assert status == 2, told
    assert "a run cannot be written" in told
    assert "Traceback" not in told
    assert [file for file in (folder / "results").rglob("*") if file.is_file()] == []
    _completes(folder, undisturbed)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 96 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", disk], check=False, capture_output=True)
        if shutil.which("mount") and sys.platform == "linux"
        else None
    )
    if mounted is None or mounted.returncode:
        pytest.skip("not run: this machine mounts no file system for us")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path, small_disk: Path, undisturbed: dict[str, str]) -> None:
    """Files written before stay complete; on a disk with space the sweep continues from there."""
    folder = sweep.write(tmp_path / "work")
    (folder / "results").symlink_to(small_disk)
    status, told = sweep.run(folder)
    assert status == 2, told
    assert "cannot be written" in told
    assert "Traceback" not in told
    kept = sweep.stored(folder)
    assert 1 <= len(kept) < sweep.RUNS
    (folder / "results").unlink()
    shutil.copytree(small_disk, folder / "results")
    _completes(folder, undisturbed)


def _without_privileges() -> None:
    """Removes root's right to write to protected files."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    drop_from_bounding_set = 24
    for capability in (1, 2):  # to ignore permissions of files
        if os.geteuid() == 0 and prctl(drop_from_bounding_set, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "cannot give up a capability")


@pytest.mark.slow
def test_a_folder_that_may_only_be_read(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    """It is reported, before or after the first run; with permission the sweep runs."""
    folder = sweep.write(tmp_path)
    (folder / "results").mkdir()
    (folder / "results").chmod(0o555)
    probe = subprocess.run(
        ["touch", folder / "results" / "x"],
        preexec_fn=_without_privileges,
        check=False,
        capture_output=True,
    )
    if probe.returncode == 0:
        pytest.skip("not run: this user may write everywhere")
    status, told = sweep.run(folder, before=_without_privileges)
    assert status == 2, told
    assert "cannot be written" in told
    assert "Traceback" not in told
    (folder / "results").chmod(0o755)
    _completes(folder, undisturbed)


@pytest.mark.slow
def test_files_that_do_not_belong_there(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    """Truncated, empty, foreign, older, of another run, with a flipped bit: each is reported, and run again."""
    folder = sweep.write(tmp_path)
    assert sweep.run(folder)[0] == 0
    torn, empty, foreign, older, swapped, flipped, table, *_ = files = sweep.stored(folder)
    other = files[-1].read_bytes()
    torn.write_bytes(torn.read_bytes()[:-200])
    empty.write_bytes(b"")
    foreign.write_bytes(b"PK\x03\x04 something else altogether")
    old = pq.read_table(older)
    pq.write_table(old.replace_schema_metadata({**old.schema.metadata, b"hostsim.format": b"0"}), older)
    swapped.write_bytes(other)
    bits = bytearray(flipped.read_bytes())
    bits[len(bits) // 3] ^= 1
    flipped.write_bytes(bytes(bits))
    pq.write_table(pa.table({"a": [1]}, metadata={"hostsim.format": "1", "hostsim.run": "[]"}), table)
    (files[0].parent / "notes.txt").write_text("mine")
    (folder / "results/tiny/table.parquet").write_bytes(b"PAR1")
    status, told = sweep.run(folder)
    assert status == 0, told
    damaged = (torn, empty, foreign, older, swapped, flipped, table)
    assert [file.name for file in damaged if f"{file.relative_to(folder)} " not in told] == []
    assert told.count("the run counts as missing") >= len(damaged)
    assert sweep.content(folder) == undisturbed
