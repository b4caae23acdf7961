"""A transmit queue whose guest is preempted: unwritten packets are taken back, and written later."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hostsim.engine.clock import Clock
from hostsim.engine.ring import Train
from hostsim.model.cpu.pcpu import WorldState
from hostsim.model.policy.moderation import CoalescingDepth, RateBoundCalls
from hostsim.model.transmit.networld import TxQueue
from hostsim.units import MS, US

TIMEOUT = 4 * MS
DEPTH = 20


class NotingContext:
    """A sleeping transmit context that records its wake-ups."""

    state = WorldState.SLEEPING
    call_ps = 3 * US

    def __init__(self) -> None:
        self.woken: list[int] = []

    last = None

    def wake(self, now: int, _source: object = None) -> None:
        self.woken.append(now)


def a_queue() -> tuple[Clock, TxQueue, NotingContext]:
    clock, context = Clock(), NotingContext()
    queue = TxQueue(
        clock,
        "eth0",
        1512,
        RateBoundCalls(TIMEOUT, CoalescingDepth(4000, 40)),
        SimpleNamespace(),
        SimpleNamespace(pending_ps=0, last=None),
    )
    queue.serve(context)
    queue._coalescing.depth = queue._coalescing._law.depth = DEPTH
    return clock, queue, context


def packets(count: int, first: int) -> Train:
    return Train(SimpleNamespace(size=0), count, first, 10 * US, first, 0)


def test_packets_that_were_taken_back_do_not_count_towards_a_call() -> None:
    """13 packets, taken back and written a millisecond later, count as 13 and not 26: their guest makes no call, and the timer wakes the context."""
    clock, queue, context = a_queue()
    train = packets(13, 1 * MS)
    queue.post(train)
    clock.advance(500 * US)
    assert queue.coming(500 * US) == 13
    (back,) = queue.cancel([train], 500 * US)
    assert queue.coming(500 * US) == 0
    back.ready += 1 * MS
    queue.post(back)
    clock.advance(20 * MS)
    assert context.woken == [2 * MS + TIMEOUT]
    assert queue.wakes == [0, 0, 0, 1]


def test_a_call_that_the_cut_puts_off_is_made_when_enough_packets_wait() -> None:
    """The twentieth packet would have been written at 1.19 ms; five are written before the preemption, and the rest a millisecond later."""
    clock, queue, context = a_queue()
    train = packets(24, 1 * MS)
    queue.post(train)
    clock.advance(1045 * US)
    (back,) = queue.cancel([train], 1045 * US)
    assert back.count == 19
    back.ready += 1 * MS
    queue.post(back)
    clock.advance(20 * MS)
    assert context.woken == [2 * MS + 190 * US]
    assert queue.wakes == [1, 0, 0, 0]


@pytest.mark.parametrize(("now", "ahead"), [(0, 4), (1 * MS, 3), (1015 * US, 2), (1030 * US, 0)])
def test_what_lies_ahead_is_counted_without_a_trace(now: int, ahead: int) -> None:
    """Looking lets nothing in."""
    _, queue, _ = a_queue()
    queue.post(packets(4, 1 * MS))
    assert queue.coming(now) == ahead
    assert (queue.ring.held, queue.ring.pushed) == (0, 4)
