"""Global sensitivity analysis of a metric at a point: Morris screening, Sobol indices, one at a time; table and plot."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hostsim.config.files import write_whole
from hostsim.engine.record import AxisValues, FloatArray
from hostsim.errors import Fault, InputError, nearest_name, raise_faults
from hostsim.results.metrics.catalogue import CATALOGUE, nearest_metric
from hostsim.results.search_answer import SearchAnswer
from hostsim.scenario.cost_model import SPREAD, Constant, constants_at, with_constants
from hostsim.scenario.option_text import require_measures
from hostsim.scenario.plan import Fidelity, Plan, Records, Task, point_at
from hostsim.scenario.scenario import Scenario
from hostsim.views.plots.bars import Swing, draw_tornado
from hostsim.views.plots.style import figure_of, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "HEADINGS",
    "NOTICEABLE",
    "ElementaryEffect",
    "Ends",
    "FactorSensitivity",
    "SampleSize",
    "Sensitivity",
    "SensitivityResult",
    "SobolIndices",
    "draw",
    "elementary_effects",
    "interval_text",
    "morris_sample",
    "rows",
    "sobol_indices",
    "sobol_sample",
    "variable_constants",
    "without_effect",
    "write",
]


Ends = Sequence[tuple[float, float]]
"""The low and high end of every constant."""
_LEVELS = 4


@dataclass(frozen=True)
class ElementaryEffect:
    """Elementary effect of one constant over its whole interval (Morris), in the metric's unit."""

    mean: float
    """Mean of the absolute effects (mu star)."""
    half: float
    """Half-width of its 95 % interval."""
    spread: float
    """Standard deviation of the effects (sigma): as large as the mean for a nonlinear effect or one that depends on other constants."""


@dataclass(frozen=True)
class SobolIndices:
    """Sobol indices of one constant (its shares of the metric's variance), with half-widths of 95 % intervals."""

    first: float
    """First-order index."""
    first_half: float
    total: float
    """Total index, which includes interactions."""
    total_half: float


def morris_sample(ends: Ends, trajectories: int, seed: int) -> FloatArray:
    """Sample for Morris's method, a row for each run; each trajectory changes every constant once."""
    from SALib.sample.morris import sample

    return np.asarray(sample(_problem(ends), trajectories, num_levels=_LEVELS, seed=seed), dtype=np.float64)


def elementary_effects(ends: Ends, rows: FloatArray, outcomes: Sequence[float], seed: int) -> list[ElementaryEffect]:
    """The elementary effect of each constant (Morris), from the outcomes of the rows of `morris_sample`."""
    from SALib.analyze.morris import analyze

    indices = analyze(_problem(ends), rows, np.asarray(outcomes), num_levels=_LEVELS, seed=seed)
    columns = (np.asarray(indices[name], dtype=np.float64) for name in ("mu_star", "mu_star_conf", "sigma"))
    return [ElementaryEffect(*map(float, row)) for row in zip(*columns, strict=True)]


def sobol_sample(ends: Ends, samples: int, seed: int) -> FloatArray:
    """Sample for Sobol's method, a row for each run: samples x (number of constants + 2).

    Args:
        ends: of every constant.
        samples: a power of 2.
        seed: of the sequence's scrambling.
    """
    from SALib.sample.sobol import sample

    return np.asarray(sample(_problem(ends), samples, calc_second_order=False, seed=seed), dtype=np.float64)


def sobol_indices(ends: Ends, outcomes: Sequence[float], seed: int) -> list[SobolIndices]:
    """The Sobol indices of each constant, from the outcomes of the rows of `sobol_sample`."""
    from SALib.analyze.sobol import analyze

    indices = analyze(_problem(ends), np.asarray(outcomes), calc_second_order=False, seed=seed)
    columns = (indices[name] for name in ("S1", "S1_conf", "ST", "ST_conf"))
    return [SobolIndices(*map(float, row)) for row in zip(*columns, strict=True)]


def _problem(ends: Ends) -> dict[str, Any]:
    return {
        "num_vars": len(ends),
        "names": [str(index) for index in range(len(ends))],
        "bounds": [list(pair) for pair in ends],
    }


