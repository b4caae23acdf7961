"""Workloads: traffic with peers and between VMs, CPU work of guests, and the table of all kinds."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import exp
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from hostsim.config.arrival import ArrivalSpec, Service
from hostsim.config.field import Count, Names, SmallCount, Spec, VcpuCount, later
from hostsim.config.nic import FRAME_OVERHEAD, UDP_HEADERS
from hostsim.config.quantity import Duration, Percent, PositiveDuration, Rate, Size
from hostsim.config.traffic import Connected, Pace, Paced, Traffic, require_arrivals_in_segments
from hostsim.config.vmkernel import VmkernelStreamSpec, VmotionSpec
from hostsim.units import SECOND

if TYPE_CHECKING:
    from hostsim.config.guest import ApplicationCosts

__all__ = [
    "TRAFFIC",
    "BridgedSpec",
    "ExchangeSpec",
    "ForwardedStreamSpec",
    "HttpSpec",
    "MulticastSpec",
    "ReceivePath",
    "RequestResponseSpec",
    "RoutedTcpSpec",
    "TcpSpec",
    "TcpStreamSpec",
    "TierSpec",
    "TiersSpec",
    "TransactionsSpec",
    "UdpStreamSpec",
    "VmDatagramsSpec",
    "VmTcpStreamSpec",
    "VmTraffic",
    "WebSpec",
    "WorkSpec",
]


VnicNumber: TypeAlias = Annotated[int, Field(ge=0, le=13)]
"""Number of a NIC of a VM, which has at most ten vNICs and four passed-through NICs."""
ReceivePath = Literal["socket", "stack", "packet_socket", "poll", "xdp_drop", "xdp_skb_drop", "xdp_tx", "xdp_skb_tx"]
"""Receive paths of a packet in a guest."""


class VmTraffic(Traffic):
    """Base of VM-to-VM traffic.

    VM number n of ``sender`` sends to VM number n of ``to``, modulo the number of receivers.
    """

    sender: Names
    """Names of the sending VM groups."""
    to: Names
    """Names of the receiving VM groups, none of which sends."""
    vnic: VnicNumber = 0
    """NIC of a sending VM: vNICs first, then virtual functions (SR-IOV)."""
    to_vnic: VnicNumber = 0
    """NIC of a receiving VM: a vNIC on the same virtual switch, or a function of the same port, whose switch forwards."""
    streams: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of streams of each sending VM."""
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """The sender's port of a VM's first stream; further streams have the next ports."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all VM groups in the traffic."""
        return (*self.sender, *self.to)

    def stream_count(self, vms: int) -> int:
        """Return the smallest number of streams.

        Args:
            vms: number of receiving VMs.
        """
        return self.streams


