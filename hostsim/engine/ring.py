"""Bounded drop-tail rings of packet trains, evaluated lazily.

A producer pushes a train whose instants may still lie ahead; the ring holds only what is here by now. Whether a packet
finds room is settled when somebody looks, in closed form, so that a push costs the same for one packet and for many. A slot is
free as soon as its packet is taken (docs/decisions/0002).

Most rings hold one train at most, which comes whole and is taken whole. It has a place of its own; lists begin with the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic

from hostsim.compiled import mypyc_attr
from hostsim.engine.packet_train import S_co, Train

if TYPE_CHECKING:
    from mypy_extensions import i64

__all__ = ["Ring"]


@mypyc_attr(allow_interpreted_subclasses=True)  # where a ring is measured
class Ring(Generic[S_co]):
    """A drop-tail ring between producers and one consumer.

    ``pushed = taken + dropped + held + coming`` at every instant. A slot is free again as soon as its packet is taken: the
    consumer refills descriptors as it goes. Packets of several producers are settled train by train in the order of their
    pushes.

    Attributes:
        capacity: packets that fit.
        on_drop: called with dropped packets; None for no call.
        held: packets that are ready and wait.
        pushed: packets ever pushed, those still on their way included.
        taken: packets ever taken.
        dropped: packets that found no room.
    """

    capacity: i64
    held: i64
    pushed: i64
    taken: i64
    dropped: i64

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held = self.pushed = self.taken = self.dropped = 0
        self.on_drop: Callable[[Train[S_co]], None] | None = None
        self._only: Train[S_co] | None = None
        """The only train: held as a whole if anything is held, else on its way in. None when there are others."""
        self._here: list[Train[S_co]] = []
        self._coming: list[Train[S_co]] = []
        self._in_order = True

    def push(self, train: Train[S_co]) -> None:
        """Enqueue a train whose packets may become ready later; the ring owns it from now on."""
        self.pushed += train.count
        coming = self._coming
        if self._only is not None:
            self._list()
        elif not coming and not self._here:
            self._only = train
            return
        if coming and train.ready < coming[-1].ready:
            self._in_order = False
        coming.append(train)

    def _list(self) -> None:
        """Move the only train to the lists."""
        only = self._only
        assert only is not None
        self._only = None
        if self.held:
            self._here.append(only)
        else:
            self._coming.append(only)
        self._in_order = True

    def settle(self, now: int) -> None:
        """Admit the packets that are ready by ``now``, and drop those that find the ring full."""
        only = self._only
        if only is not None:
            if self.held or only.ready > now:
                return
            count = only.count
            if count <= self.capacity and only.ready + (count - 1) * only.step <= now:  # its last instant: below 2^63
                self.held = count
                return
            self._list()
        if self._coming:
            self._settle_all(now)

    def _settle_all(self, now: int) -> None:
        coming = self._coming
        late: list[Train[S_co]] = []
        while coming:
            train = coming[0]
            if train.ready > now:
                if self._in_order:
                    break  # and so do all behind it
                late.append(coming.pop(0))
                continue
            coming.pop(0)
            count: i64 = train.count_by(now)
            if count < train.count:
                late.append(train)
                train = train.split(count)
            room = self.capacity - self.held
            if count > room:
                self.dropped += count - room
                if room == 0:
                    if self.on_drop is not None:
                        self.on_drop(train)
                    continue
                front, count = train.split(room), room
                if self.on_drop is not None:
                    self.on_drop(train)
                train = front
            self._here.append(train)
            self.held += count
        if late:  # every train passes once, so the order of the rest is kept
            for train in reversed(late):
                if coming and train.ready > coming[0].ready:
                    self._in_order = False
                coming.insert(0, train)
        elif not coming:
            self._in_order = True

    def take_next(self, limit: int, now: int) -> Train[S_co] | None:
        """Dequeue the oldest train that is ready by ``now``, or its first ``limit`` packets (at least 1); None when there is none."""
        only = self._only
        if only is not None:
            count = only.count
            held = self.held
            if not held and only.ready > now:
                return None
            if count <= limit and (
                held or (count <= self.capacity and only.ready + (count - 1) * only.step <= now)
            ):  # the usual case: one train, all of it here, taken whole
                self._only = None
                self.held = 0
                self.taken += count
                return only
            self._list()
        here = self._here
        if self._coming:
            self._settle_all(now)
        if not here:
            return None
        train = here[0]
        count = train.count
        if count <= limit:
            here.pop(0)
        else:
            train = train.split(limit)
            count = limit
        self.held -= count
        self.taken += count
        return train

    def take(self, limit: int, now: int) -> list[Train[S_co]]:
        """Dequeue at most ``limit`` packets that are ready by ``now``, oldest first; an empty list when there are none."""
        taken: list[Train[S_co]] = []
        while limit > 0 and (train := self.take_next(limit, now)) is not None:
            limit -= train.count
            taken.append(train)
        return taken

    def recall(self, trains: Iterable[Train[S_co]], now: int) -> list[Train[S_co]]:
        """Remove and return those of ``trains``, pushed before, that are not ready by ``now``, in the order of their pushes."""
        self.settle(now)
        only = self._only
        if only is not None and not self.held:
            self._list()
        if not self._coming:
            return []
        wanted = {id(train) for train in trains}
        back: list[Train[S_co]] = []
        staying: list[Train[S_co]] = []
        for train in self._coming:
            if id(train) in wanted:
                back.append(train)
                self.pushed -= train.count
            else:
                staying.append(train)
        self._coming = staying
        return back

    def first(self) -> int | None:
        """Return the time at which the oldest packet is ready, past or future; None when the ring is empty."""
        if self._only is not None:
            return self._only.ready
        if self._here:
            return self._here[0].ready
        return self._next_to_come()

    def _next_to_come(self) -> int | None:
        if self._only is not None:
            return None if self.held else self._only.ready
        if not self._coming:
            return None
        soonest = self._coming[0].ready
        if not self._in_order:
            for train in self._coming:
                if train.ready < soonest:
                    soonest = train.ready
        return soonest

    def nth(self, count: int) -> int | None:
        """Return the time at which ``count`` packets are ready if none is taken; None when fewer are known."""
        missing: i64 = count - self.held
        if missing <= 0:
            return self.first()
        if missing == 1:
            return self._next_to_come()
        only = self._only
        if only is not None:
            if self.held or only.count < missing:
                return None
            return only.ready + (missing - 1) * only.step  # at most its last instant: below 2^63
        instants: list[int] = []
        for train in self._coming:
            if self._in_order and instants and len(instants) >= missing and train.ready >= max(instants):
                break
            instants.extend(train.ready + i * train.step for i in range(min(train.count, missing)))
        return sorted(instants)[missing - 1] if len(instants) >= missing else None

    def count_inside(self) -> int:
        """Count the packets held or on their way in, train by train, independently of the counters."""
        count: i64 = 0
        only = self._only
        if only is not None:
            count += only.count
        for train in self._here:
            count += train.count
        for train in self._coming:
            count += train.count
        return count

    def count_coming(self, now: int) -> int:
        """Count the packets that are not ready by ``now``."""
        count: i64 = 0
        only = self._only
        if only is not None:
            if not self.held:
                count = only.count - only.count_by(now)
        else:
            for train in self._coming:
                count += train.count - train.count_by(now)
        return count

    def waiting(self, now: int) -> int:
        """Return the number of packets that wait here, without settling who finds room: nobody learns of a drop by it."""
        return min(self.count_inside() - self.count_coming(now), self.capacity)

    def coming(self, now: int) -> Iterator[tuple[Train[S_co], int]]:
        """Iterate over the trains with packets not ready by ``now``, with the number of these packets. They may still be recalled."""
        only = self._only
        for train in self._coming if only is None else [] if self.held else [only]:
            count = train.count - train.count_by(now)
            if count:
                yield train, count

    def trains(self) -> Iterator[Train[S_co]]:
        """Iterate over the trains held or on their way in."""
        if self._only is not None:
            yield self._only
        yield from self._here
        yield from self._coming
