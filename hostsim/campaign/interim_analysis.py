"""Interim analysis: a group sequential test that adds replications while the verdict on a claim is open.

A verdict is judged with the scenario's number of replications, then with twice and four times as many (5, 10, 20), and is final as soon
as it is not open. Three looks are three chances of an error, so each gets a third of it (Bonferroni): the level of each interval is
1 - 0.05 / 3, and all of them hold together in at least 95 % of cases. Alpha spending would give narrower intervals, but needs the
joint distribution of the looks, which is unknown for the worst of several points, a ratio, or a statement.

A look is futile, and skipped, if the verdict would still be open at the last look with the same mean and deviation
(docs/decisions/0172). Futility makes no verdict wrong, because the verdict stays open.

At quick fidelity an open verdict with its value in the band is accepted. Only an open verdict with its value outside gets further looks,
unless its claim is a known red, which is judged by its range. The first look has level 95 %, the further looks 1 - 0.05 / 3.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hostsim.results.estimate import Interval
from hostsim.results.expect import Band, Expectation, Find, Verdict, VerdictState
from hostsim.results.search_answer import Look, SearchAnswer, look_name
from hostsim.scenario import planner
from hostsim.scenario.plan import Fidelity, Plan, PointMaker, Records, Task
from hostsim.scenario.planner import searches_of
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.selection import restrict
from hostsim.scenario.shipped_data import known_red

if TYPE_CHECKING:
    from hostsim.results.search_answer import Bound
    from hostsim.scenario.expect.bisection import Bisection

__all__ = ["ERROR", "GROWTH", "LEVEL", "InterimAnalysis", "is_futile", "plan_with_looks"]

GROWTH = (1, 2, 4)
"""Replications at each look, as multiples of the scenario's."""
ERROR = 0.05
"""Largest share of wrong verdicts over all looks."""
LEVEL = 1 - ERROR / len(GROWTH)
"""Level of the interval at each look."""
_QUICK_LEVEL = 0.95
"""Level of the first look at quick fidelity."""


def plan_with_looks(scenario: Scenario, fidelity: Fidelity, *, sweep: bool = True, expectations: bool = True) -> Plan:
    """The plan of `hostsim.scenario.planner.make_plan`, with an interim analysis of each expectation.

    Exceptions: a known red at quick fidelity, a given number of replications, a scenario with a target precision, and
        full runs of a scenario with one replication. A single quick run with a value outside the band may be an outlier
        of its seed.
    """
    plan = planner.make_plan(scenario, fidelity, sweep=sweep, expectations=expectations)
    maker = PointMaker(scenario, fidelity)
    precise = scenario.run.precision and not fidelity.quick
    if not expectations or not fidelity.looks or precise or (maker.replications == 1 and not fidelity.quick):
        return plan
    maker.distinct(task.point for task in plan.tasks)
    reds = known_red() if fidelity.quick else {}
    judged = [entry for entry in scenario.expectations if entry.form.needs_runs and entry.name not in reds]
    looks = [InterimAnalysis(scenario, entry, maker, fidelity) for entry in judged]
    return replace(plan, searches=(*plan.searches, *looks))


