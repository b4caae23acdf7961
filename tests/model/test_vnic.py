"""Interrupts of a vNIC, scheme by scheme, with a guest that only records them."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from types import SimpleNamespace

import pytest

from hostsim.config.platform import Coalescing, Refill
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import InterruptTarget
from hostsim.model.policy.moderation import CoalescingScheme, StaticCoalescing, coalescing_scheme
from hostsim.model.receive.vnic import Vnic
from hostsim.units import MS, US
from tests.model.small_host import bare_host


class NotingGuest(InterruptTarget):
    """Records its interrupts; busy until the test halts it."""

    def __init__(self) -> None:
        self.halted = False
        self.node = bare_host().nodes[0]
        self.pending_ps = 0
        self.interrupts: list[int] = []

    def interrupt(self, now: int, vnic: Vnic) -> None:
        assert vnic.vcpu is self
        self.interrupts.append(now)


def a_vnic(scheme: str, **changes: int) -> tuple[Clock, Vnic, NotingGuest]:
    values = {"scheme": scheme, "rate": 4000, "depth": 64, "timeout": 4 * MS} | changes
    clock, guest = Clock(), NotingGuest()
    vnic = Vnic(clock, "eth0", 256, coalescing_scheme(Coalescing.model_validate(values)), guest)
    return clock, vnic, guest


def packets(count: int, first: int, step: int = 0) -> Train:
    return Train(SimpleNamespace(size=64), count, first, step, 0, 0)


def test_disabled_interrupts_at_the_first_packet():
    """It sends no further interrupts until the guest has polled."""
    clock, vnic, guest = a_vnic("disabled")
    vnic.receive(packets(3, 10 * US, 5 * US))
    clock.advance(1 * MS)
    assert guest.interrupts == [10 * US]


def interrupted_at(packets_at: list[int]) -> list[int]:
    """Interrupts of rate-based coalescing for packets at given instants, with a guest that takes packets at once."""
    clock, vnic, guest = a_vnic("rbc")
    coming, taken = deque(packets_at), 0
    while clock.now < packets_at[-1] + 1 * MS:
        if coming and coming[0] <= clock.now + 1 * US:
            vnic.receive(packets(1, coming.popleft()))
        clock.advance(clock.now + 1 * US)
        if len(guest.interrupts) > taken:
            taken = len(guest.interrupts)
            vnic.take(64, clock.now)
            vnic.unmask(clock.now)
    return guest.interrupts


def test_rate_based_coalescing_interrupts_for_as_many_packets_as_keep_to_the_ceiling():
    """10,000 packets per second at 4,000 interrupts: the rate is known after 4 ms, and from then on every third packet interrupts."""
    instants = interrupted_at([at * 100 * US for at in range(1, 61)])
    assert instants == [at * 100 * US for at in (*range(1, 40), 42, 45, 48, 51, 54, 57, 60)]


def test_rate_based_coalescing_holds_no_packet_for_longer_than_an_interval_of_the_ceiling():
    """The stream stops after one more packet, which waits for 250 us. A packet in a quiet window interrupts at once."""
    fast = [at * 100 * US for at in range(1, 44)]
    assert interrupted_at([*fast, 20 * MS, 20 * MS + 60 * US])[-3:] == [
        4300 * US + 250 * US,
        20 * MS,
        20 * MS + 60 * US,
    ]


def test_rate_based_coalescing_lets_a_slow_stream_pass():
    """Bursts of three, 2 ms apart, are 1,500 packets per second: none waits, however close the packets are."""
    packets_at = [burst * 2 * MS + at * 20 * US for burst in range(1, 20) for at in range(3)]
    assert interrupted_at(packets_at) == packets_at


def test_a_round_trip_waits_in_every_other_window():
    """Intervals of 60 us are 16,667 per second without coalescing, or five packets per interrupt: they wait for 250 us until the rate is seen to fall, and so on."""
    clock, vnic, guest = a_vnic("rbc")
    vnic.receive(packets(1, 60 * US))
    seen = 0
    while clock.now < 80 * MS:
        clock.advance(clock.now + 1 * US)
        if len(guest.interrupts) > seen:
            seen = len(guest.interrupts)
            vnic.take(1, clock.now)
            vnic.unmask(clock.now)
            vnic.receive(packets(1, guest.interrupts[-1] + 60 * US))
    trips = [after - before for before, after in pairwise(guest.interrupts)]
    assert set(trips) == {60 * US, 310 * US}
    assert sum(trip for trip in trips if trip == 60 * US) / sum(trips) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("ended", "trips"), [(False, {60 * US, 310 * US}), (True, {60 * US})])
def test_a_guest_that_halts_ends_the_wait_where_the_scheme_says_so(ended: bool, trips: set[int]):
    """A single round trip whose guest halts as soon as it has replied: it waits in every other window, or never."""
    clock, vnic, guest = a_vnic("rbc", ended_by_halt=ended)
    vnic.receive(packets(1, 60 * US))
    seen = 0
    while clock.now < 40 * MS:
        clock.advance(clock.now + 1 * US)
        if len(guest.interrupts) > seen:
            seen, guest.halted = len(guest.interrupts), False
            vnic.take(1, clock.now)
            vnic.unmask(clock.now)
            guest.halted = True
            vnic.guest_halts(clock.now)
            vnic.receive(packets(1, guest.interrupts[-1] + 60 * US))
    assert {after - before for before, after in pairwise(guest.interrupts)} == trips


def test_what_is_held_back_is_raised_when_the_guest_halts_where_the_scheme_says_so():
    """While the guest runs, a packet waits for two more, or for 250 us; when it halts, at 5,030 us, waiting packets interrupt."""
    for ended, at in ((False, 5000 * US + 250 * US), (True, 5030 * US)):
        clock, vnic, guest = a_vnic("rbc", ended_by_halt=ended)
        for instant in range(1, 44):  # every 100 us, each taken at once: three packets per interrupt from 4 ms on
            vnic.receive(packets(1, instant * 100 * US))
            clock.advance(instant * 100 * US + 1)
            vnic.take(64, clock.now)
            vnic.unmask(clock.now)
        before = len(guest.interrupts)
        vnic.receive(packets(1, 5000 * US))
        clock.advance(5030 * US)
        guest.halted = True
        vnic.guest_halts(clock.now)
        clock.advance(6 * MS)
        assert guest.interrupts[before:] == [at]


def test_a_raised_interrupt_is_raised_once():
    """Until the guest takes it, more packets have no effect."""
    clock, vnic, guest = a_vnic("rbc")
    for start in range(10, 2000, 100):
        vnic.receive(packets(1, start * US))
        clock.advance(start * US + 1)
    assert guest.interrupts == [10 * US]


@pytest.mark.parametrize(
    ("count", "step", "expected"), [(3, 10 * US, [4 * MS + 10 * US]), (4, 10 * US, [40 * US]), (9, 10 * US, [40 * US])]
)
def test_static_waits_for_its_depth_or_its_timeout(count: int, step: int, expected: list[int]):
    """Four packets, or 4 ms after the first."""
    clock, vnic, guest = a_vnic("static", depth=4)
    vnic.receive(packets(count, 10 * US, step))
    clock.advance(10 * MS)
    assert guest.interrupts == expected


def test_static_counts_packets_over_several_batches():
    """The second batch reaches the depth."""
    clock, vnic, guest = a_vnic("static", depth=4)
    vnic.receive(packets(2, 10 * US, 1 * US))
    clock.advance(100 * US)
    vnic.receive(packets(3, 110 * US, 1 * US))
    clock.advance(10 * MS)
    assert guest.interrupts == [111 * US]


def test_static_delivers_at_once_to_a_guest_that_sleeps_or_falls_asleep():
    """An idle VM does not wait."""
    clock, vnic, guest = a_vnic("static")
    vnic.receive(packets(1, 10 * US))
    clock.advance(500 * US)
    guest.halted = True
    vnic.guest_halts(500 * US)
    clock.advance(600 * US)
    assert guest.interrupts == [500 * US]
    vnic.take(64, 600 * US)
    vnic.unmask(600 * US)
    vnic.receive(packets(1, 700 * US))
    clock.advance(10 * MS)
    assert guest.interrupts == [500 * US, 700 * US]


def test_static_interrupts_a_guest_that_is_about_to_halt() -> None:
    """Instead of halting and waking in the same instant; for future packets it may halt."""
    _, vnic, guest = a_vnic("static")
    vnic.receive(packets(1, 10 * US))
    vnic.announce(5 * US)
    assert guest.interrupts == []
    vnic.announce(20 * US)
    assert guest.interrupts == [20 * US]


@pytest.mark.parametrize("scheme", ["rbc", "disabled"])
def test_other_schemes_do_not(scheme: str) -> None:
    """Rate-based coalescing delays interrupts; without coalescing there is no delay."""
    _, vnic, guest = a_vnic(scheme)
    vnic.receive(packets(1, 10 * US))
    vnic.announce(9 * US)
    assert guest.interrupts == []


def test_an_interrupt_that_is_due_finds_a_guest_that_has_not_halted_yet() -> None:
    """At the very instant at which a burst ends, the guest takes the packet and does not halt."""
    _, vnic, guest = a_vnic("disabled")
    vnic.receive(packets(1, 10 * US))
    vnic.announce(10 * US)
    assert guest.interrupts == [10 * US]


def test_a_driver_finds_what_comes_before_its_poll_is_done() -> None:
    """It will unmask at 30 us: a packet at 25 us is taken then without an interrupt; one at 35 us is announced."""
    clock, vnic, guest = a_vnic("disabled")
    vnic.receive(packets(1, 10 * US))
    clock.advance(20 * US)
    vnic.take(64, 20 * US)
    vnic.unmask(30 * US)
    vnic.receive(packets(1, 25 * US))
    clock.advance(31 * US)
    assert (guest.interrupts, vnic.is_polled_on, vnic.raised) == ([10 * US, 30 * US], True, 10 * US)
    vnic.is_polled_on = False
    vnic.take(64, 31 * US)
    vnic.unmask(31 * US)
    vnic.receive(packets(1, 35 * US))
    clock.advance(1 * MS)
    assert (guest.interrupts[2:], vnic.is_polled_on, vnic.raised) == ([35 * US], False, 35 * US)


class Noting(CoalescingScheme):
    """Requests every interrupt a millisecond before its packet, and records the reports."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def due(self, first: int) -> int:
        return first - 1 * MS

    def raised(self, now: int, taken: int) -> None:
        self.told.append((now, taken))


