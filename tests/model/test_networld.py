"""Transmit contexts: causes of wake-ups, charges, and the times at which packets are on the wire."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hostsim.config.nic import TCP_HEADERS
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.policy.moderation import CoalescingDepth, RateBoundCalls
from hostsim.model.receive.nic import Pnic
from hostsim.model.receive.wire import OpenLoopWire
from hostsim.model.services import Services
from hostsim.model.transmit.networld import CAUSES, NetWorld, TxQueue, Uplink
from hostsim.units import MS, NS, US, transmission_ps

from .small_point import ROUND, cost_table, settings

COST = cost_table()
WAKE = (ROUND["halt_exit"] + ROUND["context_switch"] + ROUND["cache_refill_same"] + ROUND["poll_entry"]) * NS
"""An idle PCPU, the context's last one, dispatches it, and it polls."""
PACKET = (ROUND["networld_tx"] + ROUND["switch_forward"] + ROUND["driver_tx"]) * NS
RATE = 10e9
WIRE_PS = transmission_ps(1000 + 52 + 38, RATE)
"""A frame with 1000 bytes of data."""


class Told:
    """Packets that a guest sends, with their outcome."""

    headers, route, uplink = TCP_HEADERS, None, None

    def __init__(self, size: int = 1000) -> None:
        self.size = size
        self.totals = SimpleNamespace(octets=0)
        self.through: list[int] = []
        self.lost = self.astray = 0

    def sent(self, train: Train, first: int, step: int, frame_ps: int) -> None:
        self.through += [first + step * place for place in range(train.count)]

    def dropped(self, frames: int) -> None:
        self.lost += frames


CUT = ROUND["segment_software"] + 1000 * ROUND["segment_per_byte"]
"""Cycles of software segmentation for a frame of 1,000 bytes."""


