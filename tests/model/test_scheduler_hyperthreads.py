"""Hyperthreads on hosts without costs: a core with two busy threads does 1.25 of one thread's work, 0.625 per thread."""

from __future__ import annotations

import random

import pytest

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
)


def check_work(host, worlds, given):
    """The work of cores equals the work of worlds: 1 per picosecond with one busy thread, 1.25 with two."""
    check_charges(host, worlds)
    now = host.clock.now
    busy, used = (sum(getattr(pcpu, what)(now) for pcpu in host.pcpus) for what in ("busy", "used"))
    shared = busy - used
    # a picosecond may be lost at each change of speed
    assert used - shared + 1.25 * shared == pytest.approx(given, abs=100_000)


def test_two_equal_bursts_on_one_core_take_1_6_times_as_long():
    """Each runs at 0.625, and both end together; %UTIL is 100 each, %USED 50."""
    host = bare_host(threads=2, free=True)
    worlds = [Labourer(host, str(i), pcpu=i) for i in range(2)]
    for world in worlds:
        world.give(100 * US)
    host.clock.advance(160 * US + 1)
    assert [world.done for world in worlds] == [[(160 * US, 0)], [(160 * US, 1)]]
    assert [world.used for world in worlds] == [160 * US] * 2
    assert [pcpu.busy(host.clock.now) for pcpu in host.pcpus] == [160 * US] * 2
    assert [pcpu.used(host.clock.now) for pcpu in host.pcpus] == [80 * US] * 2
    check_work(host, worlds, 200 * US)


def test_a_thread_alone_has_the_whole_core():
    """%USED is %UTIL."""
    host = bare_host(threads=2, free=True)
    world = Labourer(host, "a")
    world.give(100 * US)
    host.clock.advance(1 * MS)
    assert world.done == [(100 * US, 0)]
    assert [pcpu.used(host.clock.now) for pcpu in host.pcpus] == [100 * US, 0]


def test_ends_move_when_the_sibling_starts_and_stops():
    """The second burst starts at 40: 60 of the first remain and take 96; by 136 the second has done 60, and does its last 40 alone."""
    host = bare_host(threads=2, free=True)
    one, other = (Labourer(host, str(i), pcpu=i) for i in range(2))
    one.give(100 * US)
    other.give_at(40 * US, 100 * US)
    host.clock.advance(100 * US)
    assert [pcpu.used(host.clock.now) for pcpu in host.pcpus] == [70 * US, 30 * US]
    host.clock.advance(1 * MS)
    assert one.done == [(136 * US, 0)]
    assert other.done == [(176 * US, 1)]
    assert [pcpu.used(host.clock.now) for pcpu in host.pcpus] == [88 * US, 88 * US]
    check_work(host, [one, other], 200 * US)


def test_a_batch_that_begins_on_a_shared_core_is_slow_from_the_start():
    """The second job of a stay behaves like the first."""
    host = bare_host(threads=2, free=True)
    one, other = (Labourer(host, str(i), pcpu=i) for i in range(2))
    one.give(1 * MS)
    other.give(100 * US, 200 * US)
    host.clock.advance(2 * MS)
    assert other.done == [(160 * US, 1), (480 * US, 1)]
    assert one.done == [(480 * US + 700 * US, 0)]


def test_a_burst_that_is_cut_keeps_the_work_that_was_left():
    """Preempted at 80 with 50 of 100 done; the system world runs 10 slowly; then 50 remain."""
    host = bare_host(threads=2, free=True)
    vcpu, other = (Labourer(host, str(i), pcpu=i) for i in range(2))
    system = Labourer(host, "system", system=True, pcpu=0)
    vcpu.give(100 * US)
    other.give(1 * MS)
    system.give_at(80 * US, 10 * US)
    host.clock.advance(81 * US)
    assert vcpu.left == 50 * US
    host.clock.advance(2 * MS)
    assert system.done == [(96 * US, 0)]
    assert vcpu.done == [(176 * US, 0)]
    check_work(host, [vcpu, other, system], 1110 * US)


