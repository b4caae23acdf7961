"""The rules of docs/design/scheduler.md one by one, on small hosts without costs whose schedule can be computed by hand."""

from __future__ import annotations

import pytest

from hostsim.units import MS, SECOND, US
from tests.model.small_host import Labourer, bare_host, check_charges, numa_balanced


def test_a_waking_world_goes_back_to_where_it_last_ran_if_that_is_idle():
    """Its last PCPU is chosen first, although another became idle later."""
    host = bare_host(cores=3, free=True)
    first, second = Labourer(host, "a", pcpu=1), Labourer(host, "b", pcpu=2)
    first.give(10 * US)
    second.give(20 * US)  # PCPU 2 is the last to become idle
    first.give_at(50 * US, 10 * US)
    host.clock.advance(MS)
    assert first.done == [(10 * US, 1), (60 * US, 1)]


def test_else_it_goes_to_the_pcpu_that_became_idle_most_recently():
    """Its last PCPU is busy; the warmer of the two idle ones is taken."""
    host = bare_host(cores=3, free=True)
    worlds = [Labourer(host, name, pcpu=pcpu) for name, pcpu in (("busy", 0), ("short", 1), ("long", 2))]
    for world, length in zip(worlds, (MS, 30 * US, 20 * US), strict=True):
        world.give(length)
    late = Labourer(host, "late", pcpu=0)
    late.give_at(50 * US, 10 * US)
    host.clock.advance(2 * MS)
    assert late.done == [(60 * US, 1)]


def test_system_worlds_go_before_vcpus_and_in_order_of_arrival():
    """A vCPU that came first waits until the last of them is done."""
    host = bare_host(free=True)
    running = Labourer(host, "running", system=True)
    running.give(100 * US)
    vcpu = Labourer(host, "vcpu")
    vcpu.give_at(1 * US, 10 * US)
    systems = [Labourer(host, name, system=True) for name in "xyz"]
    for number, world in enumerate(systems):
        world.give_at((2 + number) * US, 10 * US)
    host.clock.advance(MS)
    assert [world.done for world in systems] == [[(110 * US, 0)], [(120 * US, 0)], [(130 * US, 0)]]
    assert vcpu.done == [(140 * US, 0)]


def test_the_vcpu_with_the_least_virtual_time_goes_first():
    """The world that has used less, relative to its shares, overtakes one that came earlier."""
    host = bare_host(free=True)
    greedy, modest, running = (Labourer(host, name) for name in ("greedy", "modest", "running"))
    greedy.give(400 * US)
    modest.give_at(500 * US, 100 * US)
    running.give_at(SECOND, 500 * US)
    greedy.give_at(SECOND + 1 * US, 10 * US)
    modest.give_at(SECOND + 2 * US, 10 * US)
    host.clock.advance(2 * SECOND)
    assert modest.done[-1] == (SECOND + 510 * US, 0)
    assert greedy.done[-1] == (SECOND + 520 * US, 0)


def test_a_world_with_more_shares_ages_more_slowly():
    """The same use and twice the shares: half the virtual time, and the first turn."""
    host = bare_host(free=True)
    poor, rich, running = Labourer(host, "poor", shares=1000), Labourer(host, "rich", shares=2000), Labourer(host, "r")
    for world in (poor, rich):
        world.give_at(0, 300 * US)
    running.give_at(SECOND, MS)
    poor.give_at(SECOND + 1 * US, 10 * US)
    rich.give_at(SECOND + 2 * US, 10 * US)
    host.clock.advance(2 * SECOND)
    assert (poor.vtime, rich.vtime) == (310 * US, 155 * US)
    assert rich.done[-1] == (SECOND + MS + 10 * US, 0)
    assert poor.done[-1] == (SECOND + MS + 20 * US, 0)