class VmDatagramsSpec(VmTraffic):
    """Datagrams from VM to VM.

    A process sends at a steady pace, or a guest polls its device and sends at its maximum rate (DPDK's testpmd,
    ``txonly``).
    """

    kind: Literal["vm_datagrams"]
    """Kind of traffic."""
    packet_size: Annotated[Size, Field(ge=1)]
    """Bytes of data in a datagram."""
    sent_by: Literal["process", "poll"] = "process"
    """``process``: written to a socket at ``rate`` or ``interval``. ``poll``: sent at the maximum rate by a process
    with its own driver (DPDK), which takes no interrupts and never halts.
    """
    rate: Annotated[Rate, Field(gt=0)] | None = None
    """Datagrams/s of each stream; or ``interval``. Only for a process."""
    interval: PositiveDuration | None = None
    """Time between two bursts; or ``rate``. Only for a process."""
    burst: Annotated[int, Field(ge=1, le=1024)] = 1
    """Number of datagrams that a process writes in one burst."""
    vcpu: Annotated[int, Field(ge=0, le=127)] = 0
    """vCPU of the sending VM's first stream; further streams have the next vCPUs, modulo their number for a process."""
    taken_by: ReceivePath = "socket"
    """End of a packet's path at the receiver. ``socket``: a process reads it. ``stack``: the end of the network stack,
    without a socket for it. ``packet_socket``: the memory-mapped ring of a packet socket. ``poll``: a process that
    polls the device with its own driver (DPDK), on the vCPU that would take its interrupts. ``xdp_drop``,
    ``xdp_skb_drop``: dropped by an XDP program in the driver, or after allocation of a socket buffer. ``xdp_tx``,
    ``xdp_skb_tx``: sent back by such a program through the same vNIC.
    """
    service: Service | None = later(None)
    """Service time of the receiver's process for each datagram: system call and processing; default: ``udp_sink`` of
    the guest. Only with ``taken_by: socket``.
    """

    @property
    def application(self) -> tuple[str, str]:
        """Cost of the application, by name and unit."""
        return ("udp_sink", "datagram read") if self.taken_by == "socket" else ("", "")

    @model_validator(mode="after")
    def _one_pace(self) -> VmDatagramsSpec:
        count = (self.rate is not None) + (self.interval is not None)
        if self.sent_by == "process" and count != 1:
            raise ValueError("needs exactly one pace|one of rate, interval; or sent_by: poll")
        if self.taken_by != "socket" and self.service is not None:
            raise ValueError("has a service time without a reading process|taken_by: socket; or no service")
        if self.sent_by == "poll" and (count or self.burst > 1):
            raise ValueError("sends at its maximum rate|no rate, interval or burst; or sent_by: process")
        return self

    @property
    def bursts(self) -> float:
        """Bursts/s of a process; 0 for a guest that polls."""
        return SECOND / self.interval if self.interval is not None else (self.rate or 0.0) / self.burst

    @property
    def pace(self) -> Pace | None:
        """The pace of the bursts; None for a guest that sends at its maximum rate."""
        if self.sent_by == "poll":
            return None
        return Pace(self.bursts, "interval" if self.rate is None else "rate", burst=self.burst)


class VmTcpStreamSpec(VmTraffic):
    """Continuous TCP streams from VM to VM (netperf TCP_STREAM between two guests)."""

    application: ClassVar[tuple[str, str]] = ("tcp_sink", "packet read")
    kind: Literal["vm_tcp_stream"]
    """Kind of traffic."""
    window: Annotated[Size, Field(ge=2048)]
    """Window of a connection in bytes: the smaller of the receive window and the sender's buffer."""
    message_size: Annotated[Size, Field(ge=1)] | None = None
    """Bytes of each write of the sender; default: large enough to fill every segment."""
    nodelay: bool = False
    """True if writes smaller than a segment are sent at once (``TCP_NODELAY``); by default they join to full segments
    (Nagle's algorithm).
    """
    service: Service | None = later(None)
    """Service time of the receiver's process for the data of each packet after LRO; default: ``tcp_sink`` of the
    guest.
    """


DataSize: TypeAlias = Annotated[Size, Field(ge=1)]
"""Bytes of data, at least 1."""


