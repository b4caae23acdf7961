"""Commands that compare with known values: ``check``, ``predict``, ``verify``, ``cite``."""

from __future__ import annotations

import fnmatch
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import DryRun, Root, ShardText, Texts, complete_subject, option, percent, repeated
from hostsim.cli.output import Reporter, columns, duration, plain, print_json, say_failed, say_warnings, verdict_table
from hostsim.cli.status import Status
from hostsim.cli.store import run_shard
from hostsim.config.files import is_there, require_file, write_whole
from hostsim.errors import Fault, InputError, nearest_name

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.lab.prediction import Prediction
    from hostsim.results.claim import Citation, Publication
    from hostsim.results.compare import Coverage, PairedDifference
    from hostsim.results.expect import Verdict
    from hostsim.results.junit import Suite
    from hostsim.results.results import Results
    from hostsim.scenario.scenario import Scenario

__all__ = ["check", "cite", "predict", "print_verdicts", "verify"]

MOST_PLACES = 5
"""Number of listed points without a comparison; the others are counted."""


def check(
    context: typer.Context,
    subjects: Annotated[
        Texts,
        typer.Argument(
            metavar="SCENARIO|FILE|CLAIM-GLOB",
            help="Scenarios, files or claims to check; all shipped scenarios by default. A pattern such as '*.40k' selects claims by id.",
            autocompletion=complete_subject,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print strict JSON instead of a table.")] = False,
    junit: Annotated[
        Path | None,
        option("--junit", "FILE", "Also write the verdicts, or with --against the comparison, as JUnit XML."),
    ] = None,
    against: Annotated[
        Path | None,
        option(
            "--against",
            "DIR|FILE",
            "Instead of judging claims, compare every point of the sweep with the results in DIR, or judge the measurements in FILE, a CSV file as for calibrate --to.",
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        option("--tolerance", "PERCENT", "With --against DIR: accepted relative difference; 2 % by default."),
    ] = None,
    root: Root = None,
    *,
    shard: ShardText = None,
    dry_run: DryRun = False,
) -> None:
    """Expectations: value, interval, band, verdict.

    Runs only the points that they need and that the results folder does not contain yet.
    """
    options: RunOptions = context.obj
    share = percent(tolerance or "2 %", "--tolerance")
    if tolerance is not None and (against is None or is_there(against)):
        message = "applies to a comparison with earlier results, not to bands"
        raise InputError(Fault(message, "--tolerance", tolerance, "--against DIR as well"))
    if shard is not None:
        _check_shard(subjects or (), root, options, shard, junit, against, as_json=as_json, dry_run=dry_run)
        return
    if against is None:
        _check_claims(subjects or (), root, options, junit, as_json=as_json, dry_run=dry_run)
    elif is_there(against) or (against.suffix == ".csv" and not against.is_dir()):
        measured = _measured(subjects or (), against, root, options.plugins)
        _check_claims([measured], root, options, junit, as_json=as_json, dry_run=dry_run)
    else:
        swept = _swept(subjects or (), root, options.plugins)
        _check_against(against, swept, share, options, junit, as_json=as_json, dry_run=dry_run)


def _check_shard(
    subjects: Sequence[str],
    root: Path | None,
    options: RunOptions,
    shard: str,
    junit: Path | None,
    against: Path | None,
    *,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Run a part of the points that expectations need, without judging."""
    from hostsim import api

    given = {"--junit": junit is not None, "--against": against is not None, "--json": as_json}
    for name in (name for name, is_given in given.items() if is_given):
        raise InputError(Fault("cannot be combined with --shard, which judges nothing", name))
    chosen = [scenario for scenario, _ in api.select(*subjects, root=root, plugins=options.plugins)]
    run_shard(chosen, options, shard, dry_run=dry_run, sweep=False, expectations=True)


def _measured(subjects: Sequence[str], file: Path, root: Path | None, plugins: Sequence[str | Path]) -> Scenario:
    """The scenario with the given measurements as its expectations."""
    from hostsim import api
    from hostsim.lab.calibration.measured import read_measured

    if len(subjects) != 1:
        given = ", ".join(subjects) or "no scenario"
        raise InputError(
            Fault("measurements belong to one host", "--against", given, "one scenario with --against FILE")
        )
    scenario = api.load(subjects[0], root=root, plugins=plugins)
    return replace(scenario, expectations=read_measured(file, scenario), searched=())


def _check_claims(
    subjects: Sequence[str | Scenario],
    root: Path | None,
    options: RunOptions,
    junit: Path | None,
    *,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Judge the expectations of scenarios, and print and write the verdicts."""
    from hostsim import api
    from hostsim.cli.forecast import dry_run_table
    from hostsim.results import verdicts as scoreboard
    from hostsim.results.junit import verdict_suites

    scenarios = [scenario for scenario, _ in api.select(*subjects, root=root, plugins=options.plugins)]
    if junit is not None:
        require_file(junit, makes_folder=False)
    if dry_run:
        typer.echo(dry_run_table(scenarios, options, sweep=False, expectations=True))
        return
    started = datetime.now(UTC)
    with Reporter() as reporter:
        verdicts = api.check(*subjects, root=root, progress=reporter, options=options)
    quick = options.quick
    if junit is not None:
        _write_junit(junit, verdict_suites(verdicts, quick=quick), started, options)
    if as_json:
        print_json(scoreboard.as_json(verdicts, quick=quick))
    else:
        print_verdicts(verdicts, quick=quick)
    say_warnings(warning for scenario in scenarios for warning in scenario.warnings)
    if not all(scoreboard.is_accepted(verdict, quick=quick) for verdict in verdicts):
        raise typer.Exit(Status.CLAIM)


def _write_junit(file: Path, suites: Sequence[Suite], started: datetime, options: RunOptions) -> None:
    """Write suites as JUnit XML, with the properties of this call."""
    from importlib.metadata import version

    from hostsim.results.junit import document

    fidelity, seed = "quick" if options.quick else "full", str(options.seed)
    properties = {"hostsim": version("hostsim"), "fidelity": fidelity, "seed": seed}
    write_whole(file, document(suites, started, properties).encode())


def print_verdicts(verdicts: Sequence[Verdict], *, quick: bool) -> None:
    """Print verdicts and their tally by kind on stdout, and their reasons and notes on stderr."""
    from hostsim.results.verdicts import TALLY_HEADINGS, as_rows, awaiting_words, headings, outcomes, tally_rows

    typer.echo(verdict_table(headings(verdicts), as_rows(verdicts, quick=quick)))
    typer.echo("\n" + columns(TALLY_HEADINGS, tally_rows(outcomes(verdicts, quick=quick))))
    if words := awaiting_words(verdicts):
        typer.echo(words)
    for verdict in verdicts:
        for text in [*([verdict.reason] if verdict.reason else []), *verdict.notes]:
            typer.echo(f"{verdict.expectation.name}: {text}", err=True)


def _swept(subjects: Sequence[str], root: Path | None, plugins: Sequence[str | Path]) -> list[Scenario]:
    """The scenarios to compare, including those without expectations, whose curves can move too."""
    from hostsim.plugin.source import read_plugins
    from hostsim.scenario.load import load
    from hostsim.scenario.selection import select
    from hostsim.scenario.shipped_data import shipped

    brought = read_plugins(plugins)
    scenarios = [scenario for scenario, _ in select(*subjects, root=root, plugins=brought)]
    files = [file for file in subjects if file not in shipped() and Path(file).is_file()]
    scenarios_by_name = [load(name, plugins=brought) for name in subjects if name in shipped()]
    scenarios_by_name += [load(file, root=root, plugins=brought) for file in files]
    own_files = {scenario.file for scenario in scenarios}
    return [*scenarios, *(scenario for scenario in scenarios_by_name if scenario.file not in own_files)]


def _earlier(folder: Path, scenario: Scenario, options: RunOptions) -> Results:
    """The earlier results of a scenario, checked for its points."""
    from hostsim.campaign.pipeline import ensemble_words
    from hostsim.results.compare import read_baseline, require_axes

    ensemble = ensemble_words(options.fidelity())
    baseline = read_baseline(folder, scenario.name, quick=options.quick, seed=options.seed, ensemble=ensemble)
    try:
        require_axes(baseline.table, list(scenario.axes), "earlier")
    except InputError as error:
        raise error.at(str(folder)) from None
    return baseline


@dataclass
class Comparison:
    """Curves that moved since earlier results, and the coverage of the comparison."""

    moves: list[tuple[str, PairedDifference]] = field(default_factory=list)
    """Moved curves, each with its scenario."""
    points: int = 0
    compared: int = 0
    failed: int = 0
    """Runs."""
    suites: list[Suite] = field(default_factory=list)
    """JUnit suites, one for each scenario."""


def _check_against(
    folder: Path,
    scenarios: Sequence[Scenario],
    tolerance: float,
    options: RunOptions,
    junit: Path | None,
    *,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Sweep each scenario and print the curves that moved since an earlier run."""
    from hostsim.cli.forecast import dry_run_table

    if junit is not None:
        require_file(junit, makes_folder=False)
    before = [_earlier(folder, scenario, options) for scenario in scenarios]
    if dry_run:
        typer.echo(dry_run_table(scenarios, options, sweep=True, expectations=False))
        return
    started = datetime.now(UTC)
    done = _compared(zip(scenarios, before, strict=True), tolerance, options)
    if junit is not None:
        _write_junit(junit, done.suites, started, options)
    if as_json:
        print_json([_move_row(name, move) for name, move in done.moves])
    else:
        _print_moves(done, tolerance)
    if as_json or done.moves:
        typer.echo(f"{done.compared} of {done.points} points compared", err=True)
    if done.failed:
        raise typer.Exit(Status.FAILED_RUNS)
    if done.moves or done.compared < done.points:
        raise typer.Exit(Status.CLAIM)


def _compared(pairs: Iterable[tuple[Scenario, Results]], tolerance: float, options: RunOptions) -> Comparison:
    """Sweep scenarios and compare each with its earlier results."""
    from hostsim import api
    from hostsim.results.compare import coverage, wall_seconds
    from hostsim.results.junit import comparison_suite

    done = Comparison()
    for scenario, then in pairs:
        with Reporter() as reporter:
            results = api.run(scenario, progress=reporter, options=options.model_copy(update={"plugins": []}))
        say_failed(results)
        done.failed += len(results.failed)
        held = coverage(results.table, then.table, results.axes)
        done.points += held.points
        done.compared += held.compared
        _tell_uncompared(scenario.name, held)
        moves: list[PairedDifference] = []
        if len(held.alone) < held.points or not len(results.failed):
            moves = list(api.compare(results, then, tolerance))
        done.moves += [(scenario.name, move) for move in moves]
        done.suites.append(comparison_suite(scenario.name, held, moves, wall_seconds(results.table, results.axes)))
    return done


def _move_row(scenario: str, move: PairedDifference) -> dict[str, object]:
    """A moved curve as an object of JSON."""
    return {
        "scenario": scenario,
        "metric": move.metric,
        "unit": move.unit,
        "at": {axis: plain(value) for axis, value in dict(move.at).items()},
        "before": plain(move.before),
        "after": plain(move.after),
        "low": plain(move.difference.low),
        "high": plain(move.difference.high),
    }


def _print_moves(done: Comparison, tolerance: float) -> None:
    for name, move in done.moves:
        typer.echo(f"{name}: {move}")
    if not done.compared and not done.moves:
        typer.echo(f"no curve could be compared: 0 of {done.points} points have an interval on both sides")
    elif not done.moves:
        at = f"at the {done.compared} of {done.points} points compared"
        typer.echo(f"no curve moved by more than {100 * tolerance:g} % {at}")


def _tell_uncompared(scenario: str, held: Coverage) -> None:
    """Print the points that could not be compared on stderr."""
    for places, why in (
        (held.alone, "has no finished run in common with the earlier results"),
        (held.single, "has only one replication in common, which gives no interval; run both with --replications 3"),
    ):
        for at in places[:MOST_PLACES]:
            typer.echo(f"{scenario}{f' at {at}' if at else ''}: {why}", err=True)
        if len(places) > MOST_PLACES:
            typer.echo(f"{scenario}: the same applies to {len(places) - MOST_PLACES} more points", err=True)


def predict(
    context: typer.Context,
    subjects: Annotated[
        Texts,
        typer.Argument(
            metavar="SCENARIO|FILE|MEASUREMENT-GLOB",
            help="Scenarios, files or measurements to predict; all shipped predictions by default. A pattern such as '*-latency.*' selects measurements by id.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print strict JSON instead of tables.")] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record-first",
            help="Write the values to first.yaml beside the scenario; refused if it already has one of them, or if the inputs are not committed.",
        ),
    ] = False,
    root: Root = None,
    *,
    dry_run: DryRun = False,
) -> None:
    """Predictions: published, first and today's value.

    Lists measurements to which no constant is fitted, each with its first prediction, which never changes, and today's;
    both are scored by kind. A miss is not a failure; the exit status is 1 only if a measurement has no value.
    """
    options: RunOptions = context.obj
    from hostsim import api
    from hostsim.cli.forecast import dry_run_table
    from hostsim.lab import prediction
    from hostsim.lab.prediction import as_json as plain
    from hostsim.scenario.shipped_data import predictions

    if record and options.ensemble:
        allowed = "a first prediction uses the shipped constants"
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
        predicted = prediction.predict(chosen, runs, options.execution(reporter))
    if record:
        prediction.record_first(chosen, commits, predicted, runs)
        predicted = prediction.with_ledgers(chosen, predicted)
    if as_json:
        print_json(plain(predicted))
    else:
        _print_tables(predicted)
    say_warnings(warning for scenario in scenarios for warning in scenario.warnings)
    if any(entry.verdict.value is None for entry in predicted):
        raise typer.Exit(Status.CLAIM)


def _print_tables(predictions: list[Prediction]) -> None:
    """Print the predictions and their scores on stdout, and their reasons and notes on stderr."""
    from hostsim.lab.prediction import SCORE_HEADINGS, headings, rows, score_rows

    typer.echo(
        columns(headings(predictions), rows(predictions)) + "\n\n" + columns(SCORE_HEADINGS, score_rows(predictions))
    )
    for entry in predictions:
        verdict = entry.verdict
        for text in [*([verdict.reason] if verdict.reason else []), *verdict.notes]:
            typer.echo(f"{entry.measurement.id}: {text}", err=True)


def verify(
    context: typer.Context,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, and intervals five times as wide.")] = False,
    only: Annotated[Texts, repeated("--only", "TEXT", "Only cases whose names contain this text.")] = None,
) -> None:
    """Compare parts of the simulator with queueing theory.

    Cases with known answers are simulated with the scheduler, rings, coalescing, poll budgets and arrivals. A mean
    passes if its 99.9 % interval contains the answer and is narrow enough; the exit status is 1 unless all pass.
    """
    options: RunOptions = context.obj
    from hostsim.lab.verification.runner import FULL, HEADINGS, QUICK, all_passed, oracles, rows
    from hostsim.lab.verification.runner import verify as run

    cases = oracles()
    chosen = [oracle for oracle in cases if not only or any(text in oracle.name for text in only)]
    if not chosen:
        names = ", ".join(oracle.name for oracle in cases)
        raise InputError(Fault("matches no case", "--only", ", ".join(map(repr, only or ())), names))
    started = time.monotonic()
    effort = QUICK if quick else FULL
    results = run(chosen, seed=options.seed, effort=effort, jobs=options.jobs, progress=_tell)
    typer.echo(verdict_table(HEADINGS, rows(results)))
    typer.echo(f"took {duration(time.monotonic() - started)}", err=True)
    if not all_passed(results):
        raise typer.Exit(Status.CLAIM)


def _tell(done: int, total: int) -> None:
    """Print the number of finished runs in a line that is overwritten; on terminals only."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} runs", end="\n" if done == total else "", file=sys.stderr, flush=True)


OWN = "hostsim"
"""Key of hostsim's own entry in the bibliography."""


def cite(
    subjects: Annotated[
        Texts,
        typer.Argument(
            metavar="SCENARIO|FILE|CLAIM-GLOB|SUBJECT",
            help="Scenarios, ids of claims and measurements, or subjects such as 'facts 2.1'; hostsim itself by default.",
            autocompletion=complete_subject,
        ),
    ] = None,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print BibTeX entries.")] = False,
    root: Root = None,
) -> None:
    """Sources of claims and inputs, or hostsim's own citation.

    Prints each publication with its address, the claims taken from it, and the constants and inputs of the scenario
    that cite it. For a subject, which texts name in parentheses, it prints a summary of each publication.
    """
    from hostsim.results.claim import bibtex as as_bibtex
    from hostsim.scenario.shipped_data import bibliography

    if not subjects:
        own = bibliography().entries[OWN]
        typer.echo(as_bibtex([own]) if bibtex else _own(own))
        return
    cited: dict[Publication, dict[str, list[str]]] = {}
    for citation, subject_text in _citations(subjects, root):
        users = cited.setdefault(citation.publication, {}).setdefault(citation.at, [])
        if subject_text not in users:
            users.append(subject_text)
    if bibtex:
        typer.echo(as_bibtex(cited))
        return
    for publication, places in cited.items():
        typer.echo(publication.words)
        for line in (publication.address, publication.note):
            if line:
                typer.echo(f"  {line}")
        for at, users in places.items():
            typer.echo(f"  {f'{at}: ' if at else ''}{', '.join(users)}")


def _own(own: Publication) -> str:
    from importlib.metadata import version

    return f"{own.words}, version {version('hostsim')}. {own.note}."


def _citations(subjects: Sequence[str], root: Path | None) -> Iterator[tuple[Citation, str]]:
    """Every citation of the subjects, with the citing claim or input, or with a summary of the publication.

    Raises:
        InputError: a subject is neither a scenario, a file, a subject of the bibliography nor a pattern that matches a claim or a measurement.
    """
    from hostsim.scenario.shipped_data import bibliography, claims, measurements, predictions, shipped

    citable = [*claims(), *measurements()]
    scenarios, facts = shipped() | predictions(), bibliography().subjects
    for subject in subjects:
        if subject in facts:
            yield from facts[subject].facts
            continue
        if subject in scenarios or Path(subject).is_file():
            yield from _of_scenario(subject, root)
            continue
        names = [name for name in citable if fnmatch.fnmatchcase(name, subject)]
        if not names:
            raise InputError(
                Fault(
                    "no scenario, claim, measurement or subject has this name",
                    given=repr(subject),
                    allowed="a scenario, a file, a pattern of claim ids, or a subject such as 'facts 2.1'",
                    nearest=nearest_name(subject, [*scenarios, *citable, *facts]),
                )
            )
        for name in names:
            yield from ((citation, name) for citation in bibliography().of_claim(name))


def _of_scenario(subject: str, root: Path | None) -> Iterator[tuple[Citation, str]]:
    """The citations of a scenario's expectations, then those of its constants and assumed inputs at the first point."""
    from hostsim import api
    from hostsim.scenario.cost_model import constants_at
    from hostsim.scenario.shipped_data import bibliography

    scenario, publications = api.load(subject, root=root), bibliography()
    for expectation in scenario.expectations:
        yield from ((citation, expectation.name) for citation in publications.of_claim(expectation.name))
    for constant in constants_at(scenario, {name: axis.values[0] for name, axis in scenario.axes.items()}):
        yield from ((citation, constant.name) for citation in publications.of_text(constant.text))
