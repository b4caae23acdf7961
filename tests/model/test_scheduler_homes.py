"""Home nodes: which worlds may move, where to, and the effect on a world whose home changes."""

from __future__ import annotations

import pytest

from hostsim.units import MS, SECOND, US
from tests.model.small_host import Labourer, bare_host, check_charges, numa_balanced


def busy_host(sockets=2, vms=3, **adoption):
    """Two PCPUs per node, and busy VMs that all have the first node as home."""
    host = bare_host(sockets=sockets, cores=2, free=True)
    worlds = [Labourer(host, f"vm{number}", pcpu=0) for number in range(vms)]
    units = []
    for world in worlds:
        units.append(host.adopt([world], **adoption))
        world.give(*[1 * MS] * 20_000)
    return host, worlds, units, numa_balanced(host)


@pytest.mark.parametrize(("pinned", "moves"), [((), 1), ((0, 1), 1), ((0, 1, 2), 0)])
def test_a_pinned_unit_is_not_moved(pinned, moves):
    """The balancer takes one of the others, or none."""
    host, worlds, units, balancer = busy_host()
    for number in pinned:
        units[number].pinned = True
    host.clock.advance(3 * SECOND)
    assert balancer.moves == moves
    assert all(worlds[number].node is host.nodes[0] for number in pinned)
    check_charges(host, worlds)


def test_a_unit_that_is_released_may_be_moved_again():
    """Pinned for one check, not for the next; its load in the meantime does not count."""
    host, worlds, units, balancer = busy_host(movable=False)
    host.clock.advance(3 * SECOND)
    assert balancer.moves == 0
    units[1].pinned = False
    host.clock.advance(5 * SECOND)
    assert [world.node.index for world in worlds] == [0, 1, 0]


def test_a_unit_moves_to_allowed_nodes_only():
    """Nodes 1 and 2 are both empty, and node 1 would be chosen; the VMs may only use 0 and 2."""
    for nodes, expected in ((None, [0, 0, 1]), ((0, 2), [0, 0, 2]), ((0,), [0, 0, 0])):
        host, worlds, *_ = busy_host(sockets=3, nodes=nodes)
        host.clock.advance(2 * SECOND + 1)
        assert sorted(world.node.index for world in worlds) == expected


def test_a_home_that_is_not_allowed_is_refused():
    """The affinity is given during wiring, before time starts."""
    host = bare_host(sockets=2)
    with pytest.raises(ValueError, match=r"vm is at home on node 0, not on one of \(1,\)"):
        host.adopt([Labourer(host, "vm")], nodes=(1,))


def test_all_worlds_of_a_unit_move_together():
    """A VM of two vCPUs and a system world changes its home as a unit."""
    host = bare_host(sockets=2, cores=2, free=True)
    vms = [[Labourer(host, f"vm{v}.{i}", pcpu=i, system=i == 2) for i in (0, 1)] for v in range(2)]
    for vm in vms:
        host.adopt(vm)
        for world in vm:
            world.give(*[1 * MS] * 20_000)
    balancer = numa_balanced(host)
    host.clock.advance(3 * SECOND)
    assert balancer.moves == 1
    assert sorted(tuple(world.node.index for world in vm) for vm in vms) == [(0, 0), (1, 1)]


def test_who_sleeps_waits_or_runs_when_its_home_changes():
    """A waiting world changes queues at once, a running one at the end of its batch, a sleeping one when it wakes."""
    host = bare_host(sockets=2, cores=1, free=True)
    running, waiting, sleeping = (Labourer(host, name) for name in ("running", "waiting", "sleeping"))
    running.give(10 * MS, 10 * MS)
    waiting.give_at(500 * US, 500 * US)
    sleeping.give_at(5 * MS, 500 * US)
    host.clock.advance(2 * MS)
    host.rehome([running, waiting, sleeping], host.nodes[1], host.clock.now)
    host.rehome([running, waiting, sleeping], host.nodes[1], host.clock.now)  # already there: nothing happens
    host.clock.advance(SECOND)
    assert waiting.done == [(2500 * US, 1)]
    assert sleeping.done == [(5500 * US, 1)]
    assert running.done == [(10 * MS, 0), (20 * MS, 1)]
    check_charges(host, [running, waiting, sleeping])