class MulticastSpec(Paced):
    """A stream of datagrams to a multicast group that all VMs of ``to`` have joined."""

    application: ClassVar[tuple[str, str]] = ("udp_sink", "datagram read")
    kind: Literal["multicast"]
    """Kind of traffic."""
    to: Names
    """Names of the receiving VM groups; each VM receives through its first vNIC. The stream arrives on the first uplink
    of their switch.
    """
    packet_size: Size
    """Bytes of data in a datagram."""
    rate: Rate | None = None
    """Datagrams/s; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()
    """Spacing of the datagrams; default: a fixed interval."""
    service: Service | None = later(None)
    """Service time of the reader for each datagram: system call and processing; default: ``udp_sink`` of the guest."""

    def stream_count(self, vms: int) -> int:
        """Return 1, as all VMs share one stream."""
        return 1


class BridgedSpec(Paced):
    """Frames that a VM forwards from one NIC to another, as a bridge or a router: open-loop UDP."""

    kind: Literal["bridged"]
    """Kind of traffic."""
    to: Names
    """Names of the forwarding VM groups; each VM has its own stream."""
    enters: VnicNumber = 0
    """NIC on which frames arrive: vNICs first, then passed-through NICs."""
    leaves: VnicNumber = 1
    """NIC through which frames leave."""
    routed: bool = later(False)
    """True if the guest is a router, or a routing firewall: frames have the address of its NIC, so that receive filters
    steer them. Else it is a bridge, and no filter has the addresses behind it. A virtual function (SR-IOV) receives
    routed frames only.
    """
    forwarded_by: Literal["kernel", "poll"] = later("kernel")
    """``kernel``: a softirq forwards. ``poll``: a process that polls both NICs with its own drivers (DPDK) and keeps a
    vCPU busy permanently. A frame costs ``poll_rx`` and ``poll_tx`` of the guest, and is dropped if no transmit
    descriptor is free.
    """
    vcpu: Annotated[int, Field(ge=0, le=127)] = later(0)
    """vCPU of that process."""
    frame_size: Annotated[Size, Field(ge=64)]
    """Bytes of an Ethernet frame, from addresses to check sequence; 20 more on the wire."""
    rate: Rate | None = None
    """Frames/s for each VM; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()
    """Spacing of the frames; default: a fixed interval."""

    @property
    def packet(self) -> int:
        """Bytes of the IP packet in a frame."""
        return self.frame_size - FRAME_OVERHEAD

    @property
    def data(self) -> int:
        """Bytes of data in a frame."""
        return self.packet - UDP_HEADERS


class UdpStreamSpec(Traffic):
    """Datagrams at a steady pace in bursts, between VMs and a peer outside the host (netperf UDP_STREAM)."""

    kind: Literal["udp_stream"]
    """Kind of traffic."""
    to: Names
    """Names of the VM groups; each VM has its own streams."""
    vnic: VnicNumber = 0
    """NIC of the VM: vNICs first, then passed-through NICs."""
    direction: Literal["receive", "send"]
    """Direction as seen from the VMs."""
    packet_size: DataSize
    """Bytes of data in a datagram."""
    rate: Annotated[Rate, Field(gt=0)] | None = None
    """Datagrams/s; or ``interval``."""
    interval: PositiveDuration | None = None
    """Time between two bursts; or ``rate``."""
    burst: Annotated[int, Field(ge=1, le=1024)] = 1
    """Number of datagrams in one burst."""
    streams: Annotated[int, Field(ge=1, le=1024)] = 1
    """Number of streams of each VM, each with this pace and its own process; those that a VM sends are distributed over
    its vCPUs.
    """
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """The peer's port of a VM's first stream; further streams have the next ports."""
    service: Service | None = later(None)
    """Service time of the VM's process for each datagram that it reads or writes; default: ``udp_sink`` or
    ``udp_source`` of the guest.
    """

    @property
    def application(self) -> tuple[str, str]:
        """Cost of the application, by name and unit."""
        return ("udp_sink", "datagram read") if self.direction == "receive" else ("udp_source", "datagram written")

    @model_validator(mode="after")
    def _one_pace(self) -> UdpStreamSpec:
        if (self.rate is None) == (self.interval is None):
            raise ValueError("needs exactly one pace|one of rate, interval")
        return self

    def stream_count(self, vms: int) -> int:
        """Return the number of streams.

        Args:
            vms: number of VMs.
        """
        return vms * self.streams

    @property
    def bursts(self) -> float:
        """Bursts/s."""
        return SECOND / self.interval if self.interval is not None else (self.rate or 0.0) / self.burst

    @property
    def pace(self) -> Pace:
        """The pace of the bursts."""
        return Pace(self.bursts, "interval" if self.rate is None else "rate", burst=self.burst)


