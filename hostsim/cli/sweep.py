"""Commands about whole sweeps: ``run`` and ``reproduce`` make results, ``plot`` and ``report`` read them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.failed import say_failed, say_partial
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
from hostsim.cli.text import columns, duration
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.report.results import Results

__all__ = ["plot", "report", "reproduce", "run"]

_DEFAULT = Path("results")


def run(
    scenario: Annotated[str, typer.Argument(help="Name of a shipped scenario, or path of a file.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Set a value: vms.receiver.count=8. May be given often."),
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--axis",
            metavar="NAME=VALUES",
            help="Give an axis other values: receivers=1..40:4, or a,b,c. May be given often.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder for tables and figures, instead of DIR/SCENARIO below the results folder.",
        ),
    ] = None,
    quick: Quick = False,
    seed: Seed = 1,
    replications: Replications = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    results: ResultsFolder = _DEFAULT,
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    dry_run: DryRun = False,
) -> None:
    """Sweep a scenario: a table and figures.

    Runs what the results folder does not hold yet, so the same command goes on where it was stopped. Writes the table as
    Parquet and CSV and the figures as SVG and PNG, and prints the names of the files.
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
    from hostsim.report.destination import require_folder
    from hostsim.report.folder import write

    loaded = api.load(scenario, pairs(overrides or (), "--set"), pairs(axes or (), "--axis"))
    folder = output or results / loaded.name
    require_folder(folder)
    if dry_run:
        typer.echo(dry_run_table([loaded], options, sweep=True, expectations=False))
        return
    with Reporter() as reporter:
        found = api.run(loaded, **options, progress=reporter)
    for file in write(found, folder):
        typer.echo(file)
    _warn(found)
    if len(found.failed):
        raise typer.Exit(Status.FAILED_RUNS)


def reproduce(
    quick: Quick = False,
    seed: Seed = 1,
    replications: Replications = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    results: ResultsFolder = _DEFAULT,
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    dry_run: DryRun = False,
) -> None:
    """All shipped scenarios, all claims, one HTML report."""
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
    from hostsim.cli.claim import print_verdicts
    from hostsim.cli.forecast import dry_run_table
    from hostsim.cli.progress import Reporter
    from hostsim.report.destination import require_file
    from hostsim.report.scoreboard import is_accepted
    from hostsim.scenario.selection import select

    if dry_run:
        typer.echo(dry_run_table((scenario for scenario, _ in select()), options, sweep=True, expectations=True))
        return
    require_file(results / "report.html")
    started = time.monotonic()
    with Reporter() as reporter:
        found = api.reproduce(**options, progress=reporter)
    verdicts = [verdict for entry in found for verdict in entry.verdicts]
    print_verdicts(verdicts, quick=quick)
    rows = [
        (
            entry.scenario + entry.mark,
            entry.cost.runs,
            f"{entry.cost.simulated_s:.1f} s",
            entry.cost.dispatches,
            f"{entry.cost.wall_s:.1f} s",
        )
        for entry in found
    ]
    typer.echo("\n" + columns(("scenario", "runs", "simulated", "dispatches", "wall time of its runs"), rows))
    typer.echo(f"\n{results / 'report.html'}")
    typer.echo(f"took {duration(time.monotonic() - started)}", err=True)
    for entry in found:
        _warn(entry)
    if any(len(entry.failed) for entry in found):
        raise typer.Exit(Status.FAILED_RUNS)
    if not all(is_accepted(verdict, quick=quick) for verdict in verdicts):
        raise typer.Exit(Status.CLAIM)


def plot(
    context: typer.Context,
    subject: Annotated[
        str,
        typer.Argument(metavar="DIR|SCENARIO", help="Folder that `run` wrote, or a scenario below the results folder."),
    ],
    warm_up: Annotated[
        bool,
        typer.Option("--warm-up", help="Draw instead what was cut as warm-up, of the run that lost the most to it."),
    ] = False,
    results: ResultsFolder = _DEFAULT,
) -> None:
    """Draw the figures of an earlier run; runs nothing."""
    from hostsim import api
    from hostsim.plots.style import save
    from hostsim.plots.warm_up import draw_warm_up
    from hostsim.report.folder import draw_figures, read

    partial = 0
    for folder in _folders(subject, results, context):
        if warm_up:
            record = api.longest_warm_up(read(folder), results)
            for file in save(draw_warm_up(record), folder / "figures" / "warm-up"):
                typer.echo(file)
            continue
        found = read(folder)
        for file in draw_figures(found, folder):
            typer.echo(file)
        partial += say_partial(found)
    if partial:
        raise typer.Exit(Status.FAILED_RUNS)


def report(
    context: typer.Context,
    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|SCENARIO...", help="Folders that `run` wrote, or scenarios below the results folder."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The page; report.html in the first folder by default."),
    ] = None,
    contexts: Annotated[
        bool,
        typer.Option(
            "--contexts",
            help="Print instead who serves which queue and what is full, at the last point of each series or at --at.",
        ),
    ] = False,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="AXIS=VALUE", help="With --contexts: the points to print. May be given often."),
    ] = None,
    results: ResultsFolder = _DEFAULT,
) -> None:
    """Write a self-contained HTML page; runs nothing."""
    from hostsim.plots.atomic import is_stdout
    from hostsim.report.folder import read
    from hostsim.report.page import write_report

    if at and not contexts:
        raise InputError(Fault("goes with --contexts", "--at", " ".join(at)))
    if contexts and output is not None:
        raise InputError(Fault("goes with the page, not with --contexts", "--output", str(output)))

    folders = [folder for subject in subjects for folder in _folders(subject, results, context)]
    found = [read(folder) for folder in folders]
    if contexts:
        _print_contexts(found, pairs(at or (), "--at"))
        if sum(map(say_partial, found)):
            raise typer.Exit(Status.FAILED_RUNS)
        return
    title = found[0].scenario if len(found) == 1 else "hostsim report"
    whole = Path(subjects[0]) if folders[0].parent == Path(subjects[0]) else folders[0]
    page = write_report(output or whole / "report.html", found, title=title)
    if not is_stdout(page):
        typer.echo(page)
    if sum(map(say_partial, found)):
        raise typer.Exit(Status.FAILED_RUNS)


def _print_contexts(found: Sequence[Results], at: Mapping[str, str]) -> None:
    from hostsim.report.loaded import CONTEXT_HEADINGS, context_rows, loaded, points_at

    blocks = []
    for entry in found:
        for point in points_at(entry, at) if at else loaded(entry):
            rows = context_rows(entry.contexts[entry.contexts["point"] == point.id])
            title = f"{entry.scenario}{entry.mark} at {point.words}; bottleneck: {point.bottleneck}"
            blocks.append(f"{title}\n{columns(CONTEXT_HEADINGS, rows)}")
    typer.echo("\n\n".join(blocks))


def _folders(subject: str, results: Path, context: typer.Context) -> list[Path]:
    """The folders that are meant: this one, that of a scenario below the results folder, or all that stand in this one.

    Where ``--results`` was given the scenario below it goes before a folder that happens to have its name.
    """
    places = [Path(subject), results / subject]
    source = context.get_parameter_source("results")
    if source is not None and source.name == "COMMANDLINE":
        places.reverse()
    for folder in places:
        if (folder / "results.json").is_file():
            return [folder]
    return sorted(file.parent for file in Path(subject).glob("*/results.json")) or [Path(subject)]


def _warn(found: Results) -> None:
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)
    say_failed(found)
