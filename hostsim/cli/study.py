"""Commands that vary a scenario: ``what-if`` changes settings, ``sensitivity`` changes constants."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import (
    DryRun,
    Root,
    ScenarioName,
    Texts,
    complete_axis,
    complete_change,
    complete_metric,
    complete_own_subject,
    complete_path,
    option,
    pairs,
    repeated,
)
from hostsim.cli.output import Reporter, about, coloured, columns, plain, print_json, say_failed, say_warnings
from hostsim.cli.status import Status
from hostsim.config.files import require_folder
from hostsim.errors import Fault, InputError
from hostsim.units import MOST_REPLICATIONS

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.campaign.what_if import WhatIf
    from hostsim.cli.forecast import Forecast
    from hostsim.lab.sensitivity import Sensitivity, SensitivityResult
    from hostsim.scenario.cost_model import Constant
    from hostsim.scenario.plan import Records
    from hostsim.scenario.scenario import Scenario

__all__ = ["sensitivity", "what_if"]

LONGEST_S = 60.0
"""Largest additional time of the ensemble by default."""


def what_if(
    context: typer.Context,
    scenario: ScenarioName,
    changes: Annotated[
        Texts,
        repeated("--set", "PATH=VALUE", "The change: a dotted path, or an axis of the scenario.", complete_change),
    ] = None,
    costs: Annotated[
        Texts,
        repeated("--cost", "NAME=VALUE", "A changed cost, for studies: context_switch=0."),
    ] = None,
    both: Annotated[Texts, repeated("--both", "PATH=VALUE", "Set a value on both sides.", complete_path)] = None,
    axes: Annotated[
        Texts, repeated("--axis", "NAME=VALUES", "The points to compare: receivers=16,24.", complete_axis)
    ] = None,
    metrics: Annotated[
        Texts,
        repeated(
            "--metric",
            "NAME",
            "Only this metric, even if its difference is not certain; by default all metrics whose difference is certain.",
            complete_metric,
        ),
    ] = None,
    of: Annotated[
        str | None,
        option(
            "--of",
            "SUBJECT",
            "Compare the measures of a traffic entry, VM group, VM, NIC port, queue or world.",
            complete_own_subject,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print strict JSON with every metric instead of a table.")
    ] = False,
    no_ensemble: Annotated[
        bool,
        typer.Option("--no-ensemble", help="Compare the shipped host, without prediction intervals."),
    ] = False,
    root: Root = None,
    *,
    dry_run: DryRun = False,
) -> None:
    """Before and after a change: paired differences.

    Both sides run on common random numbers, at least three replications each; a difference is certain when its 95 % interval
    excludes 0. If it adds less than a minute, the replications are at least five runs of the shipped ensemble of hosts:
    the model is sure of a difference whose 90 % prediction interval excludes 0, and before and after are means over these
    hosts. A changed axis starts from the value of --axis, or from the first value of its sweep.
    """
    options: RunOptions = context.obj
    from hostsim import api
    from hostsim.campaign.what_if import what_if as run_both
    from hostsim.campaign.what_if import with_least_replications
    from hostsim.cli.forecast import dry_run_table
    from hostsim.results.metrics.catalogue import require_metrics
    from hostsim.results.metrics.subject import parsed
    from hostsim.scenario.option_text import measures_of, require_measures

    require_metrics(metrics or (), "--metric")
    settings, prices = pairs(changes, "--set"), pairs(costs, "--cost")
    overrides, values = pairs(both, "--both"), pairs(axes, "--axis")
    if no_ensemble and options.ensemble:
        raise InputError(Fault("contradicts --ensemble", "--no-ensemble"))
    before, after = api.sides(
        scenario, settings, costs=prices, overrides=overrides, axes=values, root=root, plugins=options.plugins
    )
    require_measures(before, metrics or (), "--metric")
    own = measures_of(before, of, metrics or (), "--of") if of else [name for name in metrics or () if parsed(name)[1]]
    if not no_ensemble and not options.ensemble:
        ensemble, note = _default_ensemble(before, after, options)
        options = options.model_copy(update={"ensemble": ensemble})
        typer.echo(f"note: {note}", err=True)
    if dry_run:
        least = with_least_replications(before, options.fidelity()).replications
        options = options.model_copy(update={"replications": least})
        typer.echo(dry_run_table([before, after], options, sweep=True, expectations=False))
        return
    with Reporter() as reporter:
        answer = run_both(before, after, {**settings, **prices}, options.fidelity(), options.execution(reporter), own)
    for note in answer.notes:
        typer.echo(coloured(f"note: {note}", "yellow", sys.stderr), err=True)
    _print_differences(answer, own if of else metrics or (), named=bool(metrics), as_json=as_json)
    for side in (answer.before, answer.after):
        say_failed(side)
    if len(answer.before.failed) or len(answer.after.failed):
        raise typer.Exit(Status.FAILED_RUNS)


def _default_ensemble(before: Scenario, after: Scenario, options: RunOptions) -> tuple[str | None, str]:
    """The default ensemble of a comparison, or None if it takes long, and a note on it."""
    from hostsim.campaign.run_option import SHIPPED
    from hostsim.cli.forecast import compared, ensemble_adds_s

    sides = [replace(side, expectations=()) for side in (before, after)]
    usual = compared(sides, options)  # a fault without the ensemble is not one of the ensemble
    try:
        ensemble = compared(sides, options.model_copy(update={"ensemble": SHIPPED}))
    except InputError as error:
        return None, f"no prediction intervals: {error.faults[0]}"
    seconds = ensemble_adds_s(usual, ensemble, options)
    added = "no time" if not seconds else about(seconds)
    if seconds < LONGEST_S:
        note = f"give prediction intervals and add {added}; before and after are means over these hosts"
        return SHIPPED, f"runs of {_hosts(before, options)} hosts of the shipped ensemble {note}; {_ONE_HOST}"
    return None, f"--ensemble gives prediction intervals, which show how certain the model is, and adds {added}"


_ONE_HOST = "--no-ensemble compares the shipped host, as Python does by default"


def _hosts(scenario: Scenario, options: RunOptions) -> int:
    """Number of hosts of the shipped ensemble that a comparison runs."""
    from hostsim.campaign.run_option import SHIPPED
    from hostsim.campaign.what_if import with_least_replications
    from hostsim.results.estimate import members_of

    runs = with_least_replications(scenario, options.model_copy(update={"ensemble": SHIPPED}).fidelity())
    sizes = (scenario.run.quick, scenario.run.quick_swept) if runs.quick else (scenario.run.full, scenario.run.swept)
    return members_of(runs.replications or max(size.replications for size in sizes))


def _caption(answer: WhatIf) -> str:
    """The line above a table of differences: whose means are before and after; empty for a single host."""
    from hostsim.results.metrics.catalogue import MEMBER
    from hostsim.results.table import is_of_ensemble

    table = answer.before.table
    if not is_of_ensemble(table):
        return ""
    return f"before and after: means over {table[MEMBER].nunique()} hosts of the ensemble\n"


def _print_differences(answer: WhatIf, metrics: Sequence[str], *, named: bool, as_json: bool) -> None:
    """Print the change in one sentence, and the differences.

    Args:
        answer: the comparison.
        metrics: measures to print; all without any.
        named: print the measures even if their difference is not certain.
        as_json: print JSON with all of them.
    """
    from hostsim.results.compare import difference_rows

    shown = answer.differences.only(*metrics) if metrics else answer.differences
    if as_json:
        print_json([{name: plain(value) for name, value in row.items()} for row in shown.frame().to_dict("records")])
    elif named and shown:
        typer.echo(f"{answer.sentence_of(metrics)}\n\n{_caption(answer)}{columns(*difference_rows(shown))}")
    elif certain := shown.distinct.certain:
        moved = list(dict.fromkeys(entry.metric for entry in certain))
        sentence = answer.sentence_of(moved[:4]) if metrics else answer.sentence  # a subject has no headlines
        typer.echo(f"{sentence}\n\n{_caption(answer)}{columns(*difference_rows(certain))}")
        same = [f"  {', '.join(others)} as {first}" for first, others in shown.alike.items() if first in moved]
        if same:
            typer.echo("\n".join(["", "measures that change alike:", *same]))
    else:
        typer.echo(answer.differences.why_uncertain(*metrics))


def sensitivity(
    context: typer.Context,
    scenario: ScenarioName,
    metric: Annotated[str, option("--metric", "NAME", "Measure to explain, as `metrics` lists it.", complete_metric)],
    of: Annotated[
        str | None,
        option(
            "--of",
            "SUBJECT",
            "Subject of the measure: a traffic entry, VM group, VM, NIC port, queue or world.",
            complete_own_subject,
        ),
    ] = None,
    at: Annotated[
        Texts, repeated("--at", "AXIS=VALUE", "The point; other axes have their first value.", complete_axis)
    ] = None,
    overrides: Annotated[
        Texts, option("--set", "PATH=VALUE", "Set a value, as for `run`; it is then not varied.", complete_path)
    ] = None,
    only: Annotated[
        Texts, repeated("--only", "PATTERN", "Vary only constants whose names match: '*.costs.guest_*'.")
    ] = None,
    trajectories: Annotated[
        int, option("--trajectories", "N", "Number of effects of each constant in the screening (Morris's method).")
    ] = 6,
    samples: Annotated[int, option("--samples", "N", "Number of samples for Sobol's method, a power of 2.")] = 128,
    most: Annotated[int, option("--most", "N", "Largest number of constants for Sobol's method.")] = 6,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "DIR",
            "Folder for the table and figure, instead of SCENARIO/sensitivity below the results folder.",
        ),
    ] = None,
    replications: Annotated[
        int,
        typer.Option(
            "--replications",
            metavar="N",
            min=1,
            max=MOST_REPLICATIONS,
            help="Runs at each set of values, averaged.",
        ),
    ] = 1,
    root: Root = None,
    *,
    dry_run: DryRun = False,
) -> None:
    """Sensitivity of a measure to constants and inputs.

    Ranks constants and assumed inputs by their influence on a measure at a point, with a tornado plot. Every constant
    of the cost model and every assumed input of the point is varied over its stated range, or by 20 % to either side if
    it has none. Morris' method screens them; Sobol's method attributes the variance to the influential ones. All runs
    use the same random numbers and are stored in the results folder, so the same command resumes a stopped one.
    """
    options: RunOptions = context.obj.model_copy(update={"replications": replications})
    from hostsim import api
    from hostsim.campaign.pipeline import execute
    from hostsim.cli.forecast import forecast
    from hostsim.lab.sensitivity import SampleSize, Sensitivity, variable_constants, write
    from hostsim.results.metrics.subject import of_subject_name
    from hostsim.scenario.option_text import faults_of_at, parse_point

    metric = of_subject_name(metric, of)
    loaded = api.load(scenario, pairs(overrides, "--set"), root=root, plugins=options.plugins)
    point = parse_point(loaded, pairs(at, "--at"))
    size = SampleSize(trajectories, samples, most)
    with faults_of_at():
        constants = variable_constants(loaded, point, only or ())
        question = Sensitivity(loaded, metric, point, constants, options.fidelity(), size)
    folder = output or Path(options.results, loaded.name, "sensitivity")
    require_folder(folder)
    plan, execution = question.plan(), options.execution()
    announcement = _announcement(constants, len(plan.tasks), forecast(plan, execution.store, execution.jobs))
    if dry_run:
        typer.echo(f"{_varied(constants)}\n\n{announcement}")
        return
    typer.echo(announcement, err=True)
    with Reporter() as reporter:
        _require_value(question, metric, execute(question.base(), execution).records)
        outcome = execute(plan, replace(execution, progress=reporter))
    result = _result(question, metric, outcome.records)
    files = write(result, loaded.name, folder)
    _tell(result)
    for file in files:
        typer.echo(file)
    say_warnings(loaded.warnings)


def _require_value(question: Sensitivity, metric: str, records: Records) -> None:
    """Check that a run at the unchanged constants has the metric, before those of other constants.

    Raises:
        InputError: it has no value.
        typer.Exit: a run failed.
    """
    _tell_failed(records)
    if not math.isnan(question.base_value(metric, records)):
        return
    mean = re.sub(r"_p\d+(?= |$)", "_mean", metric)
    if mean == metric or math.isnan(question.base_value(mean, records)):
        raise InputError(Fault("no run has a value", "--metric", metric, "a measure of the scenario's traffic or host"))
    raise _not_measurable(metric)


def _not_measurable(metric: str) -> InputError:
    allowed = "longer runs (--set run.length=...), or another metric"
    return InputError(Fault("cannot be measured in every run", "--metric", metric, allowed))


def _result(question: Sensitivity, metric: str, records: Records) -> SensitivityResult:
    """The influence of every constant, if no run failed and every run has the metric."""
    result = question.result(records)
    if result is None:
        _tell_failed(records)
        raise _not_measurable(metric)
    return result


def _varied(constants: tuple[Constant, ...]) -> str:
    from hostsim.lab.sensitivity import interval_text

    rows = [(c.name, f"{c.value:g} {c.unit}".rstrip(), interval_text(c), c.origin.value) for c in constants]
    return columns(("constant", "value", "varied", "known by"), rows)


def _announcement(constants: tuple[Constant, ...], screening: int, expected: Forecast) -> str:
    """The number of runs and an estimate of their time, in a sentence.

    Args:
        constants: to vary.
        screening: number of runs of the screening.
        expected: forecast of all runs; the number for the variance shares is known after the screening.
    """
    without = sum(constant.range is None for constant in constants)
    closer = f"{expected.runs - screening}" if expected.runs > screening else f"up to {expected.searched}"
    took = f"{about(expected.seconds)} at most" if expected.stored < expected.runs else "nothing to run"
    return (
        f"{len(constants)} constants, {len(constants) - without} over their ranges, {without} by 20 % to either side: {screening} runs to screen them, "
        f"then {closer} on those that matter; {expected.stored} of them are in the results folder; {took}"
    )


def _tell(result: SensitivityResult) -> None:
    """Print the table of effects on stdout, and the constants without an effect on stderr."""
    from hostsim.lab.sensitivity import HEADINGS, rows, without_effect
    from hostsim.results.metrics.catalogue import CATALOGUE

    unit = CATALOGUE[result.metric].unit
    at = ", ".join(f"{axis} = {value}" for axis, value in result.at.items())
    typer.echo(
        f"{result.metric}{' at ' + at if at else ''}: {result.base:.6g} {unit}; effect, spread and ends in {unit}\n"
    )
    typer.echo(columns(HEADINGS, rows(result)) + "\n")
    still = without_effect(result)
    if still:
        typer.echo(f"without effect, {len(still)} of them: {', '.join(still)}", err=True)


def _tell_failed(records: Records) -> None:
    """Print the failed runs and end with their exit status, if there are any."""
    failed = [(key, str(record.error)) for key, record in records.items() if record.error is not None]
    for (point, replication), error in failed:
        typer.echo(f"point {point}, replication {replication} failed: {error.strip().splitlines()[-1]}", err=True)
    if failed:
        raise typer.Exit(Status.FAILED_RUNS)
