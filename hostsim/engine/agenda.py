"""The agenda: what is to happen and when, a binary heap that the compiler can see through.

SimPy keeps its events in a list of tuples, ordered by comparing tuples. Here every entry knows its instant, its rank among
entries of the same instant and its place in the heap, all plain integers: once compiled, nothing is made when an entry is
put in or taken out, and an entry that is to fall due sooner moves up from where it is.
"""

from __future__ import annotations

from typing import Final

__all__ = ["Agenda", "Entry"]

NORMAL: Final = 1
"""Priority of what is neither urgent nor anything else: SimPy's number for it."""
_OUT: Final = -1


class Entry:
    """Something that happens at an instant, and may be entered again from then on.

    Attributes:
        instant: when, in picoseconds.
        rank: order among entries of the same instant.
        place: where it stands in the heap.
    """

    __slots__ = ("instant", "place", "rank")

    def __init__(self) -> None:
        self.instant = self.rank = 0
        self.place = _OUT

    def ring(self) -> None:
        """It falls due."""
        raise NotImplementedError


class Agenda:
    """Entries in the order in which they fall due: by instant, then by rank.

    Attributes:
        now: the present, in picoseconds.
        entered: entries made so far, those included that were made again.
    """

    __slots__ = ("_heap", "entered", "now")

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self.now = self.entered = 0

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> Entry | None:
        """What falls due next; None when there is nothing."""
        return self._heap[0] if self._heap else None

    def enter(self, entry: Entry, due: int, priority: int = NORMAL) -> None:
        """Let an entry that is not entered fall due at an instant that is not past, after those entered before with the same priority."""
        self._number(entry, due, priority)
        heap = self._heap
        heap.append(entry)
        self._rise(entry, len(heap) - 1)

    def hasten(self, entry: Entry, due: int) -> None:
        """Let an entry of normal priority fall due at an earlier instant than it would, as if it had been entered only now."""
        self._number(entry, due, NORMAL)
        self._rise(entry, entry.place)

    def _number(self, entry: Entry, due: int, priority: int) -> None:
        self.entered += 1
        entry.instant = due
        entry.rank = (priority << 56) + self.entered

    def withdraw(self, entry: Entry) -> None:
        """Take an entry out.

        Raises:
            ValueError: it is not entered.
        """
        heap, place = self._heap, entry.place
        if place < 0 or place >= len(heap) or heap[place] is not entry:
            raise ValueError("the event is not scheduled")
        entry.place = _OUT
        last = heap.pop()
        if last is not entry:
            self._rise(last, place)
            self._sink(last, last.place)

    def advance(self, until: int) -> None:
        """Let every entry that is due before an instant happen, then stand there."""
        heap = self._heap
        while heap:
            entry = heap[0]
            due = entry.instant
            if due >= until:
                break
            self.now = due
            self._take_first(entry)
            entry.ring()
        self.now = until

    def step(self) -> bool:
        """Let the next entry happen; False when there is none."""
        if not self._heap:
            return False
        entry = self._heap[0]
        self.now = entry.instant
        self._take_first(entry)
        entry.ring()
        return True

    def _take_first(self, first: Entry) -> None:
        first.place = _OUT
        last = self._heap.pop()
        if last is not first:
            self._sink(last, 0)

    def _rise(self, entry: Entry, place: int) -> None:
        """Put an entry in at a place, or above it, below what comes before it."""
        heap = self._heap
        due, rank = entry.instant, entry.rank
        while place:
            above = (place - 1) >> 1
            other = heap[above]
            if other.instant < due or (other.instant == due and other.rank < rank):
                break
            heap[place] = other
            other.place = place
            place = above
        heap[place] = entry
        entry.place = place

    def _sink(self, entry: Entry, place: int) -> None:
        """Put an entry in at a place, or below it, above what comes after it."""
        heap = self._heap
        size = len(heap)
        due, rank = entry.instant, entry.rank
        below = 2 * place + 1
        while below < size:
            other = heap[below]
            if below + 1 < size:
                right = heap[below + 1]
                if right.instant < other.instant or (right.instant == other.instant and right.rank < other.rank):
                    other = right
                    below += 1
            if due < other.instant or (due == other.instant and rank < other.rank):
                break
            heap[place] = other
            other.place = place
            place = below
            below = 2 * place + 1
        heap[place] = entry
        entry.place = place
