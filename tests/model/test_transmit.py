"""Transmission of a NIC port: several contexts share its wire, which never exceeds its rate."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.ring import Chain, Train
from hostsim.model.receive.nic import Pnic
from hostsim.model.receive.wire import OpenLoopWire
from hostsim.model.transmit.nic_transmit import Departure, TxRoom
from hostsim.units import NS, US

FRAME = 120 * NS
FLOW = SimpleNamespace(size=64, totals=SimpleNamespace(octets=0), astray=0)

trains = st.lists(
    st.tuples(st.integers(0, 20_000), st.integers(1, 30), st.integers(0, 2_000), st.integers(1, 3)), max_size=30
)
"""Trains: nanoseconds since the previous one, packets, nanoseconds between them, frames in each."""


def port(limit: int = 10**6) -> Pnic:
    return Pnic("vmnic0", SimpleNamespace(), OpenLoopWire(), limit)


def send(nic: Pnic, ready: int, count: int, step: int, frames: int = 1) -> list[int]:
    """Instants at which its packets have been sent."""
    train = Train(FLOW, count, ready, step, ready, step, None, frames)
    assert nic.admit(train, FRAME) == count
    through = nic.transmit(train, FRAME)
    return [through[0] + place * through[1] for place in range(count)]


def test_what_one_context_leaves_free_is_there_for_the_others() -> None:
    """Five that hand over one packet per microsecond each, like NetWorlds on separate PCPUs, make three fifths of the wire's rate."""
    nic = port(limit=512)
    last = [send(nic, turn * 50 * US, 50, US)[-1] for turn in range(20) for _ in range(5)]
    assert nic.tx_dropped == 0
    assert max(last) < 20 * 50 * US + 5 * 50 * FRAME
    nic.depart(20 * 50 * US)
    assert nic.tx_wire_ps == pytest.approx(0.6 * 20 * 50 * US, rel=0.03)


@given(trains)
def test_trains_leave_in_order_at_the_pace_of_the_wire(sent: list[tuple[int, int, int, int]]) -> None:
    """No packet is sent before it was handed over, or faster than the wire. All are sent no later than packet by packet in order of arrival, and no earlier than if all packets of a train came at once."""
    nic, ready, first, last = port(), 0, 0, 0
    packets: list[tuple[int, int]] = []
    starts: list[tuple[int, int]] = []
    for pause, count, step, frames in sent:
        ready += pause * NS
        through = send(nic, ready, count, step * NS, frames)
        work = frames * FRAME
        starts.append((ready, len(packets)))
        packets += [(ready + place * step * NS, work) for place in range(count)]
        assert through[0] >= max(ready, first) + work
        assert all(later - sooner >= work for sooner, later in pairwise(through))
        assert all(at >= packet[0] + packet[1] - count for at, packet in zip(through, packets[-count:], strict=True))
        first, last = through[0], max(last, through[-1])
    free = 0
    for came, work in sorted(packets):
        free = max(free, came) + work
    at_once = [came + sum(work for _, work in packets[place:]) for came, place in starts]
    assert max(at_once, default=0) <= last <= free


def test_counters_take_each_packet_when_it_is_through() -> None:
    """This includes overlapping trains: a slow one does not delay those behind it."""
    nic = port()
    slow, fast = send(nic, 0, 10, 10 * US), send(nic, US, 10, 0)
    for now in range(0, 100, 7):
        nic.depart(now * US)
        assert nic.tx_packets == sum(at <= now * US for at in slow + fast)


