"""Exclusive PCPUs of vCPUs (latency sensitivity high): who runs there, the cost of a wake-up, and the choice of cores."""

from __future__ import annotations

import pytest

from hostsim.config.host import FirmwareSpec, PointSpec
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS
from tests.model.small_point import ROUND, echoes, group, point, run, vnic, work

NS = 1000
REQUEST = 800 + 220 + 250 + 900 + 1000 + 25
"""The guest wakes; a packet goes through its stack; the process wakes, takes it and copies 100 bytes."""
REPLY = 2000 + 350 + 25
"""A write, the stack, the copy of 100 bytes."""
NO_CALLS = ROUND | {"vmk_call": 0}
"""The number of replies that a guest sends per call changes with their rate."""
KEPT = {"exclusive": True, "vnics": (vnic(),)}


def charged(host: Host) -> float:
    """Nanoseconds charged to the vCPU for each request."""
    return host.vcpus[0].used / NS / host.flows[0].answered


def test_a_vcpu_that_keeps_its_pcpu_pays_nothing_to_wake_there() -> None:
    """It pays for the guest's work and the exit caused by HLT; elsewhere a halt exit costs 50, a switch 100 and cold caches 200."""
    kept = run(point(group(**KEPT), traffic={"echo": echoes()}, cost=NO_CALLS))
    assert charged(kept) == pytest.approx(REQUEST + REPLY, rel=0.002)
    shared = run(point(group(vnics=(vnic(),)), traffic={"echo": echoes()}, cost=NO_CALLS))
    assert charged(shared) > REQUEST + REPLY + 50


def test_its_pcpu_is_idle_while_it_halts() -> None:
    """The vCPU stays on its PCPU without using it: %UTIL and %USED exclude halted time."""
    host = run(point(group(**KEPT), traffic={"echo": echoes()}))
    vcpu = host.vcpus[0]
    assert vcpu.last.busy(20 * MS) == vcpu.used < 10 * MS


def test_nobody_else_runs_there_however_full_the_host_is() -> None:
    """Three VMs with busy vCPUs share three PCPUs with system worlds; the fourth PCPU is exclusive, and its vCPU never waits."""
    hogs = group("hog", count=3, vcpus=2, vnics=(vnic(),))
    spec = point(hogs, group(**KEPT), traffic={"echo": echoes(), "load": work("2000 /s", "1 ms", "hog")})
    host = run(spec)
    vcpu = host.vms[-1].vcpus[0]
    assert host.scheduler.pcpus.index(vcpu.last) == 3
    assert vcpu.last.dispatches == vcpu.dispatches > 100
    assert vcpu.waited == 0
    assert all(world.last is not vcpu.last for world in host.worlds() if world is not vcpu)
    assert [pcpu.busy(20 * MS) > 19 * MS for pcpu in host.scheduler.pcpus] == [True, True, True, False]


def test_pcpus_are_taken_at_home_first() -> None:
    """Two nodes of three PCPUs: a VM of four vCPUs is split two and two; a VM bound to one node gets what the node can spare."""
    wide = build_host(point(group(vcpus=4, **KEPT), traffic={}, sockets=2, cores=3), Streams(1, 0))
    assert [vcpu.last.index for vcpu in wide.vcpus] == [2, 1, 5, 4]
    narrow = build_host(point(group(vcpus=3, **KEPT), traffic={}, sockets=2, cores=3), Streams(1, 0))
    assert [(vcpu.node.index, vcpu.last.index) for vcpu in narrow.vcpus] == [(0, 2), (0, 1), (1, 5)]
    with pytest.raises(WiringError, match=r"vcpu2 needs an exclusive PCPU, but no PCPU is free"):
        build_host(point(group(vcpus=3, nodes=(0,), **KEPT), traffic={}, sockets=2, cores=3), Streams(1, 0))


def test_its_vcpus_are_neither_moved_nor_held_together() -> None:
    """The balancer counts exclusive vCPUs but does not move them; siblings never wait, so there is no co-stop."""
    host = build_host(point(group(vcpus=3, **KEPT), traffic={}, cores=4), Streams(1, 0))
    assert [unit.pinned for unit in host.scheduler.numa_clients] == [True]
    assert {vcpu.skew for vcpu in host.vcpus} == {None}
    assert host.vms[0].is_bound


def hyperthreaded(spec: PointSpec) -> PointSpec:
    """The same host with two hyperthreads per core, which together do the work of one thread alone."""
    cpu = spec.hardware.cpu.model_copy(update={"threads": 2})
    return spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"cpu": cpu})})


def test_with_hyperthreads_it_has_a_core_that_nobody_else_touches() -> None:
    """The sibling hyperthread stays idle, so a request costs the vCPU the same as without hyperthreads, beside busy neighbours."""
    hogs = group("hog", count=8, vnics=(vnic(),))
    vms = (hogs, group(**KEPT))
    host = run(
        hyperthreaded(point(*vms, traffic={"echo": echoes(), "load": work("2000 /s", "1 ms", "hog")}, cost=NO_CALLS))
    )
    vcpu = host.vms[-1].vcpus[0]
    first, second = host.scheduler.pcpus[6:]
    assert vcpu.last is second
    assert (first.dispatches, first.busy(20 * MS)) == (0, 0)
    assert [pcpu.busy(20 * MS) > 19 * MS for pcpu in host.scheduler.pcpus[:6]] == [True] * 6
    assert vcpu.used / NS / host.flows[0].answered == pytest.approx(REQUEST + REPLY, rel=0.002)


def test_with_hyperthreads_every_node_keeps_a_core() -> None:
    """Two of three cores can be exclusive; the third, with two PCPUs, is for all other worlds."""
    wide = build_host(hyperthreaded(point(group(vcpus=2, **KEPT), traffic={}, cores=3)), Streams(1, 0))
    assert [vcpu.last.index for vcpu in wide.vcpus] == [5, 3]
    assert [pcpu.index for pcpu in wide.scheduler.nodes[0].pcpus] == [0, 1]
    assert all(world.last.index in (0, 1) for world in wide.worlds() if world not in wide.vcpus)
    with pytest.raises(WiringError, match=r"vcpu2 needs an exclusive PCPU, but no PCPU is free"):
        build_host(hyperthreaded(point(group(vcpus=3, **KEPT), traffic={}, cores=3)), Streams(1, 0))


def test_firmware_stops_it_like_all_others() -> None:
    """The vCPU waits for its own PCPU and resumes there."""
    spec = point(group(**KEPT), traffic={"echo": echoes()})
    firmware = FirmwareSpec.model_validate({"stop": "1 ms", "period": "4 ms"})
    host = run(spec.model_copy(update={"hardware": spec.hardware.model_copy(update={"firmware": firmware})}))
    vcpu = host.vcpus[0]
    assert host.firmware is not None
    assert vcpu.last.preemptions + vcpu.waited > 0
    assert vcpu.last is host.scheduler.pcpus[3]
