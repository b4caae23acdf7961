"""Bounded drop-tail rings of packet trains, evaluated lazily.

A producer pushes a train whose instants may still lie ahead; the ring holds only what is here by now. Whether a packet
finds room is settled when somebody looks, in closed form, so that a push costs the same for one packet and for many. A slot is
free as soon as its packet is taken (docs/decisions/0002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Generic

from hostsim.compiled import mypyc_attr
from hostsim.engine.packet_train import S_co, Train

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

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held = self.pushed = self.taken = self.dropped = 0
        self.on_drop: Callable[[Train[S_co]], None] | None = None
        self._here: list[Train[S_co]] = []
        self._coming: list[Train[S_co]] = []
        self._in_order = True

    def push(self, train: Train[S_co]) -> None:
        """Enqueue a train whose packets may become ready later; the ring owns it from now on."""
        self.pushed += train.count
        coming = self._coming
        if coming and train.ready < coming[-1].ready:
            self._in_order = False
        coming.append(train)

    def settle(self, now: int) -> None:
        """Admit the packets that are ready by ``now``, and drop those that find the ring full."""
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
            count = train.count_by(now)
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

    def take(self, limit: int, now: int) -> list[Train[S_co]]:
        """Dequeue at most ``limit`` packets that are ready by ``now``, oldest first; an empty list when there are none."""
        coming, here = self._coming, self._here
        if not here:
            if not coming:
                return []
            train = coming[0]
            count = train.count
            if (
                len(coming) == 1
                and count <= limit
                and count <= self.capacity
                and train.ready + (count - 1) * train.step <= now
            ):
                coming.pop(0)  # the common case in one step: one batch, all of it here, taken whole
                self.taken += count
                return [train]
        if coming:
            self.settle(now)
        taken: list[Train[S_co]] = []
        count = 0
        while here:
            train = here[0]
            if count + train.count <= limit:
                here.pop(0)
                count += train.count
                taken.append(train)
                if count == limit:
                    break
            else:
                taken.append(train.split(limit - count))
                count = limit
                break
        self.held -= count
        self.taken += count
        return taken

    def recall(self, trains: Iterable[Train[S_co]], now: int) -> list[Train[S_co]]:
        """Remove and return those of ``trains``, pushed before, that are not ready by ``now``, in the order of their pushes."""
        self.settle(now)
        if not self._coming:
            return []
        wanted = {id(train) for train in trains}
        back = [train for train in self._coming if id(train) in wanted]
        for train in back:
            self._coming.remove(train)
            self.pushed -= train.count
        return back

    def first(self) -> int | None:
        """Return the time at which the oldest packet is ready, past or future; None when the ring is empty."""
        if self._here:
            return self._here[0].ready
        return self._next_to_come()

    def _next_to_come(self) -> int | None:
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
        missing = count - self.held
        if missing <= 0:
            return self._here[0].ready
        if missing == 1:
            return self._next_to_come()
        instants: list[int] = []
        for train in self._coming:
            if self._in_order and instants and len(instants) >= missing and train.ready >= max(instants):
                break
            instants.extend(train.ready + i * train.step for i in range(min(train.count, missing)))
        return sorted(instants)[missing - 1] if len(instants) >= missing else None

    def count_inside(self) -> int:
        """Count the packets held or on their way in, train by train, independently of the counters."""
        count = 0
        for train in self._here:
            count += train.count
        for train in self._coming:
            count += train.count
        return count

    def waiting(self, now: int) -> int:
        """Return the number of packets that wait here, without settling who finds room: nobody learns of a drop by it."""
        here = self.count_inside()
        for _, count in self.coming(now):
            here -= count
        return min(here, self.capacity)

    def coming(self, now: int) -> Iterator[tuple[Train[S_co], int]]:
        """Iterate over the trains with packets not ready by ``now``, with the number of these packets. They may still be recalled."""
        for train in self._coming:
            count = train.count - train.count_by(now)
            if count:
                yield train, count

    def trains(self) -> Iterator[Train[S_co]]:
        """Iterate over the trains held or on their way in."""
        return chain(self._here, self._coming)
