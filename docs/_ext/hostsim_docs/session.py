"""Sphinx extension: sessions of the command line, run while the page is built, shown with what they print.

::

    ```{session}
    :lines: 12
    hostsim show neighbours.yaml
    ```

Every page has a folder of its own, in which the files of ``docs/examples`` stand and its sessions run one after another. The build
fails where a command ends with another status than ``:status:`` says.
"""

from __future__ import annotations

import contextlib
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

__all__ = ["EXAMPLES", "Done", "Fence", "fences", "run_session", "setup"]

DOCS = Path(__file__).parents[2]
EXAMPLES = DOCS / "examples"
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
        done.append(Done(command, text.rstrip("\n"), result.exit_code))
    return done


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


class _Session(SphinxDirective):
    """Commands and what they print."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "status": directives.nonnegative_int,
        "lines": directives.positive_int,
    }
    folders: ClassVar[dict[str, Path]] = {}

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
        block = nodes.literal_block("\n".join(shown), "\n".join(shown), language="console")
        self.set_source_info(block)
        return [block]

    def _folder(self) -> Path:
        name = self.env.docname
        if name not in self.folders:
            self.folders[name] = Path(tempfile.mkdtemp(prefix="hostsim-docs-"))
            shutil.copytree(EXAMPLES, self.folders[name], dirs_exist_ok=True)
        return self.folders[name]


def _clean(app: Sphinx, error: Exception | None) -> None:
    for folder in _Session.folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    _Session.folders.clear()


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("session", _Session)
    app.connect("build-finished", _clean)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
