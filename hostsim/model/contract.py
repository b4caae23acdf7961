"""What the parts of a packet's path know of each other: flows, streams, wires, queues, pollers, interrupted vCPUs, packet sinks, processes.

Frames are pulled and packets are pushed. A `Wire` is polled: a port asks it for the frames that have come, whenever a receive queue is looked at.
A queue interrupts its `RxPoller`, which polls the queue until it is empty and unmasks the interrupt. A `GuestRing` interrupts an `InterruptTarget`, whose driver
polls the ring in the same way. What a guest sends is pushed into a `PacketSink` before its instants have come; so the sink must be able
to give back the packets that a preempted burst has not written.

Nothing here depends on a part of the path. Parts that handle each packet have compiled base classes; protocols serve calls that are rare or come once a batch.
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
"""An instant that no run reaches, or a capacity that nothing fills."""


STAGES: Final = ("wire", "moderation", "netpoll_wait", "vswitch", "coalescing", "wake", "guest", "transmit")
"""Stages in the order of the way; the wire comes again at its end."""


class RoundTrip:
    """The timestamps of a connection's current request; there is one at a time.

    Args:
        totals: adds up the stages of all round trips of its traffic.
    """

    def __init__(self, totals: Flow) -> None:
        self._totals = totals
        self._arrived = self._interrupted = self._begun = self._ready = self._announced = self._taken = 0

    def off_nic(self, arrived: int, interrupted: int | None, begun: int) -> None:
        """Record that the request is taken off the NIC's ring.

        Args:
            arrived: end of its frame on the wire.
            interrupted: last interrupt of the NIC; one before ``arrived`` did not announce it: the ring was polled when it came.
            begun: when its receive context, entered, began to work on what it took.
        """
        self._arrived = arrived
        self._interrupted = max(arrived, interrupted or 0)
        self._begun = max(self._interrupted, begun)

    def off_ring(self, ready: int, announced: int, taken: int) -> None:
        """Record that the guest takes the request.

        Args:
            ready: when it was on the guest's ring.
            announced: last interrupt of the vNIC; one before ``ready`` did not announce it.
            taken: when the guest began its poll.
        """
        self._ready = max(self._begun, ready)
        self._announced = max(self._ready, announced)
        self._taken = max(self._announced, taken)

    def answered(self, asked: int, posted: int, sent: int, there: int) -> None:
        """Add up the stages: the reply has reached the client.

        Args:
            asked: when the request was made.
            posted: when the guest had written the reply.
            sent: when it was handed to the NIC.
            there: when it came.
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
        window: receive window, or send buffer, whichever bounds the connection.
        in_flight: sent and not yet acknowledged.
    """

    def __init__(self, window: int, initial: int) -> None:
        self.window = window
        self.in_flight = 0
        self._allowed = float(min(window, initial))

    @property
    def allowed(self) -> int:
        """Congestion window: segments that may be in flight."""
        return int(self._allowed)


class Flow(Stream):
    """A flow: all packets of one traffic entry to its receivers, or all bursts of one kind of work.

    Attributes:
        name: for tables only.
        size: bytes of data in a packet; of TCP, in a full segment.
        receivers: virtual ports that get a copy of each.
        is_local: between VMs of the host, so that no frame of it is on a wire.
        groups: groups of VMs that it is of, where these are not those of a traffic entry of its name.
        sent: frames that came off the wire, or bursts that came.
        lost_nic: of the frames, dropped at the physical NIC.
        lost_split: copies dropped at the queues of split-receive contexts.
        lost_ring: frames dropped at the receive rings of vNICs.
        lost_list: frames from other VMs of the host, dropped at full receive lists.
        lost_socket: datagrams dropped at full socket buffers.
        lost_out: frames that guests sent or were to forward, dropped on their way out.
        out: frames of their own that guests handed to physical NICs.
        to_forward: of the copies delivered, those that a guest is to forward.
        forwarded: of these, handed to a physical NIC.
        delivered: copies taken by guests' applications (frames, where offloads joined some), or bursts done.
        users: closed-loop users, each with one request at a time.
        octets: bytes of data that reached the application at their end, on the host or outside.
        latency: of packets, from the end of the frame on the wire to the application's read.
        work_time: of bursts of work, from the arrival to the end.
        asked: requests of clients, where the traffic has such.
        answered: of these, answered in full.
        response: from the request to the end of its answer at the client.
        stages: of requests and replies in turns, picoseconds that round trips spent in each of `STAGES`; else empty.
        windows: of TCP connections that last, each with the bytes of data in its segments.
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
        """Count a request that was answered in full, ``took`` picoseconds after it was made."""
        self.answered += 1
        self.response.add(took, 0, 1)


