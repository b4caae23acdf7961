"""``assumptions``: every assumed constant and input at the ends of its range, and the verdicts that it flips."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from hostsim.cli.option import DryRun, RunOptions, Texts, option, repeated, run_options
from hostsim.cli.text_table import columns, duration

if TYPE_CHECKING:
    from hostsim.calibration.assumption import Study, Subjects
    from hostsim.scenario.plan import Fidelity

__all__ = ["assumptions"]


@run_options("quick", "seed", "replications", "jobs", "results", "plugins")
def assumptions(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT|SCENARIO|FILE",
            help="Experiments as the table of claims names them, scenarios or files; all experiments by default.",
        ),
    ] = None,
    output: Annotated[
        Path | None, option("-o --output", "DIR", "Write the study of each subject to a JSON file in this folder.")
    ] = None,
    only: Annotated[
        Texts, repeated("--only", "PATTERN", "Move the assumptions with these names: '*.cpu.threads'; all by default.")
    ] = None,
    *,
    dry_run: DryRun = False,
    **options: Unpack[RunOptions],
) -> None:
    """Verdicts with every assumption at the ends of its range.

    Each assumed constant and input goes to both ends of its range, all else as it is, and every claim that depends on it is judged
    again: at the same points and on the same random numbers, a threshold at two points beside it. An end that leaves the busiest
    and the idlest of these points as they are, to the last digit, is run at no other. A verdict that
    flips is judged again by three replications, and an input that flips it counts as fitted.

    Every run is kept in the results folder, so the same command resumes a stopped one.
    """
    from hostsim import api
    from hostsim.calibration.assumption import run_study
    from hostsim.files import require_folder, write_whole

    named = _named(subjects or (), options["plugins"] or ())
    patterns = only or ["*"]
    if output is not None:
        require_folder(output)
    fidelity, execution = api.fidelity(options), api.execution_options(options)
    _require_matches(named, fidelity, patterns)
    if dry_run:
        from hostsim.calibration.assumption import forecast_runs
        from hostsim.cli.forecast import forecast

        rows = []
        for name, selected in named.items():
            plans, ends = forecast_runs(selected, fidelity, patterns)
            known = [forecast(plan, execution.store, execution.jobs) for plan in plans]
            missing = sum(one.runs - one.stored for one in known)
            took = f"about {duration(sum(one.seconds for one in known))}" if missing else "nothing"
            rows.append((name, ends, sum(one.runs for one in known), missing, took))
        typer.echo(columns(("subject", "ends", "runs at most", "missing", "takes, searches and flips apart"), rows))
        return
    for name, selected in named.items():
        study = run_study(name, selected, fidelity, execution, _tell, patterns)
        typer.echo(_report(study))
        if output is not None:
            text = json.dumps(asdict(study), indent=1, allow_nan=False) + "\n"
            typer.echo(write_whole(output / f"{Path(name).stem}.json", text.encode()))


def _named(subjects: Sequence[str], plugins: Sequence[str | Path]) -> dict[str, Subjects]:
    """The scenarios and expectations of each subject, by its name.

    Raises:
        InputError: a subject is no experiment, no scenario and no file.
    """
    from hostsim.scenario.selection import expected_claims, select
    from hostsim.scenario.shipped_data import claims

    of: dict[str, list[str]] = {}
    for claim in expected_claims():
        of.setdefault(claims()[claim].experiment, []).append(claim)
    return {name: select(*of.get(name, [name]), plugins=plugins) for name in dict.fromkeys(subjects or of)}


def _require_matches(named: Mapping[str, Subjects], fidelity: Fidelity, patterns: Sequence[str]) -> None:
    """Raise InputError for a pattern that matches no assumption of any subject."""
    from hostsim.calibration.assumption import assumptions_of
    from hostsim.errors import Fault, InputError, nearest_name

    if patterns == ["*"]:
        return
    names = [one.name for selected in named.values() for one in assumptions_of(selected, fidelity)]
    faults = [
        Fault(
            "matches no assumption",
            "--only",
            repr(pattern),
            "a name, or a pattern with *",
            nearest_name(pattern, names),
        )
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in names)
    ]
    if faults:
        raise InputError(faults)


def _report(study: Study) -> str:
    """The flips as a table, and a sentence of the rest."""
    from hostsim.results.scoreboard import number

    rows = [
        (move.assumption, move.end, move.claim, number(move.before), number(move.after), f"{move.was} -> {move.now}")
        for move in study.flips
    ]
    reached = {move.assumption for move in study.moves}
    rest = (
        f"{study.name}: {len(study.assumptions)} assumptions, of which {len(reached)} reach a claim and "
        f"{len({move.assumption for move in study.flips})} flip a verdict; {len(study.refused)} ends are refused"
    )
    return columns(("assumption", "end", "claim", "before", "after", "verdict"), rows) + "\n" + rest


def _tell(done: int, of: int, what: str) -> None:
    typer.echo(f"{done} of {of} {what}", err=True)
