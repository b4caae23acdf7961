"""The scheduler on hosts whose schedule can be computed by hand (docs/design/scheduler.md)."""

from __future__ import annotations

import pytest

from hostsim.model.cpu.pcpu import ready_times
from hostsim.units import MS, SECOND, US
from tests.model.small_host import (
    HALT_EXIT,
    MIGRATED,
    PREEMPTION,
    SAME,
    SWITCH,
    Labourer,
    bare_host,
    check_charges,
    numa_balanced,
)


def test_a_world_alone_pays_switch_and_refill_each_time_it_is_woken():
    """An idle PCPU runs the idle loop as a separate context: halt exit, switch and refill before each stay, although no other world ran."""
    host = bare_host()
    world = Labourer(host, "a")
    world.give(100 * US)
    world.give_at(SECOND, 100 * US)
    host.clock.advance(2 * SECOND)
    stay = HALT_EXIT + SWITCH + SAME + 100 * US
    assert world.done == [(stay, 0), (SECOND + stay, 0)]
    assert (host.pcpus[0].switches, host.pcpus[0].dispatches) == (2, 2)
    check_charges(host, [world])


def test_no_halt_exit_where_the_pcpu_still_runs_another_world():
    """The waiting world pays switch and refill at its turn, and nothing for the idle loop, which did not run."""
    host = bare_host()
    one, other = Labourer(host, "one"), Labourer(host, "other")
    one.give(100 * US)
    other.give_at(50 * US, 10 * US)
    host.clock.advance(SECOND)
    first = HALT_EXIT + SWITCH + SAME + 100 * US
    assert one.done == [(first, 0)]
    assert other.done == [(first + SWITCH + SAME + 10 * US, 0)]
    assert host.pcpus[0].switches == 2
    check_charges(host, [one, other])


def test_a_world_that_is_woken_as_it_goes_to_sleep_pays_nothing():
    """The PCPU has not become idle yet, and no other world ran in between: a second dispatch without a switch."""

    class Restless(Labourer):
        def rest(self, now: int) -> None:
            if len(self.done) == 1:
                self.give(10 * US)

    host = bare_host()
    world = Restless(host, "a")
    world.give(100 * US)
    host.clock.advance(SECOND)
    first = HALT_EXIT + SWITCH + SAME + 100 * US
    assert world.done == [(first, 0), (first + 10 * US, 0)]
    assert (host.pcpus[0].switches, host.pcpus[0].dispatches) == (1, 2)
    check_charges(host, [world])


def test_waking_a_world_that_waits_or_runs_does_nothing():
    """Its work joins the coming or current stay: one dispatch serves all three jobs."""
    host = bare_host()
    world = Labourer(host, "a")
    world.give(10 * US)
    world.give_at(5 * US, 10 * US)
    world.give_at(6 * US, 10 * US)
    host.clock.advance(SECOND)
    assert len(world.done) == 3
    assert (world.dispatches, host.pcpus[0].dispatches) == (1, 1)


def test_a_world_goes_to_an_idle_pcpu_of_its_node_and_pays_for_cold_caches():
    """Its last PCPU is busy; another PCPU of the node is idle."""
    host = bare_host(cores=2)
    one, other = Labourer(host, "one"), Labourer(host, "other")
    one.give(1 * MS)
    other.give_at(10 * US, 100 * US)
    host.clock.advance(SECOND)
    assert other.done == [(10 * US + HALT_EXIT + SWITCH + MIGRATED + 100 * US, 1)]


def test_an_idle_pcpu_of_another_node_is_not_used():
    """Home nodes are respected: the second world waits although the other node is idle."""
    host = bare_host(sockets=2, cores=1, free=True)
    one, other = Labourer(host, "one"), Labourer(host, "other")
    one.give(1 * MS)
    other.give_at(10 * US, 100 * US)
    host.clock.advance(SECOND)
    assert other.done == [(1 * MS + 100 * US, 0)]


def test_a_pcpu_that_goes_idle_takes_the_first_of_the_longest_queue():
    """Three worlds wait at PCPU 0; PCPU 1 becomes idle first and takes one of them at once."""
    host = bare_host(cores=2, free=True)
    long, short = Labourer(host, "long", pcpu=0), Labourer(host, "short", pcpu=1)
    waiting = [Labourer(host, f"w{i}", pcpu=0) for i in range(3)]
    long.give(900 * US)
    short.give(50 * US)
    for position, world in enumerate(waiting):
        world.give_at((10 + position) * US, 100 * US)
    host.clock.advance(SECOND)
    assert [world.done for world in waiting] == [[(150 * US, 1)], [(250 * US, 1)], [(350 * US, 1)]]


