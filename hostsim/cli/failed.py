"""What commands say on stderr of runs that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hostsim.report.results import Results

__all__ = ["say_failed", "say_partial"]


def say_failed(found: Results) -> None:
    """Each failed run with the last line of its error, and how many there are."""
    for row in found.failed.itertuples():
        last = str(row.error).strip().splitlines()[-1]
        typer.echo(f"{found.scenario}: point {row.point}, replication {row.replication} failed: {last}", err=True)
    say_partial(found)


def say_partial(found: Results) -> int:
    """How many runs of results have failed, if any; returns that number."""
    failed = len(found.failed)
    if failed:
        typer.echo(f"{found.scenario}{found.mark}: {failed} of {len(found.table)} runs failed", err=True)
    return failed
