"""The clock, its alarms and timers."""

from __future__ import annotations

import pytest
from simpy.core import EmptySchedule

from hostsim.engine.clock import Alarm, Clock, Timer


def entries(clock: Clock) -> int:
    return len(clock.event_queue)


def test_ties_are_served_in_the_order_they_were_entered():
    """Two alarms at one instant fire in the order in which they were set."""
    clock, rung = Clock(), []
    first, second = Alarm(clock, lambda _: rung.append("first")), Alarm(clock, lambda _: rung.append("second"))
    clock.at(first, 5)
    clock.at(second, 5)
    clock.advance(6)
    assert rung == ["first", "second"]


def test_advance_leaves_what_falls_due_at_the_end_for_the_next_call():
    """The end of a run is open: an event due at the end belongs to the time after it."""
    clock, rung = Clock(), []
    clock.at(Alarm(clock, lambda _: rung.append(clock.now)), 10)
    clock.advance(10)
    assert (rung, clock.now) == ([], 10)
    clock.advance(11)
    assert rung == [10]


def test_alarms_live_beside_plain_simpy_processes():
    """A SimPy process and an alarm share one queue and one time."""
    clock, seen = Clock(), []

    def process():
        yield clock.timeout(3)
        seen.append(("process", clock.now))

    clock.process(process())
    clock.at(Alarm(clock, lambda _: seen.append(("alarm", clock.now))), 2)
    clock.advance(5)
    assert seen == [("alarm", 2), ("process", 3)]


def test_a_failed_process_is_never_silent():
    """An exception in a process propagates from advance."""
    clock = Clock()

    def process():
        yield clock.timeout(1)
        raise ZeroDivisionError

    clock.process(process())
    with pytest.raises(ZeroDivisionError):
        clock.advance(5)


def test_scheduled_counts_every_event_once_however_often_it_is_asked():
    """Reading the count does not change it."""
    clock = Clock()
    for due in range(7):
        clock.at(Alarm(clock, lambda _: None), due)
    assert [clock.scheduled(), clock.scheduled(), clock.scheduled()] == [7, 7, 7]
    clock.at(Alarm(clock, lambda _: None), 9)
    assert clock.scheduled() == 8


@pytest.mark.parametrize(
    ("dues", "rings"),
    [([10], [10]), ([10, 20], [20]), ([20, 10], [10]), ([30, 20, 40], [40]), ([10, 20, 15], [15]), ([10, 10], [10])],
)
def test_a_timer_rings_at_its_last_arming_and_holds_one_entry(dues: list[int], rings: list[int]):
    """For any re-arming, earlier or later, a timer fires once and never has two entries."""
    clock, rung = Clock(), []
    timer = Timer(clock, rung.append)
    for due in dues:
        timer.arm(due)
        assert entries(clock) == 1
    clock.advance(100)
    assert rung == rings
    assert entries(clock) == 0


def test_a_disarmed_timer_is_silent_and_can_be_armed_again():
    """Disarming leaves the entry; arming again reuses it."""
    clock, rung = Clock(), []
    timer = Timer(clock, rung.append)
    timer.arm(10)
    timer.disarm()
    assert timer.due is None
    timer.arm(30)
    assert entries(clock) == 1
    clock.advance(100)
    assert rung == [30]


def test_a_timer_may_arm_itself_from_its_own_action():
    """Periodic work is a timer that re-arms itself."""
    clock, rung = Clock(), []

    def action(now: int) -> None:
        rung.append(now)
        timer.arm(now + 10)

    timer = Timer(clock, action)
    timer.arm(10)
    clock.advance(35)
    assert rung == [10, 20, 30]


def test_withdraw_keeps_the_order_of_the_rest():
    """Taking one event out of many leaves the others in order."""
    clock, rung = Clock(), []
    alarms = {due: Alarm(clock, lambda _: rung.append(clock.now)) for due in (5, 1, 9, 3, 7, 2, 8)}
    for due, alarm in alarms.items():
        clock.at(alarm, due)
    clock.withdraw(alarms[3])
    clock.advance(100)
    assert rung == [1, 2, 5, 7, 8, 9]


def test_withdrawing_what_is_not_scheduled_is_an_error():
    """There is nothing to remove."""
    clock = Clock()
    with pytest.raises(ValueError, match="not scheduled"):
        clock.withdraw(Alarm(clock, lambda _: None))


def test_simpys_own_run_serves_alarms_and_processes():
    """``run``, ``step`` and ``peek`` also use the agenda."""
    clock, seen = Clock(), []

    def process():
        while True:
            yield clock.timeout(4)
            seen.append(("process", clock.now))

    clock.process(process())
    clock.at(Alarm(clock, lambda _: seen.append(("alarm", clock.now))), 6)
    assert clock.peek() == 0  # a process begins with an event
    clock.run(until=9)
    assert (seen, clock.now, clock.peek()) == ([("process", 4), ("alarm", 6), ("process", 8)], 9, 12)


def test_an_empty_clock_has_nothing_to_step_to():
    """SimPy raises the same error."""
    clock = Clock()
    assert clock.peek() == float("inf")
    with pytest.raises(EmptySchedule):
        clock.step()


@pytest.mark.parametrize(("due", "rings"), [(5, [5]), (15, [10]), (-3, [0])])
def test_a_timer_armed_by_an_instant_rings_then_at_the_latest(due: int, rings: list[int]):
    """Earlier if it was armed for later, now if the instant is past, otherwise unchanged."""
    clock, rung = Clock(), []
    timer = Timer(clock, rung.append)
    timer.arm(10)
    timer.arm_by(due)
    assert timer.due == rings[0]
    clock.advance(100)
    assert rung == rings


def test_a_started_process_is_at_its_first_yield_already():
    """Its first delay is ordered among earlier and later events; no event is scheduled for its beginning."""
    clock, seen = Clock(), []

    def process():
        seen.append("begins")
        while True:
            yield clock.timeout(5)
            seen.append("process")

    clock.at(Alarm(clock, lambda _: seen.append("before")), 5)
    started = clock.start(process())
    clock.at(Alarm(clock, lambda _: seen.append("after")), 5)
    assert (seen, clock.scheduled(), started.is_alive) == (["begins"], 3, True)
    clock.advance(6)
    assert seen == ["begins", "before", "process", "after"]


def test_a_process_that_cannot_start_fails_at_once():
    """The error is raised to the caller that starts it, and not again when time advances."""
    clock = Clock()

    def process():
        raise ZeroDivisionError
        yield

    with pytest.raises(ZeroDivisionError):
        clock.start(process())
    clock.advance(1)
