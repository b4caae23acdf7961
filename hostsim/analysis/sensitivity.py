"""Global sensitivity analysis of a metric at a point: Morris screening, Sobol indices and one-at-a-time ends.

Every constant behind the point varies over its interval. Morris' method finds the influential ones, Sobol's method the share of
the variance of each of those, and each of those goes to both of its ends by itself. All runs share their random numbers, so that what
differs is what the constants do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hostsim.analysis.constant import Constant
from hostsim.analysis.cost_model import with_constants
from hostsim.analysis.sampling import (
    ElementaryEffect,
    Ends,
    elementary_effects,
    morris_sample,
    sobol_indices,
    sobol_sample,
)
from hostsim.analysis.sensitivity_result import FactorSensitivity, SensitivityResult
from hostsim.errors import Fault, InputError
from hostsim.metrics.catalogue import CATALOGUE, nearest_metric
from hostsim.record import AxisValues
from hostsim.scenario.plan import Fidelity, Plan, Records, Task, point_at
from hostsim.scenario.scenario import Scenario
from hostsim.search_answer import SearchAnswer

__all__ = ["NOTICEABLE", "SampleSize", "Sensitivity"]

NOTICEABLE = 0.05
"""Share of the largest effect that is worth a closer look."""
_Row = list[Task]
"""The replications at one set of values."""


@dataclass(frozen=True)
class SampleSize:
    """Sample size of a sensitivity analysis."""

    trajectories: int
    """Effects of each constant that the screening takes: it runs as many times as there are constants, and once more, for each."""
    samples: int
    """Power of 2: Sobol's method runs as many times as constants are left, and twice more, for each."""
    most: int
    """Constants that are looked at closely."""


