"""Co-scheduling of SMP VMs, on hosts without costs whose schedule can be computed by hand."""

from __future__ import annotations

import pytest

import hostsim
from hostsim.model.cpu.pcpu import WorldState, costop_times, ready_times
from hostsim.units import MS, SECOND, US
from tests.model.small_host import Labourer, bare_host, check_charges


def stalled(worlds, now):
    return [r + c for r, c in zip(ready_times(worlds, now), costop_times(worlds, now), strict=True)]


def crowded(costop=3 * MS, *, together=True):
    """Two VMs of two vCPUs and one of a single vCPU on two PCPUs, all always busy; returns host, VMs and the largest skew seen."""
    host = bare_host(cores=2, free=True, costop_threshold=costop, costart_threshold=costop * 2 // 3)
    vms = [[Labourer(host, f"vm{v}.{i}", pcpu=i) for i in range(2)] for v in range(2)]
    if together:
        for vm in vms:
            host.coschedule(vm)
    worlds = [world for vm in vms for world in vm] + [Labourer(host, "single")]
    for world in worlds:
        world.give(*[1 * MS] * 20_000)
    widest = 0
    for instant in range(1, 4000):
        host.clock.advance(instant * MS)
        for vm in vms:
            one, other = stalled(vm, host.clock.now)
            widest = max(widest, abs(one - other))
    check_charges(host, worlds)
    return host, worlds, widest


@pytest.mark.parametrize("costop", [3 * MS, 9 * MS])
def test_the_skew_of_a_crowded_vm_stays_within_the_threshold_and_a_look(costop):
    """The leading vCPU is stopped at the first check at which its lead exceeds the threshold."""
    host, worlds, widest = crowded(costop)
    now = host.clock.now
    assert costop < widest <= costop + 1 * MS
    times = costop_times(worlds, now)
    assert min(times[0] + times[1], times[2] + times[3]) > 0.05 * now
    assert times[4] == 0
    # All vCPUs run, wait or are stopped, the PCPUs are never idle, and all have equal shares.
    for world, still in zip(worlds, stalled(worlds, now), strict=True):
        assert world.used + still == now
        assert world.used == pytest.approx(0.4 * now, rel=0.02)
    assert sum(world.used for world in worlds) == 2 * now


def test_a_wide_vm_has_its_share_beside_single_vcpus(tmp_path):
    """A vCPU that holds back a sibling does not wait for the next turn, nor for the balancer: with work at random
    instants the VM lost two thirds of its share.
    """
    work = {"kind": "work", "to": ["wide", "single"], "vcpus": "all", "rate": "600 /s", "service": "2 ms"}
    vm = {"guest": "ideal", "networks": []}
    cpu = {"model": "any", "family": "skylake-sp", "sockets": 1, "cores": 4, "threads": 1, "clock": "2.5 GHz"}
    scenario = {
        "scenario": "crowded",
        "question": "Do all vCPUs get an equal share?",
        "platform": "esxi-7.0",
        "hardware": {"hardware": "quad", "cpu": cpu, "nics": {"vmnic0": {"model": "X550"}}},
        "network": {"vSwitch0": {"uplinks": "vmnic0"}},
        "vms": {"wide": vm | {"vcpus": 4}, "single": vm | {"count": 4}},
        "traffic": {"load": work | {"arrivals": {"process": "poisson"}}},
        "run": {"length": "1 s", "replications": 1},
    }
    results = hostsim.run(scenario, jobs=1, results=tmp_path)
    assert results.by("vm")["%RUN"].tolist() == pytest.approx([200.0, 50.0, 50.0, 50.0, 50.0], rel=0.05)


def test_vcpus_that_are_no_vm_of_their_own_drift_apart():
    """The same worlds without co-scheduling: none is stopped, and the skew is that of their quanta."""
    host, worlds, widest = crowded(together=False)
    assert costop_times(worlds, host.clock.now) == [0] * 5
    assert widest > 50 * MS


def test_a_vcpu_is_stopped_and_started_at_the_looks_that_the_thresholds_name():
    """PCPU 1 runs a system world until 11 ms, and the second vCPU waits. The first is stopped at a lead of 4 ms, and
    the second runs on its PCPU; the first may resume at a lead of 2 ms.
    """
    host = bare_host(cores=2, free=True)
    system = Labourer(host, "system", system=True, pcpu=1)
    ahead, behind = (Labourer(host, f"vm.{i}", pcpu=i) for i in range(2))
    host.coschedule([ahead, behind])
    system.give(11 * MS)
    ahead.give(20 * MS)
    behind.give(6500 * US)
    ahead.give_at(5 * MS, 1 * MS)  # a wake-up without effect: it stays stopped
    host.clock.advance(4 * MS)
    assert ahead.state is WorldState.RUNNING
    host.clock.advance(4 * MS + 1)
    assert (ahead.state, behind.state) == (WorldState.COSTOPPED, WorldState.RUNNING)
    assert (ahead.used, ahead.left) == (4 * MS, 16 * MS)
    host.clock.advance(6 * MS)
    assert ahead.state is WorldState.COSTOPPED
    host.clock.advance(6 * MS + 1)
    assert ahead.state is WorldState.READY
    host.clock.advance(SECOND)
    assert behind.done == [(10_500 * US, 0)]
    assert ahead.done == [(10_500 * US + 16 * MS, 0), (10_500 * US + 17 * MS, 0)]
    assert costop_times([ahead, behind], host.clock.now) == [2 * MS, 0]
    assert ready_times([ahead, behind], host.clock.now) == [4_500 * US, 4 * MS]
    check_charges(host, [system, ahead, behind])


def test_a_vcpu_that_waits_is_stopped_too():
    """One PCPU, turns of 3.5 ms: the vCPU that ran first is in the queue at 4 ms, 3.5 ms ahead, and leaves it. At the check
    at 5 ms the other takes the PCPU of the third world, which has run for 1.5 ms; at 7 ms the lead is 1.5 ms.
    """
    host = bare_host(free=True, quantum=3500 * US)
    ahead, behind, third = (Labourer(host, name) for name in ("vm.0", "vm.1", "third"))
    host.coschedule([ahead, behind])
    for world in (ahead, third, behind):
        world.give(*[500 * US] * 100)
    for instant, states in (
        (4 * MS, ["READY", "READY", "RUNNING"]),
        (4 * MS + 1, ["COSTOPPED", "READY", "RUNNING"]),
        (5 * MS, ["COSTOPPED", "READY", "RUNNING"]),
        (5 * MS + 1, ["COSTOPPED", "RUNNING", "READY"]),
        (7 * MS, ["COSTOPPED", "RUNNING", "READY"]),
        (7 * MS + 1, ["READY", "RUNNING", "READY"]),
    ):
        host.clock.advance(instant)
        assert [world.state.name for world in (ahead, behind, third)] == states, instant
    assert costop_times([ahead], host.clock.now) == [3 * MS]
    assert ready_times([ahead], host.clock.now) == [500 * US + 1]
    host.clock.advance(SECOND)
    check_charges(host, [ahead, behind, third])


def test_time_halted_puts_a_vcpu_neither_ahead_nor_behind():
    """A wide VM: the first vCPU waits on its node until 30 ms, the second wakes at 20.5 ms on another. At the check at
    21 ms they are level; at 25 ms the second leads by 4 ms and is stopped. Both wait until 30 ms; at 32 ms the lead is
    2 ms.
    """
    host = bare_host(sockets=2, cores=1, free=True)
    system = Labourer(host, "system", system=True, pcpu=0)
    waiting, late = (Labourer(host, f"vm.{i}", pcpu=i) for i in range(2))
    host.coschedule([waiting, late])
    system.give(30 * MS)
    waiting.give(20 * MS)
    late.give_at(20_500 * US, 10 * MS)
    host.clock.advance(SECOND)
    assert costop_times([waiting, late], host.clock.now) == [0, 7 * MS]
    assert late.done == [(37_500 * US, 1)]
    assert waiting.done == [(50 * MS, 0)]


def test_a_stopped_vcpu_goes_on_when_the_one_behind_has_nothing_more_to_do():
    """The other halts 1 ms after it got its PCPU: at the next check none is behind."""
    host = bare_host(cores=2, free=True)
    system = Labourer(host, "system", system=True, pcpu=1)
    ahead, behind = (Labourer(host, f"vm.{i}", pcpu=i) for i in range(2))
    host.coschedule([ahead, behind])
    system.give(11 * MS)
    ahead.give(20 * MS)
    behind.give(500 * US)
    host.clock.advance(SECOND)
    assert behind.done == [(4_500 * US, 0)]
    assert ahead.done == [(21 * MS, 0)]
    assert costop_times([ahead], host.clock.now) == [1 * MS]


def test_a_stopped_vcpu_with_a_new_home_starts_there():
    """Its home node changes while it is stopped."""
    host = bare_host(sockets=2, cores=2, free=True)
    system = Labourer(host, "system", system=True, pcpu=1)
    ahead, behind = (Labourer(host, f"vm.{i}", pcpu=i) for i in range(2))
    host.coschedule([ahead, behind])
    system.give(11 * MS)
    ahead.give(20 * MS)
    behind.give(6500 * US)
    host.clock.advance(5 * MS)
    assert ahead.state is WorldState.COSTOPPED
    host.rehome([ahead], host.nodes[1], host.clock.now)
    host.clock.advance(SECOND)
    assert ahead.done == [(22 * MS, 2)]


@pytest.mark.parametrize("more", [False, True])
def test_a_batch_that_ends_as_its_vcpu_is_stopped_counts_as_done(more):
    """The check comes first at the tie: it stops a vCPU that is about to begin its next batch, or has nothing more to do."""
    host = bare_host(cores=2, free=True)
    system = Labourer(host, "system", system=True, pcpu=1)
    ahead, behind = (Labourer(host, f"vm.{i}", pcpu=i) for i in range(2))
    host.coschedule([ahead, behind])
    system.give(11 * MS)
    ahead.give(3500 * US, 500 * US, *[500 * US] * more)
    behind.give(10 * MS)
    host.clock.advance(4 * MS + 1)
    assert ahead.done == [(3500 * US, 0), (4 * MS, 0)]
    assert (ahead.state.name, ahead.left) == ("COSTOPPED" if more else "SLEEPING", 0)
    assert behind.state is WorldState.RUNNING
    host.clock.advance(SECOND)
    assert len(ahead.done) == 2 + more
    assert costop_times([ahead], host.clock.now) == [2 * MS * more]


def test_no_event_is_spent_on_an_smp_vm_whose_vcpus_never_wait():
    """The count equals that of the same worlds without co-scheduling."""
    counts = []
    for together in (False, True):
        host = bare_host(cores=2)
        vm = [Labourer(host, f"vm.{i}", pcpu=i) for i in range(2)]
        if together:
            host.coschedule(vm)
        for world in vm:
            for step in range(100):
                world.give_at(step * 10 * MS, 6 * MS)
        host.clock.advance(2 * SECOND)
        assert sum(len(world.done) for world in vm) == 200
        counts.append(host.clock.scheduled())
    assert counts == [200 + 200] * 2


def test_looks_end_when_nobody_waits():
    """One wait of 2.5 ms causes checks 1, 2 and 3 ms after its start, and none later."""
    counts = []
    for together in (False, True):
        host = bare_host(free=True)
        vm = [Labourer(host, f"vm.{i}") for i in range(2)]
        if together:
            host.coschedule(vm)
        vm[0].give(2500 * US)
        vm[1].give(10 * MS)
        host.clock.advance(SECOND)
        counts.append(host.clock.scheduled())
    assert counts == [2, 2 + 3]


def test_looks_come_one_period_apart_while_a_vcpu_waits():
    """One vCPU waits from the start: with a threshold of 2 ms the other is stopped at the third check, after 3 ms."""
    host = bare_host(cores=2, free=True, costop_threshold=2 * MS, costart_threshold=1 * MS)
    system = Labourer(host, "system", system=True, pcpu=1)
    ahead, behind = (Labourer(host, f"vm.{i}", pcpu=i) for i in range(2))
    host.coschedule([ahead, behind])
    system.give(11 * MS)
    ahead.give(20 * MS)
    behind.give(5 * MS)
    host.clock.advance(3 * MS)
    assert ahead.state is WorldState.RUNNING
    host.clock.advance(3 * MS + 1)
    assert ahead.state is WorldState.COSTOPPED
