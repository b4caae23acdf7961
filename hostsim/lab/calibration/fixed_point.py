"""Fixed points of claims: points at which every claim, thresholds included, is measured on each host of a calibration,
without a search.

A threshold is measured at a few values of its axis around the published one, which are the same on every host, and
interpolated to the limit. So all hosts need the same number of runs, and claims are smooth functions of constants.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hostsim.campaign.driver import Outcome
from hostsim.campaign.pipeline import judge_expectations
from hostsim.engine.record import AxisValues
from hostsim.results.expect import At, Expectation, Find, Ratio
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.search_answer import SearchAnswer
from hostsim.scenario.plan import Fidelity, Plan, Point, PointMaker
from hostsim.scenario.planner import searches_of
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.scenario.shipped_data import claims

__all__ = ["FixedPoints", "Measured", "crossing", "grid", "threshold_crossing"]

SPREAD = (0.65, 0.85, 0.97, 1.05, 1.2)
"""Axis values of a threshold, as shares of the published value: dense around it, and a few for distant hosts."""
FARTHEST = 3.0
"""Largest extrapolation of a crossing beyond the last value, in distances of the last two values."""
_LOAD = "host_cpu"
"""CPU utilisation from which a metric may become infinite; it rises linearly with load up to a saturated host."""


@dataclass(frozen=True)
class Measured:
    """A measurement at one value of the axis of a threshold."""

    value: float
    metric: float
    """Value in its unit, or infinity."""
    load: float
    """CPU utilisation of the host at this value, in percent."""


def grid(published: float) -> tuple[int, ...]:
    """The axis values at which a threshold's metric is measured, independent of the search's bracket."""
    return tuple(sorted({max(round(share * published), 1) for share in SPREAD}))


def crossing(find: Find, measured: Sequence[Measured]) -> float:
    """Axis value at which a metric crosses a limit, from measurements along the axis; extrapolated beyond the last one.

    Between a finite and an infinite value, the crossing is where a load that grows linearly would saturate the host.

    Args:
        find: the threshold.
        measured: rising along the axis.

    Returns:
        The value at which the metric reaches the limit, as `check` states it: half a step before the crossing. NaN with
        fewer than two measurements.
    """
    finite = [entry for entry in measured if not math.isnan(entry.metric)]
    if len(finite) < 2:
        return math.nan
    holds = [(entry.metric < find.below) == find.largest for entry in finite]
    # the last change counts: changes far below the limit are noise
    changes = [index for index in range(len(finite) - 1) if holds[index] and not holds[index + 1]]
    if not changes:
        first, last = finite[-2:] if holds[-1] else finite[:2]
        return _extrapolated(first, last, find.below, beyond=holds[-1]) - 0.5
    last_change = changes[-1]
    below, above = finite[last_change], finite[last_change + 1]
    if math.isinf(above.metric):
        at = _full(finite[max(last_change - 1, 0)], below, finite[-1].load)
        return min(max(at, below.value), above.value) - 0.5
    return threshold_crossing((below.value, below.metric), (above.value, above.metric), limit=find.below) - 0.5


def _full(first: Measured, last: Measured, load: float) -> float:
    """The axis value at which the linear load through two measurements saturates the host."""
    slope = (last.load - first.load) / (last.value - first.value) if last.value > first.value else 0.0
    slope = slope if slope > 0 else last.load / last.value  # through the origin
    return last.value + (load - last.load) / slope


def _extrapolated(below: Measured, above: Measured, limit: float, *, beyond: bool) -> float:
    """The crossing extrapolated from two measurements on one side, limited by the saturation of the host."""
    first, low, last, high = below.value, below.metric, above.value, above.metric
    width = last - first
    farthest = last + FARTHEST * width if beyond else first - width
    load = farthest
    if 0 < low < high < math.inf:
        load = first + math.log(limit / low) / math.log(high / low) * width
    if not beyond:
        return max(load, farthest)
    is_loaded = above.load > below.load
    return min(load, farthest, max(_full(below, above, 100.0), last) if is_loaded else farthest)


class FixedPoints:
    """A scenario whose claims are measured at fixed points.

    Attributes:
        scenario: with the expectations that the claims are computed from.
        names: ids of the claims in it.
        searched: the thresholds whose runs have a length of their own. Short runs at fixed points give them with a bias.
    """

    def __init__(self, scenario: Scenario, names: Collection[str]) -> None:
        self.scenario = restrict(scenario, names)
        self.names = [entry.name for entry in self.scenario.expectations if entry.name in names]
        self._grids = dict(self._make_grids())
        self.searched = frozenset(name for name, (find, _) in self._grids.items() if find.length_ps)

    def plan(self, host: Scenario, fidelity: Fidelity, *, is_searched: bool = False) -> Plan:
        """The runs of one host, with one replication of each point; raises InputError for an impossible host.

        Args:
            host: the scenario with other constants.
            fidelity: with a root seed for each host, so that noise does not look like an effect of constants.
            is_searched: search for the thresholds of `searched`, as `check` does.
        """
        maker = PointMaker(host, fidelity)
        tasks = [maker.task(point, 0) for point in maker.distinct(self._points(maker))]
        entries = [entry for entry in host.expectations if is_searched and entry.name in self.searched]
        searches = tuple(searches_of(host, entries, maker, (), replications=1))
        return Plan(host, fidelity, tuple({task.key: task for task in tasks}.values()), searches)

    def values(self, host: Scenario, fidelity: Fidelity, outcome: Outcome) -> dict[str, float]:
        """The smooth value of each claim on a host, in its unit; NaN without one.

        Args:
            host: as for `plan`.
            fidelity: as for `plan`.
            outcome: of the host's runs; the answer of a search replaces the interpolation.
        """
        answers = dict(outcome.answers)
        maker = PointMaker(host, fidelity)
        for name, (find, values) in self._grids.items():
            if name in answers:
                continue
            measured = []
            for value in values:
                record = outcome.records.get((maker.short(_at(find, value)).id, 0))
                if record is not None and record.error is None:
                    metric, load = (CATALOGUE[metric].evaluate(record) for metric in (find.metric, _LOAD))
                    measured.append(Measured(float(value), metric, load))
            threshold = crossing(find, measured)
            answers[name] = SearchAnswer(name, () if math.isnan(threshold) else (threshold,))
        judged = {
            verdict.expectation.name: verdict.value
            # plain records, as expectations ignore stored short runs
            for verdict in judge_expectations(_finite(host), dict(outcome.records), answers, fidelity)
        }
        return {name: math.nan if (number := judged[name]) is None else number for name in self.names}

    def _make_grids(self) -> Iterator[tuple[str, tuple[Find, tuple[int, ...]]]]:
        """Points of each threshold, by name; thresholds of one host share their points."""
        finds = {
            entry.name: (entry, entry.form) for entry in self.scenario.expectations if isinstance(entry.form, Find)
        }
        for name, (_, find) in finds.items():
            alike = [_published(e, f) for e, f in finds.values() if (f.axis, f.at) == (find.axis, find.at)]
            yield name, (find, grid(sum(alike) / len(alike)))

    def _points(self, maker: PointMaker) -> Iterator[Point]:
        """Every point is as short as the first run of a search, as an emulator averages the noise over all hosts."""
        for entry in self.scenario.expectations:
            if not isinstance(entry.form, Find):
                yield from map(maker.short, entry.form.required_points())
        for find, values in self._grids.values():
            yield from (maker.short(_at(find, value)) for value in values)


def _finite(host: Scenario) -> Scenario:
    """The host without the rule that a rising response time is infinite, so that overloaded hosts also have a ratio."""
    return replace(host, expectations=tuple(_finite_entry(entry) for entry in host.expectations))


def _finite_entry(entry: Expectation) -> Expectation:
    form = entry.form
    if not isinstance(form, At | Ratio) or form.metric is None or not CATALOGUE[form.metric].raw:
        return entry
    return replace(entry, form=replace(form, metric=CATALOGUE[form.metric].raw))


def _at(find: Find, value: int) -> AxisValues:
    return {**find.at, find.axis: find.written(value)}


def _published(entry: Expectation, find: Find) -> float:
    """The published value of a threshold; the middle of the band if the value is a text, or of the bracket without a
    claim.
    """
    claim = claims().get(entry.name) if entry.is_claim else None
    low, high = (claim.band.low, claim.band.high) if claim else (None, None)
    if claim is not None:
        with suppress(ValueError):
            return float(claim.published)
    low, high = find.start if low is None else low, find.stop if high is None else high
    return (low + high) / 2


def threshold_crossing(below: tuple[float, float], above: tuple[float, float], *, limit: float) -> float:
    """Axis value at which a metric that is known at two values reaches a limit, by interpolation.

    A share that is 0 at one value is taken as the excess load at the other. Otherwise the metric is assumed to grow by
    a constant factor with each step; if it is infinite at the other value, the crossing is halfway.

    Args:
        below: the smaller value of the axis, and the metric there.
        above: the larger value, and the metric there.
        limit: between the metrics.
    """
    (first, low), (last, high) = below, above
    if low <= 0 or high <= 0:
        return min(max(last * (1 - high / 100), first), last)
    is_known = low != high < math.inf
    share = math.log(limit / low) / math.log(high / low) if is_known else 0.5
    return first + min(max(share, 0.0), 1.0) * (last - first)