class Route:
    """The way of packets to another VM of the host."""


class InboundStream(Stream):
    """Packets that a process of a guest handles: frames of a peer, or the process's own turn to send.

    Attributes:
        totals: flow that counts them.
        in_softirq: the guest's kernel handles them by itself, in the softirq that receives them; else a process does.
    """

    totals: Flow
    in_softirq: bool = False

    def handle(self, train: Train[InboundStream], start: int) -> int:
        """Let the process handle packets from ``start`` on; returns the instant at which it is done."""
        raise NotImplementedError


class GuestStream(Stream):
    """Packets that a guest sends: data, acknowledgements or datagrams.

    Exactly one of `sent` and `dropped` is called for each packet.

    Attributes:
        totals: flow that counts its bytes.
        headers: bytes of the headers in front of the data, from that of IP on.
        octets: bytes of a frame, its check sequence left out.
        route: to another VM of the host; None of what goes out by a wire.
        astray: frames on their way by the wire that the network outside loses, so that their data do not count.
    """

    totals: Flow
    headers: int
    octets: int
    route: Route | None = None
    astray: int = 0

    def sent(self, train: Train[GuestStream], first: int, step: int, frame_ps: int) -> None:
        """The packets of a train have left the wire: the first at ``first``, each further one ``step`` later; a frame takes ``frame_ps``."""
        raise NotImplementedError

    def dropped(self, frames: int) -> None:
        """Frames were dropped at a full queue."""
        raise NotImplementedError


class Sender(InboundStream):
    """A sender of frames on a wire: the peer of one connection, or one open-loop flow.

    Attributes:
        totals: flow that counts its frames.
        size: bytes of data in a frame.
        receivers: virtual ports that get a copy of each.
        frame_ps: time of a frame on the wire.
        octets: bytes of a frame, its check sequence and the headers of a tunnel left out.
        burst: frames that it puts on the wire in one go.
        joins: True where large receive offload may join its frames.
        is_full: its frames are full segments of a connection, which receive offloads can join.
        backlog: frames released and not yet on the wire.
        queue: receive queue that its frames are steered to.
        moved: instant up to which its frames went to another: they may still wait there, and be read after frames that came later.
        vnic: receive ring of the guest that they end in; None for multicast.
        round_trip: records the stages of its request; None where latency stages are not measured.
        vcpu: where the process runs that handles them; None where they end in a datagram socket of the vCPU that takes them off the ring.
        path_ps: what a packet takes in the softirq where it does not go through the whole stack; None where it does.
        read_ps: what a process takes to read a datagram, its copy apart; None where the guest's cost counts.
        reads: times in place of ``read_ps``, where these are not constant.
        route: the way from another VM of the host; None where they come from a wire.
    """

    queue: NicQueue
    headers = UDP_HEADERS
    """Bytes of headers around the data, from IP on."""

    def __init__(self, totals: Flow, size: int, frame_ps: int, burst: int, *, joins: bool = False) -> None:
        self.totals, self.size, self.frame_ps, self.burst, self.joins = totals, size, frame_ps, burst, joins
        self.is_full = joins
        self.receivers = totals.receivers
        self.octets = frame_size(size + self.headers)
        self.backlog = self.moved = 0
        self.vnic: GuestRing | None = None
        self.vcpu: InterruptTarget | None = None
        self.round_trip: RoundTrip | None = None
        self.path_ps: int | None = None
        self.read_ps: int | None = None
        self.reads: ServiceTimes | None = None
        self.route: Route | None = None

    def dropped(self, frames: int) -> None:
        """Handle frames dropped on the host: ignored, unless a subclass retransmits them."""


