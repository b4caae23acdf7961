"""A copy of the source tree with one fault at a time, and the outcome of tests that run there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import PROFILE, ROOT
from tests.writable_copy import copy_tree

COPIED = ("hostsim", "tests", "scenarios", "docs", "pyproject.toml")
"""Parts of the tree that tests of the model read."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a pytest run.

    Attributes:
        passed: number of tests that passed.
        failures: first line of the message of each test that failed while it ran, by node id.
        errors: the same of tests that failed before they ran: at import, at collection or in a fixture.
        is_timeout: True when the run used up its CPU time.
    """

    passed: int
    failures: dict[str, str]
    errors: dict[str, str]
    is_timeout: bool = False


class PlantedCopy:
    """A copy of the source tree for planting faults.

    Args:
        folder: where to put it; an empty folder.
        root: the tree to copy.
    """

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.folder = folder
        for name in COPIED:
            copy_tree(root / name, folder / name, ".pytest_cache", "build")
        self._output = folder / "output.txt"
        # forks of the server end without cleanup, so they share the folder made by `tests.conftest`
        own = {"HOSTSIM_PURE": "1", "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
        environment = {**os.environ, **own, "MPLCONFIGDIR": str(folder / f"{PROFILE}copy")}
        with self._output.open("w", encoding="utf-8") as output:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tests.mutation.fork_server"],
                cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True,
            )  # fmt: skip

    @contextmanager
    def planted(self, path: str, text: str) -> Iterator[None]:
        """Replace the text of a file within the context.

        Raises:
            SyntaxError: the text is not Python source.
        """
        file = self.folder / path
        if file.suffix == ".py":
            compile(text, path, "exec")
        before = file.read_text(encoding="utf-8")
        try:
            self._write(file, text)
            yield
        finally:
            self._write(file, before)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        if file.suffix == ".py":  # byte code is cached by length and second, which both texts may share
            Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)

    def run(self, tests: Sequence[str], *, cpu_s: int, options: Sequence[str] = ("-x",)) -> Outcome:
        """Run tests of the copy on its sources, not on compiled modules, within a number of seconds of CPU time."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        fixed = ["-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", "-m", "slow or not slow"]
        arguments = [*fixed, *options, f"--junitxml={report}", *tests]
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps({"arguments": arguments, "cpu_s": cpu_s}) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        if status < 0:
            return Outcome(0, {}, {}, is_timeout=True)
        if not report.exists():
            return Outcome(0, {}, {"pytest": f"status {status}: {self._output.read_text(encoding='utf-8')[-2000:]}"})
        return _outcome(report)

    def close(self) -> None:
        """End the process that runs the tests."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def _outcome(report: Path) -> Outcome:
    passed, failures, errors = 0, {}, {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 (see the import)
        name = f"{case.get('file') or case.get('classname')}::{case.get('name')}"
        for kind, found in (("failure", failures), ("error", errors)):
            element = case.find(kind)
            if element is not None:
                found[name] = (element.get("message") or "").partition("\n")[0]
        passed += not len(case)
    return Outcome(passed, failures, errors)