class Sensitivity:
    """Sensitivity analysis as a sequential search: runs of the screening, then of a closer look at the influential constants (`hostsim.scenario.plan.Search`)."""

    def __init__(
        self,
        scenario: Scenario,
        metric: str,
        at: AxisValues,
        constants: Sequence[Constant],
        fidelity: Fidelity,
        sample_size: SampleSize,
    ) -> None:
        """Prepare a sensitivity analysis; `hostsim.analysis.sensitivity_result` reads its point and selects the constants.

        Args:
            scenario: the scenario.
            metric: name in the catalogue.
            at: a value for every axis.
            constants: what is moved, at least one.
            fidelity: with a number of replications.
            sample_size: of both methods.

        Raises:
            InputError: an unknown metric, or an effort that cannot be.
        """
        _check(metric, sample_size)
        self.name = f"sensitivity of {metric}"
        self._scenario, self._metric, self._at = scenario, metric, dict(at)
        self._constants, self._fidelity, self._sample_size = tuple(constants), fidelity, sample_size
        self._replications = range(fidelity.replications or 1)
        self._values = morris_sample(_ends(constants), sample_size.trajectories, fidelity.seed)
        self._base = self._row((), ())
        self._screening = [self._row(constants, values) for values in self._values]
        self._left: list[Constant] = []
        self._closer: list[_Row] | None = None
        """Both ends of each constant that is left, then the rows of Sobol's method; None until the screening is over."""

    def plan(self) -> Plan:
        """All of it; the screening's runs are known from the start."""
        tasks = {task.key: task for task in self._base + _all(self._screening)}
        return Plan(self._scenario, self._fidelity, tuple(tasks.values()), (self,))

    def wants(self, done: Records) -> list[Task]:
        """The runs of the screening, then of the closer look; no more once one has failed or measured nothing: see `Search`."""
        missing = [task for task in self._base + _all(self._screening) if task.key not in done]
        return missing or [task for task in _all(self._closer_look(done)) if task.key not in done]

    def most(self) -> int:
        """Runs of the screening, and of a closer look at as many constants as that takes at most: see `Search`."""
        close = min(self._sample_size.most, len(self._constants))
        rows = 1 + len(self._screening) + 2 * close + self._sample_size.samples * (close + 2)
        return rows * len(self._replications)

    def answer(self, done: Records) -> SearchAnswer:
        """The effect of each constant in the order of the result; nothing where a run failed: see `Search`."""
        found = self.result(done)
        return SearchAnswer(self.name, tuple(one.effect.mean for one in found.factors) if found else ())

    def result(self, done: Records) -> SensitivityResult | None:
        """The result of the runs; None where one is missing, has failed, or did not measure the metric."""
        screened = self._effects(done)
        base, outcomes = self._measure(self._base, done), [self._measure(row, done) for row in self._closer_look(done)]
        if not screened or not all(map(math.isfinite, (base, *outcomes))):
            return None
        found = dict(zip(self._constants, screened, strict=True))
        factors = {c: FactorSensitivity(c, effect) for c, effect in found.items()}
        if self._left:
            count = 2 * len(self._left)
            closely = sobol_indices(_ends(self._left), outcomes[count:], self._fidelity.seed)
            for number, (c, share) in enumerate(zip(self._left, closely, strict=True)):
                at_ends = outcomes[2 * number], outcomes[2 * number + 1]
                factors[c] = FactorSensitivity(c, found[c], share, at_ends)
        order = sorted(factors.values(), key=lambda one: (one.share.total if one.share else -1.0, one.effect.mean))
        return SensitivityResult(self._metric, self._at, base, tuple(reversed(order)))

    def _closer_look(self, done: Records) -> list[_Row]:
        """Its rows; none where nothing moves the metric, or the screening has come to nothing."""
        found = self._effects(done) if self._closer is None else []
        if found:
            largest = max((effect.mean for effect in found), default=0.0)
            order = sorted(zip(self._constants, found, strict=True), key=lambda pair: -pair[1].mean)
            left = [c for c, effect in order if effect.mean > NOTICEABLE * largest][: self._sample_size.most]
            self._closer = [self._row([c], [end]) for c in left for end in c.ends]
            if left:
                values = sobol_sample(_ends(left), self._sample_size.samples, self._fidelity.seed)
                self._closer += [self._row(left, row) for row in values]
            self._left = left
        return self._closer or []

    def _effects(self, done: Records) -> list[ElementaryEffect]:
        """Elementary effects of the screening; nothing where one of its runs is missing, has failed, or did not measure the metric."""
        outcomes = [self._measure(row, done) for row in self._screening]
        if not all(map(math.isfinite, outcomes)):
            return []
        return elementary_effects(_ends(self._constants), self._values, outcomes, self._fidelity.seed)

    def _row(self, constants: Sequence[Constant], values: Iterable[float]) -> _Row:
        """The runs with these constants at these values, and the others at theirs."""
        changed = {c.name: float(value) for c, value in zip(constants, values, strict=True)}
        point = point_at(with_constants(self._scenario, changed), self._at, self._fidelity)
        return [Task(point, replication, self._fidelity.seed) for replication in self._replications]

    def _measure(self, row: _Row, done: Records) -> float:
        """The mean of the replications; NaN where one is missing, has failed, or did not measure the metric."""
        records = [done.get(task.key) for task in row]
        sound = [record for record in records if record is not None and record.error is None]
        if len(sound) < len(row):
            return math.nan
        return float(np.mean([CATALOGUE[self._metric].evaluate(record) for record in sound]))


def _check(metric: str, sample_size: SampleSize) -> None:
    faults = []
    if metric not in CATALOGUE:
        allowed, nearest = "one of " + ", ".join(CATALOGUE), nearest_metric(metric)
        faults.append(Fault("unknown metric", "--metric", repr(metric), allowed, nearest))
    if sample_size.trajectories < 2:
        allowed = "an integer from 2: of one there is no interval"
        faults.append(Fault("is too few", "--trajectories", str(sample_size.trajectories), allowed))
    if sample_size.samples < 2 or sample_size.samples & (sample_size.samples - 1):
        faults.append(Fault("is no power of 2", "--samples", str(sample_size.samples), "64, 128, 256 and so on"))
    if sample_size.most < 1:
        faults.append(Fault("is out of range", "--most", str(sample_size.most), "an integer from 1"))
    if faults:
        raise InputError(faults)


def _ends(constants: Iterable[Constant]) -> Ends:
    return [constant.ends for constant in constants]


def _all(rows: Iterable[_Row]) -> list[Task]:
    return [task for row in rows for task in row]
