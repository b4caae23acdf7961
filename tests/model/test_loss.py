"""Losses on the path, repaired by selective acknowledgements, or by the sender's timer if nothing comes back."""

from __future__ import annotations

import pytest

from hostsim.config.workload import HttpSpec, TcpStreamSpec
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import RunRecord
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.units import MS, NS, US, transmission_ps

from .small_point import ROUND, arrived, datagrams, files, group, guest, multicast, nic, point, run, stream, to_vm


def progress(host: Host, until: int) -> int:
    """Bytes that arrive up to an instant."""
    before = arrived(host)
    host.clock.advance(until)
    return arrived(host) - before


@pytest.mark.parametrize("ring", [1, 2, 8, 24])
def test_an_overflowing_nic_ring_is_repaired_without_the_timer(ring: int):
    """Frames are lost all the time; data keep arriving within the timer's 200 ms, and every byte counts once."""
    spec = point(
        traffic={"s": stream("receive", streams=4, burst=16)},
        nics={"vmnic0": nic(rx_ring=ring, interrupt_interval="50 us")},
    )
    host = run(spec, 100 * MS)
    flow = host.flows[0]
    assert flow.lost_nic == host.queues[0].ring.dropped > 10
    assert flow.octets == 1448 * flow.delivered
    assert progress(host, 150 * MS) > 0.3 * progress(host, 200 * MS) > 0


def test_lost_segments_go_again():
    """Lost parts of a file are sent again: posts of eight segments through a ring of four are all complete."""
    vm = group(guest=guest(initial_window=8))
    port = nic(rx_ring=4, interrupt_interval="50 us")
    host = run(point(vm, traffic={"f": files("post", size="11584 B")}, nics={"vmnic0": port}), 100 * MS)
    flow = host.flows[0]
    answers = host.vms[0].devices[0].nic.tx_packets
    assert flow.lost_nic > 100
    assert 0 <= flow.sent - flow.lost_nic - flow.delivered <= 8  # a post may be on its way
    assert answers > flow.delivered // 8 > 100


STALL = ROUND | {"driver_rx": 2_000_000}
"""A frame keeps its context busy for 2 ms."""
DATAGRAM = transmission_ps(166, 10e9)
"""A hundred bytes of data on the wire."""


def occupied(first: TcpStreamSpec | HttpSpec) -> Host:
    """A ring of one descriptor, which a datagram takes while the context works on the previous one.

    The connection begins within the first millisecond, so its first frame from the peer finds no descriptor. The loss is
    known when the context takes the second datagram.
    """
    traffic = {"first": first, "datagrams": multicast(0, 10 * US, size="100 B")}
    vm = group(guest=guest(initial_window=2))
    host = build_host(
        point(vm, traffic=traffic, nics={"vmnic0": nic(rx_ring=1)}, cost=STALL, poll_budget=1), Streams(1, 0)
    )
    host.probe.start()
    return host


@pytest.mark.parametrize("kind", ["segment", "acknowledgement", "request"])
def test_when_nothing_comes_back_the_timer_sends_again_after_200_ms(kind: str):
    """Each is lost once, and repaired by a timer only."""
    first = {
        "segment": stream("receive", window="2048 B"),
        "acknowledgement": stream("send", window="4 KiB"),
        "request": files("get", size="1 B"),
    }[kind]
    host = occupied(first)
    assert progress(host, 3 * MS) == (2 * 1448 if kind == "acknowledgement" else 0)
    assert host.flows[0].lost_nic == 1
    assert progress(host, 200 * MS) == 0
    assert progress(host, 220 * MS) > 0


def test_a_segment_goes_again_200_ms_after_its_loss_is_known():
    """To the picosecond: when the first datagram is finished."""
    host = occupied(stream("receive", window="2048 B"))
    turn = ROUND["halt_exit"] + ROUND["context_switch"] + ROUND["cache_refill_same"]
    wake = ROUND["interrupt"] + ROUND["poll_entry"]
    copy = ROUND["replicate_clone"] + 100 * ROUND["copy_per_byte"] + ROUND["shared_lines"] + ROUND["vnic_deliver"]
    known = DATAGRAM + round((turn + wake + STALL["driver_rx"] + ROUND["switch_forward"] + copy) * NS)
    link, (queue,) = host.nics["vmnic0"].wire, host.queues
    host.clock.advance(known + 200 * MS)
    assert link.upcoming(queue) is None
    host.clock.advance(known + 200 * MS + 1)
    assert link.upcoming(queue) == known + 200 * MS + 1  # a frame takes time


TRAFFIC = {
    "receive": stream("receive", window="8 KiB", delay="200 us"),
    "lone": stream("receive", window="2048 B", delay="200 us"),
    "odd": stream("receive", window="4344 B", streams=3, delay="200 us"),
    "post": files("post", size="5792 B", window="4344 B", connections=3, delay="200 us"),
    "send": stream("send", window="8 KiB", delay="200 us"),
    "oddly": stream("send", window="4344 B", streams=3, delay="200 us"),
    "get": files("get", size="100 kB", window="8 KiB", connections=3, delay="200 us"),
}


