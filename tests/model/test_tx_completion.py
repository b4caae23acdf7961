"""Transmit completions: NIC interrupts, work of contexts, and interrupts of the guest; calculated by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hostsim.config.host import PointSpec
from hostsim.config.nic import NicOptions, VSwitchSpec
from hostsim.config.workload import BridgedSpec
from hostsim.engine.arrivals import Jitter
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Ring, Train
from hostsim.model.contract import GuestStream
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.guest.directpath import DirectRing
from hostsim.model.host import Host
from hostsim.model.policy.moderation import CoalescedCompletions, CoalescingDepth, Moderation, RateBoundCalls
from hostsim.model.receive.context import NetPoll, VSwitch
from hostsim.model.receive.nic import Pnic, RxQueue
from hostsim.model.receive.vnic import Vnic
from hostsim.model.receive.wire import OpenLoopWire
from hostsim.model.services import Services
from hostsim.model.transmit.networld import NetWorld, TxQueue, Uplink
from hostsim.model.transmit.tx_completion import CompletionRule, TxCompletions
from hostsim.units import MS, NS, SECOND, US

from .small_point import CALM, ROUND, cost_table, cpu, datagrams, group, nic, point, run, settings, vnic
from .test_networld import PACKET, RATE, WIRE_PS, Told
from .test_vnic import a_vnic

DONE = {"driver_tx_completion": 60.0, "networld_tx_completion": 55.0, "guest_tx_completion": 45.0}
FREE, WRITE, RECLAIM = (int(cost) * NS for cost in DONE.values())
INTERRUPT = (ROUND["interrupt"] + ROUND["poll_entry"]) * NS
WOKEN = (ROUND["vcpu_wake"] + ROUND["guest_interrupt"]) * NS
"""Cost of an interrupt for a halted guest, which runs its handler like a running one."""


def sender(*, card: dict[str, Any] | None = None, port: dict[str, Any] | None = None, **changes: Any) -> PointSpec:
    """A VM that sends 1,000 datagrams of 1,000 bytes per second through a NIC that interrupts for each completion."""
    flow, costs = changes.pop("flow", {}), changes.pop("cost", {})
    return point(
        group(vnics=(vnic(**port or {}),)),
        traffic={"out": datagrams("send", **flow)},
        nics={"vmnic0": nic(**{"tx_interrupt_delay": None} | (card or {}))},
        cost=CALM | DONE | {"e1000_interrupt": 1400.0, "vmk_call": 0} | costs,
        **changes,
    )


def used(host: Host, kind: str) -> int:
    return sum(world.used for world in host.worlds() if world.kind == kind)


def sent(host: Host) -> int:
    host.nics["vmnic0"].depart(host.clock.now)
    return host.nics["vmnic0"].tx_packets


def interrupts(host: Host) -> int:
    return sum(queue.interrupts for queue in host.queues)


def test_the_nic_interrupts_for_what_is_sent() -> None:
    """An interrupt and a poll per packet, in which the driver frees it; a driver that never frees anything is never woken."""
    host = run(sender(), until=20 * MS)
    assert sent(host) == interrupts(host) >= 19
    assert used(host, "netpoll") == sent(host) * (INTERRUPT + FREE)
    assert used(run(sender(card={"tx_interrupt_delay": "1000 s"})), "netpoll") == 0


def test_completions_share_the_moderation_of_frames_or_have_a_timer() -> None:
    """One per millisecond and at most one interrupt in 2.5 ms: interrupts are 2.5 ms apart. A timer starts with the first packet, and 3 are sent when it expires."""
    shared = run(sender(card={"interrupt_interval": "2500 us"}), until=100 * MS)
    assert interrupts(shared) == pytest.approx(sent(shared) / 2.5, abs=1)
    timed = run(sender(card={"tx_interrupt_delay": "2500 us"}), until=100 * MS)
    assert interrupts(timed) == pytest.approx(sent(timed) / 3, abs=1)
    assert used(timed, "netpoll") == pytest.approx(interrupts(timed) * (INTERRUPT + 3 * FREE), abs=2 * FREE)


@pytest.mark.parametrize("size", ["256 B", "257 B"])
@pytest.mark.parametrize("deferred", [True, False])
def test_who_completes_what(size: str, deferred: bool) -> None:
    """A copied packet is completed by its context at once. A mapped one is completed by the sending context with its next packet, or by the receive context after the NIC has sent it."""
    host = run(sender(flow={"packet_size": size}, defer_tx_completion=deferred), until=20 * MS)
    count, copied = sent(host), size == "256 B"
    work = (ROUND["poll_entry"] + ROUND["networld_tx"] + ROUND["switch_forward"] + ROUND["driver_tx"]) * NS
    copy = round(256 * ROUND["copy_per_byte"] * 1000) if copied else 0
    written = count if copied else count - 1 if deferred else 0
    assert used(host, "networld") == count * (work + copy) + written * WRITE
    assert used(host, "netpoll") == count * (INTERRUPT + FREE + (0 if copied or deferred else WRITE))
    (queue,) = host.transmits
    assert queue.completions.completed == count - (not copied and deferred)


def test_what_nobody_is_in_a_hurry_for_is_completed_in_time() -> None:
    """A packet every 20 ms: 5 ms after the NIC has sent one, the context is woken to complete it, and the guest is
    interrupted to free it. The timer is on the context's own PCPU, so that none is interrupted for it; the guest's PCPU
    is, as the vNIC interrupts from elsewhere.
    """
    slow: dict[str, Any] = {
        "flow": {"rate": None, "interval": "20 ms"},
        "mwait": False,
        "cost": {"reschedule_ipi": ROUND["reschedule_ipi"]},
    }
    host = run(sender(tx_completion_delay=5 * MS, **slow), until=110 * MS)
    late = run(sender(tx_completion_delay=SECOND, **slow), until=110 * MS)
    count = sent(host)
    assert (host.vcpus[0].interrupts, late.vcpus[0].interrupts) == (count, 0)
    assert used(host, "networld") - used(late, "networld") == count * ROUND["poll_entry"] * NS + WRITE
    assert used(host, "vcpu") - used(late, "vcpu") == count * (ROUND["reschedule_ipi"] * NS + WOKEN + RECLAIM)


@pytest.mark.parametrize("device", ["vmxnet3", "e1000"])
def test_a_driver_that_asks_is_interrupted_for_every_completion(device: str) -> None:
    """It is halted by then: it wakes, reads registers if it has any, and frees the packet."""
    hosts = [
        run(sender(port={"tx_interrupts": which, "device": device}, flow={"packet_size": "100 B"}), until=20 * MS)
        for which in ("stopped", "all")
    ]
    count = sent(hosts[1])
    registers = 1400 * NS if device == "e1000" else 0
    assert [host.vcpus[0].interrupts for host in hosts] == [0, count]
    assert used(hosts[1], "vcpu") - used(hosts[0], "vcpu") == count * (WOKEN + registers + RECLAIM)


def test_a_driver_that_has_stopped_its_queue_is_interrupted() -> None:
    """A burst of 96 packets on a ring of 32: when the first 32 and the next 32 are completed, others wait; the last ones keep their descriptors until the next burst finds none."""
    burst = {"rate": None, "interval": "10 ms", "burst": 96}
    patient = {"tx_completion_delay": SECOND}
    host = run(
        sender(port={"tx_ring": 32}, flow=burst, card={"tx_interrupt_delay": "500 us"}, **patient), until=109 * MS
    )
    long = run(
        sender(port={"tx_ring": 96}, flow=burst, card={"tx_interrupt_delay": "500 us"}, **patient), until=109 * MS
    )
    assert sent(host) == sent(long) == 96 * (sent(host) // 96)
    bursts = sent(host) // 96
    assert (host.vcpus[0].interrupts, long.vcpus[0].interrupts) == (3 * bursts - 1, bursts - 1)


def test_a_guest_that_drives_the_nic_takes_its_interrupts() -> None:
    """The VMkernel handles and injects each; the halted guest wakes and frees the three packets that were sent since the last."""
    hosts = []
    for delay in ("2500 us", "1000 s"):
        nics = {"vmnic0": nic(), "vmnic1": nic(tx_interrupt_delay=delay)}
        vm = group(passthrough=("vmnic1",))
        hosts.append(
            run(point(vm, traffic={"out": datagrams("send", vnic=1)}, nics=nics, cost=CALM | DONE), until=100 * MS)
        )
    count = hosts[0].vcpus[0].interrupts
    assert count == pytest.approx(100 / 3, abs=1)
    each = ROUND["interrupt"] * NS + WOKEN + 3 * RECLAIM
    assert used(hosts[0], "vcpu") - used(hosts[1], "vcpu") == count * each
    assert used(hosts[0], "netpoll") == used(hosts[0], "networld") == 0


def test_each_completion_is_overdue_one_delay_after_its_own_packet() -> None:
    """Two packets are sent 3 ms apart, and the first is completed with the second: the context is woken 5 ms after the second, not after the first look."""
    clock = Clock()
    woken: list[int] = []
    restarted: list[int] = []
    ring: Ring[GuestStream] = Ring(1000)
    completions = TxCompletions(clock, ring, CompletionRule(descriptors=4, delay=5 * MS), None)
    completions.wakes(woken.append, restarted.append)
    for instant in (0, 3 * MS):
        clock.advance(instant)
        completions.complete(instant)
        completions.took(1, copied=False)
        completions.freed(1, instant)
        completions.expire(instant)
    clock.advance(20 * MS)
    assert (woken, restarted) == ([8 * MS], [])


def test_a_guest_is_interrupted_one_delay_after_its_last_poll() -> None:
    """A poll after 3 ms frees the first of two copied packets; the second, completed then, is announced 5 ms later, not 5 ms after the first."""
    clock, receive, driver = a_vnic("disabled")
    completions = TxCompletions(clock, Ring(1000), CompletionRule(descriptors=64, delay=5 * MS), receive)
    for instant in (0, 3 * MS):
        clock.advance(instant)
        receive.reclaim(instant)
        completions.took(1, copied=True)
        completions.report(instant)
    clock.advance(20 * MS)
    assert driver.interrupts == [8 * MS]


def test_without_a_descriptor_nothing_is_sent() -> None:
    """Twelve packets on a ring of four: four leave; 100 us after the first the NIC's driver frees them, they are completed, and four more leave."""
    clock = Clock()
    costs = cost_table(ROUND | DONE)
    scheduler = Scheduler(clock, 1, cpu(cores=1).cores, costs, settings())
    node = scheduler.nodes[0]
    port = Pnic("vmnic0", node, OpenLoopWire(), 4096)
    on_time = Jitter(0, np.random.default_rng(0))
    port.vector = RxQueue(
        clock, "rx0", 64, Moderation(0), on_time, port, node, completions=CoalescedCompletions(100 * US)
    )
    services = Services(clock, costs, scheduler, settings())
    poll = NetPoll(services, "poll", node.pcpus[0], port.vector, VSwitch(services), "native")
    poll.rest(0)
    world = NetWorld(services, "NetWorld", node, node.pcpus[0])
    rule = CompletionRule(descriptors=4, packet_ps=WRITE)
    uplink = Uplink(port, RATE, costs, "native", vxlan=False, tso=True)
    queue = TxQueue(clock, "q", 1004, RateBoundCalls(4 * MS, CoalescingDepth(4000, 40)), uplink, world, rule=rule)  # type: ignore[arg-type]
    world.pending_ps = 0  # type: ignore[attr-defined]
    queue.serve(world)
    world.queues = [queue]
    flow = Told()
    queue.post(Train(flow, 12, 0, 0, 0, 0))  # type: ignore[type-var]
    clock.advance(1 * MS)
    turn = (ROUND["context_switch"] + ROUND["cache_refill_same"]) * NS
    first = turn + (ROUND["halt_exit"] + ROUND["poll_entry"]) * NS + PACKET + WIRE_PS
    freed = 100 * US + turn + ROUND["halt_exit"] * NS + INTERRUPT + 4 * FREE
    again = freed + turn + ROUND["poll_entry"] * NS + 4 * WRITE + PACKET + WIRE_PS
    fours = [first, first + again, first + 2 * again]
    assert flow.through == [at + place * WIRE_PS for at in fours for place in range(4)]
    assert (queue.completions.completed, queue.completions.in_flight, queue.ring.capacity) == (12, 0, 1004)


