"""Python interface: load a scenario, run its sweep, check expectations, compare and open results.

Each function composes steps of the pipeline, and the command line calls these functions. All share one results folder,
so that only missing runs are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from hostsim.campaign.run_option import LENGTH, OPTIONS, RESULTS, RunOptions, run_options
from hostsim.engine.record import Scalar
from hostsim.errors import Fault, InputError
from hostsim.results.compare import Differences, read_baseline
from hostsim.results.folder import read, rerun_command
from hostsim.results.results import LazyRecords, Results
from hostsim.results.verdicts import Verdicts
from hostsim.scenario.load import load as load_file
from hostsim.scenario.load import options_over, reload
from hostsim.scenario.option_text import measures_of, option_texts, require_mappings
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import require_shipped, select
from hostsim.views.notebook.progress import NotebookProgress, is_notebook

if TYPE_CHECKING:
    from hostsim.campaign.pipeline import ProgressListener
    from hostsim.campaign.what_if import WhatIf
    from hostsim.config.plugin import PluginSpec
    from hostsim.lab.calibration.host_calibration import Calibration
    from hostsim.scenario.plan import Fidelity, Plan

__all__ = [
    "AnyScenario",
    "Change",
    "Changes",
    "Results",
    "Scenario",
    "calibrate",
    "check",
    "compare",
    "load",
    "open_results",
    "plan",
    "reproduce",
    "run",
    "select",
    "sides",
    "what_if",
]

Change = Scalar | Sequence[Scalar]
"""A value for a path or an axis: a number in the base unit (40000 pps), or text as in a scenario file (``"40 kpps"``);
for an axis also a list of values or a range (``"1..40:4"``)."""
Changes = Mapping[str, Change]
"""Values by dotted path, or by axis."""
AnyScenario = str | Path | Mapping[str, Any] | Scenario
"""Name of a shipped scenario, path of a file, YAML text, a mapping with the keys of a file, or a loaded scenario."""
Plugins = Sequence[str | Path] | None
"""Plug-ins: paths of Python files, or names of installed ones."""
_CALIBRATES = {"seed"} | {name for name, option in OPTIONS.items() if option.rich_help_panel != LENGTH}
"""Options of a calibration, which chooses the fidelity of its runs."""


def load(
    scenario: AnyScenario,
    overrides: Changes | None = None,
    axes: Changes | None = None,
    root: str | Path | None = None,
    plugins: Plugins = None,
) -> Scenario:
    """Load and validate a scenario with all of its points; nothing is run.

    Args:
        scenario: name of a shipped one, path of a file, YAML text, or a mapping with the keys and values of a file,
        whose lists may be numpy arrays. Relative paths in text and mappings start in the working folder. A loaded
        scenario is loaded again with these options in addition to its own.
        overrides: values that replace those of the file, by dotted path (``{"vms.receiver.count": 8}``); quantities
        have units (``"800 B"``). An axis that varies such a path has only this value.
        axes: values of axes that replace those of the file, by name (``{"receivers": [8, 16], "rate": "30 kpps"}``); a
        dotted path adds an axis.
        root: folder that contains the scenario and all files that it names; the scenario's own folder by default.
        plugins: modules with policies, kinds of traffic and control loops that the scenario may name: paths of Python
        files, or names of installed modules.

    Raises:
        InputError: with every fault, each with file and line, or for a mapping with the Python path
        (``scenario["vms"]["receiver"]["count"]``).
    """
    return _loaded(scenario, overrides, axes, root, plugins)


@overload
def run(
    scenario: AnyScenario,
    *,
    overrides: Changes | None = None,
    axes: Changes | None = None,
    root: str | Path | None = None,
    expectations: bool = False,
    progress: ProgressListener | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> Results: ...


@overload
def run(
    scenario: list[Any] | tuple[AnyScenario, ...],
    *,
    overrides: Changes | None = None,
    axes: Changes | None = None,
    root: str | Path | None = None,
    expectations: bool = False,
    progress: ProgressListener | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> list[Results]: ...


def run(
    scenario: AnyScenario | list[Any] | tuple[AnyScenario, ...],
    *,
    overrides: Changes | None = None,
    axes: Changes | None = None,
    root: str | Path | None = None,
    expectations: bool = False,
    progress: ProgressListener | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> Results | list[Results]:
    """Run the sweep of one or several scenarios: all runs that are not in the results folder yet.

    Args:
        scenario: as `load` takes it, or a list of such scenarios, which gives a list of results.
        overrides: values by dotted path, as `load` takes them.
        axes: values of axes by name, as `load` takes them.
        root: folder that holds all files of the scenario, as `load` takes it.
        expectations: also run what the expectations need; without it only expectations whose runs exist are judged.
        progress: called with the scenario's name and its progress after each run; a notebook shows a bar by default.
        options: of the run.
        **given: single options by name (``quick=True``), as in `RunOptions`; they replace those of ``options``.

    Raises:
        InputError: an argument cannot be used; carries every fault.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    from hostsim.campaign.pipeline import run_sweep, run_sweeps

    chosen_options = run_options(run, options, given)
    fidelity, execution = chosen_options.fidelity(), chosen_options.execution(_shown(progress))
    if isinstance(scenario, list | tuple):
        several = [_loaded(path, overrides, axes, root, chosen_options.plugins) for path in scenario]
        return list(run_sweeps(several, fidelity, execution, expectations=expectations))
    chosen = _loaded(scenario, overrides, axes, root, chosen_options.plugins)
    return run_sweep(chosen, fidelity, execution, expectations=expectations)


