"""CPU limits on hosts whose schedule can be computed by hand: credit, throttling, ready time and %MLMTD."""

from __future__ import annotations

from hostsim.model.cpu.pcpu import PPM, CpuLimit, WorldState, limited_times, ready_times
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.units import MS, SECOND, US
from tests.model.small_host import Labourer, bare_host, check_charges

QUANTUM = 50 * MS


def limited(host: Scheduler, *vcpus: Labourer, rate: float, parent: CpuLimit | None = None) -> CpuLimit:
    """A limit in PCPUs for vCPUs, inside another limit."""
    limit = CpuLimit(host.clock, parent, QUANTUM)
    limit.set_rate(round(rate * PPM), 0)
    for vcpu in vcpus:
        vcpu.limit = limit
    above: CpuLimit | None = limit
    while above is not None:
        above.vcpus += vcpus
        above = above.parent
    return limit


def test_a_vcpu_at_half_a_pcpu_runs_a_quantum_and_is_held_back_a_quantum():
    """The credit of 25 ms is used up at 25 ms per quantum, and full again a quantum later; other worlds lose no PCPU time."""
    host = bare_host(free=True)
    world = Labourer(host, "a")
    limited(host, world, rate=0.5)
    world.give(120 * MS)
    host.clock.advance(60 * MS)
    assert world.state is WorldState.LIMITED
    assert (ready_times([world], host.clock.now), limited_times([world], host.clock.now)) == ([10 * MS], [10 * MS])
    host.clock.advance(SECOND)
    assert world.done == [(220 * MS, 0)]
    assert (world.waited, world.limited) == (100 * MS, 100 * MS)
    assert host.pcpus[0].busy(SECOND) == 120 * MS
    check_charges(host, [world])


def test_credit_is_kept_for_four_quanta():
    """After 400 ms without work the credit is 100 ms and lasts 200 ms; then quanta of work and of throttling alternate."""
    host = bare_host(free=True)
    world = Labourer(host, "a")
    limited(host, world, rate=0.5)
    world.give_at(400 * MS, 300 * MS)
    host.clock.advance(SECOND)
    assert world.done == [(800 * MS, 0)]
    assert world.limited == 100 * MS


def test_another_world_runs_while_it_is_held_back():
    """The waiting world gets the PCPU at the instant at which the limit is reached."""
    host = bare_host(free=True)
    one, other = Labourer(host, "one"), Labourer(host, "other")
    limited(host, one, rate=0.5)
    one.give(60 * MS)
    other.give_at(1 * US, 30 * MS)
    host.clock.advance(SECOND)
    assert other.done == [(80 * MS, 0)]
    assert one.done == [(110 * MS, 0)]


def test_vcpus_of_a_vm_share_its_limit():
    """Two vCPUs on two PCPUs with a limit of one: a credit of 50 ms lasts 50 ms, and both are throttled and resume together."""
    host = bare_host(cores=2, free=True)
    worlds = [Labourer(host, name, pcpu=pcpu) for name, pcpu in (("a", 0), ("b", 1))]
    limited(host, *worlds, rate=1.0)
    for world in worlds:
        world.give(70 * MS)
    host.clock.advance(SECOND)
    assert [world.done[0][0] for world in worlds] == [120 * MS, 120 * MS]
    assert [world.limited for world in worlds] == [50 * MS, 50 * MS]


def test_one_that_wakes_while_its_vm_is_held_back_waits_for_the_limit():
    host = bare_host(cores=2, free=True)
    busy, late = Labourer(host, "busy", pcpu=0), Labourer(host, "late", pcpu=1)
    limited(host, busy, late, rate=0.5)
    busy.give(200 * MS)
    late.give_at(60 * MS, 10 * MS)
    host.clock.advance(70 * MS)
    assert late.state is WorldState.LIMITED
    host.clock.advance(100 * MS)
    assert late.limited == 0  # is counted when the vCPU resumes
    host.clock.advance(SECOND)
    assert late.limited == 40 * MS
    assert late.done == [(110 * MS, 1)]


def test_the_limit_of_a_pool_holds_back_all_in_it():
    """Two VMs without own limits in a pool of one PCPU, and one VM outside."""
    host = bare_host(cores=3, free=True)
    worlds = [Labourer(host, name, pcpu=pcpu) for pcpu, name in enumerate("abc")]
    pool = limited(host, rate=1.0)
    for world in worlds[:2]:
        limited(host, world, rate=5.0, parent=pool)
    for world in worlds:
        world.give(70 * MS)
    host.clock.advance(SECOND)
    assert [world.done[0][0] for world in worlds] == [120 * MS, 120 * MS, 70 * MS]


def test_a_context_of_the_vm_uses_its_credit_and_is_not_held_back():
    """A NetWorld runs 20 ms of a credit of 25 ms, so the vCPU has 10 ms left; the NetWorld runs on while the vCPU is throttled."""
    host = bare_host(cores=2, free=True)
    vcpu, context = Labourer(host, "vcpu", pcpu=0), Labourer(host, "context", pcpu=1, system=True)
    limit = limited(host, vcpu, rate=0.5)
    context.limit = limit
    context.give(20 * MS)
    host.clock.advance(20 * MS)
    vcpu.give(40 * MS)
    context.give_at(60 * MS, 10 * MS)
    host.clock.advance(SECOND)
    assert context.done == [(20 * MS, 1), (70 * MS, 1)]
    # credit: 25 - 20 / 2 = 15 ms at 20 ms, 0 at 50 ms; 25 ms again at 100 ms, minus the 10 ms of the context, at 120 ms
    assert vcpu.done == [(130 * MS, 0)]
    assert vcpu.limited == 70 * MS


def test_a_limit_that_is_lifted_lets_its_worlds_go_on():
    host = bare_host(free=True)
    world = Labourer(host, "a")
    limit = limited(host, world, rate=0.5)
    world.give(60 * MS)
    host.clock.advance(60 * MS)
    limit.set_rate(-1, 60 * MS)
    host.clock.advance(SECOND)
    assert world.done == [(70 * MS, 0)]


def test_a_limited_vcpu_that_is_rehomed_goes_on_at_its_new_node():
    host = bare_host(sockets=2, free=True)
    world = Labourer(host, "a")
    limited(host, world, rate=0.5)
    world.give(60 * MS)
    host.clock.advance(60 * MS)
    host.rehome([world], host.nodes[1], 60 * MS)
    host.clock.advance(SECOND)
    assert world.done == [(110 * MS, 1)]


def test_hyperthreads_are_held_back_with_the_rest_of_their_work():
    """On a core shared by both threads each does 0.625 of its work; the rest is done when the limit allows it."""
    host = bare_host(threads=2, free=True, ht_rebalance_period=0)
    worlds = [Labourer(host, name, pcpu=pcpu) for pcpu, name in enumerate("ab")]
    limited(host, worlds[0], rate=0.5)
    worlds[0].give(50 * MS)
    worlds[1].give(80 * MS)
    host.clock.advance(SECOND)
    # both until 50 ms: 31.25 ms of work done; then b alone until 98.75 ms; a alone from 100 ms on
    assert worlds[1].done == [(98_750 * US, 1)]
    assert worlds[0].done == [(118_750 * US, 0)]
