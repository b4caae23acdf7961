"""Packet trains, and bounded drop-tail rings of them, evaluated lazily.

The unit of work is a batch, but a batch keeps the instants of its packets. A context that processes packets back to
back passes each on when its own work is done. These instants are an arithmetic sequence, so that a train of a thousand
packets costs as much as a train of one.

A producer pushes a train whose instants may be in the future; the ring holds only packets that have arrived. A packet
is admitted or dropped when the ring is next read, in closed form, so that a push costs the same for any number of
packets. A slot is free as soon as its packet is taken (docs/design/receive.md).

Trains are linked to each other (`Train.following`): a push or take allocates nothing and moves no list. The ring does
this itself, as a `Chain` would need a call for each train, which makes a run of TCP on 40GbE 4 % longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hostsim.engine.compiled import mypyc_attr

if TYPE_CHECKING:
    from mypy_extensions import i64

__all__ = ["Chain", "Link", "Ring", "S_co", "Stream", "Train"]


class Stream:
    """The flow, connection or source of the packets of a train.

    Attributes:
        size: bytes of data in a packet.
    """

    size: int


S_co = TypeVar("S_co", bound=Stream, covariant=True)
"""Kind of stream of the packets: frames of a peer, packets of a guest, bursts of work."""


L = TypeVar("L", bound="Link[Any]")


class Link(Generic[L]):
    """An element of a chain, with a reference to the next.

    Attributes:
        following: next element of its chain; None for the last.
    """

    following: L | None


class Chain(Generic[L]):
    """An intrusive singly linked list: appending and removing allocate nothing.

    A link is in at most one chain.

    Attributes:
        first: first link; None if the chain is empty.
        last: last link; undefined if the chain is empty.
    """

    def __init__(self) -> None:
        self.first: L | None = None
        self.last: L | None = None

    def append(self, link: L) -> None:
        """Append a link."""
        last = self.last
        if self.first is None or last is None:
            self.first = link
        else:
            last.following = link
        self.last = link

    def prepend(self, link: L) -> None:
        """Insert a link before all others."""
        if self.first is None:
            self.last = link
        link.following, self.first = self.first, link

    def pop(self) -> L | None:
        """Remove and return the first link; None if the chain is empty."""
        link = self.first
        if link is not None:
            self.first = link.following
            link.following = None
        return link

    def remove(self, link: L, before: L | None) -> None:
        """Remove a link after the link ``before``; None for the first link."""
        following = link.following
        link.following = None
        if before is None:
            self.first = following
        else:
            before.following = following
        if following is None:
            self.last = before


@mypyc_attr(free_list_len=1)  # the most frequently allocated object
class Train(Generic[S_co]):
    """A packet train: consecutive packets of one stream.

    Attributes:
        stream: stream of the packets.
        count: number of packets.
        ready: time at which the first packet is ready at its current stage, in picoseconds.
        step: time between the ready times of two packets, in picoseconds.
        arrived: arrival time of the first packet: the end of its frame on the wire, or the start of the guest's write.
        gap: time between two arrivals, in picoseconds, if constant.
        timestamps: all arrival times if the gap is not constant; else None.
        frames: frames on the wire in each packet: several after large receive offload or before segmentation offload.
        following: next train in its ring.
    """

    def __init__(
        self,
        stream: S_co,
        count: int,
        ready: int,
        step: int,
        arrived: int,
        gap: int,
        timestamps: list[int] | None = None,
        frames: int = 1,
    ) -> None:
        self.stream = stream
        self.count = count
        self.ready = ready
        self.step = step
        self.arrived = arrived
        self.gap = gap
        self.timestamps = timestamps
        self.frames = frames
        self.following: Train[S_co] | None = None

    def arrival_times(self) -> list[int]:
        """Return the arrival time of every packet."""
        timestamps = self.timestamps
        return timestamps if timestamps is not None else [self.arrived + i * self.gap for i in range(self.count)]

    def count_by(self, now: int) -> int:
        """Return the number of packets that are ready by ``now``."""
        late = now - self.ready
        if late < 0:
            return 0
        if self.step == 0 or self.count == 1:
            return self.count
        return min(self.count, late // self.step + 1)

    def restamp(self, ready: int, step: int) -> None:
        """Move these packets to the next stage with new ready times, if no earlier stage still reads them."""
        self.ready, self.step = ready, step

    def restamped(self, ready: int, step: int) -> Train[S_co]:
        """Return the same packets for another stage, with new ready times."""
        return Train(self.stream, self.count, ready, step, self.arrived, self.gap, self.timestamps, self.frames)

    def merge(self, other: Train[S_co]) -> bool:
        """Append the packets of ``other`` if they continue this train; returns True if they do.

        Ready times are lost. Trains with timestamps always continue each other. Others do at the same gap, with a
        tolerance of a picosecond for each packet, as gaps of constant rates are rounded down. Packets of several frames
        are not merged.
        """
        if self.frames + other.frames > 2 or other.stream is not self.stream:
            return False
        mine, others = self.timestamps, other.timestamps
        if mine is not None and others is not None:
            mine.extend(others)
        else:
            after = other.arrived - self.arrived - self.count * self.gap
            if mine is not None or others is not None or not 0 <= after <= self.count:
                return False
        self.count += other.count
        return True

    def split(self, count: int) -> Train[S_co]:
        """Split off and return the first ``count`` packets (fewer than all)."""
        timestamps = self.timestamps
        front = Train(
            self.stream,
            count,
            self.ready,
            self.step,
            self.arrived,
            self.gap,
            None if timestamps is None else timestamps[:count],
            self.frames,
        )
        self.count -= count
        self.ready += count * self.step
        if timestamps is None:
            self.arrived += count * self.gap
        else:
            self.timestamps = timestamps = timestamps[count:]
            self.arrived = timestamps[0]
        return front


@mypyc_attr(allow_interpreted_subclasses=True)  # tests measure rings
class Ring(Generic[S_co]):
    """A drop-tail ring between producers and one consumer.

    ``pushed = taken + dropped + held + coming`` at every instant. A slot is free as soon as its packet is taken, as the
    consumer refills descriptors immediately. Packets of several producers are admitted train by train in the order of
    their pushes.

    Attributes:
        capacity: number of slots.
        on_drop: called with dropped packets; may be None.
        held: number of packets that are ready and wait.
        pushed: number of packets pushed so far, including those on their way.
        taken: number of packets taken so far.
        dropped: number of packets dropped at the full ring.
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
        self._first: Train[S_co] | None = None
        """Oldest held train; None if the ring holds none."""
        self._last: Train[S_co] | None = None
        """Last held train; undefined if `_first` is None."""
        self._next: Train[S_co] | None = None
        """First train on its way in, in the order of pushes; None if there is none."""
        self._latest: Train[S_co] | None = None
        """Last train on its way in; undefined if `_next` is None."""
        self._in_order = True
        """True if trains on their way in are known to be sorted by ready time."""

    def push(self, train: Train[S_co]) -> None:
        """Enqueue a train whose packets may become ready later; the ring then owns it."""
        self.pushed += train.count
        if self._next is None:
            self._next = self._latest = train
            self._in_order = True
            return
        latest = self._latest
        assert latest is not None
        if train.ready < latest.ready:
            self._in_order = False
        latest.following = self._latest = train

    def settle(self, now: int) -> None:
        """Admit the packets that are ready by ``now``, and drop those that do not fit."""
        train = self._next
        if train is not None and (train.ready <= now or not self._in_order):
            self._settle_all(now)

    def _settle_all(self, now: int) -> None:
        late: Train[S_co] | None = None
        latest: Train[S_co] | None = None
        while (train := self._next) is not None:
            count: i64 = train.count
            if train.ready > now:
                if self._in_order:
                    break  # all later trains as well
                self._next = train.following
                if late is None:
                    late = latest = train
                elif latest is not None:
                    latest.following = latest = train
                continue
            self._next = train.following
            train.following = None
            if count > 1 and train.ready + (count - 1) * train.step > now:  # the last instant is below 2^63
                rest = train
                count = rest.count_by(now)
                train = rest.split(count)
                if late is None:
                    late = latest = rest
                elif latest is not None:
                    latest.following = latest = rest
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
            last = self._last
            if self._first is None or last is None:
                self._first = train
            else:
                last.following = train
            self._last = train
            self.held += count
        if latest is not None:
            self._go_before(late, latest)

    def _go_before(self, late: Train[S_co] | None, latest: Train[S_co]) -> None:
        """Put trains that are still on their way, up to ``latest``, before the others; keeps the order."""
        latest.following = self._next
        if self._next is None:
            self._latest = latest
        self._next = train = late
        while train is not None:
            following = train.following
            if following is not None and train.ready > following.ready:
                self._in_order = False
            if train is latest:
                return
            train = following

    def take_next(self, limit: int, now: int) -> Train[S_co] | None:
        """Dequeue the oldest train that is ready by ``now``, or its first ``limit`` packets (at least 1).

        Returns None if no packet is ready.
        """
        coming = self._next
        if coming is not None and (coming.ready <= now or not self._in_order):
            self._settle_all(now)
        train = self._first
        if train is None:
            return None
        count: i64 = train.count
        if count <= limit:
            self._first = train.following
            train.following = None
        else:
            train = train.split(limit)
            count = limit
        self.held -= count
        self.taken += count
        return train

    def oldest(self, now: int) -> Train[S_co] | None:
        """Return the oldest train if it is ready by ``now``, without removing it."""
        self.settle(now)
        return self._first

    def take(self, limit: int, now: int) -> list[Train[S_co]]:
        """Dequeue at most ``limit`` packets that are ready by ``now``, oldest first; may be empty."""
        taken: list[Train[S_co]] = []
        while limit > 0 and (train := self.take_next(limit, now)) is not None:
            limit -= train.count
            taken.append(train)
        return taken

    def recall(self, trains: Iterable[Train[S_co]], now: int) -> list[Train[S_co]]:
        """Remove and return those of ``trains`` that are not ready by ``now``, in the order of their pushes."""
        self.settle(now)
        back: list[Train[S_co]] = []
        train = self._next
        if train is None:
            return back
        recalled = set(trains)
        before: Train[S_co] | None = None  # the last train that stays, so far
        while train is not None:
            following = train.following
            if train not in recalled:
                before = train
            else:
                back.append(train)
                self.pushed -= train.count
                train.following = None
                if before is None:
                    self._next = following
                else:
                    before.following = following
            train = following
        self._latest = before
        return back

    def first(self) -> int | None:
        """Return the time at which the oldest packet is ready, past or future; None if the ring is empty."""
        if self._first is not None:
            return self._first.ready
        return self._next_to_come()

    def _next_to_come(self) -> int | None:
        train = self._next
        if train is None:
            return None
        soonest = train.ready
        if not self._in_order:
            while train is not None:
                if train.ready < soonest:
                    soonest = train.ready
                train = train.following
        return soonest

    def nth(self, count: int) -> int | None:
        """Return the time at which ``count`` packets are ready if none is taken; None if fewer are known."""
        missing: i64 = count - self.held
        if missing <= 0:
            return self.first()
        if missing == 1:
            return self._next_to_come()
        train = self._next
        if not self._in_order:
            return self._nth_of_all(missing)
        while train is not None:
            following = train.following
            counted: i64 = train.count
            if counted > missing:
                counted = missing
            instant = train.ready + (counted - 1) * train.step  # at most the last instant, below 2^63
            if following is not None and following.ready < instant:
                return self._nth_of_all(count - self.held)
            missing -= counted
            if missing == 0:
                return instant
            train = following
        return None

    def _nth_of_all(self, missing: int) -> int | None:
        """Return the time at which ``missing`` packets of overlapping trains are ready, or None."""
        instants: list[int] = []
        train = self._next
        while train is not None:
            if self._in_order and len(instants) >= missing and train.ready >= max(instants):
                break
            instants.extend([train.ready + i * train.step for i in range(min(train.count, missing))])
            train = train.following
        return sorted(instants)[missing - 1] if len(instants) >= missing else None

    def count_inside(self) -> int:
        """Count the packets held or on their way in, train by train, independently of the counters."""
        count: i64 = 0
        train = self._first
        while train is not None:
            count += train.count
            train = train.following
        train = self._next
        while train is not None:
            count += train.count
            train = train.following
        return count

    def count_coming(self, now: int) -> int:
        """Count the packets that are not ready by ``now``."""
        count: i64 = 0
        train = self._next
        while train is not None:
            count += train.count - train.count_by(now)
            train = train.following
        return count

    def waiting(self, now: int) -> int:
        """Return the number of packets that wait, without admitting or dropping any."""
        return min(self.count_inside() - self.count_coming(now), self.capacity)

    def coming(self, now: int) -> Iterator[tuple[Train[S_co], int]]:
        """Iterate over the trains with packets not ready by ``now``, with the number of these packets.

        They may still be recalled.
        """
        train = self._next
        while train is not None:
            count = train.count - train.count_by(now)
            if count:
                yield train, count
            train = train.following

    def trains(self) -> Iterator[Train[S_co]]:
        """Iterate over the trains held or on their way in."""
        train = self._first
        while train is not None:
            yield train
            train = train.following
        train = self._next
        while train is not None:
            yield train
            train = train.following
