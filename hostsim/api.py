"""The public verbs: load a scenario, run its sweep, check what it expects, open what an earlier run left.

Each is a composition of the steps of the straight path and holds no logic of its own; the command line is thin over it.
Every verb shares one results folder, so that only what is missing is ever run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostsim.campaign.limit import Limits, limits
from hostsim.errors import Fault, InputError, StoreError
from hostsim.expect import SearchAnswer, Verdict
from hostsim.record import RunRecord
from hostsim.report.folder import Assumption, Cost, Results, Setting, read
from hostsim.scenario.load import load
from hostsim.scenario.published import shipped
from hostsim.scenario.selection import cut, select
from hostsim.units import ps_to_seconds

if TYPE_CHECKING:
    from hostsim.campaign.drive import Outcome, Progress, RecordKey
    from hostsim.campaign.store import Store
    from hostsim.results.compare import Move
    from hostsim.scenario.points import Fidelity, Plan
    from hostsim.scenario.scenario import Scenario

__all__ = [
    "Results",
    "Tell",
    "check",
    "compare",
    "fidelity",
    "load",
    "longest_warm_up",
    "open_results",
    "plan",
    "reproduce",
    "run",
    "select",
]

Tell = Callable[[str, "Progress"], None]
"""Told the scenario's name and where it stands, at its start and after each run."""

RESULTS = Path("results")
"""Results folder where none is given: below the working directory."""


def run(
    scenario: str | Path | Scenario,
    *,
    overrides: Mapping[str, str] | None = None,
    axes: Mapping[str, str] | None = None,
    quick: bool = False,
    seed: int = 1,
    replications: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    results: str | Path = RESULTS,
    max_memory: int | None = None,
    max_time: float | None = None,
    expectations: bool = False,
    progress: Tell | None = None,
) -> Results:
    """Run the sweep of a scenario, as far as the results folder does not hold it yet.

    Args:
        scenario: name of a shipped one, path of a file, or one that `load` returned.
        overrides: values by dotted path, as after ``--set``; not with a loaded scenario.
        axes: values of axes by name, as after ``--axis``; not with a loaded scenario.
        quick: short runs and few replications.
        seed: root seed; replication r of every point draws from (seed, r).
        replications: runs of each point; what the scenario says where None.
        jobs: worker processes, one each processor where None; 1 runs in this process.
        cluster: address of a Dask scheduler to run on instead.
        results: folder that keeps every run.
        max_memory: bytes that the process of a run may need; a run that needs more fails as a row.
        max_time: seconds on the wall clock that a run may take, likewise.
        expectations: run what the expectations need as well; without it only those are judged whose runs are there.
        progress: told where things stand.

    Raises:
        InputError: what was asked for cannot be; carries every fault.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    chosen = _chosen(scenario, overrides, axes)
    runs = fidelity(quick=quick, seed=seed, replications=replications)
    store = _store(results)
    wanted = plan(chosen, runs, expectations=expectations)
    outcome = _run_all(wanted, store, jobs, cluster, limits(max_memory, max_time), progress)
    records, answers = dict(outcome.records), dict(outcome.answers)
    if not expectations:
        for extra in _stored(chosen, runs, store):
            records = {**extra.records, **records}  # points that differ in axes only: the sweep has told them apart
            answers |= extra.answers
    return _results(chosen, runs, plan(chosen, runs), records, answers)


def check(
    *subjects: str | Path | Scenario,
    quick: bool = False,
    seed: int = 1,
    replications: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    results: str | Path = RESULTS,
    max_memory: int | None = None,
    max_time: float | None = None,
    progress: Tell | None = None,
) -> list[Verdict]:
    """Judge expectations, running only what they need and the results folder does not hold.

    Args:
        subjects: names of shipped scenarios, paths of files, loaded scenarios, or patterns of claim ids (``split*.40k``);
            all shipped scenarios where there is none.
        quick: short runs and few replications.
        seed: root seed.
        replications: runs of each point; what the scenario says where None.
        jobs: worker processes, one each processor where None; 1 runs in this process.
        cluster: address of a Dask scheduler to run on instead.
        results: folder that keeps every run.
        max_memory: bytes that the process of a run may need; a run that needs more fails.
        max_time: seconds on the wall clock that a run may take, likewise.
        progress: told where things stand.

    Returns:
        The verdicts, in the order of the scenarios and of their expectations.

    Raises:
        InputError: a subject is none of these, or a file is wrong; carries every fault.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    runs = fidelity(quick=quick, seed=seed, replications=replications)
    store = _store(results)
    verdicts: list[Verdict] = []
    for scenario, names in select(*subjects):
        wanted = plan(scenario, runs, sweep=False, expectations=True)
        outcome = _run_all(wanted, store, jobs, cluster, limits(max_memory, max_time), progress)
        judged = _judge(scenario, outcome.records, outcome.answers)
        verdicts += [verdict for verdict in judged if verdict.expectation.name in names]
    return verdicts


