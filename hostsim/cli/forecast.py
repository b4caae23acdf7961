"""Dry run: the runs that a command would make, and an estimate of their wall-clock time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from hostsim.campaign.interim_analysis import plan_with_looks
from hostsim.cli.output import about, columns, say_warnings
from hostsim.errors import StoreError
from hostsim.results.estimate import members_of
from hostsim.results.expect import VerdictState

if TYPE_CHECKING:
    from pathlib import Path

    from hostsim.campaign.run_option import RunOptions
    from hostsim.campaign.shard import Shard
    from hostsim.campaign.store import Store
    from hostsim.engine.record import Scalar
    from hostsim.results.results import Results
    from hostsim.scenario.plan import Plan, Task
    from hostsim.scenario.scenario import Scenario

__all__ = ["Forecast", "compared", "dry_run_table", "ensemble_adds_s", "forecast"]

PROBES = 3
"""Number of shortened trial runs if the store has no run of the plan."""
CUT = 20
"""Divisor of the length of such a run."""


@dataclass(frozen=True)
class Forecast:
    """Estimate of a plan before it is run."""

    scenario: str
    points: int
    runs: int
    stored: int
    searched: int
    """Runs that searches may request later: the number of the scenario's last run, or else the largest number."""
    seconds: float
    """Wall-clock seconds for all missing runs with all workers."""
    is_known: bool = False
    """True if both numbers come from the last run of the scenario."""


def forecast(plan: Plan, store: Store, jobs: int | None) -> Forecast:
    """Estimate the time of a plan from the last run of the scenario, stored runs, or a few shortened runs, in this order."""
    from hostsim.campaign.driver import preview
    from hostsim.campaign.executor.base import worker_count

    standing = preview(plan, store)
    missing = standing.total - standing.done
    # runs that searches may request later
    searched = sum(max(search.most() - len(search.wants({})), 0) for search in plan.searches) if missing else 0
    last = _last_run(plan, store.folder) if missing else None
    if last is not None:
        if searched and _is_judged(last):
            whole = preview(plan_with_looks(plan.scenario, plan.fidelity), store)
            searched = max(last.usage.runs - whole.total, 0)
        seconds = _as_last(last, standing.missing, searched)
    else:
        known_s = standing.seconds_left
        run_s = (known_s / max(missing, 1) if known_s is not None else _tried(plan)) if missing else 0.0
        seconds = run_s * (missing + searched)
    drawing_s = last.usage.drawing_s if last is not None and plan.swept else 0.0
    return Forecast(
        scenario=plan.scenario.name,
        points=len({task.point.id for task in plan.tasks}),
        runs=standing.total,
        stored=standing.done,
        searched=searched,
        seconds=seconds / worker_count(jobs) + drawing_s,
        is_known=last is not None and (not searched or _is_judged(last)),
    )


def _last_run(plan: Plan, folder: Path) -> Results | None:
    """The last results of a scenario with the same options, from any version of the code, or None."""
    from hostsim.campaign.pipeline import ensemble_words
    from hostsim.results.folder import read

    scenario, fidelity = plan.scenario, plan.fidelity
    try:
        results = read(folder / scenario.name)
    except StoreError:
        return None
    provenance = results.provenance
    changes = "; ".join(f"{path}={value}" for path, value in scenario.departures.items())
    is_same = (provenance.get("set", ""), provenance.get("ensemble", "")) == (changes, ensemble_words(fidelity))
    is_same = is_same and (results.scenario, results.quick) == (scenario.name, fidelity.quick)
    return results if is_same and results.usage.runs else None


def _as_last(last: Results, missing: Iterable[Task], searched: int) -> float:
    """Wall-clock seconds of missing runs and of searched ones on one worker, as in the last run of the scenario.

    A run of the sweep takes the mean of its point; each other run the mean of the runs that are not in the table.
    """
    points = {run.point: frozenset(json.loads(str(run.axes)).items()) for run in last.runs.itertuples()}
    spent: dict[frozenset[tuple[str, Scalar]], list[float]] = {}
    finished = last.table[last.table["error"] == ""]
    for point, wall_s in zip(finished["point"], finished["wall_s"], strict=True):
        spent.setdefault(points[point], []).append(float(wall_s))
    swept = [wall_s for durations in spent.values() for wall_s in durations]
    beyond = last.usage.runs - len(swept)
    other = (last.usage.wall_s - sum(swept)) / beyond if beyond > 0 else last.usage.wall_s / last.usage.runs
    at = [spent.get(frozenset(task.point.axes.items()), [other]) for task in missing]
    return sum(sum(durations) / len(durations) for durations in at) + searched * other


def _is_judged(last: Results) -> bool:
    """True if all expectations of the last run have a value, so that its searches are among its runs."""
    return all(verdict.state is not VerdictState.MISSING for verdict in last.verdicts)