def test_system_worlds_take_turns_of_a_quantum():
    """Neither preempts the other; both have had four quanta after eight."""
    host = bare_host(free=True, quantum=1 * MS)
    worlds = [Labourer(host, name, system=True) for name in "xy"]
    for world in worlds:
        world.give(*[100 * US] * 100)
    host.clock.advance(8 * MS + 1)
    check_charges(host, worlds)
    assert [len(world.done) for world in worlds] == [40, 40]
    assert host.pcpus[0].preemptions == 0
    assert host.pcpus[0].switches == 8 + 1


def test_nothing_moves_while_nodes_differ_by_less_than_the_threshold():
    """A VM that uses 8 % of a node with two PCPUs stays at home with a threshold of 10 points, and moves with 5."""
    for threshold, moves in ((10, 0), (5, 1)):
        host = bare_host(sockets=2, cores=2, free=True)
        worlds = [Labourer(host, name, pcpu=0) for name in "ab"]
        for world in worlds:
            host.adopt([world])
            for second in range(2):
                for step in range(10):
                    world.give_at(second * SECOND + step * 100 * MS, 4 * MS * (2 if world is worlds[0] else 1))
        balancer = numa_balanced(host, imbalance=threshold)
        host.clock.advance(2 * SECOND + 1)
        assert balancer.moves == moves, threshold


def test_a_vm_that_moves_while_it_runs_does_so_at_the_end_of_its_batch():
    """The batch is not preempted; the next one runs on the new node."""
    host = bare_host(sockets=2, cores=2, free=True, quantum=10 * SECOND)
    worlds = [Labourer(host, name, pcpu=pcpu) for name, pcpu in (("a", 0), ("b", 1))]
    for world in worlds:
        host.adopt([world])
        world.give(*[3 * SECOND] * 2)
    balancer = numa_balanced(host)
    host.clock.advance(10 * SECOND)
    check_charges(host, worlds)
    nodes = [[pcpu // 2 for _, pcpu in world.done] for world in worlds]
    assert [when for world in worlds for when, _ in world.done] == [3 * SECOND, 6 * SECOND] * 2
    assert balancer.moves == 1
    assert sorted(nodes) == [[0, 0], [0, 1]]


def test_a_vm_that_waits_moves_at_once():
    """One PCPU per node, two VMs on the first: the balancer moves the waiting one to the idle node at once."""
    host = bare_host(sockets=2, cores=1, free=True, quantum=600 * MS)
    worlds = [Labourer(host, name, pcpu=0) for name in "ab"]
    for world in worlds:
        host.adopt([world])
        world.give(10 * SECOND)
    balancer = numa_balanced(host)
    host.clock.advance(2 * SECOND)
    assert [pcpu.running for pcpu in host.pcpus] == [worlds[1], None]
    host.clock.advance(2 * SECOND + 1)
    assert balancer.moves == 1
    assert [pcpu.running for pcpu in host.pcpus] == [worlds[1], worlds[0]]
    host.clock.advance(4 * SECOND)
    check_charges(host, worlds)
    assert [world.used for world in worlds] == [3200 * MS, 2800 * MS]


@pytest.mark.parametrize(("quanta", "slept", "held"), [(8, 100, 8), (8, 3, 3), (1, 100, 1)])
def test_a_sleepers_credit_is_bounded(quanta, slept, held):
    """A vCPU that wakes beside a busy one has the PCPU as long as it lags, at most a number of quanta (Cpu.BoundLagQuanta); then they alternate."""
    host = bare_host(free=True, quantum=1 * MS, lag_quanta=quanta)
    busy, sleeper = Labourer(host, "busy"), Labourer(host, "sleeper")
    busy.give(*[100 * US] * 2000)
    sleeper.give_at(slept * MS + 1 * US, *[100 * US] * 200)
    got = []
    for after in (held, held + 2, held + 12):
        host.clock.advance((slept + after) * MS + 2 * US)
        host.pcpus[0].charge(host.clock.now)
        got.append(round(sleeper.used / MS))
    assert got == [held, held + 1, held + 6]
