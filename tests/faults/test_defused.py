"""Attacks in names and results never execute: not in a page, a notebook, a spreadsheet or a terminal."""

from __future__ import annotations

import contextlib
import csv
import os
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hostsim.cli.app import app
from tests.faults import sweep

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>"
FORMULA = '=HYPERLINK("http://x","y")'
HOOK = """
import os, sys
def _hear(event, arguments):
    if event == "pickle.find_class":
        os.write(2, f"{event} {arguments}".encode())
        os._exit(99)
sys.addaudithook(_hear)
"""


class _Page(HTMLParser):
    """Tags, and attributes that would execute something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.active += [
            name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "").lower()
        ]


def _hostsim(folder: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*([str(path)] if path else []), *sys.path])}
    command = [sys.executable, "-m", "hostsim", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep whose question, axis, values, labels and expectation are attacks, run and reported."""
    folder = sweep.write(tmp_path_factory.mktemp("named"))
    text = sweep.TEXT.replace("Does it last?", f"'{MARKUP} $\\frac{{1}}$'").replace(
        "replications: 4", "replications: 1"
    )
    text = text.split("sweep:")[0]
    text += f"""sweep:
  '{FORMULA}': {{set: vms.receiver.count, values: [1, 2]}}
  '{MARKUP}': {{set: [traffic.stream.rate, traffic.stream.packet_size], values: [[5 kpps, 200 B], [6 kpps, 200 B]], labels: ['{FORMULA}', '$x^{MARKUP}']}}
figures:
  odd: {{x: '{FORMULA}', y: host_cpu, series: '{MARKUP}'}}
expect:
  - {{name: '{MARKUP}', metric: loss, at: {{'{FORMULA}': 1}}, between: [0, 1 %]}}
"""
    (folder / "tiny.yaml").write_text(text)
    with contextlib.chdir(folder):
        for command in (["run", "tiny.yaml", "--jobs", "1"], ["report", "tiny"]):
            done = CliRunner().invoke(app, command)
            assert done.exit_code == 0, done.stderr
    return folder


def test_names_are_text_in_the_report(named: Path) -> None:
    """None of their tags and attributes are in the page, but their text is readable."""
    text = (named / "results/tiny/report.html").read_text()
    page = _Page()
    page.feed(text)
    assert page.tags & {"script", "img", "iframe", "object", "embed", "base", "form"} == set()
    assert page.active == []
    assert "&lt;script&gt;alert(1)" in text


def test_names_are_text_in_a_notebook(named: Path) -> None:
    """The table is shown as by pandas."""
    import hostsim

    page = _Page()
    page.feed(hostsim.open_results(named / "results/tiny").table._repr_html_())
    assert page.tags & {"script", "img"} == set()
    assert page.active == []


def test_names_are_text_in_a_spreadsheet(named: Path) -> None:
    """No cell or heading begins like a formula."""
    with (named / "results/tiny/table.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    odd = [cell for cell in cells if cell[:1] in {"=", "+", "-", "@", "\t", "\r"}]
    assert [cell for cell in odd if not cell.replace("e-", "").lstrip("-").replace(".", "").isdigit()] == []
    assert f"'{FORMULA}" in cells


class _Attack:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch owned",)


@pytest.mark.slow
def test_no_pickle_is_read_from_disk(tmp_path: Path) -> None:
    """A sweep and a report read none, even from a table with one in the form that pyarrow once executed."""
    folder = sweep.write(tmp_path)
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(HOOK)
    options = ("run", "tiny.yaml", "--jobs", "1", "--replications", "1")
    for arguments in (options, options, ("report", "tiny"), ("check", "tiny.yaml", "--jobs", "1")):
        done = _hostsim(folder, *arguments, path=hook)
        assert done.returncode == 0, done.stderr
    payload = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(_Attack()),
    }
    table = pq.read_table(folder / "results/tiny/table.parquet")
    field = pa.field("extra", pa.int64(), metadata=payload)
    attacked = table.append_column(field, pa.array([1] * len(table)))
    for file in ("table.parquet", "contexts.parquet"):
        pq.write_table(attacked, folder / "results/tiny" / file)
    done = _hostsim(folder, "report", "tiny", path=hook)
    assert done.returncode == 2, done.stderr
    run = sweep.stored(folder)[0]
    pq.write_table(attacked, run)
    done = _hostsim(folder, *options, path=hook)
    assert done.returncode == 0, done.stderr
    assert "the run counts as missing" in done.stderr
    assert not (folder / "owned").exists()
