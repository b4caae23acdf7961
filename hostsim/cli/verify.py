"""The command that holds the simulator's own parts against theory."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from hostsim.cli.option import Jobs, Seed
from hostsim.cli.status import Status
from hostsim.cli.text import duration, verdict_table

__all__ = ["verify"]


def verify(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, and intervals five times as wide.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="TEXT", help="Only cases with this in their names. May be given often."),
    ] = None,
    seed: Seed = 1,
    jobs: Jobs = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", metavar="FILE", help="Write the findings to this Markdown file, too.")
    ] = None,
) -> None:
    """Hold the simulator's parts against closed forms of queueing theory.

    Scheduler, rings, coalescing, poll budgets and arrivals simulate cases whose answers are known. A mean passes when its
    99.9 % interval contains the answer and is narrow enough to mean something; exit status 1 unless all do.
    """
    from hostsim.errors import Fault, InputError
    from hostsim.study.catalogue import oracles
    from hostsim.study.report import rows, write_page
    from hostsim.study.verify import FULL, QUICK, passed
    from hostsim.study.verify import verify as run

    known = oracles()
    chosen = [oracle for oracle in known if not only or any(text in oracle.name for text in only)]
    if not chosen:
        names = ", ".join(oracle.name for oracle in known)
        raise InputError(Fault("is in no case's name", "--only", ", ".join(map(repr, only or ())), names))
    if docs is not None and len(chosen) < len(known):
        raise InputError(Fault("would be a page of some cases", "--docs", str(docs), "without --only"))
    started = time.monotonic()
    findings = run(chosen, seed=seed, fidelity=QUICK if quick else FULL, jobs=jobs, progress=_tell)
    headings, *lines = rows(findings)
    typer.echo(verdict_table(headings, lines))
    took = time.monotonic() - started
    typer.echo(f"took {duration(took)}", err=True)
    if docs is not None:
        write_page(docs, findings, seed=seed, quick=quick)
    if not passed(findings):
        raise typer.Exit(Status.CLAIM)


def _tell(done: int, total: int) -> None:
    """A line that is overwritten, on terminals only."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} runs", end="\n" if done == total else "", file=sys.stderr, flush=True)