def check(
    *subjects: AnyScenario,
    root: str | Path | None = None,
    progress: ProgressListener | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> Verdicts:
    """Judge expectations and claims; runs only what they need and is not in the results folder.

    The verdicts are in the order of the scenarios and of their expectations.

    Args:
        subjects: scenarios as `load` takes them, or patterns of claim ids (``split*.40k``); all shipped scenarios by
        default.
        root: folder that holds all files of the scenarios, as `load` takes it.
        progress: as for `run`.
        options: as for `run`.
        **given: as for `run`, whose errors it raises.
    """
    from hostsim.campaign.pipeline import execute_all, judge_expectations

    chosen_options = run_options(check, options, given)
    runs, chosen = chosen_options.fidelity(), select(*subjects, root=root, plugins=chosen_options.plugins)
    plans = [plan(scenario, runs, sweep=False, expectations=True) for scenario, _ in chosen]
    verdicts = []
    for (scenario, names), outcome in zip(
        chosen, execute_all(plans, chosen_options.execution(_shown(progress))), strict=True
    ):
        judged = judge_expectations(scenario, outcome.records, outcome.answers, runs)
        verdicts += [verdict for verdict in judged if verdict.expectation.name in names]
    return Verdicts(verdicts, quick=runs.quick)


def what_if(
    scenario: AnyScenario,
    changes: Changes | None = None,
    *,
    of: str | None = None,
    costs: Mapping[str, Scalar] | None = None,
    overrides: Changes | None = None,
    axes: Changes | None = None,
    root: str | Path | None = None,
    progress: ProgressListener | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> WhatIf:
    """Run a scenario before and after a change; returns paired differences on common random numbers.

    At least three replications are run unless their number is given.

    Args:
        scenario: as `load` takes it; a loaded one with its options.
        changes: values afterwards, by dotted path (``{"hardware.cpu.clock": "3 GHz"}``) or by axis (``{"split": 1}``).
        A changed axis starts from the one value in ``axes``, or from the first value of its sweep.
        of: a subject, such as a traffic entry or a group of VMs, whose measures are compared in addition to those of
        the host.
        costs: costs afterwards, by name (``{"context_switch": 0}``), in the unit of the platform's file: cycles, a time
        with its unit, or a factor. For studies of the effect of a mechanism: no scenario sets a cost, and the results
        are no longer compared with published values.
        overrides: values by dotted path on both sides, as `load` takes them.
        axes: values of axes on both sides, as `load` takes them: the points to compare.
        root: folder that holds all files of the scenario, as `load` takes it; that of a loaded scenario.
        progress: as for `run`.
        options: as for `run`.
        **given: as for `run`, whose errors it raises.
    """
    from hostsim.campaign.what_if import what_if as run_both

    chosen_options = run_options(what_if, options, given)
    try:
        before, after = sides(
            scenario, changes, costs=costs, overrides=overrides, axes=axes, root=root, plugins=chosen_options.plugins
        )
    except InputError as error:
        raise InputError(
            replace(fault, path=f"changes[{fault.path!r}]", file="")
            if fault.file and fault.path in (changes or ())
            else fault
            for fault in error.faults
        ) from None
    changed = {**option_texts(changes), **option_texts(costs)}
    own = measures_of(before, of) if of else []
    return run_both(before, after, changed, chosen_options.fidelity(), chosen_options.execution(_shown(progress)), own)


def sides(
    scenario: AnyScenario,
    changes: Changes | None = None,
    *,
    costs: Mapping[str, Scalar] | None = None,
    overrides: Changes | None = None,
    axes: Changes | None = None,
    root: str | Path | None = None,
    plugins: Plugins = None,
) -> tuple[Scenario, Scenario]:
    """Load a scenario before and after a change, as `what_if` takes them; nothing is run.

    Raises:
        InputError: with every fault.
    """
    from hostsim.campaign.what_if import sides as load_sides

    require_mappings(changes=changes, costs=costs, overrides=overrides, axes=axes)
    both, points = dict(overrides or {}), dict(axes or {})
    brought: Sequence[str | Path | PluginSpec] = plugins or ()
    if isinstance(scenario, Scenario):
        both, points = options_over(scenario, both, points)
        brought = (*scenario.plugins, *brought)
        root = scenario.resolver.root if root is None else root
    source = scenario.source if isinstance(scenario, Scenario) else scenario
    return load_sides(source, changes or {}, option_texts(costs), both, points, root, brought)


def calibrate(
    scenario: AnyScenario,
    to: str | Path | None = None,
    *,
    budget: str | float = "1 h",
    members: Sequence[int] | None = None,
    predict: str | None = None,
    output: str | Path | None = None,
    overrides: Changes | None = None,
    axes: Changes | None = None,
    root: str | Path | None = None,
    progress: ProgressListener | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> Calibration:
    """Calibrate a host to its own measurements: a matching ensemble of hosts, predictions, and files of parts.

    Args:
        scenario: the host as far as it is known, as `load` takes it.
        to: CSV file of measurements: axes, metric, value, half-width of its 95 % interval; the scenario's own expectations by default.
        budget: processor time of all runs; a number is in seconds.
        members: number of hosts in the design over the priors, and in each wave after it, instead of a budget; the last
        wave is the ensemble.
        predict: the measure to predict, ``"host_cpu@receivers=16"``; with it everything that was not measured is
        predicted.
        output: folder of all runs and results, from which a killed calibration resumes; by default one in the results
        folder.
        overrides: values by dotted path, as `load` takes them.
        axes: values of axes by name, as `load` takes them.
        root: folder that holds all files of the scenario, as `load` takes it.
        progress: as for `run`.
        options: as for `run`.
        **given: as for `run`, whose errors it raises.
    """
    from hostsim.lab.calibration.host_calibration import Calibration, calibrate_own, read_budget

    chosen_options = run_options(calibrate, options, given, _CALIBRATES)
    chosen = _loaded(scenario, overrides, axes, root, chosen_options.plugins)
    execution, spent = chosen_options.execution(_shown(progress)), read_budget(budget, members)
    fitted = calibrate_own(chosen, to, spent, execution, output=output, predict=predict, seed=chosen_options.seed)
    return Calibration(*fitted)


def compare(after: Results, before: Results | str | Path, tolerance: float = 0.02) -> Differences:
    """Compare results with an earlier run of the same scenario; returns the curves that moved.

    Points that both runs have are compared. A point with a single pair of runs shows nothing: its difference has no
    interval.

    Args:
        after: the run in question.
        before: the earlier run, a folder that `hostsim run` wrote, or one with such folders by scenario.
        tolerance: accepted difference as a share of the earlier mean; 0.02 is 2 %.

    Raises:
        InputError: the earlier run is of another scenario, seed, fidelity or ensemble, has no point in common, or has
        different hosts.
        StoreError: there is no earlier run.
    """
    from hostsim.results.compare import compare as compare_tables

    if isinstance(tolerance, bool) or not isinstance(tolerance, Real) or not tolerance >= 0:
        raise InputError(Fault("is not a share", "tolerance", repr(tolerance), "a number from 0; 0.02 is 2 %"))
    seed, ensemble = int(after.provenance["seed"]), after.provenance.get("ensemble", "")
    then = read_baseline(before, after.scenario, quick=after.quick, seed=seed, ensemble=ensemble)
    return Differences(compare_tables(after.table, then.table, after.axes, tolerance))


def reproduce(
    *names: str,
    progress: ProgressListener | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> list[Results]:
    """Run the sweeps and expectations of shipped scenarios; write a folder for each and one report.

    The report is ``report.html`` in the results folder.

    Args:
        *names: shipped scenarios; all by default.
        progress: as for `run`.
        options: as for `run`.
        **given: as for `run`, whose errors it raises.
    """
    from hostsim.campaign.executor.process_pool import worker_pool
    from hostsim.campaign.pipeline import run_sweeps
    from hostsim.results.integrity import confined
    from hostsim.views.report.page import write_page, written_section

    chosen_options = run_options(reproduce, options, given)
    folder, results, drawn = chosen_options.results, [], []
    scenarios = [load_file(name, plugins=chosen_options.plugins) for name in require_shipped(names)]
    with worker_pool(chosen_options.jobs) as submit:
        for index, result in enumerate(
            run_sweeps(scenarios, chosen_options.fidelity(), chosen_options.execution(_shown(progress)))
        ):
            results.append(result)
            drawn.append(submit(written_section, replace(result, records=()), folder / result.scenario, index))
        sections = [section.result() for section in drawn]
    page = confined(folder, folder / "report.html")
    write_page(page, sections, title="Reproduction of the published experiments")
    return results


def open_results(folder: str | Path, results: str | Path | None = None) -> Results:
    """Open the results of an earlier run, with everything that a new run returns; nothing is run.

    Args:
        folder: that `hostsim run`, `reproduce` or `Results.save` wrote.
        results: results folder, from which records are read on request; by default the one that contains ``folder``, or
        else the default of all commands.

    Raises:
        StoreError: the folder holds no results, or they cannot be read.
    """
    import json

    from hostsim.campaign.store import SavedRecords, SavedRun, Store

    stored, beside = read(Path(folder)), Path(folder).absolute().parent
    if results is None:
        results = beside if (beside / "runs").is_dir() else RESULTS
    store = Store(Path(results), stored.provenance.get("code", ""))
    runs = (
        SavedRun(point, replication, seed, json.loads(axes), tuple(json.loads(warnings)), flag)
        for point, replication, seed, axes, warnings, flag in stored.runs.itertuples(index=False)
    )
    records = SavedRecords(store, runs, rerun_command(vars(stored)))
    return replace(stored, records=LazyRecords(records))


def plan(scenario: Scenario, runs: Fidelity, *, sweep: bool = True, expectations: bool = False) -> Plan:
    """The plan of a scenario: the runs of its sweep, of its expectations, or of both."""
    from hostsim.campaign.interim_analysis import plan_with_looks

    return plan_with_looks(scenario, runs, sweep=sweep, expectations=expectations)


def _shown(progress: ProgressListener | None) -> ProgressListener | None:
    """The listener of a call; by default that of a notebook."""
    return progress or (NotebookProgress() if is_notebook() else None)


def _loaded(
    scenario: AnyScenario,
    overrides: Changes | None,
    axes: Changes | None,
    root: str | Path | None,
    plugins: Plugins,
) -> Scenario:
    """The scenario with options; a loaded one is loaded again if there are any."""
    if not isinstance(scenario, Scenario):
        return load_file(scenario, overrides, axes, root, plugins or ())
    if overrides or axes or root is not None or plugins:
        return reload(scenario, overrides, axes, root, plugins or ())
    return scenario
