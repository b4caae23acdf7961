"""What-if comparison: a scenario before and after a change, paired by run on common random numbers.

Both sides have the same points, replications and seeds, so that a difference is taken between runs that saw the same
arrivals; its interval is that of the paired differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostsim.campaign.pipeline import ExecutionOptions, run_sweep
from hostsim.config.costs import Factor
from hostsim.config.platform import PlatformSpec
from hostsim.config.plugin import PluginSpec
from hostsim.engine.record import Scalar
from hostsim.errors import Fault, InputError, nearest_name, raise_faults, unknown_name
from hostsim.plugin.source import read_plugins
from hostsim.results.compare import Differences, coverage, differences
from hostsim.results.estimate import BLOCK
from hostsim.results.figure import FigureSpec
from hostsim.results.metrics.catalogue import CATALOGUE, SIDE
from hostsim.results.metrics.subject import of_subject_name, parsed
from hostsim.results.results import Results
from hostsim.results.rich_view import rich_view
from hostsim.results.verdicts import Verdicts
from hostsim.scenario.load import load
from hostsim.scenario.option_text import option_texts, require_measures
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.source import Source, read_source
from hostsim.scenario.yaml.source_tree import dotted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from hostsim.scenario.plan import Fidelity

__all__ = ["LEAST_REPLICATIONS", "WhatIf", "cost_paths", "sides", "what_if", "with_least_replications"]

LEAST_REPLICATIONS = 3
"""Smallest number of replications that gives a useful interval."""
_HEADLINES = ("host_cpu", "throughput", "loss", "latency_p95", "response_time_p95")
"""Measures in the sentence of a comparison, in addition to those of the scenario's figures."""
LEAST_OF_ENSEMBLE = BLOCK
"""Smallest number of replications of an ensemble; fewer do not separate noise from model error."""


@dataclass(frozen=True, repr=False)
class WhatIf:
    """What-if comparison: a scenario before and after a change, with plots; a notebook displays significant differences."""

    scenario: str
    changes: Mapping[str, str]
    """New values, by path or axis."""
    before: Results
    after: Results
    differences: Differences
    """Every measure at every point, after minus before; ``differences.certain`` are those whose interval excludes 0."""
    notes: tuple[str, ...] = ()
    """Warnings about the comparison."""

    @property
    def table(self) -> pd.DataFrame:
        """The runs of both sides, one row each; column ``what_if`` has the side."""
        import pandas as pd

        tables = [
            _with_side(results.table[[name for name in results.table if name not in self._changed_axes]], side)
            for side, results in (("before", self.before), ("after", self.after))
        ]
        both_sides = pd.concat(tables, ignore_index=True)
        both_sides.attrs = {name: dict(self.before.table.attrs.get(name, {})) for name in ("units", "written")}
        return both_sides

    @property
    def question(self) -> str:
        """The scenario and its change in words."""
        return f"{self.scenario}: what if " + ", ".join(f"{name} = {value}" for name, value in self.changes.items())

    @property
    def sentence(self) -> str:
        """The result in one sentence: changes of the figures' measures, of CPU, loss and times; empty without differences."""
        drawn = [figure.y for figure in self.before.figures if isinstance(figure, FigureSpec) and figure.y in CATALOGUE]
        return self.sentence_of(dict.fromkeys((*drawn, *_HEADLINES)))

    def sentence_of(self, metrics: Iterable[str]) -> str:
        """The change of some measures in one sentence; empty if no runs can be compared."""
        text = self.differences.sentence(metrics)
        return text and f"{', '.join(f'{name} = {value}' for name, value in self.changes.items())}: {text}"

    @property
    def _changed_axes(self) -> set[str]:
        """Axes that the change sets."""
        old, new = (
            {axis: set(results.table[axis].astype(str)) for axis in results.axes}
            for results in (self.before, self.after)
        )
        return {axis for axis in old if old[axis] != new.get(axis)}

    def plot(
        self,
        metric: str,
        *,
        of: str | None = None,
        x: str | None = None,
        by: str | Sequence[str] = (),
        ax: Axes | None = None,
    ) -> Axes:
        """Plot a metric before and after, with 95 % intervals: lines against an axis, or one bar each.

        Args:
            metric: of the catalogue.
            of: subject of the metric; the host by default.
            x: an axis of the sweep; by default the first that still has several values.
            by: axes that distinguish lines.
            ax: where to draw; a new figure by default.

        Raises:
            InputError: an unknown axis, metric or subject.
            StoreError: the metric has a subject, and its runs are no longer stored.
        """
        metric = of_subject_name(metric, of)
        if parsed(metric)[1] and metric not in self.before.table:
            sides = (side.with_measures(metric) for side in (self.before, self.after))
            return replace(self, before=next(sides), after=next(sides)).plot(metric, x=x, by=by, ax=ax)
        whole = replace(self.before, table=self.table, figures=(), verdicts=Verdicts())
        varied = [axis for axis in whole.axes if axis != SIDE and len(set(whole.table[axis].astype(str))) > 1]
        series = (by,) if isinstance(by, str) else tuple(by)
        if x is None and not varied:
            return whole.plot(x=SIDE, y=metric, by=series, kind="bar", ax=ax)
        return whole.plot(x=x or varied[0], y=metric, by=(SIDE, *series), ax=ax)

    def _repr_html_(self) -> str:
        notes = (*filter(None, [self.sentence]), *self.notes)
        shown, without = self.differences.distinct.certain, self.differences.why_uncertain()
        page: str = rich_view("notebook.page").differences_html(shown, self.question, notes, without)
        return page

    def __repr__(self) -> str:
        text = filter(None, [self.sentence])
        certain = self.differences.distinct.certain
        return "\n".join(
            [self.question, *text, *self.notes, repr(certain) if certain else self.differences.why_uncertain()]
        )


