"""``what-if``: paired differences of a scenario before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from hostsim.cli.failure import say_failed
from hostsim.cli.option import DryRun, Root, RunOptions, ScenarioName, Texts, pairs, repeated, run_options
from hostsim.cli.status import Status
from hostsim.cli.strict_json import plain, print_json

if TYPE_CHECKING:
    from hostsim.analysis.what_if import WhatIf

__all__ = ["what_if"]


@run_options()
def what_if(
    scenario: ScenarioName,
    changes: Annotated[
        Texts,
        repeated("--set", "PATH=VALUE", "The change: a dotted path, or an axis of the scenario."),
    ] = None,
    costs: Annotated[
        Texts,
        repeated("--cost", "NAME=VALUE", "A changed cost, for studies: context_switch=0."),
    ] = None,
    both: Annotated[Texts, repeated("--both", "PATH=VALUE", "Set a value on both sides.")] = None,
    axes: Annotated[Texts, repeated("--axis", "NAME=VALUES", "The points to compare: receivers=16,24.")] = None,
    metrics: Annotated[
        Texts,
        repeated("--metric", "NAME", "Only this measure, certain or not; by default all whose difference is certain."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print strict JSON instead of a table, every measure.")
    ] = False,
    root: Root = None,
    *,
    dry_run: DryRun = False,
    **options: Unpack[RunOptions],
) -> None:
    """Before and after a change: paired differences.

    Both sides run on common random numbers, at least three replications each; a difference is certain when its 95 % interval
    excludes 0. The value before of a changed axis is the one that --axis gives it, or the first of its sweep.
    """
    from hostsim import api
    from hostsim.analysis.what_if import with_least_replications
    from hostsim.cli.forecast import dry_run_table
    from hostsim.cli.progress import Reporter
    from hostsim.results.differences import require_metrics

    require_metrics(metrics or ())
    wanted, prices = pairs(changes, "--set"), pairs(costs, "--cost")
    overrides, values = pairs(both, "--both"), pairs(axes, "--axis")
    if dry_run:
        plugins = options["plugins"]
        before, after = api.sides(
            scenario, wanted, costs=prices, overrides=overrides, axes=values, root=root, plugins=plugins
        )
        options["replications"] = with_least_replications(before, api.fidelity(options)).replications
        typer.echo(dry_run_table([before, after], options, sweep=True, expectations=False))
        return
    with Reporter() as options["progress"]:
        found = api.what_if(scenario, wanted, costs=prices, overrides=overrides, axes=values, root=root, **options)
    _print_differences(found, metrics or (), as_json=as_json)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    for side in (found.before, found.after):
        say_failed(side)
    if len(found.before.failed) or len(found.after.failed):
        raise typer.Exit(Status.FAILED_RUNS)


def _print_differences(found: WhatIf, metrics: Sequence[str], *, as_json: bool) -> None:
    """Print the differences of some measures, certain or not, or all certain ones."""
    from hostsim.cli.text_table import columns
    from hostsim.results.differences import difference_rows

    shown = found.differences.only(*metrics) if metrics else found.differences
    if as_json:
        print_json([{name: plain(value) for name, value in row.items()} for row in shown.frame().to_dict("records")])
    elif shown := shown if metrics else shown.certain:
        typer.echo(columns(*difference_rows(shown)))
    elif not found.differences:
        typer.echo("nothing could be compared: no two finished runs make a pair")
    else:
        typer.echo("no difference is certain: every 95 % interval contains 0")