class NicQueue:
    """A receive queue of a physical NIC, as wires, switches and departures know it.

    Attributes:
        memory: NUMA node whose memory the frames are written to.
        interrupted: instant of its last interrupt; None before the first.
        multicast: packets of it that the switch has replicated.
        releases: of frames for it that are not on the wire yet.
        backlogged: number of senders that frames have been released for and that wait for the wire, or have it and want it again.
        adapts: its moderation counts frames and bytes.
    """

    def __init__(self, memory: Node, *, adapts: bool) -> None:
        self.memory, self.adapts = memory, adapts
        self.interrupted: int | None = None
        self.multicast = self.backlogged = 0
        self.releases = Heap()

    def arrive(self, train: Train[Sender]) -> None:
        """Accept frames off the wire; the last of them may still lie ahead."""
        raise NotImplementedError

    def expect(self, at: int) -> None:
        """Expect a frame at ``at``, earlier than `Wire.upcoming` has said."""
        raise NotImplementedError

    def transmits(self, at: int) -> None:
        """Expect a packet to be sent at ``at``, later than those before it: its completion interrupts."""
        raise NotImplementedError

    def departed(self, at: int, descriptors: int, queue: TransmitQueue | None, packets: int) -> None:
        """Record that the NIC has sent packets, the first at ``at``; ``queue`` waits for the completion of its packets, if any."""
        raise NotImplementedError

    def went(self, frames: int, octets: int) -> None:
        """Count frames that the NIC has sent, with their bytes, for its moderation."""
        raise NotImplementedError


class DeliveryLock:
    """The lock of a vNIC that receive contexts deliver to one at a time."""

    def enter(self, ring: NicQueue, start: int, at: int, count: int, outside: int, inside: int) -> int:
        """Take the lock for a train; returns the time that this adds, spinning included.

        Args:
            ring: ring that the context serves.
            start: instant at which its poll began: gaps between trains of a poll, in which it is in front of the lock, are others' to use.
            at: instant at which the context begins with the train.
            count: frames, or packets joined by the NIC; 0 where the context has the lock.
            outside: time that it takes for them in front of the lock.
            inside: time that it has the lock for them.
        """
        raise NotImplementedError


class RingDriver:
    """A driver in a process of the guest, which polls a ring and takes no interrupts."""

    def packets_come(self, at: int) -> None:
        """Expect packets at an instant, past or future: the ring has got them."""

    def completions_come(self, now: int) -> None:
        """Find transmit completions."""


class Completions:
    """The transmit completions of a vNIC's queue."""

    def reclaimed(self, count: int, at: int) -> None:
        """The guest frees completed packets, at an instant that may lie ahead: from then on their descriptors are there again."""
        raise NotImplementedError