@dataclass(frozen=True)
class FactorSensitivity:
    """Sensitivity of the metric to one constant."""

    constant: Constant
    effect: ElementaryEffect
    share: SobolIndices | None = None
    """None for a constant without effect in the screening."""
    at_ends: tuple[float, float] | None = None
    """The metric with this constant at its low and its high end, and all others at their values."""


@dataclass(frozen=True)
class SensitivityResult:
    """Result of a sensitivity analysis, the most influential constant first."""

    metric: str
    at: AxisValues
    base: float
    """The metric with all constants at their values."""
    factors: tuple[FactorSensitivity, ...]

    @property
    def influential(self) -> list[FactorSensitivity]:
        """The influential constants: those with Sobol indices."""
        return [factor for factor in self.factors if factor.share is not None]


def variable_constants(scenario: Scenario, at: AxisValues, only: Sequence[str] = ()) -> tuple[Constant, ...]:
    """The variable constants that a point uses, except choices among words: all, or those whose names match a pattern.

    Raises:
        InputError: there are none, or a pattern matches none.
    """
    constants = {c.name: c for c in constants_at(scenario, at) if c.ends[0] < c.ends[1] and not c.words}
    if not constants:
        raise InputError(Fault("has no constant that could be varied", given=scenario.name))
    if not only:
        return tuple(constants.values())
    raise_faults(
        Fault(
            "matches no constant",
            "--only",
            repr(pattern),
            "names or patterns of " + ", ".join(constants),
            nearest_name(pattern, constants),
        )
        for pattern in only
        if not any(fnmatchcase(name, pattern) for name in constants)
    )
    return tuple(c for name, c in constants.items() if any(fnmatchcase(name, pattern) for pattern in only))


NOTICEABLE = 0.05
"""Share of the largest effect above which a constant is influential."""
_Row = list[Task]
"""The runs at one set of values, one for each replication."""


@dataclass(frozen=True)
class SampleSize:
    """Sample size of a sensitivity analysis."""

    trajectories: int
    """Number of trajectories of the screening; each has one run more than there are constants."""
    samples: int
    """Power of 2: Sobol's method takes this many times the number of influential constants plus 2."""
    most: int
    """Largest number of influential constants."""


