"""The event queue (future event list): a pairing heap of entries with integer keys, which the compiler turns into plain C.

SimPy keeps its events in a list of tuples, ordered by comparing tuples. Here every entry knows its instant, its rank among
entries of the same instant and its neighbours in the heap: once compiled, nothing is made when an entry is put in or taken
out, no list has to be checked for what is in it, and an entry that is to fall due sooner moves up from where it is.

Source of the heap: Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap", Algorithmica 1 (1986).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostsim.engine.checkpoint import checkpoint

if TYPE_CHECKING:
    from mypy_extensions import i64  # an integer of the machine, once compiled

__all__ = ["Entry", "EventQueue", "Heap"]

NORMAL: Final = 1
"""Priority of what is neither urgent nor anything else: SimPy's number for it."""
PIECE: Final = 256
"""Events between two checkpoints: a few milliseconds of work of the sources, less of compiled code."""
_RANK_BITS: Final = 56
"""Bits of a rank that number entries; the priority lies above them."""
_NORMAL_RANK: Final = NORMAL << _RANK_BITS


class Entry:
    """An event: happens at an instant, and may be scheduled again from then on.

    Attributes:
        instant: when, in picoseconds: at most `hostsim.units.END`.
        rank: order among entries of the same instant.
        scheduled: True while it is in a heap.
    """

    instant: i64
    rank: i64
    scheduled: bool
    _child: Entry | None
    """The first of those below it."""
    _next: Entry | None
    """Its next sibling."""
    _back: Entry | None
    """Its previous sibling; of a first child, the parent."""

    def __init__(self) -> None:
        self.instant = 0
        self.rank = 0
        self.scheduled = False
        self._child = self._next = self._back = None

    def ring(self) -> None:
        """Fire the event."""
        raise NotImplementedError


def _link(one: Entry, other: Entry) -> Entry:
    """Link two entries without siblings: the later becomes the first child of the sooner, which is returned."""
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
    """Link siblings, from the first on: two by two, then from the last pair to the first; returns the soonest of all."""
    pairs: Entry | None = None  # those linked so far, the last of them first
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
    """A pairing heap: entries by instant, then by rank; an entry can be removed from anywhere in it."""

    def __init__(self) -> None:
        self._root: Entry | None = None
        self._size: i64 = 0

    def __len__(self) -> int:
        return self._size

    def first(self) -> Entry | None:
        """Return the first entry without removing it; None when the heap is empty."""
        return self._root

    def put(self, entry: Entry) -> None:
        """Insert an entry that is in no heap."""
        self._size += 1
        entry.scheduled = True
        root = self._root
        self._root = entry if root is None else _link(root, entry)

    def take_first(self) -> Entry:
        """Remove and return the first entry of a heap that is not empty."""
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
            ValueError: it is not in.
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
    """Cut an entry, with all below it, off its siblings and its parent."""
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
    """Pending events, by instant, then by priority, then in the order in which they were scheduled.

    Attributes:
        now: the present, in picoseconds.
        entered: entries made so far, those included that were made again.
    """

    def __init__(self) -> None:
        self._heap = Heap()
        self.now: i64 = 0
        self.entered: i64 = 0

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> Entry | None:
        """Return the next event; None when the queue is empty."""
        return self._heap.first()

    def enter(self, entry: Entry, due: i64, priority: int = NORMAL) -> None:
        """Schedule an event for an instant that is not past, behind those of the same instant and priority."""
        self._number(entry, due, priority)
        self._heap.put(entry)

    def hasten(self, entry: Entry, due: i64) -> None:
        """Reschedule an event of normal priority for an earlier instant, as if it had been scheduled only now."""
        self._number(entry, due, NORMAL)
        self._heap.move_up(entry)

    def _number(self, entry: Entry, due: i64, priority: int) -> None:
        self.entered += 1
        entry.instant = due
        entry.rank = (_NORMAL_RANK if priority == NORMAL else priority << _RANK_BITS) + self.entered

    def withdraw(self, entry: Entry) -> None:
        """Cancel a scheduled event.

        Raises:
            ValueError: it is not entered.
        """
        self._heap.take(entry)

    def advance(self, until: i64) -> None:
        """Process every event before an instant, and set the time to it."""
        heap = self._heap
        while True:
            checkpoint()
            for _turn in range(PIECE):  # compiled, a name that is no more than _ would be an object
                entry = heap.first()
                if entry is None or entry.instant >= until:
                    self.now = until
                    return
                heap.take_first()
                self.now = entry.instant
                entry.ring()

    def step(self) -> bool:
        """Process the next event; False when the queue is empty."""
        if self._heap.first() is None:
            return False
        entry = self._heap.take_first()
        self.now = entry.instant
        entry.ring()
        return True
