"""The public verbs: load a scenario, run its sweep, check what it expects, open what an earlier run left.

Each is a composition of the steps of the straight path; the command line is thin over it. All share one results folder, so that only what is missing is ever run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostsim.errors import Fault, InputError, StoreError, is_integer
from hostsim.record import RunRecord, Scalar
from hostsim.report.earlier import earlier
from hostsim.report.folder import read
from hostsim.report.moves import Moves
from hostsim.report.results import Results
from hostsim.report.verdicts import Verdicts
from hostsim.scenario.load import load as load_plain
from hostsim.scenario.override import texts
from hostsim.scenario.published import shipped
from hostsim.scenario.scenario import Scenario as PlainScenario
from hostsim.scenario.selection import select
from hostsim.view.scenario import Scenario

if TYPE_CHECKING:
    from hostsim.report.page import Section
    from hostsim.scenario.points import Fidelity, Plan
    from hostsim.study.sweep import Means, Tell
    from hostsim.study.what_if import WhatIf

__all__ = [
    "Change",
    "Results",
    "Scenario",
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
    "sides",
    "what_if",
]

Change = Scalar | Sequence[Scalar]
"""A value for a path or an axis: a number, or text as in a scenario file (``"40 kpps"``); for an axis a list of them, or a range
(``"1..40:4"``), too."""

RESULTS = Path("results")
"""Results folder where none is given: below the working directory."""


def load(
    scenario: str | Path,
    overrides: Mapping[str, Change] | None = None,
    axes: Mapping[str, Change] | None = None,
) -> Scenario:
    """A scenario, checked whole: every point that it needs has been made, nothing has been run.

    Args:
        scenario: name of a shipped one, or path of a file.
        overrides: values in place of those of the file by dotted path (``{"vms.receiver.count": 8}``), quantities with their units
            (``"800 B"``). The axis that varies such a path keeps this one value.
        axes: values of axes in place of those of the file, by name (``{"receivers": [8, 16], "rate": "30 kpps"}``); a dotted path
            makes an axis of its own.

    Raises:
        InputError: with everything that is wrong.
    """
    return Scenario.of(load_plain(scenario, texts(overrides), texts(axes, "{}")))


def run(
    scenario: str | Path | PlainScenario,
    *,
    overrides: Mapping[str, Change] | None = None,
    axes: Mapping[str, Change] | None = None,
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
        overrides: values by dotted path, as `load` takes them; not with a loaded scenario.
        axes: values of axes by name, as `load` takes them; not with a loaded scenario.
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
    from hostsim.study.sweep import sweep

    chosen = _chosen(scenario, overrides, axes)
    runs = fidelity(quick=quick, seed=seed, replications=replications)
    means = _means(results, jobs, cluster, progress, max_memory, max_time)
    return sweep(chosen, runs, means, expectations=expectations)


def check(
    *subjects: str | Path | PlainScenario,
    quick: bool = False,
    seed: int = 1,
    replications: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    results: str | Path = RESULTS,
    max_memory: int | None = None,
    max_time: float | None = None,
    progress: Tell | None = None,
) -> Verdicts:
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
    from hostsim.study.sweep import finish_together, judged

    runs = fidelity(quick=quick, seed=seed, replications=replications)
    means = _means(results, jobs, cluster, progress, max_memory, max_time)
    verdicts = []
    chosen = select(*subjects)
    wanted = [plan(scenario, runs, sweep=False, expectations=True) for scenario, _ in chosen]
    for (scenario, names), outcome in zip(chosen, finish_together(wanted, means), strict=True):
        found = judged(scenario, outcome.records, outcome.answers, quick=quick)
        verdicts += [verdict for verdict in found if verdict.expectation.name in names]
    return Verdicts(verdicts, quick=quick)


def what_if(
    scenario: str | Path | PlainScenario,
    changes: Mapping[str, Change] | None = None,
    *,
    costs: Mapping[str, Scalar] | None = None,
    overrides: Mapping[str, Change] | None = None,
    axes: Mapping[str, Change] | None = None,
    quick: bool = False,
    seed: int = 1,
    replications: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    results: str | Path = RESULTS,
    max_memory: int | None = None,
    max_time: float | None = None,
    progress: Tell | None = None,
) -> WhatIf:
    """Run a scenario before and after a change and take the differences, run by run on common random numbers.

    Args:
        scenario: name of a shipped one, path of a file, or one that `load` returned, which is read again with its options.
        changes: values afterwards, by dotted path (``{"hardware.cpu.clock": "3 GHz"}``) or by axis (``{"split": 1}``). An axis
            that is changed stands before at the one value that ``axes`` gives it, or the first of its sweep.
        costs: costs afterwards, by name (``{"context_switch": 0}``), in what the platform's file gives them in: cycles, a time with its
            unit, or a factor. For studies of what a mechanism is worth: no scenario carries a cost, and what comes out is no
            longer held against anything published.
        overrides: values by dotted path on both sides, as `load` takes them.
        axes: values of axes on both sides, as `load` takes them: the points to compare.
        quick: short runs and few replications.
        seed: root seed.
        replications: runs of each point; what the scenario says where None, but at least three.
        jobs: worker processes, one each processor where None; 1 runs in this process.
        cluster: address of a Dask scheduler to run on instead.
        results: folder that keeps every run.
        max_memory: bytes that the process of a run may need; a run that needs more fails as a row.
        max_time: seconds on the wall clock that a run may take, likewise.
        progress: told where things stand.

    Raises:
        InputError: what was asked for cannot be; carries every fault.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    from hostsim.study.what_if import what_if as study

    before, after = sides(scenario, changes, costs=costs, overrides=overrides, axes=axes)
    runs = fidelity(quick=quick, seed=seed, replications=replications)
    means = _means(results, jobs, cluster, progress, max_memory, max_time)
    return study(before, after, {**texts(changes), **texts(costs)}, runs, means)


