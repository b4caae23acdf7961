"""``--shard`` and ``merge``: a campaign in parts, one for each job of a batch system, and the merge of their runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.output import columns, say_warnings
from hostsim.cli.status import Status

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.scenario.scenario import Scenario

__all__ = ["merge", "run_shard"]


def merge(
    context: typer.Context,
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Results folders, such as those of shards.")],
) -> None:
    """Copy the runs of several results folders into that of --results; runs nothing.

    The source folders do not change. The command that was split into shards then finds every run without --shard.
    """
    options: RunOptions = context.obj
    from hostsim.campaign.shard import merge as merge_runs
    from hostsim.config.files import require_folder

    target = options.results
    require_folder(target)
    done = merge_runs(folders, target)
    rows = [(str(one.folder), one.added, one.there, one.failed, one.unreadable, one.others) for one in done]
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
    from hostsim.cli.output import Reporter

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
