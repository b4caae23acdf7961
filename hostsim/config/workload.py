"""Workloads: traffic with peers outside and between VMs, work of the guests' processors, the table of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from math import exp
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from hostsim.config.arrival import ArrivalSpec, Service
from hostsim.config.field import Count, Names, SmallCount, Spec, VcpuCount
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
"""Number of a NIC as a VM has them: ten vNICs and four that are passed through at most."""
ReceivePath = Literal["socket", "stack", "packet_socket", "poll", "xdp_drop", "xdp_skb_drop", "xdp_tx", "xdp_skb_tx"]
"""Ways of a packet into a guest."""


class VmTraffic(Traffic):
    """Base of VM-to-VM traffic. VM number n of ``sender`` sends to VM number n of ``to``, the receivers counted round."""

    sender: Names
    """Names of the groups of VMs that send."""
    to: Names
    """Names of the groups of VMs that receive; none of them sends."""
    vnic: VnicNumber = 0
    """Which NIC of a sending VM the packets leave by: its vNICs first, then its virtual functions (SR-IOV)."""
    to_vnic: VnicNumber = 0
    """Which NIC of a receiving VM they come in by: a vNIC on the same virtual switch, or a function of the same port, whose own switch forwards them."""
    streams: Annotated[int, Field(ge=1, le=64)] = 1
    """Streams of each sending VM."""
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """The sender's port of a VM's first stream; the next streams have the next ports."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all groups of VMs that take part in it."""
        return (*self.sender, *self.to)

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
    service: Service | None = None
    """Time of the receiver's process for each datagram: the system call, and what it does with it. The guest's ``udp_sink`` by default. With ``taken_by: socket`` only."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return ("udp_sink", "datagram read") if self.taken_by == "socket" else ("", "")

    @model_validator(mode="after")
    def _one_pace(self) -> VmDatagramsSpec:
        given = (self.rate is not None) + (self.interval is not None)
        if self.sent_by == "process" and given != 1:
            raise ValueError("needs exactly one pace|one of rate, interval; or sent_by: poll")
        if self.taken_by != "socket" and self.service is not None:
            raise ValueError("has a service time, and no process that reads|taken_by: socket; or no service")
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
    service: Service | None = None
    """Time of the receiver's process for the data of each packet that it takes from its socket, whatever LRO made of it. The guest's ``tcp_sink`` by default."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return "tcp_sink", "packet read"


DataSize: TypeAlias = Annotated[Size, Field(ge=1)]
"""Bytes of data, at least one."""


class MulticastSpec(Paced):
    """One sender's stream of datagrams to a multicast group; every VM of ``to`` has joined it."""

    kind: Literal["multicast"]
    """What kind of traffic this is."""
    to: Names
    """Names of the VM groups that receive, each VM through its first vNIC. The stream enters by the first uplink of their switch."""
    packet_size: Size
    """Bytes of data in a datagram."""
    rate: Rate | None = None
    """Datagrams in a second; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()
    """How the datagrams are spaced; at a fixed interval where nothing is said."""
    service: Service | None = None
    """Time of its reader for each datagram: the system call, and what it does with it. The guest's ``udp_sink`` by default."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return "udp_sink", "datagram read"

    def stream_count(self, vms: int) -> int:
        """One stream for all VMs."""
        return 1


