"""Commands on sweeps: ``run`` and ``reproduce`` write results, ``plot`` and ``report`` read them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import (
    DryRun,
    Root,
    ScenarioName,
    ShardText,
    Texts,
    complete_axis,
    complete_drawn,
    complete_drawn_subject,
    complete_metric,
    complete_path,
    complete_results,
    complete_shipped,
    option,
    pairs,
    repeated,
)
from hostsim.cli.output import BEGAN, Reporter, columns, duration, say_failed, say_partial, say_warnings
from hostsim.cli.status import Status
from hostsim.cli.store import run_shard
from hostsim.config.files import is_stdout, require_file, require_folder, write_whole
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.results.results import Results
    from hostsim.scenario.scenario import Scenario

__all__ = ["plot", "report", "reproduce", "run"]


def run(
    context: typer.Context,
    scenario: ScenarioName,
    overrides: Annotated[
        Texts, repeated("--set", "PATH=VALUE", "Set a value: vms.receiver.count=8.", complete_path)
    ] = None,
    axes: Annotated[
        Texts,
        repeated("--axis", "NAME=VALUES", "Replace the values of an axis: receivers=1..40:4, or a,b,c.", complete_axis),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output", "DIR", "Folder for tables and figures, instead of DIR/SCENARIO below the results folder."
        ),
    ] = None,
    root: Root = None,
    capture: Annotated[
        str | None,
        option(
            "--as",
            "esxtop",
            "Also write the first run of each point in the format of a monitoring tool: esxtop writes the CSV of esxtop -b.",
        ),
    ] = None,
    *,
    shard: ShardText = None,
    dry_run: DryRun = False,
) -> None:
    """Run a scenario's sweep; write a table and figures.

    Runs only points that the results folder does not contain yet, so the same command resumes a stopped sweep. Writes the table as
    Parquet and CSV and the figures as SVG and PNG; prints the main values and the bottleneck, then the names of the files.
    """
    options: RunOptions = context.obj
    from hostsim import api
    from hostsim.cli.answer import answer
    from hostsim.cli.forecast import dry_run_table
    from hostsim.views.report.folder import write

    loaded = api.load(scenario, pairs(overrides, "--set"), pairs(axes, "--axis"), root, options.plugins)
    if capture is not None:
        _require_capture(capture, shard)
    if shard is not None:
        if output is not None:
            raise InputError(Fault("cannot be combined with --shard, which writes no tables", "--output", str(output)))
        run_shard([loaded], options, shard, dry_run=dry_run)
        return
    folder = output or Path(options.results, loaded.name)
    require_folder(folder)
    if dry_run:
        typer.echo(dry_run_table([loaded], options, sweep=True, expectations=False, began=context.meta[BEGAN]))
        return
    # printed before the run, as the user may want to stop because of a setting without effect
    say_warnings(loaded.warnings)
    with Reporter() as reporter:
        results = api.run(loaded, progress=reporter, options=options.model_copy(update={"plugins": []}))
    files = write(results, folder)
    if capture is not None:
        files = [*files, *_write_captures(results, loaded, folder)]
    typer.echo(f"{answer(results)}\n")
    for file in files:
        typer.echo(file)
    say_failed(results)
    if len(results.failed):
        raise typer.Exit(Status.FAILED_RUNS)


CAPTURES = ("esxtop",)
"""Formats of ``run --as``."""


def _require_capture(given: str, shard: str | None) -> None:
    if given not in CAPTURES:
        raise InputError(Fault("is not a format", "--as", repr(given), " or ".join(CAPTURES)))
    if shard is not None:
        raise InputError(Fault("cannot be combined with --shard, which writes only runs", "--as", given))


def _write_captures(results: Results, scenario: Scenario, folder: Path) -> list[Path]:
    """Write the first run of each point in the format of esxtop, and report points without one."""
    from hostsim.results.integrity import confined
    from hostsim.views.esxtop import capture_name, to_esxtop

    written = []
    for row in results.table.drop_duplicates("point").to_dict("records"):
        record = results.record_of(str(row["point"]), int(row["replication"]))
        spec, _ = scenario.spec(record.axes, scenario.run.quick.length_ps)
        if record.error is not None or not spec.hypervisor:
            why = "has failed" if record.error is not None else "is a native host"
            typer.echo(f"{scenario.name}: point {row['point']} {why}, and has no capture of esxtop", err=True)
            continue
        file = folder / "esxtop" / capture_name(record.axes)
        written.append(write_whole(confined(folder, file), to_esxtop(record, spec, scenario.name).encode()))
    return written


def reproduce(
    context: typer.Context,
    names: Annotated[
        Texts,
        typer.Argument(metavar="SCENARIO", help="Shipped scenarios; all by default.", autocompletion=complete_shipped),
    ] = None,
    *,
    shard: ShardText = None,
    dry_run: DryRun = False,
) -> None:
    """Run shipped scenarios, judge their claims, write one HTML report."""
    options: RunOptions = context.obj
    from hostsim import api
    from hostsim.cli.check import print_verdicts
    from hostsim.cli.forecast import dry_run_table
    from hostsim.results.verdicts import is_accepted
    from hostsim.scenario.selection import require_shipped, select

    chosen = require_shipped(names or ())
    if shard is not None or dry_run:
        scenarios = [scenario for scenario, _ in select(*chosen, plugins=options.plugins)]
        if shard is not None:
            run_shard(scenarios, options, shard, dry_run=dry_run, expectations=True)
        else:
            typer.echo(dry_run_table(scenarios, options, sweep=True, expectations=True, began=context.meta[BEGAN]))
        return
    page = Path(options.results, "report.html")
    require_file(page)
    started = time.monotonic()
    with Reporter() as reporter:
        results = api.reproduce(*chosen, progress=reporter, options=options)
    verdicts = [verdict for entry in results for verdict in entry.verdicts]
    print_verdicts(verdicts, quick=options.quick)
    typer.echo(f"\n{_cost_table(results)}\n\n{page}")
    typer.echo(f"took {duration(time.monotonic() - started)}", err=True)
    for entry in results:
        say_warnings(entry.warnings)
        say_failed(entry)
    if any(len(entry.failed) for entry in results):
        raise typer.Exit(Status.FAILED_RUNS)
    if not all(is_accepted(verdict, quick=options.quick) for verdict in verdicts):
        raise typer.Exit(Status.CLAIM)


def _cost_table(results: Iterable[Results]) -> str:
    """The table of runs, simulated time and wall-clock time of each scenario."""
    rows = [
        (
            entry.scenario + entry.caveat,
            entry.usage.runs,
            f"{entry.usage.simulated_s:.1f} s",
            entry.usage.dispatches,
            f"{entry.usage.wall_s:.1f} s",
        )
        for entry in results
    ]
    return columns(("scenario", "runs", "simulated", "dispatches", "wall time of its runs"), rows)


def plot(
    context: typer.Context,
    subject: Annotated[
        str,
        typer.Argument(
            metavar="DIR|SCENARIO",
            help="Folder that `run` wrote, or a scenario below the results folder.",
            autocompletion=complete_results,
        ),
    ],
    warm_up: Annotated[
        bool,
        typer.Option("--warm-up", help="Draw the warm-up instead, of the run with the longest one."),
    ] = False,
    x: Annotated[
        str | None,
        option(
            "--x",
            "AXIS",
            "Draw one figure against this axis instead; by default the first axis with several values.",
            complete_drawn,
        ),
    ] = None,
    y: Annotated[
        str | None, option("--y", "METRIC", "The measure of that figure, as `metrics` lists it.", complete_metric)
    ] = None,
    of: Annotated[
        str | None,
        option(
            "--of",
            "SUBJECT",
            "Subject of the measure: a traffic entry, VM group, VM, NIC port, queue or world.",
            complete_drawn_subject,
        ),
    ] = None,
    by: Annotated[
        Texts, repeated("--by", "AXIS", "An axis with a line for each of its values.", complete_drawn)
    ] = None,
    at: Annotated[
        Texts,
        repeated("--at", "AXIS=VALUE", "A value of another axis; the first by default.", complete_drawn),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="As PDF as well.")] = False,
) -> None:
    """Draw the figures of an earlier run, or any measure against an axis; runs nothing."""
    options: RunOptions = context.obj
    from hostsim import api
    from hostsim.results.folder import read
    from hostsim.results.metrics.subject import of_subject_name, parsed
    from hostsim.views.plots.time_series import draw_warm_up, longest_warm_up
    from hostsim.views.report.folder import draw_figures, save_figure

    if y is None and (x or of or by or at):
        given = "--x, --of, --by and --at"
        raise InputError(Fault("draw nothing without a measure", given, allowed="--y METRIC as well"))
    if y is not None and of and parsed(y)[1]:
        raise InputError(Fault("names a subject, as --y does", "--of", of, "a measure without a subject"))
    if y is not None and warm_up:
        raise InputError(Fault("has no effect without a measure", "--warm-up", allowed="--warm-up, or --y METRIC"))
    y = of_subject_name(y, of) if y is not None else None
    partial, results = 0, options.results
    kept = results if _is_given("results", context) else None  # otherwise the runs beside the folder, if any
    for folder in _folders(subject, results, context):
        if warm_up:
            record = longest_warm_up(api.open_results(folder, kept))
            for file in save_figure(draw_warm_up(record), folder, "warm-up", pdf=pdf):
                typer.echo(file)
            continue
        loaded = api.open_results(folder, kept) if y is not None and parsed(y)[1] else read(folder)
        files = (
            draw_figures(loaded, folder, pdf=pdf)
            if y is None
            else _drawn(loaded, folder, x, y, by or (), pairs(at, "--at"), pdf=pdf)
        )
        for file in files:
            typer.echo(file)
        partial += say_partial(loaded)
    if partial:
        raise typer.Exit(Status.FAILED_RUNS)


def _drawn(
    results: Results, folder: Path, x: str | None, y: str, by: Sequence[str], at: Mapping[str, str], *, pdf: bool
) -> tuple[Path, ...]:
    """Draw a measure against an axis into the figures of a folder."""
    from hostsim.results.table import as_written
    from hostsim.views.plots.style import figure_of
    from hostsim.views.report.folder import save_figure

    runs = as_written(results.table)
    varied = [axis for axis in results.axes if axis not in (*by, *at) and runs[axis].nunique() > 1]
    if x is None and not (varied or results.axes):
        raise InputError(Fault("has no axis to draw against", given=results.scenario, allowed="a run with an axis"))
    axes = results.plot(x=x or (varied or results.axes)[0], y=y, by=tuple(by), at=at or None)
    name = "-".join([y.replace(" ", "-"), *by])
    return save_figure(figure_of(axes), folder, name, pdf=pdf)


def report(
    context: typer.Context,
    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|SCENARIO",
            help="Folders that `run` wrote, or scenarios below the results folder.",
            autocompletion=complete_results,
        ),
    ],
    output: Annotated[
        Path | None, option("-o --output", "FILE", "The page; report.html in the first folder by default.")
    ] = None,
    contexts: Annotated[
        bool,
        typer.Option(
            "--contexts",
            help="Print the context of each queue and the bottleneck instead, at the last point of each series or at --at.",
        ),
    ] = False,
    at: Annotated[
        Texts, repeated("--at", "AXIS=VALUE", "With --contexts: the points to print.", complete_drawn)
    ] = None,
) -> None:
    """Write a self-contained HTML page; runs nothing."""
    options: RunOptions = context.obj
    from hostsim.results.folder import read
    from hostsim.results.integrity import confined
    from hostsim.views.report.page import write_report

    if at and not contexts:
        raise InputError(Fault("needs --contexts", "--at", " ".join(at)))
    if contexts and output is not None:
        raise InputError(Fault("applies to the page, not to --contexts", "--output", str(output)))

    folders = [folder for subject in subjects for folder in _folders(subject, options.results, context)]
    results = [read(folder) for folder in folders]
    if contexts:
        _print_contexts(results, pairs(at, "--at"))
    else:
        title = results[0].scenario if len(results) == 1 else "hostsim report"
        whole = Path(subjects[0]) if folders[0].parent == Path(subjects[0]) else folders[0]
        page = write_report(output or confined(whole, whole / "report.html"), results, title=title)
        if not is_stdout(page):
            typer.echo(page)
    if sum(map(say_partial, results)):
        raise typer.Exit(Status.FAILED_RUNS)


def _print_contexts(results: Sequence[Results], at: Mapping[str, str]) -> None:
    from hostsim.views.report.breakdown import CONTEXT_HEADINGS, context_rows, last_points, points_at

    blocks = []
    for entry in results:
        for point in points_at(entry, at) if at else last_points(entry):
            rows = context_rows(entry.contexts[entry.contexts["point"] == point.id])
            title = f"{entry.scenario}{entry.caveat} at {point.words}; bottleneck: {point.bottleneck}{point.where}"
            title = f"{title}\n{point.reason}" if point.reason else title
            blocks.append(f"{title}\n{columns(CONTEXT_HEADINGS, rows)}")
    typer.echo("\n\n".join(blocks))


def _is_given(name: str, context: typer.Context) -> bool:
    """True for an option that is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _folders(subject: str, results: Path, context: typer.Context) -> list[Path]:
    """The results folders of a subject: the subject itself, the scenario below ``--results``, or all results folders inside it.

    A file is a scenario, as `run` takes it. With ``--results`` the scenario below it has priority over a folder of the same name.
    """
    if Path(subject).is_file():
        from hostsim import api

        subject = api.load(subject).name
    places = [Path(subject), results / subject]
    if _is_given("results", context):
        places.reverse()
    for folder in places:
        if (folder / "results.json").is_file():
            return [folder]
    return sorted(file.parent for file in Path(subject).glob("*/results.json")) or [Path(subject)]