@given(trains, st.lists(st.integers(0, 40_000), min_size=30, max_size=30))
def test_counters_and_the_next_departure_are_those_of_a_walk_through_all_packets(
    sent: list[tuple[int, int, int, int]], looks: list[int]
) -> None:
    """At any observation after a hand-over: partly sent trains are before those that have not begun."""
    nic, ready, now = port(), 0, 0
    nic.vector = vector = SimpleNamespace(adapts=False, transmits=lambda at: None, departed=lambda *what: None)
    instants: list[int] = []
    for (pause, count, step, frames), look in zip(sent, looks, strict=False):
        ready += pause * NS
        instants += send(nic, ready, count, step * NS, frames)
        now = max(now, ready - 5_000 * NS + look * NS)
        nic.depart(now)
        assert nic.tx_packets == sum(at <= now for at in instants)
        assert nic.first_departure(vector) == min((at for at in instants if at > now), default=None)


def test_a_small_packet_finds_room_behind_much_data() -> None:
    """Nine packets of 64 KiB wait, with 16 descriptors each, which is half a millisecond of the wire: 20 of 164 descriptors are left, for one more of them, or for twenty acknowledgements."""
    large, small = (SimpleNamespace(size=size, totals=FLOW.totals, astray=0) for size in (4096, 0))
    nic = port(limit=164)
    data, acks = Train(large, 10, 0, 0, 0, 0, None, 16), Train(small, 30, 0, 0, 0, 0)
    assert nic.admit(data, 3500 * NS) == 10
    front = data.split(9)
    nic.transmit(front, 3500 * NS)
    assert (nic.admit(data, 3500 * NS), nic.admit(acks, 70 * NS)) == (1, 20)
    assert nic.tx_dropped == 10


def test_frames_that_software_has_cut_have_a_descriptor_each() -> None:
    """Ten packets of eight small frames: there is room for all if the NIC segments them, for two if the VMkernel does."""
    nic, train = port(limit=20), Train(FLOW, 10, 0, 0, 0, 0, None, 8)
    assert [nic.admit(train, FRAME, cut=cut) for cut in (False, True)] == [10, 2]


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 30), st.integers(0, 300), st.integers(1, 9)), max_size=40)
)
def test_descriptors_in_use_are_those_of_packets_not_through(sent: list[tuple[int, int, int, int]]) -> None:
    """For any trains, counted packet by packet: the remaining room is the number of descriptors left."""
    room, now, free = TxRoom(50), 0, 0
    leaving: list[tuple[int, int]] = []
    for pause, count, step, each in sent:
        now += pause
        used = sum(size for at, size in leaving if at > now)
        fits = room.fits(count, each, now)
        assert fits == min(count, (50 - used) // each)
        if fits:
            first = max(now, free) + 10
            free = first + (fits - 1) * max(step, 10)
            room.use(fits, each, first, max(step, 10))
            leaving += [(first + place * max(step, 10), each) for place in range(fits)]


def leaving(first: int) -> Departure:
    return Departure(SimpleNamespace(), first, 0, 0, None, None, cut=False)


def instants(chain: Chain[Departure]) -> list[int]:
    found, link = [], chain.first
    while link is not None:
        found.append(link.first)
        link = link.following
    return found


@pytest.mark.parametrize("removed", range(4))
def test_a_chain_keeps_its_order_whatever_is_removed(removed: int) -> None:
    """First, middle, last: the next one is appended behind the remaining ones."""
    chain: Chain[Departure] = Chain()
    links = [leaving(ready) for ready in range(4)]
    for link in links:
        chain.append(link)
    chain.remove(links[removed], links[removed - 1] if removed else None)
    assert links[removed].following is None
    chain.append(links[removed])
    assert instants(chain) == [*(ready for ready in range(4) if ready != removed), removed]


def test_a_chain_that_was_emptied_begins_anew() -> None:
    """Taken one by one, then filled from either end."""
    chain: Chain[Departure] = Chain()
    assert chain.pop() is None
    for ready in (1, 2):
        chain.append(leaving(ready))
    assert [link.first for link in (chain.pop(), chain.pop()) if link is not None] == [1, 2]
    assert chain.pop() is None
    for ready in (4, 3):
        chain.prepend(leaving(ready))
    chain.append(leaving(5))
    assert instants(chain) == [3, 4, 5]