class BridgedSpec(Paced):
    """Frames that come in by one NIC of a VM and that its guest, a bridge or a router, forwards to another: UDP between others, at a rate that nobody adapts."""

    kind: Literal["bridged"]
    """What kind of traffic this is."""
    to: Names
    """Names of the VM groups that forward; each VM gets a stream of its own."""
    enters: VnicNumber = 0
    """Number of the NIC that frames come in by: vNICs first, then what is passed through to the VM."""
    leaves: VnicNumber = 1
    """Number of the NIC that they leave by."""
    routed: bool = False
    """The guest is a router, or a firewall that routes: frames are addressed to its own NIC, so that receive filters steer them. Else it is a bridge, and no filter knows
    the addresses behind it. A virtual function (SR-IOV) takes routed frames only."""
    forwarded_by: Literal["kernel", "poll"] = "kernel"
    """``kernel``: a software interrupt forwards. ``poll``: a process that polls both NICs with drivers of its own (DPDK) and keeps a vCPU busy for ever. It pays ``poll_rx`` and
    ``poll_tx`` of the guest for a frame, and drops one that finds no transmit descriptor."""
    vcpu: Annotated[int, Field(ge=0, le=127)] = 0
    """The vCPU of that process."""
    frame_size: Annotated[Size, Field(ge=64)]
    """Bytes of an Ethernet frame, from its addresses to its check sequence; on the wire it takes 20 more."""
    rate: Rate | None = None
    """Frames in a second at each VM; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()
    """How the frames are spaced; at a fixed interval where nothing is said."""

    @property
    def packet(self) -> int:
        """Bytes of the IP packet in a frame."""
        return self.frame_size - FRAME_OVERHEAD

    @property
    def data(self) -> int:
        """Bytes of data in a frame."""
        return self.packet - UDP_HEADERS


class UdpStreamSpec(Traffic):
    """Datagrams at a steady pace, in bursts, between each VM of some groups and a peer outside the host (netperf UDP_STREAM)."""

    kind: Literal["udp_stream"]
    """What kind of traffic this is."""
    to: Names
    """Names of the VM groups; each of their VMs has streams of its own."""
    vnic: VnicNumber = 0
    """Which NIC of the VM the streams go through: its vNICs first, then what is passed through to it."""
    direction: Literal["receive", "send"]
    """What the VMs do."""
    packet_size: DataSize
    """Bytes of data in a datagram."""
    rate: Annotated[Rate, Field(gt=0)] | None = None
    """Datagrams in a second; or ``interval``."""
    interval: PositiveDuration | None = None
    """Time from one burst to the next; or ``rate``."""
    burst: Annotated[int, Field(ge=1, le=1024)] = 1
    """Datagrams that are sent in one go."""
    streams: Annotated[int, Field(ge=1, le=1024)] = 1
    """Streams of each VM, each at that pace, by a process of its own; those that a VM sends are dealt to its vCPUs."""
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """The peer's port of a VM's first stream; the next streams have the next ports."""
    service: Service | None = None
    """Time of the VM's process for each datagram that it reads or writes. The guest's ``udp_sink`` or ``udp_source`` by default."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return ("udp_sink", "datagram read") if self.direction == "receive" else ("udp_source", "datagram written")

    @model_validator(mode="after")
    def _one_pace(self) -> UdpStreamSpec:
        if (self.rate is None) == (self.interval is None):
            raise ValueError("needs exactly one pace|one of rate, interval")
        return self

    def stream_count(self, vms: int) -> int:
        """Number of streams to so many VMs."""
        return vms * self.streams

    @property
    def bursts(self) -> float:
        """Bursts in a second."""
        return SECOND / self.interval if self.interval is not None else (self.rate or 0.0) / self.burst

    @property
    def pace(self) -> Pace:
        """The pace of the bursts."""
        return Pace(self.bursts, "interval" if self.rate is None else "rate", burst=self.burst)


