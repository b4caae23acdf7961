"""The cost of runs: running sums that equal the sums taken anew."""

from __future__ import annotations

import random
from statistics import fmean

import pytest
from toy_runs import point, tasks, toy_record

from hostsim.campaign.cost import Costs


def test_nothing_is_made_up_before_a_run_has_told() -> None:
    """A run without a time tells nothing, and what is not left takes no time."""
    costs, [task] = Costs(), tasks([point(n=1)], 1)
    costs.expect(task)
    costs.add(toy_record(1, 0, facts={}))
    assert costs.left_s() is None
    costs.settle(task)
    costs.add(toy_record(1, 0, facts={"wall_s": 0.1}))
    assert costs.left_s() == 0


def test_running_sums_equal_the_sums_over_all_that_are_left() -> None:
    """Whatever the order in which runs are expected, end and tell their time."""
    draw, costs = random.Random(1), Costs()
    left, took = [], {}
    for task in draw.sample(tasks([point(n=n) for n in range(8)], 6), 48):
        costs.expect(task)
        left.append(task)
        if draw.random() < 0.7:
            ended = left.pop(draw.randrange(len(left)))
            seconds = draw.random()
            costs.settle(ended)
            costs.add(toy_record(1, 0, point_id=ended.point.id, facts={"wall_s": seconds}))
            took.setdefault(ended.point.id, []).append(seconds)
        means = {name: fmean(values) for name, values in took.items()}
        if means:
            usual = fmean(means.values())
            assert costs.left_s() == pytest.approx(sum(means.get(task.point.id, usual) for task in left))
    assert len(left) > 5
