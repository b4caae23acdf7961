"""Interfaces between the parts of a packet's path: flows, streams, wires, queues, pollers, sinks.

Received frames are pulled, transmitted packets are pushed. A port polls its `Wire` for arrived frames whenever a
receive queue is read. A queue interrupts its `RxPoller`, which polls the queue until it is empty and unmasks the
interrupt. A `GuestRing` interrupts an `InterruptTarget`, whose driver polls the ring in the same way. Packets that a
guest sends are pushed into a `PacketSink` ahead of their instants; so the sink must be able to return packets that a
preempted burst has not written.

This module does not depend on any part of the path. Parts that handle each packet have compiled base classes; protocols
are used for calls that are rare or occur once per batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from hostsim.config.nic import UDP_HEADERS, frame_size
from hostsim.engine.arrivals import Arrivals, ServiceTimes
from hostsim.engine.clock import Heap
from hostsim.engine.compiled import mypyc_attr, trait
from hostsim.engine.probe import LatencyLog, Level
from hostsim.engine.ring import Ring, Stream, Train
from hostsim.model.cpu.pcpu import Node, World
from hostsim.model.policy.aggregation import Aggregation

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

__all__ = [
    "STAGES",
    "UNBOUNDED",
    "Completions",
    "ControlLoop",
    "DeliveryLock",
    "Flow",
    "GuestProcess",
    "GuestRing",
    "GuestStream",
    "InboundStream",
    "InterruptTarget",
    "NicQueue",
    "PacketSink",
    "RingDriver",
    "RoundTrip",
    "Route",
    "RxPoller",
    "Sender",
    "TcpWindow",
    "TransmitQueue",
    "Wire",
]

S = TypeVar("S", bound=Stream)
UNBOUNDED: Final = 1 << 62
"""A time that no run reaches, or a capacity that is never full."""


STAGES: Final = ("wire", "moderation", "netpoll_wait", "vswitch", "coalescing", "wake", "guest", "transmit")
"""Stages in the order of the path; the wire is also the last stage."""


class RoundTrip:
    """Timestamps of the current request of a connection, which has one at a time.

    Args:
        totals: flow with the sums of stages of all round trips of its traffic.
    """

    def __init__(self, totals: Flow) -> None:
        self._totals = totals
        self._arrived = self._interrupted = self._begun = self._ready = self._announced = self._taken = 0

    def off_nic(self, arrived: int, interrupted: int | None, begun: int) -> None:
        """Record that the request is taken from the NIC's ring.

        Args:
            arrived: end of its frame on the wire.
            interrupted: last interrupt of the NIC; one before ``arrived`` did not announce it, as the ring was polled
                then.
            begun: time at which its receive context, after entry, began to process the batch.
        """
        self._arrived = arrived
        self._interrupted = max(arrived, interrupted or 0)
        self._begun = max(self._interrupted, begun)

    def off_ring(self, ready: int, announced: int, taken: int) -> None:
        """Record that the guest takes the request.

        Args:
            ready: time at which it was on the guest's ring.
            announced: last interrupt of the vNIC; one before ``ready`` did not announce it.
            taken: time at which the guest began its poll.
        """
        self._ready = max(self._begun, ready)
        self._announced = max(self._ready, announced)
        self._taken = max(self._announced, taken)

    def answered(self, asked: int, posted: int, sent: int, there: int) -> None:
        """Add the stages when the reply has reached the client.

        Args:
            asked: time of the request.
            posted: time at which the guest had written the reply.
            sent: time at which the reply was passed to the NIC.
            there: arrival time of the reply.
        """
        stages = self._totals.stages
        stages[0] += self._arrived - asked + there - sent
        stages[1] += self._interrupted - self._arrived
        stages[2] += self._begun - self._interrupted
        stages[3] += self._ready - self._begun
        stages[4] += self._announced - self._ready
        stages[5] += self._taken - self._announced
        stages[6] += posted - self._taken
        stages[7] += sent - posted


class TcpWindow:
    """The window of a TCP sender, in segments.

    Attributes:
        window: receive window or send buffer, whichever is smaller.
        in_flight: segments sent and not yet acknowledged.
    """

    def __init__(self, window: int, initial: int) -> None:
        self.window = window
        self.in_flight = 0
        self._allowed = float(min(window, initial))

    @property
    def allowed(self) -> int:
        """Congestion window, in segments."""
        return int(self._allowed)


class Flow(Stream):
    """A flow: all packets of a traffic entry to its receivers, or all bursts of one kind of work.

    Attributes:
        name: name in tables; without effect on results.
        size: bytes of data in a packet; for TCP in a full segment.
        receivers: number of virtual ports that receive a copy of each packet.
        is_local: True between VMs of the host, so that no frame uses a wire.
        groups: its VM groups, if these differ from the traffic entry with its name.
        sent: number of frames from the wire, or of bursts.
        lost_nic: number of these frames dropped at the physical NIC.
        lost_split: number of copies dropped at the queues of split-receive contexts.
        lost_ring: number of frames dropped at the receive rings of vNICs.
        lost_list: number of frames from other VMs of the host dropped at full receive lists.
        lost_socket: number of datagrams dropped at full socket buffers.
        lost_out: number of frames that guests sent or forwarded, dropped on the transmit side.
        out: number of frames of guests' own traffic that reached physical NICs.
        to_forward: number of delivered copies that a guest is to forward.
        forwarded: number of these that reached a physical NIC.
        delivered: number of copies read by applications (frames, if offloads joined some), or of finished bursts.
        users: number of closed-loop users, each with one request at a time.
        octets: bytes of data that the receiving application got, on the host or outside.
        latency: latencies of packets, from the end of the frame on the wire to the application's read.
        work_time: times of bursts of work, from arrival to end.
        asked: number of requests of clients, if the traffic has any.
        answered: number of completely answered requests.
        response: times from a request to the end of its answer at the client.
        stages: for alternating requests and replies, total time of round trips in each of `STAGES`, in picoseconds;
            else empty.
        windows: windows of persistent TCP connections, each with the bytes of data in its segments.
    """

    def __init__(self, name: str, size: int, receivers: int) -> None:
        self.name, self.size, self.receivers = name, size, receivers
        self.sent = self.lost_nic = self.lost_out = self.delivered = self.octets = self.users = 0
        self.lost_split = self.lost_ring = self.lost_list = self.lost_socket = 0
        self.is_local = False
        self.groups: tuple[str, ...] = ()
        self.out = self.to_forward = self.forwarded = 0
        self.latency, self.work_time = LatencyLog(), LatencyLog()
        self.asked = self.answered = 0
        self.response = LatencyLog()
        self.stages: list[int] = []
        self.windows: list[tuple[TcpWindow, int]] = []

    def answer(self, took: int) -> None:
        """Count a request whose complete answer took ``took`` picoseconds."""
        self.answered += 1
        self.response.add(took, 0, 1)


class Route:
    """The path of packets to another VM of the host."""


class InboundStream(Stream):
    """Packets for a process of a guest: frames of a peer, or the process's own turn to send.

    Attributes:
        totals: flow with their counters.
        in_softirq: True if the guest's kernel handles them in the receiving softirq; else a process does.
    """

    totals: Flow
    in_softirq: bool = False

    def handle(self, train: Train[InboundStream], start: int) -> int:
        """Handle packets in the process from ``start`` on; returns the time of its end."""
        raise NotImplementedError


class GuestStream(Stream):
    """Packets that a guest sends: data, acknowledgements or datagrams.

    Exactly one of `sent` and `dropped` is called for each packet.

    Attributes:
        totals: flow with the counter of its bytes.
        headers: bytes of headers before the data, from the IP header on.
        octets: bytes of a frame without check sequence.
        route: path to another VM of the host; None for traffic over a wire.
        astray: number of frames on the wire that the network outside loses, whose data does not count.
        frame_ps: time of a frame on the wire of its uplink, in picoseconds.
        uplink: uplink of `frame_ps`; None before its first packet.
    """

    totals: Flow
    headers: int
    octets: int
    route: Route | None = None
    astray: int = 0
    frame_ps: int = 0
    uplink: object = None

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """Record that a train has left the wire.

        The first packet leaves at ``first``, each further one ``step`` later; a frame takes ``frame_ps``
        picoseconds.
        """
        raise NotImplementedError

    def dropped(self, frames: int) -> None:
        """Record frames dropped at a full queue."""
        raise NotImplementedError


class Sender(InboundStream):
    """A sender of frames on a wire: the peer of a connection, or an open-loop flow.

    Attributes:
        totals: flow with counters of its frames.
        size: bytes of data in a frame.
        receivers: number of virtual ports that receive a copy of each frame.
        frame_ps: time of a frame on the wire, in picoseconds.
        octets: bytes of a frame without check sequence and tunnel headers.
        burst: largest number of frames that are placed on the wire at a time.
        empties: True if its turn on the wire sends all frames that wait when it begins, not one burst.
        joins: True if large receive offload may join its frames.
        is_full: True if its frames are full segments of a connection, which receive offloads can join.
        backlog: number of frames released and not yet on the wire.
        queue: receive queue of its frames.
        moved: time until which its frames went to another queue, where they may still wait and be read after later
            frames.
        vnic: receive ring of the guest at the end of their path; None for multicast.
        round_trip: timestamps of its request; None if latency stages are not measured.
        vcpu: vCPU of the process that handles them; None for a datagram socket of the vCPU that takes them from the
            ring.
        path_ps: softirq cost of a packet that does not pass the whole stack, in picoseconds; None if it does.
        read_ps: cost of a read of a datagram in its process without the copy, in picoseconds; None for the guest's
            cost.
        reads: service times instead of ``read_ps``, if these vary.
        route: path from another VM of the host; None for frames from a wire.
    """

    queue: NicQueue
    headers = UDP_HEADERS
    """Bytes of headers before the data, from the IP header on."""

    def __init__(self, totals: Flow, size: int, frame_ps: int, burst: int, *, joins: bool = False) -> None:
        self.totals, self.size, self.frame_ps, self.burst, self.joins = totals, size, frame_ps, burst, joins
        self.is_full = joins
        self.receivers = totals.receivers
        self.octets = frame_size(size + self.headers)
        self.backlog = self.moved = 0
        self.empties = False
        self.vnic: GuestRing | None = None
        self.vcpu: InterruptTarget | None = None
        self.round_trip: RoundTrip | None = None
        self.path_ps: int | None = None
        self.read_ps: int | None = None
        self.reads: ServiceTimes | None = None
        self.route: Route | None = None

    def dropped(self, frames: int) -> None:
        """Handle frames dropped on the host; without effect unless a subclass retransmits them."""


class NicQueue:
    """Interface of a receive queue of a physical NIC for wires, switches and departures.

    Attributes:
        memory: NUMA node of the memory to which frames are written.
        interrupted: time of its last interrupt; None before the first.
        multicast: number of its packets that the switch has replicated.
        releases: releases of frames for it that are not on the wire yet.
        backlogged: number of senders with frames still waiting for the wire.
        adapts: True if its moderation counts frames and bytes.
    """

    def __init__(self, memory: Node, *, adapts: bool) -> None:
        self.memory, self.adapts = memory, adapts
        self.interrupted: int | None = None
        self.multicast = self.backlogged = 0
        self.releases = Heap()

    def arrive(self, train: Train[Sender]) -> None:
        """Accept frames from the wire; the last ones may arrive in the future."""
        raise NotImplementedError

    def expect(self, at: int) -> None:
        """Expect a frame at ``at``, earlier than the result of `Wire.upcoming`."""
        raise NotImplementedError

    def transmits(self, at: int) -> None:
        """Expect the transmission of a packet at ``at``, later than earlier ones; its completion interrupts."""
        raise NotImplementedError

    def departed(self, at: int, descriptors: int, queue: TransmitQueue | None, packets: int) -> None:
        """Record that the NIC has sent packets, the first at ``at``.

        Args:
            at: time of the first, in picoseconds.
            descriptors: number of used descriptors.
            queue: transmit queue that waits for the completions, if any.
            packets: number of packets.
        """
        raise NotImplementedError

    def went(self, frames: int, octets: int) -> None:
        """Count frames and bytes that the NIC has sent, for its moderation."""
        raise NotImplementedError


class DeliveryLock:
    """The lock of a vNIC to which receive contexts deliver one at a time."""

    def enter(self, ring: NicQueue, start: int, at: int, count: int, outside: int, inside: int) -> int:
        """Take the lock for a train; returns the additional time, including spinning.

        Args:
            ring: ring that the context serves.
            start: start of the poll; others may use the time between trains of a poll.
            at: time at which the context begins with the train.
            count: number of frames, or of packets joined by the NIC; 0 if the context has the lock.
            outside: time of their processing before the lock, in picoseconds.
            inside: time of their processing under the lock, in picoseconds.
        """
        raise NotImplementedError


class RingDriver:
    """A driver in a guest process that polls a ring and takes no interrupts."""

    def packets_come(self, at: int) -> None:
        """Expect packets in the ring at a time, past or future."""

    def completions_come(self, now: int) -> None:
        """Handle transmit completions."""


class Completions:
    """The transmit completions of a vNIC's queue."""

    def reclaimed(self, count: int, at: int) -> None:
        """Free the descriptors of completed packets at ``at``, which may be in the future."""
        raise NotImplementedError


