"""The wire of a peer that waits for replies: turns, bursts, and releases for future instants."""

from __future__ import annotations

from heapq import heappush
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.engine.arrivals import RecordedArrivals
from hostsim.engine.clock import Heap
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, Sender
from hostsim.model.receive.wire import ClosedLoopWire


class Waiting:
    """A receive queue that only records what the wire reports to it."""

    def __init__(self) -> None:
        self.releases = Heap()
        self.backlogged = 0
        self.expected: list[int] = []

    def expect(self, at: int) -> None:
        heappush(self.expected, at)


def sender(queue: Waiting, frame_ps: int, burst: int = 1) -> Sender:
    made = Sender(Flow("any", 1000, 1), 1000, frame_ps, burst)
    made.queue = queue
    return made


def told(trains: list[Train]) -> list[tuple[Sender, int]]:
    """Sender and arrival of each frame."""
    return [(train.stream, arrived) for train in trains for arrived in train.arrival_times()]


def test_a_release_goes_out_in_bursts_back_to_back():
    """Seven frames of 10 in bursts of three."""
    wire, one = ClosedLoopWire(np.random.default_rng(1)), sender(Waiting(), 10, burst=3)
    wire.release(one, 100, 0, 1, 7)
    trains = wire.collect(1000)
    assert [(train.count, train.ready, train.step, train.arrived) for train in trains] == [
        (3, 110, 10, 110),
        (3, 140, 10, 140),
        (1, 170, 10, 170),
    ]
    assert wire.free == 170


def test_senders_take_turns():
    """Bursts are in random order: each sender comes first equally often, and no frame starts before its release."""
    first = []
    for seed in range(200):
        wire, queue = ClosedLoopWire(np.random.default_rng(seed)), Waiting()
        one, other, late = (sender(queue, 10, burst=2) for _ in range(3))
        wire.release(one, 0, 0, 1, 5)
        wire.release(other, 0, 0, 1, 3)
        wire.release(late, 15, 0, 1, 1)
        frames = [owner for owner, _ in told(wire.collect(1000))]
        assert sorted(map(frames.count, (one, other, late))) == [1, 3, 5]
        assert frames[0] is frames[1]
        assert late not in frames[:2]
        first.append(frames[0] is one)
    assert 70 < sum(first) < 130


def test_nothing_is_worked_out_further_than_now():
    """A later release for an earlier instant is inserted in order."""
    wire, queue = ClosedLoopWire(np.random.default_rng(1)), Waiting()
    one, other = sender(queue, 10), sender(queue, 10)
    wire.release(one, 500, 0, 1, 1)
    assert wire.collect(100) == []
    wire.release(other, 200, 0, 1, 1)
    assert told(wire.collect(1000)) == [(other, 210), (one, 510)]


def test_a_release_in_turns_is_spaced():
    """Ten frames in four parts, 100 apart, as equal as possible."""
    wire, one = ClosedLoopWire(np.random.default_rng(1)), sender(Waiting(), 10, burst=9)
    wire.release(one, 0, 100, 4, 10)
    assert [(train.count, train.arrived) for train in wire.collect(1000)] == [(2, 10), (2, 110), (3, 210), (3, 310)]


def test_nothing_is_released_in_vain():
    """No frame, no expectation."""
    queue = Waiting()
    ClosedLoopWire(np.random.default_rng(1)).release(sender(queue, 10), 5, 0, 1, 0)
    assert (len(queue.releases), queue.expected) == (0, [])


def test_an_open_loop_flow_shares_the_wire():
    """Their frames queue with those of the connections."""
    wire, queue = ClosedLoopWire(np.random.default_rng(1)), Waiting()
    one, open_loop = sender(queue, 10, burst=8), sender(queue, 10)
    wire.carry(open_loop, RecordedArrivals([5, 6]))
    wire.release(one, 0, 0, 1, 2)
    assert wire.upcoming(queue) == 1
    assert told(wire.collect(50)) == [(one, 10), (one, 20), (open_loop, 30), (open_loop, 40)]
    assert wire.upcoming(queue) is None


def test_an_open_loop_flow_keeps_its_rate_beside_connections():
    """A frame every 100, of 10, beside two connections that always have bursts of eight waiting: none of it is delayed without end."""
    wire, queue = ClosedLoopWire(np.random.default_rng(1)), Waiting()
    open_loop = sender(queue, 10)
    wire.carry(open_loop, RecordedArrivals(list(range(0, 100_000, 100))))
    for _ in range(2):
        wire.release(sender(queue, 10, burst=8), 0, 0, 1, 20_000)
    frames = told(wire.collect(100_000))
    assert sum(owner is open_loop for owner, _ in frames) == pytest.approx(1000, abs=20)


def test_frames_released_before_a_move_go_by_the_new_queue():
    """After the balancer has moved the vNIC, both queues know the expected frames."""
    wire, old, new = ClosedLoopWire(np.random.default_rng(1)), Waiting(), Waiting()
    one = sender(old, 10)
    wire.release(one, 300, 0, 1, 2)
    one.queue = new
    wire.resteer()
    assert (len(old.releases), len(new.releases), new.expected) == (0, 1, [310])
    assert new.releases.first().instant == 300
    assert (wire.upcoming(old), wire.upcoming(new)) == (None, 301)
    assert [arrived for _, arrived in told(wire.collect(1000))] == [310, 320]


