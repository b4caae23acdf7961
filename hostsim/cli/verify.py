"""``verify``: the simulator's parts against closed forms of queueing theory."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Texts, repeated
from hostsim.cli.output import duration, verdict_table
from hostsim.cli.status import Status

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions

__all__ = ["verify"]


def verify(
    context: typer.Context,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, and intervals five times as wide.")] = False,
    only: Annotated[Texts, repeated("--only", "TEXT", "Only cases with this in their names.")] = None,
) -> None:
    """Compare the simulator's parts with queueing theory.

    Scheduler, rings, coalescing, poll budgets and arrivals simulate cases whose answers are known. A mean passes when its
    99.9 % interval contains the answer and is narrow enough; the exit status is 1 unless all pass.
    """
    options: RunOptions = context.obj
    from hostsim.errors import Fault, InputError
    from hostsim.lab.verification.catalogue import HEADINGS, oracles, rows
    from hostsim.lab.verification.runner import FULL, QUICK, all_passed
    from hostsim.lab.verification.runner import verify as run

    known = oracles()
    chosen = [oracle for oracle in known if not only or any(text in oracle.name for text in only)]
    if not chosen:
        names = ", ".join(oracle.name for oracle in known)
        raise InputError(Fault("matches no case", "--only", ", ".join(map(repr, only or ())), names))
    started = time.monotonic()
    effort = QUICK if quick else FULL
    results = run(chosen, seed=options.seed, effort=effort, jobs=options.jobs, progress=_tell)
    typer.echo(verdict_table(HEADINGS, rows(results)))
    typer.echo(f"took {duration(time.monotonic() - started)}", err=True)
    if not all_passed(results):
        raise typer.Exit(Status.CLAIM)


def _tell(done: int, total: int) -> None:
    """Print the number of finished runs in a line that is overwritten, on terminals only."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} runs", end="\n" if done == total else "", file=sys.stderr, flush=True)