class GuestRing:
    """A receive ring of a guest device: a vNIC, or a passed-through NIC.

    Receive contexts, or the NIC, fill it; the guest's driver polls it.

    Attributes:
        name: name in tables.
        ring: packets in guest memory that the guest has not taken; its capacity is the number of free descriptors.
        vcpu: vCPU that takes its interrupts.
        lro: software LRO of its packets; None if off.
        lock: lock of the whole vNIC for deliveries; None if receive contexts deliver simultaneously.
        transmits: transmit queues of the device that a VMkernel context serves.
        completions: completions of its transmit queue; None without any.
        frames: number of frames on the wire of the packets put on the ring so far.
        local_frames: number of these frames from other VMs of the host.
        unicast: number of packets that the switch delivered directly, without copies of multicast; with a split-receive
            context, all packets that bypass it.
        wait_ps: wait of the reader for memory for each byte of the last packets, in picoseconds.
        sum_ps: time of the checksum of a byte if the guest's kernel verifies it, in picoseconds.
        raised: time of its last interrupt.
        reclaimable: number of completed packets of its transmit queue, which the guest's driver frees in its next poll.
        polled: time of the guest's last poll.
        gro: True if the guest's driver uses GRO to join the frames of a poll.
        is_served: True if a receive context has put packets there in its current poll.
        is_polled_on: True if packets arrived before the end of the driver's poll, which takes them without an
            interrupt.
        poller: guest process that polls it with its own driver; usually None.
    """

    def __init__(self, name: str, capacity: int, vcpu: InterruptTarget, lro: Aggregation | None) -> None:
        self.name, self.vcpu, self.lro = name, vcpu, lro
        self.ring: Ring[Sender] = Ring(capacity)
        self.lock: DeliveryLock | None = None
        self.transmits: list[TransmitQueue] = []
        self.completions: Completions | None = None
        self.frames = self.local_frames = self.unicast = self.raised = self.reclaimable = self.polled = 0
        self.wait_ps = self.sum_ps = 0.0
        self.gro = self.is_polled_on = self.is_served = False
        self.poller: RingDriver | None = None

    def receive(self, train: Train[Sender]) -> None:
        """Deliver packets to the ring, at times that may be in the future."""
        raise NotImplementedError

    def ask(self, now: int) -> None:
        """Request an interrupt for transmit completions, subject to coalescing; a polling guest needs none."""
        raise NotImplementedError

    def poll_by(self, poller: RingDriver | None) -> None:
        """Keep the interrupt masked, as a driver in a process owns the device.

        ``poller`` polls the queue, if any.
        """
        raise NotImplementedError

    def first_packet(self, now: int) -> int | None:
        """Return the time of the first packet for a polling driver, or a lower bound; may be past.

        None if no packet is known to arrive.
        """
        return self.ring.first()

    def watch(self, now: int) -> None:
        """Notify the polling driver of packets from now on (`RingDriver.packets_come`); a vNIC always does."""

    def take(self, limit: int, now: int) -> list[Train[Sender]]:
        """Poll the ring with its interrupt masked."""
        raise NotImplementedError

    def is_drained(self) -> bool:
        """True if the ring is empty and no packet is known to arrive.

        False if that is unknown, so that a poll is needed.
        """
        raise NotImplementedError

    def reclaim(self, now: int) -> int:
        """Free the packets completed by now, at the beginning of a poll; returns their number."""
        raise NotImplementedError

    def batch(self, budget: int) -> int:
        """Return the number of packets of a poll budget that the driver handles before it refills descriptors."""
        raise NotImplementedError

    def handled(self, at: int, *, drained: bool) -> None:
        """Refill descriptors if due, after the driver has handled a batch.

        Args:
            at: end of the batch.
            drained: True if its poll emptied the ring.
        """
        raise NotImplementedError

    def unmask(self, at: int) -> None:
        """Unmask the interrupt at the end of the driver's poll, which may be in the future."""
        raise NotImplementedError

    def announce(self, now: int) -> None:
        """Raise a due interrupt before the guest halts, or a coalesced one if the scheme requires it."""
        raise NotImplementedError

    def guest_halts(self, now: int) -> None:
        """End the wait of packets at a halt of the guest, if the scheme requires it."""
        raise NotImplementedError


