"""Services of several tiers: clients of front ends, which call back ends on this host or another one.

A connection has one request at a time. The process of its server works on it in separate bursts; between two of them it
waits for a call, while the vCPU serves others. A call between VMs goes through the virtual switch, a call to another
host over the wire.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from heapq import heapreplace

from hostsim.engine.arrivals import ServiceTimes
from hostsim.engine.clock import Clock, Timer
from hostsim.engine.ring import Train
from hostsim.model.contract import Flow, GuestStream, InboundStream
from hostsim.model.traffic.tcp import RETRANSMIT_AFTER, Endpoints, GuestPackets, PacketHandler, PeerFrames, Think

__all__ = [
    "Answered",
    "ClientExchange",
    "Clients",
    "Exchange",
    "Hop",
    "Instances",
    "LocalExchange",
    "LocalHop",
    "Message",
    "RemoteHop",
    "RemoteServers",
]


class Message:
    """A message of an exchange: a number of frames with equal bytes of data."""

    def __init__(self, frames: int, size: int) -> None:
        self.frames, self.size = frames, size

    @property
    def octets(self) -> int:
        """Bytes of data."""
        return self.frames * self.size


class Instances:
    """The instances of a tier, which take requests in turn.

    Args:
        count: number of VMs of the tier.
        joins: ascending times at which the last ones begin to take requests, in picoseconds.
    """

    def __init__(self, count: int, joins: list[int]) -> None:
        self._first, self._joins, self._next = count - len(joins), joins, 0

    def choose(self, at: int) -> int:
        """Return the number of the instance for a request at a given time."""
        active = self._first + bisect_right(self._joins, at)
        self._next = (self._next + 1) % active
        return self._next


class Exchange(PacketHandler):
    """The server's side of a connection: reads a request, works, calls the next tier, writes the reply.

    Attributes:
        requests: requests as the server reads them.
        reply: replies as the server writes them.
        endpoints: the server's end.
    """

    def __init__(
        self, endpoints: Endpoints, request: Message, request_ps: int, reply: Message, service: ServiceTimes | None
    ) -> None:
        """Create an idle connection.

        Args:
            endpoints: the server's end, whose flow has the counters of the connection.
            request: a request; one frame.
            request_ps: time of a request on the wire in picoseconds; 0 from another VM of the host.
            reply: a reply.
            service: service times of requests, if not constant.
        """
        self.endpoints, self._service, self._replied = endpoints, service, reply
        self.requests = PeerFrames(endpoints, request.size, request_ps, self, self._request_dropped)
        self.reply = GuestPackets(endpoints.totals, reply.size, self, self.reply_dropped)
        self._calls = 0
        self._hop: Callable[[Exchange, int], Hop] | None = None
        self._calls_made = self._share = self._last_share = self._unsent = 0
        self._timer = Timer(endpoints.clock, self._send_again)

    def call_for_each(self, calls: int, hop: Callable[[Exchange, int], Hop]) -> None:
        """Call the next tier for each request.

        Args:
            calls: number of calls for each request, in sequence.
            hop: returns the connection for a call at a given time.
        """
        self._calls, self._hop = calls, hop

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        """Wake the process, which reads the request and works on it in a separate burst; returns the end."""
        endpoints, size = self.endpoints, self.requests.size
        application, vcpu = endpoints.application, endpoints.vcpu
        end = start + vcpu.costs.guest_process_wake + application.per_packet + vcpu.costs.copied(size, wait_ps)
        vcpu.count_read(train, start, end)
        endpoints.totals.octets += size
        work = application.per_request if self._service is None else self._service.take()
        self._calls_made, self._share = 0, work // (self._calls + 1)
        self._last_share = work - self._calls * self._share
        vcpu.start(self, end)
        return end

    def run(self, start: int) -> int:
        """Work on the request from ``start`` on, up to the next call or the reply; returns the end."""
        endpoints, hop = self.endpoints, self._hop
        if hop is not None and self._calls_made < self._calls:
            self._calls_made += 1
            return hop(self, start + self._share).ask(start + self._share)
        costs = endpoints.vcpu.costs
        end = start + self._last_share + endpoints.application.per_write + costs.guest_tx_packet
        end += costs.copied(self._replied.octets)
        endpoints.vcpu.post_to(endpoints.queue, Train(self.reply, 1, end, 0, end, 0, None, self._replied.frames))
        return end

    def resume(self, at: int) -> None:
        """Continue with the request after the reply of a call has been read."""
        self.endpoints.vcpu.start(self, at)

    def reply_dropped(self, frames: int) -> None:
        """Retransmit frames of the server after its timeout."""
        self._unsent += frames
        self._timer.arm(self.endpoints.clock.now + RETRANSMIT_AFTER)

    def _send_again(self, now: int) -> None:
        frames, self._unsent = self._unsent, 0
        self.endpoints.queue.post(Train(self.reply, 1, now, 0, now, 0, None, frames))

    def _request_dropped(self, _frames: int) -> None:
        """Repeat the request of the caller."""
        raise NotImplementedError


class ClientExchange(Exchange):
    """A connection of clients outside the host to a front end."""

    def __init__(
        self,
        endpoints: Endpoints,
        request: Message,
        request_ps: int,
        reply: Message,
        service: ServiceTimes | None,
        answered: Answered,
    ) -> None:
        """Create an idle connection, see `Exchange`.

        ``answered`` is called when a reply has reached its client.
        """
        super().__init__(endpoints, request, request_ps, reply, service)
        self._answered, self._requested_at, self._left = answered, 0, 0

    def begin(self, at: int) -> None:
        """Send a request of a client at a given time."""
        self.endpoints.totals.asked += 1
        self._requested_at, self._left = at, self._replied.frames
        self._ask(at)

    def _ask(self, at: int) -> None:
        self.endpoints.release(self.requests, at, 0, 1, 1)

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        self._left -= train.count * train.frames
        if self._left > 0:
            return
        there = self.endpoints.answer(first)
        self.endpoints.totals.answer(there - self._requested_at)
        self._answered(self, there)

    def _request_dropped(self, _frames: int) -> None:
        self._ask(self.endpoints.clock.now + RETRANSMIT_AFTER)


Answered = Callable[[ClientExchange, int], None]
"""Called with a connection and the time at which a reply has reached its client."""


class Hop(PacketHandler):
    """The caller's side of a connection to the next tier.

    Attributes:
        asks: calls as the caller writes them.
        answers: replies as the caller reads them.
    """

    def __init__(self, caller: Exchange, endpoints: Endpoints, request: Message, reply: Message, frame_ps: int) -> None:
        """Create an idle connection.

        Args:
            caller: exchange whose requests make calls.
            endpoints: the caller's end, whose flow has the counters of the connection.
            request: a call; one frame.
            reply: reply to a call.
            frame_ps: time of a frame of the reply on the wire in picoseconds; 0 from another VM of the host.
        """
        self.caller, self.endpoints = caller, endpoints
        self._request, self._replied, self._left, self._requested_at = request, reply, 0, 0
        self.asks = GuestPackets(endpoints.totals, request.size, self, self.ask_dropped)
        self.answers = PeerFrames(
            endpoints,
            reply.size,
            frame_ps,
            self,
            self._answer_dropped,
            burst=reply.frames,
            joins=frame_ps > 0 and reply.frames > 1,
        )
        self._timer = Timer(endpoints.clock, self._ask_again)

    def ask(self, start: int) -> int:
        """Write a call from ``start`` on, in a burst of the caller's process; returns the end."""
        endpoints = self.endpoints
        vcpu, costs = endpoints.vcpu, endpoints.vcpu.costs
        end = start + endpoints.application.per_write + costs.guest_tx_packet + costs.copied(self._request.octets)
        endpoints.totals.asked += 1
        self._requested_at, self._left = end, self._replied.frames
        vcpu.post_to(endpoints.queue, Train(self.asks, 1, end, 0, end, 0))
        return end

    def take(self, frames: PeerFrames, train: Train[InboundStream], start: int, wait_ps: float) -> int:
        """Read the reply, or a part of it, in the caller's process, which continues when it is complete.

        Returns the end.
        """
        endpoints = self.endpoints
        vcpu, count = endpoints.vcpu, train.count * train.frames
        octets = count * self._replied.size
        end = start + train.count * endpoints.application.per_packet + vcpu.costs.copied(octets, wait_ps)
        if vcpu.wakes(self):
            end += vcpu.costs.guest_process_wake
        vcpu.count_read(train, start, end)
        endpoints.totals.octets += octets
        self._left -= count
        if self._left <= 0:
            endpoints.totals.answer(end - self._requested_at)
            self.caller.resume(end)
        return end

    def ask_dropped(self, _frames: int) -> None:
        """Repeat the call after the caller's timeout."""
        self._timer.arm(self.endpoints.clock.now + RETRANSMIT_AFTER)

    def _ask_again(self, now: int) -> None:
        self.endpoints.queue.post(Train(self.asks, 1, now, 0, now, 0))

    def _answer_dropped(self, frames: int) -> None:
        """Send frames of the server again."""
        raise NotImplementedError