def test_a_stay_on_a_shared_core_ends_with_the_quantum():
    """A quantum is wall time, also on a shared core: two worlds on one thread alternate every 50 ms."""
    host = bare_host(threads=2, free=True)
    neighbour, one, other = (Labourer(host, name, pcpu=pcpu) for name, pcpu in (("n", 1), ("a", 0), ("b", 0)))
    for world in (neighbour, one, other):
        world.give(1 * SECOND)
    starts = []
    for step in range(1, 8):
        host.clock.advance(step * 50 * MS - 1)
        starts.append(host.pcpus[0].running)
    assert starts == [one, other, one, other, one, other, one]
    host.clock.advance(3 * SECOND)
    check_work(host, [neighbour, one, other], 3 * SECOND)


def test_a_waking_world_takes_a_core_that_is_idle_as_a_whole():
    """Two idle threads have busy siblings, two have a free core: the latter are chosen first, even before the last PCPU."""
    host = bare_host(cores=3, threads=2, free=True, wake_reach=5)
    worlds = [Labourer(host, str(i), pcpu=0) for i in range(6)]
    for start, world in enumerate(worlds):
        world.give_at(start * US, 1 * MS)
    host.clock.advance(6 * US)
    cores = [world.last.index // 2 for world in worlds]
    assert cores[:3] == [0, 1, 2]
    assert sorted(cores[3:]) == [0, 1, 2]
    assert len({world.last for world in worlds}) == 6


def test_a_world_stays_where_it_was_when_no_better_core_is_idle():
    """Its last PCPU and the sibling are idle; later only halves of busy cores are idle, and its own is as good as any."""
    host = bare_host(cores=2, threads=2, free=True)
    world = Labourer(host, "a", pcpu=3)
    world.give(10 * US)
    others = [Labourer(host, str(i), pcpu=pcpu) for i, pcpu in enumerate((0, 2))]
    for other in others:
        other.give_at(20 * US, 1 * MS)
    world.give_at(50 * US, 10 * US)
    host.clock.advance(2 * MS)
    assert world.done == [(10 * US, 3), (66 * US, 3)]


LONG, SHORT = 100 * MS, 20 * MS


@pytest.mark.parametrize(
    ("period", "ends", "pcpus"),
    [
        (5 * MS, 109_375 * US, (2, 1)),  # a check at 25: 15.625 of 100 are done
        (50 * MS, 126_250 * US, (2, 1)),  # at 70: 43.75 are done
        (0, 160 * MS, (0, 1)),
    ],
)
def test_a_busy_vcpu_does_not_stay_on_a_shared_core_while_another_is_idle(
    period: int, ends: int, pcpus: tuple[int, int]
) -> None:
    """Two vCPUs share a core at 0.625 each; the other core becomes idle at 20 ms, and one of them gets it a period later."""
    host = bare_host(cores=2, threads=2, free=True, ht_rebalance_period=period)
    one, brief, other = (Labourer(host, name, pcpu=pcpu) for name, pcpu in (("a", 0), ("b", 2), ("c", 1)))
    one.give(LONG)
    brief.give(SHORT)
    other.give(LONG)
    host.clock.advance(SECOND)
    assert [world.done for world in (one, other)] == [[(ends, pcpu)] for pcpu in pcpus]
    check_work(host, [one, brief, other], 2 * LONG + SHORT)


def test_a_vcpu_that_moves_to_another_core_pays_for_it() -> None:
    """The interrupt, the exit from the halt, a switch and cold caches, 10.5 us; the other one has its core alone at once."""
    host = bare_host(cores=2, threads=2)
    one, brief, other = (Labourer(host, name, pcpu=pcpu) for name, pcpu in (("a", 0), ("b", 2), ("c", 1)))
    first = HALT_EXIT + SWITCH + SAME  # for the first world on a PCPU, as the idle loop ran there
    one.give(LONG)
    brief.give(SHORT)
    other.give(LONG)
    host.clock.advance(SECOND)
    moved = SHORT + first + 5 * MS
    left = LONG + first - moved * 5 // 8
    assert brief.done == [(SHORT + first, 2)]
    assert other.done == [(moved + left, 1)]
    assert one.done == [(moved + left + PREEMPTION + HALT_EXIT + SWITCH + MIGRATED, 2)]
    check_charges(host, [one, brief, other])


def test_system_worlds_and_vcpus_that_share_for_less_than_a_period_stay() -> None:
    """Two system worlds on node 0; on node 1 a vCPU wakes twice while no core is idle, and soon finishes. The check at
    25 ms, due since the other core became idle at 20 ms, finds the two together again since 24.5 ms.
    """
    host = bare_host(cores=2, sockets=2, threads=2, free=True)
    systems = [Labourer(host, str(i), pcpu=i, system=True) for i in (0, 1)]
    brief, long, neighbour, late = (Labourer(host, str(pcpu), pcpu=pcpu) for pcpu in (2, 4, 6, 5))
    systems[0].give(LONG)
    brief.give(SHORT)
    systems[1].give(LONG)
    long.give(LONG)
    neighbour.give(SHORT)
    late.give_at(19 * MS, 3 * MS)
    neighbour.give_at(24 * MS, 800 * US)
    late.give_at(24_500 * US, 2 * MS)
    host.clock.advance(SECOND)
    assert [world.done for world in systems] == [[(160 * MS, 0)], [(160 * MS, 1)]]
    assert late.done == [(23_800 * US, 5), (27_700 * US, 5)]
    assert long.done == [(LONG + 3 * MS, 4)]


def test_a_vcpu_whose_home_is_on_another_node_waits_for_its_turn_to_go_there() -> None:
    """The other world of the core moves instead."""
    host = bare_host(cores=2, sockets=2, threads=2, free=True)
    one, brief, other = (Labourer(host, name, pcpu=pcpu) for name, pcpu in (("a", 0), ("b", 2), ("c", 1)))
    one.give(LONG)
    brief.give(SHORT)
    other.give(LONG)
    host.clock.advance(21 * MS)
    host.rehome([one], host.nodes[1], 21 * MS)
    host.clock.advance(26 * MS)
    assert [world.last.index for world in (one, other)] == [0, 2]


def test_systems_vcpus_and_stops_on_shared_cores_lose_no_work():
    """Random bursts, preemptions and co-stops on four cores: every picosecond of work is done at the right speed."""
    draw = random.Random(5)
    host = bare_host(
        cores=2, sockets=2, threads=2, free=True, quantum=3 * MS, costop_threshold=1 * MS, costart_threshold=0
    )
    worlds = [Labourer(host, f"v{i}", pcpu=i % 8) for i in range(12)]
    worlds += [Labourer(host, f"s{i}", pcpu=i, system=True) for i in range(8)]
    host.coschedule(worlds[:3])
    host.coschedule(worlds[4:8])
    given = 0
    for world in worlds:
        for _ in range(150):
            length = round(draw.expovariate(1 / (50 * US if world.system else 1500 * US)))
            given += length
            world.give_at(round(draw.uniform(0, 300 * MS)), length)
    host.clock.advance(2 * SECOND)
    assert all(len(world.done) == 150 for world in worlds)
    assert sum(world.costopped for world in worlds) > 0
    assert sum(pcpu.preemptions for pcpu in host.pcpus) > 100
    check_work(host, worlds, given)
    assert all(0 < pcpu.used(host.clock.now) < pcpu.busy(host.clock.now) for pcpu in host.pcpus)


def test_one_event_a_dispatch_and_one_for_each_end_that_moved():
    """Twenty times, the sibling starts during a burst and finishes before it: the burst's end moves twice."""
    host = bare_host(threads=2, free=True)
    one, other = (Labourer(host, str(i), pcpu=i) for i in range(2))
    for step in range(20):
        one.give_at(step * MS, 100 * US)
        other.give_at(step * MS + 10 * US, 10 * US)
    host.clock.advance(SECOND)
    dispatches = sum(pcpu.dispatches for pcpu in host.pcpus)
    assert dispatches == 40
    assert host.clock.scheduled() == 40 + dispatches + 2 * 20
