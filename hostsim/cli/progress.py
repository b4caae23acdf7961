"""Progress of a sweep on stderr: a progress bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from hostsim.cli.text_table import duration

if TYPE_CHECKING:
    from hostsim.campaign.driver import Progress

__all__ = ["Reporter"]

INTERVAL_S = 10.0
"""Least time between two lines where stderr is not a terminal."""


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
