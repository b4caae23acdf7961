"""Flows: the packets of one traffic source, with counters, latencies by stage, and the senders of their packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostsim.config.nic import UDP_HEADERS, frame_size
from hostsim.engine.packet_train import Stream
from hostsim.engine.probe import LatencyLog
from hostsim.model.contract import InboundStream

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu
    from hostsim.model.receive.rx_queue import RxQueue
    from hostsim.model.receive.vnic import Vnic
    from hostsim.model.transmit.local_delivery import LocalRoute

__all__ = [
    "STAGES",
    "Flow",
    "RoundTrip",
    "Sender",
]


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


class Flow(Stream):
    """A flow: all packets of one traffic entry to its receivers, or all bursts of one kind of work.

    Attributes:
        name: for tables only.
        size: bytes of data in a packet; of TCP, in a full segment.
        receivers: virtual ports that get a copy of each.
        is_local: between VMs of the host, so that no frame of it is on a wire.
        sent: frames that came off the wire, or bursts that came.
        lost_nic: of the frames, dropped at the physical NIC.
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
        stages: of requests and replies in turns, picoseconds that round trips spent in each of `hostsim.model.traffic.flow.STAGES`; else empty.
    """

    def __init__(self, name: str, size: int, receivers: int) -> None:
        self.name, self.size, self.receivers = name, size, receivers
        self.sent = self.lost_nic = self.lost_out = self.delivered = self.octets = self.users = 0
        self.is_local = False
        self.out = self.to_forward = self.forwarded = 0
        self.latency, self.work_time = LatencyLog(), LatencyLog()
        self.asked = self.answered = 0
        self.response = LatencyLog()
        self.stages: list[int] = []

    def answer(self, took: int) -> None:
        """Count a request that was answered in full, ``took`` picoseconds after it was made."""
        self.answered += 1
        self.response.add(took, 0, 1)


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
        route: the way from another VM of the host; None where they come from a wire.
    """

    queue: RxQueue
    headers = UDP_HEADERS
    """Bytes of headers around the data, from IP on."""

    def __init__(self, totals: Flow, size: int, frame_ps: int, burst: int, *, joins: bool = False) -> None:
        self.totals, self.size, self.frame_ps, self.burst, self.joins = totals, size, frame_ps, burst, joins
        self.is_full = joins
        self.receivers = totals.receivers
        self.octets = frame_size(size + self.headers)
        self.backlog = self.moved = 0
        self.vnic: Vnic | None = None
        self.vcpu: Vcpu | None = None
        self.round_trip: RoundTrip | None = None
        self.path_ps: int | None = None
        self.route: LocalRoute | None = None

    def dropped(self, frames: int) -> None:
        """Handle frames dropped on the host: ignored, unless a subclass retransmits them."""
