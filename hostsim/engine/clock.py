"""The clock: a SimPy environment in integer picoseconds, with events that can be used again and timers that can be re-armed.

A SimPy event serves once; a host's PCPUs and timers fire millions of times. An `Alarm` is one event scheduled over and
over: it saves an allocation each time, and nothing else about SimPy changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

import simpy
from simpy.events import NORMAL

__all__ = ["Alarm", "Clock", "Timer"]


class Clock(simpy.Environment):
    """Simulated time in integer picoseconds; ties are ordered by (time, priority, sequence).

    `at` and `advance` are SimPy's own ``schedule`` and ``run`` without the calls in between: the same queue, the same order,
    the same life of an event, and a third of the time for events that do next to nothing.
    """

    now: int = 0  # SimPy's is a property, and may be a float; here every delay is an int, so every instant is

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self._entries: list[Any] = self._queue
        self._numbers: Iterator[int] = self._eid
        self._asked = 0

    @property
    def _now(self) -> int:
        return self.now

    @_now.setter
    def _now(self, now: int) -> None:  # SimPy's own methods set the time by this name
        self.now = now

    def scheduled(self) -> int:
        """Number of events scheduled so far."""
        self._asked += 1
        return next(self._numbers) - (self._asked - 1)

    def at(self, alarm: Alarm, due: int) -> None:
        """Let an alarm that is not scheduled fall due at an instant that is not past."""
        heappush(self._entries, (due, NORMAL, next(self._numbers), alarm))

    def advance(self, until: int) -> None:
        """Process every event before ``until``, then stand there. Events at ``until`` itself stay for the next call."""
        entries = self._entries
        while entries:
            entry = heappop(entries)
            due: int = entry[0]
            if due >= until:
                heappush(entries, entry)
                break
            self.now = due
            event = entry[3]
            if isinstance(event, Alarm):
                event.action(event)
                continue
            callbacks, event.callbacks = event.callbacks, None  # as SimPy does: None marks it processed
            for callback in callbacks:
                callback(event)
            if not event._ok and not event.defused:
                raise event._value
        self.now = until

    def withdraw(self, event: simpy.Event) -> None:
        """Take a scheduled event out of the queue. Linear in the queue's length: meant for the rare case.

        Raises:
            ValueError: the event is not scheduled.
        """
        queue = self._queue
        for index, entry in enumerate(queue):
            if entry[3] is event:
                queue[index] = queue[-1]
                queue.pop()
                heapify(queue)
                return
        raise ValueError("the event is not scheduled")


class Alarm(simpy.Event):
    """One event that calls ``action(alarm)`` each time it falls due and may be scheduled again from then on.

    There is nothing to wait for: whatever else is put among its callbacks is not called by `Clock.advance`.
    """

    def __init__(self, clock: Clock, action: Callable[[Any], None]) -> None:
        self.action = action
        self._actions: list[Callable[[Any], None]] = [action]
        super().__init__(clock)
        self._ok = True
        self._value = None

    @property
    def callbacks(self) -> list[Callable[[Any], None]]:
        """What SimPy calls; it stays, although SimPy clears it each time."""
        return self._actions

    @callbacks.setter
    def callbacks(self, _: Any) -> None: ...


class Timer:
    """A one-shot timer that holds at most one entry in the clock's queue, whatever it is re-armed to.

    Re-armed later, the entry stays and is moved when it falls due; re-armed earlier, it is withdrawn and entered anew;
    disarmed, it falls due in silence.
    """

    __slots__ = ("_action", "_alarm", "_clock", "_due", "_entered")

    def __init__(self, clock: Clock, action: Callable[[int], None]) -> None:
        self._clock = clock
        self._action = action
        self._due: int | None = None
        self._entered: int | None = None
        self._alarm = Alarm(clock, self._ring)

    @property
    def due(self) -> int | None:
        """Instant at which the action will be called, or None when disarmed."""
        return self._due

    def arm(self, due: int) -> None:
        """Call ``action(now)`` at ``due`` (not in the past), instead of whenever it was armed for before."""
        self._due = due
        entered = self._entered
        if entered is not None:
            if entered <= due:
                return
            self._clock.withdraw(self._alarm)
        self._entered = due
        self._clock.at(self._alarm, due)

    def disarm(self) -> None:
        """Do not call the action."""
        self._due = None

    def _ring(self, _event: simpy.Event) -> None:
        due = self._due
        if due is None:
            self._entered = None
            return
        now = self._clock.now
        if due > now:
            self._entered = due
            self._clock.at(self._alarm, due)
            return
        self._entered = self._due = None
        self._action(now)