class LocalHop(Hop):
    """A connection to a VM of the same host."""

    def __init__(self, caller: Exchange, endpoints: Endpoints, request: Message, reply: Message) -> None:
        """Create an idle connection, see `Hop`; `connect` completes it."""
        super().__init__(caller, endpoints, request, reply, 0)
        self._server: Exchange | None = None

    def connect(self, server: Exchange) -> None:
        """Connect it to the server's side."""
        self._server = server

    def _answer_dropped(self, frames: int) -> None:
        assert self._server is not None
        self._server.reply_dropped(frames)


class LocalExchange(Exchange):
    """The server's side of a connection from a VM of the same host."""

    def __init__(
        self, endpoints: Endpoints, hop: Hop, request: Message, reply: Message, service: ServiceTimes | None
    ) -> None:
        """Create an idle connection for a caller's ``hop``, see `Exchange`."""
        super().__init__(endpoints, request, 0, reply, service)
        self._from = hop

    def _request_dropped(self, frames: int) -> None:
        self._from.ask_dropped(frames)


class RemoteServers:
    """The servers of a tier on another host: a number of requests in service, first come, first served.

    Args:
        count: number of servers.
        service_ps: constant service time of a call in picoseconds; or ``times``.
        times: service times of calls, if not constant.
        delay: time from the end of a call on the wire to its service, in picoseconds.
    """

    def __init__(self, count: int, service_ps: int, times: ServiceTimes | None, delay: int) -> None:
        self._free, self._service_ps, self._times, self._delay = [0] * count, service_ps, times, delay

    def serve(self, come: int) -> int:
        """Return the end of service of a call that arrives at a given time."""
        at = come + self._delay
        begun = self._free[0]
        if at > begun:
            begun = at
        done = begun + (self._service_ps if self._times is None else self._times.take())
        heapreplace(self._free, done)
        return done