class WorkSpec(Paced):
    """CPU work of a guest in bursts: background load, and queues as in queueing theory. No packet is involved."""

    unit = "/s"
    kind: Literal["work"]
    """What kind of traffic this is."""
    to: Names
    """Names of the VM groups that work; each VM has a stream of its own, on its first vCPU that has no work of other traffic yet."""
    rate: Rate | None = None
    """Arrivals in a second at each VM, or at each of its ``vcpus``; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()
    """How the arrivals are spaced; at a fixed interval where nothing is said."""
    service: Service
    """How long a burst lasts."""
    vcpus: Literal["all"] | VcpuCount = 1
    """vCPUs of a VM that work, each with a stream of its own; ``all``: each one that has no work of other traffic yet."""
    batch: Count = 1
    """Bursts that come together at each arrival."""
    together: Count = 1
    """Most bursts that are served as one, in the time of one."""
    waiting: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000_000
    """Bursts that may wait in a VM, the one in service not counted; one that comes on top is dropped."""


class TcpSpec(Connected):
    """What all closed-loop TCP traffic has: connections between each VM of some groups and a peer outside the host."""

    to: Names
    """Names of the VM groups; each of their VMs has connections of its own."""
    vnic: VnicNumber = 0
    """Which NIC of the VM the connections go through: its vNICs first, then what is passed through to it."""
    window: Annotated[Size, Field(ge=2048)]
    """Bytes that a connection may have in flight: the smaller of what the receiver offers and the sender's buffer."""
    burst: SmallCount | None = None
    """Most frames that the peer puts on the wire in one go, before another of its connections gets a turn. Where nothing is said, what its TSO makes a packet of: its window over
    ``tso_divisor`` of the peer, 64 KiB at most."""
    delay: Duration = 0
    """Time from the end of a frame on the wire to what it makes the peer put on the wire: half of the round trip outside the host, and the peer's own work."""
    peer_acks_every: SmallCount | None = None
    """Segments that the peer takes from one acknowledgement to the next, whatever its receive offload joins. Where nothing is said, two (RFC 1122), or what its ``aggregation`` makes of a packet for TSO."""
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """The peer's port of a VM's first connection; the next connections have the next ports."""

    @property
    def message(self) -> int | None:
        """Bytes of each write of the sender; None where it fills every segment."""
        return None

    @property
    def is_undelayed(self) -> bool:
        """True where writes that are smaller than a segment go out by themselves."""
        return False

    @property
    def transfer(self) -> int | None:
        """Bytes of data that a request is about; None where the data never end."""
        return None


class RoutedTcpSpec(TcpSpec):
    """What TCP traffic has whose segments cross a network outside the host that may lose some."""

    later_defaults: ClassVar[Mapping[str, object]] = {"loss": 0.0, "congestion_control": "reno"}
    loss: Annotated[Percent, Field(ge=0, lt=100)] = 0.0
    """Share of the segments with data that the network outside the host loses, each for itself. Their sender retransmits them; requests and acknowledgements are not lost."""
    congestion_control: Literal["reno", "cubic"] = "reno"
    """Congestion control of the sender of the data: Reno (RFC 5681), or CUBIC (RFC 9438)."""


