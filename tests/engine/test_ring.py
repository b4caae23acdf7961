"""Trains and rings: batches that keep the instants of their packets."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.ring import Ring, Train

FLOW = SimpleNamespace(size=64)


def train(count: int, ready: int, step: int, arrived: int = 0, gap: int = 0) -> Train:
    return Train(FLOW, count, ready, step, arrived, gap)


def test_a_ring_holds_only_what_is_here_by_now():
    """Packets with later stamps are on their way, not in the ring."""
    ring = Ring(10)
    ring.push(train(4, 100, 10))
    assert [t.count for t in ring.take(10, 119)] == [2]
    assert ring.first() == 120
    assert ring.take(10, 119) == []
    assert [(t.count, t.ready) for t in ring.take(10, 200)] == [(2, 120)]


def test_a_full_ring_drops_the_last():
    """Packets without a descriptor are dropped; the others stay in order."""
    ring = Ring(3)
    ring.push(train(5, 0, 10, arrived=7, gap=2))
    ring.settle(100)
    assert (ring.held, ring.dropped) == (3, 2)
    assert [(t.count, t.arrived) for t in ring.take(10, 100)] == [(3, 7)]


def test_slots_are_free_again_once_taken():
    """A packet that arrives after a take gets the slot of a taken one."""
    ring = Ring(2)
    ring.push(train(3, 0, 10))
    ring.take(1, 10)  # two have arrived, one is taken, the third arrives at 20
    ring.settle(20)
    assert (ring.held, ring.dropped) == (2, 0)


def test_splitting_keeps_births_of_irregular_trains():
    """Both halves of a train keep the arrival of each of their packets."""
    whole = Train(FLOW, 4, 0, 1, 10, 0, [10, 13, 14, 20])
    front = whole.split(3)
    assert front.timestamps == [10, 13, 14]
    assert (whole.timestamps, whole.arrived, whole.ready, whole.count) == ([20], 20, 3, 1)


def test_absorb_leaves_packets_of_several_frames_alone():
    """A frame, followed by one packet that large receive offload made of four frames: two packets, five frames."""
    one, four = train(1, 0, 0, arrived=10, gap=10), train(1, 0, 0, arrived=20, gap=10)
    four.frames = 4
    assert not one.merge(four)
    assert (one.count, four.count) == (1, 1)


def test_absorb_joins_only_what_follows_without_a_gap():
    """A lost packet in between keeps two trains separate."""
    one = train(3, 0, 0, arrived=0, gap=10)
    assert not one.merge(train(2, 0, 0, arrived=40, gap=10))
    assert one.merge(train(2, 0, 0, arrived=30, gap=10))
    assert one.count == 5


def test_absorb_joins_the_parts_of_an_irregular_train_again():
    """An observation between two packets does not change the packets of a later poll."""
    one = Train(FLOW, 4, 0, 0, 10, 0, [10, 13, 14, 20])
    front = one.split(3)
    assert not front.merge(train(1, 0, 0, arrived=15, gap=0))
    assert front.merge(one)
    assert (front.count, front.arrived, front.timestamps) == (4, 10, [10, 13, 14, 20])


def test_nth_knows_when_the_ring_will_hold_that_many():
    """Static coalescing asks when its depth is reached."""
    ring = Ring(100)
    ring.push(train(3, 100, 10))
    ring.push(train(2, 105, 20))
    assert [ring.nth(n) for n in (1, 2, 3, 4, 5, 6)] == [100, 105, 110, 120, 125, None]


class NaiveRing:
    """A ring that processes every packet at every instant, as a reference for the closed form with one producer at a time."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.dropped = capacity, 0
        self.coming: deque[tuple[int, int]] = deque()
        self.here: deque[int] = deque()

    def take(self, limit: int, now: int) -> list[int]:
        while self.coming and self.coming[0][0] <= now:
            _, arrived = self.coming.popleft()
            if len(self.here) < self.capacity:
                self.here.append(arrived)
            else:
                self.dropped += 1
        return [self.here.popleft() for _ in range(min(limit, len(self.here)))]


@given(
    capacity=st.integers(1, 12),
    actions=st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 30), st.integers(1, 9), st.integers(0, 40), st.integers(1, 8)),
        max_size=30,
    ),
)
def test_a_ring_equals_one_that_looks_at_every_packet(capacity: int, actions: list[tuple[int, int, int, int, int]]):
    """Taken packets, their order and the number of drops equal packet-by-packet bookkeeping."""
    ring, naive = Ring(capacity), NaiveRing(capacity)
    now = last = arrived = 0
    for count, ahead, step, wait, limit in actions:
        ready = max(now, last) + ahead
        last = ready + (count - 1) * step
        ring.push(train(count, ready, step, arrived=arrived, gap=1))
        naive.coming.extend((ready + i * step, arrived + i) for i in range(count))
        arrived += count
        now += wait
        taken = [t.arrived + i for t in ring.take(limit, now) for i in range(t.count)]
        assert taken == naive.take(limit, now)
        assert ring.dropped == naive.dropped
        assert ring.pushed == ring.taken + ring.dropped + ring.count_inside()


def test_a_ring_with_room_never_drops():
    """A quarter of a million packets that are all taken in time: each is delivered, and none is counted as dropped."""
    ring = Ring(4)
    for instant in range(0, 250_000, 2):
        ring.push(train(2, instant, 1))
        assert [taken.count for taken in ring.take(4, instant + 1)] == [2]
    assert (ring.pushed, ring.taken, ring.dropped) == (250_000, 250_000, 0)