def test_a_system_world_cuts_a_vcpu_short_and_the_rest_is_done_later():
    """The vCPU keeps its remaining work, pays its refill again, and its earlier end has no effect."""
    host = bare_host()
    vcpu, system = Labourer(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.give(100 * US)
    system.give_at(40 * US, 10 * US)
    host.clock.advance(SECOND)
    served = 40 * US + PREEMPTION + SWITCH + SAME + 10 * US
    left = HALT_EXIT + SWITCH + SAME + 100 * US - 40 * US
    assert system.done == [(served, 0)]
    assert vcpu.done == [(served + SWITCH + SAME + left, 0)]
    assert host.pcpus[0].preemptions == 1
    check_charges(host, [vcpu, system])


REFILL = 7 * US
"""A guest's private caches refilled."""


@pytest.mark.parametrize(("system", "refill"), [(False, REFILL), (True, 0)])
def test_a_guest_refills_its_private_caches_where_another_world_ran(system: bool, refill: int):
    """At once or after an idle time; not after the idle loop alone, and never for a VMkernel context."""
    host = bare_host(guest_refill=REFILL)
    world, other = Labourer(host, "world", system=system), Labourer(host, "other", system=True)
    world.give(100 * US)
    world.give_at(1 * MS, 100 * US)
    other.give_at(2 * MS, 10 * US)
    world.give_at(3 * MS, 100 * US)
    other.give_at(4 * MS, 50 * US)
    world.give_at(4 * MS + 1 * US, 100 * US)
    host.clock.advance(SECOND)
    turn = SWITCH + SAME
    waited = HALT_EXIT + turn + 50 * US  # the other one's stay
    stays = [
        HALT_EXIT + turn,
        1 * MS + HALT_EXIT + turn,
        3 * MS + HALT_EXIT + turn + refill,
        4 * MS + waited + turn + refill,
    ]
    assert world.done == [(stay + 100 * US, 0) for stay in stays]
    check_charges(host, [world, other])


def test_a_guest_that_is_cut_short_refills_its_private_caches():
    """In addition to its switch and refill, when it resumes after the system world."""
    host = bare_host(guest_refill=REFILL)
    vcpu, system = Labourer(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.give(100 * US)
    system.give_at(40 * US, 10 * US)
    host.clock.advance(SECOND)
    served = 40 * US + PREEMPTION + SWITCH + SAME + 10 * US
    assert vcpu.done == [(served + SWITCH + SAME + REFILL + HALT_EXIT + SWITCH + SAME + 60 * US, 0)]


@pytest.mark.parametrize("refill", [1 * US, 50 * US])
def test_a_guest_that_migrates_loses_no_less_than_one_that_stays(refill: int):
    """On another PCPU no private cache is warm: it pays for the migration, or, if that is more, what it would pay on its own PCPU after another world."""
    host = bare_host(cores=2, guest_refill=refill)
    one, other = Labourer(host, "one", system=True), Labourer(host, "other")
    one.give(1 * MS)
    other.give_at(10 * US, 100 * US)
    host.clock.advance(SECOND)
    assert other.done == [(10 * US + HALT_EXIT + SWITCH + max(MIGRATED, SAME + refill) + 100 * US, 1)]


def test_a_system_world_is_never_cut_short():
    """A second system world waits for the first."""
    host = bare_host(free=True)
    one, other = Labourer(host, "one", system=True), Labourer(host, "other", system=True)
    one.give(1 * MS)
    other.give_at(10 * US, 10 * US)
    host.clock.advance(SECOND)
    assert other.done == [(1 * MS + 10 * US, 0)]


def test_being_cut_short_many_times_loses_no_work():
    """After a thousand preemptions the vCPU has done exactly its job."""
    host = bare_host(free=True)
    vcpu, system = Labourer(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.give(10 * MS)
    for i in range(1000):
        system.give_at(i * 9 * US + 1, 1 * US)
    host.clock.advance(SECOND)
    assert vcpu.done == [(11 * MS, 0)]
    assert vcpu.used == 10 * MS


def test_a_preemption_at_the_very_end_of_a_batch_counts_it_as_done():
    """The tie is decided for the batch that ends, and its end is processed once."""
    host = bare_host(free=True)
    vcpu, system = Labourer(host, "vcpu"), Labourer(host, "system", system=True)
    system.give_at(100 * US, 10 * US)  # entered first, so it fires first at the tie
    vcpu.give(100 * US)
    host.clock.advance(SECOND)
    assert vcpu.done == [(100 * US, 0)]
    assert system.done == [(110 * US, 0)]


def test_the_quantum_lets_worlds_take_turns():
    """Two vCPUs with a second of work each alternate every 50 ms, for any batch length."""
    host = bare_host(free=True)
    worlds = [Labourer(host, name) for name in "ab"]
    for world in worlds:
        world.give(1 * SECOND)
    host.clock.advance(1 * SECOND)
    check_charges(host, worlds)
    assert [world.used for world in worlds] == [500 * MS, 500 * MS]
    assert host.pcpus[0].dispatches == 20


@pytest.mark.parametrize("busy", [True, False])
def test_shares_divide_a_pcpu_under_contention_and_only_then(busy: bool):
    """1:2:4 under contention; everything when alone."""
    host = bare_host(free=True)
    worlds = [Labourer(host, str(shares), shares=shares) for shares in (500, 1000, 2000)]
    for world in worlds if busy else worlds[:1]:
        world.give(*[10 * MS] * 10_000)
    host.clock.advance(70 * SECOND)
    check_charges(host, worlds)
    expected = [10, 20, 40] if busy else [70, 0, 0]
    assert [world.used / SECOND for world in worlds] == pytest.approx(expected, abs=0.06)


def test_a_long_sleeper_may_not_take_all_it_missed():
    """A world that slept for ten seconds gets eight quanta of credit, not ten seconds."""
    host = bare_host(free=True)
    busy, sleeper = Labourer(host, "busy"), Labourer(host, "sleeper")
    busy.give(*[1 * MS] * 20_000)
    sleeper.give_at(10 * SECOND, *[1 * MS] * 5_000)
    host.clock.advance(11 * SECOND)
    check_charges(host, [busy, sleeper])
    assert 0.6 * SECOND < sleeper.used < 0.76 * SECOND  # 0.4 s at once, then half of the remaining 0.6 s


def test_a_vcpu_far_behind_cuts_one_far_ahead_short():
    """It lags by more than the lead, so it preempts; one that lags by less waits for the batch to end."""
    host = bare_host(free=True)
    ahead, behind = Labourer(host, "ahead"), Labourer(host, "behind")
    ahead.give(20 * MS)
    behind.give_at(500 * US, 100 * US)
    host.clock.advance(SECOND)
    assert behind.done == [(20 * MS + 100 * US, 0)]
    host = bare_host(free=True)
    ahead, behind = Labourer(host, "ahead"), Labourer(host, "behind")
    ahead.give(20 * MS)
    behind.give_at(5 * MS, 100 * US)
    host.clock.advance(SECOND)
    assert behind.done == [(5 * MS + 100 * US, 0)]
    assert ahead.done == [(20 * MS + 100 * US, 0)]


def test_the_numa_balancer_moves_one_vm_at_a_time():
    """Three busy VMs on one node, none on the other: one moves at the first check, and no more, since 2:1 is optimal."""
    host = bare_host(sockets=2, cores=2, free=True)
    worlds = [Labourer(host, name, pcpu=0) for name in "abc"]
    for world in worlds:
        host.adopt([world])
        world.give(*[1 * MS] * 20_000)
    balancer = numa_balanced(host)
    host.clock.advance(9 * SECOND)
    assert sorted(world.node.index for world in worlds) == [0, 0, 1]
    assert balancer.moves == 1
    check_charges(host, worlds)


def test_waiting_time_is_what_ready_says():
    """%RDY: the second world waits while the first runs."""
    host = bare_host(free=True)
    one, other = Labourer(host, "one"), Labourer(host, "other")
    one.give(800 * US)
    other.give_at(100 * US, 300 * US)
    host.clock.advance(SECOND)
    assert ready_times([other], host.clock.now) == [700 * US]
    assert host.nodes[0].waiting.integral(host.clock.now) == 700 * US


def test_about_one_event_a_dispatch():
    """Every dispatch costs its end and nothing else; operations are counted, not timed."""
    host = bare_host(cores=4)
    worlds = [Labourer(host, str(i), pcpu=i % 4) for i in range(12)]
    for world in worlds:
        for i in range(50):
            world.give_at(i * 100 * US, 7 * US)
    wakes = 12 * 50
    host.clock.advance(SECOND)
    assert sum(len(world.done) for world in worlds) == wakes
    dispatches = sum(pcpu.dispatches for pcpu in host.pcpus)
    assert dispatches == wakes
    assert host.clock.scheduled() == wakes + dispatches
