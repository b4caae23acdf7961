"""Packets from a peer that is a VM: their batch size follows its transmit coalescing."""

from __future__ import annotations

import itertools
from itertools import pairwise
from types import SimpleNamespace

import pytest

from hostsim.config.peer import PeerSpec
from hostsim.engine.arrivals import Arrivals, ConstantArrivals, RecordedArrivals
from hostsim.model.policy.moderation import CoalescingDepth
from hostsim.model.receive.nic import RxQueue
from hostsim.model.traffic.arrival_source import CoalescedArrivals
from hostsim.units import MS, SECOND, US

from .small_point import CALM, datagrams, group, nic, point, run, stream

FLOW = SimpleNamespace(size=64)
VM = PeerSpec.model_validate(
    {"peer": "vm", "tx_coalescing": {"rate": "4000 /s", "depth_cap": 40, "low_packets": 4, "timeout": "4 ms"}}
)


def calls(posted: Arrivals, until: int, cap: int = 40) -> list[tuple[int, int]]:
    """Instant and size of each call up to an instant, with an observation at each call."""
    arrivals = CoalescedArrivals(posted, CoalescingDepth(4000, cap, 4, 4 * MS), 4 * MS)
    found = []
    while (due := arrivals.upcoming()) is not None and due <= until:
        found += [(train.arrived, train.count) for train in arrivals.collect(due, FLOW)]
    return found


@pytest.mark.parametrize(("rate", "depth"), [(40_000.0, 10), (30_000.0, 8), (10_000.0, 3), (4_000.0, 1), (900.0, 1)])
def test_as_many_packets_leave_at_once_as_keep_calls_at_their_ceiling(rate: float, depth: int):
    """The batch size is the packet rate over 4,000 calls per second, rounded up, after one window has measured the rate."""
    start = 7
    late = [size for at, size in calls(ConstantArrivals(rate, start), 40 * MS) if at > 10 * MS]
    assert set(late) == {depth}


def test_a_call_comes_with_the_packet_that_fills_it():
    """Batches of ten packets 25 us apart: calls are 250 us apart, each at the instant of its tenth packet."""
    instants = [at for at, _ in calls(ConstantArrivals(40_000.0, 0), 20 * MS) if at > 10 * MS]
    assert {after - before for before, after in itertools.pairwise(instants)} == {250 * US}
    assert all(at % (25 * US) == 0 for at in instants)


def test_no_packet_waits_longer_than_the_timeout():
    """After 200 packets, which set the depth to ten, three packets wait 4 ms for the timer. Packets stay in order, and none is lost."""
    posted = [number * 25 * US for number in range(200)]
    posted += [5 * MS, 5 * MS + US, 5 * MS + 2 * US, 10 * MS]
    found = calls(RecordedArrivals(posted), SECOND)
    left = [at for at, size in found for _ in range(size)]
    waits = [at - when for at, when in zip(left, posted, strict=True)]
    assert max(waits) == 4 * MS
    assert min(waits) == 0
    assert (10 * MS, 1) in found


def test_a_guest_that_halts_sends_each_packet():
    """The depth is one at any rate."""
    assert {size for _, size in calls(ConstantArrivals(40_000.0, 0), 20 * MS, cap=1)} == {1}


def test_a_nic_interrupts_for_calls_and_not_for_packets():
    """Datagrams at intervals of 50 us come in batches of five from a VM: the NIC interrupts for the first, and for the others when moderation allows it. All arrive."""
    nics = {"vmnic0": nic(interrupt_interval="10 us")}
    spec = point(group(), traffic={"u": datagrams("receive", rate="20 kpps")}, cost=CALM, nics=nics)
    alone, vm = (run(spec.model_copy(update={"peer": peer}), SECOND // 2) for peer in (PeerSpec(peer="alone"), VM))
    assert alone.queues[0].interrupts == pytest.approx(10_000, rel=0.01)
    assert vm.queues[0].interrupts == pytest.approx(2 * 2_000, rel=0.02)
    assert vm.flows[0].delivered == pytest.approx(alone.flows[0].delivered, abs=10)


def test_a_queue_that_is_polled_is_not_interrupted(monkeypatch):
    """Bursts of several spaced frames with moderation: no interrupt while masked, too early or in the past."""
    taken: dict[RxQueue, list[int]] = {}
    original = RxQueue._interrupt

    def noted(queue: RxQueue, now: int) -> None:
        assert not queue._masked
        before = queue.interrupts
        original(queue, now)
        if queue.interrupts > before:
            taken.setdefault(queue, []).append(now)

    monkeypatch.setattr(RxQueue, "_interrupt", noted)
    host = run(
        point(traffic={"s": stream("receive", streams=3)}, nics={"vmnic0": nic(interrupt_interval="50 us")}), 50 * MS
    )
    (instants,) = taken.values()
    assert len(instants) == host.queues[0].interrupts > 500
    assert min(after - before for before, after in pairwise(instants)) >= 50 * US