class Wire:
    """The receive direction of a link, polled by the port behind it.

    A wire is evaluated lazily: the frames do not depend on the times or the number of polls.
    """

    def collect(self, now: int) -> list[Train[Sender]]:
        """Return frames that began by ``now`` and were not collected, in order.

        Their last bits may arrive slightly later.
        """
        raise NotImplementedError

    def upcoming(self, queue: NicQueue) -> int | None:
        """Return a lower bound of the end of the next frame for a queue; None if no frame is known."""
        raise NotImplementedError

    def carry(self, sender: Sender, arrivals: Arrivals) -> None:
        """Add an open-loop flow to the wire."""
        raise NotImplementedError

    def resteer(self) -> int:
        """Move senders to other receive queues, as set in `Sender.queue`.

        Returns the end of the last frame on the wire that already has its queue, in picoseconds; 0 without one.
        """
        raise NotImplementedError


@trait
class RxPoller:
    """The consumer of a receive queue: a NetPoll world, or a guest's driver with DirectPath I/O."""

    def interrupt(self, now: int) -> None:
        """Take the queue's interrupt.

        It stays masked until the poller empties the queue and calls `RxQueue.unmask`.
        """
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)  # tests use a vNIC alone
class InterruptTarget(World):
    """The vCPU that takes the interrupts of a vNIC, or of a NIC with DirectPath I/O.

    Its home node has its memory.

    Attributes:
        halted: True while the guest executes HLT.
        pending_ps: time to charge with the next burst, in picoseconds.
        halt_queues: transmit queues with its packets that are notified when the guest halts.
        burst_queues: transmit queues with its packets that are notified at the beginning and end of a burst.
    """

    halted: bool
    pending_ps: int
    halt_queues: list[TransmitQueue]
    burst_queues: list[TransmitQueue]

    def interrupt(self, now: int, vnic: GuestRing) -> None:
        """Take an interrupt, now or when the vCPU runs.

        The vCPU polls the ring until it is empty, then calls `GuestRing.unmask`.
        """
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)  # tests use a vCPU alone
class PacketSink(Generic[S]):
    """A queue to which a burst of a vCPU posts packets ahead of time.

    It is a transmit queue, or the inbox of another vCPU.
    """

    def post(self, train: Train[S]) -> None:
        """Accept packets, at times that may be in the future."""
        raise NotImplementedError

    def cancel(self, trains: Iterable[Train[S]], now: int) -> list[Train[S]]:
        """Remove and return the packets after ``now``, as the burst that posts them was preempted."""
        raise NotImplementedError


