"""NUMA-aware I/O on whole hosts: VMs move to their NIC's node, and back when networking becomes busy."""

from __future__ import annotations

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.engine.random_stream import Streams
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, NS, US

from .small_point import CALM, group, multicast, nic, point, run, stream, work

QUIET = tuple(range(1 * MS, 30 * MS, 1 * MS))
BUSY = (*QUIET, *range(30 * MS, 60 * MS, 10 * US))
"""A datagram every millisecond for 30 ms, then a hundred."""


def two_nodes(*vms, threshold: int = 5, **changes) -> PointSpec:
    """Two sockets of two cores, the NIC on the first; the balancers check every 10 ms."""
    values = {"sockets": 2, "cores": 2, "traffic": {"m": multicast(*QUIET)}} | changes
    return point(*(vms or (group(count=2),)), numa_io_threshold=threshold, **values)


def build(spec: PointSpec) -> Host:
    return build_host(spec, Streams(1, 0))


def homes(host: Host) -> list[int]:
    return [vcpu.node.index for vcpu in host.vcpus]


def test_a_vm_with_traffic_comes_to_its_nic_at_the_first_look():
    """The second VM starts at home on the second node; after 10 ms it and its transmit context are on the first."""
    host = build(two_nodes())
    host.clock.advance(10 * MS)
    assert homes(host) == [0, 1]
    host.clock.advance(10 * MS + 1)
    assert homes(host) == [0, 0]
    assert [world.node.index for world in host.vms[1].worlds] == [0]
    assert all(unit.pinned for unit in host.vms[1].numa_clients)
    assert not any(unit.pinned for unit in host.vms[0].numa_clients)


@pytest.mark.parametrize("changes", [{"threshold": 0}, {"traffic": {"m": multicast(900 * MS)}}])
def test_nobody_moves_where_it_is_off_or_nobody_sends(changes):
    """A threshold of 0 switches it off."""
    host = build(two_nodes(**changes))
    host.clock.advance(55 * MS)
    assert homes(host) == [0, 1]


def test_a_vm_with_affinity_stays():
    """numa.nodeAffinity restricts its nodes."""
    host = build(two_nodes(group(count=2, nodes=(1,))))
    host.clock.advance(55 * MS)
    assert homes(host) == [1, 1]


def test_only_those_with_a_nic_on_the_node_come():
    """A VM whose switch uses a NIC on the second node moves there from the first."""
    nics = {"vmnic0": nic(), "vmnic1": nic(node=1)}
    switches = {"vSwitch0": VSwitchSpec(uplinks="vmnic0"), "vSwitch1": VSwitchSpec(uplinks="vmnic1")}
    vms = group("far", networks=("vSwitch1",)), group("vm")
    traffic = {"m": multicast(*QUIET), "other": multicast(*QUIET, to="far")}
    host = build(two_nodes(*vms, nics=nics, switches=switches, traffic=traffic))
    assert homes(host) == [0, 1]
    host.clock.advance(10 * MS + 1)
    assert homes(host) == [1, 0]


def test_a_full_node_takes_nobody():
    """Both cores of the NIC's node are busy with its own VMs; the VMs of the other node stay there."""
    vms = group("busy", nodes=(0,), count=2), group("vm", count=2)
    traffic = {"w": work("1500 /s", "1 ms", to="busy"), "v": work("300 /s", "1 ms"), "m": multicast(*QUIET)}
    host = build(two_nodes(*vms, threshold=1000, traffic=traffic))
    before = homes(host)
    host.clock.advance(55 * MS)
    assert homes(host) == before == [0, 0, 0, 1]


def test_a_node_is_not_filled_to_the_last_core():
    """Eight VMs of 44 % each: six stay below three quarters of the node's four cores; eight would still fit."""
    traffic = {"w": work("4000 /s", "110 us"), "m": multicast(*range(1 * MS, 400 * MS, 1 * MS))}
    host = build(two_nodes(group(count=8), threshold=1000, cores=4, traffic=traffic))
    host.clock.advance(15 * MS)
    moved = host.scheduler.homes_changed
    assert homes(host).count(0) == 6
    host.clock.advance(395 * MS)
    assert homes(host).count(0) == 6
    assert host.scheduler.homes_changed == moved == 2 * 2


