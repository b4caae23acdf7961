"""The pipeline from scenarios to results: plan, execute, tabulate, judge.

One straight path, from top to bottom::

    Scenario   -> Plan       hostsim.scenario.planner: points, replications, searches; hostsim.campaign.interim_analysis: further replications
    Plan       -> Outcome    hostsim.campaign.driver: records from the results folder, or from new runs
    records    -> table      hostsim.results.table: one row for each point and replication
    records    -> Verdicts   hostsim.results.judge: every expectation against its band
    all of it  -> Results

`run_sweep` does all steps for one scenario, `run_sweeps` for several at the same time. `execute_all` and `judge_expectations` stop at
verdicts, without a table; `execute` stops at records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from hostsim.campaign.driver import Observer, Outcome, Progress, run_together, stored_outcome
from hostsim.campaign.interim_analysis import plan_with_looks
from hostsim.campaign.store import Store, StoredRecords, code_digest
from hostsim.campaign.task import NO_LIMITS, ResourceLimits
from hostsim.results.figure import measures_of_subjects
from hostsim.results.results import AssumedInput, LazyRecords, Results, runs_frame
from hostsim.results.search_answer import SearchAnswer
from hostsim.results.verdicts import Verdicts
from hostsim.scenario.plan import Fidelity, Plan, Records
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.scenario.shipped_data import bibliography, known_red, predictions, shipped
from hostsim.scenario.source import PYTHON, TEXT

if TYPE_CHECKING:
    from hostsim.campaign.shard import Shard
    from hostsim.results.claim import Citation
    from hostsim.results.point_estimate import RunSource
    from hostsim.results.sweep_summary import SweepSummary

__all__ = [
    "ExecutionOptions",
    "ProgressListener",
    "ensemble_words",
    "execute",
    "execute_all",
    "judge_expectations",
    "run_shard",
    "run_sweep",
    "run_sweeps",
]

ProgressListener = Callable[[str, Progress], None]
"""Called with the scenario's name and its progress, at the start and after each run."""


@dataclass(frozen=True)
class ExecutionOptions:
    """Execution options: store, workers and limits. Results do not depend on them."""

    store: Store
    """Stores every run."""
    jobs: int | None = None
    """Worker processes; None for one per processor, 1 for this process."""
    cluster: str | None = None
    """Address of a Dask scheduler to run on instead."""
    progress: ProgressListener | None = None
    limits: ResourceLimits = NO_LIMITS
    """Memory and time of a run; a run beyond them fails."""


def run_sweep(
    scenario: Scenario, fidelity: Fidelity, execution: ExecutionOptions, *, expectations: bool = False
) -> Results:
    """Run the sweep of a scenario and judge its expectations.

    Args:
        scenario: the scenario to run.
        fidelity: lengths and numbers of runs.
        execution: store, workers and limits.
        expectations: also run what the expectations need; without it only those with stored runs are judged.

    Raises:
        InputError: the execution options cannot be met.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    [results] = run_sweeps([scenario], fidelity, execution, expectations=expectations)
    return results


def run_sweeps(
    scenarios: Sequence[Scenario], fidelity: Fidelity, execution: ExecutionOptions, *, expectations: bool = True
) -> Iterator[Results]:
    """Run the sweeps of several scenarios concurrently, and yield their results one by one.

    The arguments and errors are those of `run_sweep`.
    """
    plans = [plan_with_looks(scenario, fidelity, expectations=expectations) for scenario in scenarios]
    summaries = {id(plan): _summary(plan) for plan in plans}
    observer = Observer(
        lambda plan, task: summaries[id(plan)].taking(*task.key), lambda plan, taken: summaries[id(plan)].add(taken)
    )
    outcomes = execute_all(plans, execution, observer)
    for plan, outcome in zip(plans, outcomes, strict=True):
        summary = summaries.pop(id(plan))
        records, answers = outcome.records, dict(outcome.answers)
        if not expectations:
            for extra in _stored_outcomes(plan.scenario, fidelity, execution.store, summary):
                records = records.after(extra.records)  # the sweep distinguishes points that differ only in axes
                answers |= extra.answers
        yield _results(plan, summary, records, answers)


def run_shard(plans: Sequence[Plan], shard: Shard, execution: ExecutionOptions) -> tuple[int, int]:
    """Run a shard of several plans: its runs are stored, and nothing is judged.

    Returns:
        Number of its runs, and of those that failed.

    Raises:
        InputError: the execution options cannot be met.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    from hostsim.campaign.shard import deal

    errors: list[str | None] = []
    observer = Observer(lambda _plan, _task: attrgetter("error"), lambda _plan, error: errors.append(error))
    outcomes = execute_all(deal(plans, shard), execution, observer)
    return sum(len(outcome.records) for outcome in outcomes), sum(error is not None for error in errors)


