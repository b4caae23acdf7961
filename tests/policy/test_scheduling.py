"""Decisions of the scheduler, without a host."""

from __future__ import annotations

import pytest

from hostsim.policy.coalescing import paced
from hostsim.policy.scheduling import home_node, move_to_balance, preempts, virtual_time_on_wake


def test_homes_are_dealt_round_robin():
    """As at power-on: one node after the other."""
    assert [home_node(vm, 2) for vm in range(5)] == [0, 1, 0, 1, 0]


def test_a_vcpu_needs_its_lead():
    """The lead counts from exactly its value."""
    assert preempts(0, 10, 10)
    assert not preempts(1, 10, 10)


def test_lag_is_bounded():
    """A world that is ahead keeps its time; one far behind is pulled up."""
    assert virtual_time_on_wake(500, 400, 50) == 500
    assert virtual_time_on_wake(0, 400, 50) == 350


@pytest.mark.parametrize(
    ("loads", "members", "expected"),
    [
        ([0.9, 0.85], [[0.3, 0.3], [0.4]], None),  # below the threshold
        ([0.9, 0.5], [[0.5, 0.2, 0.1], [0.5]], (0, 1, 1)),  # 0.2 leaves the two closest
        ([0.9, 0.1], [[0.9], [0.1]], None),  # its only VM would carry the imbalance along
        ([0.2, 0.9, 0.5], [[0.2], [0.3, 0.6], [0.5]], (1, 0, 0)),
        ([0.9, 0.1], [[], [0.1]], None),  # the load is nobody's: system worlds do not move
    ],
)
def test_the_balancer_makes_the_best_single_move(
    loads: list[float], members: list[list[float]], expected: tuple[int, int, int] | None
):
    """From fullest to emptiest, only if it helps."""
    assert move_to_balance(loads, members, 0.1) == expected


def test_interrupts_are_paced():
    """The first comes at once, the next an interval after the last."""
    assert paced(100, None, 250) == 100
    assert paced(100, 90, 250) == 340
    assert paced(900, 90, 250) == 900