class TcpStreamSpec(RoutedTcpSpec):
    """Streams of data that never end (netperf TCP_STREAM)."""

    server_port = 5001
    kind: Literal["tcp_stream"]
    """What kind of traffic this is."""
    direction: Literal["receive", "send"]
    """What the VMs do."""
    streams: Annotated[int, Field(ge=1, le=1024)] = 1
    """Connections of each VM."""
    message_size: DataSize | None = None
    """Bytes of each write of the sender. Where nothing is said, writes are large enough to fill every segment."""
    nodelay: bool = False
    """Writes that are smaller than a segment go out by themselves (``TCP_NODELAY``); by default they join to full segments (Nagle's algorithm)."""
    service: Service | None = None
    """Time of the VM's process for the data of each packet that it reads, whatever LRO made of it, or for each of its writes. The guest's ``tcp_sink`` or ``tcp_source`` by default."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return ("tcp_sink", "packet read") if self.direction == "receive" else ("tcp_source", "write")

    @property
    def connections(self) -> int:
        """Connections of each VM."""
        return self.streams

    @property
    def is_undelayed(self) -> bool:
        """True where writes that are smaller than a segment go out by themselves."""
        return self.nodelay

    @property
    def receives(self) -> bool:
        """True where VMs receive the data."""
        return self.direction == "receive"

    @property
    def message(self) -> int | None:
        """Bytes of each write of the sender; None where it fills every segment."""
        return self.message_size


class ForwardedStreamSpec(TcpSpec):
    """Streams of data between two peers outside the host that each VM of some groups forwards from one NIC to another, as a router does."""

    server_port = 5001
    kind: Literal["forwarded_stream"]
    """What kind of traffic this is."""
    leaves: VnicNumber = 1
    """Which NIC of the VM the data leave by; they come in by ``vnic``, and their acknowledgements go the other way."""
    streams: Annotated[int, Field(ge=1, le=1024)] = 1
    """Connections through each VM."""

    @property
    def connections(self) -> int:
        """Connections through each VM."""
        return self.streams

    @property
    def receives(self) -> bool:
        """True: data come to the VMs, which pass them on."""
        return True


class HttpSpec(RoutedTcpSpec):
    """Files fetched from, or posted to, a web server in each VM, one after the other on each connection."""

    server_port, has_answers = 80, True
    later_defaults: ClassVar[Mapping[str, object]] = {**RoutedTcpSpec.later_defaults, "keep_alive": True}
    kind: Literal["http"]
    """What kind of traffic this is."""
    method: Literal["get", "post"]
    """``get``: the VM sends the file. ``post``: it receives it."""
    size: DataSize
    """Bytes of a file."""
    connections: Count
    """Users of each VM, each with one connection at a time."""
    keep_alive: bool = True
    """A user keeps its connection for all files. Else it opens one for each file, which the server closes behind it: six further packets a file, and what a ``connection``
    costs the guest; response times include the opening. The connections of a user have the same ports."""
    request_size: Size = 0
    """Bytes of data of what asks for a file; one segment. Of ``get`` only."""
    think_time: Duration = 0
    """Mean time, exponentially distributed, that the user of a connection takes from a whole file to what asks for the next one."""
    service: Service | None = None
    """Time of the server for a file. The guest's ``http_server`` by default."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return "http_server", "request"

    @model_validator(mode="after")
    def _asked_for(self) -> HttpSpec:
        if self.request_size and self.method == "post":
            raise ValueError("request_size needs method: get|method: get; or no request_size")
        return self

    @property
    def receives(self) -> bool:
        """True where VMs receive the files."""
        return self.method == "post"

    @property
    def transfer(self) -> int:
        """Bytes of a file."""
        return self.size

    @property
    def request(self) -> int:
        """Bytes of data of what asks for a file."""
        return self.request_size

    @property
    def pause(self) -> int:
        """Mean think time of a user."""
        return self.think_time

    def demand_ps(self, costs: ApplicationCosts, hertz: float) -> int:
        """Return the service demand of a file."""
        return costs.http_server.ps(hertz)


