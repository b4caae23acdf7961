"""NetQueue and RSS: the filters that steer frames to them, and the queue balancer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hostsim.errors import WiringError
from hostsim.model.contract import GuestRing, Sender
from hostsim.model.cpu.pcpu import Node, World
from hostsim.model.policy.steering import SteeringRule, toeplitz_once
from hostsim.model.receive.nic import RxQueue
from hostsim.model.receive.vnic import Vnic

__all__ = [
    "NetQueue",
    "VnicFilter",
]


@dataclass(eq=False)
class VnicFilter:
    """The receive filter for a vNIC's MAC address, with its traffic.

    Attributes:
        vnics: receive queues of the vNIC.
        key: RSS key of the vNIC, set by its guest's driver; empty if the ring of the NIC determines the queue of the
            vNIC.
        senders: senders of its frames, each with its RSS hash.
        seen: number of frames at the balancer's last check.
    """

    vnics: list[Vnic]
    key: bytes = b""
    senders: list[tuple[Sender, int]] = field(default_factory=list)
    seen: int = 0

    def vnic(self, packet: bytes, ring: int) -> Vnic:
        """Return the receive queue of a flow.

        Args:
            packet: input of the vNIC's own RSS hash, see `rss_input`.
            ring: ring of the NIC, which counts if the vNIC has no RSS key.
        """
        vnics = self.vnics
        return vnics[(toeplitz_once(self.key, packet) if self.key else ring) % len(vnics)]

    def frames(self) -> int:
        """Return the number of frames that matched the filter, without frames from other VMs of the host."""
        return sum(vnic.frames - vnic.local_frames for vnic in self.vnics)


class NetQueue:
    """The receive queues of a port, each with one ring, or with several rings selected by a steering rule.

    Args:
        queues: rings of each queue for vNICs; the first is the default queue.
        rule: selects the queue of a vNIC, the ring of a flow, and moves.
        node: NUMA node of the port, whose PCPUs run the receive contexts.
        resteer: called when senders change queues; returns the time until which frames have used the old ones.

    Attributes:
        period: picoseconds between two calls of `balance`; None for a port without balancing.
    """

    def __init__(
        self,
        queues: list[list[RxQueue]],
        rule: SteeringRule,
        node: Node,
        *,
        resteer: Callable[[], int],
    ) -> None:
        self._queues, self._rule, self._node, self._resteer = queues, rule, node, resteer
        self._rings: dict[VnicFilter, list[RxQueue]] = {}
        self._filters: list[list[VnicFilter]] = [[] for _ in queues]
        self._flooded: list[Sender] = []
        self._busy = [0] * len(queues)
        self._node_busy = 0
        self.period = rule.period() if len(queues) > 1 else None

    def give(self, target: VnicFilter, rings: list[RxQueue]) -> None:
        """Assign a separate RSS queue to a vNIC."""
        self._rings[target] = rings

    def deal(self, target: VnicFilter, position: int) -> None:
        """Assign the vNIC at a position in the order of power-on to a queue."""
        queues = len(self._queues)
        self._put(target, self._within(self._rule.queue(position, queues), queues))

    def _put(self, target: VnicFilter, queue: int) -> None:
        self._filters[queue].append(target)
        self._rings[target] = self._queues[queue]

    def rings_of(self, target: VnicFilter) -> list[RxQueue]:
        """Return the rings of the queue of a vNIC."""
        return self._rings[target]

    def add(self, target: VnicFilter, sender: Sender, value: int, packet: bytes) -> None:
        """Steer another sender to a vNIC.

        Args:
            target: filter of the vNIC.
            sender: the sender.
            value: RSS hash of its frames at the NIC.
            packet: hash input of the vNIC, see `rss_input`.
        """
        target.senders.append((sender, value))
        sender.vnic = target.vnic(packet, self._steer(sender, value, self.rings_of(target)))

    def flood(self, sender: Sender, value: int) -> None:
        """Steer a sender without a filter (multicast) to the default queue, by its RSS hash with DRSS."""
        self._flooded.append(sender)
        rings = self._queues[0]
        sender.queue = rings[self._ring(sender, value, len(rings))]

    def served(self, receivers: Callable[[Sender], list[GuestRing]]) -> list[tuple[list[RxQueue], list[GuestRing]]]:
        """Return the rings of each queue with the vNIC queues that receive from it.

        Args:
            receivers: returns the receive queues for a sender without a filter.
        """
        by_rings: dict[int, tuple[list[RxQueue], list[GuestRing]]] = {id(rings): (rings, []) for rings in self._queues}
        for target, rings in self._rings.items():
            vnics = by_rings.setdefault(id(rings), (rings, []))[1]
            if target.senders:
                vnics += target.vnics
        if self._flooded:
            flooded = by_rings[id(self._queues[0])][1]
            for sender in self._flooded:
                flooded += receivers(sender)
        return list(by_rings.values())

    def _steer(self, sender: Sender, value: int, rings: list[RxQueue]) -> int:
        """Steer a sender to one of the rings of a queue; returns its index."""
        index = self._ring(sender, value, len(rings))
        sender.queue = rings[index]
        return index

    def _ring(self, sender: Sender, value: int, rings: int) -> int:
        return self._within(self._rule.ring(value, sender.size, rings), rings) if rings > 1 else 0

    def _within(self, index: int, count: int) -> int:
        """Return the index that the steering rule selected.

        Raises:
            WiringError: the index is out of range.
        """
        if not 0 <= index < count:
            raise WiringError(f"{type(self._rule).__name__} selected index {index}; allowed: 0 to {count - 1}")
        return index

    def balance(self, now: int) -> None:
        """Balance: move vNICs between queues by the CPU time of receive contexts and of their node."""
        period = self._rule.period()
        assert period is not None
        busy = [sum(ring.poll.used for ring in rings if isinstance(ring.poll, World)) for rings in self._queues]
        loads = [(used - before) / period for used, before in zip(busy, self._busy, strict=True)]
        counts = [[target.frames() for target in filters] for filters in self._filters]
        members = [
            [count - target.seen for count, target in zip(row, filters, strict=True)]
            for row, filters in zip(counts, self._filters, strict=True)
        ]
        for row, filters in zip(counts, self._filters, strict=True):
            for count, target in zip(row, filters, strict=True):
                target.seen = count
        pcpus = self._node.pcpus
        node_busy = sum([pcpu.busy(now) for pcpu in pcpus])
        moves = self._rule.moves(loads, members, (node_busy - self._node_busy) / (period * len(pcpus)))
        self._node_busy = node_busy
        moved: list[Sender] = []
        for move in moves:
            target = self._filters[move.source].pop(move.member)
            self._put(target, self._within(move.target, len(self._queues)))
            for sender, value in target.senders:
                self._steer(sender, value, self._queues[move.target])
                moved.append(sender)
        if moves:
            steered = self._resteer()
            for sender in moved:
                sender.moved = steered
        self._busy = busy
