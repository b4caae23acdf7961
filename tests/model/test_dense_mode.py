"""Dense mode: when it is in effect, which VMs it changes, and its effect on their packets."""

from __future__ import annotations

import pytest

from hostsim.config.platform import Coalescing
from hostsim.engine.arrivals import RecordedArrivals
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.model.build import build_host
from hostsim.model.contract import Flow, Sender
from hostsim.model.host import Host
from hostsim.model.policy.dense_mode import is_dense
from hostsim.model.policy.moderation import CoalescingScheme, RateBoundCalls, StaticCoalescing, TxCoalescing
from hostsim.model.traffic.tcp import GuestPackets, PacketHandler
from hostsim.units import MS, SECOND

from .small_point import CALM, STATIC, group, guest, pages, point, run, vnic, work

MARKS = {"vms_each": 1, "vcpus_each": 2, "least_utilisation": 50.0}


@pytest.mark.parametrize(
    ("vms", "vcpus", "utilisation", "expected"),
    [
        (40, 80, 50.0, True),
        (39, 80, 50.0, False),
        (40, 79, 50.0, False),
        (40, 80, 49.9, False),
        (500, 500, 100.0, True),
    ],
)
def test_all_three_thresholds_must_be_reached(vms: int, vcpus: int, utilisation: float, expected: bool):
    """Thresholds as published, on a host with 40 PCPUs."""
    assert is_dense(vms, vcpus, 40, utilisation, **MARKS) is expected


def full(load: str = "600 us", *, vms: int = 4, vcpus: int = 2, **changes) -> Host:
    """Two PCPUs and four VMs of two vCPUs, each with the given work in every 2 ms."""
    traffic = {"w": work("500 /s", load), "p": pages(1 * SECOND)}
    spec = point(group(count=vms, vcpus=vcpus), traffic=traffic, cores=2, tune_dense=True, **changes)
    return build_host(spec, Streams(1, 0))


def idle(host: Host) -> None:
    """Stop further work from arriving."""
    for vcpu in host.vcpus:
        if vcpu.work is not None:
            vcpu.work._arrivals = RecordedArrivals([])


def states(host: Host, checks: int = 3) -> list[int]:
    found = []
    for check in range(checks + 1):
        host.clock.advance(check * 10 * MS + 5 * MS)
        found.append(host.dense_mode.state.value)
    return found


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [0, 1, 1, 1]),
        ({"vms": 1}, [0] * 4),
        ({"vcpus": 1, "vms": 3, "load": "800 us"}, [0] * 4),
        ({"load": "200 us"}, [0] * 4),
    ],
)
def test_it_acts_from_the_first_check_that_finds_the_host_full(changes: dict, expected: list[int]):
    """With one of VMs, vCPUs and utilisation below its threshold, nothing happens."""
    assert states(full(**changes)) == expected


def test_it_is_withdrawn_when_the_load_falls():
    """In effect while the guests work, and withdrawn at the first check after they stop; all settings are restored."""
    host = full()
    host.clock.advance(15 * MS)
    assert all(queue._coalescing.timeout == 8 * MS for queue in host.transmits)
    idle(host)
    host.clock.advance(35 * MS)
    assert host.dense_mode.state.value == 0
    assert all(isinstance(queue._coalescing, RateBoundCalls) for queue in host.transmits)
    assert not any(isinstance(port.vnic._scheme, StaticCoalescing) for port in host.ports)


def test_the_published_minute():
    """With the default interval the first check is at 6 s; a fall of the load is noticed at the next check, 60 s later."""
    host = full(tune_interval=60 * SECOND)
    host.clock.advance(6 * SECOND)
    assert host.dense_mode.state.value == 0
    host.clock.advance(6 * SECOND + 1)
    assert host.dense_mode.state.value == 1
    idle(host)
    host.clock.advance(66 * SECOND)
    assert host.dense_mode.state.value == 1
    host.clock.advance(66 * SECOND + 1)
    assert host.dense_mode.state.value == 0


def test_vms_with_settings_of_their_own_are_left_alone():
    """One group has default settings, the other does not."""
    own = Coalescing(scheme="rbc", rate=8000, depth=64, timeout=4 * MS)
    groups = group("vm", count=4, vcpus=2), group("own", count=1, vnics=(vnic(dense=None, coalescing=own),))
    traffic = {"w": work("500 /s", "600 us"), "p": pages(1 * SECOND)}
    host = build_host(point(*groups, traffic=traffic, cores=2, tune_dense=True), Streams(1, 0))
    host.clock.advance(15 * MS)
    assert [isinstance(port.vnic._scheme, StaticCoalescing) for port in host.ports] == [True] * 4 + [False]
    assert [queue._coalescing.timeout for queue in host.transmits] == [8 * MS] * 4 + [4 * MS]


def dense(**changes):
    """A vNIC and its transmit queue in dense mode on a separate host."""
    vm = group(vnics=(vnic(coalescing=STATIC),), guest=guest(initial_window=8))
    host = build_host(point(vm, traffic={"p": pages(1 * MS, **changes)}, cost=CALM), Streams(1, 0))
    host.transmits[0].coalesce(TxCoalescing(8 * MS, in_passing=False))
    return host


def test_a_transmit_context_waits_until_the_guest_halts():
    """A page of eight segments written in four parts is sent at once."""
    host = dense(size="11584 B", write_size="2896 B")
    host.clock.advance(5 * MS)
    assert host.flows[0].answered == 1
    assert host.transmits[0].wakes == [0, 0, 2, 0]


def test_while_the_guest_runs_it_waits_for_the_longer_timer():
    """A write whose work takes 10 ms: the part before it leaves after 8 ms."""
    host = dense(size="11584 B", write_size="5792 B")
    host.vcpus[0].costs.guest_tx_packet = 20 * MS
    host.clock.advance(200 * MS)
    assert host.transmits[0].wakes[3] > 0
    assert host.transmits[0].wakes[:2] == [0, 0]


def test_a_vnic_changes_its_scheme_while_packets_wait():
    """Packets held back by static coalescing are announced as soon as the scheme changes."""
    host = run(point(group(vnics=(vnic(coalescing=STATIC),)), traffic={"p": pages(1 * MS)}), 1 * MS)
    made = host.ports[0].vnic
    made.vcpu.halted = False
    now = host.clock.now
    made.receive(Train(Sender(Flow("x", 100, 1), 100, 1, 1), 1, now, 0, now, 0))
    assert made._timer.due == host.clock.now + 4 * MS
    made.coalesce(CoalescingScheme(), host.clock.now)
    assert made._timer.due == host.clock.now


def test_where_it_is_off_nobody_looks():
    """With dense mode off, the host has one event less: the first check."""
    off, on = (
        build_host(point(traffic={"p": pages(1 * MS)}, tune_dense=tuned), Streams(1, 0)) for tuned in (False, True)
    )
    assert off.clock.scheduled() == on.clock.scheduled() - 1


def test_while_the_guest_runs_packets_leave_after_exactly_that_timer():
    """A guest that does not halt writes a packet at 1 ms: its context is woken at 9 ms, and not a picosecond earlier."""
    host = dense()
    queue, vcpu = host.transmits[0], host.vcpus[0]
    queue.post(Train(GuestPackets(host.flows[0], 100, PacketHandler(), lambda _: None), 1, 1 * MS, 0, 1 * MS, 0))
    vcpu.work = None
    host.clock.advance(1 * MS - 1)
    assert queue._timer.due == 9 * MS