def dry_run_table(
    scenarios: Iterable[Scenario],
    options: RunOptions,
    shard: Shard | None = None,
    *,
    sweep: bool,
    expectations: bool,
    began: float | None = None,
) -> str:
    """The table that ``--dry-run`` prints: one row for each scenario, and the total of several. Their warnings go to stderr.

    Args:
        scenarios: those to run.
        options: of the run.
        shard: the part of the plan that would be run; all by default.
        sweep: run the points of the sweep.
        expectations: run what the expectations need.
        began: when the command began, on the monotonic clock; by default its start is not counted.

    Raises:
        InputError: the options cannot be combined, or a limit cannot be enforced.
    """
    from hostsim import api
    from hostsim.campaign.executor.options import check_options
    from hostsim.campaign.shard import deal

    execution, fidelity = options.execution(), options.fidelity()
    check_options(execution.jobs, execution.cluster, execution.limits)
    plans = [api.plan(scenario, fidelity, sweep=sweep, expectations=expectations) for scenario in scenarios]
    warnings = dict.fromkeys(warning for plan in plans for warning in plan.scenario.warnings)
    forecasts = [forecast(plan, execution.store, execution.jobs) for plan in (deal(plans, shard) if shard else plans)]
    if len(forecasts) > 1:
        forecasts.append(_total(forecasts))
    if (
        began is not None and forecasts[-1].is_known
    ):  # a real run repeats these imports and this planning, and its workers import again
        forecasts[-1] = replace(forecasts[-1], seconds=forecasts[-1].seconds + 2 * (time.monotonic() - began))
    say_warnings(warnings)
    if fidelity.ensemble is not None:
        most = 1 + max((task.replication for plan in plans for task in plan.tasks), default=0)
        typer.echo(
            f"{most} replications of a point are runs of {members_of(most)} hosts of the ensemble {fidelity.ensemble.name}",
            err=True,
        )
    return columns(
        ("scenario", "points", "runs", "stored", "missing", "added by searches", "takes"), map(_row, forecasts)
    )


def compared(sides: Sequence[Scenario], options: RunOptions) -> list[Plan]:
    """The plans of a what-if comparison, before and after.

    Raises:
        InputError: a wrong option; an ensemble of other hosts, or of too few.
    """
    from hostsim import api
    from hostsim.campaign.what_if import with_least_replications

    fidelity = with_least_replications(sides[0], options.fidelity())
    return [api.plan(side, fidelity) for side in sides]


def ensemble_adds_s(usual: Sequence[Plan], ensemble: Sequence[Plan], options: RunOptions) -> float:
    """Additional wall-clock seconds of a what-if comparison with an ensemble.

    Args:
        usual: the plans of both sides without the ensemble.
        ensemble: the plans with it.
        options: of the run.
    """
    from hostsim.campaign.driver import preview

    execution = options.execution()
    missing = [
        [(partial := preview(plan, execution.store)).total - partial.done for plan in plans]
        for plans in (ensemble, usual)
    ]
    more = sum(missing[0]) - sum(missing[1])
    if more <= 0:
        return 0.0
    larger = max(range(len(ensemble)), key=missing[0].__getitem__)
    return more * forecast(ensemble[larger], execution.store, execution.jobs).seconds / missing[0][larger]


def _total(forecasts: Sequence[Forecast]) -> Forecast:
    """The sum of several forecasts."""
    points, runs, stored, searched = (
        sum(getattr(entry, name) for entry in forecasts) for name in ("points", "runs", "stored", "searched")
    )
    seconds, is_known = sum(entry.seconds for entry in forecasts), all(entry.is_known for entry in forecasts)
    return Forecast("total", points, runs, stored, searched, seconds, is_known)


def _row(total: Forecast) -> tuple[object, ...]:
    """A forecast as a row of the table."""
    missing = total.runs - total.stored
    more = f"{'about' if total.is_known else 'up to'} {total.searched}" if total.searched else "none"
    # searches seldom need all runs that they may request
    most = "" if total.is_known or not total.searched else "at most "
    took = f"{most}{about(total.seconds)}" if missing else "nothing"
    return total.scenario, total.points, total.runs, total.stored, missing, more, took


def _tried(plan: Plan) -> float:
    """Processor seconds of a run, from shortened runs of the first, the middle and the last task of the plan."""
    tasks = list(plan.tasks) or [task for search in plan.searches for task in search.wants({})]
    tried = [tasks[index * (len(tasks) - 1) // max(PROBES - 1, 1)] for index in range(PROBES)]
    _seconds(tried[0])  # the first run includes the time of imports
    return sum(map(_seconds, tried)) / len(tried)


def _seconds(task: Task) -> float:
    """Processor seconds of a run, extrapolated from a part of it; 0 if it fails, which the whole run reports."""
    from hostsim.campaign.deferred_sigint import deferred_sigint
    from hostsim.campaign.simulate import simulate
    from hostsim.engine.random_stream import Streams
    from hostsim.model.build import build_host

    spec = task.point.spec.model_copy(update={"length": max(task.point.spec.length // CUT, 1)})
    started = time.process_time()  # wall-clock time is misleading on a busy machine
    try:
        with deferred_sigint():
            build_host(spec, Streams(task.seed, task.replication))
        built = time.process_time()
        record = simulate(
            spec, point_id=task.point.id, axes=task.point.axes, seed=task.seed, replication=task.replication
        )
    except (Exception, SystemExit):  # a plug-in may raise anything
        return 0.0
    # building a host takes the same time for any length; a short run may be extended for its warm-up, so the reached
    # time counts
    building = built - started
    running = max(time.process_time() - built - building, 0.0)
    return building + running * task.point.spec.length / int(record.instants_ps[-1])
