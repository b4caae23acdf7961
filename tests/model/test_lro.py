"""Large receive offload: by the virtual switch, and by the NIC."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.clock import Clock
from hostsim.engine.jitter import Jitter
from hostsim.engine.packet_train import Train
from hostsim.model.contract import InterruptTarget
from hostsim.model.cpu.memory import node_memory
from hostsim.model.cpu.node import Node
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.net.closed_loop_wire import ClosedLoopWire
from hostsim.model.net.pnic import Pnic, RxQueue
from hostsim.model.net.vnic import Vnic
from hostsim.model.net.vswitch import VSwitch
from hostsim.model.workload.flow import Flow, Sender
from hostsim.policy.aggregation import Aggregation, Backoff
from hostsim.policy.coalescing import CoalescingScheme, Moderation
from hostsim.units import MS, NS

from .small_point import AWAY, CALM, ROUND, cost_table, costs, cpu, group, nic, point, run, settings, stream

COST = cost_table()
DRIVER = 100 * NS
COPY = (1000 * ROUND["copy_per_byte"] + ROUND["shared_lines"]) * NS
FRAME = DRIVER + COPY + ROUND["sw_lro"] * NS
DELIVER = ROUND["vnic_deliver"] * NS


class DeafGuest(InterruptTarget):
    """Takes no interrupt."""

    def __init__(self, node: Node) -> None:
        self.halted, self.node = True, node

    def interrupt(self, now: int, vnic: Vnic) -> None:
        pass


class Rig:
    """A switch on a host of two nodes, and vNICs whose guest, on the first of them, only takes notes."""

    def __init__(self, *, lro_octets: int = 3000, vxlan: bool = False) -> None:
        self.clock = Clock()
        scheduler = Scheduler(self.clock, 2, 1, COST, settings())
        self.near, self.far = scheduler.nodes
        for node in scheduler.nodes:
            node.memory = node_memory(costs(), cpu(2))
        self.switch, self.lro_octets = VSwitch(scheduler, COST, vxlan=vxlan), lro_octets

    def sender(self, size: int = 1000, *, joins: bool = True, threshold: int = 1000) -> Sender:
        guest = DeafGuest(self.near)
        made = Sender(Flow("any", size, 1), size, 800 * NS, 64, joins=joins)
        lro = Backoff(self.lro_octets, threshold, 2) if self.lro_octets else None
        made.vnic = Vnic(self.clock, "eth0", 4096, CoalescingScheme(), guest, lro)
        return made

    def receive(self, *batch: Train, far: bool = False) -> int:
        return self.switch.receive(list(batch), 0, DRIVER, self.far if far else self.near, self.near)


def frames(sender: Sender, count: int, arrived: int = 0, gap: int = 0) -> Train:
    return Train(sender, count, 0, 0, arrived, gap)


def got(sender: Sender) -> list[tuple[int, int, int, int]]:
    """Packets on the ring: frames, instant, birth of the first frame, gap of the frames."""
    assert sender.vnic is not None
    return [
        (train.frames, train.ready + place * train.step, train.arrived, train.gap)
        for train in sender.vnic.ring.trains()
        for place in range(train.count)
    ]


def test_frames_are_joined_up_to_the_longest_packet():
    """Seven frames make three, three and one; each packet is there when the last of its frames is done."""
    rig = Rig()
    sender = rig.sender()
    end = rig.receive(frames(sender, 7, arrived=50, gap=10))
    assert got(sender) == [
        (3, 3 * FRAME + DELIVER, 50, 10),
        (3, 6 * FRAME + 2 * DELIVER, 80, 10),
        (1, 7 * FRAME + 3 * DELIVER, 110, 10),
    ]
    assert end == 7 * FRAME + 3 * DELIVER


def test_a_packet_spans_trains_of_one_connection_but_not_another_in_between():
    """What stands side by side in the poll is joined, however it came off the ring."""
    rig = Rig()
    one, other = rig.sender(), rig.sender()
    rig.receive(frames(one, 1), frames(one, 1, arrived=7), frames(other, 1), frames(one, 1))
    assert [packet[0] for packet in got(one)] == [2, 1]
    assert [packet[0] for packet in got(other)] == [1]


def test_lro_off_hands_on_frame_by_frame():
    """Each frame is a packet, delivered at its instant, and nobody looks for what to join."""
    rig = Rig(lro_octets=0)
    sender = rig.sender()
    each = DRIVER + COPY + DELIVER
    assert rig.receive(frames(sender, 3)) == 3 * each
    assert [ready for _, ready, _, _ in got(sender)] == [each, 2 * each, 3 * each]
    assert sender.vnic.frames == 3


def test_small_segments_are_never_joined():
    """Each has PSH set: its sender wrote it by itself."""
    rig = Rig()
    sender = rig.sender(joins=False)
    rig.receive(frames(sender, 5))
    assert [packet[0] for packet in got(sender)] == [1] * 5


def test_a_node_away_costs_the_frames_more_and_the_packets_nothing():
    """A copy waits for memory at both ends, and shared lines double; look-up and delivery do not."""
    rig = Rig()
    sender = rig.sender()
    away = round(2 * 1000 * AWAY + ROUND["shared_lines"]) * NS
    assert rig.receive(frames(sender, 3), far=True) == 3 * (FRAME + away) + DELIVER
    assert sender.vnic.wait_ps == AWAY * NS


def test_vxlan_is_taken_off_every_frame():
    """Before they are joined."""
    rig = Rig(vxlan=True)
    sender = rig.sender()
    assert rig.receive(frames(sender, 3)) == 3 * (FRAME + ROUND["vxlan_decap"] * NS) + DELIVER


def test_a_connection_that_is_never_joined_stops_paying_for_the_attempt():
    """Four polls of one frame: then two stretches of four without the look, then it looks again."""
    rig = Rig()
    sender = rig.sender(threshold=4)
    spent = [rig.receive(frames(sender, 1)) for _ in range(14)]
    dear, cheap = FRAME + DELIVER, FRAME + DELIVER - ROUND["sw_lro"] * NS
    assert spent == [dear] * 4 + [cheap] * 8 + [dear] * 2


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=12), st.integers(0, 5000))
def test_no_frame_is_lost_and_none_overtakes(batch: list[tuple[int, int]], lro_octets: int):
    """Every connection gets as many frames as came, in packets within the limit, at rising instants."""
    rig = Rig(lro_octets=lro_octets)
    senders = [rig.sender() for _ in range(3)]
    trains, arrived = [], 0
    for who, count in batch:
        trains.append(frames(senders[who], count, arrived, 5))
        arrived += 5 * count
    end = rig.receive(*trains)
    last = 0
    for who, sender in enumerate(senders):
        packets = got(sender)
        assert sum(packet[0] for packet in packets) == sum(count for owner, count in batch if owner == who)
        assert all(packet[0] <= max(1, lro_octets // 1000) for packet in packets)
        instants = [ready for _, ready, _, _ in packets]
        assert instants == sorted(instants)
        last = max([last, *(train.ready + (train.count - 1) * train.step for train in sender.vnic.ring.trains())])
    assert end == last


@pytest.mark.parametrize(("most", "expected"), [(3000, [3, 3, 1]), (999, [1] * 7), (65536, [7])])
def test_the_nic_joins_before_the_host_sees_anything(most: int, expected: list[int]):
    """A packet takes one descriptor and is there when its last frame is; a single frame stays what it is."""
    clock = Clock()
    node = Scheduler(clock, 1, 1, COST, settings()).nodes[0]
    sender, wire = Sender(Flow("any", 1000, 1), 1000, 10, 64, joins=True), ClosedLoopWire(np.random.default_rng(1))
    port = Pnic("vmnic0", node, wire, 64, Aggregation(most))
    sender.queue = RxQueue(clock, "rx0", 64, Moderation(0), Jitter(0, np.random.default_rng(0)), port, node)
    wire.release(sender, 0, 0, 1, 7)
    taken = sender.queue.take(64, 1000)
    assert [train.frames for train in taken for _ in range(train.count)] == expected
    last = taken[-1]
    assert last.ready + (last.count - 1) * last.step == 70
    assert (sender.queue.ring.pushed, sender.totals.sent) == (len(expected), 7)


@pytest.mark.parametrize("kind", ["none", "software", "hardware"])
def test_a_stream_on_a_whole_host_loses_nothing_by_being_joined(kind: str):
    """The same stream: fewer packets for the guest, every byte delivered, acknowledgements for packets seen."""
    spec = point(
        group(),
        traffic={"stream": stream("receive", burst=16)},
        nics={"vmnic0": nic(lro=True, interrupt_interval="50 us")},
        sw_lro=kind == "software",
        hw_lro=kind == "hardware",
    )
    host = run(spec)
    port, flow = host.ports[0].vnic, host.flows[0]
    assert flow.octets == 1448 * flow.delivered > 1448 * 5000
    ratio = flow.delivered / port.ring.taken
    assert ratio == pytest.approx(1, abs=0.01) if kind == "none" else ratio > 4  # some are on their way at the end
    assert host.vms[0].devices[0].nic.tx_packets < 0.6 * port.ring.taken


def test_hardware_lro_saves_what_software_lro_costs():
    """One driver and switch passage a packet instead of one a frame."""
    used = []
    for where in ("sw_lro", "hw_lro"):
        joining = nic(lro=True, interrupt_interval="50 us")
        host = run(point(traffic={"s": stream("receive", burst=16)}, nics={"vmnic0": joining}, **{where: True}))
        used.append(host.polls[0].used / host.flows[0].delivered)
    assert used[1] < used[0]


@pytest.mark.parametrize(("driver", "busy"), [(300, 0.6), (500, 0.75), (800, 0.95)])
def test_a_context_that_is_faster_than_the_wire_waits_for_the_next_interrupt(driver: int, busy: float) -> None:
    """It does not poll on for one frame after the other, which nothing could be joined of; what it has to do is done in less of its time, the less a frame costs."""
    spec = point(
        group(),
        traffic={"stream": stream("receive", window="512 KiB", burst=4)},
        nics={"vmnic0": nic(interrupt_interval="60 us")},
        cost=CALM | {"driver_rx": driver, "vnic_deliver": 1500, "copy_per_byte": 0.125},
        sw_lro=True,
    )
    host = run(spec, 20 * MS)
    port = host.ports[0].vnic
    assert port.frames > 10 * port.ring.pushed
    assert host.polls[0].used < busy * host.clock.now
