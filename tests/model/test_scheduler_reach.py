"""Number of PCPUs that a world searches for an idle one, and an idle PCPU for a waiting world: four by default, all at balancer checks."""

from __future__ import annotations

import pytest

from hostsim.units import MS, US
from tests.model.small_host import Labourer, balanced, bare_host


def busy(host, *pcpus: int, length: int = 40 * MS) -> list[Labourer]:
    """System worlds that occupy these PCPUs."""
    worlds = [Labourer(host, f"busy{pcpu}", system=True, pcpu=pcpu) for pcpu in pcpus]
    for world in worlds:
        world.give(length)
    return worlds


@pytest.mark.parametrize(("reach", "done"), [(4, (41 * MS, 0)), (5, (2 * MS, 5)), (0, (41 * MS, 0))])
def test_a_waking_world_looks_at_so_many_pcpus(reach, done):
    """Its own and the next four PCPUs are busy, the sixth is idle: out of reach, in reach, and without a search (Cpu.WakeupMigrateIdlePcpus)."""
    host = bare_host(cores=8, free=True, wake_reach=reach)
    busy(host, *range(5))
    world = Labourer(host, "world")
    world.give_at(1 * MS, 1 * MS)
    host.clock.advance(200 * MS)
    assert world.done == [done]


def test_of_those_in_reach_the_one_that_became_idle_last_is_taken():
    """The searched PCPUs are the next by number, around the node; among them warm caches decide."""
    host = bare_host(cores=8, free=True)
    busy(host, 6)
    for pcpu, length in ((7, 30), (0, 20), (2, 10), (4, 40)):  # PCPU 4 becomes idle last, five further on
        Labourer(host, "short", pcpu=pcpu).give(length * US)
    world = Labourer(host, "world", pcpu=6)
    world.give_at(1 * MS, 1 * MS)
    host.clock.advance(10 * MS)
    assert world.done == [(2 * MS, 7)]


@pytest.mark.parametrize(("goes_idle", "reach", "done"), [(3, 4, 41), (3, 5, 11), (5, 4, 11), (7, 0, 41)])
def test_a_pcpu_that_goes_idle_looks_at_so_many_queues(goes_idle, reach, done):
    """A world waits at the first of eight busy PCPUs: the sixth has it among its next four, the fourth does not (Cpu.PcpuMigrateIdlePcpus)."""
    host = bare_host(cores=8, free=True, idle_reach=reach)
    busy(host, *(pcpu for pcpu in range(8) if pcpu != goes_idle))
    busy(host, goes_idle, length=10 * MS)
    world = Labourer(host, "world")
    world.give(1 * MS)
    host.clock.advance(200 * MS)
    assert world.done == [(done * MS, 0 if done > 40 else goes_idle)]


@pytest.mark.parametrize(("period", "done"), [(20, (21, 5)), (0, (41, 0))])
def test_the_balancer_fills_idle_pcpus_that_nobody_looked_at(period, done):
    """A world out of reach at a wake-up waits for the node's balancer, and no longer (Cpu.L3RebalancePeriod)."""
    host = bare_host(cores=8, free=True)
    worlds = busy(host, *range(5))
    world = Labourer(host, "world")
    balanced(host, [*worlds, world], period * MS)
    world.give_at(1 * MS, 1 * MS)
    host.clock.advance(200 * MS)
    assert world.done == [(done[0] * MS, done[1])]
