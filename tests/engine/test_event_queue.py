"""The agenda: entries in order, moved and removed at any position."""

from __future__ import annotations

import random

import pytest

from hostsim.engine.clock import Entry, EventQueue


class Noted(Entry):
    """Says that it fell due."""

    def __init__(self, rung: list[Noted]) -> None:
        super().__init__()
        self._rung = rung

    def fire(self) -> None:
        self._rung.append(self)


def test_entries_fall_due_by_instant_then_priority_then_in_the_order_of_their_entry():
    """By instant; at one instant urgent entries first, then in order of insertion."""
    event_queue, rung = EventQueue(), []
    late, second, third, urgent = (Noted(rung) for _ in range(4))
    event_queue.enter(late, 7)
    event_queue.enter(second, 5)
    event_queue.enter(third, 5)
    event_queue.enter(urgent, 5, priority=0)
    event_queue.advance(10)
    assert rung == [urgent, second, third, late]
    assert (event_queue.now, event_queue.entered, len(event_queue)) == (10, 4, 0)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_entered_moved_and_withdrawn_the_order_is_that_of_a_sorted_list(seed: int):
    """A thousand random changes, against a list that is sorted at the end."""
    draw, event_queue, rung = random.Random(seed), EventQueue(), []
    expected: dict[Noted, tuple[int, int]] = {}
    for number in range(1, 1001):
        entry = draw.choice(list(expected)) if expected and draw.random() < 0.4 else None
        if entry is None:
            entry = Noted(rung)
            expected[entry] = (draw.randrange(500), number)
            event_queue.enter(entry, expected[entry][0])
        elif draw.random() < 0.5 or not expected[entry][0]:
            del expected[entry]
            event_queue.withdraw(entry)
            event_queue.enter(Noted([]), 1000)  # keeps the numbers in step
        else:
            expected[entry] = (draw.randrange(expected[entry][0]), number)
            event_queue.hasten(entry, expected[entry][0])
    assert len({instant for instant, _ in expected.values()}) < len(expected)
    event_queue.advance(500)
    assert rung == sorted(expected, key=expected.__getitem__)


def test_an_entry_that_was_taken_out_can_be_entered_again():
    """Its former position has no trace of it."""
    event_queue, rung = EventQueue(), []
    entry = Noted(rung)
    event_queue.enter(entry, 5)
    event_queue.withdraw(entry)
    with pytest.raises(ValueError, match="not scheduled"):
        event_queue.withdraw(entry)
    event_queue.enter(entry, 3)
    assert event_queue.first() is entry
    assert event_queue.step()
    assert not event_queue.step()
    assert (rung, event_queue.now) == ([entry], 3)