class Sensitivity:
    """Sensitivity analysis as a sequential search: runs of the screening, then of Sobol's method for the influential constants (`hostsim.scenario.plan.Search`)."""

    def __init__(
        self,
        scenario: Scenario,
        metric: str,
        at: AxisValues,
        constants: Sequence[Constant],
        fidelity: Fidelity,
        sample_size: SampleSize,
    ) -> None:
        """Prepare a sensitivity analysis of selected constants at a point.

        Args:
            scenario: the scenario.
            metric: name in the catalogue, with or without a subject.
            at: a value for every axis.
            constants: the constants to vary, at least one.
            fidelity: with a number of replications.
            sample_size: of both methods.

        Raises:
            InputError: an unknown metric, or an impossible sample size.
        """
        _check(metric, sample_size)
        require_measures(scenario, [metric], "--metric")
        self.name = f"sensitivity of {metric}"
        self._scenario, self._metric, self._at = scenario, metric, dict(at)
        self._constants, self._fidelity, self._sample_size = tuple(constants), fidelity, sample_size
        self._replications = range(fidelity.replications or 1)
        self._values = morris_sample(_ends(constants), sample_size.trajectories, fidelity.seed)
        self._base = self._row((), ())
        self._screening = [self._row(constants, values) for values in self._values]
        self._left: list[Constant] = []
        self._closer: list[_Row] | None = None
        """Values at both ends of each influential constant, then the rows of Sobol's method; None until the screening
        is finished.
        """

    def plan(self) -> Plan:
        """All runs so far; those of the screening are known at the start."""
        tasks = {task.key: task for task in self._base + _all(self._screening)}
        return Plan(self._scenario, self._fidelity, tuple(tasks.values()), (self,))

    def base(self) -> Plan:
        """The runs at the unchanged constants."""
        return Plan(self._scenario, self._fidelity, tuple(self._base), ())

    def base_value(self, metric: str, done: Records) -> float:
        """A metric at the unchanged constants; NaN if a run is missing, has failed, or has no value of it."""
        return self._measure(self._base, done, metric)

    def wants(self, done: Records) -> list[Task]:
        """The runs of the screening, then of Sobol's method; none after a run that failed or lacks the metric. See
        `Search`.
        """
        missing = [task for task in self._base + _all(self._screening) if task.key not in done]
        return missing or [task for task in _all(self._closer_look(done)) if task.key not in done]

    def most(self) -> int:
        """Runs of the screening, and of Sobol's method for the largest number of constants. See `Search`."""
        close = min(self._sample_size.most, len(self._constants))
        rows = 1 + len(self._screening) + 2 * close + self._sample_size.samples * (close + 2)
        return rows * len(self._replications)

    def answer(self, done: Records) -> SearchAnswer:
        """The effect of each constant in the order of the result; empty after a failed run. See `Search`."""
        result = self.result(done)
        return SearchAnswer(self.name, tuple(factor.effect.mean for factor in result.factors) if result else ())

    def result(self, done: Records) -> SensitivityResult | None:
        """The result of the runs; None if one is missing, has failed, or has no value of the metric."""
        screened = self._effects(done)
        base, outcomes = self._measure(self._base, done), [self._measure(row, done) for row in self._closer_look(done)]
        if not screened or not all(map(math.isfinite, (base, *outcomes))):
            return None
        effects = dict(zip(self._constants, screened, strict=True))
        factors = {c: FactorSensitivity(c, effect) for c, effect in effects.items()}
        if self._left:
            count = 2 * len(self._left)
            closely = sobol_indices(_ends(self._left), outcomes[count:], self._fidelity.seed)
            for index, (c, share) in enumerate(zip(self._left, closely, strict=True)):
                at_ends = outcomes[2 * index], outcomes[2 * index + 1]
                factors[c] = FactorSensitivity(c, effects[c], share, at_ends)
        order = sorted(
            factors.values(), key=lambda factor: (factor.share.total if factor.share else -1.0, factor.effect.mean)
        )
        return SensitivityResult(self._metric, self._at, base, tuple(reversed(order)))

    def _closer_look(self, done: Records) -> list[_Row]:
        """Rows of Sobol's method; none without an influential constant or a complete screening."""
        effects = self._effects(done) if self._closer is None else []
        if effects:
            largest = max((effect.mean for effect in effects), default=0.0)
            order = sorted(zip(self._constants, effects, strict=True), key=lambda pair: -pair[1].mean)
            left = [c for c, effect in order if effect.mean > NOTICEABLE * largest][: self._sample_size.most]
            self._closer = [self._row([c], [end]) for c in left for end in c.ends]
            if left:
                values = sobol_sample(_ends(left), self._sample_size.samples, self._fidelity.seed)
                self._closer += [self._row(left, row) for row in values]
            self._left = left
        return self._closer or []

    def _effects(self, done: Records) -> list[ElementaryEffect]:
        """Elementary effects of the screening; empty if a run is missing, has failed, or has no value of the metric."""
        outcomes = [self._measure(row, done) for row in self._screening]
        if not all(map(math.isfinite, outcomes)):
            return []
        return elementary_effects(_ends(self._constants), self._values, outcomes, self._fidelity.seed)

    def _row(self, constants: Sequence[Constant], values: Iterable[float]) -> _Row:
        """The runs with constants at given values, and the others unchanged."""
        changed = {c.name: float(value) for c, value in zip(constants, values, strict=True)}
        point = point_at(with_constants(self._scenario, changed), self._at, self._fidelity)
        return [Task(point, replication, self._fidelity.seed) for replication in self._replications]

    def _measure(self, row: _Row, done: Records, metric: str = "") -> float:
        """The mean of the replications; NaN if one is missing, has failed, or has no value of the metric."""
        records = [done.get(task.key) for task in row]
        sound = [record for record in records if record is not None and record.error is None]
        if len(sound) < len(row):
            return math.nan
        return float(np.mean([CATALOGUE[metric or self._metric].evaluate(record) for record in sound]))


def _check(metric: str, sample_size: SampleSize) -> None:
    faults = []
    if metric not in CATALOGUE:
        allowed, nearest = "a name that `hostsim metrics` lists", nearest_metric(metric)
        faults.append(Fault("unknown metric", "--metric", repr(metric), allowed, nearest))
    if sample_size.trajectories < 2:
        allowed = "an integer from 2, as a single trajectory has no interval"
        faults.append(Fault("is too few", "--trajectories", str(sample_size.trajectories), allowed))
    if sample_size.samples < 2 or sample_size.samples & (sample_size.samples - 1):
        allowed = "2, 4, 8 and so on; shares from fewer than 64 samples have wide intervals"
        faults.append(Fault("is not a power of 2", "--samples", str(sample_size.samples), allowed))
    if sample_size.most < 1:
        faults.append(Fault("is out of range", "--most", str(sample_size.most), "an integer from 1"))
    raise_faults(faults)