def execute(plan: Plan, execution: ExecutionOptions) -> Outcome:
    """Execute one plan: run its missing runs; errors as for `execute_all`."""
    [outcome] = execute_all([plan], execution)
    return outcome


def execute_all(plans: Sequence[Plan], execution: ExecutionOptions, observe: Observer | None = None) -> list[Outcome]:
    """Execute several plans concurrently: run their missing runs.

    Args:
        plans: the plans.
        execution: store, workers and limits.
        observe: gets each run of each plan once, as soon as it is available.

    Raises:
        InputError: the execution options cannot be met.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    names = [plan.scenario.name for plan in plans]
    labels = {
        id(plan): plan.scenario.name if names.count(plan.scenario.name) == 1 else f"{plan.scenario.name} ({count})"
        for count, plan in enumerate(plans, 1)
    }

    def report(plan: Plan, progress: Progress) -> None:
        if execution.progress is not None:
            execution.progress(labels[id(plan)], progress)

    outcomes = run_together(
        plans,
        execution.store,
        jobs=execution.jobs,
        cluster=execution.cluster,
        limits=execution.limits,
        progress=report,
        observe=observe,
    )
    if any(outcome.interrupted for outcome in outcomes):
        raise KeyboardInterrupt
    return outcomes


def judge_expectations(
    scenario: Scenario,
    records: Records,
    answers: Mapping[str, SearchAnswer],
    fidelity: Fidelity,
) -> Verdicts:
    """Judge a scenario's expectations by existing runs; a verdict on a changed host has a note of the change."""
    from hostsim.results.judge import judge

    quick, is_ensemble = fidelity.quick, fidelity.ensemble is not None
    length_ps = (scenario.run.quick if quick else scenario.run.full).length_ps
    runs = _sources(records, length_ps) if isinstance(records, StoredRecords) else records.values()
    red = known_red(other_runs=fidelity != Fidelity(quick=True))
    verdicts = judge(scenario.expectations, scenario.name, runs, answers, red, is_ensemble=is_ensemble)
    if scenario.changed:
        note = "of a changed host: " + "; ".join(f"{path}={value}" for path, value in scenario.changed.items())
        verdicts = [replace(verdict, notes=(note, *verdict.notes)) for verdict in verdicts]
    return Verdicts(verdicts, quick=quick)


def _sources(records: StoredRecords, length_ps: int) -> Iterator[RunSource]:
    """Properties of runs that are known before their records are read; expectations ignore shorter runs."""
    from hostsim.results.point_estimate import RunSource

    for key in records:
        read, is_whole = partial(records.__getitem__, key), records.length_ps(key) >= length_ps
        yield RunSource(records.axes(key), key[1], records.wall_s(key), read, is_whole)


