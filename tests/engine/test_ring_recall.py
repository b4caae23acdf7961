"""Rings whose producers recall packets, overtake each other, or need reports of losses."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.ring import Ring, Train

FLOW = SimpleNamespace(size=64)


def train(count: int, ready: int, step: int, arrived: int = 0) -> Train:
    return Train(FLOW, count, ready, step, arrived, 1)


def timestamps(trains: list[Train]) -> list[int]:
    return [arrived for each in trains for arrived in each.arrival_times()]


def test_recall_gives_back_what_is_not_here_yet():
    """Two of four packets have arrived and stay; the others count as never pushed."""
    ring, mine = Ring(10), train(4, 100, 10, arrived=1)
    ring.push(mine)
    back = ring.recall([mine], 115)
    assert [(t.count, t.ready, t.arrived) for t in back] == [(2, 120, 3)]
    assert (ring.pushed, ring.held, ring.count_inside()) == (2, 2, 2)


def test_recall_leaves_what_others_pushed():
    """Only the named trains come back, in the order of their pushes."""
    ring = Ring(10)
    mine, other, later = train(1, 100, 0, arrived=1), train(1, 110, 0, arrived=2), train(1, 120, 0, arrived=3)
    for each in (mine, other, later):
        ring.push(each)
    assert timestamps(ring.recall([later, mine], 0)) == [1, 3]
    assert timestamps(ring.take(10, 200)) == [2]
    assert ring.count_inside() == 0


def test_what_is_here_is_not_recalled():
    """Dropped packets are not recalled either."""
    ring, mine = Ring(2), train(3, 100, 0)
    ring.push(mine)
    assert ring.recall([mine], 100) == []
    assert (ring.pushed, ring.held, ring.dropped) == (3, 2, 1)


def test_drops_are_told_packet_by_packet():
    """The first train loses its end, the second everything; the report equals the count."""
    ring, told = Ring(3), []
    ring.on_drop = told.append
    ring.push(train(5, 0, 1, arrived=10))
    ring.push(train(2, 6, 1, arrived=20))
    ring.settle(100)
    assert timestamps(told) == [13, 14, 20, 21]
    assert ring.dropped == 4
    assert timestamps(ring.take(9, 100)) == [10, 11, 12]


def test_a_train_that_overtakes_is_let_in_first():
    """A later push for an earlier instant arrives at its instant, and is reported as the first."""
    ring = Ring(10)
    ring.push(train(1, 500, 0, arrived=1))
    ring.push(train(1, 100, 0, arrived=2))
    assert ring.first() == 100
    assert timestamps(ring.take(10, 100)) == [2]
    assert ring.first() == 500
    ring.push(train(1, 300, 0, arrived=3))
    assert timestamps(ring.take(10, 499)) == [3]
    assert timestamps(ring.take(10, 500)) == [1]


def test_a_train_cut_by_now_keeps_its_place():
    """Half of a train has not arrived; a complete one behind it does not wait."""
    ring = Ring(10)
    ring.push(train(2, 100, 100, arrived=1))
    ring.push(train(1, 150, 0, arrived=3))
    assert timestamps(ring.take(10, 150)) == [1, 3]
    assert timestamps(ring.take(10, 200)) == [2]


def test_the_rests_of_two_trains_may_change_places():
    """Both have begun; the second's next packet arrives before the first's."""
    ring = Ring(10)
    ring.push(train(2, 0, 200, arrived=1))
    ring.push(train(2, 0, 100, arrived=11))
    assert timestamps(ring.take(10, 0)) == [1, 11]
    assert ring.first() == 100
    assert timestamps(ring.take(10, 100)) == [12]
    assert timestamps(ring.take(10, 200)) == [2]


class NaiveRing:
    """Every packet separately: in at its instant, packets of an observation in the order of their pushes."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.coming: list[tuple[int, int, int]] = []
        self.here: list[int] = []
        self.dropped: list[int] = []

    def settle(self, now: int) -> None:
        for packet in [packet for packet in self.coming if packet[0] <= now]:
            self.coming.remove(packet)
            room = len(self.here) < self.capacity
            (self.here if room else self.dropped).append(packet[1])

    def take(self, limit: int, now: int) -> list[int]:
        self.settle(now)
        taken, self.here = self.here[:limit], self.here[limit:]
        return taken

    def recall(self, numbers: set[int], now: int) -> list[int]:
        self.settle(now)
        back = [arrived for _, arrived, number in self.coming if number in numbers]
        self.coming = [packet for packet in self.coming if packet[2] not in numbers]
        return back


@given(
    capacity=st.integers(1, 9),
    actions=st.lists(
        st.tuples(
            st.sampled_from(["push", "take", "settle", "recall", "first"]),
            st.integers(1, 5),
            st.integers(0, 40),
            st.integers(0, 9),
            st.integers(0, 12),
        ),
        max_size=40,
    ),
)
def test_several_producers_that_overtake_and_recall_equal_packets_one_by_one(capacity, actions):
    """For any order of instants, observations and recalls: the same packets are taken, dropped and recalled, in the same order."""
    ring, naive, told = Ring(capacity), NaiveRing(capacity), []
    ring.on_drop = told.append
    pushed: list[Train] = []
    now = arrived = 0
    for action, count, ahead, step, wait in actions:
        now += wait
        if action == "push":
            ready = now + ahead
            naive.coming += [(ready + i * step, arrived + i, len(pushed)) for i in range(count)]
            pushed.append(train(count, ready, step, arrived=arrived))
            ring.push(pushed[-1])
            arrived += count
        elif action == "take":
            assert timestamps(ring.take(count, now)) == naive.take(count, now)
        elif action == "settle":
            ring.settle(now)
            naive.settle(now)
        elif action == "recall":
            wanted = {number for number in range(len(pushed)) if number % 5 < count}
            assert timestamps(ring.recall([pushed[number] for number in wanted], now)) == naive.recall(wanted, now)
        elif not naive.here:
            assert ring.first() == min((ready for ready, _, _ in naive.coming), default=None)
        assert timestamps(told) == naive.dropped
        assert ring.pushed == ring.taken + ring.dropped + ring.count_inside()