class WorkSpec(Paced):
    """CPU work of a guest in bursts, without packets: background load, and queues as in queueing theory."""

    unit = "/s"
    kind: Literal["work"]
    """Kind of traffic."""
    to: Names
    """Names of the working VM groups; each VM has its own stream, on its first vCPU without work of other traffic."""
    rate: Rate | None = None
    """Arrivals/s at each VM, or at each of its ``vcpus``; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()
    """Spacing of the arrivals; default: a fixed interval."""
    service: Service
    """Length of a burst."""
    vcpus: Literal["all"] | VcpuCount = later(1)
    """vCPUs of a VM with work, each with its own stream; ``all``: each one without work of other traffic."""
    batch: Count = 1
    """Number of bursts in each arrival."""
    together: Count = 1
    """Largest number of bursts that are served together, in the time of one."""
    waiting: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000_000
    """Largest number of bursts that wait in a VM, without the one in service; further ones are dropped."""


class TcpSpec(Connected):
    """Base of closed-loop TCP traffic: connections between VMs and a peer outside the host."""

    to: Names
    """Names of the VM groups; each VM has its own connections."""
    vnic: VnicNumber = 0
    """NIC of the VM: vNICs first, then passed-through NICs."""
    window: Annotated[Size, Field(ge=2048)]
    """Window of a connection in bytes: the smaller of the receive window and the sender's buffer."""
    burst: SmallCount | None = None
    """Largest number of frames that the peer sends in one burst, before another of its connections has a turn. Default:
    a TSO packet, which is the window over ``tso_divisor`` of the peer, at most 64 KiB.
    """
    delay: Duration = 0
    """Time from the end of a frame on the wire to the peer's reaction on the wire: half of the round-trip time outside
    the host, and the peer's processing.
    """
    peer_acks_every: SmallCount | None = None
    """Segments for each acknowledgement of the peer, independent of its receive offload. Default: two (RFC 1122), or
    the TSO packet of its ``aggregation``.
    """
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """The peer's port of a VM's first connection; further connections have the next ports."""

    @property
    def message(self) -> int | None:
        """Bytes of each write of the sender; None if it fills every segment."""
        return None

    @property
    def is_undelayed(self) -> bool:
        """True if writes smaller than a segment are sent at once."""
        return False

    @property
    def transfer(self) -> int | None:
        """Bytes of data of a request; None for a continuous stream."""
        return None


class RoutedTcpSpec(TcpSpec):
    """Base of TCP traffic whose segments cross a network outside the host that may lose some."""

    loss: Annotated[Percent, Field(ge=0, lt=100)] = later(0.0)
    """Share of data segments that the network outside the host loses, independently. Their sender retransmits them;
    requests and acknowledgements are not lost.
    """
    congestion_control: Literal["reno", "cubic"] = later("reno")
    """Congestion control of the data sender: Reno (RFC 5681), or CUBIC (RFC 9438)."""


class TcpStreamSpec(RoutedTcpSpec):
    """Continuous TCP streams between VMs and a peer outside the host (netperf TCP_STREAM)."""

    server_port = 5001
    kind: Literal["tcp_stream"]
    """Kind of traffic."""
    direction: Literal["receive", "send"]
    """Direction as seen from the VMs."""
    streams: Annotated[int, Field(ge=1, le=1024)] = 1
    """Number of connections of each VM."""
    message_size: DataSize | None = None
    """Bytes of each write of the sender; default: large enough to fill every segment."""
    nodelay: bool = False
    """True if writes smaller than a segment are sent at once (``TCP_NODELAY``); by default they join to full segments
    (Nagle's algorithm).
    """
    service: Service | None = later(None)
    """Service time of the VM's process for the data of each packet after LRO that it reads, or for each of its writes;
    default: ``tcp_sink`` or ``tcp_source`` of the guest.
    """

    @property
    def application(self) -> tuple[str, str]:
        """Cost of the application, by name and unit."""
        return ("tcp_sink", "packet read") if self.direction == "receive" else ("tcp_source", "write")

    @property
    def connections(self) -> int:
        """Number of connections of each VM."""
        return self.streams

    @property
    def is_undelayed(self) -> bool:
        """True if writes smaller than a segment are sent at once."""
        return self.nodelay

    @property
    def receives(self) -> bool:
        """True if VMs receive the data."""
        return self.direction == "receive"

    @property
    def message(self) -> int | None:
        """Bytes of each write of the sender; None if it fills every segment."""
        return self.message_size


