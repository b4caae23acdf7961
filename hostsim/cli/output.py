"""Output of commands: warnings, strict JSON, text tables, progress."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

import typer

if TYPE_CHECKING:
    from hostsim.campaign.driver import Progress
    from hostsim.results.results import Results

__all__ = [
    "BEGAN",
    "Reporter",
    "about",
    "coloured",
    "columns",
    "duration",
    "json_text",
    "plain",
    "print_json",
    "say_failed",
    "say_partial",
    "say_warnings",
    "verdict_table",
]


BEGAN = "hostsim.began"
"""Key of the context's ``meta`` with the start time of the command on the monotonic clock."""


def say_warnings(warnings: Iterable[str]) -> None:
    """Print each warning once on stderr, in colour on a terminal."""
    for warning in dict.fromkeys(warnings):
        typer.echo(coloured(f"warning: {warning}", "yellow", sys.stderr), err=True)


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """Text in a colour if its stream is a terminal and the environment allows it."""
    return typer.style(text, fg=colour) if stream.isatty() and "NO_COLOR" not in os.environ else text


def say_failed(results: Results) -> None:
    """Print each failed run with the last line of its error, and the number of failed runs."""
    for row in results.failed.itertuples():
        last = str(row.error).strip().splitlines()[-1]
        typer.echo(f"{results.scenario}: point {row.point}, replication {row.replication} failed: {last}", err=True)
    say_partial(results)


def say_partial(results: Results) -> int:
    """Print the number of failed runs, if there are any, and return it."""
    failed = len(results.failed)
    if failed:
        typer.echo(f"{results.scenario}{results.caveat}: {failed} of {len(results.table)} runs failed", err=True)
    return failed


def print_json(value: object) -> None:
    """Print a value as JSON without NaN, which strict parsers reject."""
    typer.echo(json_text(value))


def json_text(value: object) -> str:
    """A value as JSON without NaN."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


def plain(value: object) -> object:
    """A cell of a table for JSON: a number that is not finite is null."""
    cell = value.item() if hasattr(value, "item") else value
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


_COLOURS = {
    "pass": "green",
    "pass?": "yellow",
    "known": "magenta",
    "fail": "red",
    "open": "yellow",
    "missing": "bright_black",
}
"""Colours of verdicts by their first word."""


def columns(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format rows as a text table with aligned columns, except the last one."""
    cells = [[str(cell) for cell in row] for row in [headings, *rows]]
    widths = [max(len(row[index]) for row in cells) for index in range(len(headings))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(lines)


def verdict_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a text table whose last column is a verdict, in colour where stdout is a terminal."""
    lines = columns(headings, rows).splitlines()
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return "\n".join(lines)
    coloured = lines[:1]
    for line, row in zip(lines[1:], rows, strict=True):
        start = len(line) - len(row[-1])
        coloured.append(line[:start] + typer.style(row[-1], fg=_COLOURS.get(row[-1].split(" ", 1)[0])))
    return "\n".join(coloured)


def about(seconds: float) -> str:
    """Format an estimate of a duration."""
    return duration(seconds) if seconds < 1 else f"about {duration(seconds)}"


def duration(seconds: float) -> str:
    """Format a wall-clock duration: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 1:
        return "less than a second"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


INTERVAL_S = 10.0
"""Shortest time between two progress lines if stderr is not a terminal."""


class Reporter:
    """Shows the progress of sweeps; a context that restores the terminal at its end.

    Called with a scenario's name and its progress, once at the start and after each run.
    """

    def __init__(self) -> None:
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._said_at = -INTERVAL_S
        self._last: dict[str, Progress] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bars

            self._bars = Bars(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[words]}"),
                console=Console(stderr=True),
            )
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, scenario: str, standing: Progress) -> None:
        """Show the progress of a scenario."""
        words = _words(standing)
        if self._bars is not None:
            if scenario not in self._tasks:
                self._tasks[scenario] = self._bars.add_task(scenario, words=words)
            self._bars.update(self._tasks[scenario], completed=standing.done, total=standing.total, words=words)
            return
        is_new = scenario not in self._last
        is_over = standing.done == standing.total and not standing.running
        if is_new or is_over or time.monotonic() - self._said_at >= INTERVAL_S:
            typer.echo(f"{scenario}: {standing.done} of {standing.total} runs{words and ', ' + words}", err=True)
            self._said_at = time.monotonic()
        self._last[scenario] = standing


def _words(standing: Progress) -> str:
    parts = []
    if standing.reused:
        parts.append(f"{standing.reused} from the results folder")
    if standing.failed:
        parts.append(f"{standing.failed} failed")
    if standing.seconds_left is not None and standing.done < standing.total:
        parts.append(f"{duration(standing.seconds_left)} left")
    return ", ".join(parts)
