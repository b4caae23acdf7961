"""``what-if``: a scenario before and after a change."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

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
    pairs,
    wall_time,
)
from hostsim.cli.status import Status

__all__ = ["what_if"]


def what_if(
    scenario: Annotated[str, typer.Argument(help="Name of a shipped scenario, or path of a file.")],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="What is different afterwards: a dotted path, or an axis of the scenario. May be given often.",
        ),
    ] = None,
    costs: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="NAME=VALUE",
            help="A cost that is different afterwards, for studies: context_switch=0. May be given often.",
        ),
    ] = None,
    both: Annotated[
        list[str] | None,
        typer.Option("--both", metavar="PATH=VALUE", help="Set a value before and afterwards. May be given often."),
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--axis", metavar="NAME=VALUES", help="The points to compare: receivers=16,24. May be given often."
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Only this measure, certain or not; by default all whose difference is certain. May be given often.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print strict JSON instead of a table, every measure.")
    ] = False,
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
    """Before and after a change: paired differences.

    Both sides run on common random numbers, at least three replications each; a difference is certain when its 95 % interval
    excludes 0. An axis that is changed stands before at the value that --axis gives it, or the first of its sweep.
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
    from hostsim.cli.text import columns
    from hostsim.report.moves import move_rows, require_metrics
    from hostsim.study.what_if import paired

    require_metrics(metrics or ())
    wanted, prices = pairs(changes or (), "--set"), pairs(costs or (), "--cost")
    overrides, values = pairs(both or (), "--both"), pairs(axes or (), "--axis")
    if dry_run:
        before, after = api.sides(scenario, wanted, costs=prices, overrides=overrides, axes=values)
        runs = api.fidelity(quick=quick, seed=seed, replications=replications)
        options["replications"] = paired(before, runs).replications
        typer.echo(dry_run_table([before, after], options, sweep=True, expectations=False))
        return
    with Reporter() as reporter:
        found = api.what_if(
            scenario, wanted, costs=prices, overrides=overrides, axes=values, **options, progress=reporter
        )
    shown = found.differences.only(*metrics) if metrics else found.differences
    if as_json:
        rows = [{name: _plain(value) for name, value in row.items()} for row in shown.frame().to_dict("records")]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False))
    elif shown := shown if metrics else shown.certain:
        typer.echo(columns(*move_rows(shown)))
    elif not found.differences:
        typer.echo("nothing could be compared: no two finished runs make a pair")
    else:
        typer.echo("no difference is certain: every 95 % interval contains 0")
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    for side in (found.before, found.after):
        say_failed(side)
    if len(found.before.failed) or len(found.after.failed):
        raise typer.Exit(Status.FAILED_RUNS)


def _plain(value: object) -> object:
    """A cell as strict JSON takes it."""
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
