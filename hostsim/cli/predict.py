"""``predict``: predictions of published measurements without any fit; the first value is kept beside today's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import DryRun, Root, Texts
from hostsim.cli.output import columns, print_json, say_warnings
from hostsim.cli.status import Status
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.lab.prediction import Prediction

__all__ = ["predict"]


def predict(
    context: typer.Context,
    subjects: Annotated[
        Texts,
        typer.Argument(
            metavar="SCENARIO|FILE|MEASUREMENT-GLOB",
            help="What to predict; all shipped predictions by default. A pattern such as '*-latency.*' picks measurements by id.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print strict JSON instead of tables.")] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record-first",
            help="Write the values into first.yaml beside the scenario; refused where one is there, or the inputs are not committed.",
        ),
    ] = False,
    root: Root = None,
    *,
    dry_run: DryRun = False,
) -> None:
    """Predictions: published, first and today's value.

    Measurements that nothing is fitted to, each with its first prediction, kept permanently, and today's; scores of both by
    kind. A miss is not a failure; only a measurement without any value ends the command with status 1.
    """
    options: RunOptions = context.obj
    from hostsim import api
    from hostsim.cli.forecast import dry_run_table
    from hostsim.cli.output import Reporter
    from hostsim.lab import prediction
    from hostsim.lab.prediction import as_json as plain
    from hostsim.scenario.shipped_data import predictions

    if record and options.ensemble:
        allowed = "a first prediction is one of the shipped constants"
        raise InputError(Fault("cannot be combined with --ensemble", "--record-first", allowed=allowed))
    chosen = api.select(*(subjects or ()), root=root, among=predictions())
    prediction.require_measurements(chosen)
    scenarios = [scenario for scenario, _ in chosen]
    commits = prediction.first_commits(chosen) if record else {}
    if dry_run:
        typer.echo(dry_run_table(scenarios, options, sweep=False, expectations=True))
        return
    runs = options.fidelity()
    with Reporter() as reporter:
        found = prediction.predict(chosen, runs, options.execution(reporter))
    if record:
        prediction.record_first(chosen, commits, found, runs)
        found = prediction.with_ledgers(chosen, found)
    if as_json:
        print_json(plain(found))
    else:
        _print_tables(found)
    say_warnings(warning for scenario in scenarios for warning in scenario.warnings)
    if any(each.verdict.value is None for each in found):
        raise typer.Exit(Status.CLAIM)


def _print_tables(found: list[Prediction]) -> None:
    """Print the predictions and their scores on stdout, and their reasons and notes on stderr."""
    from hostsim.lab.prediction import SCORE_HEADINGS, headings, rows, score_rows

    typer.echo(columns(headings(found), rows(found)) + "\n\n" + columns(SCORE_HEADINGS, score_rows(found)))
    for each in found:
        verdict = each.verdict
        for text in [*([verdict.reason] if verdict.reason else []), *verdict.notes]:
            typer.echo(f"{each.measurement.id}: {text}", err=True)