def test_a_running_world_with_a_new_home_goes_there_when_it_is_cut_short():
    """It need not wait at a PCPU that no longer belongs to its node."""
    host = bare_host(sockets=2, cores=1, free=True)
    vcpu, system = Labourer(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.give(10 * MS)
    system.give_at(3 * MS, 4 * MS)
    host.clock.advance(2 * MS)
    host.rehome([vcpu], host.nodes[1], host.clock.now)
    host.clock.advance(SECOND)
    assert system.done == [(7 * MS, 0)]
    assert vcpu.done == [(10 * MS, 1)]


def drifted(mover_jobs: int = 4000):
    """Two nodes of one PCPU; the first has worked for two seconds, the second for 20 ms. The moving world and another one share the first."""
    host = bare_host(sockets=2, cores=1, free=True, quantum=2 * MS)
    mover, stays, far = Labourer(host, "mover"), Labourer(host, "stays"), Labourer(host, "far", pcpu=1)
    mover.give(*[1 * MS] * mover_jobs)
    stays.give(*[1 * MS] * 4000)
    far.give(*[1 * MS] * 20)
    host.clock.advance(2 * SECOND + 500 * US)
    assert host.nodes[0].vclock > 40 * host.nodes[1].vclock
    return host, mover, stays, far


@pytest.mark.parametrize("running", [True, False])
def test_a_moved_world_shares_its_new_node_alike(running):
    """Virtual times of nodes drift apart; the difference neither puts the newcomer ahead of the others nor behind."""
    host, mover, stays, far = drifted()
    while (host.pcpus[0].running is mover) is not running:
        host.clock.advance(host.clock.now + 1 * MS)
    host.rehome([mover], host.nodes[1], host.clock.now)
    far.give(*[1 * MS] * 4000)
    before = len(mover.done), len(far.done)
    host.clock.advance(host.clock.now + 1 * SECOND)
    assert len(mover.done) - before[0] == pytest.approx(500, abs=10)
    assert len(far.done) - before[1] == pytest.approx(500, abs=10)
    assert host.nodes[1].vclock < 1 * SECOND  # not increased by the old node's virtual time
    assert host.nodes[0].vclock == pytest.approx(stays.vtime, abs=2 * MS)


@pytest.mark.parametrize("how", ["asleep", "cut short", "co-stopped"])
def test_virtual_time_keeps_its_distance_to_the_node_in_a_move(how):
    """In any state of the world: a running one keeps its distance when it leaves the PCPU."""
    host, mover, _, _ = drifted(100 if how == "asleep" else 4000)
    system = Labourer(host, "system", system=True)
    old, new = host.nodes
    while how != "asleep" and host.pcpus[0].running is not mover:
        host.clock.advance(host.clock.now + 1 * MS)
    if how == "co-stopped":
        host.pcpus[0].costop(host.clock.now)
    distance = mover.vtime - old.vclock
    host.rehome([mover], new, host.clock.now)
    if how == "cut short":
        host.pcpus[0].charge(host.clock.now)
        distance = mover.vtime - old.vclock
        system.give(1 * MS)
    assert mover.vtime - new.vclock == distance


def test_one_that_is_co_stopped_on_its_old_node_after_the_move_is_translated():
    """Its home changes while it runs, and a co-stop makes it leave its PCPU."""
    host, mover, _, _ = drifted()
    while host.pcpus[0].running is not mover:
        host.clock.advance(host.clock.now + 1 * MS)
    host.rehome([mover], host.nodes[1], host.clock.now)
    host.pcpus[0].charge(host.clock.now)
    distance = mover.vtime - host.nodes[0].vclock
    host.pcpus[0].costop(host.clock.now)
    assert mover.vtime - host.nodes[1].vclock == distance


def crowded(cores: int, vms: tuple[int, int], systems: tuple[int, int] = (0, 0), **changes: int):
    """Two nodes with the given numbers of busy VMs and busy system worlds each; returns the VMs of each after ten seconds, and the moves."""
    host = bare_host(sockets=2, cores=cores, free=True, quantum=10 * MS, **changes)
    worlds = []
    for node in range(2):
        for number in range(vms[node] + systems[node]):
            is_system = number >= vms[node]
            pcpu = node * cores + number % cores
            world = Labourer(host, f"{node}.{number}", pcpu=pcpu, system=is_system)
            world.give(*[10 * MS] * 2000)
            worlds.append(world)
            if not is_system:
                host.adopt([world])
    balancer = numa_balanced(host)
    host.clock.advance(10 * SECOND + 1)
    check_charges(host, worlds)
    homes = [unit.worlds[0].node.index for unit in host.numa_clients]
    return (homes.count(0), homes.count(1)), balancer.moves


@pytest.mark.parametrize(
    ("cores", "vms", "systems", "expected"),
    [
        (
            2,
            (6, 2),
            (0, 0),
            (4, 4),
        ),  # all PCPUs are busy: only waiting worlds distinguish the nodes, and the system world's PCPU does not make its node look empty
        (2, (6, 6), (1, 0), (6, 6)),  # the system world's PCPU does not make its node look empty
        (2, (4, 2), (0, 1), (3, 3)),
        (4, (8, 8), (4, 0), (7, 9)),  # system worlds have every other quantum: two PCPUs less for VMs
        (4, (2, 1), (2, 0), (2, 1)),  # nobody waits: VMs stay beside the system worlds that serve them
        (4, (1, 0), (3, 0), (1, 0)),
    ],
)
def test_vms_go_where_they_wait_less(cores, vms, systems, expected):
    """A node's load is the demand of its VMs, including system worlds in their way; once it is even, nothing moves."""
    homes, moves = crowded(cores, vms, systems)
    assert homes == expected
    assert moves == vms[0] - expected[0]


def test_a_vcpu_with_a_pcpu_to_itself_does_not_lead_the_node():
    """A VM does not compete with itself; only the unmet demand of others counts."""
    host = bare_host(cores=2, free=True)
    alone, other = Labourer(host, "alone", pcpu=1), Labourer(host, "other")
    host.dedicate(alone, host.nodes, [other])
    alone.give(*[1 * MS] * 1000)
    other.give(*[1 * MS] * 10)
    host.clock.advance(SECOND + 1)
    assert alone.done[-1] == (SECOND, 1)
    assert host.nodes[0].vclock == 10 * MS


@pytest.mark.parametrize("state", ["sleeps", "waits"])
def test_of_equally_short_queues_the_first_is_taken(state):
    """A world with a new home finds both PCPUs there busy with system worlds, and a world waiting at each: it waits at the first."""
    host = bare_host(sockets=2, cores=2, free=True)
    old, new = host.nodes
    for name in ("first", "second"):
        for pcpu in new.pcpus:
            Labourer(host, f"{name} of {pcpu.index}", system=True, pcpu=pcpu.index).give(10 * MS)
    mover = Labourer(host, "mover")
    if state == "waits":
        Labourer(host, "here", system=True, pcpu=0).give(10 * MS)
        Labourer(host, "there", system=True, pcpu=1).give(10 * MS)
        mover.give(1 * MS)
    assert [pcpu.queued for pcpu in new.pcpus] == [1, 1]
    host.rehome([mover], new, host.clock.now)
    if state == "sleeps":
        mover.give(1 * MS)
    assert [pcpu.queued for pcpu in new.pcpus] == [2, 1]
    assert mover in new.pcpus[0].vcpus
    assert not any(pcpu.queued for pcpu in old.pcpus)