def _ends(constants: Iterable[Constant]) -> Ends:
    return [constant.ends for constant in constants]


def _all(rows: Iterable[_Row]) -> list[Task]:
    return [task for row in rows for task in row]


HEADINGS = ("constant", "varied", "known by", "effect", "spread", "share of variance", "by itself", "at its ends")
"""Headings of the table on the command line."""


def rows(result: SensitivityResult) -> list[tuple[str, ...]]:
    """The table of a sensitivity analysis: a row for each constant that affects the metric."""
    return [_row(factor) for factor in result.factors if factor.effect.mean]


def without_effect(result: SensitivityResult) -> list[str]:
    """Names of the constants without any effect on the metric."""
    return [factor.constant.name for factor in result.factors if not factor.effect.mean]


def interval_text(constant: Constant) -> str:
    """The range of a constant as text."""
    low, high = (f"{end:g}" for end in constant.ends)
    between = f"{low} to {high} {constant.unit}".rstrip()
    return between if constant.range else f"±{100 * SPREAD:g} %: {between}"


def draw(result: SensitivityResult, scenario: str) -> Axes:
    """Draw the tornado plot of the influential constants, at least one.

    Args:
        result: of the analysis.
        scenario: its name, for the title.
    """
    swings = [
        Swing(
            factor.constant.name,
            interval_text(factor.constant),
            *factor.at_ends,
            f"{_percent(factor.share.total)} of the variance",
        )
        for factor in sorted(result.influential, key=_swing, reverse=True)
        if factor.at_ends is not None and factor.share is not None
    ]
    at = ", ".join(f"{axis} = {value}" for axis, value in result.at.items())
    title = f"{scenario}{' at ' + at if at else ''}: {result.base:.4g} {CATALOGUE[result.metric].unit}"
    return draw_tornado(swings, result.metric, result.base, title)


def write(result: SensitivityResult, scenario: str, folder: Path) -> list[Path]:
    """Write the table of all constants, and the tornado plot if one affects the metric, named after the metric.

    Raises:
        StoreError: the folder cannot be written.
    """
    files = [write_whole(folder / f"{result.metric}.csv", _as_csv(result).encode())]
    if result.influential:
        files += save(figure_of(draw(result, scenario)), folder / result.metric, pdf=True)
    return files


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _swing(factor: FactorSensitivity) -> float:
    assert factor.at_ends is not None
    return abs(factor.at_ends[1] - factor.at_ends[0])


def _row(factor: FactorSensitivity) -> tuple[str, ...]:
    effect, share = factor.effect, factor.share
    return (
        factor.constant.name,
        interval_text(factor.constant),
        factor.constant.origin.value,
        f"{effect.mean:.3g} ±{effect.half:.2g}",
        f"{effect.spread:.2g}",
        "" if share is None else f"{100 * share.total:.0f} ±{100 * share.total_half:.0f} %",
        "" if share is None else f"{100 * share.first:.0f} ±{100 * share.first_half:.0f} %",
        "" if factor.at_ends is None else f"{factor.at_ends[0]:.4g} .. {factor.at_ends[1]:.4g}",
    )


def _as_csv(result: SensitivityResult) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = ("constant", "origin", "value", "low", "high", "unit", "range_stated", "effect", "effect_half", "spread")
    more = ("total", "total_half", "first", "first_half", "metric_at_low", "metric_at_high")
    writer.writerow([*names, *more])
    for factor in result.factors:
        constant, effect, share = factor.constant, factor.effect, factor.share
        cells = [constant.name, constant.origin.value, constant.value, *constant.ends, constant.unit]
        cells += [constant.range is not None, effect.mean, effect.half, effect.spread]
        cells += [share.total, share.total_half, share.first, share.first_half] if share else [math.nan] * 4
        cells += factor.at_ends or [math.nan] * 2
        writer.writerow(["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells])
    return stream.getvalue()