class ForwardedStreamSpec(TcpSpec):
    """Continuous TCP streams between two peers outside the host that each VM forwards, as a router."""

    server_port = 5001
    receives: ClassVar[bool] = True
    """True, as VMs receive the data before they forward it."""
    kind: Literal["forwarded_stream"]
    """Kind of traffic."""
    leaves: VnicNumber = 1
    """NIC of the VM through which data leaves; it arrives on ``vnic``, and acknowledgements take the opposite
    direction.
    """
    streams: Annotated[int, Field(ge=1, le=1024)] = 1
    """Number of connections through each VM."""

    @property
    def connections(self) -> int:
        """Number of connections through each VM."""
        return self.streams


class HttpSpec(RoutedTcpSpec):
    """Files fetched from, or posted to, a web server in each VM, one after the other on each connection."""

    server_port, has_answers = 80, True
    application: ClassVar[tuple[str, str]] = ("http_server", "request")
    kind: Literal["http"]
    """Kind of traffic."""
    method: Literal["get", "post"]
    """``get``: the VM sends the file. ``post``: it receives it."""
    size: DataSize
    """Bytes of a file."""
    connections: Count
    """Number of users of each VM, each with one connection at a time."""
    keep_alive: bool = later(True)
    """True if a user keeps its connection for all files. Else it opens a connection for each file, which the server
    closes afterwards: six additional packets per file, and the guest's cost of a ``connection``; response times include
    the opening. The connections of a user have the same ports.
    """
    request_size: Size = 0
    """Bytes of data of a request for a file; one segment. Only for ``get``."""
    think_time: Duration = 0
    """Mean think time of the user of a connection between a file and the next request; exponentially distributed."""
    service: Service | None = later(None)
    """Service time of the server for a file; default: ``http_server`` of the guest."""

    @model_validator(mode="after")
    def _asked_for(self) -> HttpSpec:
        if self.request_size and self.method == "post":
            raise ValueError("request_size needs method: get|method: get; or no request_size")
        return self

    @property
    def receives(self) -> bool:
        """True if VMs receive the files."""
        return self.method == "post"

    @property
    def transfer(self) -> int:
        """Bytes of a file."""
        return self.size

    def demand_ps(self, costs: ApplicationCosts, hertz: float) -> int:
        """Return the service demand of a file, in picoseconds."""
        return costs.http_server.ps(hertz)


class WebSpec(Paced, TcpSpec):
    """Requests for pages of a web server in each VM, open-loop: they do not wait for earlier answers.

    Each request opens a connection and fetches its objects one after the other.
    """

    server_port, has_answers, unit = 80, True, "/s"
    ports: ClassVar[int] = 1
    """One, as the number of open connections depends on the server."""
    application: ClassVar[tuple[str, str]] = ("web_server", "object")
    kind: Literal["web"]
    """Kind of traffic."""
    rate: Rate | None = None
    """Requests/s at each VM; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec(process="poisson")
    """Spacing of the requests; default: Poisson."""
    objects: Annotated[int, Field(ge=1, le=1000)]
    """Number of objects of a page."""
    size: DataSize | None = None
    """Mean size of an object in bytes, including its header; or ``page_size``."""
    page_size: DataSize | None = None
    """Bytes of all objects of a page, including headers; or ``size``."""
    size_spread: Annotated[float, Field(ge=0, le=3)] = 0.0
    """Standard deviation of the logarithm of the lognormal object sizes, of which a page has equally spaced quantiles.
    0: all equal.
    """
    write_size: DataSize
    """Bytes that the server writes to its socket at once; the service time of an object is spread over its writes."""
    service: Service | None = later(None)
    """Service time of the server for an object, spread over its writes; default: ``web_server`` of the guest."""

    @model_validator(mode="after")
    def _one_size(self) -> WebSpec:
        if (self.size is None) == (self.page_size is None):
            raise ValueError("needs exactly one size|one of size, page_size")
        if self.page_size is not None and self.page_size < self.objects:
            raise ValueError("has more objects than bytes|page_size: at least a byte for each of objects")
        return self

    @property
    def object_sizes(self) -> list[int]:
        """Bytes of each object of a page, ascending: lognormal quantiles, scaled to the page."""
        page = self.page_size if self.page_size is not None else self.objects * (self.size or 0)
        normal = NormalDist()
        shares = [exp(self.size_spread * normal.inv_cdf((index + 0.5) / self.objects)) for index in range(self.objects)]
        whole, ends = sum(shares), list(accumulate(shares))
        bounds = [0, *(round(page * end / whole) for end in ends)]
        return [max(1, high - low) for low, high in pairwise(bounds)]


class ExchangeSpec(Connected):
    """Base of traffic with alternating requests and replies on a connection."""

    has_answers = True
    to: Names
    """Names of the VM groups; each VM has its own connections."""
    vnic: VnicNumber = 0
    """NIC of the VM: vNICs first, then passed-through NICs."""
    request_size: DataSize
    """Bytes of data of a request; one segment."""
    reply_size: Annotated[Size, Field(ge=1, le=65536)]
    """Bytes of data of a reply; one packet, segmented as needed."""
    delay: Duration = 0
    """Time from the end of a frame on the wire to the peer's reaction on the wire, without think time."""
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """Port of a VM's first connection; further connections have the next ports."""


