"""Snippets of the pages run: sessions with their exit status, Python blocks, SQL, and every named command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from hostsim_docs import score
from hostsim_docs.session import EXAMPLES, fences, run_python, run_session

from hostsim.cli.app import app
from tests.conftest import HANGS_S
from tests.trace_processor import TraceProcessor
from tests.writable_copy import copy_tree

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    if page.parent.name != "reference"
)
RUN = [page for page in PAGES if any(f.kind in ("{session}", "{python}") for f in fences((ROOT / page).read_text()))]
KINDS = {
    "",
    "text",
    "sh",
    "python",
    "sql",
    "yaml",
    "{session}",
    "{python}",
    "{toctree}",
    "{literalinclude}",
    "{glossary}",
}
"""Kinds of blocks that a page may have; YAML has the lines of a tested file."""
RECIPE = {"docs/project/extend.md": {"diff", "console"}}
"""Blocks of the page whose recipes `test_extend` applies and runs."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder in which the sessions of a page run: it contains the examples."""
    copy_tree(EXAMPLES, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


@pytest.mark.slow  # `make docs` runs the same blocks, and CI runs that
@pytest.mark.parametrize("page", [*RUN, "README.md"])
def test_a_page_runs_from_top_to_bottom(page: str, folder: Path) -> None:
    """The blocks in order, as a reader would follow them."""
    names: dict[str, Any] = {}
    for fence in fences((ROOT / page).read_text(encoding="utf-8")):
        where = f"{page}:{fence.line}"
        if fence.kind == "{session}":
            for done in run_session(filter(None, fence.lines), folder):
                assert done.status == int(fence.options.get("status", 0)), f"{where}: {done.command}\n{done.output}"
                assert str(ROOT) not in done.output, f"{where}: a path of this machine"
        elif fence.kind in ("{python}", "python"):
            run_python("\n".join(fence.lines), where, names, folder)


def test_the_answer_in_the_readme_is_printed_by_its_command(folder: Path) -> None:
    """A newcomer sees the first screen, and the sentence below it explains it; `make score` writes both."""
    commands, *_ = fences((ROOT / "README.md").read_text(encoding="utf-8"))
    assert commands.lines[-1].startswith(score.FIRST)
    assert score.stale(score.answer_blocks(folder)) == []


def test_pages_hold_what_is_run_or_included_only() -> None:
    """A block of another kind would be unchecked."""
    found = {(page, f.line, f.kind) for page in PAGES for f in fences((ROOT / page).read_text(encoding="utf-8"))}
    assert {entry for entry in found if entry[2] not in KINDS | RECIPE.get(entry[0], set())} == set()
    assert len(RUN) >= 7


def test_yaml_on_a_page_has_the_lines_of_an_example() -> None:
    """A reader of the checkout sees the lines, and the example with them is tested."""
    examples = [f"\n{path.read_text(encoding='utf-8')}\n" for path in sorted(EXAMPLES.glob("*.yaml"))]
    blocks = [
        (page, f) for page in PAGES for f in fences((ROOT / page).read_text(encoding="utf-8")) if f.kind == "yaml"
    ]
    assert len(blocks) >= 7
    for page, block in blocks:
        text = "\n".join(block.lines)
        assert any(f"\n{text}\n" in example for example in examples), f"{page}:{block.line}"


def commands() -> list[tuple[str, str]]:
    """Commands that are named on pages but not run there."""
    found = []
    for page in PAGES:
        for fence in fences((ROOT / page).read_text(encoding="utf-8")):
            if fence.kind in ("", "sh"):
                found += [(f"{page}:{fence.line}", line.strip()) for line in fence.lines if line.strip()]
    jobs = yaml.safe_load((EXAMPLES / "ci.yaml").read_text())["jobs"]
    return [*found, *(("ci.yaml", step["run"]) for job in jobs.values() for step in job["steps"] if "run" in step)]


@pytest.mark.parametrize(("where", "command"), commands())
def test_a_command_that_is_named_is_there(where: str, command: str) -> None:
    """Its options exist on the command line; targets exist in the Makefile, files in the checkout."""
    words = shlex.split(re.sub(r"^[A-Z_]+=\S* ", "", command), comments=True)
    if words[0] == "hostsim":
        group: Any = typer.main.get_command(app)
        group.get_command(None, words[1]).make_context(words[1], words[2 : words.index(">") if ">" in words else None])
    elif words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[1] in targets
    elif words[0] == "python":
        assert (ROOT / words[-1]).exists()
    else:
        assert words[0] in ("pip", "."), f"{where}: {command!r} is not checked by anything"


NOT_RUN = {
    "pip install *": "needs a package index; test_wheel installs a wheel",
    "make *": "builds in the checkout; CI runs these targets",
    ". .venv/bin/activate": "the environment that `make setup` makes",
    "hostsim calibrate receivers.yaml *-o calibrated": "takes ten minutes; the notebook `calibration` calibrates this host",
    "hostsim run receivers.yaml --replications 31 *": "needs that calibration",
    "hostsim run my.yaml*": "names a file of the reader",
    "hostsim merge shards/*": "needs the folders of the jobs of a batch system; test_shard_command merges some",
}
"""Patterns of printed lines that are not run, with reasons."""
PRINTED = [page for page in PAGES if page == "README.md" or page.startswith("docs/guide/")]
IN_PYTHON = -1
"""Exit status of a Python block among printed lines, which run in the test's process."""


def printed_lines(page: str) -> Iterator[tuple[str, str, int]]:
    """Commands of a page with their place and exit status, in order: those of blocks, and complete ones in running text.

    Python blocks whose output the page shows are among them, because later commands may read their files.
    A command in running text is whole without placeholders (``SCENARIO``) if it is more than the name of a command.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = {fence.line: fence for fence in fences(text)}
    ends = {line: line + len(fence.lines) + len(fence.options) + 1 for line, fence in blocks.items()}
    inside = 0
    for number, line in enumerate(text.splitlines(), 1):
        if number in blocks:
            fence, inside = blocks[number], ends[number]
            runs = fence.lines if fence.kind in ("", "sh", "{session}") else []
            status = int(fence.options.get("status", 0))
            yield from ((f"{page}:{number}", command, status) for command in runs if command.strip())
            if fence.kind == "{python}":
                yield f"{page}:{number}", "\n".join(fence.lines), IN_PYTHON
        elif number > inside:
            for command in re.findall(r"`((?:hostsim|make|pip) [^`]+)`", line):
                words = command.split()
                if len(words) > 2 - (words[0] != "hostsim") and not re.search(r"\b[A-Z]{3,}\b|\.\.\.", command):
                    yield f"{page}:{number}", command, 0


@pytest.mark.slow
@pytest.mark.parametrize("page", PRINTED)
def test_every_printed_line_runs(page: str, folder: Path) -> None:
    """The lines run in order, as a reader would run them: in a shell, in a folder with the guides' files."""
    scripts = folder / "scripts"
    scripts.mkdir()
    (scripts / "hostsim").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hostsim "$@"\n')
    (scripts / "hostsim").chmod(0o755)
    variables = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "HOSTSIM_PURE": ""}
    names: dict[str, Any] = {}
    for where, line, status in printed_lines(page):
        if status == IN_PYTHON:
            run_python(line, where, names, folder)
            continue
        if any(fnmatchcase(line, pattern) for pattern in NOT_RUN):
            continue
        done = subprocess.run(
            ["sh", "-c", line],
            check=False,
            cwd=folder,
            env=variables,
            capture_output=True,
            encoding="utf-8",
            timeout=HANGS_S,
        )
        assert done.returncode == status, f"{where}: {line}\n{done.stdout}{done.stderr}"
        assert done.stdout or done.stderr, f"{where}: {line} prints nothing"