def test_a_scheme_learns_of_interrupts_and_cannot_announce_what_is_not_there() -> None:
    """Two packets, each taken: the interrupts come with them, the second after one packet was taken."""
    clock, guest, scheme = Clock(), NotingGuest(), Noting()
    vnic = Vnic(clock, "eth0", 256, scheme, guest)
    vnic.receive(packets(1, 10 * US))
    clock.advance(11 * US)
    vnic.take(64, 11 * US)
    vnic.unmask(11 * US)
    vnic.receive(packets(1, 20 * US))
    clock.advance(1 * MS)
    assert scheme.told == [(10 * US, 0), (20 * US, 1)]
    assert guest.interrupts == [10 * US, 20 * US]


def test_a_scheme_comes_back_with_its_history() -> None:
    """Rate-based coalescing that has learned a rate still delays packets after another scheme was in effect."""
    clock, vnic, guest = a_vnic("rbc")
    vnic.receive(packets(40, 100 * US, 100 * US))
    clock.advance(5 * MS)
    vnic.take(64, 5 * MS)
    vnic.unmask(5 * MS)
    vnic.receive(packets(1, 5 * MS))
    vnic.coalesce(StaticCoalescing(64, 4 * MS), 5 * MS)
    vnic.coalesce(None, 5 * MS)
    clock.advance(9 * MS)
    assert guest.interrupts == [100 * US, 5 * MS + 250 * US]


