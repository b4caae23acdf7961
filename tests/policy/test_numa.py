"""Decisions of NUMA scheduling, without a host."""

from __future__ import annotations

import pytest

from hostsim.model.policy.numa import demand, home_node, home_nodes, move_to_balance, node_load


def test_homes_are_dealt_round_robin():
    """VMs get the nodes in turn at power-on."""
    assert [home_node(vm, 2) for vm in range(5)] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("vcpus", [1, 2, 8])
def test_a_vm_that_fits_a_node_has_one_home(vcpus: int):
    """On the node chosen by `home_node`, for any width."""
    for vm in range(5):
        assert home_nodes(vm, vcpus, 2, 8) == [home_node(vm, 2)] * vcpus


def test_smaller_virtual_numa_nodes_make_more_blocks():
    """Ten vCPUs fit a node of 12 cores; at most 4 per virtual node make three of them, on as many nodes as exist."""
    assert home_nodes(0, 10, 4, 12) == [0] * 10
    assert home_nodes(0, 10, 4, 12, most=4) == [0] * 4 + [1] * 3 + [2] * 3
    assert home_nodes(0, 10, 2, 12, most=4) == [0] * 5 + [1] * 5
    assert home_nodes(0, 10, 4, 3, most=8) == home_nodes(0, 10, 4, 3)


@pytest.mark.parametrize(
    ("vm", "vcpus", "nodes", "cores", "expected"),
    [
        (0, 12, 2, 8, [0] * 6 + [1] * 6),
        (1, 12, 2, 8, [1] * 6 + [0] * 6),
        (3, 9, 4, 8, [3] * 5 + [0] * 4),
        (1, 10, 4, 4, [1] * 4 + [2] * 3 + [3] * 3),  # three blocks will do
        (0, 7, 2, 2, [0] * 4 + [1] * 3),  # more vCPUs than cores
        (5, 4, 1, 2, [0] * 4),
    ],
)
def test_a_wide_vm_is_split_evenly_into_as_few_blocks_as_will_do(
    vm: int, vcpus: int, nodes: int, cores: int, expected: list[int]
):
    """Blocks of neighbours on the nodes in turn, starting at the VM's turn."""
    assert home_nodes(vm, vcpus, nodes, cores) == expected


@pytest.mark.parametrize(
    ("used", "stalled", "expected"),
    [
        (30, 0, 0.3),  # nothing kept it from more
        (30, 70, 1.0),  # it never slept; it slept for 40 of the 50 that it was free to
        (10, 50, 0.2),  # it slept for 40 of the 50 that it was free to
        (0, 100, 1.0),
        (0, 60, 0.0),
    ],
)
def test_demand_is_what_a_world_would_use_if_it_did_not_wait(used: int, stalled: int, expected: float):
    """At most one PCPU, at least the used time."""
    assert demand(used, stalled, 100) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("wanted", "system", "expected"),
    [
        (1.0, 2.0, 0.25),  # enough for all
        (3.0, 2.0, 1.0),  # one PCPU is wanted twice
        (4.0, 2.0, 1.5),
        (8.0, 2.0, 2.5),  # no more than system worlds use
    ],
)
def test_system_worlds_fill_a_node_as_far_as_they_are_in_the_way(wanted: float, system: float, expected: float):
    """Of four PCPUs."""
    assert node_load(wanted, system, 4) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("loads", "members", "expected"),
    [
        ([0.9, 0.85], [[0.3, 0.3], [0.4]], None),  # below the threshold
        ([0.9, 0.5], [[0.5, 0.2, 0.1], [0.5]], (0, 1, 1)),  # 0.2 leaves the two closest
        ([0.9, 0.1], [[0.9], [0.1]], None),  # its only VM would take the imbalance along
        ([0.2, 0.9, 0.5], [[0.2], [0.3, 0.6], [0.5]], (1, 0, 0)),
        ([0.9, 0.1], [[], [0.1]], None),  # the load belongs to no VM: system worlds do not move
    ],
)
def test_the_balancer_makes_the_best_single_move(
    loads: list[float], members: list[list[float]], expected: tuple[int, int, int] | None
):
    """From fullest to emptiest, only if it helps."""
    assert move_to_balance(loads, members, 0.1) == expected


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ([[None, None], [None], [None]], (0, 0, 1)),
        ([[(0, 2), None], [None], [None]], (0, 1, 1)),  # the better VM may not move to the emptiest node
        ([[(0, 2), (0, 2)], [None], [None]], (0, 1, 2)),  # neither may: the next emptiest
        ([[(0,), (0,)], [None], [None]], None),
    ],
)
def test_the_balancer_respects_allowed_nodes(allowed: list[list[tuple[int, ...] | None]], expected: object):
    """From the fullest node to the emptiest allowed one."""
    assert move_to_balance([0.9, 0.1, 0.4], [[0.4, 0.2], [0.1], [0.4]], 0.1, allowed) == expected
