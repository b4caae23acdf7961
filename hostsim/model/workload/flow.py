"""Flows: the packets of one traffic source, with their counters and latencies, and the senders that put them on wires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.packet_train import Stream
from hostsim.engine.probe import LatencyLog
from hostsim.model.contract import InboundStream
from hostsim.spec.network import UDP_HEADERS, frame_size

if TYPE_CHECKING:
    from hostsim.model.guest.vcpu import Vcpu
    from hostsim.model.net.local_delivery import LocalRoute
    from hostsim.model.net.rx_queue import RxQueue
    from hostsim.model.net.vnic import Vnic
    from hostsim.model.workload.latency_stage import RoundTrip

__all__ = ["Flow", "Sender"]


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
        stages: of requests and replies in turns, picoseconds that round trips spent in each of `hostsim.model.workload.latency_stage.STAGES`; else empty.
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