class GuestRing:
    """A receive ring of a guest's device, of a vNIC or of a NIC that is passed through: as receive contexts fill it, and as the guest's driver polls it.

    Attributes:
        name: for tables.
        ring: packets in guest memory that the guest has not yet taken; as many fit as descriptors are given to the device.
        vcpu: the vCPU that takes its interrupts.
        lro: software LRO of its packets; None where it is off.
        lock: lock of the whole vNIC, which receive contexts take to deliver; None where they deliver at the same time.
        transmits: transmit queues of the same device that a context of the VMkernel serves.
        completions: of its transmit queue; None where there is none that has any.
        frames: of the wire, put on their way into the ring.
        local_frames: frames from other VMs of the host, of `frames`.
        unicast: packets that the switch has delivered to it, other than copies of multicast; with a split-receive context, all that go past that.
        wait_ps: time for which each byte that was put there last makes its reader wait for memory.
        sum_ps: time for the checksum of a byte, where the guest's kernel checks it.
        raised: instant of its last interrupt.
        reclaimable: packets of its transmit queue that are completed, and that the guest's driver frees in its next poll.
        polled: instant of the guest's last poll.
        gro: the guest's driver has GRO join the frames of a poll.
        is_served: a receive context has put packets there in its present poll.
        is_polled_on: packets came before the driver's poll was done, and it takes them without an interrupt.
        poller: process of the guest that polls it by a driver of its own; None as a rule.
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
        """Deliver packets to the ring, at instants that may lie ahead."""
        raise NotImplementedError

    def ask(self, now: int) -> None:
        """Interrupt the guest for transmit completions, as coalescing allows; one that polls finds them."""
        raise NotImplementedError

    def poll_by(self, poller: RingDriver | None) -> None:
        """Keep the interrupt of this queue masked, because a driver in a process has the device; ``poller`` polls the queue, if any."""
        raise NotImplementedError

    def first_packet(self, now: int) -> int | None:
        """Return the time of the first packet for a driver that polls, past or future, or a lower bound of it; None when none is known to come."""
        return self.ring.first()

    def watch(self, now: int) -> None:
        """Have the driver that polls told of packets that come from now on (`RingDriver.packets_come`); a vNIC does so always."""

    def take(self, limit: int, now: int) -> list[Train[Sender]]:
        """Poll the ring with its interrupt masked."""
        raise NotImplementedError

    def is_drained(self) -> bool:
        """True when nothing is in the ring or known to come; where that is unknown, a poll has to look."""
        raise NotImplementedError

    def reclaim(self, now: int) -> int:
        """Free the transmitted packets that are completed by now, at the beginning of a poll; returns their number."""
        raise NotImplementedError

    def batch(self, budget: int) -> int:
        """Return the part of a poll budget that the guest's driver handles before it refills descriptors."""
        raise NotImplementedError

    def handled(self, at: int, *, drained: bool) -> None:
        """Refill descriptors if it is time to: by ``at`` the driver has handled what it took, and polled the ring empty or not."""
        raise NotImplementedError

    def unmask(self, at: int) -> None:
        """Unmask the interrupt at an instant that may lie ahead: the driver's poll is done."""
        raise NotImplementedError

    def announce(self, now: int) -> None:
        """Raise an interrupt that is due, or that was coalesced if the scheme says so: the guest is about to halt."""
        raise NotImplementedError

    def guest_halts(self, now: int) -> None:
        """Stop holding packets back if the scheme says so: the guest halts."""
        raise NotImplementedError


class Wire:
    """The receive direction of a link, polled by the port behind it.

    A wire is evaluated lazily: neither the times nor the number of polls affect the frames.
    """

    def collect(self, now: int) -> list[Train[Sender]]:
        """Frames that began by ``now`` and were not collected before, in order; their last bits may come a little later."""
        raise NotImplementedError

    def upcoming(self, queue: NicQueue) -> int | None:
        """Lower bound of the instant at which the next frame for a queue ends; None when none is known to come."""
        raise NotImplementedError

    def carry(self, sender: Sender, arrivals: Arrivals) -> None:
        """Add an open-loop flow to the wire."""
        raise NotImplementedError

    def resteer(self) -> None:
        """Follow senders to other receive queues, as set in `Sender.queue`."""
        raise NotImplementedError


