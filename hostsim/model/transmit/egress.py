"""Control of an uplink's transmit side: traffic shaping of virtual ports and Network I/O Control.

**Traffic shaping** is a token bucket. A port may send at its average rate. A port that sends less earns a burst bonus,
up to the bytes of its burst size, and sends at its peak rate while it has one (vSphere Networking, "Traffic Shaping
Policy"). Packets wait for it in a queue of the port.

**Network I/O Control** adds a packet scheduler between the ports and a physical NIC. Each kind of system traffic has a
reservation, a limit and shares of each uplink, and so has each vNIC within virtual machine traffic. The NIC holds few
bytes at a time, so that packets wait in queues of the scheduler, which are served in this order: traffic below its
reservation, then by shares. Shares divide the bandwidth beyond reservations, and reserved bandwidth does not count
against shares (``Net.NetSchedSpareBasedShares``); within a class it is the start-time fair queueing of Goyal, Vin and
Cheng (1996). While the wire is not full no packet waits, and shares have no effect.

Departures from a port are known on arrival, and a scheduler decides for as many bytes as the NIC may hold, so that
neither needs an event for each packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from hostsim.config.network import Allocation
from hostsim.engine.clock import Clock, OneShot
from hostsim.engine.ring import Chain, Link, Train
from hostsim.model.contract import UNBOUNDED, GuestStream, NicQueue, TransmitQueue
from hostsim.model.cost_table import CostTable
from hostsim.model.receive.nic import Pnic
from hostsim.model.transmit.networld import Uplink
from hostsim.model.transmit.nic_transmit import TxRoom
from hostsim.units import SECOND, US, rounded, transmission_ps

__all__ = ["ManagedUplink", "TokenBucket", "TrafficClass", "TrafficQueue", "UplinkScheduler"]

SHAPER_QUEUE: Final = 500
"""Largest number of packets in the queue of a shaped port (``Net.NetShaperQueueSizeMax``)."""
SCHEDULER_QUEUE: Final = 640
"""Largest number of packets in a queue of a packet scheduler (smallest value of ``Net.NetSchedHClkLeafQueueDepthPkt``).
"""
IN_FLIGHT: Final = 66_000
"""Largest number of bytes in the NIC (``Net.NetSchedInFlightMaxBytesHigh``); the last packet may exceed it."""
AHEAD: Final = 50 * US
"""Time ahead for which departures from a port are passed on together, in picoseconds."""
QUANTUM: Final = 16_384
"""Number of bytes that a scheduler takes at a time from a queue of small packets."""
SLACK: Final = 200 * US
"""Time for which an unused reservation or limit may be used later, in picoseconds. It lets a periodic scheduler reach
the mean rate.
"""


class TokenBucket:
    """A token bucket: packets leave at the average rate, and at the peak rate while tokens are left.

    Tokens are counted as the time in which they are earned.
    """

    def __init__(self, average: float, peak: float, burst: int) -> None:
        """Create a full bucket.

        Args:
            average: average rate in bits/s.
            peak: peak rate in bits/s.
            burst: size of the bucket in bytes.
        """
        self._earned_ps, self._peak_ps = 8 * SECOND / average, 8 * SECOND / peak
        self._depth = rounded(burst * self._earned_ps)
        self._full_at = self._next = 0

    def departures(self, ready: int, step: int, count: int, octets: int) -> list[tuple[int, int, int]]:
        """Take the tokens for equal packets; returns trains of departures.

        Each train has its count, the time of the first departure, and picoseconds between departures.

        A packet larger than the bucket leaves when the bucket is full.

        Args:
            ready: arrival time of the first packet.
            step: time between arrivals, in picoseconds.
            count: number of packets.
            octets: bytes of each packet.
        """
        earned, peak, depth = rounded(octets * self._earned_ps), rounded(octets * self._peak_ps), self._depth
        behind = depth - min(earned, depth)
        full_at, soonest = self._full_at, self._next
        trains: list[tuple[int, int, int]] = []
        first = last = gap = together = 0
        for _turn in range(count):
            at = ready
            if soonest > at:
                at = soonest
            if full_at - behind > at:
                at = full_at - behind
            ready += step
            full_at = (full_at if full_at > at else at) + earned
            soonest = at + peak
            if together == 1:
                gap = at - last
            elif together and at - last != gap:
                trains.append((together, first, gap))
                together = 0
            if not together:
                first, gap = at, 0
            last = at
            together += 1
        trains.append((together, first, gap))
        self._full_at, self._next = full_at, soonest
        return trains


class _Held(Link["_Held"]):
    """Waiting packets, with the transmit queue that waits for their completion, if any."""

    def __init__(self, train: Train[GuestStream], queue: TransmitQueue | None) -> None:
        self.train, self.queue = train, queue
        self.following = None


class ManagedUplink(Uplink):
    """The uplink of a virtual port with shaping, a packet scheduler, or both.

    Attributes:
        queue: queue of the uplink's packet scheduler; None without Network I/O Control.
    """

    def __init__(
        self,
        clock: Clock,
        nic: Pnic,
        rate: float,
        costs: CostTable,
        driver: str,
        *,
        vxlan: bool,
        tso: bool,
        tag: int = 0,
        bucket: TokenBucket | None = None,
    ) -> None:
        """Create an uplink, see `Uplink`.

        Args:
            clock: clock of the host.
            nic: port of a physical NIC.
            rate: bits/s of the NIC.
            costs: cost table of the host.
            driver: kind of the NIC's driver.
            vxlan: True if packets are encapsulated in VXLAN.
            tso: True if the NIC segments these packets.
            tag: bytes of the VLAN tag of a frame.
            bucket: token bucket of a shaped port.
        """
        super().__init__(nic, rate, costs, driver, vxlan=vxlan, tso=tso, tag=tag)
        self.queue: TrafficQueue | None = None
        self._clock, self._bucket = clock, bucket
        self._room = TxRoom(SHAPER_QUEUE)
        self._waiting: Chain[_Held] = Chain()
        self._timer = _PortTimer(clock, self)

    def send(
        self, train: Train[GuestStream], queue: TransmitQueue | None = None, vector: NicQueue | None = None
    ) -> int:
        """Accept packets at their times, see `Uplink.send`; returns the number of accepted ones."""
        bucket = self._bucket
        if bucket is None:
            return self._schedule(train, queue)
        stream, count = train.stream, train.count
        fits = self._room.fits(count, 1, train.ready + (count - 1) * train.step)
        if fits < count:
            stream.dropped((count - fits) * train.frames)
            if not fits:
                return 0
            train = train.split(fits)
        for together, first, step in bucket.departures(train.ready, train.step, fits, train.frames * stream.octets):
            part = train.split(together) if together < train.count else train
            at_once = self._waiting.first is None and (together == 1 or step == part.step)
            if at_once and first == part.ready:
                self._hand_on(part, queue)
                continue
            self._room.use(together, 1, first, step)
            part.restamp(first, step)
            self._waiting.append(_Held(part, queue))
        self.release(self._clock.now)
        return fits

    def release(self, now: int) -> None:
        """Pass on the packets that leave the port soon."""
        waiting, until = self._waiting, now + AHEAD
        held = waiting.first
        while held is not None:
            train = held.train
            if train.ready > until:
                self._timer.arm_by(train.ready)
                return
            count = train.count_by(until)
            if count < train.count:
                self._hand_on(train.split(count), held.queue)
                continue
            waiting.pop()
            self._hand_on(train, held.queue)
            held = waiting.first

    def _hand_on(self, train: Train[GuestStream], queue: TransmitQueue | None) -> None:
        """Pass on packets that were accepted before; those that do not fit now are dropped, and completed."""
        count = train.count
        sent = self._schedule(train, queue)
        if sent < count and queue is not None:
            now = self._clock.now
            queue.freed(count - sent, now)
            queue.poll_done(now)

    def _schedule(self, train: Train[GuestStream], queue: TransmitQueue | None) -> int:
        """Pass packets to the packet scheduler, or to the NIC without one.

        Returns the number of accepted packets.
        """
        if self.queue is None:
            return super().send(train, queue)
        return self.queue.scheduler.put(self.queue, train, queue)

    def packet_ps(self, train: Train[GuestStream]) -> int:
        """Return the time of a packet of a train on the wire, in picoseconds."""
        return train.frames * self._frame_ps(train.stream.size + train.stream.headers)

    def emit(self, train: Train[GuestStream], queue: TransmitQueue | None) -> None:
        """Pass packets to the NIC that the packet scheduler has accepted before."""
        count = train.count
        sent = super().send(train, queue)
        if sent < count and queue is not None:
            now = self._clock.now
            queue.freed(count - sent, now)
            queue.poll_done(now)


class _PortTimer(OneShot):
    """The timer of a shaped port."""

    def __init__(self, clock: Clock, uplink: ManagedUplink) -> None:
        super().__init__(clock)
        self._uplink = uplink

    def expire(self, now: int) -> None:
        self._uplink.release(now)


class _Consumer:
    """A consumer with an allocation of an uplink: a kind of system traffic, or a queue within it.

    Attributes:
        tag: used share of the bandwidth beyond reservations, in bytes for each share.
        reserved_ps: picoseconds for each byte of its reservation; 0 without.
        reserved_at: time from which its reservation is unused.
        limit_ps: picoseconds for each byte of its limit; 0 without.
        limit_at: time from which its limit lets it send.
    """

    def __init__(self, allocation: Allocation) -> None:
        self.shares = float(allocation.shares)
        self.reserved_ps = 8 * SECOND / allocation.reservation if allocation.reservation else 0.0
        self.limit_ps = 8 * SECOND / allocation.limit if allocation.limit else 0.0
        self.tag = 0.0
        self.reserved_at = self.limit_at = 0

    def soonest(self) -> int:
        """Return the time from which it has packets that it may send; `UNBOUNDED` without packets."""
        raise NotImplementedError

    def billed(self, octets: int, now: int) -> None:
        """Charge bytes to the limit."""
        if self.limit_ps:
            free = now - SLACK
            self.limit_at = (self.limit_at if self.limit_at > free else free) + rounded(octets * self.limit_ps)


Consumer = TypeVar("Consumer", bound=_Consumer)


def _next(consumers: Sequence[Consumer], now: int) -> Consumer | None:
    """Return the next consumer, reservations first; None if none may send yet."""
    chosen: Consumer | None = None
    reserved = False
    for consumer in consumers:
        if consumer.soonest() > now:
            continue
        is_reserved = consumer.reserved_ps > 0 and consumer.reserved_at <= now
        if chosen is None or (is_reserved and not reserved):
            chosen, reserved = consumer, is_reserved
        elif is_reserved == reserved and (
            consumer.reserved_at < chosen.reserved_at if reserved else consumer.tag < chosen.tag
        ):
            chosen = consumer
    return chosen


class TrafficQueue(_Consumer):
    """A queue of a packet scheduler, for one virtual port.

    Attributes:
        traffic: kind of system traffic that it belongs to.
        scheduler: packet scheduler of the uplink.
        uplink: uplink of the port.
        waiting: waiting packets.
        count: number of waiting packets.
    """

    def __init__(self, allocation: Allocation, traffic: TrafficClass, uplink: ManagedUplink) -> None:
        super().__init__(allocation)
        self.traffic, self.scheduler, self.uplink = traffic, traffic.scheduler, uplink
        self.waiting: Chain[_Held] = Chain()
        self.count = 0
        traffic.queues.append(self)
        uplink.queue = self

    @property
    def is_limited(self) -> bool:
        """True if it or its kind of traffic has a limit."""
        return self.limit_ps > 0 or self.traffic.limit_ps > 0

    def soonest(self) -> int:
        head = self.waiting.first
        if head is None:
            return UNBOUNDED
        ready = head.train.ready
        return ready if ready > self.limit_at else self.limit_at


class TrafficClass(_Consumer):
    """A kind of system traffic on an uplink.

    Attributes:
        name: name of the kind.
        scheduler: packet scheduler of the uplink.
        queues: queues of its virtual ports.
        level: tag of the queue that was served last.
    """

    def __init__(self, name: str, allocation: Allocation, scheduler: UplinkScheduler) -> None:
        super().__init__(allocation)
        self.name, self.scheduler = name, scheduler
        self.queues: list[TrafficQueue] = []
        self.level = 0.0

    def soonest(self) -> int:
        soonest: int = UNBOUNDED
        for queue in self.queues:
            at = queue.soonest()
            if at < soonest:
                soonest = at
        return soonest if soonest > self.limit_at else self.limit_at


class UplinkScheduler:
    """The packet scheduler of an uplink with Network I/O Control.

    Attributes:
        classes: kinds of system traffic.
    """

    def __init__(self, clock: Clock, nic: Pnic, rate: float) -> None:
        """Create a scheduler without traffic.

        Args:
            clock: clock of the host.
            nic: the uplink.
            rate: bits/s of the uplink.
        """
        self.classes: list[TrafficClass] = []
        self._clock, self._nic = clock, nic
        self._in_flight = transmission_ps(IN_FLIGHT, rate)
        self._waiting = 0
        self._level = 0.0
        self._timer = _SchedulerTimer(clock, self)

    def traffic_class(self, name: str, allocation: Allocation) -> TrafficClass:
        """Return a kind of system traffic; a new one is added with its allocation."""
        for traffic in self.classes:
            if traffic.name == name:
                return traffic
        traffic = TrafficClass(name, allocation, self)
        self.classes.append(traffic)
        return traffic

    def put(self, queue: TrafficQueue, train: Train[GuestStream], completes: TransmitQueue | None) -> int:
        """Accept packets at their times; returns the number of accepted ones."""
        count, now = train.count, self._clock.now
        if not self._waiting and not queue.is_limited:
            free = now if now > train.ready else train.ready
            if self._nic.sent_until + (count - 1) * queue.uplink.packet_ps(train) <= free + self._in_flight:
                queue.uplink.emit(train, completes)
                return count
        room = SCHEDULER_QUEUE - queue.count
        if count > room:
            train.stream.dropped((count - room) * train.frames)
            if not room:
                return 0
            train = train.split(room)
            count = room
        if not queue.count:
            if queue.tag < queue.traffic.level:
                queue.tag = queue.traffic.level
            if queue.traffic.tag < self._level:
                queue.traffic.tag = self._level
        queue.waiting.append(_Held(train, completes))
        queue.count += count
        self._waiting += count
        self._arm(now)
        return count

    def _arm(self, now: int) -> None:
        """Schedule the next dispatch, when the NIC may take more and packets wait."""
        soonest = self._nic.sent_until - self._in_flight
        ready: int = UNBOUNDED
        for traffic in self.classes:
            at = traffic.soonest()
            if at < ready:
                ready = at
        if ready < UNBOUNDED:
            self._timer.arm(max(now, soonest, ready))

    def dispatch(self, now: int) -> None:
        """Pass packets to the NIC, as many as it may hold at a time."""
        while self._waiting and self._nic.sent_until <= now + self._in_flight:
            queue = self._choose(now)
            if queue is None:
                break
            self._serve(queue, now)
        self._arm(now)

    def _choose(self, now: int) -> TrafficQueue | None:
        """Return the next queue to serve; None if none may send yet."""
        chosen = _next(self.classes, now)
        return None if chosen is None else _next(chosen.queues, now)

    def _serve(self, queue: TrafficQueue, now: int) -> None:
        """Take packets from a queue and pass them to the NIC."""
        held = queue.waiting.first
        assert held is not None
        train, traffic = held.train, queue.traffic
        each = train.frames * train.stream.octets
        most = max(1, QUANTUM // each)
        count = train.count_by(now)
        late = count > 1 or train.ready < now
        if not late:  # packets that arrive soon are included, at their times
            count = train.count_by(now + self._in_flight)
        count = min(count, most)
        if count < train.count:
            train = train.split(count)
        else:
            queue.waiting.pop()
        if late:
            train.restamp(now, 0)
        queue.count -= count
        self._waiting -= count
        octets = count * each
        self._level = self._bill(traffic, octets, now, self._level)
        traffic.level = self._bill(queue, octets, now, traffic.level)
        queue.uplink.emit(train, held.queue)

    @staticmethod
    def _bill(consumer: _Consumer, octets: int, now: int, level: float) -> float:
        """Charge bytes to the reservation, or else to the shares.

        Returns the tag of the last service by shares.
        """
        consumer.billed(octets, now)
        if consumer.reserved_ps and consumer.reserved_at <= now:
            free = now - SLACK
            reserved = consumer.reserved_at if consumer.reserved_at > free else free
            consumer.reserved_at = reserved + rounded(octets * consumer.reserved_ps)
            return level
        if consumer.tag > level:
            level = consumer.tag
        consumer.tag = level + octets / consumer.shares
        return level


class _SchedulerTimer(OneShot):
    """The timer of a packet scheduler."""

    def __init__(self, clock: Clock, scheduler: UplinkScheduler) -> None:
        super().__init__(clock)
        self._scheduler = scheduler

    def expire(self, now: int) -> None:
        self._scheduler.dispatch(now)