def test_what_waits_for_the_wire_follows_a_move_and_moves_back():
    """Both the sender on the wire and a waiting sender count for the current queue."""
    wire, old, new = ClosedLoopWire(np.random.default_rng(1)), Waiting(), Waiting()
    both = [sender(old, 10), sender(old, 10)]
    for one in both:
        wire.release(one, 0, 0, 1, 2)
    wire.collect(5)
    for here, there in ((old, new), (new, old), (old, new)):
        assert (wire.upcoming(here), wire.upcoming(there)) == (wire.free + 1, None)
        for one in both:
            one.queue = there
        wire.resteer()
    assert (wire.upcoming(old), wire.upcoming(new)) == (None, wire.free + 1)
    wire.collect(1000)
    assert (wire.upcoming(old), wire.upcoming(new)) == (None, None)


def test_a_burst_on_the_wire_keeps_its_queue_until_its_end():
    """Frames of a burst that began before a move arrive after it through the old queue, so the move counts from their end."""
    wire, old, new = ClosedLoopWire(np.random.default_rng(1)), Waiting(), Waiting()
    one = sender(old, 10, burst=4)
    wire.release(one, 0, 0, 1, 4)
    assert [arrived for _, arrived in told(wire.collect(5))] == [10, 20, 30, 40]
    one.queue = new
    assert wire.resteer() == 40


releases = st.lists(
    st.tuples(
        st.integers(0, 3),  # sender
        st.integers(0, 500),  # ahead of now
        st.integers(0, 60),  # step
        st.integers(1, 4),  # turns
        st.integers(0, 12),  # frames
        st.integers(0, 90),  # time until the next
        st.booleans(),  # look
    ),
    max_size=30,
)
FRAMES, BURSTS = (7, 10, 31, 10), (1, 4, 2, 64)


def played(script: list[tuple[int, int, int, int, int, int, bool]], *, look: bool) -> list[tuple[int, int]]:
    """Frames of a link as (sender, instant), observed during the run or only at the end; invariants are checked at each observation."""
    wire, queues = ClosedLoopWire(np.random.default_rng(1)), [Waiting(), Waiting()]
    senders = [sender(queues[place % 2], FRAMES[place], BURSTS[place]) for place in range(4)]
    come: list[tuple[Sender, int]] = []
    asked = [0] * 4
    now = 0
    for who, ahead, step, turns, frames, wait, looks in script:
        wire.release(senders[who], now + ahead, step, turns, frames)
        asked[who] += frames
        now += wait
        if look and looks:
            come += told(wire.collect(now))
            seen = len(come)
            bounds = [wire.upcoming(queue) for queue in queues]
            waiting = [sum(asked[p] - [s for s, _ in come].count(senders[p]) for p in (q, q + 2)) for q in (0, 1)]
            assert [bound is None for bound in bounds] == [count == 0 for count in waiting]
            assert all(bound is None or bound > now for bound in bounds)
            assert all(arrived <= now + 64 * 31 for _, arrived in come[seen:])
    come += told(wire.collect(10**6))
    assert [[s for s, _ in come].count(each) for each in senders] == asked
    assert [each.backlog for each in senders] == [0] * 4
    return [(senders.index(owner), arrived) for owner, arrived in come]


@given(releases)
def test_frames_follow_each_other_without_overlap_and_none_is_lost(script):
    """Each frame starts when the previous one has finished; all released frames arrive, and observation changes nothing."""
    frames = played(script, look=True)
    for (_, before), (who, arrived) in pairwise(frames):
        assert arrived - FRAMES[who] >= before
    assert frames == played(script, look=False)


@given(releases, st.lists(st.integers(0, 900), max_size=12))
def test_no_frame_comes_before_the_instant_that_was_told(script, looks):
    """All frames are released at once and observed at times: the instant that a queue waits for is never late and never past."""
    wire, queues = ClosedLoopWire(np.random.default_rng(1)), [Waiting(), Waiting()]
    senders = [sender(queues[place % 2], FRAMES[place], BURSTS[place]) for place in range(4)]
    for who, ahead, step, turns, frames, _, _ in script:
        wire.release(senders[who], ahead, step, turns, frames)
    least = [0, 0]
    for now in [*sorted(looks), 10**6]:
        for owner, arrived in told(wire.collect(now)):
            assert arrived >= least[queues.index(owner.queue)]
        least = [bound or least[place] for place, bound in enumerate(wire.upcoming(queue) for queue in queues)]
        assert all(bound is None or bound > now for bound in map(wire.upcoming, queues))


@given(releases)
def test_the_wire_is_idle_only_when_nothing_waits(script):
    """All frames are released at once: a frame that starts after a gap was not yet released when the previous one finished."""
    wire, queue = ClosedLoopWire(np.random.default_rng(1)), Waiting()
    senders = [sender(queue, FRAMES[place], BURSTS[place]) for place in range(4)]
    starts = []
    for who, ahead, step, turns, frames, _, _ in script:
        wire.release(senders[who], ahead, step, turns, frames)
        starts += [ahead + part * step for part in range(min(turns, frames))]
    free = 0
    for owner, arrived in told(wire.collect(10**6)):
        begun = arrived - owner.frame_ps
        assert begun == free or begun in starts
        free = arrived


@pytest.mark.parametrize("count", [2, 3, 7])
def test_each_sender_has_an_equal_part_of_what_is_drawn(count: int):
    """With 120 evenly spaced draws for each sender, each sender goes first exactly 120 times."""

    class Draws:
        """A random stream with one number left."""

        def __init__(self, number: float) -> None:
            self._number = number

        def random(self, size: int) -> np.ndarray:
            return np.full(size, self._number)

    first = []
    for step in range(120 * count):
        wire, queue = ClosedLoopWire(Draws((step + 0.5) / (120 * count))), Waiting()  # type: ignore[arg-type]
        senders = [sender(queue, 10) for _ in range(count)]
        for one in senders:
            wire.release(one, 0, 0, 1, 1)
        first.append(senders.index(told(wire.collect(1))[0][0]))
    assert [first.count(place) for place in range(count)] == [120] * count
