"""Pages from web servers: cost and time of a request, and behaviour when replies are late."""

from __future__ import annotations

import pytest

from hostsim.model.traffic.web import OPEN_AGAIN_AFTER, WebObject
from hostsim.units import MS, NS, SECOND, US, transmission_ps

from .small_point import CALM, group, guest, nic, pages, point, run

SMALL = transmission_ps(38 + 52, 10e9)
"""A frame without data on the wire."""
SEGMENT = transmission_ps(38 + 1500, 10e9)


def test_a_page_by_hand():
    """Opened, requested, served: each step with the time of wire, receive context, guest and transmit context."""
    host = run(point(traffic={"p": pages(1 * MS)}, cost=CALM), 5 * MS)
    (flow,) = host.flows
    assert (flow.asked, flow.answered, flow.octets) == (1, 1, 1448)
    flow.response.flush()
    # interrupt and poll entry, driver, forwarding, delivery of an empty packet with its lines; the guest wakes
    into = SMALL + (300 + 400 + 70 + 30 + 40 + 150) * NS + (800 + 220) * NS + 250 * NS
    # the guest's call (charged to it later) wakes the transmit context: poll entry, device emulation, forwarding,
    # driver
    out = (400 + 170 + 30 + 80) * NS
    opened = into + 130 * NS + out + SMALL + 10 * US
    # half of the server's work of 40 us is after its only write
    served = into + (20_000 + 350) * NS + out + SEGMENT + 10 * US
    waiting = 600 * NS
    assert flow.response.total == opened + served + waiting


def test_objects_come_one_after_the_other():
    """Twice the objects, twice the requests for them; one connection, opened once."""
    answers = []
    for objects in (1, 2, 6):
        host = run(point(traffic={"p": pages(1 * MS, objects=objects, size="8000 B")}), 20 * MS)
        flow = host.flows[0]
        assert (flow.asked, flow.answered, flow.octets) == (1, 1, objects * 6 * 1334)  # a sixth of 8,000 B, rounded up
        answers.append(flow.sent)
    # the request and an acknowledgement for every other segment; those at an object's end come with the next request
    assert answers[1] - answers[0] == 4 - 1 + 1 - 1
    assert answers[2] - answers[1] == 4 * (answers[1] - answers[0])


def test_the_work_is_spread_around_the_writes():
    """Work before each write and after the last; full segments after each write, and the rest with the last one."""
    served = WebObject.of(10_000, 4096, 1448, 40_001)
    assert served.writes == [(10_000, 2), (10_000, 3), (10_000, 2)]
    assert (served.segments, served.segment, served.after) == (7, 1429, 10_001)
    alone = WebObject.of(100, 4096, 1448, 7)
    assert (alone.writes, alone.segment, alone.after) == ([(3, 1)], 100, 4)


def test_a_page_has_objects_of_several_sizes():
    """Quantiles of a lognormal distribution at 1/6, 1/2 and 5/6, in the ratio e**-0.9674, 1 and e**0.9674; their sum is the page."""
    three = pages(1 * MS, objects=3, size=None, page_size="40000 B", size_spread=1)
    assert three.object_sizes == [3790, 9972, 26238]
    assert sum(pages(1 * MS, objects=7, size="1001 B", size_spread=1.5).object_sizes) == 7007
    assert pages(1 * MS, objects=2, size="700 B").object_sizes == [700, 700]


def test_each_object_has_its_own_segments():
    """Objects of one, two and three segments: as many frames of data after the opening, and the bytes of each object."""
    spec = pages(1 * MS, objects=3, size=None, page_size="6000 B", size_spread=0.8)
    host = run(point(traffic={"p": spec}), 20 * MS)
    flow = host.flows[0]
    frames = [-(-size // 1448) for size in spec.object_sizes]
    assert (flow.asked, flow.answered) == (1, 1)
    assert flow.out == 1 + sum(frames)
    assert flow.octets == sum(count * -(-size // count) for count, size in zip(frames, spec.object_sizes, strict=True))


@pytest.mark.parametrize(("write", "wakes"), [("2896 B", 4), ("11584 B", 1)])
def test_each_write_may_wake_the_transmit_context(write: str, wakes: int):
    """A page of eight segments written in four parts, and at once: the context sleeps again before the next part comes."""
    vm = group(guest=guest(initial_window=8))
    host = run(point(vm, traffic={"p": pages(1 * MS, size="11584 B", write_size=write)}, cost=CALM), 5 * MS)
    assert host.flows[0].answered == 1
    assert sum(host.transmits[0].wakes) == 1 + wakes


def test_requests_come_whether_or_not_the_server_keeps_up():
    """Ten at once: each has its own connection, the server takes them one at a time, and the last one has waited for all."""
    host = run(point(traffic={"p": pages(*[1 * MS] * 10)}), 20 * MS)
    flow = host.flows[0]
    assert (flow.asked, flow.answered) == (10, 10)
    assert len(host.vms[0].devices[0].filter.senders) == 20
    flow.response.flush()
    assert flow.response.total > sum(range(1, 11)) * 40 * US


def test_connections_are_used_again():
    """Requests far apart reuse one connection's slot; it restarts each time with the initial window."""
    host = run(point(traffic={"p": pages(*(place * MS for place in range(1, 8)), size="20000 B")}), 20 * MS)
    assert host.flows[0].answered == 7
    assert len(host.vms[0].devices[0].filter.senders) == 2
    host.flows[0].response.flush()
    assert len(set(host.flows[0].response.counts.nonzero()[0])) <= 2


def test_a_connection_that_finds_no_room_is_opened_again():
    """The ring of one descriptor drops all but one of ten openings; three seconds later the others are repeated."""
    traffic = {"p": pages(*[1 * MS] * 10)}
    host = run(point(traffic=traffic, nics={"vmnic0": nic(rx_ring=1, interrupt_interval="100 us")}), 100 * MS)
    flow = host.flows[0]
    assert flow.lost_nic > 0
    assert 0 < flow.answered < 10
    host.clock.advance(1 * MS + OPEN_AGAIN_AFTER - 1 * US)
    assert flow.answered < 10
    host.clock.advance(40 * SECOND)
    assert flow.answered == 10
