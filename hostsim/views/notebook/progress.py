"""Progress of a sweep in a notebook: one line with a bar that is overwritten."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from markupsafe import escape

if TYPE_CHECKING:
    from hostsim.campaign.driver import Progress

__all__ = ["KIND", "NotebookProgress", "is_notebook"]

KIND = "application/x.hostsim-progress+json"
"""MIME type of the output, so that tools that store notebooks can remove it."""


def is_notebook() -> bool:
    """True in the kernel of a notebook; False in a terminal, including IPython's, and in scripts."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


class NotebookProgress:
    """Shows the progress of sweeps in the output of a cell, if runs are missing."""

    def __init__(self) -> None:
        self._lines: dict[str, Any] = {}

    def __call__(self, scenario: str, standing: Progress) -> None:
        """Show the progress of a scenario."""
        if scenario not in self._lines and standing.done == standing.total:
            return
        words = f"{scenario}: {standing.done} of {standing.total} runs"
        if standing.failed:
            words += f", {standing.failed} failed"
        if standing.seconds_left is not None and standing.done < standing.total:
            words += f", about {standing.seconds_left:.0f} s left"
        bar = f'<progress value="{standing.done}" max="{max(standing.total, 1)}"></progress> {escape(words)}'
        shown = {"text/plain": words, "text/html": bar, KIND: {"done": standing.done, "total": standing.total}}
        if scenario in self._lines:
            self._lines[scenario].update(shown, raw=True)
        else:
            from IPython.display import display

            self._lines[scenario] = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
