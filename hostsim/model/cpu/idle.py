"""The idle PCPUs of a node, in the order in which they became idle: lists linked through the PCPUs, for all change at every dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.model.policy.scheduler import IdleQueues, SchedulerPolicy

if TYPE_CHECKING:
    from hostsim.model.cpu.pcpu import Pcpu

__all__ = ["IdleList", "IdlePcpus", "Place"]


class Place:
    """The place of a PCPU in a list of idle ones.

    Attributes:
        pcpu: the PCPU.
        index: its index.
        listed: the list that it is in; None when it is in none.
        before: the place before it, idle for longer.
        after: the place behind it.
    """

    def __init__(self, pcpu: Pcpu) -> None:
        self.pcpu, self.index = pcpu, pcpu.index
        self.listed: IdleList | None = None
        self.before: Place | None = None
        self.after: Place | None = None


class IdleList:
    """A list of idle PCPUs.

    Attributes:
        last: the place of the one idle for the shortest time; None when the list is empty.
    """

    def __init__(self) -> None:
        self.last: Place | None = None

    def put(self, place: Place) -> None:
        """Append a PCPU that is in no list."""
        last = self.last
        place.before = last
        if last is not None:
            last.after = place
        self.last = place
        place.listed = self

    def remove(self, place: Place) -> None:
        """Remove a PCPU from wherever it is in the list."""
        assert place.listed is self
        before, after = place.before, place.after
        if before is not None:
            before.after = after
        if after is not None:
            after.before = before
        else:
            self.last = before
        place.listed = place.before = place.after = None


class IdlePcpus(IdleQueues["Pcpu"]):
    """The idle PCPUs of a node; to a policy, those of them that are looked at.

    Attributes:
        reach: PCPUs that a world is offered which finds its own busy, the next of the node.
    """

    def __init__(self, policy: SchedulerPolicy, pcpus: list[Pcpu]) -> None:
        self._policy, self._pcpus, self.reach = policy, pcpus, 0
        self._all = IdleList()
        self._looked_at = self._all
        self._first = -1
        """Index of the PCPU whose reach is looked at; -1 where all are."""
        self._latest: Place | None = None

    def put(self, pcpu: Pcpu) -> None:
        """Add a PCPU that becomes idle."""
        self._all.put(pcpu.idle_place)

    def remove(self, pcpu: Pcpu) -> None:
        """Remove a PCPU."""
        self._all.remove(pcpu.idle_place)

    def take(self, preferred: Pcpu | None) -> Pcpu | None:
        """Remove and return the idle PCPU of the policy's choice; None when none is idle."""
        if not self._look(self._all, preferred):
            return None
        pcpu = self._policy.idle_queue(self, preferred)
        self.remove(pcpu)
        return pcpu

    def _look(self, idle: IdleList, preferred: Pcpu | None) -> bool:
        """Look at the PCPUs of a list for a world with this PCPU, at all where that is idle or the world has none; False when there is none."""
        self._looked_at, self._first = idle, -1
        place = idle.last
        if (
            place is not None
            and preferred is not None
            and len(self._pcpus) > self.reach + 1
            and preferred.idle_place.listed is not idle
            and preferred.whole_place.listed is not idle
        ):
            self._first = preferred.index
            while place is not None and not self._is_in_reach(place.index):
                place = place.before
        self._latest = place
        return place is not None

    def _is_in_reach(self, index: int) -> bool:
        first = self._first
        return first < 0 or (index - first) % len(self._pcpus) <= self.reach

    def latest(self) -> Pcpu:
        place = self._latest
        assert place is not None
        return place.pcpu

    def has(self, queue: Pcpu) -> bool:
        idle = self._looked_at
        return (queue.idle_place.listed is idle or queue.whole_place.listed is idle) and self._is_in_reach(queue.index)

    def queues(self) -> list[Pcpu]:
        found: list[Pcpu] = []
        place = self._looked_at.last
        while place is not None:
            if self._is_in_reach(place.index):
                found.append(place.pcpu)
            place = place.before
        found.reverse()
        return found