class WebSpec(Paced, TcpSpec):
    """Requests for pages, sent to a web server in each VM whether or not it has answered those before.

    Each opens a connection, and fetches its objects one after the other.
    """

    server_port, has_answers, unit = 80, True, "/s"
    kind: Literal["web"]
    """What kind of traffic this is."""
    rate: Rate | None = None
    """Requests in a second at each VM; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec(process="poisson")
    """How the requests are spaced; Poisson where nothing is said."""
    objects: Annotated[int, Field(ge=1, le=1000)]
    """Objects of a page."""
    size: DataSize | None = None
    """Mean bytes of an object, its header included; or ``page_size``."""
    page_size: DataSize | None = None
    """Bytes of all objects of a page together, their headers included; or ``size``."""
    size_spread: Annotated[float, Field(ge=0, le=3)] = 0.0
    """Standard deviation of the logarithm of the objects' sizes, which are lognormal: a page has their quantiles, each as often, from the smallest to the largest. 0: all alike."""
    write_size: DataSize
    """Bytes that the server hands to its socket at a time; what it takes to serve an object is spread over its writes."""
    service: Service | None = None
    """Time of the server for an object, spread over its writes. The guest's ``web_server`` by default."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return "web_server", "object"

    @model_validator(mode="after")
    def _one_size(self) -> WebSpec:
        if (self.size is None) == (self.page_size is None):
            raise ValueError("needs exactly one size|one of size, page_size")
        if self.page_size is not None and self.page_size < self.objects:
            raise ValueError("has more objects than bytes|page_size: at least a byte for each of objects")
        return self

    @property
    def object_sizes(self) -> list[int]:
        """Bytes of each object of a page, ascending: quantiles of a lognormal distribution, scaled to the size of the page."""
        page = self.page_size if self.page_size is not None else self.objects * (self.size or 0)
        normal = NormalDist()
        shares = [exp(self.size_spread * normal.inv_cdf((place + 0.5) / self.objects)) for place in range(self.objects)]
        whole, ends = sum(shares), list(accumulate(shares))
        bounds = [0, *(round(page * end / whole) for end in ends)]
        return [max(1, high - low) for low, high in pairwise(bounds)]

    @property
    def ports(self) -> int:
        """One: how many connections are open at a time depends on the server."""
        return 1


class ExchangeSpec(Connected):
    """What all traffic of requests and replies has that take turns on a connection."""

    has_answers = True
    to: Names
    """Names of the VM groups; each of their VMs has connections of its own."""
    vnic: VnicNumber = 0
    """Which NIC of the VM they go through: its vNICs first, then what is passed through to it."""
    request_size: DataSize
    """Bytes of data of a request; one segment."""
    reply_size: Annotated[Size, Field(ge=1, le=65536)]
    """Bytes of data of a reply; one packet, cut into as many segments as it needs."""
    delay: Duration = 0
    """Time from the end of a frame on the wire to what it makes the peer put on the wire, thinking apart."""
    port: Annotated[int, Field(ge=1, le=65535)] = 33000
    """Port of a VM's first connection; the next connections have the next ports."""

    @property
    def request(self) -> int:
        """Bytes of data of a request."""
        return self.request_size


class TransactionsSpec(ExchangeSpec):
    """Users that send a request, wait for the reply, and think: database clients. Each has a connection of its own."""

    server_port = 50000
    kind: Literal["transactions"]
    """What kind of traffic this is."""
    users: Count
    """Users of each VM."""
    think_time: Duration = 0
    """Mean time, exponentially distributed, from a reply to the user's next request."""
    service: Service | None = None
    """Time of the server for a transaction. The guest's ``transaction`` by default."""

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return "transaction", "transaction"

    @property
    def connections(self) -> int:
        """Connections of each VM."""
        return self.users

    @property
    def pause(self) -> int:
        """Mean think time of a user."""
        return self.think_time

    def memory_stall(self, costs: ApplicationCosts) -> float:
        """Return the share of a transaction that waits for memory."""
        return 0.0 if costs.transaction_stall is None else costs.transaction_stall.value

    def demand_ps(self, costs: ApplicationCosts, hertz: float) -> int:
        """Return the service demand of a transaction."""
        return costs.transaction.ps(hertz)


class RequestResponseSpec(ExchangeSpec):
    """Requests and replies in turns, the next request as soon as the reply is there, or after ``think_time`` (netperf TCP_RR). The server reads and writes, and does nothing else without ``service``."""

    server_port, has_stages = 12865, True
    kind: Literal["request_response"]
    """What kind of traffic this is."""
    connections: Count = 1
    """Connections of each VM."""
    think_time: Duration = 0
    """Mean time, exponentially distributed, from a reply to the next request of its connection."""
    service: Service | None = None
    """Time of the server for a request, beside reading and writing. None by default."""
    later_defaults: ClassVar[Mapping[str, object]] = {"think_time": 0}

    @property
    def pause(self) -> int:
        """Mean think time between two requests of a connection."""
        return self.think_time


