"""VMkernel ports: threads that share uplinks and PCPUs with VMs, and the rounds of a vMotion by its documented rules."""

from __future__ import annotations

from typing import Any

import pytest

from hostsim.config.network import Allocation, NiocSpec
from hostsim.config.nic import VSwitchSpec
from hostsim.config.vmkernel import VmkernelStreamSpec, VmotionSpec
from hostsim.model.host import Host
from hostsim.model.traffic.migration import Migration
from hostsim.units import MS, SECOND, US
from tests.model.small_point import CALM, arrived, datagrams, group, nic, point, run, stream

FAST = {"vmnic0": nic(line_rate="40 Gbit/s")}
GB = 10**9


def vmotion(**changes: Any) -> VmotionSpec:
    values = {"kind": "vmotion", "network": "vSwitch0", "memory": "100 MB", "window": "1 MiB", "delay": "20 us"}
    return VmotionSpec.model_validate(values | changes)


def storage(**changes: Any) -> VmkernelStreamSpec:
    values = {"kind": "vmkernel_stream", "network": "vSwitch0", "system": "vsan", "window": "1 MiB", "delay": "20 us"}
    return VmkernelStreamSpec.model_validate(values | changes)


def gbps(host: Host, flow: int, length: int) -> float:
    for port in host.nics.values():
        port.depart(host.clock.now)
    return 8 * host.flows[flow].octets * SECOND / length / 1e9


def copied(memory: int, dirty: float, rate: float) -> tuple[Migration, list[int]]:
    """A vMotion whose memory is sent at a rate in bit/s, with the bytes of each round."""
    migration = Migration(memory, dirty)
    now, sizes = 0, []
    migration.begin(now)
    while not migration.took:
        sizes.append(migration.left)
        now += round(migration.left * 8 * SECOND / rate)
        octets, migration.left = migration.left, 0
        migration.arrived(octets, now)
    return migration, sizes


# --- the rounds of a vMotion


