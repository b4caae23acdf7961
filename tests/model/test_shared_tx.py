"""A transmit queue that several vCPUs post to: waiting packets leave when their writer halts, which pays for its own calls."""

from __future__ import annotations

from collections import Counter

import pytest

from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.model.build import build_host
from hostsim.model.contract import Flow
from hostsim.model.guest.device import SharedTxQueue
from hostsim.model.guest.directpath import DirectTx
from hostsim.model.guest.vcpu import Vcpu
from hostsim.model.host import Host
from hostsim.model.policy.moderation import TxCoalescing
from hostsim.model.traffic.tcp import GuestPackets, PacketHandler
from hostsim.model.transmit.networld import TxQueue
from hostsim.units import MS
from tests.model.small_point import CALM, files, group, nic, point, run, stream, users, work

TWO = {"vmnic0": nic(), "vmnic1": nic()}


class Unheeded(PacketHandler):
    """Sent packets are not waited for."""

    def gone(self, packets: GuestPackets, train: Train, first: int, step: int) -> None: ...


def posted(place: int, coalescing: TxCoalescing | None) -> tuple[Host, TxQueue]:
    """A VM with one transmit queue and two vCPUs, one of which has just written a packet."""
    host = build_host(point(group(vcpus=2), traffic={"w": work("10 /s", "1 us")}), Streams(1, 0))
    (queue,) = host.transmits
    queue.coalesce(coalescing)
    flow = GuestPackets(Flow("x", 100, 1), 100, Unheeded(), lambda frames: None)
    SharedTxQueue(queue, host.vcpus[place]).post(Train(flow, 1, 0, 0, 0, 0))
    return host, queue


@pytest.mark.parametrize("place", [0, 1])
def test_what_a_vcpu_wrote_goes_when_it_halts(place: int) -> None:
    """Dense mode waits for a halt or 8 ms: here the halt comes first, whichever vCPU wrote the packet."""
    host, queue = posted(place, TxCoalescing(8 * MS, in_passing=False))
    host.vcpus[place].rest(0)
    assert queue.wakes == [0, 0, 1, 0]


def test_who_posts_pays_for_the_call() -> None:
    """The context is called for the first packet on the ring, by the vCPU that wrote it."""
    host, queue = posted(1, None)
    queue._due(0)
    assert queue.wakes == [1, 0, 0, 0]
    assert [vcpu.pending_ps for vcpu in host.vcpus] == [0, queue._world.call_ps]
    assert queue._world.call_ps > 0


def test_users_are_spread_over_the_vcpus() -> None:
    """Each vCPU posts by itself: two of them answer nearly twice as much."""
    answered = []
    for vcpus in (1, 2):
        host = run(point(group(vcpus=vcpus), traffic={"u": users(2)}, cost=CALM, cores=6), 60 * MS)
        answered.append(host.flows[0].answered)
        assert all(host.transmits[0] in vcpu.halt_queues for vcpu in host.vcpus)
    assert answered[1] > 1.5 * answered[0]


def test_a_passed_nic_without_rss_sends_what_any_vcpu_wrote() -> None:
    """One queue, four vCPUs: no written packet is left when all of them sleep."""
    vm = group(vcpus=4, passthrough=("vmnic1",), reserved=1.0)
    flow = stream("receive", vnic=1, streams=4)
    spec = point(vm, traffic={"tcp": flow}, nics=TWO | {"vmnic1": nic(lro=True)}, cost=CALM, cores=6)
    host = run(spec, 20 * MS)
    (queue,) = host.vcpus[0].burst_queues
    assert [vcpu.burst_queues for vcpu in host.vcpus] == [[queue]] * 4
    host.nics["vmnic1"].depart(host.clock.now)
    assert host.flows[0].octets * 8 / 0.02 > 5e9


def test_a_long_burst_does_not_keep_what_it_writes_early() -> None:
    """Enough clients for four vCPUs that share one queue: none idles while another still writes to others."""
    vm = group(vcpus=4, passthrough=("vmnic1",), reserved=1.0)
    traffic = {"w": files("get", vnic=1, size="1000 B", connections=16)}
    host = run(point(vm, traffic=traffic, nics=TWO, cost=CALM, cores=6), 60 * MS)
    assert min(vcpu.used for vcpu in host.vcpus) > 0.95 * 60 * MS


def test_a_burst_that_is_cut_short_takes_back_what_it_wrote_queue_by_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets are not taken back flow by flow: replies to 64 connections return at once, even if one burst writes all."""
    calls: Counter[str] = Counter()

    def counted(owner: type, name: str) -> None:
        whole = getattr(owner, name)

        def count(*given: object) -> object:
            calls[name] += 1
            return whole(*given)

        monkeypatch.setattr(owner, name, count)

    counted(DirectTx, "cancel")
    counted(Vcpu, "cut")
    vm = group(vcpus=4, passthrough=("vmnic1",), reserved=1.0)
    traffic = {"w": files("get", vnic=1, size="1000 B", connections=64)}
    run(point(vm, traffic=traffic, nics=TWO, cost=CALM, cores=6), 20 * MS)
    assert 0 < calls["cancel"] <= calls["cut"]
