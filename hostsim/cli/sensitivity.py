"""``sensitivity``: which constants a measure hangs on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Cluster, DryRun, Jobs, Quick, ResultsFolder, Seed, pairs
from hostsim.cli.status import Status
from hostsim.cli.text import columns, duration
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hostsim.cli.forecast import Forecast
    from hostsim.record import RunRecord
    from hostsim.scenario.points import RecordKey
    from hostsim.study.constant import Constant
    from hostsim.study.influence import Findings

__all__ = ["sensitivity"]


def sensitivity(
    scenario: Annotated[str, typer.Argument(help="Name of a shipped scenario, or path of a file.")],
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="Measure to explain, as `metrics` lists it.")],
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="AXIS=VALUE",
            help="The point: the first value of each axis that is not named. May be given often.",
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Set a value, as `run` would; it is not varied then."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="PATTERN",
            help="Vary only constants with such names: '*.costs.guest_*'. May be given often.",
        ),
    ] = None,
    trajectories: Annotated[
        int, typer.Option("--trajectories", metavar="N", help="Effects that the screening takes of each constant.")
    ] = 6,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", help="Samples of the closer look, a power of 2.")
    ] = 128,
    most: Annotated[int, typer.Option("--most", metavar="N", help="Constants to look at closely, at most.")] = 6,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder for table and figure, instead of SCENARIO/sensitivity below the results folder.",
        ),
    ] = None,
    quick: Quick = False,
    seed: Seed = 1,
    replications: Annotated[
        int, typer.Option("--replications", metavar="N", min=1, help="Runs at each set of values, averaged.")
    ] = 1,
    jobs: Jobs = None,
    cluster: Cluster = None,
    results: ResultsFolder = Path("results"),
    dry_run: DryRun = False,
) -> None:
    """What a measure at a point hangs on: constants and assumed inputs by their influence, with a tornado plot.

    Every constant of the cost model and every assumed input behind the point is varied over its stated range, or by 20 % to either
    side where it has none. Morris' method screens them, Sobol's shares the variance out among those that matter. All runs draw the
    same random numbers and are kept in the results folder, so the same command goes on where it was stopped.
    """
    from hostsim import api
    from hostsim.campaign.store import Store
    from hostsim.cli.forecast import forecast
    from hostsim.cli.progress import Reporter
    from hostsim.report.destination import require_folder
    from hostsim.study.influence import movable, point_of
    from hostsim.study.influence_report import write
    from hostsim.study.sensitivity import Effort, Sensitivity
    from hostsim.study.sweep import Means, finish

    loaded = api.load(scenario, pairs(overrides or (), "--set"))
    point = point_of(loaded, pairs(at or (), "--at"))
    constants = movable(loaded, point, only or ())
    fidelity = api.fidelity(quick=quick, seed=seed, replications=replications)
    question = Sensitivity(loaded, metric, point, constants, fidelity, Effort(trajectories, samples, most))
    folder = output or results / loaded.name / "sensitivity"
    require_folder(folder)
    plan, store = question.plan(), Store(results)
    known = forecast(plan, store, jobs)
    if dry_run:
        typer.echo(_varied(constants))
        typer.echo(f"\n{_announcement(constants, len(plan.tasks), known)}")
        return
    typer.echo(_announcement(constants, len(plan.tasks), known), err=True)
    with Reporter() as reporter:
        outcome = finish(plan, Means(store, jobs, cluster, reporter))
    findings = question.findings(outcome.records)
    if findings is None:
        _tell_failed(outcome.records)
        allowed = "longer runs (--set run.length=...), or another metric"
        raise InputError(Fault("cannot be measured in every run", "--metric", metric, allowed))
    _tell(findings)
    for file in write(findings, loaded.name, folder):
        typer.echo(file)
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)


def _varied(constants: tuple[Constant, ...]) -> str:
    from hostsim.study.influence_report import interval_text

    rows = [(c.name, f"{c.value:g} {c.unit}".rstrip(), interval_text(c), c.origin.value) for c in constants]
    return columns(("constant", "value", "varied", "known by"), rows)


def _announcement(constants: tuple[Constant, ...], screening: int, known: Forecast) -> str:
    """How many runs there will be, and how long they take.

    Args:
        constants: what is varied.
        screening: runs of the screening.
        known: of all runs; it knows those of the closer look once the screening is over.
    """
    without = sum(constant.range is None for constant in constants)
    closer = f"{known.runs - screening}" if known.runs > screening else f"up to {known.searched}"
    took = f"about {duration(known.seconds)} at most" if known.stored < known.runs else "nothing to run"
    return (
        f"{len(constants)} constants, {len(constants) - without} over their ranges, {without} by 20 % to either side: {screening} runs to screen them, "
        f"then {closer} on those that matter; {known.stored} of them are in the results folder; {took}"
    )


def _tell(findings: Findings) -> None:
    """The table on stdout, and what it leaves out on stderr."""
    from hostsim.metrics import CATALOGUE
    from hostsim.study.influence_report import HEADINGS, rows, unmoved

    unit = CATALOGUE[findings.metric].unit
    at = ", ".join(f"{axis} = {value}" for axis, value in findings.at.items())
    typer.echo(
        f"{findings.metric}{' at ' + at if at else ''}: {findings.base:.6g} {unit}; effect, spread and ends in {unit}\n"
    )
    typer.echo(columns(HEADINGS, rows(findings)) + "\n")
    still = unmoved(findings)
    if still:
        typer.echo(f"not moved by {len(still)} of them: {', '.join(still)}", err=True)


def _tell_failed(records: Mapping[RecordKey, RunRecord]) -> None:
    """Name the runs that failed, if there are any, and end there."""
    failed = [(key, str(record.error)) for key, record in records.items() if record.error is not None]
    for (point, replication), error in failed:
        typer.echo(f"point {point}, replication {replication} failed: {error.strip().splitlines()[-1]}", err=True)
    if failed:
        raise typer.Exit(Status.FAILED_RUNS)
