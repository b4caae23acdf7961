"""Scenarios, from their plans to their results: the steps of the straight path in a row.

Runs only what the results folder does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hostsim.campaign.drive import Outcome, Progress, RecordKey, preview, run_all, run_together
from hostsim.campaign.limit import NO_LIMITS, Limits
from hostsim.campaign.store import Store, code_digest
from hostsim.expect import SearchAnswer
from hostsim.record import RunRecord
from hostsim.report.results import Assumption, Cost, Results, Setting
from hostsim.report.verdicts import Verdicts
from hostsim.scenario.points import points
from hostsim.scenario.published import known_red
from hostsim.scenario.selection import cut
from hostsim.units import ps_to_seconds

if TYPE_CHECKING:
    from hostsim.scenario.points import Fidelity, Plan
    from hostsim.scenario.scenario import Scenario

__all__ = ["Means", "Tell", "finish", "finish_together", "judged", "sweep", "sweep_together"]

Tell = Callable[[str, Progress], None]
"""Told the scenario's name and where it stands, at its start and after each run."""


@dataclass(frozen=True, slots=True)
class Means:
    """What runs are made with."""

    store: Store
    """Keeps every run."""
    jobs: int | None = None
    """Worker processes; one each processor where None, this process where 1."""
    cluster: str | None = None
    """Address of a Dask scheduler to run on instead."""
    progress: Tell | None = None
    limits: Limits = NO_LIMITS
    """What a run may need; one that needs more fails."""


def sweep(scenario: Scenario, runs: Fidelity, means: Means, *, expectations: bool = False) -> Results:
    """Run the sweep of a scenario and judge what it expects.

    Args:
        scenario: what to run.
        runs: how long and how often.
        means: what with.
        expectations: run what the expectations need as well; without it only those are judged whose runs are there.

    Raises:
        InputError: ``means`` cannot be met.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    outcome = finish(points(scenario, runs, expectations=expectations), means)
    records, answers = dict(outcome.records), dict(outcome.answers)
    if not expectations:
        for extra in _stored(scenario, runs, means.store):
            records = {**extra.records, **records}  # points that differ in axes only: the sweep has told them apart
            answers |= extra.answers
    return _results(scenario, runs, points(scenario, runs, expectations=False), records, answers)


def sweep_together(scenarios: Sequence[Scenario], runs: Fidelity, means: Means) -> Iterator[Results]:
    """Run the sweeps of several scenarios and all that they expect at the same time, then give the results of one after the other.

    The arguments and errors are those of `sweep`.
    """
    outcomes = finish_together([points(scenario, runs) for scenario in scenarios], means)
    for scenario, outcome in zip(scenarios, outcomes, strict=True):
        swept = points(scenario, runs, expectations=False)
        yield _results(scenario, runs, swept, dict(outcome.records), outcome.answers)


def finish(wanted: Plan, means: Means) -> Outcome:
    """Run what is missing of a plan; raises what `finish_together` does."""
    [outcome] = finish_together([wanted], means)
    return outcome


def finish_together(wanted: Sequence[Plan], means: Means) -> list[Outcome]:
    """Run what is missing of several plans, all at the same time.

    Raises:
        InputError: ``means`` cannot be met.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """

    def tell(whose: Plan, standing: Progress) -> None:
        if means.progress is not None:
            means.progress(whose.scenario.name, standing)

    outcomes = run_together(
        wanted, means.store, jobs=means.jobs, cluster=means.cluster, limits=means.limits, progress=tell
    )
    if any(outcome.interrupted for outcome in outcomes):
        raise KeyboardInterrupt
    return outcomes


def judged(
    scenario: Scenario,
    records: Mapping[RecordKey, RunRecord],
    answers: Mapping[str, SearchAnswer],
    *,
    quick: bool,
) -> Verdicts:
    """The verdicts on what a scenario expects, by the runs that there are."""
    from hostsim.results.judge import judge

    found = judge(scenario.expectations, scenario.name, records.values(), answers, known_red())
    if scenario.changed:
        note = "of a changed host: " + "; ".join(f"{path}={value}" for path, value in scenario.changed.items())
        found = [replace(verdict, notes=(note, *verdict.notes)) for verdict in found]
    return Verdicts(found, quick=quick)


def _stored(scenario: Scenario, runs: Fidelity, store: Store) -> Iterable[Outcome]:
    """What the store holds for the expectations, those whose runs are all there."""
    for expectation in scenario.expectations:
        wanted = points(cut(scenario, [expectation.name]), runs, sweep=False)
        standing = preview(wanted, store)
        if standing.done == standing.total:
            yield run_all(wanted, store, jobs=1)


def _results(
    scenario: Scenario,
    runs: Fidelity,
    swept: Plan,
    records: Mapping[RecordKey, RunRecord],
    answers: Mapping[str, SearchAnswer],
) -> Results:
    from hostsim.results.context import fullest_contexts
    from hostsim.results.cpu_time import cpu_by_point
    from hostsim.results.table import to_table

    changes = [f"{path}={value}" for path, value in scenario.departures.items()]
    rows: dict[str, list[RecordKey]] = {task.point.id: [] for task in swept.tasks}
    for key in records:
        if key[0] in rows:  # a point may have more replications than every point has at first
            rows[key[0]].append(key)
    table = to_table(
        [records[key] for keys in rows.values() for key in sorted(keys)],
        provenance={
            "scenario": scenario.name,
            "fidelity": "quick" if runs.quick else "full",
            "code": code_digest(),
            "seed": str(runs.seed),
            **({"set": "; ".join(changes)} if changes else {}),
        },
    )
    failed = int((table["error"] != "").sum())
    if failed:
        table.attrs["provenance"]["partial"] = f"{failed} of {len(table)} runs failed"
    return Results(
        scenario=scenario.name,
        question=scenario.question,
        table=table,
        figures=tuple(scenario.figures),
        verdicts=judged(scenario, records, answers, quick=runs.quick),
        settings=tuple(Setting(row.name, str(row.value), row.origin) for row in scenario.settings),
        assumptions=tuple(
            Assumption(row.path, str(row.value), row.reason, " to ".join(map(str, row.range)))
            for row in scenario.assumptions
        ),
        warnings=tuple(scenario.warnings),
        provenance=table.attrs["provenance"],
        changed=scenario.changed,
        quick=runs.quick,
        cost=_cost(records.values()),
        contexts=fullest_contexts(records[key] for keys in rows.values() for key in keys),
        cpu=cpu_by_point(records[key] for keys in rows.values() for key in keys),
        records=tuple(records.values()),
    )


def _cost(records: Iterable[RunRecord]) -> Cost:
    finished = [record for record in records if record.error is None]
    return Cost(
        runs=len(finished),
        simulated_s=sum(ps_to_seconds(int(record.instants_ps[-1])) for record in finished),
        dispatches=sum(int(record.facts.get("dispatches", 0)) for record in finished),
        wall_s=sum(float(record.facts.get("wall_s", 0.0)) for record in finished),
    )
