"""A sweep small enough for repeated disturbance, the command that runs it, and its comparable output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

TEXT = """
scenario: tiny
question: Does it last?
platform: esxi-5.0
hardware: dell-r810
network: {vSwitch0: {uplinks: [vmnic0]}}
vms: {receiver: {count: 1, guest: rhel6, networks: [vSwitch0]}}
traffic: {stream: {kind: multicast, to: receiver, packet_size: 200 B, rate: 5 kpps}}
run: {length: 60 ms, replications: 4}
sweep:
  receivers: {set: vms.receiver.count, values: [1, 2, 3]}
"""
RUNS = 12


def write(folder: Path) -> Path:
    """The scenario's folder, made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.yaml").write_text(TEXT)
    return folder


def command(*options: str) -> list[str]:
    """The command, with two workers unless options say otherwise."""
    jobs = () if {"--jobs", "--cluster"} & set(options) else ("--jobs", "2")
    return [sys.executable, "-m", "hostsim", "run", "tiny.yaml", *jobs, *options]


def start(
    folder: Path, *options: str, path: Path | None = None, before: Callable[[], object] | None = None
) -> subprocess.Popen[str]:
    """The running command, in its own session.

    Args:
        folder: where it runs.
        options: of the command.
        path: folder of modules that precede all others.
        before: called in its process before it begins.
    """

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a program started in the background ignores Ctrl-C
        if before is not None:
            before()

    return subprocess.Popen(
        command(*options),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*([str(path)] if path else []), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=prepare,  # noqa: PLW1509
    )


WHEN_STORED = """
import multiprocessing, os, signal, sys
_left = {runs}
def _hear(event, arguments):
    global _left
    if event == "os.rename" and os.fspath(arguments[1]).endswith(".parquet"):
        if not _left:
            {action}
        _left -= 1
sys.addaudithook(_hear)
"""


def when_stored(folder: Path, runs: int, action: str) -> Path:
    """A folder of modules with which a command does something to itself after a number of stored runs, before storing another.

    From outside it may come too late: a sweep takes a second, and the process of the tests may have to wait as long for a processor.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WHEN_STORED.format(runs=runs, action=action))
    return folder


def run(folder: Path, *options: str, **how: Any) -> tuple[int, str]:
    """The command until its end: exit status and stderr."""
    process = start(folder, *options, **how)
    _, told = process.communicate(timeout=3600)
    return process.returncode, told


def stored(folder: Path) -> list[Path]:
    """The files of the stored runs."""
    return sorted((folder / "results" / "runs").rglob("*.parquet"))


def wait_for(folder: Path, runs: int, process: subprocess.Popen[str]) -> None:
    """Blocks until a number of runs is stored, or the command has ended."""
    while len(stored(folder)) < runs and process.poll() is None:
        time.sleep(0.005)


def content(folder: Path) -> dict[str, Any]:
    """Output of a sweep by file, without wall-clock times."""
    found: dict[str, Any] = {}
    for file in stored(folder):
        table = pq.read_table(file)
        volatile = (b"hostsim.wall_clock", b"hostsim.digest")
        facts = {key: value for key, value in table.schema.metadata.items() if key not in volatile}
        found[file.name] = (table.replace_schema_metadata(None).to_pylist(), facts)
    results = folder / "results" / "tiny"
    table = pq.read_table(results / "table.parquet")
    facts = {key: value for key, value in table.schema.metadata.items() if key != b"pandas"}
    found["table.parquet"] = (table.drop_columns(["wall_s"]).replace_schema_metadata(None).to_pydict(), facts)
    found["table.csv"] = (results / "table.csv").read_bytes()
    found["contexts.parquet"] = (results / "contexts.parquet").read_bytes()
    kept = json.loads((results / "results.json").read_text())
    del kept["cost"]["wall_s"], kept["cost"]["drawing_s"], kept["tables"]["table.parquet"], kept["digest"]
    found["results.json"] = kept
    return {name: repr(value) for name, value in found.items()}  # NaN is NaN here
