"""``check``: what scenarios expect, held against what comes out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import (
    Cluster,
    DryRun,
    Jobs,
    MaxMemory,
    MaxTime,
    Options,
    Quick,
    Replications,
    ResultsFolder,
    Seed,
    memory,
    percent,
    wall_time,
)
from hostsim.cli.status import Status
from hostsim.cli.text import verdict_table
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.expect import Verdict
    from hostsim.results.compare import Move
    from hostsim.scenario.scenario import Scenario

__all__ = ["check", "print_verdicts"]


def check(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO|FILE|CLAIM-GLOB]...",
            help="What to check; all shipped scenarios by default. A pattern such as '*.40k' picks claims by id.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print strict JSON instead of a table.")] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML as well.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="DIR",
            help="Instead of claims: compare every point of the sweep with the results in DIR.",
        ),
    ] = None,
    tolerance: Annotated[
        str,
        typer.Option("--tolerance", metavar="PERCENT", help="With --against: relative difference that is let pass."),
    ] = "2 %",
    quick: Quick = False,
    seed: Seed = 1,
    replications: Replications = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    results: ResultsFolder = Path("results"),
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    dry_run: DryRun = False,
) -> None:
    """Expectations: value, interval, band, verdict.

    Runs only what they need and the results folder does not hold yet.
    """
    options: Options = {
        "quick": quick,
        "seed": seed,
        "replications": replications,
        "jobs": jobs,
        "cluster": cluster,
        "results": results,
        "max_memory": memory(max_memory),
        "max_time": wall_time(max_time),
    }
    from hostsim import api
    from hostsim.cli.forecast import dry_run_table
    from hostsim.cli.progress import Reporter
    from hostsim.plots.atomic import write_whole
    from hostsim.report import scoreboard
    from hostsim.scenario.selection import select

    share = percent(tolerance, "--tolerance")
    if against is not None and junit is not None:
        raise InputError(Fault("goes with claims, not with --against", "--junit", str(junit)))
    if against is not None:
        scenarios = _swept(subjects or ())
    else:
        scenarios = [scenario for scenario, _ in select(*(subjects or ()))]
    if dry_run:
        typer.echo(dry_run_table(scenarios, options, sweep=against is not None, expectations=against is None))
        return
    if against is not None:
        _compare(scenarios, against, share, options, as_json=as_json)
        return
    with Reporter() as reporter:
        verdicts = api.check(*(subjects or ()), **options, progress=reporter)
    if junit is not None:
        write_whole(junit, scoreboard.as_junit(verdicts, quick=quick).encode())
    if as_json:
        rows = scoreboard.as_json(verdicts, quick=quick)
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print_verdicts(verdicts, quick=quick)
    if not all(scoreboard.is_accepted(verdict, quick=quick) for verdict in verdicts):
        raise typer.Exit(Status.CLAIM)


def print_verdicts(verdicts: Sequence[Verdict], *, quick: bool) -> None:
    """The table of claims on stdout; what to know before trusting it on stderr."""
    from hostsim.report.scoreboard import HEADINGS, as_rows

    typer.echo(verdict_table(HEADINGS, as_rows(verdicts, quick=quick)))
    for verdict in verdicts:
        for text in [*([verdict.reason] if verdict.reason else []), *verdict.notes]:
            typer.echo(f"{verdict.expectation.name}: {text}", err=True)


def _swept(subjects: Sequence[str]) -> list[Scenario]:
    """The scenarios that are meant, those too that expect nothing: their curves can move as well."""
    from hostsim.scenario.load import load
    from hostsim.scenario.published import shipped
    from hostsim.scenario.selection import select

    asked = [scenario for scenario, _ in select(*subjects)]
    named = [load(subject) for subject in subjects if subject in shipped() or Path(subject).is_file()]
    known = {scenario.file for scenario in asked}
    return [*asked, *(scenario for scenario in named if scenario.file not in known)]


def _compare(
    scenarios: Sequence[Scenario], against: Path, tolerance: float, options: Options, *, as_json: bool
) -> None:
    """Sweep each scenario and print the curves that have moved since an earlier run."""
    from hostsim import api
    from hostsim.cli.progress import Reporter

    moves: list[tuple[str, Move]] = []
    failed = 0
    for scenario in scenarios:
        with Reporter() as reporter:
            found = api.run(scenario, **options, progress=reporter)
        failed += len(found.failed)
        moves += [(scenario.name, move) for move in api.compare(found, against, tolerance)]
    if as_json:
        rows = [
            {
                "scenario": name,
                "metric": move.metric,
                "unit": move.unit,
                "at": dict(move.at),
                "before": _finite(move.before),
                "after": _finite(move.after),
                "low": _finite(move.difference.low),
                "high": _finite(move.difference.high),
            }
            for name, move in moves
        ]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False, default=str))
    elif moves:
        for name, move in moves:
            typer.echo(f"{name}: {move}")
    else:
        typer.echo(f"no curve moved by more than {100 * tolerance:g} %")
    if failed:
        raise typer.Exit(Status.FAILED_RUNS)
    if moves:
        raise typer.Exit(Status.CLAIM)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