def test_what_a_quiet_look_let_in_goes_back():
    """Before the first check all are idle, and all move to the NIC; then their node is too full, and stays so."""
    traffic = {"w": work("50 /s", "15 ms"), "m": multicast(*range(1 * MS, 400 * MS, 1 * MS))}
    host = build(two_nodes(group(count=8), threshold=1000, cores=4, traffic=traffic))
    counts = []
    for now in range(15, 400, 10):
        host.clock.advance(now * MS)
        counts.append(homes(host).count(0))
    assert counts[0] == 8
    assert counts[-30:] == [4] * 30
    assert host.numa_io.state.value == 1
    assert not any(unit.pinned for vm in host.vms for unit in vm.numa_clients)


def test_a_vm_that_is_beside_one_of_its_nics_stays_there():
    """The VM has a NIC on each node, and packets through both."""
    nics = {"vmnic0": nic(), "vmnic1": nic(node=1)}
    switches = {"vSwitch0": VSwitchSpec(uplinks="vmnic0"), "vSwitch1": VSwitchSpec(uplinks="vmnic1")}
    vms = group(count=2, networks=("vSwitch0", "vSwitch1"))
    host = build(two_nodes(vms, nics=nics, switches=switches))
    host.clock.advance(55 * MS)
    assert host.scheduler.homes_changed == 0
    assert homes(host) == [0, 1]


def test_the_placement_lapses_when_networking_becomes_busy():
    """Below the threshold until 30 ms; the check at 40 ms finds the contexts above it: all return to their nodes."""
    host = build(two_nodes(traffic={"m": multicast(*BUSY)}))
    seen = []
    for now in (15, 35, 45, 55):
        host.clock.advance(now * MS)
        seen.append((homes(host), host.numa_io.state.value, any(unit.pinned for unit in host.vms[1].numa_clients)))
    assert seen == [([0, 0], 1, True), ([0, 0], 1, True), ([0, 1], 0, False), ([0, 1], 0, False)]
    assert host.numa_io.state.integral(55 * MS) == 40 * MS


def test_it_comes_back_into_force_when_networking_is_quiet_again():
    """Busy from 30 to 40 ms only: inactive from 40 to 50 ms."""
    instants = (*QUIET, *range(30 * MS, 39 * MS, 10 * US), *range(40 * MS, 80 * MS, MS))
    host = build(two_nodes(traffic={"m": multicast(*instants)}))
    host.clock.advance(75 * MS)
    assert host.numa_io.state.integral(75 * MS) == 65 * MS
    assert homes(host) == [0, 0]


def test_moving_loses_nothing():
    """Every invariant holds in every slice, with moves in both directions while streams continue."""
    bursts = [MS * start + 10 * US * place for start in range(20, 80, 20) for place in range(900)]
    traffic = {"s": stream("receive", window="4 KiB", delay="2 ms"), "m": multicast(*bursts)}
    host = run(two_nodes(group(count=3), threshold=8, cores=4, traffic=traffic), 100 * MS)
    assert host.scheduler.homes_changed == 2 * 7  # a vCPU and its transmit context; there four times, back three times
    assert host.flows[1].delivered == 3 * host.flows[1].sent
    assert host.flows[0].octets == 1448 * host.flows[0].delivered > 0


def test_data_from_another_node_costs_more_and_from_the_same_one_does_not():
    """Remote memory: the NetPoll copies across the link, and the guest reads from there."""
    spent = {}
    for home in (0, 1):
        spec = two_nodes(group(nodes=(home,)), threshold=0, traffic={"m": multicast(*QUIET)}, cost=CALM)
        host = run(spec, 50 * MS)
        spent[home] = (host.polls[0].used, host.vcpus[0].used)
    # for each datagram of 1000 bytes: twice the copy and the shared lines, and twice half of the guest's copy
    assert spent[1][0] - spent[0][0] == len(QUIET) * (500 + 40) * NS
    assert spent[1][1] - spent[0][1] == len(QUIET) * 500 * NS


def test_on_one_node_it_is_never_in_force():
    """There is no other node: no check is due, and the state is off."""
    host = build_host(point(numa_io_threshold=200, traffic={"m": multicast(*QUIET)}), Streams(1, 0))
    host.clock.advance(30 * MS)
    assert host.numa_io.state.value == 0


@pytest.mark.parametrize(("threshold", "holds"), [(51, True), (50, False)])
def test_the_load_of_networking_is_in_percent_of_a_pcpu(threshold: int, holds: bool) -> None:
    """Contexts that used half of a PCPU since the last check; the load has to be below the threshold."""
    host = build(two_nodes(threshold=threshold))
    world = next(world for world in host.worlds() if world.system)
    world.used += host.spec.netqueue.period // 2
    host.clock.advance(host.spec.netqueue.period + 1)
    assert bool(host.numa_io.state.value) is holds