@pytest.mark.parametrize(("queues", "announced"), [(1, [2, 0]), (2, [1, 1]), (3, [1, 1])])
def test_transmit_queues_are_dealt_to_virtual_ports(queues: int, announced: list[int]) -> None:
    """Two VMs send equally through a NIC with three receive queues, whose contexts free the packets that they announce: one VM's each, or the first all."""
    spec = point(
        group(count=2),
        traffic={"out": datagrams("send")},
        nics={"vmnic0": nic(tx_interrupt_delay=None, rx_queues=3)},
        options={"vmnic0": NicOptions(tx_queues=queues)},
        cost=CALM | DONE | {"e1000_interrupt": 1400.0, "vmk_call": 0},
    )
    host = run(spec, until=20 * MS)
    alike = sent(host) / 2
    first, second = (queue.interrupts for queue in host.queues[:2])
    assert sum(queue.interrupts for queue in host.queues) > 0
    assert (first > 0, second > 0) == tuple(share > 0 for share in announced)
    assert used(host, "netpoll") >= sent(host) * FREE
    if queues > 1:
        assert (first, second) == (pytest.approx(alike, abs=2), pytest.approx(alike, abs=2))


@pytest.mark.parametrize("rate", ["10 kpps", "100 kpps"])
def test_what_a_driver_frees_at_once_is_bounded_by_its_ring(rate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge's packets are copied, and completed at once; the driver gets all 32 descriptors back when it frees the packets, and is interrupted when it has none."""
    freed: list[int] = []

    def reclaim(port: Vnic, now: int, plain: Callable[[Vnic, int], int] = Vnic.reclaim) -> int:
        count = plain(port, now)
        queue = port.transmits[0].completions
        assert queue.in_flight + queue.unclaimed <= 32
        freed.append(count)
        return count

    monkeypatch.setattr(Vnic, "reclaim", reclaim)
    flow = {"kind": "bridged", "to": "vm", "enters": 0, "leaves": 1, "frame_size": "64 B", "rate": rate}
    vm = group(networks=("lan", "wan"), vnics=(vnic(tx_ring=32), vnic(tx_ring=32)))
    switches = {"lan": VSwitchSpec(uplinks="vmnic0"), "wan": VSwitchSpec(uplinks="vmnic1")}
    nics = {"vmnic0": nic(), "vmnic1": nic()}
    traffic = {"frames": BridgedSpec.model_validate(flow)}
    host = run(
        point(vm, traffic=traffic, nics=nics, switches=switches, cost=CALM, tx_completion_delay=SECOND), 100 * MS
    )
    (flow_,) = host.flows
    assert flow_.delivered > 900
    assert flow_.lost_out == 0
    assert max(freed) == 32
    assert sum(freed) == pytest.approx(flow_.delivered, abs=64)
    assert host.transmits[1].ring.dropped == 0


@pytest.mark.parametrize(("frame_size", "each"), [("64 B", 1), ("9000 B", 3)])
def test_what_a_driver_of_a_passed_through_nic_frees_at_once_is_bounded_by_its_ring(
    frame_size: str, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt every 20 ms frees 64 descriptors, too few for 120 packets per millisecond, or a third as many large ones; each sent packet is freed, except the last ring."""
    freed: list[int] = []

    def reclaim(port: DirectRing, now: int, plain: Callable[[DirectRing, int], int] = DirectRing.reclaim) -> int:
        freed.append(plain(port, now))
        return freed[-1]

    monkeypatch.setattr(DirectRing, "reclaim", reclaim)
    mtu = max(1500, int(frame_size.split(maxsplit=1)[0]))
    own = nic(tx_queue=64, tx_interrupt_delay=None, interrupt_interval="20 ms")
    nics = {"vmnic0": nic(), "vmnic1": own}
    flow = {"packet_size": frame_size, "rate": None, "interval": "1 ms", "burst": 120 // each, "vnic": 1}
    vm = group(passthrough=("vmnic1",), reserved=1.0)
    options = {"vmnic1": NicOptions(mtu=mtu)}
    traffic = {"out": datagrams("send", **flow)}
    host = run(point(vm, traffic=traffic, nics=nics, options=options, cost=CALM), 200 * MS)
    port = host.nics["vmnic1"]
    port.depart(200 * MS)
    assert max(freed) == 64 // each
    assert port.tx_packets == pytest.approx(10 * (64 // each), abs=64 // each)
    assert sum(freed) == pytest.approx(port.tx_packets, abs=64 // each)