class TransactionsSpec(ExchangeSpec):
    """Users that send a request, wait for the reply, and think: database clients. Each has a connection."""

    server_port = 50000
    application: ClassVar[tuple[str, str]] = ("transaction", "transaction")
    kind: Literal["transactions"]
    """Kind of traffic."""
    users: Count
    """Number of users of each VM."""
    think_time: Duration = 0
    """Mean time from a reply to the user's next request; exponentially distributed."""
    service: Service | None = later(None)
    """Service time of the server for a transaction; default: ``transaction`` of the guest."""

    @property
    def connections(self) -> int:
        """Number of connections of each VM."""
        return self.users

    def memory_stall(self, costs: ApplicationCosts) -> float:
        """Return the share of a transaction that waits for local memory."""
        return 0.0 if costs.transaction_stall is None else costs.transaction_stall.value

    def demand_ps(self, costs: ApplicationCosts, hertz: float) -> int:
        """Return the service demand of a transaction, in picoseconds."""
        return costs.transaction.ps(hertz)


class RequestResponseSpec(ExchangeSpec):
    """Alternating requests and replies (netperf TCP_RR).

    The next request follows the reply at once, or after ``think_time``. Without ``service`` the server only reads and
    writes.
    """

    server_port, has_stages = 12865, True
    kind: Literal["request_response"]
    """Kind of traffic."""
    connections: Count = 1
    """Number of connections of each VM."""
    think_time: Duration = later(0)
    """Mean time from a reply to the next request of its connection; exponentially distributed."""
    service: Service | None = later(None)
    """Service time of the server for a request, in addition to reading and writing; none by default."""


class TierSpec(Spec):
    """A tier of a service, which the tier before it calls."""

    to: Names | None = None
    """Names of this host's VM groups that form the tier; calls go to their VMs in turn. Or ``servers``."""
    servers: Count | None = None
    """For a tier on another host, reached over the wire: number of requests in service at a time, first come, first
    served; others wait there. In place of ``to``.
    """
    calls: SmallCount = 1
    """Number of calls to this tier for each request to the tier before it; one call after the other."""
    request_size: DataSize
    """Bytes of data of a call; one segment."""
    reply_size: Annotated[Size, Field(ge=1, le=65536)]
    """Bytes of data of its reply; one packet, segmented as needed."""
    service: Service
    """Service time of the tier for a call, in equal parts before, between and after its own calls."""
    delay: Duration = 0
    """For a tier on another host: time from the end of a call on this host's wire to its service, including processing
    on that host.
    """
    joins: tuple[PositiveDuration, ...] = ()
    """Times of the run at which one further VM each begins to take calls; the other VMs begin with the run."""

    @model_validator(mode="after")
    def _one_place(self) -> TierSpec:
        if (self.to is None) == (self.servers is None):
            raise ValueError("needs exactly one place|one of to, servers")
        if self.servers is None and self.delay:
            raise ValueError("has a delay on this host|servers; or no delay")
        if self.servers is not None and self.joins:
            raise ValueError("has instances that join on another host|to; or no joins")
        return self


