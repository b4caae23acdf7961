"""The agenda: entries in order, moved and taken out wherever they stand."""

from __future__ import annotations

import random

import pytest

from hostsim.engine.agenda import Agenda, Entry


class Noted(Entry):
    """Says that it fell due."""

    def __init__(self, rung: list[Noted]) -> None:
        super().__init__()
        self._rung = rung

    def ring(self) -> None:
        self._rung.append(self)


def test_entries_fall_due_by_instant_then_priority_then_in_the_order_of_their_entry():
    """Instants first; at one instant what is urgent, then who came first."""
    agenda, rung = Agenda(), []
    late, second, third, urgent = (Noted(rung) for _ in range(4))
    agenda.enter(late, 7)
    agenda.enter(second, 5)
    agenda.enter(third, 5)
    agenda.enter(urgent, 5, priority=0)
    agenda.advance(10)
    assert rung == [urgent, second, third, late]
    assert (agenda.now, agenda.entered, len(agenda)) == (10, 4, 0)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_entered_moved_and_withdrawn_the_order_is_that_of_a_sorted_list(seed: int):
    """A thousand random changes, against a list that is sorted at the end."""
    draw, agenda, rung = random.Random(seed), Agenda(), []
    expected: dict[Noted, tuple[int, int]] = {}
    for number in range(1, 1001):
        entry = draw.choice(list(expected)) if expected and draw.random() < 0.4 else None
        if entry is None:
            entry = Noted(rung)
            expected[entry] = (draw.randrange(500), number)
            agenda.enter(entry, expected[entry][0])
        elif draw.random() < 0.5 or not expected[entry][0]:
            del expected[entry]
            agenda.withdraw(entry)
            agenda.enter(Noted([]), 1000)  # keeps the numbers in step
        else:
            expected[entry] = (draw.randrange(expected[entry][0]), number)
            agenda.hasten(entry, expected[entry][0])
    assert len({instant for instant, _ in expected.values()}) < len(expected)
    agenda.advance(500)
    assert rung == sorted(expected, key=expected.__getitem__)


def test_an_entry_that_was_taken_out_can_be_entered_again():
    """Nothing of its former place is left."""
    agenda, rung = Agenda(), []
    entry = Noted(rung)
    agenda.enter(entry, 5)
    agenda.withdraw(entry)
    with pytest.raises(ValueError, match="not scheduled"):
        agenda.withdraw(entry)
    agenda.enter(entry, 3)
    assert agenda.first() is entry
    assert agenda.step()
    assert not agenda.step()
    assert (rung, agenda.now) == ([entry], 3)
