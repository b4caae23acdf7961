"""The clock: a SimPy environment in integer picoseconds, with events that can be used again and timers that can be re-armed.

A SimPy event serves once; a host's PCPUs and timers fire millions of times. An `Alarm` is one entry of the clock's agenda
that is entered over and over; SimPy's own events and processes have their places in the same agenda.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy
from simpy.core import EmptySchedule, Infinity

from hostsim.engine.agenda import NORMAL, Agenda, Entry

__all__ = ["Alarm", "Clock", "Timer"]


class Clock(simpy.Environment):
    """Simulated time in integer picoseconds; ties are ordered by (time, priority, sequence).

    SimPy's environment with another queue: whatever is scheduled goes to the agenda.

    Attributes:
        agenda: what is to happen.
    """

    def __init__(self) -> None:
        self.agenda = Agenda()
        super().__init__(initial_time=0)

    @property
    def now(self) -> int:
        """The present. SimPy's may be a float; here every delay is an int, so every instant is."""
        return self.agenda.now

    @property
    def _now(self) -> int:  # SimPy's own methods take the time from here
        return self.agenda.now

    @_now.setter
    def _now(self, now: int) -> None:
        self.agenda.now = now

    def schedule(self, event: simpy.Event, priority: Any = NORMAL, delay: Any = 0) -> None:
        """Schedule an event of SimPy's."""
        self.agenda.enter(_Scheduled(event), self.agenda.now + delay, priority)

    def peek(self) -> int | float:
        """Instant of what happens next; infinite when there is nothing."""
        first = self.agenda.first()
        return Infinity if first is None else first.instant

    def step(self) -> None:
        """Process the next event.

        Raises:
            EmptySchedule: there is none.
        """
        if not self.agenda.step():
            raise EmptySchedule

    def scheduled(self) -> int:
        """Number of events scheduled so far."""
        return self.agenda.entered

    def at(self, alarm: Alarm, due: int) -> None:
        """Let an alarm that is not scheduled fall due at an instant that is not past."""
        self.agenda.enter(alarm, due)

    def advance(self, until: int) -> None:
        """Process every event before ``until``, then stand there. Events at ``until`` itself stay for the next call."""
        self.agenda.advance(until)

    def withdraw(self, alarm: Alarm) -> None:
        """Take a scheduled alarm out of the agenda.

        Raises:
            ValueError: it is not scheduled.
        """
        self.agenda.withdraw(alarm)


class _Scheduled(Entry):
    """An event of SimPy's with its place in the agenda."""

    __slots__ = ("_event",)

    def __init__(self, event: simpy.Event) -> None:
        super().__init__()
        self._event = event

    def ring(self) -> None:
        event = self._event
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]  # as SimPy does: None marks it processed
        for callback in callbacks:
            callback(event)
        if not event._ok and not event.defused:
            raise event._value


class Alarm(Entry):
    """An entry that calls ``action(alarm)`` each time it falls due and may be scheduled again from then on."""

    __slots__ = ("_action",)

    def __init__(self, clock: Clock, action: Callable[[Any], None]) -> None:
        super().__init__()
        self._action = action

    def ring(self) -> None:
        self._action(self)


class Timer(Entry):
    """A one-shot timer that holds at most one entry in the clock's agenda, whatever it is re-armed to.

    Re-armed later, the entry stays and is moved when it falls due; re-armed earlier, it is moved at once; disarmed, it falls
    due in silence.
    """

    __slots__ = ("_action", "_agenda", "_armed", "_wanted")

    def __init__(self, clock: Clock, action: Callable[[int], None]) -> None:
        super().__init__()
        self._agenda = clock.agenda
        self._action = action
        self._wanted = 0
        self._armed = False

    @property
    def due(self) -> int | None:
        """Instant at which the action will be called, or None when disarmed."""
        return self._wanted if self._armed else None

    def arm(self, due: int) -> None:
        """Call ``action(now)`` at ``due`` (not in the past), instead of whenever it was armed for before."""
        self._wanted = due
        self._armed = True
        if self.place < 0:
            self._agenda.enter(self, due)
        elif due < self.instant:
            self._agenda.hasten(self, due)

    def arm_by(self, due: int) -> None:
        """Call ``action(now)`` at ``due``, or now where that is past, unless it will be called before."""
        if self._armed and self._wanted <= due:
            return
        now = self._agenda.now
        self.arm(due if due > now else now)

    def disarm(self) -> None:
        """Do not call the action."""
        self._armed = False

    def ring(self) -> None:
        if not self._armed:
            return
        if self._wanted > self.instant:
            self._agenda.enter(self, self._wanted)
            return
        self._armed = False
        self._action(self.instant)
