"""The payer of a transmit context, and the worlds that it preempts: its VM's virtual time decides."""

from __future__ import annotations

import pytest

from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.units import MS, SECOND, US
from tests.model.small_host import Labourer, bare_host, check_charges
from tests.model.small_point import group, point


def context(host, *payers: Labourer, pcpu: int = 0) -> Labourer:
    """A system world that works for the VM of these vCPUs."""
    world = Labourer(host, "context", system=True, pcpu=pcpu)
    world.payers = payers
    return world


def test_a_vm_pays_for_its_context_by_its_shares():
    """3 ms of work are 0.75 ms of virtual time for each of two vCPUs with double shares; the context's own use is separate."""
    host = bare_host(free=True)
    vcpus = [Labourer(host, name, shares=2000) for name in "ab"]
    world = context(host, *vcpus)
    world.give(3 * MS)
    host.clock.advance(4 * MS)
    assert [vcpu.vtime for vcpu in vcpus] == [750 * US] * 2
    assert [one.used for one in (world, *vcpus)] == [3 * MS, 0, 0]


@pytest.mark.parametrize(
    ("paying", "woken", "done"),
    [(True, 11 * MS - 1, 25 * MS + US), (True, 11 * MS, 11 * MS + US), (False, 6 * MS, 6 * MS + US)],
)
def test_a_context_preempts_when_its_vm_lags_by_the_lead(paying, woken, done):
    """A VM that has had 5 ms lags by the lead of 1 ms once the other has had 6 ms; a world without a payer never waits."""
    host = bare_host(free=True)
    mine, other = Labourer(host, "mine"), Labourer(host, "other")
    world = context(host, mine)
    if not paying:
        world.payers = ()
    mine.give(5 * MS)
    other.give(20 * MS)
    world.give_at(woken, US)
    host.clock.advance(SECOND)
    assert world.done == [(done, 0)]


def test_the_standing_of_a_vm_is_up_to_date_while_it_runs_elsewhere():
    """Its vCPU is 10 ms into a batch on another PCPU, like the vCPU there: no lag, independent of the time of charging."""
    host = bare_host(cores=2, free=True)
    mine, other = Labourer(host, "mine", pcpu=0), Labourer(host, "other", pcpu=1)
    mine.give(20 * MS)
    other.give(20 * MS)
    world = context(host, mine, pcpu=1)
    world.give_at(10 * MS, US)
    host.clock.advance(SECOND)
    assert world.done == [(20 * MS + US, 0)]


@pytest.mark.parametrize(("woken", "done"), [(4 * MS - 1, 23 * MS + US), (4 * MS, 4 * MS + US)])
def test_within_its_vm_a_context_goes_by_its_own_time(woken, done):
    """It has had 3 ms, which its vCPU also paid for: after 1 ms of its own the vCPU is ahead by the lead."""
    host = bare_host(free=True)
    mine = Labourer(host, "mine")
    world = context(host, mine)
    world.give(3 * MS)
    mine.give(20 * MS)
    world.give_at(woken, US)
    host.clock.advance(SECOND)
    assert world.done[-1] == (done, 0)


def test_a_sleeping_vm_lags_by_no_more_than_the_bound():
    """A VM that slept for seconds has the credit of 8 quanta, for its context and its vCPUs."""
    host = bare_host(free=True, quantum=2 * MS)
    other, mine = Labourer(host, "other"), Labourer(host, "mine")
    other.give(*[100 * MS] * 20)
    world = context(host, mine)
    world.give_at(SECOND + US, US)
    host.clock.advance(SECOND + MS)
    assert mine.vtime == SECOND - 16 * MS + US


@pytest.mark.parametrize(("paying", "shares"), [(True, (300, 500)), (False, (400, 400))])
def test_a_vm_gets_its_share_with_its_context_or_beside_it(paying, shares):
    """Two busy VMs on a PCPU, one with a context that takes a fifth of it: the payer has less for itself by that."""
    host = bare_host(free=True, quantum=2 * MS)
    mine, other = Labourer(host, "mine"), Labourer(host, "other")
    world = context(host, mine)
    if not paying:
        world.payers = ()
    for vcpu in (mine, other):
        vcpu.give(*[100 * US] * 10_000)
    for turn in range(100):
        world.give_at(turn * 10 * MS, 2 * MS)
    host.clock.advance(SECOND)
    check_charges(host, [mine, other, world])
    assert [round(one.used / (10 * MS)) for one in (mine, other)] == [share // 10 for share in shares]


@pytest.mark.parametrize(("exclusive", "paying"), [(False, 2), (True, 0)])
def test_the_vcpus_of_a_vm_pay_for_its_networld(exclusive, paying):
    """All of them, except with exclusive PCPUs, which are not shared."""
    host = build_host(point(group(vcpus=2, exclusive=exclusive, shares=3000), traffic={}), Streams(1, 0))
    (vm,) = host.vms
    (world,) = vm.worlds
    assert world.payers == tuple(vm.vcpus[:paying])
    assert world.shares == 3000
