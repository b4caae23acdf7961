"""The agenda: what is to happen and when, on a binary heap that the compiler can see through.

SimPy keeps its events in a list of tuples, ordered by comparing tuples. Here every entry knows its instant, its rank among
entries of the same instant and its place in the heap, all plain integers: once compiled, nothing is made when an entry is
put in or taken out, and an entry that is to fall due sooner moves up from where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64  # an integer of the machine, once compiled

__all__ = ["Agenda", "Entry", "Heap"]

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

    instant: int  # may lie beyond what 64 bits hold
    rank: i64
    place: i64

    def __init__(self) -> None:
        self.instant = 0
        self.rank = 0
        self.place = _OUT

    def ring(self) -> None:
        """It falls due."""
        raise NotImplementedError


class Heap:
    """Entries in the order of their instants, then of their ranks."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def first(self) -> Entry | None:
        """The first entry, which stays; None when there is none."""
        return self._entries[0] if self._entries else None

    def put(self, entry: Entry) -> None:
        """Put in an entry that is not in."""
        entries = self._entries
        entries.append(entry)
        self._rise(entry, len(entries) - 1)

    def take_first(self) -> Entry:
        """Take out the first entry; there must be one."""
        entries = self._entries
        first = entries[0]
        first.place = _OUT
        last = entries.pop()
        if last is not first:
            self._sink(last, 0)
        return first

    def move_up(self, entry: Entry) -> None:
        """Put an entry that is in where it belongs now that it comes sooner."""
        self._rise(entry, entry.place)

    def take(self, entry: Entry) -> None:
        """Take an entry out, wherever it stands.

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

    def _rise(self, entry: Entry, place: i64) -> None:
        """Put an entry in at a place, or above it, below what comes before it."""
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

    def _sink(self, entry: Entry, place: i64) -> None:
        """Put an entry in at a place, or below it, above what comes after it."""
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


class Agenda:
    """What is to happen: by instant, then by priority, then in the order of entry.

    Attributes:
        now: the present, in picoseconds.
        entered: entries made so far, those included that were made again.
    """

    __slots__ = ("_heap", "entered", "now")

    def __init__(self) -> None:
        self._heap = Heap()
        self.now = self.entered = 0

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> Entry | None:
        """What falls due next; None when there is nothing."""
        return self._heap.first()

    def enter(self, entry: Entry, due: int, priority: int = NORMAL) -> None:
        """Let an entry that is not entered fall due at an instant that is not past, after those entered before with the same priority."""
        self._number(entry, due, priority)
        self._heap.put(entry)

    def hasten(self, entry: Entry, due: int) -> None:
        """Let an entry of normal priority fall due at an earlier instant than it would, as if it had been entered only now."""
        self._number(entry, due, NORMAL)
        self._heap.move_up(entry)

    def _number(self, entry: Entry, due: int, priority: int) -> None:
        self.entered += 1
        entry.instant = due
        entry.rank = (priority << 56) + self.entered

    def withdraw(self, entry: Entry) -> None:
        """Take an entry out.

        Raises:
            ValueError: it is not entered.
        """
        self._heap.take(entry)

    def advance(self, until: int) -> None:
        """Let every entry that is due before an instant happen, then stand there."""
        heap = self._heap
        while (entry := heap.first()) is not None and entry.instant < until:
            heap.take_first()
            self.now = entry.instant
            entry.ring()
        self.now = until

    def step(self) -> bool:
        """Let the next entry happen; False when there is none."""
        if not len(self._heap):
            return False
        entry = self._heap.take_first()
        self.now = entry.instant
        entry.ring()
        return True