class TierSpec(Spec):
    """A tier behind another one, which calls it."""

    to: Names | None = None
    """Names of the groups of VMs of this host that are the tier; a call goes to the next of its VMs in turn. Or ``servers``."""
    servers: Count | None = None
    """Of a tier on another host, behind the wire: requests that it serves at a time, in the order in which they come; others wait there. In place of ``to``."""
    calls: SmallCount = 1
    """Calls of this tier for each request of the tier before it, one after the other."""
    request_size: DataSize
    """Bytes of data of a call; one segment."""
    reply_size: Annotated[Size, Field(ge=1, le=65536)]
    """Bytes of data of its reply; one packet, cut into as many segments as it needs."""
    service: Service
    """Time of the tier for a call, spread evenly over what lies before, between and after its own calls."""
    delay: Duration = 0
    """Of a tier on another host: time from the end of a call on this host's wire to its service, and what its host takes."""
    joins: tuple[PositiveDuration, ...] = ()
    """Instants of a run at which one further VM each begins to take calls; the VMs that are left begin with the run."""

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
    """Requests to a service of several tiers: a front end in VMs, which calls the tier behind it for each request, as that calls the next one.

    The traffic entry counts the clients' requests at the front end; calls of the second tier are the traffic ``NAME-2``, of the third ``NAME-3``. A request goes to the next VM of its
    tier in turn, on a connection that has no other under way.
    """

    server_port = 8080
    kind: Literal["tiers"]
    """What kind of traffic this is."""
    users: Count | None = None
    """Users of all front ends together, each with one request at a time; or ``rate``."""
    think_time: Duration = 0
    """Of users: mean time, exponentially distributed, from a reply to the next request."""
    rate: Rate | None = None
    """Requests in a second at all front ends together, whether or not those before are answered; or ``users``."""
    arrivals: ArrivalSpec = ArrivalSpec(process="poisson")
    """How such requests are spaced; Poisson by default."""
    service: Service
    """Time of a front end for a request, spread evenly over what lies before, between and after its calls."""
    joins: tuple[PositiveDuration, ...] = ()
    """Instants of a run at which one further front end each begins to take requests; the VMs that are left begin with the run."""
    behind: Annotated[tuple[TierSpec, ...], Field(min_length=1, max_length=8)]
    """The tiers behind the front end, each called by the one before it; one on another host is the last."""

    @model_validator(mode="after")
    def _one_load(self) -> TiersSpec:
        has_rates = self.arrivals.has_rates or self.arrivals.process == "replay"
        if (self.users is not None) + (self.rate is not None) + has_rates != 1:
            raise ValueError("needs exactly one load|one of users, rate, arrivals with rates or instants of their own")
        if self.users is None and self.think_time:
            raise ValueError("has a think time without users|users; or no think_time")
        require_arrivals_in_segments(self.arrivals, self.rate)
        if any(tier.servers is not None for tier in self.behind[:-1]):
            raise ValueError("has a tier behind one on another host|servers in the last of behind only")
        return self

    @property
    def application(self) -> tuple[str, str]:
        """As of any traffic."""
        return "transaction", "request"

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all groups of VMs that take part in it."""
        return (*self.to, *(name for tier in self.behind for name in tier.to or ()))

    @property
    def connections(self) -> int:
        """Users; one of a rate."""
        return self.users or 1

    @property
    def ports(self) -> int:
        """One: how many connections are open at a time depends on the front ends."""
        return 1

    @property
    def pause(self) -> int:
        """Mean think time of a user."""
        return self.think_time

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
        """False where the rate or the number of instances depends on the time of the run."""
        return self.arrivals.is_stationary and not any((self.joins, *(tier.joins for tier in self.behind)))

    def stream_count(self, vms: int) -> int:
        """One stream of requests for all front ends."""
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
"""The table of shipped kinds of traffic; `hostsim.model.traffic.attach` attaches them to a host."""
