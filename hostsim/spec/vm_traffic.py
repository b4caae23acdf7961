"""VM-to-VM traffic: datagrams and TCP streams between VMs of the same host, which no wire carries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hostsim.spec.field import Names
from hostsim.spec.quantity import PositiveDuration, Rate, Size
from hostsim.spec.traffic import Pace, Traffic
from hostsim.units import SECOND

__all__ = ["ReceivePath", "VmDatagramsSpec", "VmTcpStreamSpec", "VmTraffic"]

VnicNumber = Annotated[int, Field(ge=0, le=9)]
"""Number of a vNIC of a VM."""
ReceivePath = Literal["socket", "stack", "packet_socket", "poll", "xdp_drop", "xdp_skb_drop", "xdp_tx", "xdp_skb_tx"]
"""Ways of a packet into a guest."""


class VmTraffic(Traffic):
    """Base of VM-to-VM traffic. VM number n of ``sender`` sends to VM number n of ``to``, the receivers counted round."""

    sender: Names
    """Names of the groups of VMs that send."""
    to: Names
    """Names of the groups of VMs that receive; none of them sends."""
    vnic: VnicNumber = 0
    """Which vNIC of a sending VM the packets leave by."""
    to_vnic: VnicNumber = 0
    """Which vNIC of a receiving VM they come in by; both are on one virtual switch."""
    streams: Annotated[int, Field(ge=1, le=64)] = 1
    """Streams of each sending VM."""
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """The sender's port of a VM's first stream; the next streams have the next ports."""

    def stream_count(self, vms: int) -> int:
        """Number of streams, at least, where so many VMs receive."""
        return self.streams


class VmDatagramsSpec(VmTraffic):
    """Datagrams from VM to VM: at a steady pace from a process, or as fast as a guest can that polls its device (DPDK's testpmd, ``txonly``)."""

    kind: Literal["vm_datagrams"]
    """What kind of traffic this is."""
    packet_size: Annotated[Size, Field(ge=1)]
    """Bytes of data in a datagram."""
    sent_by: Literal["process", "poll"] = "process"
    """``process``: written to a socket, as ``rate`` or ``interval`` says. ``poll``: by a process with a driver of its own, as fast as it can;
    it takes no interrupts and never halts."""
    rate: Annotated[Rate, Field(gt=0)] | None = None
    """Datagrams in a second of each stream; or ``interval``. Of a process."""
    interval: PositiveDuration | None = None
    """Time from one burst to the next; or ``rate``. Of a process."""
    burst: Annotated[int, Field(ge=1, le=1024)] = 1
    """Datagrams that a process writes in one go."""
    vcpu: Annotated[int, Field(ge=0, le=127)] = 0
    """The sending VM's vCPU of its first stream; the next streams have the next vCPUs, counted round where a process sends."""
    taken_by: ReceivePath = "socket"
    """Where a packet ends at the receiver. ``socket``: with a process that reads. ``stack``: at the end of the stack, which no socket wants it from.
    ``packet_socket``: in the mapped ring of a packet socket. ``poll``: with a process that polls the device by a driver of its own (DPDK), on the
    vCPU that would take its interrupts. ``xdp_drop``, ``xdp_skb_drop``: dropped by a program in the driver, or behind the allocation of its
    buffer. ``xdp_tx``, ``xdp_skb_tx``: sent back by such a program, out of the same vNIC."""

    @model_validator(mode="after")
    def _one_pace(self) -> VmDatagramsSpec:
        given = (self.rate is not None) + (self.interval is not None)
        if self.sent_by == "process" and given != 1:
            raise ValueError("needs exactly one pace|one of rate, interval; or sent_by: poll")
        if self.sent_by == "poll" and (given or self.burst > 1):
            raise ValueError("sends as fast as it can|no rate, interval or burst; or sent_by: process")
        return self

    @property
    def bursts(self) -> float:
        """Bursts in a second of a process; 0 of a guest that polls."""
        return SECOND / self.interval if self.interval is not None else (self.rate or 0.0) / self.burst

    @property
    def pace(self) -> Pace | None:
        """The pace of the bursts; None of a guest that sends as fast as it can."""
        if self.sent_by == "poll":
            return None
        return Pace(self.bursts, "interval" if self.rate is None else "rate", burst=self.burst)


class VmTcpStreamSpec(VmTraffic):
    """Streams of data that never end, over TCP from VM to VM (netperf TCP_STREAM between two guests)."""

    kind: Literal["vm_tcp_stream"]
    """What kind of traffic this is."""
    window: Annotated[Size, Field(ge=2048)]
    """Bytes that a connection may have in flight: the smaller of what the receiver offers and the sender's buffer."""
    message_size: Annotated[Size, Field(ge=1)] | None = None
    """Bytes of each write of the sender. Where nothing is said, writes are large enough to fill every segment."""
    nodelay: bool = False
    """Writes that are smaller than a segment go out by themselves (``TCP_NODELAY``); by default they join to full segments (Nagle's algorithm)."""
