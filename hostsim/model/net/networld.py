"""A NetWorld: the transmit context that takes packets off vNICs' rings and sends them through the switch to the wire.

Posting a packet on a vmxnet3 costs a guest nothing more than writing a descriptor. A transmit context that sleeps is woken in one of four ways, counted apart:
by a call from the guest once so many packets wait (forced), by the receive context when it serves the same vNIC (opportunistic), when
the guest halts, or by a timer. How many packets wait before a guest calls follows from how fast it sends: such that it calls at
most so many times a second, as receive coalescing bounds interrupts. A patient queue's context is woken only when the guest halts,
or by a longer timer.

A guest never calls for an e1000: it writes to a register for each packet, which the monitor takes note of, and the VMkernel finds the packets when it polls, in
the other three ways. What it takes off an e1000 it copies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Ring
from hostsim.engine.train import Stream, Train
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Node, Scheduler
from hostsim.model.cpu.world import World, WorldState
from hostsim.model.net.pnic import Pnic
from hostsim.model.timing import Timing
from hostsim.policy.coalescing import RATE_WINDOW
from hostsim.spec.network import packet_on_wire
from hostsim.units import SECOND, transmission_ps

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu
    from hostsim.model.traffic.flow import Flow

__all__ = ["CAUSES", "NetWorld", "TxCoalescing", "TxQueue", "Uplink"]

CAUSES = ("forced", "opportunistic", "halted", "timed")
"""Ways in which a transmit context is woken."""
_FORCED: Final = 0
_OPPORTUNISTIC: Final = 1
_HALTED: Final = 2
_TIMED: Final = 3
_SLEEPING: Final = WorldState.SLEEPING
NEVER: Final = 1 << 30
"""Packets that never wait on a ring together."""


class Outgoing(Stream):
    """What a packet that a guest sends belongs to."""

    __slots__ = ("totals",)
    totals: Flow
    """Counts its bytes."""
    headers: int
    """Bytes of the headers in front of the data, from that of IP on."""

    def sent(self, train: Train, first: int, step: int, frame_ps: int) -> None:
        """The packets of a train are through the wire: the first at ``first``, each further one ``step`` later."""
        raise NotImplementedError

    def dropped(self, frames: int) -> None:
        """Frames found no room."""
        raise NotImplementedError


class TxCoalescing:
    """How a platform coalesces transmits; of an e1000 it has no calls to bound."""

    __slots__ = ("call_rate", "calls", "depth_cap", "timeout")

    def __init__(self, timeout: int, depth_cap: int, call_rate: int, *, calls: bool = True) -> None:
        self.timeout, self.depth_cap, self.call_rate, self.calls = timeout, depth_cap, call_rate, calls


class Uplink:
    """The way from a virtual port to the wire.

    Attributes:
        nic: port of a physical NIC.
    """

    __slots__ = ("_cut_ps", "_frames", "_own_ps", "_packet_ps", "_rate", "_segments", "_vxlan", "nic")

    def __init__(self, nic: Pnic, rate: float, timing: Timing, driver: str, *, vxlan: bool, tso: bool) -> None:
        """A way out.

        Args:
            nic: port of a physical NIC.
            rate: its bits a second.
            timing: costs.
            driver: kind of its driver.
            vxlan: packets go out in VXLAN.
            tso: the NIC cuts these packets into frames; else the VMkernel does.
        """
        self.nic = nic
        self._rate, self._vxlan, self._segments = rate, vxlan, not tso
        self._packet_ps = timing.tx_packet
        self._own_ps = timing.tx_frame[driver] + (timing.vxlan_encap if vxlan else 0)
        self._cut_ps = timing.segment_software + self._own_ps
        self._frames: dict[int, int] = {}

    def work_ps(self, frames: int) -> int:
        """Time of a transmit context for a packet of ``frames`` frames: where the VMkernel cuts it, each is a packet to what follows."""
        return self._packet_ps + (frames * self._cut_ps if self._segments and frames > 1 else self._own_ps)

    def send(self, train: Train) -> None:
        """Put packets on the wire at their instants."""
        flow: Outgoing = train.flow  # type: ignore[assignment]  # what guests send
        octets = flow.size + flow.headers
        frame = self._frames.get(octets)
        if frame is None:
            on_wire = packet_on_wire(octets, vxlan=self._vxlan)
            frame = self._frames[octets] = transmission_ps(on_wire, self._rate)
        through = self.nic.transmit(train, frame, cut=self._segments)
        if through is None:
            flow.dropped(train.count * train.frames)
        else:
            first, step = through
            flow.sent(train, first, step, frame)


class TxQueue:
    """A transmit queue of a vNIC.

    Attributes:
        name: for tables.
        ring: descriptors, and what waits in the guest's queue discipline before them.
        uplink: where its packets go.
        poster: the vCPU that posts here; of several, the last one.
        copied: bytes of a packet up to which its context copies it; 0 where it maps the guest's memory.
        doorbell_ps: what it costs the guest to announce a packet.
        wakes: by cause, how often its context was woken for it.
    """

    __slots__ = (
        "_coalescing",
        "_count",
        "_depth",
        "_patience",
        "_since",
        "_timer",
        "_waiting",
        "_world",
        "copied",
        "doorbell_ps",
        "name",
        "poster",
        "ring",
        "uplink",
        "wakes",
    )

    def __init__(
        self, clock: Clock, name: str, capacity: int, coalescing: TxCoalescing, uplink: Uplink, vcpu: Vcpu
    ) -> None:
        self.name, self.uplink, self.poster = name, uplink, vcpu
        self.ring = Ring(capacity)
        self.ring.on_drop = _tell
        self.wakes = [0, 0, 0, 0]
        self.copied = self.doorbell_ps = 0
        self._coalescing = coalescing
        self._depth, self._since, self._count, self._waiting = 1 if coalescing.calls else NEVER, 0, 0, 0
        self._patience: int | None = None
        self._timer = Timer(clock, self._due)
        self._world: NetWorld

    def serve(self, world: NetWorld) -> None:
        """From now on ``world`` takes packets from here."""
        self._world = world

    def be_patient(self, timeout: int | None) -> None:
        """From now on, wake the context only when the guest halts or after ``timeout``; None: as usual again."""
        self._patience = timeout
        self._depth = 1 if timeout is None and self._coalescing.calls else NEVER
        if self._world.state is _SLEEPING:
            self._timer.disarm()
            self.await_wake()

    def _timeout(self) -> int:
        return self._coalescing.timeout if self._patience is None else self._patience

    def hand(self, train: Train) -> None:
        """Packets that the guest will have written at their instants."""
        self.ring.push(train)
        self.poster.owed += train.count * self.doorbell_ps
        if self._patience is None and self._coalescing.calls:
            self._rate(train)
        if self._world.state is not _SLEEPING:
            return
        before = self._waiting
        self._waiting = before + train.count
        if before < self._depth <= self._waiting:
            due = train.ready + (self._depth - before - 1) * train.step
        elif not before:
            due = train.ready + self._timeout()
        else:
            return
        self._timer.arm_by(due)

    def take_back(self, trains: Iterable[Train], now: int) -> list[Train]:
        """Those of the packets that are not written by ``now``: the guest was cut short."""
        back = self.ring.recall(trains, now)
        count = sum(train.count for train in back)
        self._waiting -= count
        self._count -= count
        self.poster.owed -= count * self.doorbell_ps
        return back

    def coming(self, now: int) -> int:
        """Packets that the guest will have written at instants that lie ahead, if it is not cut short."""
        return sum(count for _, count in self.ring.coming(now))

    def _rate(self, train: Train) -> None:
        """Packets that wait before the guest calls: as many as it sends in the least time between two calls."""
        self._count += train.count
        passed = train.ready - self._since
        if passed >= RATE_WINDOW:
            in_window = self._count * SECOND // (passed * self._coalescing.call_rate)
            self._depth = max(1, min(self._coalescing.depth_cap, in_window))
            self._since, self._count = train.ready, 0

    def await_wake(self) -> None:
        """The context sleeps: arrange for its wake-up, if there is anything or something known to come."""
        ring = self.ring
        self._waiting = ring.pushed - ring.taken - ring.dropped
        first = ring.first()
        if first is None:
            return
        due = first + self._timeout()
        full = ring.nth(self._depth) if self._depth < NEVER else None
        if full is not None and full < due:
            due = full
        self._timer.arm_by(due)

    def _due(self, now: int) -> None:
        if self._world.state is not _SLEEPING:
            return
        self.ring.settle(now)
        ring, held = self.ring, self.ring.held
        if held >= self._depth:
            self.poster.owed += self._world.call_ps
            self._wake(_FORCED, now)
        elif held and (oldest := ring.first()) is not None and oldest + self._timeout() <= now:
            self._wake(_TIMED, now)
        else:  # what it was armed for has been taken back
            self.await_wake()

    def look(self, now: int) -> None:
        """Another context serves this vNIC: it wakes the transmit context if anything waits."""
        if self._patience is None and self._world.state is _SLEEPING and self._waits(now):
            self._wake(_OPPORTUNISTIC, now)

    def guest_halts(self, now: int) -> None:
        """The guest halts: whatever it posted goes now."""
        if self._world.state is _SLEEPING and self._waits(now):
            self._wake(_HALTED, now)

    def _waits(self, now: int) -> bool:
        ring = self.ring
        if ring.pushed == ring.taken + ring.dropped:
            return False
        ring.settle(now)
        return ring.held > 0

    def _wake(self, cause: int, now: int) -> None:
        self.wakes[cause] += 1
        self._timer.disarm()
        self._world.wake(now)


def _tell(train: Train) -> None:
    train.flow.dropped(train.count * train.frames)  # type: ignore[attr-defined]  # what guests send


class NetWorld(World):
    """The transmit context of a VM, of a vNIC, or of a queue.

    Attributes:
        call_ps: what a guest's call that wakes it costs the guest.
        queues: transmit queues that it serves, in turns.
    """

    __slots__ = ("_bound", "_entry", "_next", "_scheduler", "_timing", "_woken", "call_ps", "queues")

    def __init__(self, name: str, node: Node, last: Pcpu, scheduler: Scheduler, timing: Timing, bound: int) -> None:
        super().__init__("networld", name, system=True, node=node, last=last)
        self._scheduler, self._timing, self._bound = scheduler, timing, bound
        self._entry, self.call_ps = timing.poll_entry, timing.vmk_call
        self.queues: list[TxQueue] = []
        self._next = 0
        self._woken = False

    def wake(self, now: int) -> None:
        """There is something to send."""
        self._woken = True
        self._scheduler.wake(self, now)

    def begin(self, start: int) -> int | None:
        end = start
        if self._woken:
            self._woken = False
            end += self._entry
        queues = self.queues
        for turn in range(len(queues)):
            queue = queues[(self._next + turn) % len(queues)]
            bound = self._bound
            while bound and (taken := queue.ring.take(bound, end)):  # and what is posted meanwhile
                for train in taken:
                    bound -= train.count
                    work = queue.uplink.work_ps(train.frames) + self._copy_ps(queue, train)
                    queue.uplink.send(train.again(end + work, work))
                    end += train.count * work
            if bound < self._bound:
                self._next = (self._next + turn + 1) % len(queues)
                break
        return end - start if end > start else None

    def _copy_ps(self, queue: TxQueue, train: Train) -> int:
        """Time to copy a packet out of the guest's memory; small ones of a vmxnet3 are part of ``networld_tx``."""
        if not queue.copied:
            return 0
        octets = train.flow.size * train.frames
        return self._timing.copied(octets) if octets <= queue.copied else 0

    def has_work(self, now: int) -> bool:
        for queue in self.queues:
            queue.ring.settle(now)
        return any(queue.ring.held for queue in self.queues)

    def rest(self, now: int) -> None:
        for queue in self.queues:
            queue.await_wake()
