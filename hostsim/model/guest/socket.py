"""Datagram sockets of a guest: packets in their buffers, and the times of their reads."""

from __future__ import annotations

from hostsim.engine.ring import Train
from hostsim.errors import InvariantError
from hostsim.model.contract import UNBOUNDED, Sender

__all__ = ["DatagramSocket"]


class DatagramSocket:
    """The datagram sockets that a vCPU's softirqs fill and a process reads, packet after packet.

    The process sleeps while they are empty; the next packet wakes it.

    Args:
        name: name of the vCPU, for errors.
        wake: time to wake the process, in picoseconds.
        buffer: size of the buffer in bytes.
        overhead: bytes charged for each packet in addition to its data.

    Attributes:
        wake_ps: time to wake the process, in picoseconds.
        waiting: first packets in the buffer, linked to the next; ``step`` is the time to read each.
        reading: time of the process for all waiting packets, including its wake-up, in picoseconds.
    """

    def __init__(self, name: str, wake: int, buffer: int, overhead: int) -> None:
        self._name, self.wake_ps, self._buffer, self._overhead = name, wake, buffer, overhead
        self.waiting: Train[Sender] | None = None
        self._last: Train[Sender] | None = None
        self._octets = self.reading = self._waking = 0
        self._newest: dict[Sender, int] = {}
        """Arrival of the newest read packet of each sender, except the latest sender."""
        self._sender: Sender | None = None
        self._newest_of_sender = 0

    def admit(self, train: Train[Sender], read: int) -> int:
        """Put packets into the buffer, each read in ``read`` picoseconds; returns the number of dropped ones."""
        size = train.stream.size + self._overhead
        room = (self._buffer - self._octets) // size if size else train.count
        dropped = max(0, train.count - room)
        if dropped:
            if not room:
                return dropped
            train = train.split(room)
        self._octets += train.count * size
        self.reading += train.count * read
        train.step = read
        last = self._last
        if self.waiting is None or last is None:
            self.waiting = train
            self._waking = self.wake_ps
            self.reading += self.wake_ps
        else:
            last.following = train
        self._last = train
        return dropped

    def read(self, now: int, left: int = 0) -> int:
        """Count the packets that the process has read by ``now``; returns their number.

        Args:
            now: current time.
            left: time to read the rest, in picoseconds.

        Raises:
            InvariantError: packets of a sender are out of order without a move to another receive queue.
        """
        total = 0
        at = now + left - self.reading
        if self._waking:
            woken = min(self._waking, self.reading - left)
            self._waking -= woken
            self.reading -= woken
            at += woken
        while (train := self.waiting) is not None:
            read = train.step
            spent = self.reading - left
            done = train.count if train.count * read <= spent else spent // read if read else 0
            if done <= 0:
                break
            if done < train.count:
                train = train.split(done)
            else:
                self.waiting = train.following
                train.following = None
            self.count(train, at, read)
            at += done * read
            self.reading -= done * read
            self._octets -= done * (train.stream.size + self._overhead)
            total += done
        return total

    def room(self, flow: Sender) -> int:
        """Return the number of a flow's packets that fit in an empty buffer."""
        size = flow.size + self._overhead
        return self._buffer // size if size else UNBOUNDED

    def call_ps(self) -> int | None:
        """Return the time of the process for the next waiting datagram in picoseconds, or None."""
        waiting = self.waiting
        return None if waiting is None else self._waking + waiting.step

    def held(self) -> int:
        """Return the number of waiting packets."""
        count = 0
        train = self.waiting
        while train is not None:
            count += train.count
            train = train.following
        return count

    def count(self, train: Train[Sender], start: int, read: int) -> None:
        """Count a train that the process reads, packet after packet, from ``start``."""
        sender = train.stream
        flow = sender.totals
        count = train.count
        if sender is not self._sender:
            if self._sender is not None:
                self._newest[self._sender] = self._newest_of_sender
            self._sender, self._newest_of_sender = sender, self._newest.get(sender, 0)
        newest = self._newest_of_sender
        if train.arrived >= newest:
            self._newest_of_sender = train.arrived
        elif train.arrived > sender.moved:
            raise InvariantError(
                f"a packet that arrived at {train.arrived} ps is read after one that arrived at {newest} ps",
                f"{self._name}, {flow.name}",
                start,
            )
        flow.delivered += count
        flow.octets += count * sender.size
        if train.timestamps is None:
            flow.latency.add(start + read - train.arrived, read - train.gap, count)
        else:
            flow.latency.add_each(train.timestamps, start + read, read)
