"""Which queue serves which vNIC."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.model.policy.steering import DynamicNetQueue, Move, fixed_queue, rebalance


def test_each_vnic_has_a_queue_of_its_own_until_none_is_left():
    """Queue 0 is for frames without a filter; with one queue there is no choice."""
    assert [fixed_queue(position, 4) for position in range(7)] == [1, 2, 3, 1, 2, 3, 1]
    assert [fixed_queue(position, 1) for position in range(3)] == [0, 0, 0]


def test_a_queue_that_is_too_busy_gives_away_what_halves_it():
    """95 % busy with shares of 10, 50 and 35: the one nearest to half of it moves to an unused queue."""
    assert rebalance([0.95, 0.0], [[10, 50, 35], []], 0.7, 0.9) == [Move(0, 1, 1)]


def test_it_goes_to_the_least_busy_queue_that_has_room():
    """30 % busy can take another 47.5 %; 60 % busy cannot, so a spare queue is opened."""
    assert rebalance([0.95, 0.6, 0.3, 0.0], [[1, 1], [1], [1], []], 0.7, 0.9) == [Move(0, 0, 2)]
    assert rebalance([0.95, 0.6, 0.5, 0.0], [[1, 1], [1], [1], []], 0.7, 0.9) == [Move(0, 0, 3)]


def test_no_queue_is_opened_on_a_full_node():
    """A used queue takes a vNIC if it has room; otherwise nothing changes. Packing continues."""
    assert rebalance([0.95, 0.0], [[10, 50, 35], []], 0.7, 0.9, may_open=False) == []
    assert rebalance([0.95, 0.6, 0.5, 0.0], [[1, 1], [1], [1], []], 0.7, 0.9, may_open=False) == []
    assert rebalance([0.95, 0.6, 0.3, 0.0], [[1, 1], [1], [1], []], 0.7, 0.9, may_open=False) == [Move(0, 0, 2)]
    assert rebalance([0.0, 0.30, 0.35], [[], [1], [3]], 0.7, 0.9, may_open=False) == [Move(1, 0, 2)]


@pytest.mark.parametrize(("use", "moves"), [(0.79, [Move(0, 1, 1)]), (0.80, [])])
def test_the_balancer_opens_queues_below_a_mark_of_its_node(use: float, moves: list[Move]):
    """From 80 % of its PCPUs' time on a node is full."""
    assert DynamicNetQueue(1, 0.7, 0.9, 0.8).moves([0.95, 0.0], [[10, 50, 35], []], use) == moves


def test_nothing_can_be_done_without_room_or_with_one_vnic():
    """All queues are used and full; or one vNIC fills its queue alone."""
    assert rebalance([0.95, 0.6], [[1, 1], [1]], 0.7, 0.9) == []
    assert rebalance([1.0, 0.0], [[1], []], 0.7, 0.9) == []


def test_a_queue_of_one_vnic_that_is_as_busy_keeps_no_other_from_giving_away():
    """Two queues without idle time, of which one has three vNICs."""
    assert rebalance([1.0, 1.0, 0.0], [[1, 1, 1], [3], []], 0.7, 0.9) == [Move(0, 0, 2)]
    assert rebalance([0.95, 1.0, 0.0], [[1, 1, 1], [3], []], 0.7, 0.9) == [Move(0, 0, 2)]


def test_two_quiet_queues_become_one():
    """30 % and 35 % make 65 %, below 70: all vNICs of the less busy one move, the last first, so that positions stay valid."""
    assert rebalance([0.0, 0.30, 0.35, 0.9], [[], [1, 2], [3], [4]], 0.7, 0.95) == [Move(1, 1, 2), Move(1, 0, 2)]
    assert rebalance([0.0, 0.36, 0.35], [[], [1, 2], [3]], 0.7, 0.95) == []


def test_an_idle_host_stays_as_it_is():
    """Nothing is used, or all is on one queue, or no vNIC got a packet."""
    assert rebalance([0.0, 0.0], [[], []], 0.7, 0.9) == []
    assert rebalance([0.1, 0.0], [[0, 0], []], 0.7, 0.9) == []
    assert rebalance([0.95, 0.0], [[0, 0], []], 0.7, 0.9) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.lists(st.integers(0, 1000), max_size=4)), min_size=1, max_size=6))
def test_no_vnic_is_lost_and_none_doubled(queues: list[tuple[float, list[int]]]):
    """Sequential moves see each other's effects; no move leaves a queue for itself; a used and full queue takes none."""
    loads, members = [load for load, _ in queues], [list(vnics) for _, vnics in queues]
    numbered = [[(queue, place) for place in range(len(vnics))] for queue, vnics in enumerate(members)]
    before = sorted(vnic for vnics in numbered for vnic in vnics)
    for move in rebalance(loads, members, 0.7, 0.9):
        assert move.source != move.target
        assert loads[move.target] <= 0.9 or not members[move.target]
        numbered[move.target].append(numbered[move.source].pop(move.member))
    assert sorted(vnic for vnics in numbered for vnic in vnics) == before
    assert sum(bool(vnics) for vnics in numbered) >= min(1, len(before))