def test_each_round_copies_what_was_written_in_the_one_before() -> None:
    """64 GB at 10 Gbit/s, written at 2.5 Gbit/s: each round is a quarter of the previous one, until a quarter of a second is left to send."""
    migration, sizes = copied(64 * GB, 2.5e9, 10e9)
    assert sizes == pytest.approx([64 * GB, 16 * GB, 4 * GB, 1 * GB, GB // 4])
    assert migration.rounds == 5
    assert migration.stopped == pytest.approx(200 * MS)
    assert migration.took == pytest.approx((51.2 + 12.8 + 3.2 + 0.8 + 0.2) * SECOND)


def test_the_vm_is_stopped_as_soon_as_the_rest_takes_no_more_than_half_a_second() -> None:
    """10 Gbit/s: 624 MB are written in the first round, and sent in 499 ms; 626 MB require another round."""
    assert copied(12_480_000_000, 0.5e9, 10e9)[1] == pytest.approx([12.48 * GB, 0.624 * GB])
    assert copied(12_520_000_000, 0.5e9, 10e9)[1] == pytest.approx([12.52 * GB, 0.626 * GB, 0.0313 * GB])


def test_the_memory_of_an_idle_vm_is_copied_once() -> None:
    migration, sizes = copied(4 * GB, 0.0, 10e9)
    assert sizes == [4 * GB, 1]
    assert migration.took == pytest.approx(3.2 * SECOND)
    assert migration.stopped < MS


@pytest.mark.parametrize("dirty", [10e9, 40e9])
def test_a_vm_that_writes_too_fast_is_slowed_down(dirty: float) -> None:
    """Each round leaves half of it, so that it ends."""
    assert copied(8 * GB, dirty, 10e9)[1] == pytest.approx([8 * GB, 4 * GB, 2 * GB, 1 * GB, 0.5 * GB])


# --- threads of VMkernel ports on a host


def test_a_vmotion_is_as_fast_as_its_wire() -> None:
    """100 MB over 10 Gbit/s, including frames, and the round trips of its two rounds; the second round has the memory written meanwhile."""
    host = run(point(traffic={"m": vmotion(dirty_rate="1 Gbit/s")}, cost=CALM), 150 * MS)
    wire = 10e9 * 1_448 / 1_538
    first = 8 * 100e6 / wire * SECOND
    flow = host.flows[0]
    assert (flow.asked, flow.lost_out) == (0, 0)
    assert host.migrations["m"].rounds == 2
    assert host.migrations["m"].stopped == pytest.approx(first * 1e9 / wire, rel=0.02)
    assert host.migrations["m"].took == pytest.approx(first * (1 + 1e9 / wire), rel=0.01)


@pytest.mark.parametrize(("streams", "rate"), [(1, 15.0), (2, 30.0), (4, 40 * 1_448 / 1_538)])
def test_a_thread_carries_so_much_and_several_of_them_fill_the_wire(streams: int, rate: float) -> None:
    """15 Gbit/s each, of 40; each keeps a PCPU busy."""
    spec = point(traffic={"m": vmotion(memory="10 GB", streams=streams)}, nics=FAST, cost=CALM, cores=8)
    host = run(spec, 100 * MS)
    assert gbps(host, 0, 100 * MS) == pytest.approx(rate, rel=0.02)
    used = [world.used for world in host.worlds() if world.kind == "vmkernel"]
    assert len(used) == streams
    assert sum(used) == pytest.approx(rate / 15 * 100 * MS, rel=0.03)


def test_what_is_in_flight_is_bounded_by_the_window() -> None:
    """A window and a round trip: 1 MiB every 2 ms plus the time of its own packets."""
    host = run(point(traffic={"s": storage(delay="2 ms")}, cost=CALM), 200 * MS)
    packet = 45 * 1_448
    held = (1 << 20) // packet * packet
    least, most = 8 * held / 2e-3, 8 * held / (2e-3 - 1e-4)
    assert least / 1.5 < gbps(host, 0, 200 * MS) * 1e9 < most


def test_a_stream_with_a_rate_sends_that_much() -> None:
    host = run(point(traffic={"s": storage(rate="2 Gbit/s", streams=2)}, cost=CALM), 100 * MS)
    assert gbps(host, 0, 100 * MS) == pytest.approx(4, rel=0.02)


def test_a_vmotion_delays_the_packets_of_a_vm_on_the_same_uplink_and_on_no_other() -> None:
    """The data waiting before the wire are at most the stream's window."""
    late = []
    for network in ("vSwitch0", "vSwitch1"):
        switches = {"vSwitch0": VSwitchSpec(uplinks="vmnic0"), "vSwitch1": VSwitchSpec(uplinks="vmnic1")}
        traffic = {"d": datagrams("send"), "m": vmotion(memory="10 GB", network=network)}
        spec = point(traffic=traffic, nics={"vmnic0": nic(), "vmnic1": nic()}, switches=switches, cost=CALM, cores=8)
        host = run(spec, 20 * MS)
        late.append(host.nics["vmnic0"].sent_until - host.clock.now)
        assert host.flows[0].out > 15
    assert late[1] < 0 < 500 * US < late[0] < 900 * US


def test_a_slow_thread_does_not_hold_the_wire() -> None:
    """A packet of 65 kB takes a thread of 50 Mbit/s 10 ms; datagrams of a VM pass meanwhile."""
    spec = point(traffic={"d": datagrams("send"), "s": storage(stream_rate="50 Mbit/s")}, cost=CALM, cores=8)
    host = run(spec, 100 * MS)
    assert host.nics["vmnic0"].sent_until <= host.clock.now
    assert gbps(host, 1, 100 * MS) == pytest.approx(0.05, rel=0.1)


def test_network_io_control_divides_an_uplink_between_vms_and_vmkernel_ports() -> None:
    """Storage has 50 of 200 shares and demands more than a quarter; VMs have 100; a vMotion has a limit, so that the others divide the rest 2:1."""
    system = {"vmotion": Allocation.model_validate({"limit": "1 Gbit/s"})}
    switches = {"vSwitch0": VSwitchSpec(uplinks="vmnic0", nioc=NiocSpec(system=system))}
    traffic = {"vms": stream("send", window="1 MiB", streams=8), "s": storage(streams=2), "m": vmotion(memory="10 GB")}
    spec = point(group(vcpus=4), traffic=traffic, switches=switches, cost=CALM, cores=12, tx_poll_bound=256)
    host = run(spec, 100 * MS)
    vms, vsan, moved = (gbps(host, flow, 100 * MS) for flow in range(3))
    assert moved == pytest.approx(1 * 1_448 / 1_514, rel=0.03)
    assert vms == pytest.approx(2 * vsan, rel=0.05)
    assert vms + vsan + moved == pytest.approx(10 * 1_448 / 1_538, rel=0.03)


def test_a_vmkernel_port_takes_its_turn_among_the_uplinks() -> None:
    """Behind the ports of VMs."""
    switches = {"vSwitch0": VSwitchSpec(uplinks=("vmnic0", "vmnic1"))}
    traffic = {"d": datagrams("send"), "m": vmotion(memory="10 GB"), "s": storage()}
    spec = point(traffic=traffic, nics={"vmnic0": nic(), "vmnic1": nic()}, switches=switches, cost=CALM, cores=8)
    host = run(spec, 20 * MS)
    arrived(host)
    sent = {name: port.tx_octets for name, port in host.nics.items()}
    assert sent["vmnic1"] == pytest.approx(host.flows[1].octets)
    assert sent["vmnic0"] == pytest.approx(host.flows[0].octets + host.flows[2].octets)
