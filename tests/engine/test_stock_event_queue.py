"""The event queue of SimPy's stock environment, compared with the clock's own."""

from __future__ import annotations

import random

import pytest
import simpy

from hostsim.engine.checkpoint import add_check, remove_check
from hostsim.engine.clock import PIECE, Alarm, Clock, EventQueue, Timer
from hostsim.engine.stock_event_queue import StockEventQueue


def played(event_queue: EventQueue, seed: int) -> list[object]:
    """Events on a clock whose timers, alarms and processes act at random, and the clock's time in between."""
    draw, clock, seen = random.Random(seed), Clock(event_queue), []
    timers = [Timer(clock, lambda now, place=place: act(now, f"timer {place}")) for place in range(5)]
    alarms = [Alarm(clock, lambda _, place=place: act(clock.now, f"alarm {place}")) for place in range(5)]

    def act(now: int, who: str) -> None:
        seen.append((now, who, len(event_queue)))
        timer, alarm = draw.choice(timers), draw.choice(alarms)
        if draw.random() < 0.2:
            timer.disarm()
        else:
            timer.arm(now + draw.randrange(4))
        if not alarm.scheduled:
            clock.at(alarm, now + draw.randrange(4))
        elif draw.random() < 0.3:
            clock.withdraw(alarm)

    def process():
        while True:
            yield clock.timeout(draw.randrange(1, 4))
            act(clock.now, "process")

    clock.start(process())
    clock.process(process())
    for until in (3, 3, 50):
        clock.advance(until)
        seen.append((clock.now, clock.scheduled(), clock.peek(), len(event_queue)))
    for _ in range(20):
        clock.step()
        seen.append((clock.now, clock.scheduled(), clock.peek()))
    return seen


@pytest.mark.parametrize("seed", range(5))
def test_everything_happens_at_the_same_time_and_in_the_same_order(seed: int):
    """Entered, moved earlier, removed, stepped: every instant, every count."""
    stock = StockEventQueue()
    assert type(stock.environment) is simpy.Environment
    assert played(stock, seed) == played(EventQueue(), seed)
    assert stock.environment.now == stock.now


def test_what_is_not_scheduled_cannot_be_withdrawn():
    """The error is that of the other queue; an empty queue cannot step."""
    clock = Clock(StockEventQueue())
    with pytest.raises(ValueError, match="not scheduled"):
        clock.withdraw(Alarm(clock, lambda _: None))
    with pytest.raises(simpy.core.EmptySchedule):
        clock.step()


def test_a_long_run_can_be_interrupted():
    """A checkpoint before the first event, and one per piece."""
    clock, checks = Clock(StockEventQueue()), []
    for due in range(3 * PIECE):
        clock.at(Alarm(clock, lambda _: None), due)
    check = lambda: checks.append(clock.now)  # noqa: E731
    add_check(check)
    clock.advance(4 * PIECE)
    remove_check(check)
    assert checks == [0, PIECE - 1, 2 * PIECE - 1, 3 * PIECE - 1]