def compare(after: Results, before: str | Path, tolerance: float) -> list[Move]:
    """What has moved against an earlier run of the same scenario.

    Args:
        after: the run in question.
        before: a folder that `hostsim run` wrote, or one with such folders by scenario.
        tolerance: share of the earlier mean that a certain difference may reach; 0.02 is 2 %.

    Raises:
        InputError: the earlier run is of another scenario, seed or fidelity, or they share no point.
        StoreError: there is no earlier run.
    """
    from hostsim.plots.scale import axes_of
    from hostsim.results.compare import compare as compare_tables

    folder = Path(before) / after.scenario
    earlier = read(folder if folder.is_dir() else Path(before))
    faults = [
        Fault(f"the earlier run has another {name}", "--against", str(then), str(now), file=str(before))
        for name, then, now in (
            ("scenario", earlier.scenario, after.scenario),
            ("fidelity", "quick" if earlier.quick else "full", "quick" if after.quick else "full"),
            ("seed", earlier.provenance["seed"], after.provenance["seed"]),
        )
        if then != now
    ]
    if faults:
        raise InputError(faults)
    return compare_tables(after.table, earlier.table, axes_of(after.table), tolerance)


def reproduce(
    *,
    quick: bool = False,
    seed: int = 1,
    replications: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    results: str | Path = RESULTS,
    max_memory: int | None = None,
    max_time: float | None = None,
    progress: Tell | None = None,
) -> list[Results]:
    """Run every shipped scenario, sweep and expectations, and write each one's folder and one report of all.

    The arguments are those of `run`. The report is ``report.html`` in the results folder.
    """
    from hostsim.report.folder import write
    from hostsim.report.page import write_report

    found = []
    for scenario in [load(name) for name in shipped()]:
        found.append(
            run(
                scenario,
                quick=quick,
                seed=seed,
                replications=replications,
                jobs=jobs,
                cluster=cluster,
                results=results,
                max_memory=max_memory,
                max_time=max_time,
                expectations=True,
                progress=progress,
            )
        )
        write(found[-1], Path(results) / scenario.name)
    write_report(Path(results) / "report.html", found, title="Reproduction of the published experiments")
    return found


def open_results(folder: str | Path) -> Results:
    """What an earlier run wrote, without running anything.

    Raises:
        StoreError: the folder holds no results, or they cannot be read.
    """
    return read(Path(folder))


def longest_warm_up(found: Results, results: str | Path = RESULTS) -> RunRecord:
    """The run of earlier results that lost the greatest part to warm-up, as the results folder keeps it.

    Args:
        found: the results.
        results: folder that keeps every run.

    Raises:
        InputError: none of the runs has finished.
        StoreError: the folder does not hold the run, or another version of the code made it.
    """
    from hostsim.plots.scale import axes_of

    share = (found.table["cut_s"] / found.table["length_s"]).dropna()
    if share.empty:
        raise InputError(Fault("no run has finished", given=found.scenario))
    row: dict[Any, Any] = found.table.loc[[share.idxmax()]].to_dict("records")[0]
    record = _store(results).get((str(row["point"]), int(row["replication"]), int(row["seed"])))
    if record is None:
        raise StoreError(
            f"{results}: does not hold the runs of {found.scenario} as this version makes them; run it again"
        )
    # another scenario may have run the same point under other axes
    return replace(record, axes={axis: row[axis] for axis in axes_of(found.table)})


