"""TCP on whole hosts: the length of a round trip to the picosecond, and conservation."""

from __future__ import annotations

import pytest

from hostsim.config.peer import PeerSpec
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Train
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.model.traffic.tcp import RETRANSMIT_AFTER
from hostsim.model.traffic.tcp_sender import TcpSender
from hostsim.units import MS, NS, US, transmission_ps

from .small_point import CALM, FREE, ROUND, arrived, files, group, guest, nic, point, run, stream

SIZE, FRAME, SMALL = 1448, transmission_ps(1538, 10e9), transmission_ps(90, 10e9)
DELAY = 10 * US
POLL = ROUND["interrupt"] + ROUND["poll_entry"] + ROUND["driver_rx"] + ROUND["switch_forward"]
TRANSMIT = ROUND["poll_entry"] + ROUND["networld_tx"] + ROUND["switch_forward"] + ROUND["driver_tx"]
"""Nanoseconds of a received frame until its delivery, and of a packet sent by a sleeping context."""


def deliver(octets: int) -> float:
    return octets * ROUND["copy_per_byte"] + ROUND["shared_lines"] + ROUND["vnic_deliver"]


def build(spec, until: int = 0) -> Host:
    host = build_host(spec, Streams(1, 0))
    host.clock.advance(until)
    return host


def count_in(host: Host, span: int) -> tuple[int, int]:
    """Frames that came off the wire, and events, from now until ``span`` later."""
    before, scheduled = host.flows[0].sent, host.clock.scheduled()
    host.clock.advance(host.clock.now + span)
    for queue in host.queues:
        queue.settle(host.clock.now)
    return host.flows[0].sent - before, host.clock.scheduled() - scheduled


