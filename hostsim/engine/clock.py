"""The simulation clock: a SimPy environment in integer picoseconds with reusable events and timers.

A SimPy event is used once, but a host's PCPUs and timers fire millions of times. An `Alarm` is one entry of the clock's
event queue that is scheduled repeatedly; SimPy's events and processes use the same queue.

The event queue (future event list) is a pairing heap of entries with integer keys, which compile to plain C. SimPy has
a list of tuples, ordered by comparison of tuples. Here every entry has its instant, its rank among simultaneous
entries, and its neighbours in the heap. So compiled code allocates nothing when an entry is added or removed, needs no
checks of list items, and moves an entry to an earlier time in place.

Source of the heap: Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap", Algorithmica 1 (1986).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any, Final

import simpy
from simpy.core import EmptySchedule, Infinity, StopSimulation
from simpy.events import EventPriority, ProcessGenerator

from hostsim.engine.checkpoint import checkpoint
from hostsim.units import END

if TYPE_CHECKING:
    from mypy_extensions import i64  # a machine integer in compiled code

__all__ = ["Alarm", "Clock", "Entry", "EventQueue", "Heap", "OneShot", "Timer"]

NORMAL: Final = 1
"""Normal priority of SimPy."""
PIECE: Final = 256
"""Number of events between two checkpoints: a few milliseconds of work, less in compiled code."""
_RANK_BITS: Final = 56
"""Number of bits of a rank for the number of the entry; the priority is above them."""
_NORMAL_RANK: Final = NORMAL << _RANK_BITS


class Entry:
    """An event: fires at an instant, and may be scheduled again afterwards.

    Attributes:
        instant: time in picoseconds, at most `hostsim.units.END`.
        rank: order among entries with the same instant.
        scheduled: True while it is in a heap.
    """

    instant: i64
    rank: i64
    scheduled: bool
    _child: Entry | None
    """First child."""
    _next: Entry | None
    """Next sibling."""
    _back: Entry | None
    """Previous sibling; the parent for a first child."""

    def __init__(self) -> None:
        self.instant = 0
        self.rank = 0
        self.scheduled = False
        self._child = self._next = self._back = None

    def fire(self) -> None:
        """Fire the event."""
        raise NotImplementedError


def _link(one: Entry, other: Entry) -> Entry:
    """Link two entries without siblings; returns the earlier, whose first child is the other."""
    if other.instant < one.instant or (other.instant == one.instant and other.rank < one.rank):
        one, other = other, one
    child = one._child
    other._next = child
    if child is not None:
        child._back = other
    other._back = one
    one._child = other
    return one


def _gather(child: Entry) -> Entry:
    """Link siblings in pairs, then from the last pair to the first; returns the earliest of all."""
    pairs: Entry | None = None  # linked siblings, the last first
    rest: Entry | None = child
    while rest is not None:
        pair = rest
        other = pair._next
        if other is None:
            rest = None
        else:
            rest = other._next
            pair._next = other._next = None
            pair = _link(pair, other)
        pair._next = pairs
        pairs = pair
    assert pairs is not None
    soonest = pairs
    rest = soonest._next
    while rest is not None:
        other = rest
        rest = other._next
        soonest = _link(soonest, other)
    soonest._next = soonest._back = None
    return soonest


class Heap:
    """A pairing heap: entries by instant, then by rank; any entry can be removed."""

    def __init__(self) -> None:
        self._root: Entry | None = None
        self._size: i64 = 0

    def __len__(self) -> int:
        return self._size

    def first(self) -> Entry | None:
        """Return the first entry without removing it; None if the heap is empty."""
        return self._root

    def put(self, entry: Entry) -> None:
        """Insert an entry that is not in a heap."""
        self._size += 1
        entry.scheduled = True
        root = self._root
        self._root = entry if root is None else _link(root, entry)

    def take_first(self) -> Entry:
        """Remove and return the first entry; the heap must not be empty."""
        first = self._root
        assert first is not None
        self._size -= 1
        first.scheduled = False
        child = first._child
        if child is None:
            self._root = None
        else:
            first._child = None
            self._root = _gather(child)
        return first

    def move_up(self, entry: Entry) -> None:
        """Restore the order after the key of an entry has decreased."""
        root = self._root
        assert root is not None
        if entry is not root:
            _cut(entry)
            self._root = _link(root, entry)

    def take(self, entry: Entry) -> None:
        """Remove an entry from anywhere in the heap.

        Raises:
            ValueError: the entry is not in the heap.
        """
        root = self._root
        if not entry.scheduled or root is None:
            raise ValueError("the event is not scheduled")
        if entry is root:
            self.take_first()
            return
        _cut(entry)
        self._size -= 1
        entry.scheduled = False
        child = entry._child
        if child is not None:
            entry._child = None
            self._root = _link(root, _gather(child))


def _cut(entry: Entry) -> None:
    """Cut an entry with its descendants off its siblings and its parent."""
    back, following = entry._back, entry._next
    assert back is not None
    if back._child is entry:
        back._child = following
    else:
        back._next = following
    if following is not None:
        following._back = back
    entry._next = entry._back = None


class EventQueue:
    """Pending events, ordered by instant, priority, and sequence of scheduling.

    Attributes:
        now: current time, in picoseconds.
        entered: number of entries made, including repeated ones.
    """

    def __init__(self) -> None:
        self._heap = Heap()
        self.now: i64 = 0
        self.entered: i64 = 0

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> Entry | None:
        """Return the next event; None if the queue is empty."""
        return self._heap.first()

    def enter(self, entry: Entry, due: i64, priority: int = NORMAL) -> None:
        """Schedule an event for an instant that is not past, after those with the same instant and priority."""
        self._number(entry, due, priority)
        self._heap.put(entry)

    def hasten(self, entry: Entry, due: i64) -> None:
        """Reschedule an event of normal priority for an earlier instant, as if it were scheduled now."""
        self._number(entry, due, NORMAL)
        self._heap.move_up(entry)

    def _number(self, entry: Entry, due: i64, priority: int) -> None:
        self.entered += 1
        entry.instant = due
        entry.rank = (_NORMAL_RANK if priority == NORMAL else priority << _RANK_BITS) + self.entered

    def withdraw(self, entry: Entry) -> None:
        """Cancel a scheduled event.

        Raises:
            ValueError: the event is not scheduled.
        """
        self._heap.take(entry)

    def advance(self, until: i64) -> None:
        """Process every event before an instant, and set the time to that instant."""
        heap = self._heap
        while True:
            checkpoint()
            for _turn in range(PIECE):  # in compiled code, the name _ would be an object
                entry = heap.first()
                if entry is None or entry.instant >= until:
                    self.now = until
                    return
                heap.take_first()
                self.now = entry.instant
                entry.fire()

    def step(self) -> bool:
        """Process the next event; False if the queue is empty."""
        if self._heap.first() is None:
            return False
        entry = self._heap.take_first()
        self.now = entry.instant
        entry.fire()
        return True


_BEFORE_ALL = EventPriority(-1)
"""Priority of an event that resumes after ``run`` has stopped; a number of SimPy's."""