class Rig:
    """One transmit context with a number of queues, on an idle host of one PCPU."""

    def __init__(
        self, queues: int = 1, *, capacity: int = 8000, tx_limit: int = 4096, tso: bool = True, vxlan: bool = False,
        driver: str = "native", bound: int = 64, depth_cap: int = 40,
    ) -> None:  # fmt: skip
        self.clock = Clock()
        self.scheduler = Scheduler(self.clock, 1, 1, COST, settings())
        node = self.scheduler.nodes[0]
        self.nic = Pnic("vmnic0", node, OpenLoopWire(), tx_limit)
        self.guest = SimpleNamespace(pending_ps=0, last=None)
        services = Services(self.clock, COST, self.scheduler, settings(tx_poll_bound=bound))
        self.world = NetWorld(services, "NetWorld", node, node.pcpus[0])
        uplink = Uplink(self.nic, RATE, COST, driver, vxlan=vxlan, tso=tso)
        coalescing = [RateBoundCalls(4 * MS, CoalescingDepth(4000, depth_cap)) for _ in range(queues)]
        self.queues = [
            TxQueue(self.clock, f"q{n}", capacity, each, uplink, self.guest) for n, each in enumerate(coalescing)
        ]
        for queue in self.queues:
            queue.serve(self.world)
        self.world.queues = self.queues
        self.flow = Told()

    def post(self, count: int = 1, ready: int | None = None, step: int = 0, *, frames: int = 1, queue: int = 0) -> None:
        ready = self.clock.now if ready is None else ready
        self.queues[queue].post(Train(self.flow, count, ready, step, ready, step, None, frames))

    def learn(self, packets_per_second: int) -> None:
        """Let the guest send at this rate for 5 ms, and wait 2 ms until all packets have left."""
        self.flow = Told(0)
        self.post(packets_per_second // 200, ready=5 * MS)
        self.clock.advance(7 * MS)
        assert self.queues[0].ring.count_inside() == 0
        self.queues[0].wakes = [0, 0, 0, 0]
        self.guest.pending_ps = 0
        self.flow = Told()

    def woken(self, queue: int = 0) -> dict[str, int]:
        return {cause: count for cause, count in zip(CAUSES, self.queues[queue].wakes, strict=True) if count}


def test_one_packet_goes_through_every_stage_once():
    """The guest's call, the context's wake-up, the packet's work, the wire: to the picosecond."""
    rig = Rig()
    rig.post(ready=3 * US)
    rig.clock.advance(100 * US)
    assert rig.flow.through == [3 * US + WAKE + PACKET + WIRE_PS]
    assert rig.woken() == {"forced": 1}
    assert rig.guest.pending_ps == ROUND["vmk_call"] * NS
    assert rig.world.used == WAKE + PACKET


def test_a_call_into_the_vmkernel_costs_the_guest_its_caches():
    """Call and refill together; a context woken by a timer costs the guest nothing."""
    costs = cost_table(ROUND | {"guest_cache_refill": 1300})
    rig = Rig()
    services = Services(rig.clock, costs, rig.scheduler, settings(tx_poll_bound=64))
    world = NetWorld(services, "NetWorld", rig.world.node, rig.world.last)
    rig.queues[0].serve(world)
    world.queues = rig.queues
    rig.post(ready=3 * US)
    rig.clock.advance(100 * US)
    assert rig.guest.pending_ps == (ROUND["vmk_call"] + 1300) * NS


def test_packets_leave_one_after_another_as_work_or_wire_allows():
    """Small frames leave when their work is done, large ones when the wire is free."""
    small, large = Rig(), Rig()
    small.flow.size, large.flow.size = 0, 1000
    for rig in (small, large):
        rig.post(3, ready=0)
        rig.clock.advance(100 * US)
    wire = transmission_ps(52 + 38, RATE)
    assert small.flow.through == [WAKE + PACKET * n + wire for n in (1, 2, 3)]
    assert large.flow.through == [WAKE + PACKET + WIRE_PS * n for n in (1, 2, 3)]


def test_a_guest_that_sends_fast_calls_for_every_so_many():
    """80,000 packets per second at 4,000 calls per second: the twentieth packet makes the call, earlier ones wait."""
    rig = Rig()
    rig.learn(80_000)
    rig.post(19, ready=rig.clock.now, step=1 * US)
    rig.clock.advance(rig.clock.now + 50 * US)
    assert (rig.woken(), rig.flow.through) == ({}, [])
    at = rig.clock.now + 7 * US
    rig.post(ready=at)
    rig.clock.advance(at)
    assert rig.woken() == {}
    rig.clock.advance(at + 100 * US)
    assert (rig.woken(), len(rig.flow.through)) == ({"forced": 1}, 20)
    assert rig.guest.pending_ps == ROUND["vmk_call"] * NS


def test_the_depth_has_a_cap():
    """A million packets per second would wait for 250; CoalesceTxQDepthCap limits this to 40."""
    rig = Rig()
    rig.learn(1_000_000)
    start = rig.clock.now
    rig.post(100, ready=start, step=10 * NS)
    rig.clock.advance(start + 390 * NS)
    assert rig.woken() == {}
    rig.clock.advance(start + 391 * NS)
    assert rig.woken() == {"forced": 1}


def test_what_nobody_calls_for_goes_by_the_timer():
    """Five packets of a fast guest, then a pause: 4 ms after the first, an idle PCPU dispatches the context again."""
    rig = Rig()
    rig.learn(80_000)
    start = rig.clock.now
    rig.post(5, ready=start, step=1 * US)
    rig.clock.advance(start + 4 * MS)
    assert rig.woken() == {}
    rig.clock.advance(start + 5 * MS)
    assert rig.woken() == {"timed": 1}
    assert rig.flow.through[0] == start + 4 * MS + WAKE + PACKET + WIRE_PS
    assert rig.guest.pending_ps == 0


def test_a_guest_that_halts_lets_its_packets_go():
    """At once, without a cost to the guest."""
    rig = Rig()
    rig.learn(80_000)
    rig.post(5)
    rig.clock.advance(rig.clock.now + 1 * US)
    rig.queues[0].guest_halts(rig.clock.now)
    rig.clock.advance(rig.clock.now + 100 * US)
    assert (rig.woken(), len(rig.flow.through), rig.guest.pending_ps) == ({"halted": 1}, 5, 0)


def test_the_receive_context_wakes_it_in_passing():
    """It does so if it serves the same vNIC and packets wait, and never for packets that are not written yet."""
    rig = Rig()
    rig.learn(80_000)
    rig.queues[0].look(rig.clock.now)
    rig.post(5, ready=rig.clock.now + 10 * US)
    rig.queues[0].look(rig.clock.now)
    rig.queues[0].guest_halts(rig.clock.now)
    rig.clock.advance(rig.clock.now + 5 * US)
    assert rig.woken() == {}
    rig.clock.advance(rig.clock.now + 5 * US)
    rig.queues[0].look(rig.clock.now)
    rig.clock.advance(rig.clock.now + 100 * US)
    assert (rig.woken(), len(rig.flow.through), rig.guest.pending_ps) == ({"opportunistic": 1}, 5, 0)


def test_nobody_wakes_a_context_that_runs():
    """It takes packets that arrive while it works, without another counted wake-up."""
    rig = Rig()
    rig.post(20)
    rig.clock.advance(2 * US)
    rig.post(20)
    rig.queues[0].look(rig.clock.now)
    rig.queues[0].guest_halts(rig.clock.now)
    rig.clock.advance(1 * MS)
    assert (rig.woken(), len(rig.flow.through)) == ({"forced": 1}, 40)
    assert rig.world.used == WAKE + 40 * PACKET


def test_what_is_written_while_it_falls_asleep_is_not_forgotten():
    """Packets that will arrive after its last poll wake it at their instants."""
    rig = Rig()
    rig.post(1, ready=0)
    rig.post(1, ready=50 * US)
    rig.clock.advance(100 * US)
    assert rig.woken() == {"forced": 2}
    assert len(rig.flow.through) == 2


def test_queues_of_one_context_take_turns():
    """Ninety packets in each of two queues, sixty-four per poll."""
    rig = Rig(2)
    one, other = Told(), Told()
    for queue, flow in enumerate((one, other)):
        rig.flow = flow
        rig.post(90, ready=0, queue=queue)
    rig.clock.advance(1 * MS)
    assert one.through[0] == WAKE + PACKET + WIRE_PS
    assert (
        one.through[63] < other.through[0] < other.through[63] < one.through[64] < one.through[89] < other.through[64]
    )
    assert len(one.through) == len(other.through) == 90
    assert rig.world.used == WAKE + 180 * PACKET


@pytest.mark.parametrize(
    ("tso", "vxlan", "driver", "work", "packets"),
    [
        (True, False, "native", PACKET, 1),
        (True, True, "native", PACKET + ROUND["vxlan_encap"] * NS, 1),
        (True, False, "vmklinux", PACKET + ROUND["vmklinux_conversion"] * NS, 1),
        (False, False, "native", 200 * NS + 10 * (CUT + ROUND["driver_tx"]) * NS, 10),
        (False, True, "native", (200 + ROUND["vxlan_encap"]) * NS + 10 * (CUT + ROUND["driver_tx"]) * NS + 10 * 12500, 10),
    ],
)  # fmt: skip
def test_large_packets_are_cut_by_the_nic_or_by_the_context(tso, vxlan, driver, work, packets):
    """Ten frames: one packet to the driver, or ten segmented and checksummed ones; the frames on the wire are the same. A packet enters a tunnel once, and each segment copies 50 bytes of outer headers."""
    rig = Rig(tso=tso, vxlan=vxlan, driver=driver)
    rig.post(ready=0, frames=10)
    rig.clock.advance(1 * MS)
    rig.nic.depart(rig.clock.now)
    frame = transmission_ps(1000 + 52 + 38 + (50 if vxlan else 0), RATE)
    assert rig.world.used == WAKE + work
    assert rig.flow.through == [WAKE + work + 10 * frame]
    assert (rig.nic.tx_packets, rig.nic.tx_frames, rig.nic.tx_octets) == (packets, 10, 10_000)


@pytest.mark.parametrize(("ablated", "each", "frame"), [("vxlan_encap", 45_000, 0), ("copy_per_byte", 0, 12500)])
def test_a_packet_enters_a_tunnel_once_and_copies_headers_for_each_frame(ablated: str, each: int, frame: int):
    """Without the cost of encapsulation a packet of 1, 10 or 40 frames is cheaper by that; without copies, by each segment."""

    def work(frames: int, cost: dict[str, float]) -> int:
        uplink = Uplink(Rig().nic, RATE, cost_table(cost), "native", vxlan=True, tso=False)
        return uplink.work_ps(frames, 1000)

    for frames in (1, 10, 40):
        saved = work(frames, ROUND) - work(frames, ROUND | {ablated: 0})
        assert saved == each + (frames * frame if frames > 1 else 0)


def test_a_full_guest_ring_drops_and_tells():
    """Seven packets find no descriptor: they are lost to the guest, not on the wire."""
    rig = Rig(capacity=5)
    rig.post(12, ready=0)
    rig.clock.advance(1 * MS)
    assert (rig.flow.lost, len(rig.flow.through), rig.queues[0].ring.dropped) == (7, 5, 7)


def test_a_nic_whose_queue_is_full_drops_and_tells():
    """Of 64 packets ten find a descriptor and twenty the room freed meanwhile; later there is room again."""
    rig = Rig(tx_limit=10)
    rig.post(64, ready=0)
    rig.clock.advance(1)  # taken: the wire is busy for 30 frames
    drained = 63 * PACKET // WIRE_PS
    assert (rig.nic.tx_dropped, rig.flow.lost, len(rig.flow.through)) == (54 - drained, 54 - drained, 10 + drained)
    rig.clock.advance(60 * US)
    rig.post(1)
    rig.clock.advance(200 * US)
    assert (rig.nic.tx_dropped, len(rig.flow.through)) == (54 - drained, 11 + drained)


def test_packets_taken_back_were_never_posted():
    """A preempted guest has not written the rest; the context sends what was written."""
    rig = Rig()
    train = Train(rig.flow, 10, 10 * US, 10 * US, 0, 0)
    rig.queues[0].post(train)
    rig.clock.advance(35 * US)
    back = rig.queues[0].cancel([train], rig.clock.now)
    rig.clock.advance(1 * MS)
    assert sum(each.count for each in back) == 7
    assert (len(rig.flow.through), rig.queues[0].ring.pushed) == (3, 3)