@pytest.mark.parametrize("traffic", TRAFFIC)
def test_every_connection_survives_a_guest_without_descriptors(traffic: str):
    """After the guest's ring vanished for 50 ms in any state, data flow as before once the timers have expired."""
    spec = point(group(guest=guest(initial_window=3)), traffic={"t": TRAFFIC[traffic]})
    undisturbed = build_host(spec, Streams(1, 0))
    undisturbed.clock.advance(10 * MS)
    usual = progress(undisturbed, 20 * MS)
    for begin in range(10 * MS, 10 * MS + 210 * US, 35 * US):
        host = build_host(spec, Streams(1, 0))
        host.clock.advance(begin)
        ring = host.ports[0].vnic.ring
        capacity, ring.capacity = ring.capacity, 0
        host.clock.advance(begin + 20 * MS)
        assert progress(host, begin + 50 * MS) == 0
        ring.capacity = capacity
        host.clock.advance(begin + 270 * MS)
        assert progress(host, begin + 280 * MS) > 0.8 * usual


def test_whoever_looks_at_a_queue_changes_nothing():
    """Observed every 7 us or never: the same losses, repairs and packets."""
    spec = point(
        group(count=6, vcpus=2),
        traffic={"s": stream("receive", streams=3)},
        nics={"vmnic0": nic(rx_queues=8, rx_ring=16, interrupt_interval="50 us")},
        cores=2,
    )
    ended = []
    for looks in (1, 6000):
        host = build_host(spec, Streams(1, 0))
        for look in range(1, looks + 1):
            host.clock.advance(42 * MS * look // looks)
            for queue in host.queues:
                queue.settle(host.clock.now)
        rings = [(queue.ring.pushed, queue.ring.dropped, queue.interrupts) for queue in host.queues]
        ended.append((rings, [queue.wakes for queue in host.transmits], [world.used for world in host.worlds()]))
    assert ended[0] == ended[1]
    assert sum(dropped for _, dropped, _ in ended[0][0]) > 500


def fill(host: Host) -> int:
    """Leaves no room in the only transmit queue, and stops the freeing of descriptors; returns the previous room."""
    (queue,), (port,) = host.transmits, host.ports
    port.vnic.completions = None
    queue.completions.settle(host.clock.now)
    queue.ring.settle(host.clock.now)
    room = queue.ring.capacity - queue.ring.held
    queue.ring.capacity -= room
    return room


def test_acknowledgements_that_all_find_no_room_do_not_end_a_stream():
    """No acknowledgement leaves the guest for a while: the window is used up, and the peer's timer restarts the stream."""
    host = run(point(traffic={"s": stream("receive", streams=2)}), 10 * MS)
    (queue,), room = host.transmits, fill(host)
    assert room > 0
    host.clock.advance(20 * MS)
    assert progress(host, 100 * MS) == 0
    queue.ring.capacity += room
    host.ports[0].vnic.completions = queue.completions
    assert progress(host, 150 * MS) == 0
    assert progress(host, 300 * MS) > 50 * progress(host, 301 * MS) > 0


def shares(host: Host) -> dict[str, float]:
    """Packet loss and its nonzero parts."""
    record = RunRecord("", 0, 1, {}, *host.probe.collect(), cut=0)
    found = {name: CATALOGUE[name].evaluate(record) for name in CATALOGUE if name.startswith("loss")}
    return {name: share for name, share in found.items() if share}


def test_datagrams_that_a_guest_cannot_send_are_lost():
    """A 10 Mbit/s wire with room for 64 packets, and ten times as many packets: handed over plus dropped packets equal taken ones."""
    slow = nic(line_rate="10 Mbit/s", tx_queue=64)
    host = run(point(traffic={"s": datagrams("send", rate="12 kpps", burst=4)}, nics={"vmnic0": slow}), 100 * MS)
    (flow,), (queue,) = host.flows, host.transmits
    assert flow.lost_out == host.nics["vmnic0"].tx_dropped > 900
    assert flow.out + flow.lost_out == queue.ring.taken
    lost = 100 * flow.lost_out / queue.ring.taken
    assert shares(host) == {"loss": pytest.approx(lost), "loss_out": pytest.approx(lost)}


def test_datagrams_that_find_no_room_in_a_guest_are_lost():
    """For another VM: the sender's transmit queue has no descriptor for half of the time."""
    vms = [group(name) for name in ("a", "b")]
    host = run(point(*vms, traffic={"s": to_vm(rate="10 kpps")}), 10 * MS)
    for queue in host.transmits:
        queue.ring.capacity = 0
    host.clock.advance(20 * MS)
    host.probe.sample()
    (flow,) = host.flows
    assert flow.lost_out == sum(queue.ring.dropped for queue in host.transmits) > 90
    assert set(shares(host)) == {"loss", "loss_out"}


@pytest.mark.parametrize("direction", ["receive", "send"])
def test_segments_and_acknowledgements_that_find_no_room_in_a_guest_are_lost(direction: str):
    """Each of its frames, and nothing else."""
    host = run(point(traffic={"s": stream(direction, streams=2)}), 10 * MS)
    (queue,), room = host.transmits, fill(host)
    assert room > 0
    host.clock.advance(20 * MS)
    host.probe.sample()
    assert host.flows[0].lost_out >= queue.ring.dropped > 0
    assert set(shares(host)) == {"loss", "loss_out"}