class Clock(simpy.Environment):
    """Simulated time in integer picoseconds; ties are ordered by (time, priority, sequence).

    SimPy's environment with another event queue. Delays are whole picoseconds (`hostsim.engine.delay`).

    Args:
        event_queue: pending events; by default a new queue. `hostsim.engine.stock_event_queue` has SimPy's.

    Attributes:
        event_queue: pending events.
    """

    def __init__(self, event_queue: EventQueue | None = None) -> None:
        self.event_queue = EventQueue() if event_queue is None else event_queue
        super().__init__(initial_time=0)

    @property
    def now(self) -> int:
        """Current time in picoseconds; an integer, unlike in SimPy, as every delay is one."""
        return self.event_queue.now

    @property
    def _now(self) -> int:  # SimPy's methods read the time from here
        return self.event_queue.now

    @_now.setter
    def _now(self, now: int) -> None:
        self.event_queue.now = now

    def schedule(self, event: simpy.Event, priority: Any = NORMAL, delay: Any = 0) -> None:
        """Schedule a SimPy event; every event of SimPy is scheduled by this method.

        Raises:
            TypeError: the delay is not an integer.
            ValueError: the delay is negative, or ends later than `hostsim.units.END`.
        """
        try:
            ahead = index(delay)
        except TypeError:
            raise TypeError(
                f"a delay is a whole number of picoseconds, but {delay!r} is of type {type(delay).__name__}: write "
                "ns(...), us(...), ms(...) or s(...) of hostsim.engine.delay, or round(...) for a delay that is computed"
            ) from None
        if ahead < 0:
            raise ValueError(f"Negative delay {delay}: nothing can be scheduled for the past")
        due = self.event_queue.now + ahead
        if due > END:
            raise ValueError(f"a delay of {delay} ps ends after the last time of the clock: {END} ps")
        self.event_queue.enter(_Scheduled(event), due, priority)

    def start(self, generator: ProcessGenerator) -> simpy.Process:
        """Start a process and run it to its first ``yield`` at once (docs/decisions/0119).

        SimPy's ``process`` does so in a separate event at the current time. Here it is part of building a host: the
        process may add parts, which only a new host accepts, and its first event is ordered among those of the
        building.
        """
        return _Started(self, generator)

    def peek(self) -> int | float:
        """Return the time of the next event; infinite if the queue is empty."""
        first = self.event_queue.first()
        return Infinity if first is None else first.instant

    def step(self) -> None:
        """Process the next event.

        Raises:
            EmptySchedule: the queue is empty.
        """
        if not self.event_queue.step():
            raise EmptySchedule

    def scheduled(self) -> int:
        """Number of events scheduled so far."""
        return self.event_queue.entered

    def at(self, alarm: Entry, due: i64) -> None:
        """Schedule an entry that is not scheduled, for a time that is not past."""
        self.event_queue.enter(alarm, due)

    def advance(self, until: i64) -> None:
        """Process every event before ``until`` and set the clock to it; events at ``until`` remain."""
        self.event_queue.advance(until)

    def withdraw(self, alarm: Entry) -> None:
        """Cancel a scheduled entry.

        Raises:
            ValueError: the entry is not scheduled.
        """
        self.event_queue.withdraw(alarm)


