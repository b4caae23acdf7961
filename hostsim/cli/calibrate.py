"""``calibrate``: a least-squares fit of the cost model's constants to published claims, and predictions of left-out claims."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from hostsim.cli.option import RunOptions, Texts, option, repeated, run_options
from hostsim.cli.text_table import columns, duration
from hostsim.errors import Fault, InputError, nearest_name

if TYPE_CHECKING:
    from hostsim.calibration.fit import Evaluation
    from hostsim.calibration.objective import ClaimEvaluator
    from hostsim.calibration.target import Calibration

__all__ = ["calibrate"]


@run_options("quick", "seed", "replications", "jobs", "results")
def calibrate(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Groups of constants and claims; the shipped ones by default."),
    ] = None,
    group: Annotated[Texts, repeated("--group", "G", "Only this group.")] = None,
    leave_out: Annotated[
        Texts,
        repeated(
            "--leave-out",
            "EXPERIMENT",
            "Fit without the claims of this experiment, from the starts on, and predict them.",
        ),
    ] = None,
    held_by: Annotated[
        Texts,
        repeated(
            "--held-by",
            "EXPERIMENT",
            "Fit nothing; move each fitted constant by a tenth and print the claims of this experiment that respond.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "DIR",
            "Write each group's fit and its log, each prediction, or the claims that hold the constants, to a JSON file in this folder.",
        ),
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the fits or moves that would be made; run nothing.")
    ] = False,
    **options: Unpack[RunOptions],
) -> None:
    """Fit constants of the cost model to published claims.

    Least squares of the distances in half-widths of the bands, with a weak pull towards where each constant starts, group by
    group; a claim outside its band counts in proportion. Every host that is tried is stored in the results folder, so that an
    interrupted fit resumes.
    """
    from hostsim import api
    from hostsim.calibration.objective import ClaimEvaluator
    from hostsim.calibration.target import read_calibration
    from hostsim.files import require_folder, write_whole

    calibration = read_calibration(file)
    groups, left_out, holders = group or (), leave_out or (), held_by or ()
    _require_one_study(calibration, groups, left_out, holders, file)
    if output is not None:
        require_folder(output)
    if dry_run:
        typer.echo(_held_constants() if holders else _fits(calibration, groups, left_out))
        return
    evaluator = ClaimEvaluator(api.fidelity(options), api.execution_options(options))
    started = time.monotonic()
    if holders:
        written = _hold(evaluator, holders)
    elif left_out:
        written = _predict(calibration, left_out, evaluator)
    else:
        written = _fit(calibration, groups, evaluator)
    if output is not None:
        for name, found in written.items():
            write_whole(output / f"{name}.json", (json.dumps(found, indent=1, allow_nan=False) + "\n").encode())
    typer.echo(f"took {duration(time.monotonic() - started)}", err=True)


def _require_one_study(
    calibration: Calibration, groups: Sequence[str], left_out: Sequence[str], holders: Sequence[str], file: Path | None
) -> None:
    """Check that options name known groups and experiments, and do not contradict each other."""
    from hostsim.scenario.shipped_data import claims

    experiments = dict.fromkeys(claim.experiment for claim in claims().values())
    _known("--group", groups, calibration.groups)
    _known("--leave-out", left_out, experiments)
    _known("--held-by", holders, experiments)
    if holders and (groups or left_out or file):
        raise InputError(Fault("fits nothing", "--held-by", allowed="no FILE, --group or --leave-out beside it"))
    if left_out and groups:
        allowed = "no --group beside it: the groups that have claims of the experiment are fitted again"
        raise InputError(Fault("chooses its groups itself", "--leave-out", allowed=allowed))


def _hold(evaluator: ClaimEvaluator, experiments: Sequence[str]) -> dict[str, Any]:
    """Move each fitted constant and print which claims notice."""
    from hostsim.calibration import identifiability

    measured = [identifiability.measure_identifiability(evaluator, experiment) for experiment in experiments]
    rows = [
        (name, found.experiment, " ".join(f"{claim} {move:+.2f}" for claim, move in moves.items()) or "none")
        for found in measured
        for name, moves in found.moves.items()
    ]
    typer.echo(columns(("constant", "experiment", "claims that notice, in half-widths for +10 %"), rows))
    return {found.experiment: asdict(found) for found in measured}


def _predict(calibration: Calibration, experiments: Sequence[str], evaluator: ClaimEvaluator) -> dict[str, Any]:
    """Fit without the claims of each experiment, and print their predictions."""
    from hostsim.calibration import fit
    from hostsim.results.scoreboard import band_text, number
    from hostsim.scenario.shipped_data import claims

    predictions = [fit.predict(calibration, experiment, evaluator, _tell) for experiment in experiments]
    rows = [
        (
            prediction.experiment,
            name,
            f"{claims()[name].published} {claims()[name].unit}",
            band_text(claims()[name].band),
            number(value),
            "yes" if prediction.holds(name) else "no",
        )
        for prediction in predictions
        for name, value in prediction.values.items()
    ]
    typer.echo(columns(("left out", "claim", "published", "band", "predicted", "in the band"), rows))
    return {prediction.experiment: asdict(prediction) for prediction in predictions}


def _fit(calibration: Calibration, groups: Sequence[str], evaluator: ClaimEvaluator) -> dict[str, Any]:
    """Fit groups of constants, all by default, and print constants and residuals."""
    from hostsim.calibration import fit
    from hostsim.scenario.shipped_data import claims

    fitted = fit.calibrate(calibration, evaluator, tuple(groups), tell=_tell)
    constants = [
        (c.group, c.name, f"{c.start:g}", f"{c.value:g}", _ends(c.low, c.high), " ".join(c.held_by) or "none")
        for c in fitted.constants
    ]
    residuals = [
        (
            c.group,
            c.claim,
            f"{claims()[c.claim].published} {claims()[c.claim].unit}",
            f"{c.value:.4g}",
            f"{c.residual:+.2f}",
        )
        for c in fitted.claims
    ]
    typer.echo(columns(("group", "constant", "start", "value", "interval", "held by"), constants) + "\n")
    typer.echo(columns(("group", "claim", "published", "value", "residual"), residuals))
    return fit.as_json(fitted)


def _known(option: str, given: Iterable[str], known: Collection[str]) -> None:
    faults = [
        Fault("is not known", option, repr(name), "one of " + ", ".join(known), nearest_name(name, list(known)))
        for name in given
        if name not in known
    ]
    if faults:
        raise InputError(faults)


def _held_constants() -> str:
    """The table of a dry run with ``--held-by``: the constants that would be moved."""
    from hostsim.calibration import identifiability

    rows = [(name, f"{value:g}") for name, value in identifiability.fitted_constants().items()]
    return columns(("constant", "value"), rows)


def _fits(calibration: Calibration, groups: Sequence[str], left_out: Sequence[str]) -> str:
    """The tables of a dry run: the constants that would be fitted, and the claims that would be predicted."""
    from hostsim.calibration.fit import refitted_groups
    from hostsim.scenario.selection import expected_claims
    from hostsim.scenario.shipped_data import claims

    headings = ("group", "constant", "start", "hosts at most", "claims")
    if not left_out:
        return columns(headings, _starts(calibration, groups))
    rows = [
        (experiment, *row)
        for experiment in left_out
        for row in _starts(refitted_groups(calibration, experiment)) or [("none", "none", "-", 0, "")]
    ]
    asked = [(claims()[name].experiment, name) for name in expected_claims() if claims()[name].experiment in left_out]
    again = columns(("left out", *headings[:-1], "fitted to"), rows)
    return f"{again}\n\n{columns(('left out', 'predicted claim'), asked)}"


def _starts(calibration: Calibration, groups: Sequence[str] = ()) -> list[tuple[object, ...]]:
    """Rows of the constants of groups, all by default, with their start and claims."""
    from hostsim.calibration.fit import most_evaluations

    return [
        (name, constant, f"{start.start:g}", most_evaluations(group), " ".join(group.claims))
        for name, group in calibration.groups.items()
        if not groups or name in groups
        for constant, start in group.constants.items()
    ]


def _ends(low: float, high: float | None) -> str:
    return "any" if high is None else f"{low:.4g} to {high:.4g}"


def _tell(evaluation: Evaluation) -> None:
    """Print a line on stderr for every evaluation of the objective: the constants tried and their sum of squares."""
    given = ", ".join(f"{name.rpartition('.')[2]} {value:g}" for name, value in evaluation.constants.items())
    typer.echo(f"{evaluation.group}: {given}: sum of squares {evaluation.cost:.3g}", err=True)