class InterimAnalysis:
    """The interim analysis of one expectation: a search for a sufficient number of replications."""

    def __init__(self, scenario: Scenario, expectation: Expectation, maker: PointMaker, fidelity: Fidelity) -> None:
        """A search.

        Args:
            scenario: the scenario of the expectation and its operands.
            expectation: the expectation that is judged.
            maker: maker of its points.
            fidelity: fidelity of the runs; looks that would exceed its processor time are skipped.
        """
        self.name = look_name(expectation.name)
        self._scenario = restrict(scenario, [expectation.name])
        self._expectation = expectation
        self._maker = maker
        self._quick, self._max_s = fidelity.quick, fidelity.max_processor_s
        self._counts = [factor * maker.replications for factor in GROWTH]
        forms = [entry.form for entry in self._scenario.expectations if not isinstance(entry.form, Find)]
        self._points = {point.id: point for form in forms for point in map(maker.point, form.required_points())}
        self._searches: dict[int, list[Bisection]] = {
            count: list(searches_of(scenario, self._scenario.expectations, maker, replications=count))
            for count in self._counts
        }

    def wants(self, done: Records) -> list[Task]:
        """Missing runs of the next look; none once the verdict is final. See `Search`."""
        return self._walk(done)[0]

    def most(self) -> int:
        """Runs of the last look; at quick fidelity of the first, as few verdicts need more. See `Search`."""
        if self._quick:
            return len(self.wants({}))
        last = self._counts[-1]
        return len(self._points) * last + sum(search.most() for search in self._searches[last])

    def answer(self, done: Records) -> SearchAnswer:
        """The final look. See `Search`."""
        _, count, reason = self._walk(done)
        searches = {search.name: search.answer(done) for search in self._searches[count]}
        return SearchAnswer(self.name, (float(count),), look=Look(count, self._level(count), searches, reason))

    def _level(self, count: int) -> float:
        """Level of the interval at the look with a given number of replications."""
        return _QUICK_LEVEL if self._quick and count == self._counts[0] else LEVEL

    def _walk(self, done: Records) -> tuple[list[Task], int, str]:
        """Missing runs, the replications of the current look, and the reason if a possible further look is skipped."""
        for count, following in zip(self._counts, [*self._counts[1:], 0], strict=True):
            missing = self._missing(count, done)
            if missing:
                return missing, count, ""
            verdict = self._verdict(count, done)
            if not following or not self._is_open(verdict):
                return [], count, ""
            futile = "" if self._quick else _futile(verdict, count, self._counts[-1])
            reason = futile or self._too_long(count, following, done)
            if reason:
                return [], count, reason
        raise AssertionError("the last look is final")

    def _is_open(self, verdict: Verdict) -> bool:
        from hostsim.results.verdicts import label

        return label(verdict, quick=self._quick) == VerdictState.OPEN.value

    def _missing(self, count: int, done: Records) -> list[Task]:
        tasks = [
            self._maker.task(point, replication) for point in self._points.values() for replication in range(count)
        ]
        missing = {task.key: task for task in tasks if task.key not in done}
        for search in self._searches[count]:
            missing |= {task.key: task for task in search.wants(done)}
        return list(missing.values())

    def _verdict(self, count: int, done: Records) -> Verdict:
        from hostsim.results.judge import judge

        records = [done[point, replication] for point in self._points for replication in range(count)]
        answers = {search.name: search.answer(done) for search in self._searches[count]}
        verdicts = judge(self._scenario.expectations, self._scenario.name, records, answers, level=self._level(count))
        return next(verdict for verdict in verdicts if verdict.expectation.name == self._expectation.name)

    def _too_long(self, count: int, following: int, done: Records) -> str:
        """The reason to skip the next look; empty if there is time for it."""
        if self._max_s is None:
            return ""
        keys = {(point, replication) for point in self._points for replication in range(count)}
        for search in self._searches[count]:
            keys |= {
                (p.id, replication) for replication in range(count) for p in search.looked(replication, done).values()
            }
        spent_s = sum(float(done[key].facts.get("wall_processor_s", 0.0)) for key in keys)
        if spent_s * following / count <= self._max_s:
            return ""
        return (
            f"undecided after {count} replications, which took {spent_s:.3g} s of processor time: {following} would take "
            f"about {spent_s * following / count:.3g} s, and {self._max_s:.3g} s are allowed (--max-processor-time)"
        )


def is_futile(interval: Interval, band: Band, last: int, bound: Bound | None = None) -> bool:
    """True if a verdict would still be open after a number of replications with the same mean and deviation (futility)."""
    from scipy.special import stdtrit

    from hostsim.results.judge import state_of

    quantile = (1 + LEVEL) / 2
    shrink = float(stdtrit(last - 1, quantile) / stdtrit(interval.count - 1, quantile)) * math.sqrt(
        interval.count / last
    )
    low, high = (interval.mean + shrink * (end - interval.mean) for end in (interval.low, interval.high))
    return state_of(Interval(interval.mean, low, high, last), band, bound) is VerdictState.OPEN


def _futile(verdict: Verdict, count: int, last: int) -> str:
    """The reason that a further look is futile; empty if it may decide the verdict."""
    if verdict.value is None or verdict.ci_low is None or verdict.ci_high is None:
        return ""
    interval = Interval(verdict.value, verdict.ci_low, verdict.ci_high, count)
    if not is_futile(interval, verdict.expectation.band, last, verdict.bound):
        return ""
    return f"undecided after {count} replications, and also after {last} if mean and deviation do not change"