class TiersSpec(ExchangeSpec):
    """Requests to a service of several tiers: front ends in VMs, and tiers that call each other.

    For each request a front end calls the second tier, which calls the third. The traffic entry counts requests of
    clients at the front ends; calls of the second tier are the traffic ``NAME-2``, of the third ``NAME-3``. Requests go
    to the VMs of a tier in turn, on a connection without another request in progress.
    """

    server_port = 8080
    application: ClassVar[tuple[str, str]] = ("transaction", "request")
    ports: ClassVar[int] = 1
    """One, as the number of open connections depends on the front ends."""
    kind: Literal["tiers"]
    """Kind of traffic."""
    users: Count | None = None
    """Number of users of all front ends together, each with one request at a time; or ``rate``."""
    think_time: Duration = 0
    """Mean time of a user from a reply to the next request; exponentially distributed."""
    rate: Rate | None = None
    """Requests/s at all front ends together, open-loop; or ``users``."""
    arrivals: ArrivalSpec = ArrivalSpec(process="poisson")
    """Spacing of the requests with ``rate``; default: Poisson."""
    service: Service
    """Service time of a front end for a request, in equal parts before, between and after its calls."""
    joins: tuple[PositiveDuration, ...] = ()
    """Times of the run at which one further front end each begins to take requests; the other VMs begin with the
    run.
    """
    behind: Annotated[tuple[TierSpec, ...], Field(min_length=1, max_length=8)]
    """Tiers after the front end, each called by the one before it; a tier on another host must be the last."""

    @model_validator(mode="after")
    def _one_load(self) -> TiersSpec:
        has_rates = self.arrivals.has_rates or self.arrivals.process == "replay"
        if (self.users is not None) + (self.rate is not None) + has_rates != 1:
            raise ValueError("needs exactly one load|one of users, rate, arrivals with their own rates or times")
        if self.users is None and self.think_time:
            raise ValueError("has a think time without users|users; or no think_time")
        require_arrivals_in_segments(self.arrivals, self.rate)
        if any(tier.servers is not None for tier in self.behind[:-1]):
            raise ValueError("has a tier behind one on another host|servers in the last of behind only")
        return self

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all VM groups in the traffic."""
        return (*self.to, *(name for tier in self.behind for name in tier.to or ()))

    @property
    def connections(self) -> int:
        """Number of users; 1 for a rate."""
        return self.users or 1

    @property
    def pace(self) -> Pace | None:
        """The pace of the requests; None with users."""
        if self.users is not None:
            return None
        own = self.arrivals.own_rate
        if own is not None:
            return Pace(own, "arrivals", unit="/s")
        return Pace(self.rate or 0.0, unit="/s", instants=self.arrivals.timestamps_ps)

    @property
    def is_stationary(self) -> bool:
        """False if the rate or the number of instances depends on the time of the run."""
        return self.arrivals.is_stationary and not any((self.joins, *(tier.joins for tier in self.behind)))

    def stream_count(self, vms: int) -> int:
        """Return 1, as all front ends share one stream of requests."""
        return 1


TRAFFIC: tuple[type[Traffic], ...] = (
    MulticastSpec,
    BridgedSpec,
    UdpStreamSpec,
    WorkSpec,
    TcpStreamSpec,
    ForwardedStreamSpec,
    HttpSpec,
    WebSpec,
    TransactionsSpec,
    RequestResponseSpec,
    VmkernelStreamSpec,
    VmotionSpec,
    TiersSpec,
    VmDatagramsSpec,
    VmTcpStreamSpec,
)
"""Table of shipped kinds of traffic, which `hostsim.model.traffic.attach` attaches to a host."""
