"""Several NUMA nodes per socket and last-level caches per node: distances, waits, refills, placement of worlds."""

from __future__ import annotations

import pytest

from hostsim.config.costs import CostModel
from hostsim.config.cpu import CpuSpec
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, Sender
from hostsim.model.cost_table import ACROSS, BESIDE, FAR, SAME_NODE, CostTable
from hostsim.model.cpu.memory import LINE, node_memory
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.policy.moderation import CoalescingScheme
from hostsim.model.receive.context import VSwitch
from hostsim.model.receive.vnic import Vnic
from hostsim.model.services import Services
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import data_root
from hostsim.units import MS, NS, US
from tests.model.small_host import HALT_EXIT, MIGRATED, SWITCH, Labourer, balanced, bare_host
from tests.model.small_point import settings
from tests.model.test_lro import DeafGuest
from tests.model.test_scheduler_reach import busy
from tests.spec.test_cpu import EPYC


def costs() -> CostModel:
    platform = Parts(data_root()).platform("esxi-8.0", ("platform",)).spec
    assert platform is not None
    return platform.costs


def test_nodes_of_a_socket_are_nearer_to_each_other_than_to_those_of_another() -> None:
    """Two sockets of two nodes: the distance is that of the farthest sharer of a line, and memory waits follow it."""
    host = bare_host(sockets=4, cores=2)
    cpu = CpuSpec.model_validate(EPYC)
    for node in host.nodes:
        node.socket, node.memory = node.index // 2, node_memory(costs(), cpu)
    zero, one, two, _ = host.nodes
    assert zero.distance(zero, zero) == SAME_NODE
    assert zero.distance(one, zero) == zero.distance(zero, one) == BESIDE
    assert zero.distance(one, two) == zero.distance(two, two) == FAR
    line = LINE * costs().line_fills.value
    assert zero.fetch_wait(one) == pytest.approx(110 * NS / line)
    assert zero.fetch_wait(two) == pytest.approx(190 * NS / line)
    assert zero.read_wait(zero) == pytest.approx(100 * NS / line)  # no DDIO
    assert zero.left_wait(zero) == 0
    assert zero.left_wait(one) == zero.fetch_wait(one)


def test_shared_lines_cost_what_their_distance_is() -> None:
    """Ratios of memory latencies between nodes, and of cache latencies between core complexes."""
    table = CostTable(costs(), CpuSpec.model_validate(EPYC))
    near, far, beside, across = (table.frame(0, far=where) for where in (SAME_NODE, FAR, BESIDE, ACROSS))
    assert far / near == pytest.approx(1.9, rel=0.001)
    assert beside / near == pytest.approx(1.1, rel=0.001)
    assert across / near == pytest.approx(107 / 23, rel=0.001)
    plain = CostTable(costs(), CpuSpec.model_validate(EPYC | {"core_complex": None}))
    assert (plain.far_refill, plain.frame(0, far=ACROSS)) == (0, near)
    assert table.far_refill == pytest.approx((107 / 23 - 1) * table.cache_refill_migrated, rel=0.001)


@pytest.mark.parametrize(("target", "extra"), [(1, 0), (2, 9 * US)])
def test_a_world_that_comes_from_another_core_complex_refills_its_lines_from_there(target: int, extra: int) -> None:
    """Four cores in two complexes: the last PCPU of a world is busy, so it goes to the neighbour or to the other complex."""
    host = bare_host(cores=4)
    host.divide(2, 9 * US, knows=True)
    busy(host, *(pcpu for pcpu in (0, 1, 3) if pcpu != target))
    world = Labourer(host, "world")
    world.give_at(1 * MS, 1 * MS)
    host.clock.advance(3 * MS)
    assert world.done == [(2 * MS + HALT_EXIT + SWITCH + MIGRATED + extra, target)]


@pytest.mark.parametrize(("knows", "done"), [(True, (2 * MS, 2)), (False, (41 * MS, 0))])
def test_a_scheduler_that_does_not_know_core_complexes_looks_within_one(knows: bool, done: tuple[int, int]) -> None:
    """Both PCPUs of its complex are busy, and those of the other one are idle (llcSchedEnable)."""
    host = bare_host(cores=4, free=True)
    host.divide(2, 0, knows=knows)
    busy(host, 0, 1)
    world = Labourer(host, "world")
    world.give_at(1 * MS, 1 * MS)
    host.clock.advance(200 * MS)
    assert world.done == [done]


@pytest.mark.parametrize(("knows", "done"), [(True, (11 * MS, 2)), (False, (41 * MS, 0))])
def test_such_a_scheduler_steals_within_one(knows: bool, done: tuple[int, int]) -> None:
    """A PCPU of the other complex becomes idle while the world waits."""
    host = bare_host(cores=4, free=True, idle_reach=3)
    host.divide(2, 0, knows=knows)
    busy(host, 0, 1, 3)
    busy(host, 2, length=10 * MS)
    world = Labourer(host, "world")
    world.give(1 * MS)
    host.clock.advance(200 * MS)
    assert world.done == [done]


@pytest.mark.parametrize(("package", "done"), [(0, (41, 0)), (20, (21, 2)), (30, (31, 2))])
def test_its_balancer_looks_beyond_one_in_periods_of_its_own(package: int, done: tuple[int, int]) -> None:
    """Checks within complexes every 10 ms find nothing; package checks do (Cpu.PackageRebalancePeriod)."""
    host = bare_host(cores=4, free=True)
    host.divide(2, 0, knows=False)
    worlds = busy(host, 0, 1)
    world = Labourer(host, "world")
    balanced(host, [*worlds, world], 10 * MS, package * MS)
    world.give_at(1 * MS, 1 * MS)
    host.clock.advance(200 * MS)
    assert world.done == [(done[0] * MS, done[1])]


@pytest.mark.parametrize(("context", "waits"), [(0, False), (1, True)])
def test_a_guest_waits_for_what_a_context_of_another_core_complex_has_written(context: int, waits: bool) -> None:
    """A frame of a thousand bytes: the cache lines that both ends write are also farther."""
    table = CostTable(costs(), CpuSpec.model_validate(EPYC))
    scheduler = Scheduler(Clock(), 1, 4, table, settings())
    scheduler.divide(2, 0, knows=True)
    node = scheduler.nodes[0]
    node.memory = node_memory(costs(), CpuSpec.model_validate(EPYC))
    guest = DeafGuest(node)
    guest.last = scheduler.pcpus[0]
    sender = Sender(Flow("any", 1000, 1), 1000, 800 * NS, 64)
    vnic = sender.vnic = Vnic(Clock(), "eth0", 4096, CoalescingScheme(), guest)
    switch = VSwitch(Services(scheduler.clock, table, scheduler, settings()))
    taken = switch.receive([Train(sender, 1, 0, 0, 0, 0)], 0, 0, node, node, context)
    near = table.deliver(1000, node.read_wait(node))
    assert vnic.wait_ps == (pytest.approx(107 * NS / (LINE * costs().line_fills.value)) if waits else 0)
    assert taken - near == (table.frame(0, far=ACROSS) - table.frame(0) if waits else 0)
