"""The event queue of SimPy's stock environment: slower, with the same results.

The whole model then runs on an unchanged ``simpy.Environment``.

It verifies `EventQueue`: SimPy orders events by its own heap of tuples and runs them in its own loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import simpy

from hostsim.engine.checkpoint import checkpoint
from hostsim.engine.clock import NORMAL, PIECE, Entry, EventQueue

if TYPE_CHECKING:
    from mypy_extensions import i64

__all__ = ["StockEventQueue"]


class StockEventQueue(EventQueue):
    """Pending events in a stock ``simpy.Environment``: every entry is a SimPy event.

    SimPy cannot move or remove an event. A moved entry becomes a new event, and the event of an old or removed entry
    has no effect.

    Attributes:
        environment: the stock environment, whose time is that of the run.
    """

    def __init__(self) -> None:
        super().__init__()
        self.environment = simpy.Environment(0)
        self._events: dict[Entry, simpy.Event] = {}
        self._happened = 0

    def __len__(self) -> int:
        return len(self._events)

    def first(self) -> Entry | None:
        return min(self._events, key=lambda entry: (entry.instant, entry.rank), default=None)

    def enter(self, entry: Entry, due: i64, priority: int = NORMAL) -> None:
        self._number(entry, due, priority)
        entry.scheduled = True
        event = simpy.Event(self.environment)
        event._ok, event._value = True, None
        event.callbacks.append(lambda event: self._happen(entry, event))
        self._events[entry] = event
        self.environment.schedule(event, priority, due - self.now)  # type: ignore[arg-type]  # an integer, for SimPy too

    def hasten(self, entry: Entry, due: i64) -> None:
        self.enter(entry, due)

    def withdraw(self, entry: Entry) -> None:
        if self._events.pop(entry, None) is None:
            raise ValueError("the event is not scheduled")
        entry.scheduled = False

    def _happen(self, entry: Entry, event: simpy.Event) -> None:
        if self._events.get(entry) is not event:
            return
        del self._events[entry]
        entry.scheduled = False
        self.now = entry.instant
        self._happened += 1
        if self._happened % PIECE == 0:
            checkpoint()
        entry.fire()

    def advance(self, until: i64) -> None:
        checkpoint()
        if until > self.now:
            self.environment.run(until)
            self.now = until

    def step(self) -> bool:
        waiting = len(self._events)
        if not waiting:
            return False
        happened = self._happened
        while self._happened == happened:
            self.environment.step()
        return True
