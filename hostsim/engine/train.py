"""A train: packets of one flow that follow each other, with their instants, in one object.

The unit of work is a batch, but a batch keeps its packets' instants. A context that works through packets back to back
hands each on at the instant its own work is done; those instants are an arithmetic sequence, so a train of a thousand
packets costs what a train of one costs.
"""

from __future__ import annotations

from hostsim.compiled import mypyc_attr

__all__ = ["Stream", "Train"]


class Stream:
    """What a train belongs to: the flow whose packets it carries.

    Attributes:
        size: bytes of data in a packet.
    """

    __slots__ = ("size",)

    size: int


@mypyc_attr(free_list_len=1)  # made and dropped more often than anything else
class Train:
    """Consecutive packets of one flow.

    Attributes:
        flow: the flow they belong to.
        count: number of packets.
        ready: instant at which the first is here, in picoseconds.
        step: picoseconds between one and the next being here.
        born: instant at which the first left the wire.
        gap: picoseconds between the births of one and the next, where that is constant.
        births: all instants of birth where it is not; None otherwise.
        frames: frames of the wire in each packet: more than one where large receive or segmentation offload made it.
    """

    __slots__ = ("births", "born", "count", "flow", "frames", "gap", "ready", "step")

    def __init__(
        self,
        flow: Stream,
        count: int,
        ready: int,
        step: int,
        born: int,
        gap: int,
        births: list[int] | None = None,
        frames: int = 1,
    ) -> None:
        self.flow = flow
        self.count = count
        self.ready = ready
        self.step = step
        self.born = born
        self.gap = gap
        self.births = births
        self.frames = frames

    def born_at(self) -> list[int]:
        """Instant of birth of every packet."""
        births = self.births
        return births if births is not None else [self.born + i * self.gap for i in range(self.count)]

    def here(self, now: int) -> int:
        """Number of packets that are here at ``now``."""
        late = now - self.ready
        if late < 0:
            return 0
        if self.step == 0:
            return self.count
        return min(self.count, late // self.step + 1)

    def again(self, ready: int, step: int) -> Train:
        """The same packets at another place, at other instants."""
        return Train(self.flow, self.count, ready, step, self.born, self.gap, self.births, self.frames)

    def absorb(self, other: Train) -> bool:
        """Take the packets of ``other`` in, if they follow these at the same gap; instants of being here are lost by it.

        A picosecond a packet is allowed for: gaps of constant rates are rounded down. Packets of several frames are left alone.
        """
        if self.frames + other.frames > 2:
            return False
        if other.flow is not self.flow or other.births is not None or self.births is not None:
            return False
        if not 0 <= other.born - self.born - self.count * self.gap <= self.count:
            return False
        self.count += other.count
        return True

    def split(self, count: int) -> Train:
        """Cut off and return the first ``count`` packets (fewer than all); the rest stays."""
        births = self.births
        front = Train(
            self.flow,
            count,
            self.ready,
            self.step,
            self.born,
            self.gap,
            None if births is None else births[:count],
            self.frames,
        )
        self.count -= count
        self.ready += count * self.step
        if births is None:
            self.born += count * self.gap
        else:
            self.births = births = births[count:]
            self.born = births[0]
        return front
