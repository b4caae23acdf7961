"""Commands on stored runs: ``--shard`` of other commands, ``merge`` and ``prune``."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import option
from hostsim.cli.output import Reporter, columns, say_warnings
from hostsim.cli.status import Status
from hostsim.config.files import require_folder

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.campaign.stored_run import StoredRun
    from hostsim.scenario.scenario import Scenario

__all__ = ["merge", "prune", "run_shard"]


def merge(
    context: typer.Context,
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Results folders, such as those of shards.")],
) -> None:
    """Copy the runs of several results folders into the folder of --results; runs nothing.

    The source folders do not change. Run the command of the shards again without --shard afterwards; it finds every run
    there.
    """
    options: RunOptions = context.obj
    from hostsim.campaign.shard import merge as merge_runs

    target = options.results
    require_folder(target)
    done = merge_runs(folders, target)
    rows = [
        (str(entry.folder), entry.added, entry.there, entry.failed, entry.unreadable, entry.others) for entry in done
    ]
    typer.echo(columns(("folder", "added", "already there", "failed", "unreadable", "of other code"), rows))


def run_shard(
    scenarios: Iterable[Scenario],
    options: RunOptions,
    text: str,
    *,
    dry_run: bool,
    sweep: bool = True,
    expectations: bool = False,
) -> None:
    """Run one shard of some scenarios, and print how many of its runs are stored.

    Args:
        scenarios: those of the command without ``--shard``.
        options: of the run.
        text: number of the shard and of all shards, as ``2/8``.
        dry_run: only print the planned runs.
        sweep: run the points of the sweep.
        expectations: run what the expectations need.

    Raises:
        InputError: the text is not a shard, or an option cannot be satisfied.
        typer.Exit: a run failed.
    """
    from hostsim import api
    from hostsim.campaign import pipeline
    from hostsim.campaign.shard import read_shard
    from hostsim.cli.forecast import dry_run_table

    shard, chosen = read_shard(text), list(scenarios)
    if dry_run:
        typer.echo(dry_run_table(chosen, options, shard, sweep=sweep, expectations=expectations))
        return
    runs = options.fidelity()
    plans = [api.plan(scenario, runs, sweep=sweep, expectations=expectations) for scenario in chosen]
    with Reporter() as reporter:
        stored, failed = pipeline.run_shard(plans, shard, options.execution(reporter))
    say_warnings(warning for scenario in chosen for warning in scenario.warnings)
    typer.echo(f"shard {shard}: {stored} runs are in {options.results}, {failed} of them failed")
    if failed:
        raise typer.Exit(Status.FAILED_RUNS)


_DAY_S = 24 * 3600


def prune(
    context: typer.Context,
    *,
    unusable: Annotated[
        bool, typer.Option("--unusable", help="Remove all runs that the installed version of the code cannot reuse.")
    ] = False,
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than", metavar="DAYS", min=0, help="Only remove runs that were stored at least this long ago."
        ),
    ] = None,
    scenario: Annotated[
        str | None, option("--scenario", "NAME", "Only remove runs that this scenario requested first.")
    ] = None,
    keep: Annotated[
        str | None,
        option(
            "--keep",
            "SIZE",
            "Remove the oldest runs until all stored runs together take at most this much, such as '2 GB'.",
        ),
    ] = None,
    usable: Annotated[
        bool,
        typer.Option("--usable", help="Also remove runs of the installed version; they are run again when needed."),
    ] = False,
    saved: Annotated[
        bool,
        typer.Option(
            "--saved",
            help="Also remove runs to which saved results refer; their tables are kept, their records are lost.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs that would be removed, without removing them.")
    ] = False,
) -> None:
    """Remove stored runs from the results folder, and count those of each version of the code.

    Removes nothing unless --unusable, --older-than, --scenario or --keep is given; they combine. Runs of the installed version, and
    runs that saved results in the folder refer to, stay unless --usable or --saved is given.
    """
    options: RunOptions = context.obj
    from hostsim.campaign.run_option import quantity
    from hostsim.campaign.stored_run import prunable, remove, require_results, require_scenario, runs_in, saved_runs

    folder = require_results(options.results, "--results")
    runs = list(runs_in(folder))
    if scenario is not None:
        require_scenario(runs, scenario)
    needed = saved_runs(folder)
    is_asked = unusable or older_than is not None or scenario is not None or keep is not None
    most = math.inf if keep is None else quantity(keep, "size", "--keep")
    chosen = (
        prunable(
            runs,
            () if saved else needed,
            usable=usable,
            before=None if older_than is None else time.time() - older_than * _DAY_S,
            scenario=scenario,
            most_bytes=None if keep is None else round(most),
        )
        if is_asked
        else []
    )
    if not dry_run:
        remove(chosen)
    done = "to remove" if dry_run else "removed"
    headings = ("version of the code", "last stored", "runs", "size", "saved results need", done, "size")
    typer.echo(columns(headings, _rows(runs, {run.id for run in runs if run.id in needed}, chosen)))
    if not is_asked:
        typer.echo(
            "nothing is removed without --unusable, --older-than, --scenario or --keep; see hostsim prune --help",
            err=True,
        )
    if sum(run.bytes for run in runs) - sum(run.bytes for run in chosen) > most:
        stays = {
            "of the installed version without --usable": not usable,
            "of saved results without --saved": not saved,
            "that are younger than --older-than": older_than is not None,
            "of other scenarios than --scenario": scenario is not None,
        }
        words = ", ".join(which for which, applies in stays.items() if applies)
        typer.echo(f"more than {keep} remains; runs that stay: {words}", err=True)


def _rows(
    runs: Sequence[StoredRun], needed: set[tuple[str, tuple[str, int, int]]], chosen: Sequence[StoredRun]
) -> Iterable[tuple[object, ...]]:
    """A row for each version of the code, the installed one first, and their total."""
    versions: dict[str, list[StoredRun]] = {}
    for run in runs:
        versions.setdefault(run.code, []).append(run)
    taken = {run.id for run in chosen}

    def row(name: str, of: Sequence[StoredRun]) -> tuple[object, ...]:
        gone = [run for run in of if run.id in taken]
        last = time.strftime("%Y-%m-%d", time.gmtime(max((run.stored for run in of), default=0.0))) if of else ""
        return name, last, len(of), _size(of), sum(run.id in needed for run in of), len(gone), _size(gone)

    for code, of in sorted(versions.items(), key=lambda entry: not entry[1][0].is_usable):
        yield row(f"{code}{' (installed)' if of[0].is_usable else ''}", of)
    yield row("total", runs)


def _size(runs: Sequence[StoredRun]) -> str:
    total = sum(run.bytes for run in runs)
    return f"{total / 1e6:,.1f} MB" if total >= 1e6 else f"{total / 1e3:.0f} kB"