def sides(
    scenario: str | Path | PlainScenario,
    changes: Mapping[str, Change] | None = None,
    *,
    costs: Mapping[str, Scalar] | None = None,
    overrides: Mapping[str, Change] | None = None,
    axes: Mapping[str, Change] | None = None,
) -> tuple[PlainScenario, PlainScenario]:
    """The scenario before and after a change, loaded: arguments of `what_if`, nothing is run.

    Raises:
        InputError: with everything that is wrong.
    """
    from hostsim.study.what_if import sides as loaded

    both, points = texts(overrides), texts(axes, "{}")
    if isinstance(scenario, PlainScenario):
        both, points = {**scenario.overrides, **both}, {**scenario.axis_texts, **points}
        scenario = scenario.file
    return loaded(scenario, texts(changes), texts(costs), both, points)


def compare(after: Results, before: Results | str | Path, tolerance: float = 0.02) -> Moves:
    """What has moved against an earlier run of the same scenario, at points that both have.

    A point with a single pair of runs shows nothing: its difference has no interval.

    Args:
        after: the run in question.
        before: the earlier run, a folder that `hostsim run` wrote, or one with such folders by scenario.
        tolerance: share of the earlier mean that a certain difference may reach; 0.02 is 2 %.

    Raises:
        InputError: the earlier run is of another scenario, seed or fidelity, they share no point, or one has several hosts where
            the other has one.
        StoreError: there is no earlier run.
    """
    from hostsim.results.compare import compare as compare_tables

    then = earlier(before, after.scenario, quick=after.quick, seed=int(after.provenance["seed"]))
    return Moves(compare_tables(after.table, then.table, after.axes, tolerance))


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
    from hostsim.campaign.aside import aside
    from hostsim.report.page import write_page
    from hostsim.study.sweep import sweep_together

    runs = fidelity(quick=quick, seed=seed, replications=replications)
    means = _means(results, jobs, cluster, progress, max_memory, max_time)
    found, drawn = [], []
    with aside(jobs) as workers:
        for place, result in enumerate(sweep_together([load_plain(name) for name in shipped()], runs, means)):
            found.append(result)
            drawn.append(workers.submit(_drawn, replace(result, records=()), Path(results), place))
        sections = [section.result() for section in drawn]
    write_page(Path(results) / "report.html", sections, title="Reproduction of the published experiments")
    return found


def _drawn(result: Results, results: Path, place: int) -> Section:
    """Write the folder of a scenario, and draw its section of the report."""
    from hostsim.report.folder import write
    from hostsim.report.page import section

    write(result, results / result.scenario)
    return section(result, place)


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
    from hostsim.results.table import axes_of

    share = (found.table["cut_s"] / found.table["length_s"]).dropna()
    if share.empty:
        raise InputError(Fault("no run has finished", given=found.scenario))
    row: dict[Any, Any] = found.table.loc[[share.idxmax()]].to_dict("records")[0]
    from hostsim.campaign.store import Store

    record = Store(Path(results)).get((str(row["point"]), int(row["replication"]), int(row["seed"])))
    if record is None:
        raise StoreError(
            f"{results}: does not hold the runs of {found.scenario} as this version makes them; run it again"
        )
    # another scenario may have run the same point under other axes
    return replace(record, axes={axis: row[axis] for axis in axes_of(found.table)})


def plan(scenario: PlainScenario, runs: Fidelity, *, sweep: bool = True, expectations: bool = False) -> Plan:
    """The runs of a sweep, of the expectations, or of both."""
    from hostsim.scenario.points import points

    return points(scenario, runs, sweep=sweep, expectations=expectations)


def fidelity(*, quick: bool, seed: int, replications: int | None) -> Fidelity:
    """How long and how often points are run.

    Raises:
        InputError: a number that cannot be.
    """
    from hostsim.scenario.bounds import MOST_REPLICATIONS, MOST_SEED
    from hostsim.scenario.points import Fidelity

    wanted = [("seed", seed, 0, MOST_SEED)]
    if replications is not None:
        wanted.append(("replications", replications, 1, MOST_REPLICATIONS))
    faults = [
        Fault("is out of range", name, str(value), f"an integer from {least} to {most}")
        for name, value, least, most in wanted
        if not is_integer(value) or not least <= value <= most
    ]
    if faults:
        raise InputError(faults)
    return Fidelity(quick, int(seed), None if replications is None else int(replications))


def _chosen(
    scenario: str | Path | PlainScenario,
    overrides: Mapping[str, Change] | None,
    axes: Mapping[str, Change] | None,
) -> PlainScenario:
    if isinstance(scenario, str | Path):
        return load_plain(scenario, texts(overrides), texts(axes, "{}"))
    if overrides or axes:
        raise InputError(Fault("overrides and axes go with a scenario by name or file, not with a loaded one"))
    return scenario


def _means(
    results: str | Path,
    jobs: int | None,
    cluster: str | None,
    progress: Tell | None,
    max_memory: int | None = None,
    max_time: float | None = None,
) -> Means:
    from hostsim.campaign.limit import limits
    from hostsim.campaign.store import Store
    from hostsim.study.sweep import Means

    return Means(Store(Path(results)), jobs, cluster, progress, limits(max_memory, max_time))