def test_no_exception_is_left_over() -> None:
    """A reason for a line that no page contains any more is dead."""
    lines = [line for page in PRINTED for _, line, _ in printed_lines(page)]
    assert [pattern for pattern in NOT_RUN if not any(fnmatchcase(line, pattern) for line in lines)] == []


def test_ci_runs_what_its_page_shows() -> None:
    """The job of the example is the session of the page."""
    page = (DOCS / "guide" / "ci.md").read_text(encoding="utf-8")
    shown = [line for fence in fences(page) if fence.kind == "{session}" for line in fence.lines]
    job = [command for where, command in commands() if where == "ci.yaml" and command.startswith("hostsim")]
    assert job
    assert set(job) <= set(shown)


def test_the_query_of_the_timeline_page_answers(folder: Path) -> None:
    """Run by Perfetto's trace_processor on the page's trace."""
    page = (DOCS / "guide" / "timeline.md").read_text(encoding="utf-8")
    session, query = (next(f for f in fences(page) if f.kind == kind) for kind in ("{session}", "sql"))
    (done,) = run_session(session.lines, folder)
    file = folder / done.output.splitlines()[0]
    rows = TraceProcessor(file.read_bytes()).query("\n".join(query.lines))
    assert 0 < len(rows) <= 10
    assert all(row.ready_ms > 0 and row.times > 0 for row in rows)
    assert [row.ready_ms for row in rows] == sorted((row.ready_ms for row in rows), reverse=True)


def test_every_example_is_shown_or_used() -> None:
    """A file that no page names is dead."""
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES) + "".join(
        file.read_text(encoding="utf-8") for file in EXAMPLES.iterdir()
    )
    assert [file.name for file in EXAMPLES.iterdir() if f"{file.name}" not in text] == []
    assert any(EXAMPLES.iterdir())