def check_trips(spec, cap: int, trips: int, wire: int, work_ns: float) -> Host:
    """Each round trip takes the time of wire and work, and six or seven events. The NIC's timer is set twice for one
    interrupt: for a completion with a very late deadline, and for the frame that comes earlier. With a cap of 1 the
    guest calls for every packet; otherwise the packet leaves at the halt, and the 4 ms timer expires once without
    effect.
    """
    host = build(spec, 20 * MS)
    trip = wire + round((work_ns + (ROUND["vmk_call"] if cap == 1 else 0)) * NS)
    events = 7 * trips if cap == 1 else 6 * trips - (-trips * trip // (4 * MS))
    assert count_in(host, trips * trip) == (trips, events)
    return host


@pytest.mark.parametrize("cap", [1, 40])
def test_a_round_trip_of_one_segment_received(cap: int):
    """Wire, NetPoll, guest, acknowledgement, NetWorld, wire, peer: three ends of batches, two interrupts and possibly a call."""
    spec = point(traffic={"s": stream("receive", window="2048 B")}, cost=CALM, tx_depth_cap=cap)
    # the application's own part
    guest_ns = ROUND["vcpu_wake"] + ROUND["guest_interrupt"] + ROUND["guest_rx_packet"] + 1000
    guest_ns += SIZE * ROUND["copy_per_byte"] + ROUND["guest_process_wake"] + ROUND["guest_ack"]
    host = check_trips(spec, cap, 1000, FRAME + SMALL + DELAY, POLL + deliver(SIZE) + guest_ns + TRANSMIT)
    assert host.polls[0].used == pytest.approx(host.polls[0].dispatches * (POLL + deliver(SIZE)) * NS, rel=1e-3)


@pytest.mark.parametrize("cap", [1, 40])
def test_a_round_trip_of_one_segment_sent(cap: int):
    """The same in the other direction; the guest copies from the process, and none is woken."""
    spec = point(traffic={"s": stream("send", window="2048 B")}, cost=CALM, tx_depth_cap=cap)
    guest_ns = ROUND["vcpu_wake"] + ROUND["guest_interrupt"] + ROUND["guest_rx_ack"] + 2000 + ROUND["guest_tx_packet"]
    guest_ns += SIZE * ROUND["copy_per_byte"]
    check_trips(spec, cap, 1000, FRAME + SMALL + DELAY, POLL + deliver(0) + guest_ns + TRANSMIT)


@pytest.mark.parametrize("cap", [1, 40])
def test_a_short_file_takes_one_round_trip(cap: int):
    """Request, and reply of two segments in one packet; the next request when both have arrived."""
    spec = point(
        group(guest=guest(initial_window=2)), traffic={"s": files("get", size="2000 B")}, cost=CALM, tx_depth_cap=cap
    )
    guest_ns = (
        ROUND["vcpu_wake"] + ROUND["guest_interrupt"] + ROUND["guest_rx_packet"] + 50000 + ROUND["guest_tx_packet"]
    )
    check_trips(spec, cap, 100, 2 * FRAME + SMALL + DELAY, POLL + deliver(0) + guest_ns + TRANSMIT)


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("size", ["1 B", "1448 B", "1449 B", "1 MB"])
def test_files_are_complete(method: str, size: str):
    """Every file has all its segments; in flight is less than a file per connection."""
    host = run(point(traffic={"f": files(method, size=size, connections=3)}), 60 * MS)
    segments = -(-(10**6 if size == "1 MB" else int(size.split(maxsplit=1)[0])) // SIZE)
    flow, switch = host.flows[0], host.vms[0].devices[0]
    done = flow.octets // (segments * SIZE)
    assert done >= 10
    if method == "post":
        assert flow.octets == flow.delivered * SIZE
    else:
        assert abs(switch.nic.tx_frames - flow.octets // SIZE) <= 3 * segments


@pytest.mark.parametrize("direction", ["receive", "send"])
@pytest.mark.parametrize("window", ["2048 B", "3000 B", "8 KiB", "64 KiB", "1 MiB"])
@pytest.mark.parametrize("divisor", [1, 3])
def test_a_stream_never_stalls_and_never_exceeds_its_window(direction: str, window: str, divisor: int):
    """Odd windows, windows of one segment, large ones; TSO packets of a whole window or a third of it."""
    most = max(1, {"2048 B": 2048, "3000 B": 3000, "8 KiB": 8192, "64 KiB": 65536, "1 MiB": 2**20}[window] // SIZE)
    spec = point(group(guest=guest(tso_divisor=divisor)), traffic={"s": stream(direction, window=window)})
    host = run(spec, 20 * MS)
    half = host.flows[0].octets
    host.clock.advance(40 * MS)
    late = host.flows[0].octets - half
    assert late == pytest.approx(half, rel=0.15)
    bound = most * SIZE / ((DELAY + FRAME) * 1e-12)  # a window in less than a round trip is impossible
    assert late <= min(bound, 10e9 / 8 * SIZE / 1538) * 20e-3 + most * SIZE


def test_small_messages_are_segments_of_their_own():
    """256 bytes in a frame, charged to the window with the socket's overhead."""
    spec = point(
        group(guest=guest(socket_overhead="256 B", initial_window=4)),
        traffic={"s": stream("receive", window="2048 B", message_size="256 B", nodelay=True)},
        sw_lro=True,
    )
    host = build(spec, 5 * MS)
    (train,) = {id(sender): sender for sender, _ in host.vms[0].devices[0].filter.senders}.values()
    assert (train.size, train.joins) == (256, False)
    host.clock.advance(20 * MS)
    assert host.flows[0].octets == 256 * host.flows[0].delivered > 0
    assert host.ports[0].vnic.ring.taken == host.ports[0].vnic.frames


def test_a_sender_with_tso_makes_few_packets():
    """At most 64 KiB: 45 segments of 1448 bytes in a packet; the frames on the wire are the same."""
    few = run(point(traffic={"s": stream("send", window="1 MiB", delay="0 s")}), 50 * MS).vms[0].devices[0].nic
    many = (
        run(point(traffic={"s": stream("send", window="1 MiB", delay="0 s")}, hw_tso=False), 50 * MS)
        .vms[0]
        .devices[0]
        .nic
    )
    assert few.tx_frames > 40 * few.tx_packets
    assert many.tx_frames == many.tx_packets
    assert many.tx_frames == pytest.approx(few.tx_frames, rel=0.05)


def test_a_narrow_bus_limits_the_wire():
    """One PCIe lane of the first generation carries 2 Gbit/s minus a sixth of headers, for any cable."""
    slot = nic(pcie={"generation": 1, "lanes": 1})
    assert slot.rate == pytest.approx(2e9 * 256 / 280)
    host = run(point(traffic={"s": stream("receive", streams=4)}, nics={"vmnic0": slot}), 50 * MS)
    assert host.flows[0].octets * 8 / 50e-3 == pytest.approx(slot.rate * SIZE / 1538, rel=0.03)


@pytest.mark.parametrize(("direction", "size"), [("receive", 1448), ("receive", 256), ("send", 1448)])
def test_events_grow_with_dispatches_and_not_with_packets(direction: str, size: int):
    """Ten times the window at the same interrupt rate: ten times the packets, less than 1.5 times the events."""
    counted = []
    for segments in (8, 80):
        window = f"{segments * size} B"
        traffic = stream(direction, window=window, burst=64, message_size=f"{size} B", nodelay=True, delay="1 ms")
        moderated = nic(interrupt_interval="125 us", line_rate="100 Gbit/s")
        vm = group(guest=guest(initial_window=64, tso_divisor=3))
        host = build(point(vm, traffic={"s": traffic}, nics={"vmnic0": moderated}, cost={}), 20 * MS)
        before = arrived(host)
        _, events = count_in(host, 200 * MS)
        counted.append(((arrived(host) - before) // size, events))
    (few, cheap), (many, dear) = counted
    assert many > 8 * few > 1000
    assert dear < 1.5 * cheap


def sender_of(spec) -> tuple[Host, TcpSender]:
    """A host with one connection on which the guest sends, before anything has been sent."""
    host = build_host(spec, Streams(1, 0))
    (acks,) = {flow for flow, _ in host.vms[0].devices[0].filter.senders if flow.size == 0 and flow.burst > 1}
    return host, acks._handler


@pytest.mark.parametrize(("under_way", "posted"), [(0, 1), (1, 0)])
def test_what_remains_goes_at_once_when_nothing_is_on_its_way_after_a_loss(under_way: int, posted: int):
    """Two segments are lost and the peer holds a third: a small rest would wait forever for an acknowledgement unless a segment is still in flight."""
    vm = group(guest=guest(initial_window=5))
    host, sender = sender_of(point(vm, traffic={"s": stream("send", window=f"{5 * SIZE} B")}))
    sender._remaining, sender._carry = 9, 1
    sender._congestion.in_flight = 3 + under_way
    sender._data.dropped(2)
    sender._send(0)
    assert host.transmits[0].ring.pushed == posted


@pytest.mark.parametrize(("pause", "acknowledged"), [(39, 0), (41, 1)])
def test_a_pause_longer_than_the_delayed_acknowledgement_has_one(pause: int, acknowledged: int):
    """The end of a file is acknowledged by the next request, or after 40 ms if the user thinks longer."""
    _, sender = sender_of(point(traffic={"f": files("get", size="1448 B")}))
    sender._acknowledge_file(0, Train(sender._data, 1, 0, 0, 0, 0, None, 1), pause * MS)
    assert sender._acks_coming == acknowledged


def peer(aggregation: str) -> PeerSpec:
    return PeerSpec.model_validate({"peer": "joins", "aggregation": aggregation})


@pytest.mark.parametrize(
    ("aggregation", "packets", "frames", "carry", "expected"),
    [
        ("0 us", 2, 25, 0, (25, 0)),
        ("0 us", 1, 25, 0, (12, 1)),
        ("1 us", 1, 25, 1, (13, 0)),  # less than a frame on the wire
        ("12.4 us", 1, 25, 1, (3, 0)),  # ten, ten and five; one frame alone waits
        ("12.4 us", 1, 21, 0, (2, 1)),  # one frame alone waits
        ("12.4 us", 1, 1, 1, (1, 0)),  # for the next
        ("12.4 us", 2, 11, 1, (2, 1)),
        ("12.4 us", 4, 1, 1, (2, 1)),
        ("1 ms", 1, 45, 0, (1, 0)),  # 64 KiB
    ],
)
def test_a_peer_that_joins_segments_acknowledges_what_it_has_joined(
    aggregation: str, packets: int, frames: int, carry: int, expected: tuple[int, int]
) -> None:
    """Ten frames of 1,538 bytes take 12.3 us at 10 Gbit/s; a joined packet is acknowledged at once, single segments every second time."""
    spec = point(traffic={"s": stream("send")}).model_copy(update={"peer": peer(aggregation)})
    _, sender = sender_of(spec)
    sender._carry = carry
    assert sender._acks_for(Train(sender._data, packets, 0, 0, 0, 0, None, frames)) == expected


@pytest.mark.parametrize(("written", "expected"), [(None, 2), (5, 4), (2, 10)])
def test_the_guest_gets_an_acknowledgement_for_each_aggregate(written: int | None, expected: int) -> None:
    """The peer joins ten of a packet's 20 segments, unless the scenario gives the number per acknowledgement; no segment is omitted."""
    sends = stream("send", window=f"{20 * SIZE} B", peer_acks_every=written)
    vm = group(guest=guest(tso_divisor=1, initial_window=20))
    host = run(point(vm, traffic={"s": sends}).model_copy(update={"peer": peer("12.4 us")}), 50 * MS)
    port = host.vms[0].devices[0].nic
    assert port.tx_frames / port.tx_packets == pytest.approx(20, rel=0.02)
    assert host.ports[0].vnic.frames / port.tx_packets == pytest.approx(expected, rel=0.05)


def test_an_acknowledgement_costs_its_guest_its_own_part_of_the_stack() -> None:
    """The ablation: without their own cost, the guest's time falls by the cost times the number of acknowledgements."""
    used, acks = [], []
    for cycles in (ROUND["guest_rx_ack"], 0):
        sends = stream("send", window="2048 B", delay="1 ms")
        host = run(point(traffic={"s": sends}, cost=CALM | {"guest_rx_ack": cycles}), 50 * MS)
        used.append(host.vms[0].vcpus[0].used)
        acks.append(host.ports[0].vnic.ring.taken)
    assert acks[0] == acks[1] > 40
    assert used[0] - used[1] == acks[0] * ROUND["guest_rx_ack"] * NS


def test_an_acknowledgement_covers_whole_packets_of_several_frames():
    """Three packets of four frames, acknowledged every second packet: the acknowledgement covers eight frames, and four wait for the next."""
    host = build_host(point(traffic={"s": stream("receive", window="64 KiB")}), Streams(1, 0))
    (data,) = {flow for flow, _ in host.vms[0].devices[0].filter.senders}
    receiver = data._handler
    receiver._congestion.in_flight = 40
    receiver._read(Train(data, 3, 0, 0, 0, 0, None, 4), 0, False)
    assert (receiver._acks_out, receiver._acks_out_frames, receiver._owing) == (1, 8, 4)


def test_a_dropped_answer_is_sent_again_once_after_the_retransmission_timeout():
    """The peer has sent its whole file and waits for the reply, so only the server's timer can trigger it."""
    host = build_host(point(traffic={"f": files("post", size="1448 B")}), Streams(1, 0))
    (data,) = {flow for flow, _ in host.vms[0].devices[0].filter.senders}
    receiver = data._handler
    receiver._remaining = 0
    receiver._answer_dropped(1)
    assert receiver._timer.due == RETRANSMIT_AFTER
    for _ in range(2):
        receiver._send_again(RETRANSMIT_AFTER)
        assert host.transmits[0].ring.pushed == 1


def test_a_dropped_request_is_repeated_and_asks_for_the_same_file():
    """The vNIC has no descriptor when it arrives: it is repeated 200 ms later, and its response time counts from the first."""
    host = build(point(traffic={"f": files("get", size="1448 B")}))
    ring, flow = host.ports[0].vnic.ring, host.flows[0]
    size, ring.capacity = ring.capacity, 0
    host.clock.advance(1 * MS)
    assert ring.dropped == 1
    ring.capacity = size
    host.clock.advance(RETRANSMIT_AFTER)
    assert (flow.asked, flow.answered) == (1, 0)
    host.clock.advance(RETRANSMIT_AFTER + 1 * MS)
    assert flow.asked == flow.answered + 1 > 1
    assert flow.response.total > RETRANSMIT_AFTER


@pytest.mark.parametrize("window", ["64 KiB", "1 MiB", "16 MiB"])
def test_tcp_in_both_directions_of_a_port_starves_neither(window: str) -> None:
    """Acknowledgements find room behind any amount of waiting data, so each direction gets what window or wire allow."""
    cheap = CALM | {name: cycles / 10 for name, cycles in CALM.items() if name not in FREE}
    vm = group(vcpus=2, guest=guest(tso_divisor=3, initial_window=10))
    both = {
        "in": stream("receive", window=window, burst=16),
        "out": stream("send", window=window, port=34000),
    }
    card = nic(interrupt_interval="20 us")
    host = run(point(vm, traffic=both, nics={"vmnic0": card}, cost=cheap, sw_lro=True), 10 * MS)
    got = arrived(host), host.flows[1].octets
    least, most = min(got), max(got)
    wire = 10 * MS * 1448 / (transmission_ps(1538, 10e9))
    assert 0.9 * most < least
    assert (0.6 if window == "64 KiB" else 0.85) * wire < least < wire


@pytest.mark.parametrize(
    ("window", "burst", "expected"), [("8 KiB", None, 1), ("64 KiB", None, 15), ("1 MiB", None, 45), ("1 MiB", 4, 4)]
)
def test_a_peers_burst_is_a_packet_of_its_tso(window: str, burst: int | None, expected: int) -> None:
    """A third of its window, at most 64 KiB, unless the scenario gives the number."""
    spec = point(traffic={"stream": stream("receive", window=window, burst=burst)})
    ((sender, *_),) = build(spec).vms[0].devices[0].filter.senders
    assert sender.burst == expected
