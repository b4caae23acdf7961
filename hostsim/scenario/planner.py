"""The planner: from a scenario to its plan, with fixed points in order and a search for each threshold and each target precision."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from hostsim.engine.record import AxisValues
from hostsim.results.expect import Expectation, Find, Form
from hostsim.scenario.expect.bisection import Bisection
from hostsim.scenario.expect.stopping_rule import Replications
from hostsim.scenario.plan import Fidelity, Plan, Point, PointMaker, Search
from hostsim.scenario.scenario import Scenario

__all__ = ["make_plan", "searches_of"]


def make_plan(scenario: Scenario, fidelity: Fidelity, *, sweep: bool = True, expectations: bool = True) -> Plan:
    """Make the plan of a scenario: its fixed runs and its searches.

    Args:
        scenario: the scenario.
        fidelity: quick or full, seed and replications.
        sweep: include every point of the sweep: axes crossed, the last one fastest.
        expectations: include every point that an expectation needs, and a search for each threshold.

    Points of the sweep that no expectation needs may have shorter and fewer runs (``run.swept``). With a target precision, every point has a search for enough replications, unless their number is given,
    the fidelity is quick or an ensemble is used. Points of a threshold search have none: each replication is an answer.
    """
    maker = PointMaker(scenario, fidelity)
    crossed = itertools.product(*(axis.values for axis in scenario.axes.values())) if sweep else ()
    wanted: list[AxisValues] = [dict(zip(scenario.axes, values, strict=True)) for values in crossed]
    swept = maker.distinct(maker.swept(values)[0] for values in wanted)
    asked = scenario.expectations if expectations else ()
    judged = [values for entry in asked if not isinstance(entry.form, Find) for values in entry.form.required_points()]
    fixed = maker.distinct([*(maker.swept(values)[0] for values in wanted), *map(maker.point, judged)])
    counts = {maker.swept(values)[0].id: maker.swept(values)[1] for values in wanted}
    tasks = tuple(
        maker.task(point, replication)
        for point in fixed
        for replication in range(counts.get(point.id, maker.replications))
    )
    searches: list[Search] = list(searches_of(scenario, asked, maker, fixed))
    targets = scenario.run.precision
    if targets and not fidelity.quick and fidelity.replications is None and fidelity.ensemble is None:
        searches += [Replications(point, maker, targets, counts.get(point.id, maker.replications)) for point in fixed]
    return Plan(scenario, fidelity, tasks, tuple(searches), tuple(swept))


def searches_of(
    scenario: Scenario,
    asked: Iterable[Expectation],
    maker: PointMaker,
    fixed: Sequence[Point] = (),
    replications: int | None = None,
) -> Iterator[Bisection]:
    """The searches for the thresholds of some expectations of a scenario.

    A search uses the runs of the previous one on the same line; which one that is does not depend on the selection.

    Args:
        scenario: the scenario.
        asked: its expectations, or some of them.
        maker: makes the points.
        fixed: points of the plan.
        replications: of each search; by default those of the fidelity.
    """
    for expectation in asked:
        find = expectation.form
        if isinstance(find, Find):
            before = None if maker.thorough else _before(scenario, expectation, maker, replications)
            yield Bisection(expectation.name, find, maker, fixed, before, replications)


def _before(
    scenario: Scenario, expectation: Expectation, maker: PointMaker, replications: int | None
) -> Bisection | None:
    """The last earlier search of the file with the same line and bracket as that of an expectation."""
    before = None
    for other in scenario.searched:
        if other.name == expectation.name:
            break
        if _line(other.form, maker) == _line(expectation.form, maker):
            assert isinstance(other.form, Find)
            before = Bisection(other.name, other.form, maker, (), before, replications)
    return before


def _line(form: Form, maker: PointMaker) -> tuple[object, ...]:
    """Key of searches with the same values on equal hosts."""
    assert isinstance(form, Find)
    at = maker.alike({**form.at, form.axis: form.written(form.start)}, form.axis)
    return form.axis, form.start, form.stop, form.unit, at