def test_another_scheme_decides_on_packets_that_wait() -> None:
    """Three packets wait for a depth of 64; a scheme with a depth of two, in effect from 20 us on, interrupts for them at once."""
    clock, vnic, guest = a_vnic("static")
    vnic.receive(packets(3, 10 * US))
    clock.advance(20 * US)
    assert guest.interrupts == []
    vnic.coalesce(StaticCoalescing(2, 4 * MS), 20 * US)
    clock.advance(1 * MS)
    assert guest.interrupts == [20 * US]


def test_a_packet_that_came_during_the_poll_is_announced_when_the_poll_ends():
    """The line is masked while the guest polls; unmasking finds missed packets."""
    clock, vnic, guest = a_vnic("disabled")
    vnic.receive(packets(1, 10 * US))
    clock.advance(20 * US)
    vnic.take(64, 20 * US)
    vnic.receive(packets(1, 25 * US))
    clock.advance(30 * US)
    assert guest.interrupts == [10 * US]
    vnic.unmask(30 * US)
    clock.advance(31 * US)
    assert guest.interrupts == [10 * US, 30 * US]


def refilled(lot: int, *, rest: bool) -> tuple[Vnic, NotingGuest]:
    """A vNIC of 256 descriptors, whose register costs 7 ps, with 300 packets at 0."""
    guest = NotingGuest()
    vnic = Vnic(Clock(), "eth0", 256, CoalescingScheme(), guest, refill=Refill(lot=lot, rest=rest))
    vnic.doorbell_ps = 7
    vnic.ring.on_drop = None
    return vnic, guest