class TransmitQueue(PacketSink[GuestStream]):
    """A transmit queue of a guest device, to which vCPUs post packets.

    A VMkernel context serves it, or the NIC itself. A packet's time may be in the future, so that vCPUs notify the
    queue: at a halt, at the ends of bursts, as requested in `attach`.

    Attributes:
        poster: vCPU that posts; the last one of several.
        doorbell_ps: the guest's cost of announcing a packet, in picoseconds.
    """

    poster: InterruptTarget
    doorbell_ps: int

    def attach(self, vcpu: InterruptTarget) -> None:
        """Add a vCPU that posts: list the queue in its `InterruptTarget.halt_queues` or `burst_queues`, once."""
        raise NotImplementedError

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the guest writes, at times that may be in the future."""
        raise NotImplementedError

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Remove and return the packets that a preempted guest has not written by ``now``."""
        raise NotImplementedError

    def freed(self, count: int, now: int) -> int:
        """Complete packets of this queue that the NIC has sent and its driver has freed.

        Returns:
            Time of the driver's context for their completion, in picoseconds.
        """
        return 0

    def poll_done(self, now: int) -> None:
        """End the poll in which packets were freed."""

    def look(self, now: int) -> None:
        """Wake the context of the queue, after a receive context has served the same device."""

    def guest_halts(self, now: int) -> None:
        """Send waiting packets, as a vCPU that lists the queue in `InterruptTarget.halt_queues` halts."""

    def send(self, now: int) -> None:
        """Send the packets written by ``now``, at the end of a burst.

        A vCPU that lists the queue in `InterruptTarget.burst_queues` calls this.
        """

    def send_early(self, end: int = UNBOUNDED) -> None:
        """Schedule the transmission of early packets of such a burst, before its ``end``."""


class GuestProcess(Protocol):
    """A guest process that runs in its own burst, after the network stack."""

    def run(self, start: int) -> int:
        """Work from ``start`` on; returns the time of the end."""
        ...


@mypyc_attr(allow_interpreted_subclasses=True)  # control loops are not compiled
class ControlLoop:
    """A periodic control loop of the host that switches a feature on and off.

    Its `run` is a SimPy process.

    Attributes:
        state: 1 while the feature is active, else 0.
    """

    def __init__(self) -> None:
        self.state = Level()

    def run(self) -> ProcessGenerator:
        """Return the process."""
        raise NotImplementedError
