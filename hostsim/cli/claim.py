"""``check``: what scenarios expect, held against what comes out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.failed import say_failed
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
    from hostsim.report.results import Results
    from hostsim.results.compare import Coverage, Move
    from hostsim.scenario.scenario import Scenario

__all__ = ["check", "print_verdicts"]

MOST_PLACES = 5
"""Points without a counterpart that are named; of the others their number is told."""


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
    from hostsim.report.destination import require_file
    from hostsim.scenario.selection import select

    share = percent(tolerance, "--tolerance")
    if against is not None and junit is not None:
        raise InputError(Fault("goes with claims, not with --against", "--junit", str(junit)))
    if against is not None:
        scenarios = _swept(subjects or ())
    else:
        scenarios = [scenario for scenario, _ in select(*(subjects or ()))]
    before = [] if against is None else [_earlier(against, scenario, options) for scenario in scenarios]
    if junit is not None:
        require_file(junit)
    if dry_run:
        typer.echo(dry_run_table(scenarios, options, sweep=against is not None, expectations=against is None))
        return
    if against is not None:
        _compare(scenarios, before, share, options, as_json=as_json)
        return
    with Reporter() as reporter:
        verdicts = api.check(*(subjects or ()), **options, progress=reporter)
    if as_json:
        rows = scoreboard.as_json(verdicts, quick=quick)
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print_verdicts(verdicts, quick=quick)
    if junit is not None:
        write_whole(junit, scoreboard.as_junit(verdicts, quick=quick).encode())
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


def _earlier(folder: Path, scenario: Scenario, options: Options) -> Results:
    """The results that a scenario is held against, once it is certain that its points can be found in them."""
    from hostsim.report.earlier import earlier
    from hostsim.results.compare import require_axes

    found = earlier(folder, scenario.name, quick=options["quick"], seed=options["seed"])
    try:
        require_axes(found.table, list(scenario.axes), "earlier")
    except InputError as error:
        raise error.at(str(folder)) from None
    return found


def _compare(
    scenarios: Sequence[Scenario], before: Sequence[Results], tolerance: float, options: Options, *, as_json: bool
) -> None:
    """Sweep each scenario and print the curves that have moved since an earlier run."""
    from hostsim import api
    from hostsim.cli.progress import Reporter
    from hostsim.results.compare import coverage

    moves: list[tuple[str, Move]] = []
    failed = points = compared = 0
    for scenario, then in zip(scenarios, before, strict=True):
        with Reporter() as reporter:
            found = api.run(scenario, **options, progress=reporter)
        say_failed(found)
        failed += len(found.failed)
        held = coverage(found.table, then.table, found.axes)
        points, compared = points + held.points, compared + held.compared
        _tell_uncompared(scenario.name, held)
        if len(held.alone) < held.points or not len(found.failed):
            moves += [(scenario.name, move) for move in api.compare(found, then, tolerance)]
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
    elif moves or compared:
        for name, move in moves:
            typer.echo(f"{name}: {move}")
        if not moves:
            typer.echo(
                f"no curve moved by more than {100 * tolerance:g} % at the {compared} of {points} points compared"
            )
    else:
        typer.echo(f"no curve could be compared: 0 of {points} points have an interval on both sides")
    if as_json or moves:
        typer.echo(f"{compared} of {points} points compared", err=True)
    if failed:
        raise typer.Exit(Status.FAILED_RUNS)
    if moves or compared < points:
        raise typer.Exit(Status.CLAIM)


def _tell_uncompared(scenario: str, held: Coverage) -> None:
    """The points that could not be compared, on stderr."""
    for places, why in (
        (held.alone, "has no finished run in common with the earlier results"),
        (held.single, "has one replication in common, and one has no interval; run both with --replications 3"),
    ):
        for place in places[:MOST_PLACES]:
            typer.echo(f"{scenario}{f' at {place}' if place else ''}: {why}", err=True)
        if len(places) > MOST_PLACES:
            typer.echo(f"{scenario}: so have {len(places) - MOST_PLACES} more points", err=True)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
