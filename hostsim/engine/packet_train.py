"""A packet train: consecutive packets of one flow with their timestamps, in one object.

The unit of work is a batch, but a batch keeps its packets' instants. A context that works through packets back to back
hands each on at the instant its own work is done; those instants are an arithmetic sequence, so a train of a thousand
packets costs what a train of one costs.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from hostsim.engine.compiled import mypyc_attr

__all__ = ["S_co", "Stream", "Train"]


class Stream:
    """The flow, connection or source that the packets of a train belong to.

    Attributes:
        size: bytes of data in a packet.
    """

    size: int


S_co = TypeVar("S_co", bound=Stream, covariant=True)
"""Kind of stream that packets belong to: frames of a peer, packets of a guest, bursts of work."""


@mypyc_attr(free_list_len=1)  # made and dropped more often than anything else
class Train(Generic[S_co]):
    """A packet train: consecutive packets of one stream.

    Attributes:
        flow: the stream that they belong to.
        count: number of packets.
        ready: time at which the first is ready at its present stage, in picoseconds.
        step: picoseconds from one packet being ready to the next.
        arrived: arrival time of the first: the end of its frame on the wire, or the time at which a guest began to write it.
        gap: picoseconds from one arrival to the next, where that is constant.
        timestamps: all arrival times where it is not; None otherwise.
        frames: frames of the wire in each packet: more than one where large receive or segmentation offload made it.
        following: the train behind it in the ring that it is in.
    """

    def __init__(
        self,
        flow: S_co,
        count: int,
        ready: int,
        step: int,
        arrived: int,
        gap: int,
        timestamps: list[int] | None = None,
        frames: int = 1,
    ) -> None:
        self.flow = flow
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
        """Make these the packets of the next stage, ready at other times; nobody at an earlier stage looks at them any more."""
        self.ready, self.step = ready, step

    def restamped(self, ready: int, step: int) -> Train[S_co]:
        """Return the same packets for another stage, ready at other times."""
        return Train(self.flow, self.count, ready, step, self.arrived, self.gap, self.timestamps, self.frames)

    def merge(self, other: Train[S_co]) -> bool:
        """Append the packets of ``other`` if they continue this train; returns whether they do. Times of being ready are lost.

        Those with timestamps always do; others do at the same gap, where a picosecond a packet is allowed for: gaps of constant rates are
        rounded down. Packets of several frames are left alone.
        """
        if self.frames + other.frames > 2 or other.flow is not self.flow:
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
            self.flow,
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