def plan(scenario: Scenario, runs: Fidelity, *, sweep: bool = True, expectations: bool = False) -> Plan:
    """The runs of a sweep, of the expectations, or of both."""
    from hostsim.scenario.points import points

    return points(scenario, runs, sweep=sweep, expectations=expectations)


def _chosen(
    scenario: str | Path | Scenario, overrides: Mapping[str, str] | None, axes: Mapping[str, str] | None
) -> Scenario:
    if isinstance(scenario, str | Path):
        return load(scenario, overrides or {}, axes or {})
    if overrides or axes:
        raise InputError(Fault("overrides and axes go with a scenario by name or file, not with a loaded one"))
    return scenario


def fidelity(*, quick: bool, seed: int, replications: int | None) -> Fidelity:
    """How long and how often points are run.

    Raises:
        InputError: a number that cannot be.
    """
    from hostsim.scenario.points import Fidelity

    faults = [
        Fault("is out of range", name, str(value), f"an integer from {least}")
        for name, value, least in (("seed", seed, 0), ("replications", replications, 1))
        if value is not None and value < least
    ]
    if faults:
        raise InputError(faults)
    return Fidelity(quick=quick, seed=seed, replications=replications)


def _store(results: str | Path) -> Store:
    from hostsim.campaign.store import Store

    return Store(Path(results))


def _run_all(
    wanted: Plan, store: Store, jobs: int | None, cluster: str | None, allowed: Limits, progress: Tell | None
) -> Outcome:
    from hostsim.campaign.drive import run_all

    def tell(standing: Progress) -> None:
        if progress is not None:
            progress(wanted.scenario.name, standing)

    outcome = run_all(wanted, store, jobs=jobs, cluster=cluster, limits=allowed, progress=tell)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome


def _stored(scenario: Scenario, runs: Fidelity, store: Store) -> Iterable[Outcome]:
    """What the store holds for the expectations, those whose runs are all there."""
    from hostsim.campaign.drive import preview, run_all

    for expectation in scenario.expectations:
        wanted = plan(cut(scenario, [expectation.name]), runs, sweep=False, expectations=True)
        standing = preview(wanted, store)
        if standing.done == standing.total:
            yield run_all(wanted, store, jobs=1)


def _judge(
    scenario: Scenario, records: Mapping[RecordKey, RunRecord], answers: Mapping[str, SearchAnswer]
) -> list[Verdict]:
    from hostsim.results.judge import judge
    from hostsim.scenario.published import known_red

    return judge(scenario.expectations, scenario.name, records.values(), answers, known_red())


def _results(
    scenario: Scenario,
    runs: Fidelity,
    sweep: Plan,
    records: Mapping[RecordKey, RunRecord],
    answers: Mapping[str, SearchAnswer],
) -> Results:
    from hostsim.campaign.store import code_digest
    from hostsim.results.context import fullest_contexts
    from hostsim.results.table import to_table

    changes = [f"{row.name}={row.value}" for row in scenario.settings if row.origin == "--set"]
    rows: dict[str, list[RecordKey]] = {task.point.id: [] for task in sweep.tasks}
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
        verdicts=tuple(_judge(scenario, records, answers)),
        settings=tuple(Setting(row.name, str(row.value), row.origin) for row in scenario.settings),
        assumptions=tuple(
            Assumption(row.path, str(row.value), row.reason, " to ".join(map(str, row.range)))
            for row in scenario.assumptions
        ),
        warnings=tuple(scenario.warnings),
        provenance=table.attrs["provenance"],
        quick=runs.quick,
        cost=_cost(records.values()),
        contexts=fullest_contexts(records[key] for keys in rows.values() for key in keys),
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