def test_descriptors_come_back_in_lots() -> None:
    """A full ring accepts nothing until the guest has returned 33 descriptors together, at the end of its batch."""
    vnic, guest = refilled(33, rest=False)
    vnic.receive(packets(256, 0))
    assert (vnic.batch(64), vnic.batch(20)) == (33, 20)
    vnic.take(20, 0)
    vnic.handled(0, drained=False)
    vnic.receive(packets(40, 0))
    vnic.ring.settle(0)
    assert (vnic.ring.dropped, vnic.size, guest.pending_ps) == (40, 256, 0)
    assert vnic.batch(64) == 13
    vnic.take(13, 0)
    vnic.receive(packets(40, 0))
    vnic.handled(1, drained=True)
    vnic.receive(packets(40, 2))
    assert vnic.batch(64) == 33
    vnic.ring.settle(2)
    assert (vnic.ring.dropped, vnic.ring.held, guest.pending_ps) == (40 + 40 + 7, 256, 7)


@pytest.mark.parametrize(("rest", "room"), [(True, 256), (False, 249)])
def test_what_is_left_comes_back_at_the_end_of_a_poll_or_waits(rest: bool, room: int) -> None:
    """Seven packets of a batch of 16, and then a burst."""
    vnic, _ = refilled(16, rest=rest)
    vnic.receive(packets(7, 0))
    vnic.take(vnic.batch(64), 0)
    vnic.handled(1, drained=True)
    vnic.receive(packets(300, 2))
    assert vnic.batch(64) == 16 - (256 - room)
    vnic.ring.settle(2)
    assert vnic.ring.held == room


def test_a_lost_packet_counts_with_all_its_frames() -> None:
    """Three packets of five frames arrive at a ring with room for one: ten frames are lost, and their sender gets the number ten."""
    clock, guest, told, totals = Clock(), NotingGuest(), [], SimpleNamespace(lost_ring=0)
    vnic = Vnic(clock, "eth0", 1, CoalescingScheme(), guest)
    vnic.receive(Train(SimpleNamespace(size=64, dropped=told.append, totals=totals), 3, 0, 0, 0, 0, None, 5))
    vnic.ring.settle(0)
    assert (vnic.frames, vnic.lost, totals.lost_ring, told) == (15, 10, 10, [10])


def test_a_ring_is_drained_once_all_packets_are_taken_or_dropped() -> None:
    """A dropped packet is in no poll."""
    clock, vnic, _ = a_vnic("disabled")
    train = packets(300, 10 * US)
    train.stream.totals, train.stream.dropped = SimpleNamespace(lost_ring=0), lambda frames: None
    vnic.receive(train)
    clock.advance(1 * MS)
    assert sum(taken.count for taken in vnic.take(1000, clock.now)) == 256
    assert (vnic.ring.dropped, vnic.is_drained()) == (44, True)