@trait
class RxPoller:
    """The consumer of a receive queue: a NetPoll world, or a guest's driver with DirectPath I/O."""

    def interrupt(self, now: int) -> None:
        """Take the queue's interrupt, which stays masked until the poller has emptied the queue and calls `RxQueue.unmask`."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)  # where a vNIC is tested alone
class InterruptTarget(World):
    """The vCPU that takes the interrupts of a vNIC, or of a NIC with DirectPath I/O; its home node has its memory.

    Attributes:
        halted: the guest executes HLT.
        pending_ps: time to be charged with the next burst, in picoseconds.
        halt_queues: transmit queues that it posts to and calls when the guest halts.
        burst_queues: those that it calls when a burst begins and when it ends.
    """

    halted: bool
    pending_ps: int
    halt_queues: list[TransmitQueue]
    burst_queues: list[TransmitQueue]

    def interrupt(self, now: int, vnic: GuestRing) -> None:
        """Take an interrupt, at once or when the vCPU runs; it polls the ring and calls `GuestRing.unmask` when that is empty."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)  # where a vCPU is tested alone
class PacketSink(Generic[S]):
    """A queue that a burst of a vCPU posts packets to ahead of time: a transmit queue, or the inbox of another vCPU."""

    def post(self, train: Train[S]) -> None:
        """Accept packets at instants that may lie ahead."""
        raise NotImplementedError

    def cancel(self, trains: Iterable[Train[S]], now: int) -> list[Train[S]]:
        """Give back those of the packets whose instants lie after ``now``, because the burst that posts them was preempted."""
        raise NotImplementedError


class TransmitQueue(PacketSink[GuestStream]):
    """A transmit queue of a guest device, which vCPUs post packets to: a context of the VMkernel serves it, or the NIC itself does.

    A packet's instant may lie ahead, so the queue learns from its vCPUs when to look: at a halt, at the ends of bursts, as it asks for in `attach`.

    Attributes:
        poster: the vCPU that posts here; of several, the last one.
        doorbell_ps: cost for the guest of announcing a packet.
    """

    poster: InterruptTarget
    doorbell_ps: int

    def attach(self, vcpu: InterruptTarget) -> None:
        """Let a further vCPU post here: list the queue in its `InterruptTarget.halt_queues` or `InterruptTarget.burst_queues`, once."""
        raise NotImplementedError

    def post(self, train: Train[GuestStream]) -> None:
        """Post packets that the guest writes at instants that may lie ahead."""
        raise NotImplementedError

    def cancel(self, trains: Iterable[Train[GuestStream]], now: int) -> list[Train[GuestStream]]:
        """Take back those of the packets that a preempted guest has not written by ``now``."""
        raise NotImplementedError

    def freed(self, count: int, now: int) -> int:
        """The NIC has sent packets of this queue, and its driver has freed them; returns the time that the driver's context takes to complete them."""
        return 0

    def poll_done(self, now: int) -> None:
        """The poll in which packets were freed is over."""

    def look(self, now: int) -> None:
        """Wake the context that serves the queue: a receive context has served the same device."""

    def guest_halts(self, now: int) -> None:
        """Have waiting packets sent: a vCPU that lists the queue in `InterruptTarget.halt_queues` halts."""

    def send(self, now: int) -> None:
        """Transmit the packets written by ``now``: a burst of a vCPU that lists the queue in `InterruptTarget.burst_queues` ends."""

    def send_early(self, end: int = UNBOUNDED) -> None:
        """Arrange to transmit before the ``end`` of such a burst the packets written early in it."""


class GuestProcess(Protocol):
    """A process of a guest that runs in a burst of its own, after the network stack."""

    def run(self, start: int) -> int:
        """Work from ``start`` on; returns the instant at which it is done."""
        ...


@mypyc_attr(allow_interpreted_subclasses=True)  # control loops are not compiled
class ControlLoop:
    """A periodic control loop of the host that switches a feature on and off: its `run` is a SimPy process.

    Attributes:
        state: 1 while the feature is in force, else 0.
    """

    def __init__(self) -> None:
        self.state = Level()

    def run(self) -> ProcessGenerator:
        """Return the process."""
        raise NotImplementedError
