"""The wire: frames are sequential, independent of when and by whom it is observed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.config.nic import datagram_on_wire
from hostsim.engine.arrivals import ConstantArrivals, Jitter, RecordedArrivals
from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, Sender
from hostsim.model.policy.moderation import Moderation
from hostsim.model.receive.nic import Pnic, RxQueue
from hostsim.model.receive.wire import OpenLoopWire
from hostsim.units import MS, US, transmission_ps
from tests.model.small_host import bare_host

Sent = list[tuple[int, list[int]]]
"""For each sender: bytes of data in a datagram, and the instants at which they were sent."""


def a_queue() -> RxQueue:
    clock, node = Clock(), bare_host().nodes[0]
    return RxQueue(
        clock,
        "vmnic0-rx0",
        512,
        Moderation(0),
        Jitter(0, np.random.default_rng(0)),
        Pnic("vmnic0", node, OpenLoopWire(), 0),
        node,
    )


QUEUE = a_queue()
"""Default destination of all frames of a wire."""


def a_sender(name: str, size: int, line_rate: float = 10e9) -> Sender:
    sender = Sender(Flow(name, size, 1), size, transmission_ps(datagram_on_wire(size), line_rate), 1)
    sender.queue = QUEUE
    return sender


def a_wire(senders: Sent, line_rate: float = 10e9) -> OpenLoopWire:
    wire = OpenLoopWire()
    for number, (size, instants) in enumerate(senders):
        wire.carry(a_sender(str(number), size, line_rate), RecordedArrivals(sorted(instants)))
    return wire


def naive(senders: Sent, line_rate: float = 10e9) -> list[tuple[int, str]]:
    """Arrival and sender of each frame."""
    frames = sorted((sent, number, size) for number, (size, instants) in enumerate(senders) for sent in instants)
    free, come = 0, []
    for sent, number, size in frames:
        free = max(free, sent) + transmission_ps(datagram_on_wire(size), line_rate)
        come.append((free, str(number)))
    return come


def told(trains: list[Train]) -> list[tuple[int, str]]:
    return [(arrived, train.stream.totals.name) for train in trains for arrived in train.arrival_times()]


senders = st.lists(
    st.tuples(st.integers(1, 1400), st.lists(st.integers(0, 40 * MS), max_size=25)), min_size=1, max_size=3
)


@given(senders, st.lists(st.integers(0, 60 * MS), max_size=12))
def test_frames_queue_on_the_wire_however_often_one_looks(sent: Sent, looks: list[int]):
    """Every frame starts when the previous one has finished; early, late or frequent observation changes nothing."""
    wire = a_wire(sent)
    seen = []
    for now in [*sorted(looks), 10_000 * MS]:
        come = told(wire.collect(now))
        assert all(instant <= now for instant, _ in come)
        seen += come
        following = wire.upcoming(QUEUE)
        assert following is None or following > now
    assert seen == naive(sent)


def test_a_small_frame_is_padded():
    """A datagram of one byte takes 84 bytes of the wire."""
    assert datagram_on_wire(1) == 84
    assert a_wire([(1, [0])], line_rate=84e6 * 8).upcoming(QUEUE) == 1 * US


@pytest.mark.parametrize("now", [0, 1 * MS, 25 * US, 999 * US])
def test_a_steady_sender_alone_is_a_closed_form(now: int):
    """Its frames are an interval apart, each a frame's time after it was sent."""
    frame = transmission_ps(datagram_on_wire(800), 10e9)
    wire = OpenLoopWire()
    wire.carry(a_sender("steady", 800), ConstantArrivals(40_000.0, 0))
    assert told(wire.collect(now)) == [(sent + frame, "steady") for sent in range(0, now - frame + 1, 25 * US)]
    assert wire.upcoming(QUEUE) == -(-(now - frame + 1) // (25 * US)) * 25 * US + frame if now >= frame else frame


@given(
    st.lists(st.integers(0, 40 * MS), max_size=25),
    st.lists(st.integers(0, 40 * MS), max_size=25),
    st.integers(0, 50 * MS),
)
def test_each_queue_is_told_of_its_own_frames(ours: list[int], theirs: list[int], now: int):
    """Two senders, two queues, one wire: the next frame of a queue is its sender's, independent of the other sender's."""
    wire, other = a_wire([(100, ours)]), a_queue()
    sender = a_sender("other", 1400)
    sender.queue = other
    wire.carry(sender, RecordedArrivals(sorted(theirs)))
    wire.collect(now)
    come = naive([(100, ours), (1400, theirs)])
    for queue, name in ((QUEUE, "0"), (other, "1")):
        assert wire.upcoming(queue) == next((at for at, whose in come if whose == name and at > now), None)
    assert wire.upcoming(a_queue()) is None
