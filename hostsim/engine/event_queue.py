"""The event queue (future event list): a binary heap of entries with integer keys, which the compiler turns into plain C.

SimPy keeps its events in a list of tuples, ordered by comparing tuples. Here every entry knows its instant, its rank among
entries of the same instant and its place in the heap, all plain integers: once compiled, nothing is made when an entry is
put in or taken out, and an entry that is to fall due sooner moves up from where it is (docs/decisions/0068).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from hostsim.engine.checkpoint import checkpoint

if TYPE_CHECKING:
    from mypy_extensions import i64  # an integer of the machine, once compiled

__all__ = ["Entry", "EventQueue", "Heap"]

NORMAL: Final = 1
"""Priority of what is neither urgent nor anything else: SimPy's number for it."""
PIECE: Final = 256
"""Events between two checkpoints: a few milliseconds of work of the sources, less of compiled code."""
_OUT: Final = -1


class Entry:
    """An event: happens at an instant, and may be scheduled again from then on.

    Attributes:
        instant: when, in picoseconds.
        rank: order among entries of the same instant.
        place: index in the heap.
    """

    instant: int  # may lie beyond what 64 bits hold
    rank: i64
    place: i64

    def __init__(self) -> None:
        self.instant = 0
        self.rank = 0
        self.place = _OUT

    def ring(self) -> None:
        """Fire the event."""
        raise NotImplementedError


E = TypeVar("E", bound=Entry)


class Heap(Generic[E]):
    """An indexed binary heap: entries by instant, then by rank; an entry can be removed from anywhere in it."""

    def __init__(self) -> None:
        self._entries: list[E] = []

    def __len__(self) -> int:
        return len(self._entries)

    def first(self) -> E | None:
        """Return the first entry without removing it; None when the heap is empty."""
        return self._entries[0] if self._entries else None

    def put(self, entry: E) -> None:
        """Insert an entry."""
        entries = self._entries
        entries.append(entry)
        self._rise(entry, len(entries) - 1)

    def take_first(self) -> E:
        """Remove and return the first entry of a heap that is not empty."""
        entries = self._entries
        first = entries[0]
        first.place = _OUT
        last = entries.pop()
        if last is not first:
            self._sink(last, 0)
        return first

    def move_up(self, entry: E) -> None:
        """Restore the order after the key of an entry has decreased."""
        self._rise(entry, entry.place)

    def take(self, entry: E) -> None:
        """Remove an entry from anywhere in the heap.

        Raises:
            ValueError: it is not in.
        """
        entries, place = self._entries, entry.place
        if place < 0 or place >= len(entries) or entries[place] is not entry:
            raise ValueError("the event is not scheduled")
        entry.place = _OUT
        last = entries.pop()
        if last is not entry:
            self._rise(last, place)
            self._sink(last, last.place)

    def _rise(self, entry: E, place: i64) -> None:
        """Sift an entry up from a place of the heap."""
        entries = self._entries
        due, rank = entry.instant, entry.rank
        while place:
            above: i64 = (place - 1) >> 1
            other = entries[above]
            if other.instant < due or (other.instant == due and other.rank < rank):
                break
            entries[place] = other
            other.place = place
            place = above
        entries[place] = entry
        entry.place = place

    def _sink(self, entry: E, place: i64) -> None:
        """Sift an entry down from a place of the heap."""
        entries = self._entries
        size: i64 = len(entries)
        due, rank = entry.instant, entry.rank
        below: i64 = 2 * place + 1
        while below < size:
            other = entries[below]
            if below + 1 < size:
                right = entries[below + 1]
                if right.instant < other.instant or (right.instant == other.instant and right.rank < other.rank):
                    other = right
                    below += 1
            if due < other.instant or (due == other.instant and rank < other.rank):
                break
            entries[place] = other
            other.place = place
            place = below
            below = 2 * place + 1
        entries[place] = entry
        entry.place = place


class EventQueue:
    """Pending events, by instant, then by priority, then in the order in which they were scheduled.

    Attributes:
        now: the present, in picoseconds.
        entered: entries made so far, those included that were made again.
    """

    def __init__(self) -> None:
        self._heap: Heap[Entry] = Heap()
        self.now = self.entered = 0

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> Entry | None:
        """Return the next event; None when the queue is empty."""
        return self._heap.first()

    def enter(self, entry: Entry, due: int, priority: int = NORMAL) -> None:
        """Schedule an event for an instant that is not past, behind those of the same instant and priority."""
        self._number(entry, due, priority)
        self._heap.put(entry)

    def hasten(self, entry: Entry, due: int) -> None:
        """Reschedule an event of normal priority for an earlier instant, as if it had been scheduled only now."""
        self._number(entry, due, NORMAL)
        self._heap.move_up(entry)

    def _number(self, entry: Entry, due: int, priority: int) -> None:
        self.entered += 1
        entry.instant = due
        entry.rank = (priority << 56) + self.entered

    def withdraw(self, entry: Entry) -> None:
        """Cancel a scheduled event.

        Raises:
            ValueError: it is not entered.
        """
        self._heap.take(entry)

    def advance(self, until: int) -> None:
        """Process every event before an instant, and set the time to it."""
        heap = self._heap
        while True:
            checkpoint()
            for _ in range(PIECE):
                entry = heap.first()
                if entry is None or entry.instant >= until:
                    self.now = until
                    return
                heap.take_first()
                self.now = entry.instant
                entry.ring()

    def step(self) -> bool:
        """Process the next event; False when the queue is empty."""
        if not len(self._heap):
            return False
        entry = self._heap.take_first()
        self.now = entry.instant
        entry.ring()
        return True