def _stored_outcomes(scenario: Scenario, fidelity: Fidelity, store: Store, summary: SweepSummary) -> Iterable[Outcome]:
    """Outcomes of expectations with all runs stored; the summary gets their records."""
    for expectation in scenario.expectations:
        plan = plan_with_looks(restrict(scenario, [expectation.name]), fidelity, sweep=False)
        observer = Observer(lambda _plan, task: summary.taking(*task.key), lambda _plan, taken: summary.add(taken))
        outcome = stored_outcome(plan, store, observer)
        if outcome is not None:
            yield outcome


def _summary(plan: Plan) -> SweepSummary:
    """An empty summary for a plan's runs."""
    from hostsim.results.sweep_summary import SweepSummary

    single = not plan.searches and len({task.point.id for task in plan.tasks}) == len(plan.tasks)
    measures = measures_of_subjects(plan.scenario.figures)
    return SweepSummary((point.id for point in plan.swept), single=single, of_subjects=measures)


def _results(plan: Plan, summary: SweepSummary, records: StoredRecords, answers: Mapping[str, SearchAnswer]) -> Results:
    """The results of a plan: tables of its sweep, verdicts, and provenance."""
    from hostsim.results.table import with_members

    scenario, fidelity = plan.scenario, plan.fidelity
    changes = [f"{path}={value}" for path, value in scenario.departures.items()]
    brought = [f"{plugin.name} {plugin.digest}" for plugin in scenario.plugins]
    table = summary.table(
        records,
        records.flags,
        {
            "scenario": scenario.name,
            **_origin(scenario),
            "fidelity": "quick" if fidelity.quick else "full",
            "code": code_digest(),
            "seed": str(fidelity.seed),
            **({"set": "; ".join(changes)} if changes else {}),
            **({"plugins": "; ".join(brought)} if brought else {}),
            **({"ensemble": ensemble_words(fidelity)} if fidelity.ensemble else {}),
        },
    )
    if fidelity.ensemble:
        table = with_members(table, fidelity.ensemble.number_of)
    failed = int((table["error"] != "").sum())
    if failed:
        table.attrs["provenance"]["partial"] = f"{failed} of {len(table)} runs failed"
    return Results(
        scenario=scenario.name,
        question=scenario.question,
        table=table,
        figures=tuple(scenario.figures),
        verdicts=judge_expectations(scenario, records, answers, fidelity),
        settings=scenario.settings,
        assumptions=tuple(
            AssumedInput(row.path, str(row.value), row.reason, " to ".join(map(str, row.range)))
            for row in scenario.assumptions
        ),
        citations=_citations(scenario),
        warnings=tuple(scenario.warnings),
        provenance=table.attrs["provenance"],
        changed=scenario.changed,
        quick=fidelity.quick,
        usage=summary.usage(records),
        contexts=summary.contexts(),
        cpu=summary.cpu(records),
        subjects=summary.subjects(records),
        bottlenecks=summary.bottlenecks(),
        runs=runs_frame(
            (run.point, run.replication, run.seed, run.axes, run.warnings, run.flag) for run in records.index()
        ),
        records=LazyRecords(records),
    )


def ensemble_words(fidelity: Fidelity) -> str:
    """File and digest of the ensemble of a fidelity; empty without one."""
    return f"{fidelity.ensemble.name} {fidelity.ensemble.digest[:12]}" if fidelity.ensemble else ""


def _origin(scenario: Scenario) -> dict[str, str]:
    """Provenance of a scenario that is not shipped: its file, or its origin in Python."""
    if scenario.file in (*shipped().values(), *predictions().values()):
        return {}
    return {"source" if scenario.source.name in (PYTHON, TEXT) else "file": scenario.source.name}


def _citations(scenario: Scenario) -> dict[str, tuple[Citation, ...]]:
    """The publications behind a scenario's expectations, and behind the reasons of its assumed inputs."""
    publications = bibliography()
    cited = {entry.name: publications.of_claim(entry.name) for entry in scenario.expectations}
    cited |= {row.path: publications.of_text(row.reason) for row in scenario.assumptions}
    return {name: citations for name, citations in cited.items() if citations}
