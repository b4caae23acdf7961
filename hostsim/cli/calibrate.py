"""The command that fits the cost model's constants to published claims."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Jobs, Quick, Replications, ResultsFolder, Seed
from hostsim.cli.text import columns, duration
from hostsim.errors import Fault, InputError, nearest_name

if TYPE_CHECKING:
    from hostsim.scenario.calibration import Calibration
    from hostsim.study.calibrate import Evaluation, Fit, Prediction
    from hostsim.study.holding import Holding

__all__ = ["calibrate"]


def calibrate(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Groups of constants and claims; the shipped ones by default."),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="G", help="Only this group. May be given often.")
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            "--leave-out",
            metavar="EXPERIMENT",
            help="Fit without the claims of this experiment, from the starts on, and predict them. May be given often.",
        ),
    ] = None,
    held_by: Annotated[
        list[str] | None,
        typer.Option(
            "--held-by",
            metavar="EXPERIMENT",
            help="Fit nothing; move each fitted constant by a tenth and say which claims of this experiment notice. May be given often.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Write each group's fit and its log, each prediction, or what holds the constants, to a JSON file in this folder.",
        ),
    ] = None,
    quick: Quick = False,
    seed: Seed = 1,
    replications: Replications = None,
    jobs: Jobs = None,
    results: ResultsFolder = Path("results"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be fitted to what, or moved; run nothing of it.")
    ] = False,
) -> None:
    """Fit constants of the cost model to published claims.

    Least squares of the distances in half-widths of the bands, with a weak pull towards where each constant starts, group by
    group; what stays out of its band counts in proportion. Every host that is tried is kept in the results folder, so that an
    interrupted fit goes on where it was.
    """
    from hostsim import api
    from hostsim.campaign.store import Store
    from hostsim.plots.atomic import write_whole
    from hostsim.report.destination import require_folder
    from hostsim.scenario.calibration import read_calibration
    from hostsim.scenario.published import claims
    from hostsim.study import calibrate as study
    from hostsim.study import holding
    from hostsim.study.residual import Bench
    from hostsim.study.sweep import Means

    calibration = read_calibration(file)
    groups = tuple(group or ())
    _known("--group", groups, calibration.groups)
    experiments = tuple(leave_out or ())
    known = {claim.experiment: None for claim in claims().values()}
    _known("--leave-out", experiments, known)
    holders = tuple(held_by or ())
    _known("--held-by", holders, known)
    if holders and (groups or experiments or file):
        raise InputError(Fault("fits nothing", "--held-by", allowed="no FILE, --group or --leave-out beside it"))
    if experiments and groups:
        allowed = "no --group beside it: the groups that have claims of the experiment are fitted again"
        raise InputError(Fault("chooses its groups itself", "--leave-out", allowed=allowed))
    if output is not None:
        require_folder(output)
    if dry_run and holders:
        typer.echo(columns(("constant", "value"), [(name, f"{value:g}") for name, value in holding.fitted().items()]))
        return
    if dry_run and experiments:
        _say_predictions(calibration, experiments)
        return
    if dry_run:
        _say_plan(calibration, groups)
        return
    bench = Bench(api.fidelity(quick=quick, seed=seed, replications=replications), Means(Store(results), jobs))
    started = time.monotonic()
    if holders:
        holdings = [holding.holding(bench, experiment) for experiment in holders]
        written = {found.experiment: asdict(found) for found in holdings}
        typer.echo(columns(("constant", "experiment", "claims that notice, in half-widths for +10 %"), _held(holdings)))
    elif experiments:
        predictions = [study.predict(calibration, experiment, bench, _tell) for experiment in experiments]
        written = {prediction.experiment: asdict(prediction) for prediction in predictions}
        headings = ("left out", "claim", "published", "band", "predicted", "in the band")
        typer.echo(columns(headings, _predicted(predictions)))
    else:
        fit = study.calibrate(calibration, bench, groups, tell=_tell)
        written = study.as_json(fit)
        _print(fit)
    if output is not None:
        for name, found in written.items():
            write_whole(output / f"{name}.json", (json.dumps(found, indent=1, allow_nan=False) + "\n").encode())
    typer.echo(f"took {duration(time.monotonic() - started)}", err=True)


def _known(option: str, given: Iterable[str], known: Collection[str]) -> None:
    faults = [
        Fault("is not known", option, repr(name), "one of " + ", ".join(known), nearest_name(name, list(known)))
        for name in given
        if name not in known
    ]
    if faults:
        raise InputError(faults)


def _say_plan(calibration: Calibration, groups: Sequence[str]) -> None:
    from hostsim.study.calibrate import most_evaluations

    rows = [
        (name, constant, f"{start.start:g}", most_evaluations(group), " ".join(group.claims))
        for name, group in calibration.groups.items()
        if not groups or name in groups
        for constant, start in group.constants.items()
    ]
    typer.echo(columns(("group", "constant", "start", "hosts at most", "claims"), rows))


def _say_predictions(calibration: Calibration, experiments: Sequence[str]) -> None:
    from hostsim.scenario.published import claims
    from hostsim.scenario.selection import asked_claims
    from hostsim.study.calibrate import fitted_again, most_evaluations

    rows: list[tuple[object, ...]] = []
    for experiment in experiments:
        groups = fitted_again(calibration, experiment).groups
        rows += [
            (
                experiment,
                name,
                constant,
                f"{start.start:g}",
                most_evaluations(group),
                " ".join(group.claims),
            )
            for name, group in groups.items()
            for constant, start in group.constants.items()
        ]
        if not groups:
            rows.append((experiment, "none", "none", "-", 0, ""))
    headings = ("left out", "group", "constant", "start", "hosts at most", "fitted to")
    typer.echo(columns(headings, rows) + "\n")
    asked = [(claims()[name].experiment, name) for name in asked_claims() if claims()[name].experiment in experiments]
    typer.echo(columns(("left out", "predicted claim"), asked))


def _held(holdings: Iterable[Holding]) -> list[tuple[str, ...]]:
    return [
        (
            name,
            found.experiment,
            " ".join(f"{claim} {move:+.2f}" for claim, move in moves.items()) or "none",
        )
        for found in holdings
        for name, moves in found.moves.items()
    ]


def _print(fit: Fit) -> None:
    from hostsim.scenario.published import claims

    rows = [
        (c.group, c.name, f"{c.start:g}", f"{c.value:g}", _ends(c.low, c.high), " ".join(c.held_by) or "none")
        for c in fit.constants
    ]
    typer.echo(columns(("group", "constant", "start", "value", "interval", "held by"), rows))
    typer.echo()
    residuals = [
        (
            c.group,
            c.claim,
            f"{claims()[c.claim].published} {claims()[c.claim].unit}",
            f"{c.value:.4g}",
            f"{c.residual:+.2f}",
        )
        for c in fit.claims
    ]
    typer.echo(columns(("group", "claim", "published", "value", "residual"), residuals))


def _ends(low: float, high: float | None) -> str:
    return "any" if high is None else f"{low:.4g} to {high:.4g}"


def _predicted(found: Iterable[Prediction]) -> list[tuple[object, ...]]:
    from hostsim.report.scoreboard import band_text, number
    from hostsim.scenario.published import claims

    return [
        (
            prediction.experiment,
            name,
            f"{claims()[name].published} {claims()[name].unit}",
            band_text(claims()[name].band),
            number(value),
            "yes" if prediction.holds(name) else "no",
        )
        for prediction in found
        for name, value in prediction.values.items()
    ]


def _tell(evaluation: Evaluation) -> None:
    """A line on stderr for every host tried."""
    given = ", ".join(f"{name.rpartition('.')[2]} {value:g}" for name, value in evaluation.constants.items())
    typer.echo(f"{evaluation.group}: {given}: sum of squares {evaluation.cost:.3g}", err=True)
