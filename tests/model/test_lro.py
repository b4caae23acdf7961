"""Large receive offload by the virtual switch and by the NIC."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.config.platform import LroSpec
from hostsim.engine.arrivals import Jitter
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, InterruptTarget, Sender
from hostsim.model.cpu.memory import node_memory
from hostsim.model.cpu.pcpu import Node
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.model.policy.aggregation import Aggregation, Backoff
from hostsim.model.policy.moderation import CoalescingScheme, Moderation
from hostsim.model.receive.context import VSwitch
from hostsim.model.receive.nic import LroTable, Pnic, RxQueue
from hostsim.model.receive.vnic import Vnic
from hostsim.model.receive.wire import ClosedLoopWire
from hostsim.model.services import Services
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
    """A switch on a host of two nodes, and vNICs whose guest, on the first node, only records."""

    def __init__(self, *, lro_octets: int = 3000, sessions: int = 8, vxlan: bool = False) -> None:
        self.clock = Clock()
        scheduler = Scheduler(self.clock, 2, 1, COST, settings())
        self.near, self.far = scheduler.nodes
        for node in scheduler.nodes:
            node.memory = node_memory(costs(), cpu(2))
        self.switch, self.lro_octets = (
            VSwitch(Services(self.clock, COST, scheduler, settings()), vxlan=vxlan),
            lro_octets,
        )
        self.sessions = sessions

    def sender(self, size: int = 1000, *, joins: bool = True, threshold: int = 1000) -> Sender:
        guest = DeafGuest(self.near)
        made = Sender(Flow("any", size, 1), size, 800 * NS, 64, joins=joins)
        lro = Backoff(self.lro_octets, self.sessions, threshold, 2) if self.lro_octets else None
        made.vnic = Vnic(self.clock, "eth0", 4096, CoalescingScheme(), guest, lro=lro)
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
    """Seven frames make packets of three, three and one; each is delivered when its last frame is done."""
    rig = Rig()
    sender = rig.sender()
    end = rig.receive(frames(sender, 7, arrived=50, gap=10))
    assert got(sender) == [
        (3, 3 * FRAME + DELIVER, 50, 10),
        (3, 6 * FRAME + 2 * DELIVER, 80, 10),
        (1, 7 * FRAME + 3 * DELIVER, 110, 0),
    ]
    assert end == 7 * FRAME + 3 * DELIVER


def test_a_packet_grows_through_the_frames_of_others():
    """A packet of a connection is full with its third frame and handed on then; others wait for the end of the poll, in the order of their first frames."""
    rig = Rig()
    one, other = rig.sender(), rig.sender()
    end = rig.receive(
        frames(one, 1), frames(other, 1, arrived=3), frames(one, 1, arrived=8), frames(other, 1, arrived=9),
        frames(one, 2, arrived=20, gap=4),
    )  # fmt: skip
    assert got(one) == [(3, 5 * FRAME + DELIVER, 0, 10), (1, 6 * FRAME + 3 * DELIVER, 24, 0)]
    assert got(other) == [(2, 6 * FRAME + 2 * DELIVER, 3, 6)]
    assert end == 6 * FRAME + 3 * DELIVER


def test_frames_without_a_session_go_on_by_themselves():
    """Both sessions are in use: frames of a third connection are examined, become separate packets, and do not wait."""
    rig = Rig(sessions=2)
    one, other, third = rig.sender(), rig.sender(), rig.sender()
    end = rig.receive(frames(one, 1), frames(other, 1), frames(third, 2), frames(one, 1))
    assert [packet[:2] for packet in got(third)] == [(1, 3 * FRAME + DELIVER), (1, 4 * FRAME + 2 * DELIVER)]
    assert [packet[0] for packet in got(one) + got(other)] == [2, 1]
    assert end == 5 * FRAME + 4 * DELIVER


def test_what_cannot_be_joined_does_not_overtake():
    """A packet joined by the NIC comes after the frames before it, in two packets."""
    rig = Rig()
    sender = rig.sender()
    rig.receive(frames(sender, 2), Train(sender, 1, 0, 0, 5, 0, None, 3), frames(sender, 1, arrived=9))
    assert [(packet[0], packet[2]) for packet in got(sender)] == [(2, 0), (3, 5), (1, 9)]


@pytest.mark.parametrize(("sessions", "packets"), [(1, 26), (4, 16), (16, 16)])
def test_sessions_are_worth_what_interleaving_costs(sessions: int, packets: int):
    """Four connections alternate frame by frame: with a session each they make as few packets as one after another. A single session moves on after five frames, so six pairs of 32 frames are joined."""
    rig = Rig(lro_octets=2000, sessions=sessions)
    senders = [rig.sender() for _ in range(4)]
    rig.receive(*(frames(sender, 1, arrived=place) for place in range(8) for sender in senders))
    assert sum(len(got(sender)) for sender in senders) == packets


def test_lro_off_hands_on_frame_by_frame():
    """Each frame is a packet, delivered at its instant, without a search for frames to join."""
    rig = Rig(lro_octets=0)
    sender = rig.sender()
    each = DRIVER + COPY + DELIVER
    assert rig.receive(frames(sender, 3)) == 3 * each
    assert [ready for _, ready, _, _ in got(sender)] == [each, 2 * each, 3 * each]
    assert sender.vnic.frames == 3


def test_small_segments_are_never_joined():
    """Every frame has PSH set, because its sender wrote it separately."""
    rig = Rig()
    sender = rig.sender(joins=False)
    rig.receive(frames(sender, 5))
    assert [packet[0] for packet in got(sender)] == [1] * 5


def test_a_node_away_costs_the_frames_more_and_the_packets_nothing():
    """A copy waits for memory at both ends, and shared lines cost double; look-up and delivery are unchanged."""
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
    """Four polls with one frame: then two stretches of four polls without a search, then a search again."""
    rig = Rig()
    sender = rig.sender(threshold=4)
    spent = [rig.receive(frames(sender, 1)) for _ in range(14)]
    dear, cheap = FRAME + DELIVER, FRAME + DELIVER - ROUND["sw_lro"] * NS
    assert spent == [dear] * 4 + [cheap] * 8 + [dear] * 2


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=12), st.integers(0, 5000))
def test_no_frame_is_lost_and_none_overtakes(batch: list[tuple[int, int]], lro_octets: int):
    """Every connection gets all its frames, in packets within the limit, at increasing instants."""
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


class Card:
    """A NIC port with one receive queue whose LRO makes packets of 3,000 bytes, and its poller."""

    def __init__(self, interval: int, *, most: int = 3000, sessions: int = 32) -> None:
        self.clock, random = Clock(), np.random.default_rng(1)
        node = Scheduler(self.clock, 1, 1, COST, settings()).nodes[0]
        self.wire, moderation = ClosedLoopWire(random), Moderation(interval)
        port, table = Pnic("vmnic0", node, self.wire, 64), LroTable(Aggregation(most, sessions), moderation)
        self.queue = RxQueue(self.clock, "rx0", 64, moderation, Jitter(0, random), port, node, lro=table)
        self.queue.poll = self
        self.interrupts: list[int] = []

    def sender(self) -> Sender:
        """A sender of frames of 1,000 bytes, each 10 ps on the wire."""
        made = Sender(Flow("any", 1000, 1), 1000, 10, 1, joins=True)
        made.queue = self.queue
        return made

    def interrupt(self, now: int) -> None:
        self.interrupts.append(now)

    def taken(self, now: int) -> list[tuple[Sender, int, int]]:
        """Packets that the host finds at an instant: sender, frames, arrival of each."""
        return [
            (train.stream, train.frames, train.ready) for train in self.queue.take(64, now) for _ in range(train.count)
        ]


@pytest.mark.parametrize(
    ("most", "expected"), [(3000, [(3, 30), (3, 60), (1, 1070)]), (999, [(1, at) for at in range(10, 80, 10)]), (65536, [(7, 1010)])]
)  # fmt: skip
def test_the_nic_joins_before_the_host_sees_anything(most: int, expected: list[tuple[int, int]]):
    """A packet takes one descriptor and is complete when it is full, or when the moderation interval since its first frame is over."""
    card = Card(1000, most=most)
    sender = card.sender()
    card.wire.release(sender, 0, 0, 1, 7)
    assert [packet[1:] for packet in card.taken(2000)] == expected
    assert (card.queue.ring.pushed, sender.totals.sent) == (len(expected), 7)


def test_the_nic_joins_the_frames_of_connections_that_take_turns():
    """Frames in random order: two sessions grow side by side, and both are full at their third frames."""
    card = Card(1000)
    one, other = card.sender(), card.sender()
    for sender in (one, other):
        card.wire.release(sender, 0, 0, 1, 3)
    found = card.taken(500)
    assert {(sender, frames) for sender, frames, _ in found} == {(one, 3), (other, 3)}


def test_a_connection_without_a_session_in_the_nic_comes_frame_by_frame():
    """The only session is in use until its time is over; then the other connection gets it."""
    card = Card(100, sessions=1)
    one, other = card.sender(), card.sender()
    card.wire.release(one, 0, 0, 1, 1)
    for at in (20, 40, 200, 220):
        card.wire.release(other, at, 0, 1, 1)
    assert card.taken(1000) == [(other, 1, 30), (other, 1, 50), (one, 1, 110), (other, 2, 310)]


def test_the_interrupt_ends_all_sessions():
    """Two frames with an immediate interrupt under a moderation of 100 ps, and two that wait for the next one; none waits longer."""
    card = Card(100)
    sender = card.sender()
    card.queue.unmask(0)
    card.wire.release(sender, 0, 0, 1, 1)
    card.clock.advance(50)
    assert (card.interrupts, card.taken(50)) == ([10], [(sender, 1, 10)])
    for at in (60, 80):
        card.wire.release(sender, at, 0, 1, 1)
    card.queue.unmask(75)
    card.clock.advance(300)
    assert (card.interrupts, card.taken(300)) == ([10, 110], [(sender, 2, 110)])


def test_without_moderation_the_nic_joins_nothing():
    """A session ends with its first frame."""
    card = Card(0)
    card.wire.release(card.sender(), 0, 0, 1, 5)
    assert [packet[1:] for packet in card.taken(100)] == [(1, at) for at in range(10, 60, 10)]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300)), max_size=30), st.integers(0, 120), st.integers(1, 3))
def test_times_of_looks_do_not_affect_what_the_nic_joins(released: list[tuple[int, int]], interval: int, sessions: int):
    """Observed once or every 7 ps: the same packets at the same instants, with all frames of a connection in order."""
    runs = []
    for step in (1, 7, 2000):
        card = Card(interval, sessions=sessions)
        senders = [card.sender() for _ in range(3)]
        for who, at in released:
            card.wire.release(senders[who], at, 0, 1, 1)
        looks = [packet for now in range(0, 2001, step) for packet in card.taken(now)] + card.taken(2000)
        runs.append(sorted((senders.index(sender), ready, frames) for sender, frames, ready in looks))
        assert sum(frames for _, _, frames in runs[-1]) == len(released)
    assert runs[0] == runs[1] == runs[2]


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
    """One driver and switch passage per packet instead of one per frame."""
    used = []
    for where in ("sw_lro", "hw_lro"):
        joining = nic(lro=True, interrupt_interval="50 us")
        host = run(point(traffic={"s": stream("receive", burst=16)}, nics={"vmnic0": joining}, **{where: True}))
        used.append(host.polls[0].used / host.flows[0].delivered)
    assert used[1] < used[0]


@pytest.mark.parametrize(("driver", "busy"), [(300, 0.6), (500, 0.75), (800, 0.95)])
def test_a_context_that_is_faster_than_the_wire_waits_for_the_next_interrupt(driver: int, busy: float) -> None:
    """It does not poll for single frames without anything to join; its work takes less of its time, the less a frame costs."""
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


def packets_a_frame(burst: int, sessions: int) -> float:
    """Packets for the guest over frames of four streams, whose peer sends the given number of frames of a stream in a row."""
    spec = point(
        group(),
        traffic={"stream": stream("receive", streams=4, window="32 KiB", burst=burst)},
        nics={"vmnic0": nic(interrupt_interval="100 us")},
        sw_lro=True,
        lro_threshold=1_000_000,
        cost=CALM,
    )
    host = run(spec.model_copy(update={"lro": LroSpec(sessions=sessions)}), 10 * MS)
    port = host.ports[0].vnic
    return port.ring.pushed / port.frames


def test_ablation_sessions_stand_for_bursts_at_the_sender() -> None:
    """With a session per connection, alternating frames are joined like bursts of 16; with one session for all they are not."""
    turns, bursts, one = packets_a_frame(1, 8), packets_a_frame(16, 8), packets_a_frame(1, 1)
    assert turns < 1.3 * bursts
    assert turns < 0.3 * one
