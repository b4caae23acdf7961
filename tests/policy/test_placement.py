"""NUMA-aware I/O: when it is active, and which VMs it moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.model.policy.numa import (
    demand_estimate,
    is_below_threshold,
    moving_average,
    spare_cores,
    vms_to_pull,
    vms_to_return,
)


def test_it_holds_below_the_threshold_and_never_at_zero():
    """200 % of a core is the example of Net.NetNetqNumaIOCpuPinThreshold."""
    assert (is_below_threshold(199.9, 200), is_below_threshold(200, 200), is_below_threshold(0, 0)) == (
        True,
        False,
        False,
    )


def test_those_with_most_traffic_go_first_while_there_is_room():
    """Two PCPUs are free: the busiest two fit, the third does not, a smaller fourth does."""
    assert vms_to_pull([5, 50, 40, 1], [0.9, 1.0, 0.75, 0.25], 2) == [1, 2, 3]


def test_who_has_no_traffic_stays():
    """0 also represents a VM that may not be moved."""
    assert vms_to_pull([0, 3, 0], [0.1, 0.1, 0.1], 8) == [1]


def test_equal_traffic_goes_by_power_on():
    """Ties keep the order of the VMs."""
    assert vms_to_pull([7, 7, 7], [1, 1, 1], 2) == [0, 1]


@pytest.mark.parametrize(("load", "left"), [(0, 3), (2.5, 0.5), (3.2, 0), (3.6, 0), (4.6, -1)])
def test_between_three_quarters_and_nine_tenths_nobody_comes_or_goes(load: float, left: float):
    """Of four cores."""
    assert spare_cores(load, 4, 75, 90) == pytest.approx(left)


def test_a_quiet_look_does_not_make_a_vm_small():
    """Its mean delays the decision for some checks; a busy check counts at once."""
    assert demand_estimate(0.4, 0.9) == 0.9
    mean = 0.8
    for expectation in (0.7, 0.6125):
        mean = moving_average(mean, 0.0, 8)
        assert demand_estimate(mean, 0.0) == pytest.approx(expectation)


def test_those_with_least_traffic_leave_until_the_node_is_not_too_full():
    """No more than necessary; ties are decided by power-on order."""
    assert vms_to_return([5, 1, 3, 1], [0.5, 0.2, 0.5, 0.2], 0.5) == [1, 3, 2]
    assert vms_to_return([5, 1], [0.5, 0.5], 0.5) == [1]
    assert vms_to_return([5, 1], [0.5, 0.5], 0) == []
    assert vms_to_return([5, 1], [0.5, 0.5], 9) == [1, 0]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(0, 3)), max_size=12),
    st.floats(0, 6),
)
def test_what_is_pulled_fits(vms: list[tuple[int, float]], room: float):
    """No VM twice, none without traffic, and no more than there is room for."""
    chosen = vms_to_pull([packets for packets, _ in vms], [load for _, load in vms], room)
    assert len(set(chosen)) == len(chosen)
    assert all(vms[position][0] for position in chosen)
    assert sum(vms[position][1] for position in chosen) <= room + 1e-9