class _Scheduled(Entry):
    """A SimPy event as an entry of the event queue."""

    def __init__(self, event: simpy.Event) -> None:
        super().__init__()
        self._event = event

    def fire(self) -> None:
        event = self._event
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]  # as SimPy does: None marks it processed
        for position, callback in enumerate(callbacks):
            try:
                callback(event)
            except StopSimulation:
                rest = callbacks[position + 1 :]
                if rest:  # run(until=event) stops before them, and the next run resumes with them
                    event.callbacks = rest
                    event.env.schedule(event, _BEFORE_ALL)
                raise
        if not event._ok and not event.defused:
            raise event._value


class _Started(simpy.Process):
    """A process that has run to its first ``yield`` when it is created."""

    def __init__(self, clock: Clock, generator: ProcessGenerator) -> None:
        simpy.Event.__init__(self, clock)
        self._generator = generator
        begin = simpy.Event(clock)  # never scheduled: replaces SimPy's initial event of a process
        begin._ok, begin._value = True, None
        self._target = begin
        self._resume(begin)
        if self.triggered and not self._ok:
            self.defused = True
            raise self._value


class Alarm(Entry):
    """A reusable event: calls ``action(alarm)`` whenever it fires, and may then be scheduled again."""

    def __init__(self, clock: Clock, action: Callable[[Any], None]) -> None:
        super().__init__()
        self._action = action

    def fire(self) -> None:
        self._action(self)


class OneShot(Entry):
    """A one-shot timer that can be re-armed, with at most one entry in the event queue.

    A subclass defines its action in `expire`. If the timer is re-armed for a later time, its entry moves when it falls
    due; for an earlier time, at once. If it is disarmed, the entry falls due without effect.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._event_queue = clock.event_queue
        self._set_to: i64 = 0
        self._armed = False

    def expire(self, now: int) -> None:
        """Act at the set time; the timer is then disarmed."""
        raise NotImplementedError

    @property
    def due(self) -> int | None:
        """Time at which the timer will fire; None if disarmed."""
        return self._set_to if self._armed else None

    def arm(self, due: i64) -> None:
        """Set the timer: `expire` at ``due`` (not in the past); replaces an earlier setting."""
        self._set_to = due
        self._armed = True
        if not self.scheduled:
            self._event_queue.enter(self, due)
        elif due < self.instant:
            self._event_queue.hasten(self, due)

    def arm_by(self, due: i64) -> None:
        """Set the timer to ``due``, or to now if that is past, unless it is set to an earlier time."""
        if self._armed and self._set_to <= due:
            return
        now = self._event_queue.now
        self.arm(due if due > now else now)

    def disarm(self) -> None:
        """Stop the timer, so that it does not fire."""
        self._armed = False

    def fire(self) -> None:
        if not self._armed:
            return
        if self._set_to > self.instant:
            self._event_queue.enter(self, self._set_to)
            return
        self._armed = False
        self.expire(self.instant)


class Timer(OneShot):
    """A one-shot timer that calls ``action(now)``; in compiled code slower than a subclass with `expire`."""

    def __init__(self, clock: Clock, action: Callable[[int], None]) -> None:
        super().__init__(clock)
        self._action = action

    def expire(self, now: int) -> None:
        self._action(now)
