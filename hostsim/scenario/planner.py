"""The planner: from a scenario to its plan, fixed points in order and a search for each threshold and each target precision."""

from __future__ import annotations

import itertools

from hostsim.expect import Find
from hostsim.record import AxisValues
from hostsim.scenario.expect.bisection import Bisection
from hostsim.scenario.expect.expectation import required_points
from hostsim.scenario.expect.stopping_rule import Replications
from hostsim.scenario.plan import Fidelity, Plan, PointMaker, Search
from hostsim.scenario.scenario import Scenario

__all__ = ["make_plan"]


def make_plan(scenario: Scenario, fidelity: Fidelity, *, sweep: bool = True, expectations: bool = True) -> Plan:
    """Make the plan of a scenario: its fixed runs and its searches.

    Args:
        scenario: the scenario.
        fidelity: quick or full, seed and replications.
        sweep: with every point of the sweep: axes crossed, the last one fastest.
        expectations: with every point that an expectation is judged by, and a search for each threshold.

    Where the scenario asks for a precision, every point has a search for enough replications, unless their number is given or
    the fidelity is quick. A search for a threshold has none: each of its replications is an answer of its own.
    """
    maker = PointMaker(scenario, fidelity)
    crossed = itertools.product(*(axis.values for axis in scenario.axes.values())) if sweep else ()
    wanted: list[AxisValues] = [dict(zip(scenario.axes, values, strict=True)) for values in crossed]
    swept = maker.distinct(wanted)
    asked = scenario.expectations if expectations else ()
    for expectation in asked:
        if not isinstance(expectation.form, Find):
            wanted += required_points(expectation.form)
    fixed = maker.distinct(wanted)
    tasks = tuple(maker.task(point, replication) for point in fixed for replication in range(maker.replications))
    searches: list[Search] = [
        Bisection(expectation.name, expectation.form, maker, fixed)
        for expectation in asked
        if isinstance(expectation.form, Find)
    ]
    targets = scenario.run.precision
    if targets and not fidelity.quick and fidelity.replications is None:
        searches += [Replications(point, maker, targets) for point in fixed]
    return Plan(scenario, fidelity, tasks, tuple(searches), tuple(swept))