def what_if(
    before: Scenario,
    after: Scenario,
    changes: Mapping[str, str],
    runs: Fidelity,
    means: ExecutionOptions,
    measures: Sequence[str] = (),
) -> WhatIf:
    """Run the missing runs of both sides, and compute their differences.

    Args:
        before: the scenario.
        after: the changed scenario, from `sides`.
        changes: the change in words.
        runs: lengths and numbers of runs; at least three replications, five for an ensemble, with the same members on both sides.
        means: store, workers and limits.
        measures: additional measures of subjects to compare: ``latency_p99 of feed``.

    Returns:
        Both sides and their differences; no differences if no two finished runs make a pair.

    Raises:
        InputError: one side has several hosts and the other one, or a measure or subject is unknown.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    for side in (before, after):
        require_measures(side, measures, "metric")
    runs = with_least_replications(before, runs)
    old, new = (run_sweep(replace(side, expectations=()), runs, means) for side in (before, after))
    old, new = (side.with_measures(*measures) for side in (old, new))
    shared = [axis for axis, values in _values(before).items() if values == _values(after)[axis]]
    same = len(set(old.table["point"]) & set(new.table["point"]))
    notes = [f"{same} of {old.table['point'].nunique()} points have the same host before and after"] if same else []
    if runs.replications == 1:
        notes.append("one replication has no interval, so no difference is certain")
    notes += dict.fromkeys((*old.warnings, *new.warnings))
    notes += [
        f"{len(side.failed)} runs failed {when}" for when, side in (("before", old), ("after", new)) if len(side.failed)
    ]
    held = coverage(new.table, old.table, shared)
    if held.compared < held.points and runs.replications != 1:
        notes.append(
            f"{held.compared} of {held.points} points could be compared; the others have fewer than two pairs of finished runs"
        )
    lost = (len(old.failed) or len(new.failed)) and len(held.alone) == held.points
    compared = Differences() if lost else Differences(differences(new.table, old.table, shared))
    return WhatIf(before.name, dict(changes), old, new, compared, tuple(notes))


def with_least_replications(scenario: Scenario, runs: Fidelity) -> Fidelity:
    """The fidelity with enough replications for an interval, unless their number is given."""
    run = scenario.run
    sizes = (run.quick, run.quick_swept) if runs.quick else (run.full, run.swept)
    replications = min(size.replications for size in sizes)
    least = LEAST_OF_ENSEMBLE if runs.ensemble else LEAST_REPLICATIONS
    return replace(runs, replications=least) if runs.replications is None and replications < least else runs


def sides(
    scenario: str | Path | Mapping[str, Any] | Source,
    changes: Mapping[str, Any],
    costs: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    axes: Mapping[str, Any] | None = None,
    root: str | Path | None = None,
    plugins: Sequence[str | Path | PluginSpec] = (),
) -> tuple[Scenario, Scenario]:
    """A scenario before and after a change.

    Args:
        scenario: as `hostsim.scenario.load.load` takes it.
        changes: new values by dotted path or axis. The value before of a changed axis is the one in ``axes``, or the first of its
            sweep.
        costs: new values by name, as for `cost_paths`.
        overrides: values by dotted path on both sides.
        axes: values of axes on both sides.
        root: folder that contains all files of the scenario.
        plugins: by path or entry point, as `hostsim.scenario.load.load` takes them.

    Raises:
        InputError: with all faults.
    """
    plugins, scenario = read_plugins(plugins), read_source(scenario)
    overrides, axes = dict(overrides or {}), dict(axes or {})
    if not changes and not costs:
        raise InputError(Fault("has no change", allowed="at least one path, axis or cost with its value"))
    plain = load(scenario, overrides, axes, root, plugins)
    changes = {**changes, **cost_paths(plain, costs or {})}
    owners = {axis.paths[0]: name for name, axis in plain.axes.items() if len(axis.paths) == 1}
    moved = {owners.get(name, name): value for name, value in changes.items()}
    first = dict(axes)
    for name in moved.keys() & plain.axes.keys():
        values = _values(plain)[name]
        if name in axes and len(values) > 1:
            raise InputError(
                Fault(
                    "is changed, but has several values before the change",
                    name,
                    str(axes[name]),
                    "one value",
                    file="--axis",
                )
            )
        first |= option_texts({name: values[0]}, "{}")
    inside = {name: value for name, value in moved.items() if name not in plain.axes}
    raise_faults(
        Fault(
            "is neither an axis of the scenario nor a path",
            "--set",
            name,
            "an axis or a dotted path",
            nearest_name(name, plain.axes),
        )
        for name in inside
        if "." not in name and name not in ("platform", "hardware")
    )
    chosen = {name: value for name, value in moved.items() if name in plain.axes}
    after = load(scenario, {**overrides, **inside}, {**first, **chosen}, root, plugins)
    raise_faults(
        Fault("has several values after the change", name, str(value), "one value; use one call for each")
        for name, value in chosen.items()
        if len(_values(after)[name]) > 1
    )
    return (plain if first == axes else load(scenario, overrides, first, root, plugins)), after


def cost_paths(scenario: Scenario, costs: Mapping[str, str]) -> dict[str, str]:
    """Changes of costs by their dotted paths.

    Args:
        scenario: its platform gives the costs.
        costs: new values by name (``context_switch``, ``generations.sandy-bridge``), in the form of the platform's file: a number
            of cycles, a time with its unit, or a factor.

    Raises:
        InputError: the platform has no such cost.
    """
    name = scenario.resolver.tree.get(("platform",))
    spec: PlatformSpec | None = scenario.resolver.parts.platform(str(name), ("platform",)).spec
    assert spec is not None  # the scenario is loaded
    entries = spec.costs.entries()
    raise_faults(unknown_name("cost", "costs", cost, entries) for cost in costs if cost not in entries)
    paths = {}
    for cost, value in costs.items():
        entry = entries[cost]
        field = "value" if isinstance(entry, Factor) else "time" if entry.time is not None else "cycles"
        paths[dotted(("platform", "costs", *cost.split("."), field))] = value
    return paths


def _values(scenario: Scenario) -> dict[str, tuple[Scalar, ...]]:
    return {name: axis.values for name, axis in scenario.axes.items()}  # noqa: PD011  of an axis, not of a frame


def _with_side(table: pd.DataFrame, side: str) -> pd.DataFrame:
    labelled = table.copy()
    labelled.insert(list(labelled.columns).index("seed") + 1, SIDE, side)
    return labelled
