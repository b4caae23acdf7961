"""Requirements of the joint scheduler study for dense mode and splitRx that the tests of the rules do not cover.

The page about the scheduler (docs/design/scheduler.md) lists its statements, and where the product differs from it.
"""

from __future__ import annotations

import pytest

from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.units import MS, SECOND, US
from tests.model.small_host import HALT_EXIT, MIGRATED, PREEMPTION, SAME, SWITCH, Labourer, bare_host, check_charges
from tests.model.small_point import group, guest, nic, pages, point, vnic


@pytest.mark.parametrize("cores", [2, 5])
def test_a_system_world_finds_an_idle_pcpu_of_its_node_and_cuts_nobody_short(cores: int):
    """The world finds the PCPU if it is one of the four that are searched; the study tried four at random."""
    host = bare_host(cores=cores, free=True)
    for number in range(cores - 1):
        Labourer(host, f"vcpu{number}", pcpu=number).give(1 * MS)
    system = Labourer(host, "system", system=True, pcpu=0)
    system.give_at(10 * US, 10 * US)
    host.clock.advance(SECOND)
    assert system.done == [(20 * US, cores - 1)]
    assert sum(pcpu.preemptions for pcpu in host.pcpus) == 0


def test_an_idle_pcpu_of_another_node_does_not_spare_a_vcpu():
    """A system world stays on its home node, and preempts a vCPU there."""
    host = bare_host(sockets=2, cores=1, free=True)
    vcpu, system = Labourer(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.give(100 * US)
    system.give_at(10 * US, 10 * US)
    host.clock.advance(SECOND)
    assert system.done == [(20 * US, 0)]
    assert vcpu.done == [(110 * US, 0)]


def test_a_vcpu_is_cut_short_however_recently_it_began():
    """It is preempted even during its switch: the unfinished part is charged to it, and a new switch and refill follow."""
    host = bare_host()
    vcpu, system = Labourer(host, "vcpu"), Labourer(host, "system", system=True)
    vcpu.give(100 * US)
    system.give_at(1, 10 * US)
    host.clock.advance(SECOND)
    first = HALT_EXIT + SWITCH + SAME + 100 * US
    bill = PREEMPTION + SWITCH + SAME + 10 * US
    assert system.done == [(1 + bill, 0)]
    assert vcpu.done == [(bill + SWITCH + SAME + first, 0)]
    assert (vcpu.used, system.used) == (first + SWITCH + SAME, bill)
    check_charges(host, [vcpu, system])


def test_a_vcpu_that_was_cut_short_may_be_taken_by_another_pcpu():
    """The next PCPU of its node that becomes idle: it pays for cold caches there, but not for a halt exit."""
    host = bare_host(cores=2)
    cut, neighbour = Labourer(host, "cut", pcpu=0), Labourer(host, "neighbour", pcpu=1)
    system = Labourer(host, "system", system=True, pcpu=0)
    cut.give(1 * MS)
    neighbour.give(100 * US)
    system.give_at(50 * US, 500 * US)
    host.clock.advance(SECOND)
    free = HALT_EXIT + SWITCH + SAME + 100 * US
    left = HALT_EXIT + SWITCH + SAME + 1 * MS - 50 * US
    assert neighbour.done == [(free, 1)]
    assert cut.done == [(free + SWITCH + MIGRATED + left, 1)]
    check_charges(host, [cut, neighbour, system])


def test_a_pcpu_that_goes_idle_takes_nothing_from_another_node():
    """A world waits on its home node while the other node is idle."""
    host = bare_host(sockets=2, cores=1, free=True)
    long, waiting, other = Labourer(host, "long"), Labourer(host, "waiting"), Labourer(host, "other", pcpu=1)
    long.give(900 * US)
    waiting.give_at(10 * US, 10 * US)
    other.give(50 * US)
    host.clock.advance(SECOND)
    assert other.done == [(50 * US, 1)]
    assert waiting.done == [(910 * US, 0)]


def test_ticks_of_a_guest_that_has_to_wait_do_not_melt():
    """Without its PCPU for 40 of 100 ms it wakes less often, but does the work of every tick."""
    used, wakes = [], []
    for blocked in (False, True):
        spec = point(
            group(guest=guest(timer_period="1 ms")),
            traffic={"p": pages(SECOND)},
            cores=1,
            cost={"guest_timer_tick": 20_000},
        )
        host = build_host(spec, Streams(1, 0))
        if blocked:
            Labourer(host.scheduler, "hog", system=True).give_at(5 * MS, 40 * MS)
        host.clock.advance(100 * MS)
        used.append(host.vcpus[0].used)
        wakes.append(host.vcpus[0].dispatches)
    assert used[0] == used[1] >= 99 * 20 * US
    assert wakes[1] <= wakes[0] - 35


def test_homes_are_dealt_round_and_contexts_stay_with_their_vm_or_nic():
    """VMs on the nodes in turn; a split-receive context and a NetWorld on the VM's node, a NetPoll on its NIC's."""
    vms = group(count=4, vnics=(vnic(split_rx=True),))
    spec = point(vms, traffic={"p": pages(SECOND)}, sockets=2, nics={"vmnic0": nic(node=1)})
    host = build_host(spec, Streams(1, 0))
    homes = [0, 1, 0, 1]
    assert [vcpu.node.index for vcpu in host.vcpus] == homes
    assert [port.split.node.index for port in host.ports] == homes
    for vm, home in zip(host.vms, homes, strict=True):
        assert {world.kind for world in vm.worlds} == {"networld", "splitrx"}
        assert {world.node.index for world in vm.worlds} == {home}
    assert {poll.node.index for poll in host.polls} == {1}
