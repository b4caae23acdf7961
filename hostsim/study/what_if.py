"""What if this were set otherwise: a scenario before and after a change, compared run by run on common random numbers.

Both sides have the same points, replications and seeds, so that a difference is taken between runs that saw the same
arrivals; its interval is that of the paired differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.record import Scalar
from hostsim.report.moves import Moves
from hostsim.report.results import Results
from hostsim.scenario.load import load
from hostsim.scenario.override import texts
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.tree import dotted
from hostsim.spec.costs import Factor
from hostsim.spec.settings import PlatformSpec
from hostsim.study.sweep import Means, sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from hostsim.scenario.points import Fidelity

__all__ = ["LEAST", "WhatIf", "cost_paths", "paired", "sides", "what_if"]

LEAST = 3
"""Replications at least: fewer have no interval worth the name."""
SIDE = "what_if"
"""Column, in frames of both sides, that says ``before`` or ``after``."""


@dataclass(frozen=True, repr=False)
class WhatIf:
    """A scenario before and after a change."""

    scenario: str
    changes: Mapping[str, str]
    """What was changed: by path, or by axis, the value afterwards."""
    before: Results
    after: Results
    differences: Moves
    """Every measure at every point, after minus before; ``differences.certain`` are those whose interval excludes 0."""
    notes: tuple[str, ...] = ()
    """What to know before trusting it."""

    @property
    def table(self) -> pd.DataFrame:
        """The runs of both sides, one row each; the column ``what_if`` says of which side it is."""
        import pandas as pd

        tables = [
            _with_side(results.table[[name for name in results.table if name not in self._moved]], side)
            for side, results in (("before", self.before), ("after", self.after))
        ]
        made = pd.concat(tables, ignore_index=True)
        made.attrs["units"] = dict(self.before.table.attrs["units"])
        return made

    def plot(self, metric: str, *, x: str | None = None, by: str | Sequence[str] = (), ax: Axes | None = None) -> Axes:
        """Draw a metric before and after, with 95 % intervals: lines against an axis, or one bar each.

        Args:
            metric: of the catalogue.
            x: an axis of the sweep; the first that still has several values where nothing is said.
            by: axes that tell lines apart.
            ax: where to draw; a new figure where nothing is said.

        Raises:
            InputError: an unknown axis or metric.
        """
        whole = replace(self.before, table=self.table, figures=(), verdicts=type(self.before.verdicts)())
        varied = [axis for axis in whole.axes if axis != SIDE and len(set(whole.table[axis].astype(str))) > 1]
        series = (by,) if isinstance(by, str) else tuple(by)
        if x is None and not varied:
            return whole.plot(x=SIDE, y=metric, by=series, kind="bar", ax=ax)
        return whole.plot(x=x or varied[0], y=metric, by=(SIDE, *series), ax=ax)

    @property
    def _asked(self) -> str:
        return f"{self.scenario}: what if " + ", ".join(f"{name} = {value}" for name, value in self.changes.items())

    @property
    def _moved(self) -> set[str]:
        """Axes whose value was the change."""
        old, new = (
            {axis: set(results.table[axis].astype(str)) for axis in results.axes}
            for results in (self.before, self.after)
        )
        return {axis for axis in old if old[axis] != new.get(axis)}

    def __repr__(self) -> str:
        return "\n".join([self._asked, *self.notes, repr(self.differences.certain)])

    def _repr_html_(self) -> str:
        from hostsim.report.notebook import moves_html

        return moves_html(self.differences.certain, self._asked, self.notes)


def what_if(before: Scenario, after: Scenario, changes: Mapping[str, str], runs: Fidelity, means: Means) -> WhatIf:
    """Run both sides, as far as the results folder does not hold them, and take the differences.

    Args:
        before: the scenario.
        after: the same with the change made, as `sides` gives them.
        changes: the change in words.
        runs: how long and how often; at least three replications are run.
        means: what with.

    Returns:
        Both sides and their differences; no differences where runs have failed and no two finished ones make a pair.

    Raises:
        InputError: a side has several hosts where the other has one.
        StoreError: the results folder cannot be used.
        KeyboardInterrupt: Ctrl-C; everything finished is in the results folder.
    """
    from hostsim.results.compare import coverage, differences

    runs = paired(before, runs)
    old, new = (sweep(replace(side, expectations=()), runs, means) for side in (before, after))
    shared = [axis for axis, values in _values(before).items() if values == _values(after)[axis]]
    same = len(set(old.table["point"]) & set(new.table["point"]))
    notes = [f"{same} of {old.table['point'].nunique()} points are the same host before and after"] if same else []
    if runs.replications == 1:
        notes.append("one replication has no interval: nothing here is certain")
    notes += dict.fromkeys((*old.warnings, *new.warnings))
    notes += [
        f"{len(side.failed)} runs failed {when}" for when, side in (("before", old), ("after", new)) if len(side.failed)
    ]
    held = coverage(new.table, old.table, shared)
    if held.compared < held.points and runs.replications != 1:
        notes.append(
            f"{held.compared} of {held.points} points could be compared: the others have no two pairs of finished runs"
        )
    lost = (len(old.failed) or len(new.failed)) and len(held.alone) == held.points
    moves = Moves() if lost else Moves(differences(new.table, old.table, shared))
    return WhatIf(before.name, dict(changes), old, new, moves, tuple(notes))


def paired(scenario: Scenario, runs: Fidelity) -> Fidelity:
    """The same fidelity with replications enough for an interval, where their number is not given."""
    asked = scenario.run.quick_replications if runs.quick else scenario.run.replications
    return replace(runs, replications=LEAST) if runs.replications is None and asked < LEAST else runs


def sides(
    scenario: str | Path,
    changes: Mapping[str, str],
    costs: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    axes: Mapping[str, str] | None = None,
) -> tuple[Scenario, Scenario]:
    """A scenario before and after a change.

    Args:
        scenario: name of a shipped one, or path of a file.
        changes: by dotted path, or by axis, the value afterwards. An axis that is changed, by name or by its path, stands
            before at the one value that ``axes`` gives it, or the first of its sweep.
        costs: by name the value afterwards, as `cost_paths` takes them.
        overrides: values by dotted path on both sides.
        axes: values of axes on both sides.

    Raises:
        InputError: with everything that is wrong.
    """
    overrides, axes = dict(overrides or {}), dict(axes or {})
    if not changes and not costs:
        raise InputError(Fault("nothing is changed", allowed="at least one path, axis or cost with its value"))
    plain = load(scenario, overrides, axes)
    changes = {**changes, **cost_paths(plain, costs or {})}
    owners = {axis.paths[0]: name for name, axis in plain.axes.items() if len(axis.paths) == 1}
    moved = {owners.get(name, name): value for name, value in changes.items()}
    first = dict(axes)
    for name in moved.keys() & plain.axes.keys():
        values = _values(plain)[name]
        if name in axes and len(values) > 1:
            raise InputError(
                Fault("is changed, and has several values before", f"--axis {name}", axes[name], "one value")
            )
        first |= texts({name: values[0]}, "{}")
    inside = {name: value for name, value in moved.items() if name not in plain.axes}
    known = list(plain.axes)
    faults = [
        Fault(
            "is no axis of the scenario and no path",
            "--set",
            name,
            "an axis or a dotted path",
            nearest_name(name, known),
        )
        for name in inside
        if "." not in name and name not in ("platform", "hardware")
    ]
    if faults:
        raise InputError(faults)
    chosen = {name: value for name, value in moved.items() if name in plain.axes}
    after = load(scenario, {**overrides, **inside}, {**first, **chosen})
    several = [name for name in chosen if len(_values(after)[name]) > 1]
    if several:
        raise InputError(
            Fault("has several values afterwards", name, chosen[name], "one value; ask once for each")
            for name in several
        )
    return load(scenario, overrides, first), after


def cost_paths(scenario: Scenario, costs: Mapping[str, str]) -> dict[str, str]:
    """Changes of costs by the paths that they stand at.

    Args:
        scenario: its platform gives the costs.
        costs: by name (``context_switch``, ``generations.sandy-bridge``) the value afterwards, in what the platform's file gives it in:
            a number of cycles, a time with its unit, or a factor.

    Raises:
        InputError: the platform has no such cost.
    """
    name = scenario.resolver.tree.get(("platform",))
    spec: PlatformSpec | None = scenario.resolver.parts.platform(str(name), ("platform",)).spec
    assert spec is not None  # the scenario is loaded
    known = spec.costs.entries()
    unknown = [cost for cost in costs if cost not in known]
    if unknown:
        allowed = "one of " + ", ".join(known)
        raise InputError(
            Fault("unknown cost", "costs", cost, allowed, nearest_name(cost, list(known))) for cost in unknown
        )
    paths = {}
    for cost, value in costs.items():
        entry = known[cost]
        field = "value" if isinstance(entry, Factor) else "time" if entry.time is not None else "cycles"
        paths[dotted(("platform", "costs", *cost.split("."), field))] = value
    return paths


def _values(scenario: Scenario) -> dict[str, tuple[Scalar, ...]]:
    return {name: axis.values for name, axis in scenario.axes.items()}  # noqa: PD011  of an axis, not of a frame


def _with_side(table: pd.DataFrame, side: str) -> pd.DataFrame:
    made = table.copy()
    made.insert(list(made.columns).index("seed") + 1, SIDE, side)
    return made
