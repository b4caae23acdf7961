"""Sphinx extension: sessions of the command line, and Python, run while the page is built and shown with what they print.

::

    ```{session}
    :lines: 12
    hostsim show neighbours.yaml
    ```

Every page has a folder of its own, in which the files of ``docs/examples`` stand and its blocks run one after another; the Python
blocks of a page share their names. The build fails where a command ends with another status than ``:status:`` says, or Python with an error.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["EXAMPLES", "Done", "Fence", "fences", "run_python", "run_session", "setup"]

DOCS = Path(__file__).parents[2]
EXAMPLES = DOCS / "examples"
_PROGRESS = re.compile(r"^[\w-]+: \d+ of \d+ runs.*\n", re.MULTILINE)
"""How far a sweep is, and how long it still takes: another text each time."""
_RUNS = ("run", "check")
"""Commands that would start worker processes."""


@dataclass(frozen=True)
class Done:
    """A command that has been run."""

    command: str
    output: str
    status: int


def run_session(commands: Iterable[str], folder: Path) -> list[Done]:
    """Run commands of ``hostsim`` in a folder, in this process.

    Raises:
        ValueError: a command is not one of ``hostsim``.
    """
    from typer.testing import CliRunner

    from hostsim.cli.app import app

    done = []
    for command in commands:
        name, *arguments = shlex.split(command, comments=True)
        if name != "hostsim":
            raise ValueError(f"{command!r} is not a command of hostsim")
        if arguments[0] in _RUNS and "--jobs" not in arguments:
            arguments += ["--jobs", "1"]
        with _inside(folder):
            result = CliRunner().invoke(app, arguments, prog_name="hostsim")
        text = result.output.replace(f"{folder}{os.sep}", "").replace(f"{DOCS.parent}{os.sep}", "")
        done.append(Done(command, _PROGRESS.sub("", text).rstrip("\n"), result.exit_code))
    return done


def run_python(code: str, where: str, names: dict[str, Any], folder: Path) -> str:
    """Run Python in a folder, with the names of the blocks before it; what it prints."""
    printed = io.StringIO()
    with _inside(folder), contextlib.redirect_stdout(printed):
        exec(compile(code, where, "exec"), names)  # noqa: S102  # a page of ours
    return printed.getvalue().rstrip("\n")


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """As `contextlib.chdir`; results are drawn without a screen."""
    os.environ.setdefault("MPLBACKEND", "agg")
    with contextlib.chdir(folder):
        yield


@dataclass(frozen=True)
class Fence:
    """A fenced block of a page."""

    kind: str
    options: dict[str, str]
    lines: list[str]
    line: int


_FENCE = re.compile(r"^(?P<ticks>```+)(?P<kind>\{?[\w-]*\}?)(?P<rest>.*)$")


def fences(text: str) -> list[Fence]:
    """The fenced blocks of a page, in order."""
    found: list[Fence] = []
    opened: tuple[str, str, int] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _FENCE.match(line)
        if opened is None and match:
            opened, inside = (match["ticks"], match["kind"], number), []
        elif opened is not None and line.strip() == opened[0]:
            options = [entry for entry in inside if re.match(r":\w+:", entry)] if opened[1].startswith("{") else []
            named = dict(entry[1:].partition(": ")[::2] for entry in options)
            found.append(Fence(opened[1], named, [entry for entry in inside if entry not in options], opened[2]))
            opened = None
        elif opened is not None:
            inside.append(line)
    return found


class _Run(SphinxDirective):
    """A block that is run in its page's folder."""

    has_content = True
    folders: ClassVar[dict[str, Path]] = {}

    def _folder(self) -> Path:
        name = self.env.docname
        if name not in self.folders:
            self.folders[name] = Path(tempfile.mkdtemp(prefix="hostsim-docs-"))
            shutil.copytree(EXAMPLES, self.folders[name], dirs_exist_ok=True)
        return self.folders[name]

    def _block(self, text: str, language: str) -> nodes.literal_block:
        block = nodes.literal_block(text, text, language=language)
        self.set_source_info(block)
        return block


class _Python(_Run):
    """Python, and what it prints."""

    names: ClassVar[dict[str, dict[str, Any]]] = {}

    def run(self) -> list[nodes.Node]:
        """The code, and its output behind it."""
        code = "\n".join(self.content)
        names = self.names.setdefault(self.env.docname, {})
        output = run_python(code, self.env.docname, names, self._folder())
        return [self._block(code, "python"), *([self._block(output, "text")] if output else [])]


class _Session(_Run):
    """Commands and what they print."""

    option_spec: ClassVar[dict[str, Any]] = {
        "status": directives.nonnegative_int,
        "lines": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        """The session as a block of text."""
        expected = self.options.get("status", 0)
        shown = []
        for done in run_session(filter(None, self.content), self._folder()):
            if done.status != expected:
                raise self.error(f"{done.command} ended with {done.status}, not {expected}:\n{done.output}")
            lines = done.output.splitlines()
            most = self.options.get("lines", len(lines))
            shown += [f"$ {done.command}", *lines[:most], *(["..."] if len(lines) > most else [])]
        return [self._block("\n".join(shown), "console")]


def _clean(app: Sphinx, error: Exception | None) -> None:
    for folder in _Run.folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    _Run.folders.clear()
    _Python.names.clear()


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directives known."""
    app.add_directive("session", _Session)
    app.add_directive("python", _Python)
    app.connect("build-finished", _clean)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
