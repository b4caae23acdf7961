"""Messages on stderr: warnings of scenarios, and failed runs of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hostsim.results.results import Results

__all__ = ["say_failed", "say_partial", "say_warnings"]


def say_warnings(warnings: Iterable[str]) -> None:
    """Each warning once."""
    for warning in dict.fromkeys(warnings):
        typer.echo(f"warning: {warning}", err=True)


def say_failed(found: Results) -> None:
    """Print each failed run with the last line of its error, and their number."""
    for row in found.failed.itertuples():
        last = str(row.error).strip().splitlines()[-1]
        typer.echo(f"{found.scenario}: point {row.point}, replication {row.replication} failed: {last}", err=True)
    say_partial(found)


def say_partial(found: Results) -> int:
    """Print the number of failed runs, if there are any, and return it."""
    failed = len(found.failed)
    if failed:
        typer.echo(f"{found.scenario}{found.caveat}: {failed} of {len(found.table)} runs failed", err=True)
    return failed