class RemoteHop(Hop):
    """A connection to a tier on another host."""

    def __init__(
        self,
        caller: Exchange,
        endpoints: Endpoints,
        request: Message,
        reply: Message,
        frame_ps: int,
        servers: RemoteServers,
    ) -> None:
        """Create an idle connection to ``servers``, see `Hop`."""
        super().__init__(caller, endpoints, request, reply, frame_ps)
        self._servers = servers

    def gone(self, packets: GuestPackets, train: Train[GuestStream], first: int, step: int) -> None:
        served = self._servers.serve(self.endpoints.answer(first))
        self.endpoints.release(self.answers, served, 0, 1, self._replied.frames)

    def _answer_dropped(self, frames: int) -> None:
        self.endpoints.release(self.answers, self.endpoints.clock.now + RETRANSMIT_AFTER, 0, 1, frames)


class Clients:
    """The clients of a service: users who think between their requests, or open-loop requests.

    Args:
        clock: clock of the host.
        instances: instances of the front end.
        connect: opens another connection to an instance, by its number.
        think: draws think times of users; None for open-loop requests.
        count: number of instances.
        unused: number of connections to each instance that are opened before an idle one is used again, so that port
            hashes are distributed.
    """

    def __init__(
        self,
        clock: Clock,
        instances: Instances,
        connect: Callable[[int, Answered], ClientExchange],
        think: Think | None,
        count: int,
        unused: int,
    ) -> None:
        self._clock, self._instances, self._connect, self._think = clock, instances, connect, think
        self._idle: list[deque[ClientExchange]] = [deque() for _ in range(count)]
        self._unused = [unused] * count
        self._instance: dict[ClientExchange, int] = {}

    def ask(self, at: int) -> None:
        """Send a request of a client at a given time."""
        instance = self._instances.choose(at)
        idle = self._idle[instance]
        if self._unused[instance] or not idle:
            self._unused[instance] = max(0, self._unused[instance] - 1)
            exchange = self._connect(instance, self._answered)
            self._instance[exchange] = instance
        else:
            exchange = idle.popleft()
        exchange.begin(at)

    def come(self, train: Train[Flow], now: int) -> None:
        """Send open-loop requests."""
        for _request in range(train.count):
            self.ask(now)

    def _answered(self, exchange: ClientExchange, there: int) -> None:
        self._idle[self._instance[exchange]].append(exchange)
        if self._think is not None:
            self.ask(there + self._think())
