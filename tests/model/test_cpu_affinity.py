"""CPU affinity: placement of worlds that may run on some PCPUs only, on hosts whose schedule can be computed by hand."""

from __future__ import annotations

from random import Random

import pytest

from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.units import MS, SECOND, US
from tests.model.small_host import Labourer, balanced, bare_host, check_charges
from tests.model.test_cpu_resources import spec_of, vm


def test_a_bound_world_waits_for_its_pcpu_while_others_are_idle():
    host = bare_host(cores=3, free=True)
    busy, bound = Labourer(host, "busy", pcpu=1), Labourer(host, "bound", pcpu=1)
    host.bind(bound, [1])
    busy.give(2 * MS)
    bound.give_at(500 * US, 1 * MS)
    host.clock.advance(SECOND)
    assert bound.done == [(3 * MS, 1)]
    check_charges(host, [busy, bound])


def test_it_takes_an_idle_one_of_those_that_it_may_run_on():
    host = bare_host(cores=4, free=True)
    busy, bound = Labourer(host, "busy", pcpu=1), Labourer(host, "bound", pcpu=0)
    host.bind(bound, [1, 2])
    busy.give(2 * MS)
    bound.give(1 * MS)
    host.clock.advance(SECOND)
    assert bound.done == [(1 * MS, 2)]


def test_an_idle_pcpu_steals_only_what_may_run_there():
    """PCPU 1 becomes idle: of the two worlds waiting at PCPU 0, the bound one came first and stays."""
    host = bare_host(cores=2, free=True)
    long, short = Labourer(host, "long", pcpu=0, system=True), Labourer(host, "short", pcpu=1, system=True)
    bound, free = Labourer(host, "bound", pcpu=0), Labourer(host, "free", pcpu=0)
    host.bind(bound, [0])
    long.give(10 * MS)
    short.give(1 * MS)
    bound.give(1 * MS)
    free.give(1 * MS)
    host.clock.advance(SECOND)
    assert free.done == [(2 * MS, 1)]
    assert bound.done == [(11 * MS, 0)]


def test_the_balancer_leaves_it_where_it_may_run():
    host = bare_host(cores=2, free=True, quantum=2 * MS)
    worlds = [Labourer(host, name, pcpu=0) for name in "abc"]
    host.bind(worlds[0], [0])
    balanced(host, worlds, 5 * MS)
    for world in worlds:
        world.give(*[1 * MS] * 60)
    host.clock.advance(SECOND)
    assert {pcpu for _, pcpu in worlds[0].done} == {0}
    assert host.pcpus[0].busy(SECOND) + host.pcpus[1].busy(SECOND) == 180 * MS


def test_hyperthreads_do_not_move_it_off_a_shared_core():
    host = bare_host(cores=2, threads=2, free=True, ht_rebalance_period=5 * MS)
    one, other = Labourer(host, "one", pcpu=0), Labourer(host, "other", pcpu=1)
    host.bind(one, [0, 1])
    host.bind(other, [0, 1])
    one.give(20 * MS)
    other.give(20 * MS)
    host.clock.advance(SECOND)
    assert {world.done[0][1] for world in (one, other)} == {0, 1}
    assert one.done[0][0] == 32 * MS


@pytest.mark.parametrize("seed", range(6))
def test_on_random_hosts_bound_vms_run_on_their_pcpus_and_nobody_waits_for_an_idle_one(seed: int):
    """Two nodes with VMs with and without affinity: each batch runs on an allowed PCPU, and no world waits while an idle PCPU may run it."""
    random = Random(seed)
    vms = []
    for number in range(random.randint(3, 6)):
        made = vm(f"vm{number}", count=random.randint(1, 3))
        if random.random() < 0.6:
            affinity = tuple(sorted(random.sample(range(8), random.randint(1, 5))))
            made = made.model_copy(update={"settings": made.settings.model_copy(update={"affinity": affinity})})
        vms.append(made)
    loads = {one.name: random.choice((0.2, 0.5, 1.3)) for one in vms}
    host = build_host(spec_of(vms, (), loads, cores=4, sockets=2), Streams(seed, 0))
    for look in range(200):
        host.clock.advance(look * 5 * MS + 1)
        for node in host.scheduler.nodes:
            idle = [pcpu for pcpu in node.pcpus if pcpu.running is None]
            for pcpu in node.pcpus:
                for world in pcpu.vcpus:
                    assert world.affinity is None or pcpu in world.affinity
                    assert not [one for one in idle if world.affinity is None or one in world.affinity]
        for one in host.vms:
            if one.group.settings.affinity:
                assert {world.last.index for world in one.vcpus if world.dispatches} <= set(one.group.settings.affinity)
