"""Balancing between busy PCPUs of a node, on small hosts without costs whose schedule can be computed by hand."""

from __future__ import annotations

import pytest

from hostsim.model.cpu.scheduler import Scheduler
from hostsim.units import MS, US
from tests.model.small_host import Labourer, balanced, bare_host, check_charges


def _busy(host: Scheduler, name: str, *, pcpu: int, system: bool = False) -> Labourer:
    """A world that is always busy."""
    world = Labourer(host, name, pcpu=pcpu, system=system)
    world.give(*[100 * US] * 20_000)
    return world


@pytest.mark.parametrize(("period", "apart"), [(20 * MS, True), (0, False)])
def test_two_busy_system_worlds_do_not_share_a_pcpu_while_vcpus_have_another(period: int, apart: bool):
    """At the first check one of them moves and preempts the vCPU; without balancing they alternate forever."""
    host = bare_host(cores=2, free=True)
    worlds = [
        _busy(host, "a", pcpu=0, system=True),
        _busy(host, "vcpu", pcpu=1),
        _busy(host, "b", pcpu=0, system=True),
    ]
    balancer = balanced(host, worlds, period)
    host.clock.advance(1000 * MS + 1)
    one, _, other = worlds
    assert balancer.moves == apart
    assert len(one.done) == (10_000 if apart else 5_000)
    assert other.done[0] == ((20 * MS + 100 * US, 1) if apart else (50 * MS + 100 * US, 0))
    check_charges(host, worlds)


def test_vcpus_are_spread_until_no_move_brings_pcpus_closer():
    """Three on one PCPU and one on the other become two and two, and stay so."""
    host = bare_host(cores=2, free=True)
    worlds = [_busy(host, name, pcpu=pcpu) for name, pcpu in (("a", 0), ("x", 1), ("b", 0), ("c", 0))]
    balancer = balanced(host, worlds, 20 * MS)
    host.clock.advance(1900 * MS)
    assert balancer.moves == 1
    assert sorted(sorted({end[1] for end in world.done[-100:]}) for world in worlds) == [[0], [0], [1], [1]]
    check_charges(host, worlds)


def test_three_busy_vcpus_share_two_pcpus_alike():
    """Each gets two thirds of a PCPU, although two started on the same one; without balancing the third has one alone."""
    for period, least, most in ((20 * MS, 0.65, 0.68), (0, 0.49, 1.0)):
        host = bare_host(cores=2, free=True)
        worlds = [_busy(host, name, pcpu=pcpu) for name, pcpu in (("a", 0), ("b", 1), ("c", 0))]
        balanced(host, worlds, period)
        host.clock.advance(1800 * MS)
        shares = sorted(100 * US * len(world.done) / (1800 * MS) for world in worlds)
        assert least < shares[0] <= shares[2] <= most
        assert (shares[2] - shares[0] < 0.02) is (period > 0)
        check_charges(host, worlds)


def test_a_vcpu_behind_a_busy_system_world_goes_on_elsewhere():
    """It waits at most a period once it lags by a lead, although its queue is the shortest."""
    host = bare_host(cores=3, free=True)
    worlds = [
        _busy(host, "poll", pcpu=0, system=True),
        _busy(host, "x", pcpu=1),
        _busy(host, "y", pcpu=2),
        _busy(host, "behind", pcpu=0),
    ]
    balancer = balanced(host, worlds, 20 * MS)
    host.clock.advance(1200 * MS)
    assert balancer.moves > 10
    shares = [100 * US * len(world.done) / (1200 * MS) for world in worlds]
    assert shares == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3], abs=0.02)
    check_charges(host, worlds)


def test_vcpus_do_not_count_for_a_system_world():
    """It has priority over them: one that waits behind another moves to a PCPU with more vCPUs."""
    host = bare_host(cores=2, free=True)
    crowd = [_busy(host, f"vcpu{number}", pcpu=1) for number in range(4)]
    first, second = (_busy(host, name, pcpu=0, system=True) for name in ("a", "b"))
    worlds = [*crowd, first, second]
    moved = {world.last.index for world in crowd if world.dispatches}
    balancer = balanced(host, worlds, 20 * MS)
    host.clock.advance(500 * MS)
    assert moved == {0, 1}  # the first two of them found both PCPUs idle
    assert balancer.moves >= 1
    assert {first.done[-1][1], second.done[-1][1]} == {0, 1}


def test_nobody_crosses_nodes_and_a_single_pcpu_is_not_looked_at():
    """Worlds run on their home node only; with one PCPU per node there is not even a check event."""
    host = bare_host(sockets=2, cores=1, free=True)
    worlds = [_busy(host, "a", pcpu=0), _busy(host, "b", pcpu=0), _busy(host, "c", pcpu=1)]
    before = host.clock.scheduled()
    balancer = balanced(host, worlds, 20 * MS)
    assert host.clock.scheduled() == before
    host.clock.advance(500 * MS)
    assert balancer.moves == 0
    assert {end[1] for end in worlds[1].done} == {0}


def test_what_balances_charges_no_world():
    """A check reads the running worlds' times and changes no decision: a balanced host runs the same without it."""
    ends = []
    for period in (0, 20 * MS):
        host = bare_host(cores=2)
        worlds = [_busy(host, "a", pcpu=0), _busy(host, "b", pcpu=1)]
        balancer = balanced(host, worlds, period)
        host.clock.advance(300 * MS)
        assert balancer.moves == 0
        ends.append([world.done for world in worlds])
    assert ends[0] == ends[1]


def test_who_lives_in_the_gaps_of_a_system_world_is_found():
    """The system world runs at every check and leaves a vCPU half of the PCPU; three share the other PCPU. All four get the same."""
    host = bare_host(cores=2, free=True)
    poll = Labourer(host, "poll", pcpu=0, system=True)
    worlds = [_busy(host, name, pcpu=pcpu) for name, pcpu in (("gaps", 0), ("x", 1), ("y", 1), ("z", 1))]
    for start in range(2000):
        poll.give_at(start * 1 * MS - 250 * US if start else 0, 500 * US)
    balancer = balanced(host, worlds, 20 * MS)
    seen = []
    for check in range(1, 20):
        host.clock.advance(check * 20 * MS)
        seen.append(host.pcpus[0].running is poll)
    assert all(seen)
    host.clock.advance(1800 * MS)
    assert balancer.moves
    shares = [100 * US * len(world.done) / (1800 * MS) for world in worlds]
    assert shares == pytest.approx([1.5 / 4] * 4, abs=0.02)
    check_charges(host, [poll, *worlds])


def test_who_sleeps_through_the_work_of_a_system_world_does_not_have_the_pcpu():
    """A vCPU that woke up behind a busy system world, far ahead of others, would improve nothing there."""
    host = bare_host(cores=2, free=True)
    ahead = Labourer(host, "ahead", pcpu=0)
    ahead.give(300 * MS)
    host.clock.advance(310 * MS)
    worlds = [_busy(host, "poll", pcpu=0, system=True), *(_busy(host, name, pcpu=1) for name in "xy")]
    ahead.give(1 * MS)
    balancer = balanced(host, [ahead, *worlds], 20 * MS)
    host.clock.advance(310 * MS + 45 * MS)
    assert ahead.state.value == "ready"
    assert balancer.moves == 0
    check_charges(host, [ahead, *worlds])
